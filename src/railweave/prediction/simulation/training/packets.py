"""The collectives of a step, run with the packet engine for comparison with the flow engine. All groups of a communication run at once."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.counting import counted
from railweave.json_values import JsonObject
from railweave.model.catalog.rdma import POST_COST_PS
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.queue_pairs import split
from railweave.prediction.simulation.engines.choice import MOST_PACKET_HOPS
from railweave.prediction.simulation.engines.packets import run_packets
from railweave.prediction.simulation.engines.traffic import Traffic, traffic_of
from railweave.prediction.simulation.model.ports import apart_ps, check_planes, usable
from railweave.prediction.simulation.model.retries import retry_parameters
from railweave.prediction.simulation.training.loads import CarriedCommunication, PlacedJob, between, carried

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from railweave.prediction.collectives.program import Program
    from railweave.prediction.jobs.graph import Communication, Graph

WIRE_BYTES = 4178
"""The size in bytes of a full packet on the wire, with headers, preamble and gap."""
ACKNOWLEDGED = 1.1
"""The approximate number of packets on the network for each data packet, including acknowledgements."""
NOTE = (
    "packets: a communication takes the time that packets of all its groups took, if this is longer than with flows; communications that run at the same time "
    "share links as flows"
)
ALIGN = 1 << 16
"""The unit in bytes to which railweave rounds down the size of a communication that it reduces for a packet run."""


@dataclass(frozen=True)
class PacketCheck(JsonObject):
    """A communication that was run with the packet engine and with the flow engine, for comparison.

    - ``size_bytes``: the size that was run. It is smaller than the communication's size if that size would need too many packets.
    - ``marked``: the number of packets with ECN marks.
    - ``paused``: the number of PFC pauses.
    """

    JSON = (
        "kind=communication.kind",
        "collective=communication.collective",
        "size_bytes",
        "of_bytes=communication.size_bytes",
        "groups=#communication.groups",
        "ranks",
        "flow_us=flow_ps/1e6",
        "packet_us=packet_ps/1e6",
        "longer",
        "ecn_marked_packets=marked",
        "pfc_pauses=paused",
        "complete",
        "wall_s",
    )

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
        """The extra time with the packet engine, as a fraction of the time with the flow engine."""
        return self.packet_ps / self.flow_ps - 1

    def to_text(self) -> str:
        """Return one line for people: the communication, its times with both engines (flow and packet), marks and pauses."""
        communication = self.communication
        cut = "" if self.size_bytes == communication.size_bytes else f" (of {communication.size_bytes:,})"
        return (
            f"{communication.kind} {communication.collective} of {self.size_bytes:,} bytes{cut}, {counted(len(communication.groups), 'group')} of {len(communication.groups[0])}: flows {self.flow_ps / 1e6:,.1f} us, "
            f"packets {self.packet_ps / 1e6:,.1f} us ({self.longer:+.1%}), {self.marked:,} marked, {self.paused:,} pauses"
            + ("" if self.complete else "; not complete")
        )

    @property
    def ranks(self) -> int:
        """The number of ranks of a group."""
        return len(self.communication.groups[0])


def slowest(graph: Graph, loads: Sequence[CarriedCommunication]) -> list[tuple[Communication, CarriedCommunication]]:
    """Return the communications between servers, each with its load.

    If several pipeline stages have a communication of the same kind, collective and size, only the one with the longest time is returned.
    ``loads`` has the load of each communication of the graph.
    """
    by_key: dict[tuple[str, str, int], tuple[Communication, CarriedCommunication]] = {}
    for communication, load in zip(graph.communications, loads, strict=True):
        if key(communication) not in by_key or load.alone_ps > by_key[key(communication)][1].alone_ps:
            by_key[key(communication)] = communication, load
    return list(by_key.values())


def key(communication: Communication) -> tuple[str, str, int]:
    """Return (kind, collective, size). The key is equal for the same communication in different stages."""
    return communication.kind, communication.collective, communication.size_bytes


def as_long_as_packets(
    graph: Graph, loads: Sequence[CarriedCommunication], checked: Sequence[PacketCheck]
) -> list[CarriedCommunication]:
    """Return the loads of all communications, with the times of the packet engine if they are longer.

    ``loads`` has the results of the flow engine, and ``checked`` the comparisons of both engines. If the packet engine took longer for a
    communication, all communications with the same ``key`` take longer by the same factor, and keep their links less busy. Other loads are
    unchanged. ``graph`` has the operations of the step.
    """
    longer = {key(check.communication): max(1 + check.longer, 1.0) for check in checked if check.complete}
    return [
        replace(
            load,
            alone_ps=round(load.alone_ps * longer.get(key(communication), 1.0)),
            busy=load.busy / longer.get(key(communication), 1.0),
        )
        for communication, load in zip(graph.communications, loads, strict=True)
    ]


def check_packets(
    placed: PlacedJob,
    wanted: Sequence[tuple[Communication, CarriedCommunication]],
    progress: Callable[[str], None],
    most_hops: int = MOST_PACKET_HOPS,
) -> list[PacketCheck]:
    """Run communications with the packet engine and the flow engine, and return the results. ``wanted`` is the result of ``slowest``.

    If packets would cross more than ``most_hops`` links, both engines run fewer bytes. ``placed`` is the job as placed on the network.
    Raises the errors of ``run_packets`` and ``run_flows``.
    """
    checks: list[PacketCheck] = []
    for communication, known in wanted:
        if not known.ports.size:
            continue
        hops = float(known.bytes.sum()) / WIRE_BYTES * ACKNOWLEDGED
        size = (
            communication.size_bytes
            if hops <= most_hops
            else max(int(communication.size_bytes * most_hops / hops) // ALIGN * ALIGN, ALIGN)
        )
        progress(
            f"packets: {communication.kind} {communication.collective} of {size:,} bytes, about {min(hops, most_hops) / 1e6:,.0f} M links crossed"
        )
        checks.append(_checked(placed, communication, min(size, communication.size_bytes)))
    return checks


def _checked(placed: PlacedJob, whole: Communication, size: int) -> PacketCheck:
    begin = time.perf_counter()
    resized = replace(whole, size_bytes=size)
    traffic, tail, floor = _traffic(placed, resized)
    arguments = placed.fabric.arguments(traffic.pairs, placed.timeline)
    wanted = retry_parameters(placed.nccl) | dict(placed.settings)
    arguments["parameters"] = {"host.post-cost": f"{POST_COST_PS}ps"} | arguments["parameters"] | wanted
    arguments["profiles"] = [profile | wanted for profile in arguments["profiles"]]
    run = run_packets(arguments, traffic)
    counters = run.counters or {}
    return PacketCheck(
        whole,
        size,
        carried(placed, resized).alone_ps,
        max(run.last_ps + tail, floor, 1),
        counters.get("ecn_marked_packets", 0),
        counters.get("pfc_pauses", 0),
        run.complete,
        time.perf_counter() - begin,
    )


def _traffic(placed: PlacedJob, communication: Communication) -> tuple[Traffic, int, int]:
    """Return (all messages of a communication, the time in ps added after the last arrival, its shortest possible time in ps).

    ``placed`` is the job as placed on the network.
    """
    way = usable(placed.fabric, placed.timeline)
    known: dict[object, Program] = {}
    parts: list[Traffic] = []
    alone = communication.collective == "send-recv"  # a message each way would be two
    for group in placed.groups(communication):
        if len(group.job.servers) == 1:
            continue
        if group.shape not in known:
            given = group.job, communication.collective, communication.size_bytes, placed.nccl
            known[group.shape] = between(*given) if alone else program(*given, credit=True)
        split_data = alone or bool(placed.nccl["NCCL_IB_SPLIT_DATA_ON_QPS"])  # as in loads.py
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
    """Return the traffic of all groups (``parts``) as one object: queue pairs, messages and lists of waits are concatenated."""
    messages: list[NDArray[np.uint64]] = []
    starts: list[NDArray[np.uint64]] = [np.zeros(1, np.uint64)]
    after: list[NDArray[np.uint32]] = []
    lists: list[NDArray[np.uint32]] = []
    pairs = count = waited = of = 0
    for part in parts:
        moved = part.messages.copy()
        moved[:, 0] += np.uint64(pairs)
        messages.append(moved)
        starts.append(part.after_start[1:] + np.uint64(waited))
        after.append(part.after + np.uint32(count))
        after_of = np.arange(len(part.messages), dtype=np.uint32) if part.after_of is None else part.after_of
        lists.append(after_of + np.uint32(of))
        pairs, count, waited = pairs + len(part.pairs), count + len(part.messages), waited + len(part.after)
        of += len(part.after_start) - 1
    return Traffic(
        np.concatenate([part.pairs for part in parts]),
        np.concatenate(messages),
        np.concatenate(starts),
        np.concatenate(after),
        np.concatenate([part.after_delay_ps for part in parts]),
        np.concatenate([part.data for part in parts]),
        np.concatenate(lists),
    )
