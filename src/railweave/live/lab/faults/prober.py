"""Packets of queue pairs at a steady pace, by a process of their own: which of them arrived, by when they were sent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import LabError
from railweave.live.lab.faults.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from numpy.typing import NDArray

    from railweave.live.lab.faults.traffic import QueuePair
    from railweave.live.lab.running import Running

INTERVAL_S = 0.01
"""Time between two packets of a queue pair: what times are known to."""

MOST_PER_S = 12_000
"""Packets a second that all queue pairs send at most, so that they take part of one processor only."""

_LAST_S = 0.5
_START_S = 30


@dataclass(frozen=True)
class Probed:
    """What was sent and what arrived. ``sent`` has the moment of each round (``time.monotonic``).

    ``arrived`` has a row for each queue pair and a column for each round.
    """

    sent: NDArray[np.float64]
    arrived: NDArray[np.bool_]

    def between(self, begin: float, end: float) -> Probed:
        """The rounds of a span of time."""
        inside = (self.sent >= begin) & (self.sent < end)
        return Probed(self.sent[inside], self.arrived[:, inside])


class Prober:
    """Sends from the moment it is entered until ``stop``."""

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

    def stop(self) -> Probed:
        """Stop sending; what became of all that was sent."""
        self._here.send("stop")
        if not self._here.poll(_START_S):
            raise LabError("the process that sends packets does not answer")
        sent, rows = self._here.recv()
        self._child.join()
        arrived = np.zeros((self._pairs, len(sent)), np.bool_)
        for place, row in enumerate(rows):
            marks = np.frombuffer(row, np.uint8)
            arrived[place, : len(marks)] = marks.astype(np.bool_)
        return Probed(np.array(sent, np.float64), arrived)


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
