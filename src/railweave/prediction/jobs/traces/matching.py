"""Which nodes of several ranks are one communication: collectives of a group in their order, messages of a pair and tag in theirs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import SpecError

if TYPE_CHECKING:
    from railweave.prediction.jobs.traces.trace import Node, RankTrace, Trace

Slot = tuple[str, int, int]
"""What tells apart, within a rank, whom it communicates with: ``collective`` and the group; ``send`` or ``receive``, the peer and the tag."""


@dataclass(frozen=True)
class Slots:
    """For each rank its slots in the order in which it first uses them, and of each node its slot's place among them; -1 of nodes that send nothing."""

    slots: tuple[tuple[Slot, ...], ...]
    of: tuple[tuple[int, ...], ...]


def slots_of(trace: Trace) -> Slots:
    """The slots of a trace. Raises ``SpecError`` where ranks do not do the same in a group, or a message has no other side."""
    slots: list[tuple[Slot, ...]] = []
    of: list[tuple[int, ...]] = []
    used: list[dict[Slot, list[Node]]] = []
    for rank in trace.ranks:
        places: dict[Slot, int] = {}
        nodes: dict[Slot, list[Node]] = defaultdict(list)
        own: list[int] = []
        for node in rank.nodes:
            slot = _slot(node)
            own.append(-1 if slot is None else places.setdefault(slot, len(places)))
            if slot is not None:
                nodes[slot].append(node)
        slots.append(tuple(places))
        of.append(tuple(own))
        used.append(nodes)
    _look_at_groups(trace, used)
    _look_at_messages(trace, used)
    return Slots(tuple(slots), tuple(of))


def _slot(node: Node) -> Slot | None:
    if node.kind == "collective":
        return "collective", node.group, 0
    return (node.kind, node.peer, node.tag) if node.kind in {"send", "receive"} else None


def _look_at_groups(trace: Trace, used: list[dict[Slot, list[Node]]]) -> None:
    for place, members in enumerate(trace.groups):
        key = "collective", place, 0
        first = used[members[0]].get(key, [])
        for rank in members[1:]:
            _same(trace.ranks[members[0]], first, trace.ranks[rank], used[rank].get(key, []), "collectives of a group")


def _look_at_messages(trace: Trace, used: list[dict[Slot, list[Node]]]) -> None:
    for rank, own in enumerate(used):
        for (kind, peer, tag), nodes in own.items():
            if kind in {"send", "receive"}:
                other = ("receive" if kind == "send" else "send"), rank, tag
                _same(trace.ranks[rank], nodes, trace.ranks[peer], used[peer].get(other, []), "sends and receives")


def _same(first: RankTrace, ones: list[Node], second: RankTrace, others: list[Node], what: str) -> None:
    for a, b in zip(ones, others, strict=False):
        if (a.collective, a.size_bytes) != (b.collective, b.size_bytes):
            said = f"it is {_said(b)}; the other side, {first.problem(a, '').place}{'' if first.text else f': node {a.number}'}, has {_said(a)}"
            raise SpecError([second.problem(b, said, f"{what} have to be the same on both sides, in the same order")])
    if len(ones) != len(others):
        longer, alone, short = (
            (first, ones[len(others)], second) if len(ones) > len(others) else (second, others[len(ones)], first)
        )
        said = f"{_said(alone)} has no counterpart in {short.file}"
        raise SpecError([longer.problem(alone, said, f"{what} have to be the same on both sides")])


def _said(node: Node) -> str:
    return f"{node.collective} of {node.size_bytes:,} bytes"
