"""Statements that all switches of a role have and the design has not: ``extra`` of the role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.model.config.apply import alone, merged
from railweave.model.config.compare import compare
from railweave.model.config.gate import named
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.tree import ConfigTree, Node
    from railweave.model.device.model import DeviceConfig


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
        text = named(reader.printed(file, merged(shared)))
        try:
            system(nos).check_extra(text)
        except RenderError:
            continue  # another file of the system takes no statements of an operator
        return text
    return ""


def _added(designed: ConfigTree, read: ConfigTree) -> list[Node]:
    """Statements that a design has not, each with what it stands in and nothing else."""
    return [alone(step.node, step.above, read.nodes) for step in compare(designed, read).steps if step.kind == "add"]
