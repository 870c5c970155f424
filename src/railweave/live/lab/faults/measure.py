"""Measurements of faults: packets lost, time until loss ends, time to recover, and queue pairs that kept a path."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.counting import counted
from railweave.errors import LabError
from railweave.json_values import JsonObject
from railweave.live.lab import fib, hosts
from railweave.live.lab.faults.traffic import CHECKING, QueuePair, Traffic, named, queue_pairs, reached, spread
from railweave.live.lab.frr import held_sessions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from numpy.typing import NDArray

    from railweave.analysis.routing.table import Routes
    from railweave.live.lab.faults.kinds import Effect
    from railweave.live.lab.running import Running


INTERVAL_S = 0.01
"""The time between two packets of a queue pair, in seconds. This is the resolution of measured times."""

MOST_PER_S = 12_000
"""The largest number of packets per second of all queue pairs together, chosen so that sending uses only part of one processor."""

_LAST_S = 0.5
_START_S = 30


@dataclass(frozen=True)
class ProbeCounts:
    """The packets that were sent, and the packets that arrived.

    ``sent`` has the time of each round in seconds (``time.monotonic``). ``arrived`` has a row for each queue pair and a column
    for each round.
    """

    sent: NDArray[np.float64]
    arrived: NDArray[np.bool_]

    def between(self, begin: float, end: float) -> ProbeCounts:
        """Return the counts of the rounds from ``begin`` to ``end``, in seconds of ``time.monotonic``."""
        inside = (self.sent >= begin) & (self.sent < end)
        return ProbeCounts(self.sent[inside], self.arrived[:, inside])


class Prober:
    """A context manager that sends packets of queue pairs continuously, until ``stop`` is called."""

    def __init__(self, lab: Running, pairs: Sequence[QueuePair]) -> None:
        self.interval_s = max(INTERVAL_S, len(pairs) / MOST_PER_S)
        context = multiprocessing.get_context("fork")  # the child needs the lab as it is here
        self._here, there = context.Pipe()
        self._child = context.Process(target=_probe, args=(there, lab, list(pairs), self.interval_s), daemon=True)
        self._pairs = len(pairs)

    def __enter__(self) -> Prober:
        self._child.start()
        if not self._here.poll(_START_S) or self._here.recv() != "began":
            raise LabError("packets could not be sent")
        return self

    def __exit__(self, *_: object) -> None:
        if self._child.is_alive():
            self._child.kill()
        self._child.join()
        self._here.close()

    def stop(self) -> ProbeCounts:
        """Stop sending, and return the packets that were sent and that arrived. Raise LabError if the sending process does not answer."""
        self._here.send("stop")
        if not self._here.poll(_START_S):
            raise LabError("the process that sends packets does not answer")
        sent, rows = self._here.recv()
        self._child.join()
        arrived = np.zeros((self._pairs, len(sent)), np.bool_)
        for place, row in enumerate(rows):
            marks = np.frombuffer(row, np.uint8)
            arrived[place, : len(marks)] = marks.astype(np.bool_)
        return ProbeCounts(np.array(sent, np.float64), arrived)


def _probe(pipe: Connection, lab: Running, pairs: list[QueuePair], interval_s: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops this
    parent = os.getppid()
    sent: list[float] = []
    rows = [bytearray() for _ in pairs]
    with Traffic(lab) as traffic:
        pipe.send("began")
        due = time.monotonic()
        while not pipe.poll() and os.getppid() == parent:
            sent.append(time.monotonic())
            number = len(sent) - 1
            for flow, pair in enumerate(pairs):
                rows[flow].append(0)
                traffic.send(flow, number, pair)
            due = max(due + interval_s, time.monotonic() - interval_s)
            while True:
                _take(traffic, pairs, rows, max(due - time.monotonic(), 0.0))
                if time.monotonic() >= due:
                    break
        end = time.monotonic() + _LAST_S
        while time.monotonic() < end:
            _take(traffic, pairs, rows, 0.05)
    pipe.send((sent, [bytes(row) for row in rows]))


def _take(traffic: Traffic, pairs: list[QueuePair], rows: list[bytearray], wait_s: float) -> None:
    for flow, number, gid in traffic.arrived(wait_s):
        if flow < len(pairs) and gid == pairs[flow].dst_gid and number < len(rows[flow]):
            rows[flow][number] = 1


TOUCHED, OTHERS = 64, 16
"""The largest numbers of queue pairs that send continuously: of those that cross the fault, and of those that do not."""

CHECKED = 1024
"""The largest number of queue pairs that are tested for a path during a fault. Up to three quarters of them cross the fault."""

SETTLE_S = 15
"""The longest time to wait until routers have converged, in seconds."""

HOLD_S = 1.0
"""The seconds for which a fault continues after routers have converged."""

UNKNOWN_S = 4.0
"""The seconds for which a fault lasts if the computed routes cannot predict how routers react."""

BEFORE_S = 0.3


@dataclass(frozen=True)
class FaultMeasurement(JsonObject):
    """The measured effects of a fault.

    - ``watched``: the number of queue pairs that sent packets continuously.
    - ``sent``, ``lost``: their packets sent and lost during the fault; ``lost_on_return``: lost afterwards.
    - ``switch_s``: time from the start of the fault to the last packet lost by a queue pair that should keep a path.
      None if packets are still lost at the end of the fault.
    - ``routes_s``: time from the start until all kernels forwarded as computed; None if they did not, or if unknown.
    - ``return_s``: time from the end of the fault until all kernels forward as before and servers have their addresses.
      None if that took longer than ``SETTLE_S``.
    - ``asked``, ``kept``: the numbers of queue pairs that were tested during the fault, and of those that had a path.
    - ``should_keep``: the number of tested queue pairs that should have had a path.
    - ``unexpected``: names of queue pairs without a path that should have had one.
    - ``interval_s``: the precision of times, in seconds.
    """

    JSON = (
        "kind",
        "target",
        "watched",
        "sent",
        "lost",
        "switch_s",
        "routes_s",
        "return_s",
        "lost_on_return",
        "asked",
        "kept",
        "should_keep",
        "unexpected",
        "interval_s",
        "note",
        "passed",
    )

    kind: str
    target: str
    watched: int
    sent: int
    lost: int
    switch_s: float | None
    routes_s: float | None
    return_s: float | None
    lost_on_return: int
    asked: int
    kept: int
    should_keep: int
    unexpected: tuple[str, ...]
    interval_s: float
    note: str = ""

    @property
    def passed(self) -> bool:
        """True if every queue pair that should keep a path kept one, and the network recovered."""
        return not self.unexpected and self.return_s is not None and self.switch_s is not None


def single(lab: Running, effect: Effect, lasts_s: float | None = None) -> FaultMeasurement:
    """Start the fault ``effect``, measure its effects, and end it.

    The fault lasts ``lasts_s`` seconds or, if that is None, until ``HOLD_S`` seconds after routers have converged.
    """
    whole = lab.control_plane.routes()
    expected = whole if not effect.down else lab.control_plane.routes(effect.down)
    pairs, watched = _watched(lab, whole, effect)
    asked = pairs[:CHECKED]
    keep = _should_keep(lab, effect, asked, expected)
    with Traffic(lab, CHECKING) as checking, Prober(lab, watched) as prober:
        try:
            effect.prepare()
            time.sleep(BEFORE_S)
            begun = time.monotonic()
            effect.begin()
            settled = _last(lab, effect, expected, begun, lasts_s)
            left = set(reached(checking, asked))
            ended = time.monotonic()
        finally:
            effect.end()
        before = len(lab.released)
        took, _ = held_sessions.wait_and_release(lab, whole, SETTLE_S)
        back = hosts.wait_for_addresses(lab, SETTLE_S) and took is not None
        returned = time.monotonic() - ended if back else None
        time.sleep(BEFORE_S)
        probed = prober.stop()
    during, after = probed.between(begun, ended), probed.between(ended, float("inf"))
    steady = [place for place, pair in enumerate(watched) if pair in keep]
    return FaultMeasurement(
        effect.target.fault.kind,
        effect.name,
        len(watched),
        during.arrived.size,
        int((~during.arrived).sum()),
        _until_last_loss(during, steady, begun, prober.interval_s),
        settled,
        returned,
        int((~after.arrived).sum()),
        len(asked),
        len(asked) - len(left),
        len(keep),
        named(pair for pair in asked if pair in keep and pair in left),
        prober.interval_s,
        "; ".join(filter(None, [effect.note, _released(lab.released[before:])])),
    )


def _watched(lab: Running, whole: Routes, effect: Effect) -> tuple[list[QueuePair], list[QueuePair]]:
    """Return (all queue pairs in the order in which to test them, the queue pairs that send continuously).

    Only the first ``CHECKED`` queue pairs of the first list are tested. ``whole`` are the routes before the fault ``effect``.
    """
    pairs, _ = queue_pairs(lab, whole)
    touched = set(effect.links)
    crossing = [pair for pair in pairs if pair.links() & touched]
    others = [pair for pair in pairs if not pair.links() & touched]
    asked = spread(crossing, len(crossing))
    most = CHECKED * 3 // 4
    return [*asked[:most], *others, *asked[most:]], [*spread(crossing, TOUCHED), *spread(others, OTHERS)]


def _should_keep(lab: Running, effect: Effect, pairs: Sequence[QueuePair], expected: Routes) -> set[QueuePair]:
    """Return those of ``pairs`` that should have a path during the fault ``effect``.

    If the fault takes links or devices down (``effect.down``), they are the pairs with a path in ``expected``, the routes computed for this
    state. If routes cannot predict the effect, for example of a blackhole, they are the pairs that do not cross the fault.
    """
    kind = effect.target.fault.kind
    if effect.down:
        known, _ = queue_pairs(lab, expected)
        alive = {(pair.src_gid, pair.dst_gid) for pair in known if pair.hops}
        return {pair for pair in pairs if (pair.src_gid, pair.dst_gid) in alive}
    if kind in {"blackhole", "ra-stopped"} or effect.down is None:
        touched = set(effect.links)
        return {pair for pair in pairs if not pair.links() & touched}
    return set(pairs)


def _last(lab: Running, effect: Effect, expected: Routes, begun: float, lasts_s: float | None) -> float | None:
    """Wait until the fault ``effect`` should end. Return the seconds from the fault's start until kernels forwarded as ``expected``.

    Return None if kernels did not forward as expected in time, or if the expected forwarding is unknown. ``begun`` is the start, by
    ``time.monotonic``. ``lasts_s`` is the duration of the fault in seconds; None ends the fault soon after routers have converged.
    """
    settled: float | None = None
    if effect.down is not None:
        limit = SETTLE_S if lasts_s is None else lasts_s
        took, _ = fib.wait(lab, expected, limit)
        settled = None if took is None else time.monotonic() - begun
    until = begun + lasts_s if lasts_s is not None else time.monotonic() + (HOLD_S if effect.down else UNKNOWN_S)
    time.sleep(max(until - time.monotonic(), 0.0))
    return settled


def _released(sessions: Sequence[str]) -> str:
    return f"FRR did not take back {counted(len(sessions), 'session')} by itself" if sessions else ""


def _until_last_loss(during: ProbeCounts, flows: Sequence[int], begun: float, interval_s: float) -> float | None:
    """Return the seconds from the start of the fault to the last lost packet; None if packets are still lost at the end.

    - ``during``: the packets during the fault.
    - ``flows``: the rows of the queue pairs to look at.
    - ``begun``: the start of the fault, by ``time.monotonic``.
    - ``interval_s``: the seconds between two packets of a queue pair; they are added to the result.
    """
    lost = ~during.arrived[list(flows)]
    rounds = np.flatnonzero(lost.any(axis=0))
    if not rounds.size:
        return 0.0
    last = int(rounds[-1])
    if last == lost.shape[1] - 1:
        return None
    return float(during.sent[last]) - begun + interval_s
