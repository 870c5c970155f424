"""What assertions about packets say does not depend on how quick the machine is: no lab is needed to show it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from railweave.live.lab import assertions
from railweave.live.lab.assertions import Observation, Registered, traffic
from railweave.live.lab.faults.traffic import QueuePair, Traffic, reached

BACKLOG = 1000
"""What a processor of the kernel queues between namespaces by default."""


def pairs(number: int) -> list[QueuePair]:
    return [
        QueuePair(f"a{place}:nic", f"b{place}:nic", "fd01::1", f"fd01::{place + 2:x}", "green", ((f"link{place}",),))
        for place in range(number)
    ]


class SlowKernel(Traffic):
    """Takes a few packets out of its queue each time that somebody looks, and drops those that the queue has no room for."""

    def __init__(self, per_look: int = 8, lost: Sequence[int] = ()) -> None:
        self.queue: deque[tuple[int, int, str]] = deque()
        self.per_look, self.dropped, self.lost = per_look, 0, list(lost)

    def send(self, flow: int, sequence: int, pair: QueuePair, ip_bytes: int = 0) -> bool:
        if flow in self.lost:
            self.lost.remove(flow)
        elif len(self.queue) >= BACKLOG:
            self.dropped += 1
        else:
            self.queue.append((flow, sequence, pair.dst_gid))
        return True

    def arrived(self, wait_s: float = 0.0) -> Iterator[tuple[int, int, str]]:
        for _ in range(min(self.per_look, len(self.queue))):
            yield self.queue.popleft()

    def packet_bytes(self, pair: QueuePair) -> int:
        return 9000

    def close(self) -> None:
        pass


def test_packets_wait_for_those_before_them() -> None:
    """6,144 queue pairs at once overran the kernel's queue of a loaded machine, which dropped what exceeded it, BFD too."""
    kernel = SlowKernel()
    every = pairs(3000)
    got = kernel.deliver([(pair, 2) for pair in every], None)
    assert kernel.dropped == 0
    assert got == [2] * len(every)


def test_a_packet_that_is_lost_is_sent_again() -> None:
    assert reached(SlowKernel(64, lost=[1, 2]), pairs(300), tries=2) == []
    left = reached(SlowKernel(64, lost=[1, 2, 1]), pairs(300), tries=2)
    assert [one.src for one in left] == ["a2:nic"]  # the second of the two that are sent again


def counted_links(
    monkeypatch: pytest.MonkeyPatch, wrong: Any, strays: Any = lambda *_: []
) -> tuple[Observation, list[int]]:  # what stands in for counters
    """``links`` over 300 queue pairs, and the sizes of the batches that were sent."""
    every, sizes = pairs(300), list[int]()

    def seen(lab: Any, kernel: Any, batch: Sequence[QueuePair], counts: Sequence[int]) -> set[tuple[str, str]]:
        sizes.append(len(batch))
        return wrong(len(sizes), batch)

    monkeypatch.setattr(traffic, "queue_pairs", lambda *_: (every, len(every)))
    monkeypatch.setattr(traffic, "Traffic", lambda _: SlowKernel(64))
    monkeypatch.setattr(traffic, "_wrong", seen)
    monkeypatch.setattr(traffic, "_strays", strays)
    monkeypatch.setattr(traffic, "_directions", lambda *_: [])
    return traffic.links(SimpleNamespace(plan=SimpleNamespace(wires=[])), None), sizes  # pyright: ignore[reportArgumentType]


NOISE = {("link0", "leaf")}


def test_batches_are_as_large_as_the_machine_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a batch takes so long that what daemons say meanwhile counts, it is sent again in parts."""
    seen, sizes = counted_links(monkeypatch, lambda _, batch: NOISE if len(batch) > 40 else set())
    assert seen.failures == []
    assert seen.checked == 300
    assert max(one for one in sizes[-5:]) <= 64


def test_a_link_that_is_wrong_once_is_not_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, _ = counted_links(monkeypatch, lambda number, _: NOISE if number < 7 else set())
    assert seen.failures == []


def test_a_link_that_is_wrong_each_time_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    first = "a0:nic"
    seen, _ = counted_links(monkeypatch, lambda _, batch: NOISE if batch[0].src == first else set())
    assert seen.failures == ["link0 towards leaf carries what `paths` does not explain"]
    seen, _ = counted_links(
        monkeypatch,
        lambda _, batch: NOISE if batch[0].src == first else set(),
        lambda _lab, _traffic, pair: ["astray"] if pair.src == first else [],
    )
    assert seen.failures == ["astray"]


def test_what_fails_is_looked_at_again_however_long_a_look_took(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assertions, "AGAIN_S", 0)
    looks: list[int] = []

    def late(lab: object, routes: object) -> Observation:
        del lab, routes
        looks.append(1)
        return Observation(1, "", [] if len(looks) > 1 else ["not yet"])

    monkeypatch.setattr(assertions, "every", lambda: [Registered("late", "", late)])
    lab = SimpleNamespace(control_plane=SimpleNamespace(routes=lambda: None))
    [outcome] = assertions.run(lab, retry_s=1e-9)  # pyright: ignore[reportArgumentType]
    assert outcome.passed
    looks.clear()
    [outcome] = assertions.run(lab, retry_s=0)  # pyright: ignore[reportArgumentType]
    assert not outcome.passed
