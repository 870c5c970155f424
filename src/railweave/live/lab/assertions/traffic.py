"""Assertions about test packets between servers. The packets have the same headers as those of RoCE queue pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.live.lab import fib as tables
from railweave.live.lab.assertions import Observation
from railweave.live.lab.faults.traffic import QueuePair, Traffic, pairs_apart, queue_pairs, reached, spread
from railweave.live.lab.kernel.namespace import Direction, snapshot
from railweave.model.config.quantities import ETHERNET_HEADER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.analysis.routing.table import Routes
    from railweave.live.lab.running import Running

BATCH = 256
"""The largest number of queue pairs whose packets are counted together.

A batch ends so soon that the daemons meanwhile send less than half a test packet's bytes on any link.

On a slow machine, a batch with wrong counts is sent again in halves, down to ``LEAST_BATCH``.
"""

LEAST_BATCH = 16

TRIES = 3
"""The number of times that a queue pair, or a batch of the smallest size, must use wrong links before it is reported.

Several tries are needed because a session that is opened again during a test also causes traffic on links.
"""

MOST_APART = 1024
"""The largest number of pairs of NICs in different planes that are tested. If there are more, a uniform selection is tested."""

MOST_SHARED = 64
"""The largest number of queue pairs with several possible links that are tested, one at a time.

If there are more, a uniform selection is tested.
"""

MOST_CULPRITS = 8
"""The largest number of queue pairs on wrong links that are reported. The search ends at this number."""


def _counts(pairs: Sequence[QueuePair]) -> list[int]:
    """Return the number of packets to send for each queue pair. The number differs by color, so that swapped colors are noticed."""
    colors = {color: place for place, color in enumerate(dict.fromkeys(pair.color for pair in pairs))}
    return [2 + 2 * (colors[pair.color] % 8) + place % 2 for place, pair in enumerate(pairs)]


def _of(number: int, every: int) -> str:
    return f"{number:,} of {every:,} queue pairs"


def reachability(lab: Running, routes: Routes) -> Observation:
    """Check that a packet from every address of every server reaches every other server.

    In a fabric with planes, this is checked within each plane.
    """
    pairs, every = queue_pairs(lab, routes)
    with Traffic(lab) as traffic:
        left = reached(traffic, pairs)
    addresses = len({pair.src_gid for pair in pairs})
    failures = [f"nothing arrives from {pair}" for pair in left]
    return Observation(
        len(pairs), f"{_of(len(pairs), every)}, from {counted(addresses, 'address', 'addresses')}", failures
    )


def planes_apart(lab: Running, routes: Routes) -> Observation:
    """Check that planes are isolated: no switch's kernel has a prefix of another plane, and no packet crosses between planes."""
    network = lab.plan.network
    pairs = pairs_apart(lab)
    if not pairs:
        return Observation(0, "no planes")
    chosen = spread(pairs, MOST_APART)
    owner = {subnet.prefix: network.switch(segment.leaf) for segment in network.segments for subnet in segment.subnets}
    kernel_routes = tables.read(lab, routes).routes
    checked, failures = 0, list[str]()
    for name, fib in kernel_routes.fibs.items():
        plane = network.switch(name).plane
        for prefix, group in zip(kernel_routes.prefixes, fib.group.tolist(), strict=True):
            there = owner.get(prefix)
            if there is None or there.fabric != network.switch(name).fabric or there.plane == plane:
                continue
            checked += 1
            if group >= 0:
                failures.append(f"{name} of {plane} has a route to {prefix} of {there.name}, which is of {there.plane}")
    with Traffic(lab) as traffic:
        silent = set(reached(traffic, chosen, tries=2))
    failures += [f"a packet arrives in another plane: {pair}" for pair in chosen if pair not in silent]
    evidence = (
        f"{len(silent):,} of {len(chosen):,} pairs between planes silent (there are {len(pairs):,}), "
        f"{counted(checked, 'prefix', 'prefixes')} of other planes without a route"
    )
    return Observation(len(chosen) + checked, evidence, failures)


def mtu(lab: Running, routes: Routes) -> Observation:
    """Check that a packet of the NIC's full size arrives unfragmented, and that a NIC does not send a packet one byte larger."""
    pairs, every = queue_pairs(lab, routes)
    failures: list[str] = []
    with Traffic(lab) as traffic:
        left = reached(traffic, pairs, TRIES, None)
        failures += [f"{traffic.packet_bytes(pair)} bytes do not arrive from {pair}" for pair in left]
        one_each = {pair.src: pair for pair in pairs}
        for pair in one_each.values():
            if traffic.send(0, 0, pair, traffic.packet_bytes(pair) + 1):
                failures.append(f"{pair.src} sends {traffic.packet_bytes(pair) + 1} bytes")
        sizes = sorted({traffic.packet_bytes(pair) for pair in pairs})
    return Observation(len(pairs), f"{', '.join(map(str, sizes))} bytes on {_of(len(pairs), every)}", failures)


