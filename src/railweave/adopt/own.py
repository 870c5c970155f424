"""Statements that all switches of a role have and the design has not: ``extra`` of the role."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.config.compare import compare
from railweave.errors import RenderError
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.config.tree import ConfigTree, Name, Node
    from railweave.device.model import DeviceConfig


def extra(nos: str, read: Mapping[str, Mapping[str, ConfigTree]], designed: Mapping[str, DeviceConfig]) -> str:
    """What every one of some switches has and its design has not, as the system prints it; empty: nothing.

    ``read`` has the trees of each switch by file, ``designed`` its design. A statement that the design has with another value is
    left out, for both cannot stand.
    """
    reader = system(nos).reader
    if reader is None or not read:
        return ""
    for file in next(iter(read.values())):
        shared: list[Node] | None = None
        for name, trees in read.items():
            there = system(nos).trees(designed[name])
            if file not in trees or file not in there:
                return ""
            found = _added(there[file], trees[file])
            shared = found if shared is None else [one for one in shared if one in found]
        if not shared:
            continue
        text = reader.printed(file, _merged(shared))
        try:
            system(nos).check_extra(text)
        except RenderError:
            continue  # another file of the system takes no statements of an operator
        return text
    return ""


def _added(designed: ConfigTree, read: ConfigTree) -> list[Node]:
    """Statements that a design has not, each with what it stands in and nothing else."""
    return [_alone(step.node, step.above, read.nodes) for step in compare(designed, read).steps if step.kind == "add"]


def _alone(node: Node, above: Sequence[Name], nodes: Sequence[Node]) -> Node:
    if not above:
        return node
    parent = next(one for one in nodes if one.name == above[0])
    return replace(parent, children=(_alone(node, above[1:], parent.children or ()),))


def _merged(nodes: Iterable[Node]) -> list[Node]:
    """Statements below the same parents as one tree."""
    found: dict[Name, Node] = {}
    for one in nodes:
        there = found.get(one.name)
        both = None if there is None or there.children is None else [*there.children, *(one.children or ())]
        found[one.name] = one if there is None or both is None else replace(there, children=tuple(_merged(both)))
    return list(found.values())
