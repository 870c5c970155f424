"""Computation of the begin and end of every operation of a training step.

Operations of a stream run in order. Communications that share links slow each other down.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from railweave.prediction.jobs.graph import COMPUTE, Graph, Op

if TYPE_CHECKING:
    from collections.abc import Sequence


MOST_APART = 1e-6
"""The rounding tolerance, as a fraction: a communication counts as ended if less than this fraction of it remains."""


class Network(Protocol):
    """The times of communications on a network. Communications are given by their numbers in the graph."""

    def alone_ps(self, communication: int) -> int:
        """Return the duration of a communication in ps if no other communication runs."""
        ...

    def paces(self, active: tuple[int, ...]) -> Sequence[float]:
        """Return the pace of each communication in ``active`` while all of them run at the same time.

        A pace is relative to the pace of the same communication without others: 0.5 is half as fast.
        """
        ...


@dataclass(frozen=True)
class Times:
    """The times at which each operation began and ended, in ps from the beginning of the step."""

    begin_ps: tuple[int, ...]
    end_ps: tuple[int, ...]

    @property
    def step_ps(self) -> int:
        """Return the duration of the step, in ps."""
        return max(self.end_ps, default=0)


def run(graph: Graph, network: Network) -> Times:
    """Run the step that ``graph`` describes on a network, and return its times.

    Raises ``ValueError`` if operations wait for each other in a cycle.
    """
    state = _Running(graph, network)
    while state.begin_ready() or state.advance():
        pass
    if (stuck := next((op for op, end in zip(graph.ops, state.end, strict=True) if end < 0), None)) is not None:
        raise ValueError(f"{stuck.label} of class {stuck.rank_class} waits for itself")
    return Times(tuple(map(round, state.begin)), tuple(map(round, state.end)))


class _Running:
    """A step in progress.

    - ``left``: for each communication in progress, the time in ps that it would still take without other communications.
    - ``fixed``: the times at which computations end.
    """

    def __init__(self, graph: Graph, network: Network) -> None:
        self.graph, self.network = graph, network
        count = len(graph.ops)
        self.begin, self.end = [0.0] * count, [-1.0] * count
        self.missing = [len(op.after) for op in graph.ops]
        self.following: list[list[int]] = [[] for _ in range(count)]
        last: dict[tuple[int, str], int] = {}
        for number, op in enumerate(graph.ops):
            before = last.get((op.rank_class, op.stream))
            for earlier in (*op.after, *(() if before is None else (before,))):
                self.following[earlier].append(number)
            self.missing[number] += before is not None
            last[op.rank_class, op.stream] = number
        self.ready = [number for number in range(count) if not self.missing[number]]
        self.now = 0.0
        self.fixed: list[tuple[float, int]] = []
        self.left: dict[int, float] = {}
        self.pace: dict[int, float] = {}
        self._known: dict[tuple[int, ...], Sequence[float]] = {}

    def begin_ready(self) -> bool:
        """Begin all operations that are ready. Return True if any began."""
        began, sent = bool(self.ready), False
        for number in self.ready:
            op = self.graph.ops[number]
            self.begin[number] = self.now
            if op.communication is None:
                heapq.heappush(self.fixed, (self.now + op.time_ps, number))
            else:
                self.left[number], sent = float(self.network.alone_ps(op.communication)), True
        self.ready = []
        if sent:
            self._share()
        return began

    def advance(self) -> bool:
        """Advance to the time at which the next operation ends. Return False if no operation is in progress."""
        then = min((self.now + left / self.pace[op] for op, left in self.left.items()), default=float("inf"))
        then = min(then, self.fixed[0][0] if self.fixed else float("inf"))
        if then == float("inf"):
            return False
        for op in self.left:
            self.left[op] -= (then - self.now) * self.pace[op]
        self.now = then
        ended = [op for op, left in self.left.items() if left <= MOST_APART * (1 + self.now * MOST_APART)]
        for op in ended:
            del self.left[op]
        if ended:
            self._share()
        while self.fixed and self.fixed[0][0] <= self.now:
            ended.append(heapq.heappop(self.fixed)[1])
        for op in ended:
            self.end[op] = self.now
            for waiting in self.following[op]:
                self.missing[waiting] -= 1
                if not self.missing[waiting]:
                    self.ready.append(waiting)
        return True

    def _share(self) -> None:
        """Update the paces of all communications in progress, after the set of these communications has changed."""
        numbers = {op: self.graph.ops[op].communication or 0 for op in self.left}
        order = sorted(self.left, key=numbers.__getitem__)
        active = tuple(numbers[op] for op in order)
        if active not in self._known:
            self._known[active] = self.network.paces(active)
        self.pace = dict(zip(order, self._known[active], strict=True))


def exposed(graph: Graph, times: Times) -> list[dict[str, int]]:
    """Return, for each rank class (pipeline stage), the time of a step in ps by use: ``compute``, and causes of time without computation.

    - A kind of communication (such as ``DP``): the next computation waited for a communication of this kind.
    - ``bubble``: the GPUs waited for other ranks to compute, or for the end of the step.

    The times of a class add up to the time of the step. ``graph`` has the operations of the step.
    """
    totals: list[dict[str, int]] = [{} for _ in range(graph.classes)]
    at = [0] * graph.classes
    previous: dict[tuple[int, str], int] = {}
    before: list[int | None] = []
    for number, op in enumerate(graph.ops):
        before.append(previous.get((op.rank_class, op.stream)))
        previous[op.rank_class, op.stream] = number

    def waited(number: int, since: int, until: int, into: dict[str, int]) -> None:
        """Divide the time that operation ``number`` waited, from ``since`` to ``until`` in ps, by cause.

        Add the parts to ``into``.
        """
        while until > since:
            op, preceding = graph.ops[number], before[number]
            causes = [*op.after, *([] if preceding is None else [preceding])]
            cause = max(causes, key=lambda candidate: times.end_ps[candidate], default=None)
            if cause is None or times.end_ps[cause] <= since:
                _add(into, "bubble", until - since)
                return
            blocking = graph.ops[cause]
            begin = max(times.begin_ps[cause], since)
            top = min(until, times.end_ps[cause])
            _add(into, "bubble", until - top)
            kind = _kind(graph, blocking)
            if kind is None:
                _add(into, "bubble", top - since)
                return
            _add(into, kind, top - begin)
            number, until = cause, begin

    for number, op in enumerate(graph.ops):
        if op.stream != COMPUTE:
            continue
        into, since = totals[op.rank_class], at[op.rank_class]
        waited(number, since, times.begin_ps[number], into)
        for kind, time in op.inside:
            _add(into, kind, time)
        _add(into, COMPUTE, op.time_ps - sum(time for _, time in op.inside))
        at[op.rank_class] = times.end_ps[number]
    for number, into in enumerate(totals):
        tail = [
            place
            for place, op in enumerate(graph.ops)
            if op.rank_class == number and op.stream != COMPUTE and times.end_ps[place] > at[number]
        ]
        until = times.step_ps
        for tail_op in sorted(tail, key=lambda candidate: -times.end_ps[candidate]):
            if times.end_ps[tail_op] < until:
                _add(into, "bubble", until - times.end_ps[tail_op])
                until = times.end_ps[tail_op]
            begin = max(times.begin_ps[tail_op], at[number])
            if begin < until:
                _add(into, _kind(graph, graph.ops[tail_op]) or "bubble", until - begin)
                until = begin
        _add(into, "bubble", until - at[number])
    return totals


def _kind(graph: Graph, op: Op) -> str | None:
    """Return the kind of communication of an operation, between servers or inside a server. Return None for a computation.

    ``graph`` has the operations of the step.
    """
    if op.communication is not None:
        return graph.communications[op.communication].kind
    return op.inside[0][0] if op.inside and op.stream != COMPUTE else None


def _add(into: dict[str, int], kind: str, time: int) -> None:
    if time > 0:
        into[kind] = into.get(kind, 0) + time