def links(lab: Running, routes: Routes) -> Observation:
    """Check by link counters that the packets of queue pairs cross the links that ``railweave paths`` computes, and no others."""
    pairs, every = queue_pairs(lab, routes)
    pinned = [pair for pair in pairs if pair.pinned]
    shared = spread([pair for pair in pairs if pair.hops and not pair.pinned], MOST_SHARED)
    failures = [f"`paths` knows no way for {pair}" for pair in pairs if not pair.hops]
    packets = 0
    with Traffic(lab) as traffic:
        traffic.flush()
        reached(traffic, pinned[:BATCH], tries=1)  # neighbors are found before anything is counted
        culprits: list[str] = []
        first, size = 0, BATCH
        while first < len(pinned) and len(culprits) < MOST_CULPRITS:
            batch = pinned[first : first + size]
            counts = _counts(batch)
            wrong = _wrong(lab, traffic, batch, counts)
            if wrong and size > LEAST_BATCH:
                size //= 2
                continue
            for _ in range(TRIES - 1):
                wrong = wrong and wrong & _wrong(lab, traffic, batch, counts)
            if wrong:
                culprits += _culprits(lab, traffic, batch, wrong)
            packets += sum(counts)
            first += size
            size = min(2 * size, BATCH)
        for pair in shared:
            if len(culprits) >= MOST_CULPRITS:  # each that fails takes seconds
                break
            culprits += _strays(lab, traffic, pair)
            packets += 4
    tried = len(pinned) + len(shared)
    evidence = f"{_of(tried, every)}, {packets:,} packets counted on {counted(len(lab.plan.wires), 'link')}"
    return Observation(tried, evidence, failures + culprits)


def _directions(lab: Running, pair: QueuePair) -> list[set[Direction]]:
    """Return, for each hop of a queue pair, the possible (link, receiving device) pairs."""
    at = {pair.src.partition(":")[0]}
    directions: list[set[Direction]] = []
    for hop in pair.hops:
        towards: set[Direction] = set()
        for link in hop:
            cable = lab.plan.network.cable(link)
            ends = {cable.a.device, cable.b.device}
            towards |= {(link, end) for end in ends - at} if ends & at else set()
        directions.append(towards)
        at = {device for _, device in towards}
    return directions


def _frame_bytes(traffic: Traffic, pair: QueuePair) -> int:
    return traffic.packet_bytes(pair) + ETHERNET_HEADER


def _sent(lab: Running, traffic: Traffic, flows: Sequence[tuple[QueuePair, int]]) -> dict[Direction, int]:
    """Send packets through the sockets of ``traffic`` and wait until they arrive.

    Return the bytes that each link carried in this time, by direction.

    ``flows`` are queue pairs with their numbers of packets.
    """
    before = snapshot(lab)
    traffic.deliver(flows, None)
    return snapshot(lab).since(before)


def _wrong(lab: Running, traffic: Traffic, batch: Sequence[QueuePair], counts: Sequence[int]) -> set[Direction]:
    """Return the links, with direction, on which the bytes of a batch differ by more than half a packet from the computed bytes.

    ``traffic`` sends the packets of ``batch``. ``counts`` has the number of packets of each queue pair.
    """
    seen = _sent(lab, traffic, list(zip(batch, counts, strict=True)))
    expected: dict[Direction, int] = {}
    for pair, count in zip(batch, counts, strict=True):
        hops = _directions(lab, pair)
        for number, hop in enumerate(hops):
            frame = _frame_bytes(traffic, pair) + (pair.tunnel_bytes if 0 < number < len(hops) - 1 else 0)
            for direction in hop:
                expected[direction] = expected.get(direction, 0) + count * frame
    half = min(_frame_bytes(traffic, pair) for pair in batch) // 2
    return {key for key, value in seen.items() if abs(value - expected.get(key, 0)) > half}


def _culprits(lab: Running, traffic: Traffic, batch: Sequence[QueuePair], wrong: set[Direction]) -> list[str]:
    """Return a sentence for each queue pair of ``batch`` that causes wrong counters, or for each wrong link if no queue pair does.

    Each queue pair is sent separately, first those that should cross the links in ``wrong``.
    """
    likely = sorted(batch, key=lambda pair: not any(hop & wrong for hop in _directions(lab, pair)))
    culprits: list[str] = []
    for pair in likely:
        culprits += _strays(lab, traffic, pair)
        if len(culprits) >= MOST_CULPRITS:
            break
    return culprits or [
        f"{link} towards {device} carries what `paths` does not explain" for link, device in sorted(wrong)
    ]


def _strays(lab: Running, traffic: Traffic, pair: QueuePair) -> list[str]:
    """Send a queue pair's packets separately, and return how they deviate from the computed links.

    The list is empty if one of ``TRIES`` tries has no deviation.
    """
    strays: list[str] = []
    for _ in range(TRIES):
        strays = _stray(lab, traffic, pair)
        if not strays:
            break
    return strays


def _stray(lab: Running, traffic: Traffic, pair: QueuePair, count: int = 4) -> list[str]:
    frame = _frame_bytes(traffic, pair)
    seen = _sent(lab, traffic, [(pair, count)])
    crossed = {key: round(value / frame) for key, value in seen.items() if value > frame // 2}
    hops = _directions(lab, pair)
    allowed = {direction for hop in hops for direction in hop}
    stray = sorted({link for link, _ in crossed.keys() - allowed})
    by_hop = [sum(crossed.get(direction, 0) for direction in hop) for hop in hops]
    short = [
        hop
        for hop, number, certain in zip(hops, by_hop, pair.certain, strict=True)
        if number > count or (certain and number < count)
    ]
    if not stray and not short:
        return []
    where = " + ".join(stray) or "no other link"
    missed = sorted(link for hop in short for link, _ in hop)
    named = " + ".join(missed[:4]) + (f" and {len(missed) - 4} more" if len(missed) > 4 else "")
    return [f"{pair}: crosses {where}" + (f", and not {named}" if missed else "")]
