"""Functions on configuration trees: apply a change, extract a single statement, and merge single statements into a tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.model.config.tree import Name, Node, Step


def apply(nodes: Sequence[Node], steps: Sequence[Step]) -> tuple[Node, ...]:
    """Return the top-level statements ``nodes`` of a tree after the steps of a change.

    Raises ``KeyError`` if a step names a statement that does not exist.
    """
    result = tuple(nodes)
    for step in steps:
        result = _below(result, step.above, step)
    return result


def _below(nodes: tuple[Node, ...], above: tuple[Name, ...], step: Step) -> tuple[Node, ...]:
    if not above:
        return _siblings(nodes, step)
    at = _index(nodes, above[0])
    inner = _below(nodes[at].children or (), above[1:], step)
    return (*nodes[:at], replace(nodes[at], children=inner), *nodes[at + 1 :])


def _siblings(nodes: tuple[Node, ...], step: Step) -> tuple[Node, ...]:
    if step.kind == "add":
        return (*nodes, step.node)
    at = _index(nodes, step.node.name)
    rest = (*nodes[:at], *nodes[at + 1 :])
    if step.kind == "remove":
        return rest
    if step.kind == "replace":
        changed = replace(nodes[at], values=step.node.values, listed=step.node.listed)
        return (*nodes[:at], changed, *nodes[at + 1 :])
    to = _index(rest, step.before)
    return (*rest[:to], nodes[at], *rest[to:])


def _index(nodes: tuple[Node, ...], name: Name) -> int:
    for at, node in enumerate(nodes):
        if node.name == name:
            return at
    raise KeyError(" ".join(name))


def alone(node: Node, above: Sequence[Name], nodes: Sequence[Node]) -> Node:
    """Return a tree that contains only ``node`` and its parents, without siblings.

    ``above`` names the parents, from the top of ``nodes`` down. Raises ``StopIteration`` if a parent does not exist.
    """
    if not above:
        return node
    parent = next(node for node in nodes if node.name == above[0])
    return replace(parent, children=(alone(node, above[1:], parent.children or ()),))


def merged(nodes: Iterable[Node]) -> list[Node]:
    """Merge ``nodes``, trees that each contain one statement (results of ``alone``), into one tree. Common parents are joined."""
    by_name: dict[Name, Node] = {}
    for node in nodes:
        there = by_name.get(node.name)
        both = None if there is None or there.children is None else [*there.children, *(node.children or ())]
        by_name[node.name] = node if there is None or both is None else replace(there, children=tuple(merged(both)))
    return list(by_name.values())
