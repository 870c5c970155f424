"""The operations of a trace: those of alike ranks once, those of a communication once for all who take part."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import SpecError
from railweave.prediction.jobs.graph import COMPUTE, Communication, Graph, Op
from railweave.prediction.jobs.traces.alike import Classes, classes_of
from railweave.prediction.jobs.traces.matching import Slots, slots_of
from railweave.prediction.jobs.traces.trace import circle, sorted_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.prediction.jobs.kernels import Gpu
    from railweave.prediction.jobs.traces.trace import Node, RankTrace, Trace

Key = tuple[str, int, int, int]
"""Of an operation: ``node`` with class and place, or ``sent`` with whom it goes between and the how manieth it is."""
MOST_ENDS = 12
"""Operations that a node stands for; of more, one is made that waits for them all."""


def trace_graph(
    trace: Trace, gpu: Gpu, places: tuple[int, ...], inside_ps: Callable[[Communication], int | None]
) -> Graph:
    """The graph of a trace.

    ``gpu``: how quick the GPUs are, for nodes that say what they compute but not how long; ``places``: where each rank is, among the ranks of the job; ``inside_ps``: how long a
    communication takes whose groups are each inside a server; None of the others. Computing of a rank goes one after another, as ``RankTrace`` has it; so do the collectives of a group, and messages from one rank
    to another with one tag. Sending does not wait for the receiver. Raises ``SpecError`` as ``slots_of``, and where ranks wait for each other for ever.
    """
    slots = slots_of(trace)
    return _Making(trace, gpu, places, inside_ps, slots, classes_of(trace, slots)).graph()


@dataclass
class _Making:
    trace: Trace
    gpu: Gpu
    places: tuple[int, ...]
    inside_ps: Callable[[Communication], int | None]
    slots: Slots
    classes: Classes

    def graph(self) -> Graph:
        """Number operations class by class, in the order of their nodes; then say what each waits for."""
        self._joined = self._join()
        self._groups, self._inside = self._grouped(), dict[Communication, int | None]()
        keys: dict[Key, list[tuple[int, int, Node]]] = {}
        self._turn: dict[tuple[int, int], int] = {}
        for number, rank in enumerate(self.classes.first):
            count: dict[int, int] = defaultdict(int)
            for place, node in enumerate(self.trace.ranks[rank].nodes):
                slot = self.slots.of[rank][place]
                self._turn[number, place] = count[slot]
                count[slot] += 1
                keys.setdefault(self._key(number, place), []).append((number, place, node))
        # a message is an operation of its sender, though a class that receives may come first
        ordered = {key: sorted(nodes, key=lambda one: one[2].kind == "receive") for key, nodes in keys.items() if nodes}
        self._number: dict[Key, int] = {}
        self._ends: dict[tuple[int, int], tuple[int, ...]] = {}
        self._made = Graph(len(self.classes.first))
        after: list[set[int]] = []
        for key, nodes in ordered.items():
            if nodes[0][2].kind != "none":
                self._number[key] = self._made.add(self._op(key, nodes[0][0], nodes[0][2]))
                after.append(set())
        for number, rank in enumerate(self.classes.first):
            for place, node in enumerate(self.trace.ranks[rank].nodes):
                before = {one for earlier in node.after for one in self._ends[number, earlier]}
                own = self._number.get(self._key(number, place))
                ends = before if own is None or node.kind == "receive" else set[int]()
                if own is not None:
                    ends = {*ends, own}
                    if node.kind != "receive":
                        after[own] |= before
                if len(ends) > MOST_ENDS:
                    joined = self._made.add(Op(number, f"joined {len(after)}", node.name, 0, ()))
                    after.append(ends)
                    ends = {joined}
                self._ends[number, place] = tuple(sorted(ends))
        ops = self._made.ops
        for place, before in enumerate(after):
            one = ops[place]
            ops[place] = Op(one.rank_class, one.stream, one.label, one.time_ps, tuple(sorted(before)), one.communication, one.inside)  # fmt: skip
        self._look_for_circles({self._number[key]: nodes[0] for key, nodes in ordered.items() if key in self._number})
        return self._made

    def _look_for_circles(self, nodes: dict[int, tuple[int, int, Node]]) -> None:
        """Raise ``SpecError`` where ranks wait for each other for ever; ``nodes``: of operations, one each."""
        last: dict[tuple[int, str], int] = {}
        waits: list[list[int]] = []
        for number, op in enumerate(self._made.ops):
            stream = op.rank_class, op.stream
            waits.append([*op.after, *([last[stream]] if stream in last else [])])
            last[stream] = number
        _, missing = sorted_by(waits, lambda place: (place,))
        if not missing:
            return
        found = [nodes[one] for one in circle(missing, waits) if one in nodes]
        (number, _, node), *others = found
        said = [f"{self._rank(one).file}: node {other.number}" for one, _, other in others[:4]]
        what = f"it waits for itself, by {' and '.join(said) or 'nodes of other ranks'}"
        fix = "ranks of a group do its collectives in the same order"
        raise SpecError([self._rank(number).problem(node, what, fix)])

    def _rank(self, number: int) -> RankTrace:
        """The first rank of a class."""
        return self.trace.ranks[self.classes.first[number]]

    def _join(self) -> dict[tuple[int, int], int]:
        """Of each class and slot a number, the same where they communicate with one another."""
        parent: dict[tuple[int, int], tuple[int, int]] = {}

        def root(one: tuple[int, int]) -> tuple[int, int]:
            while parent.setdefault(one, one) != one:
                parent[one] = one = parent[parent[one]]
            return one

        met: dict[tuple[int, int, int, int], tuple[int, int]] = {}
        for rank, own in enumerate(self.slots.slots):
            for place, (kind, peer, tag) in enumerate(own):
                mine = self.classes.of[rank], place
                ends = (peer, -1, 0, 0) if kind == "collective" else (rank, peer, tag, 1)
                if kind == "receive":
                    ends = peer, rank, tag, 1
                parent[root(mine)] = root(met.setdefault(ends, mine))
        number: dict[tuple[int, int], int] = {}
        return {one: number.setdefault(root(one), len(number)) for one in list(parent)}

    def _key(self, number: int, place: int) -> Key:
        slot = self.slots.of[self.classes.first[number]][place]
        if slot < 0:
            return "node", number, place, 0
        return "sent", self._joined[number, slot], self._turn[number, place], 0

    def _op(self, key: Key, number: int, node: Node) -> Op:
        if key[0] == "node":
            stream = {"compute": COMPUTE}.get(node.kind, node.kind)
            return Op(number, stream, node.name, self._computing_ps(node), ())
        groups = self._groups[key[1]]
        kind = node.label or (node.collective or "send-recv")
        stream = f"sent {key[1]}"
        if len(groups[0]) == 1:
            return Op(number, stream, node.name, 0, ())
        sent = Communication(kind, number, node.collective or "send-recv", max(node.size_bytes, 1), groups, key[1])
        if sent not in self._inside:
            self._inside[sent] = self.inside_ps(sent)
        time = self._inside[sent]
        if time is None:
            return Op(number, stream, node.name, 0, (), self._made.communication(sent))
        return Op(number, stream, node.name, time, (), inside=((kind, time),))

    def _grouped(self) -> dict[int, tuple[tuple[int, ...], ...]]:
        """By the number that ``_join`` gives: between which ranks of the job, group by group."""
        found: dict[int, dict[tuple[int, ...], None]] = defaultdict(dict)
        for rank, own in enumerate(self.slots.slots):
            for place, (kind, peer, _) in enumerate(own):
                ranks = self.trace.groups[peer] if kind == "collective" else (rank, peer)
                if kind == "receive":
                    ranks = peer, rank
                found[self._joined[self.classes.of[rank], place]][tuple(self.places[one] for one in ranks)] = None
        return {number: tuple(groups) for number, groups in found.items()}

    def _computing_ps(self, node: Node) -> int:
        """As measured; else what is computed over what the GPU computes, or what is moved over what its memory moves, the longer."""
        if node.time_ps or node.kind not in {"compute", "memory"}:
            return node.time_ps
        computing = node.flops / (self.gpu.bf16_tflops * self.gpu.gemm)
        return round(max(computing, node.moved_bytes / (self.gpu.memory_tbytes_per_s * self.gpu.memory)))
