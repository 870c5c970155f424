"""The collectives of a step by packets, beside what flows say of them: all groups of a communication at once."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.counting import counted
from railweave.model.catalog.rdma import POST_COST_PS
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.queue_pairs import split
from railweave.prediction.simulation.engines.choice import MOST_PACKET_HOPS
from railweave.prediction.simulation.engines.packets import run_packets
from railweave.prediction.simulation.engines.traffic import Traffic, traffic_of
from railweave.prediction.simulation.model.ports import apart_ps, check_planes, usable
from railweave.prediction.simulation.model.retries import retry_parameters
from railweave.prediction.simulation.training.loads import Carried, Placed, between, carried

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from railweave.prediction.collectives.program import Program
    from railweave.prediction.jobs.graph import Communication, Graph

WIRE_BYTES = 4178
"""Of a full packet, with headers, preamble and gap."""
ACKNOWLEDGED = 1.1
"""Packets for each of data, with acknowledgements, about."""
NOTE = (
    "packets: each communication takes alone as long as packets of all its groups did, where that is longer than flows say; those that go on at the same time "
    "share links as flows"
)
ALIGN = 1 << 16
"""Sizes that are cut down are multiples of this."""


@dataclass(frozen=True)
class Checked:
    """A communication by packets and by flows. ``size_bytes``: what was run, less than the communication's where packets would be too many.

    ``marked``, ``paused``: packets that were marked (ECN), and pauses (PFC).
    """

    communication: Communication
    size_bytes: int
    flow_ps: int
    packet_ps: int
    marked: int
    paused: int
    complete: bool
    wall_s: float

    @property
    def longer(self) -> float:
        """By how much packets take longer than flows say."""
        return self.packet_ps / self.flow_ps - 1

    def to_text(self) -> str:
        """A line for people."""
        one = self.communication
        cut = "" if self.size_bytes == one.size_bytes else f" (of {one.size_bytes:,})"
        return (
            f"{one.kind} {one.collective} of {self.size_bytes:,} bytes{cut}, {counted(len(one.groups), 'group')} of {len(one.groups[0])}: flows {self.flow_ps / 1e6:,.1f} us, "
            f"packets {self.packet_ps / 1e6:,.1f} us ({self.longer:+.1%}), {self.marked:,} marked, {self.paused:,} pauses"
            + ("" if self.complete else "; not complete")
        )

    def to_json(self) -> dict[str, Any]:
        """The documented object (docs/jobs.md)."""
        one = self.communication
        return {
            "kind": one.kind,
            "collective": one.collective,
            "size_bytes": self.size_bytes,
            "of_bytes": one.size_bytes,
            "groups": len(one.groups),
            "ranks": len(one.groups[0]),
            "flow_us": self.flow_ps / 1e6,
            "packet_us": self.packet_ps / 1e6,
            "longer": self.longer,
            "ecn_marked_packets": self.marked,
            "pfc_pauses": self.paused,
            "complete": self.complete,
            "wall_s": self.wall_s,
        }


def slowest(graph: Graph, found: Sequence[Carried]) -> list[tuple[Communication, Carried]]:
    """Return each kind, collective and size sent between servers once: that of the stage where it takes longest."""
    by_key: dict[tuple[str, str, int], tuple[Communication, Carried]] = {}
    for one, own in zip(graph.communications, found, strict=True):
        if key(one) not in by_key or own.alone_ps > by_key[key(one)][1].alone_ps:
            by_key[key(one)] = one, own
    return list(by_key.values())


def key(one: Communication) -> tuple[str, str, int]:
    """Communications of all stages with one key are alike."""
    return one.kind, one.collective, one.size_bytes


def as_long_as_packets(graph: Graph, found: Sequence[Carried], checked: Sequence[Checked]) -> list[Carried]:
    """Communications that take longer than flows say by what packets of their like took; those that packets were quicker at stay."""
    longer = {key(one.communication): max(1 + one.longer, 1.0) for one in checked if one.complete}
    return [
        replace(
            own, alone_ps=round(own.alone_ps * longer.get(key(one), 1.0)), busy=own.busy / longer.get(key(one), 1.0)
        )
        for one, own in zip(graph.communications, found, strict=True)
    ]


def check_packets(
    placed: Placed,
    wanted: Sequence[tuple[Communication, Carried]],
    progress: Callable[[str], None],
    most_hops: int = MOST_PACKET_HOPS,
) -> list[Checked]:
    """Communications (``slowest``) by packets and by flows.

    What packets would need more than ``most_hops`` links for is cut down to fewer bytes, for flows too. Raises ``InputError`` as the engines do.
    """
    found: list[Checked] = []
    for one, known in wanted:
        if not known.ports.size:
            continue
        hops = float(known.bytes.sum()) / WIRE_BYTES * ACKNOWLEDGED
        size = (
            one.size_bytes if hops <= most_hops else max(int(one.size_bytes * most_hops / hops) // ALIGN * ALIGN, ALIGN)
        )
        progress(
            f"packets: {one.kind} {one.collective} of {size:,} bytes, about {min(hops, most_hops) / 1e6:,.0f} M links crossed"
        )
        found.append(_checked(placed, one, min(size, one.size_bytes)))
    return found


def _checked(placed: Placed, whole: Communication, size: int) -> Checked:
    begin = time.perf_counter()
    one = replace(whole, size_bytes=size)
    traffic, tail, floor = _traffic(placed, one)
    arguments = placed.fabric.arguments(traffic.pairs, placed.timeline)
    wanted = retry_parameters(placed.nccl) | dict(placed.settings)
    arguments["parameters"] = {"host.post-cost": f"{POST_COST_PS}ps"} | arguments["parameters"] | wanted
    arguments["profiles"] = [profile | wanted for profile in arguments["profiles"]]
    run = run_packets(arguments, traffic)
    counters = run.counters or {}
    return Checked(
        whole,
        size,
        carried(placed, one).alone_ps,
        max(run.last_ps + tail, floor, 1),
        counters.get("ecn_marked_packets", 0),
        counters.get("pfc_pauses", 0),
        run.complete,
        time.perf_counter() - begin,
    )


def _traffic(placed: Placed, one: Communication) -> tuple[Traffic, int, int]:
    """All messages of a communication with what they wait for; what is added at the end, and the least time, ps."""
    way = usable(placed.fabric, placed.timeline)
    known: dict[object, Program] = {}
    parts: list[Traffic] = []
    alone = one.collective == "send-recv"  # a message each way would be two
    for group in placed.groups(one):
        if len(group.job.servers) == 1:
            continue
        if group.shape not in known:
            given = group.job, one.collective, one.size_bytes, placed.nccl
            known[group.shape] = between(*given) if alone else program(*given, credit=True)
        split_data = bool(placed.nccl["NCCL_IB_SPLIT_DATA_ON_QPS"])
        over, ports = placed.nccl["NCCL_IB_QPS_PER_CONNECTION"], group.job.ports
        pieces = split(known[group.shape], over, split_data=split_data, ports=ports)
        apart = apart_ps(placed.fabric.wiring, ports)
        parts.append(
            traffic_of(
                placed.fabric.addresses,
                group.hosts,
                known[group.shape],
                pieces,
                alone=alone,
                ports=ports,
                way=way,
                apart_ps=apart,
            )
        )
    tail = max(each.tail_ps for each in known.values())
    traffic = joined(parts)
    check_planes(placed.fabric, traffic.pairs)
    return traffic, tail, max(each.floor_ps for each in known.values())


def joined(parts: Sequence[Traffic]) -> Traffic:
    """Traffics side by side: queue pairs, messages and lists of what is waited for of one after those of the other."""
    messages: list[NDArray[np.uint64]] = []
    starts: list[NDArray[np.uint64]] = [np.zeros(1, np.uint64)]
    after: list[NDArray[np.uint32]] = []
    lists: list[NDArray[np.uint32]] = []
    pairs = count = waited = of = 0
    for one in parts:
        moved = one.messages.copy()
        moved[:, 0] += np.uint64(pairs)
        messages.append(moved)
        starts.append(one.after_start[1:] + np.uint64(waited))
        after.append(one.after + np.uint32(count))
        own = np.arange(len(one.messages), dtype=np.uint32) if one.after_of is None else one.after_of
        lists.append(own + np.uint32(of))
        pairs, count, waited = pairs + len(one.pairs), count + len(one.messages), waited + len(one.after)
        of += len(one.after_start) - 1
    return Traffic(
        np.concatenate([part.pairs for part in parts]),
        np.concatenate(messages),
        np.concatenate(starts),
        np.concatenate(after),
        np.concatenate([part.after_delay_ps for part in parts]),
        np.concatenate([part.data for part in parts]),
        np.concatenate(lists),
    )
