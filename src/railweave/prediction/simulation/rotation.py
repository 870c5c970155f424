"""All-to-all among servers that all behave in the same way. Only one server is simulated, and its result is valid for all.

In each of NCCL's rounds, every rank sends to the rank at the same distance in servers and GPUs. If no link between switches can
fill and all NICs are equal, renumbering the servers changes no rate. So every server gets the same result as the first.

The run has only two servers, which send to each other. Each of the two sends all the data that, in the whole collective, the
first server sends to all other servers. The ports and proxies of the NICs then have the same load as in the whole collective,
and no other port could fill.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import ECMP, HERE, HOST, NO_GROUP, ONE_PORT, SWITCH
from railweave.prediction.collectives.collective import program as program_of
from railweave.prediction.collectives.program import Program, csr, waiting_of
from railweave.prediction.collectives.queue_pairs import Split, split
from railweave.prediction.simulation.engines.choice import Choice, packet_hops
from railweave.prediction.simulation.engines.run import Run, run_flows
from railweave.prediction.simulation.engines.traffic import Traffic, traffic_of
from railweave.prediction.simulation.model.fabric import FlowArguments
from railweave.prediction.simulation.model.tables import nic_port
from railweave.prediction.simulation.settings import payload_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from railweave.prediction.collectives.nccl import Parameters
    from railweave.prediction.simulation.conditions import SimulatedNetwork
    from railweave.prediction.simulation.model.addresses import Addresses
    from railweave.prediction.simulation.model.outages import Timeline
    from railweave.prediction.simulation.model.wiring import Wiring


MOST_LINKS = 64
"""The largest number of links of a path. A longer path is a loop."""

MOST_ROWS = 4_000_000
"""The largest number of paths to examine. With more, the check would take as long as the run.

For each pair of placements (sets of switches that a server's NICs are on), there is one path per queue pair.
"""


@dataclass(frozen=True, eq=False)
class PlacementRows:
    """The traffic between servers, in rows. A placement is the set of switches that a server's NICs are on.

    - ``source``, ``target``: the placements of the sending and the receiving server.
    - ``nic``, ``to_nic``: indexes of the NICs within their servers.
    - ``bytes``: the bytes from one server to another.
    - ``share``: the largest fraction of a message that is sent on the row's queue pair.

    Three more arrays have a value for each port between switches on the paths of a row:

    - ``row``: the row.
    - ``port``: the port that sends.
    - ``part``: the fraction of the row's packets that the port sends.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    nic: NDArray[np.int64]
    to_nic: NDArray[np.int64]
    bytes: NDArray[np.float64]
    share: NDArray[np.float64]
    ends_ps: NDArray[np.int64]
    """For each row, the total delay in ps of the cables of both NICs."""
    row: NDArray[np.int64]
    port: NDArray[np.int64]
    part: NDArray[np.float64]

    def bytes_by_port(self, ports: int, servers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the bytes that each port between switches sends if every server sends to every other server.

        ``servers`` has the number of servers of each placement.
        """
        same = self.source == self.target
        pairs = servers[self.source] * (servers[self.target] - same)
        return np.bincount(self.port, (self.bytes * pairs)[self.row] * self.part, ports).astype(np.float64)

    def crowded(self, wiring: Wiring, servers: NDArray[np.int64], rounding: float) -> str | None:
        """Return the name of a link between switches that could be full in any round, or None if no link could be full.

        ``servers`` has the number of servers of each placement, and ``rounding`` is the tolerance as a factor. The load of a link is at
        most the total rate of the senders that use it, and also at most the total rate of the receivers. The rate of a sender or receiver
        is multiplied by the largest fraction of its packets that crosses the link. ``wiring`` has the numbered nodes, ports and cables.
        """
        if not len(self.row):
            return None
        nics = int(max(self.nic.max(), self.to_nic.max())) + 1
        mbps = float(wiring.cables[wiring.port_cable[wiring.first_port[0]], 2])
        loads: list[NDArray[np.float64]] = []
        for place, nic in ((self.source, self.nic), (self.target, self.to_nic)):
            # by port and end: parts by the pair of ends they are for, of which the largest counts
            end, other = place * nics + nic, (self.target + self.source - place) * nics + (self.nic + self.to_nic - nic)
            many = int(other.max()) + 1
            key = (self.port * (int(end.max()) + 1) + end[self.row]) * many + other[self.row]
            keys, at = np.unique(key, return_inverse=True)
            parts = np.bincount(at.reshape(-1), self.share[self.row] * self.part, len(keys))
            pair = keys // many
            ends, first = np.unique(pair, return_index=True)
            largest = np.maximum.reduceat(parts, first)
            port, near_end = np.divmod(ends, int(end.max()) + 1)
            load = np.bincount(port, largest * servers[near_end // nics] * mbps, len(wiring.port_cable))
            loads.append(load.astype(np.float64))
        lower = np.minimum(*loads)
        rate = wiring.cables[wiring.port_cable, 2].astype(np.float64)
        full = np.flatnonzero(lower > rate * rounding)
        return wiring.port_link(int(full[0])) if len(full) else None

    def delays_ps(self, wiring: Wiring, packet_bytes: int) -> NDArray[np.int64]:
        """Return the delay of each row in ps.

        It is the delay of its cables, plus the time to store a packet of ``packet_bytes`` for each link between switches.

        ``wiring`` has the numbered nodes, ports and cables.
        """
        cables = wiring.cables[wiring.port_cable[self.port]].astype(np.float64)
        step = cables[:, 3] + packet_bytes * 8e6 / cables[:, 2]
        # members of a group are alike in all but name: the mean of them is what each takes
        return self.ends_ps + np.bincount(self.row, step * self.part, len(self.source)).astype(np.int64)


def placement_paths(
    wiring: Wiring,
    arguments: FlowArguments,
    addresses: Addresses,
    hosts: NDArray[np.uint32],
    placed: NDArray[np.int64],
    carried: NDArray[np.float64],
) -> PlacementRows | str:
    """Return the paths from a server of each placement to a server of each placement, for all queue pairs between the two servers.

    A placement is the set of switches that a server's NICs are on. If there are too many such paths, or if hashes choose the links, a NIC
    is not reached, or a path is a loop, return this reason as text instead.

    - ``hosts``: for each server, a row with the numbers of its NICs.
    - ``placed``: the placement of each server.
    - ``carried``: rows of NIC, NIC of the other server, queue pair, bytes and largest fraction of a message.

    ``wiring`` has the numbered nodes, ports and cables, and ``arguments`` has the engine's arguments.
    """
    kinds = int(placed.max()) + 1
    if kinds * kinds * len(carried) > MOST_ROWS:
        return "there are too many kinds of paths"
    order = np.argsort(placed, kind="stable")
    first = np.searchsorted(placed[order], np.arange(kinds))
    first_server = order[first]
    second = order[np.minimum(first + 1, len(order) - 1)]
    alone = np.bincount(placed) < 2
    source, target = (each.ravel() for each in np.meshgrid(np.arange(kinds), np.arange(kinds), indexing="ij"))
    there = (source != target) | ~alone[source]
    source, target = source[there], target[there]
    receiver = np.where(source == target, second[target], first_server[target])
    rows = len(carried)
    nic, to_nic, qp = (np.tile(carried[:, column].astype(np.int64), len(source)) for column in range(3))
    wide = np.repeat(np.arange(len(source)), rows)
    src, dst = hosts[first_server[source[wide]], nic], hosts[receiver[wide], to_nic]
    pairs = addresses.pairs(src, dst, qp.astype(np.uint32))
    walked = _walk(wiring, arguments, addresses, pairs)
    if isinstance(walked, str):
        return walked
    cable = wiring.port_cable[wiring.first_port[: len(wiring.nics)]]
    ends = wiring.cables[cable[src.astype(np.int64)], 3] + wiring.cables[cable[dst.astype(np.int64)], 3]
    size, share = (np.tile(carried[:, column], len(source)) for column in (3, 4))
    return PlacementRows(source[wide], target[wide], nic, to_nic, size, share, ends.astype(np.int64), *walked)


def _walk(
    wiring: Wiring, arguments: FlowArguments, addresses: Addresses, pairs: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | str:
    """Follow the forwarding tables for queue pairs. Return three arrays with a value for each step of a path.

    The arrays have the index of the queue pair, the port that sends, and the fraction of the queue pair's packets that it sends. If hashes
    choose the links, a NIC is not reached, or a path is a loop, return this reason as text instead. ``wiring`` has the numbered nodes,
    ports and cables, and ``arguments`` has the engine's arguments.
    """
    hosts, ports = len(wiring.nics), nic_port(wiring)
    dst = pairs[:, 1].astype(np.int64)
    column = addresses.prefix[pairs[:, 2].astype(np.int64)]
    groups, members = arguments["groups"], arguments["members"]
    hops: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
    row = np.arange(len(pairs))
    node, part = ports[pairs[:, 0].astype(np.int64), 0], np.ones(len(pairs))
    for _ in range(MOST_LINKS):
        arrived = node == ports[dst[row], 0]
        row, node, part = row[~arrived], node[~arrived], part[~arrived]
        if not len(row):
            none = np.zeros(0, np.int64)
            return (
                (none, none, np.zeros(0))
                if not hops
                else (
                    np.concatenate([hop[0] for hop in hops]),
                    np.concatenate([hop[1] for hop in hops]),
                    np.concatenate([hop[2] for hop in hops]),
                )
            )
        entry = arguments["group"][node - hosts, column[row]]
        if ((entry == NO_GROUP) | (entry == HERE)).any():
            return "a NIC is not reached"
        single = (entry & np.uint32(ONE_PORT)) != 0
        group = np.where(single, 0, entry).astype(np.int64)
        if not single.all() and (groups[group[~single], 2] == ECMP).any():
            return "hashes choose the links"
        size = np.where(single, 1, groups[group, 1].astype(np.int64) if len(groups) else 1)
        turn = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
        at = np.repeat(np.arange(len(row)), size)
        port = (entry[at] & ~np.uint32(ONE_PORT)).astype(np.int64)
        of_group = ~single[at]
        if of_group.any():
            port[of_group] = members[groups[group[at[of_group]], 0].astype(np.int64) + turn[of_group]]
        port += wiring.first_port[node[at]]
        cable = wiring.port_cable[port]
        other = (wiring.end_ports[cable, 0] == port).astype(np.int64)
        row, part = row[at], part[at] / size[at]
        node = wiring.cables[cable, other].astype(np.int64)
        hops.append((row, port, part))
    return "paths form a loop"


ROUNDING = 1 + 1e-9
"""The tolerance for sums of shares, which are subject to rounding."""


@dataclass(frozen=True, eq=False)
class Rotation:
    """A run that replaces an all-to-all whose servers all behave in the same way: two servers send what the first server sends.

    - ``sample_traffic``: the messages that the first server sends in the whole collective.
    - ``ways``: the paths of packets between the placements (a placement is the set of switches that a server's NICs are on).
    - ``delay_ps``: the delay of the longest path. All paths are assumed to have this delay.
    - ``apart_ps``: the difference between the delays of the longest and the shortest path.
    """

    program: Program
    parts: Split
    sample_traffic: Traffic
    arguments: FlowArguments
    ways: PlacementRows
    delay_ps: int
    apart_ps: int
    nics: int
    servers: int
    packet_hops: int
    """The number of packet hops (links that packets cross, added up) of all servers of the whole collective together."""

    @property
    def choice(self) -> Choice:
        """The choice of the flow engine, with the reason: the number of packet hops, and the number of servers that behave in the same way."""
        why = f"about {self.packet_hops / 1e6:,.1f} M packet hops; one of {self.servers} servers that all behave in the same way"
        return Choice("flow", self.packet_hops, why)

    def note(self) -> str:
        """Return a sentence with the assumptions under which the run replaces the whole collective."""
        text = (
            f"all-to-all by symmetry: one of {self.servers} servers is run, the others behave in the same way; "
            "the listed queue pairs are those of the first server"
        )
        apart = f", the longest, {self.apart_ps / 1e6:.1f} us more than the shortest," if self.apart_ps else ""
        return text + f"; every message has the delay of one path{apart} and links between switches do not fill"


def rotation(
    bed: SimulatedNetwork,
    size_bytes: int,
    known: Parameters,
    timeline: Timeline,
    setting: Callable[[FlowArguments], FlowArguments],
) -> Rotation | str:
    """Return the run that replaces an all-to-all (see ``Rotation``), or a text with the reason if none can replace it.

    ``known`` are NCCL's parameters. ``setting`` is a function that adds the engine settings of a run to its arguments. ``bed`` is the
    prepared network, and ``timeline`` has the faults.
    """
    wiring, servers, nics = bed.fabric.wiring, len(bed.job.servers), bed.job.nics_per_server
    if servers < 3:
        return "there are fewer than three servers"
    if bed.job.ports > 1:
        return "NICs have several ports"
    if bed.plane is None:
        return "forwarding tables come from a file"
    if bed.plane.absent or bed.fabric.routes.down or timeline.changes or timeline.tables:
        return "parts are absent or fail"
    program = program_of(bed.job, "all-to-all", size_bytes, known, credit=True, of_one=True)
    if not program.messages:
        return "nothing is sent"
    qps = known["NCCL_IB_QPS_PER_CONNECTION"]
    parts = split(program, qps, split_data=bool(known["NCCL_IB_SPLIT_DATA_ON_QPS"]))
    traffic = traffic_of(bed.fabric.addresses, bed.hosts, program, parts, alone=True)
    arguments = setting(bed.fabric.flow_arguments(traffic.pairs))
    hosts = bed.hosts.reshape(servers, nics)
    at = wiring.port_cable[wiring.first_port[hosts]]
    if len(np.unique(wiring.cables[at, 2])) > 1:
        return "NICs differ in their rate"
    placed = _placed(wiring, hosts)
    counts = np.bincount(placed)
    if len(np.unique(counts)) > 1:
        return "switches have different numbers of servers"
    pair_ways = placement_paths(wiring, arguments, bed.fabric.addresses, hosts, placed, _carried(program, parts, nics))
    if isinstance(pair_ways, str):
        return pair_ways
    crowded = pair_ways.crowded(wiring, counts, ROUNDING)
    if crowded is not None:
        return f"link {crowded} can fill"
    delays = pair_ways.delays_ps(wiring, _packet_bytes(arguments))
    return Rotation(
        program,
        parts,
        traffic,
        arguments,
        pair_ways,
        int(delays.max()),
        int(delays.max() - delays.min()),
        nics,
        servers,
        packet_hops(wiring, arguments, traffic) * servers,
    )


def run_rotation(
    bed: SimulatedNetwork, sample: Rotation, progress: Callable[[int, int], None] | None = None
) -> tuple[Run, int]:
    """Run ``sample``, which replaces an all-to-all. Return (the run, the largest number of messages that any NIC posts).

    ``bed`` is the prepared network. ``progress`` is called with the number of messages that arrived, and the number of all messages. Raises
    the errors of ``run_flows``.
    """
    wiring, nics = bed.fabric.wiring, sample.nics
    hosts = bed.hosts.reshape(sample.servers, nics)
    traffic, place = _between_two(sample)
    sample_run = run_flows(_star(wiring, hosts[0], sample), traffic, progress)
    sent = np.zeros(len(wiring.port_cable))
    up = wiring.first_port[hosts]
    sent[up] = sample_run.sent_bytes[:nics]
    sent[_peers(wiring, up)] = sample_run.sent_bytes[2 * nics : 3 * nics]
    payload = float(traffic.messages[:, 1].sum()) / 2
    frames = float(sample_run.sent_bytes[:nics].sum()) / max(payload, 1.0)
    sent += sample.ways.bytes_by_port(len(sent), np.bincount(_placed(wiring, hosts))) * frames
    sources = traffic.pairs[traffic.messages[:, 0].astype(np.int64), 0]
    return Run(sample_run.arrivals[place], sent, None), int(np.bincount(sources).max(initial=0))


def _carried(program: Program, parts: Split, nics: int) -> NDArray[np.float64]:
    """Return the traffic from one server to another: rows of NIC, NIC of the other server, queue pair, bytes and share.

    ``nics`` is the number of NICs of a server. The share is the largest fraction of a message that is sent on the queue pair. ``program``
    has the messages of the collective, and ``parts`` has the messages as split over queue pairs.
    """
    connections = program.connections.astype(np.int64)
    ends = connections[parts.connection.astype(np.int64)]
    qps = int(parts.queue_pair.max(initial=0)) + 1
    key = ((ends[:, 0] % nics) * nics + ends[:, 1] % nics) * qps + parts.queue_pair.astype(np.int64)
    keys, place = np.unique(key, return_inverse=True)
    sizes = parts.bytes.astype(np.float64)
    whole = program.bytes.astype(np.float64)[parts.message.astype(np.int64)]
    share = np.zeros(len(keys))
    # credit is a few bytes among many: it is no part of what fills a link
    data = ~program.credit[parts.connection.astype(np.int64)]
    np.maximum.at(share, place.reshape(-1)[data], (sizes / np.maximum(whole, 1))[data])
    others = len({int(target) // nics for target in connections[:, 1].tolist()} - {0})
    carried = np.bincount(place.reshape(-1), sizes, len(keys)) / max(others, 1)
    pair, qp = np.divmod(keys, qps)
    return np.stack([*np.divmod(pair, nics), qp, carried, share], axis=1)


def _placed(wiring: Wiring, hosts: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return a number for each server. It is the same for servers whose NICs are on the same switches (the same placement).

    ``hosts`` has, for each server, the numbers of its NICs. ``wiring`` has the numbered nodes, ports and cables.
    """
    cables = wiring.cables[wiring.port_cable[wiring.first_port[hosts]]].astype(np.int64)
    leaves = np.where(cables[..., 0] == hosts, cables[..., 1], cables[..., 0])
    return np.unique(leaves, axis=0, return_inverse=True)[1].reshape(-1)


def _peers(wiring: Wiring, ports: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each port in ``ports``, the port at the other end of its cable.

    ``wiring`` has the numbered nodes, ports and cables.
    """
    ends = wiring.end_ports[wiring.port_cable[ports]]
    return np.where(ends[..., 0] == ports, ends[..., 1], ends[..., 0])


def _packet_bytes(arguments: FlowArguments) -> int:
    return payload_bytes(arguments["parameters"])


def _star(wiring: Wiring, hosts: NDArray[np.uint32], sample: Rotation) -> FlowArguments:
    """Return the engine arguments of a network of two servers whose NICs are all on one switch.

    ``hosts`` has the numbers of a server's NICs. ``wiring`` has the numbered nodes, ports and cables, and ``sample`` is the run of the two
    servers.
    """
    count = 2 * sample.nics
    cable = wiring.cables[wiring.port_cable[wiring.first_port[hosts]]]
    cables = np.zeros((count, 4), np.uint64)
    cables[:, 0], cables[:, 1] = np.arange(count), count
    cables[:, 2] = np.tile(cable[:, 2], 2)
    cables[:, 3] = sample.delay_ps // 2
    kinds = np.array([HOST] * count + [SWITCH], np.uint8)
    given = sample.arguments
    # without waits for others' switches only what hosts do counts: parameters of the first switch are as good as any
    return FlowArguments(
        kinds=kinds,
        cables=cables,
        group=(np.uint32(ONE_PORT) | np.arange(count, dtype=np.uint32)).reshape(1, count),
        groups=np.zeros((0, 3), np.uint32),
        members=np.zeros(0, np.uint16),
        queue_pairs=_pairs(sample),
        changes=np.zeros((0, 5), np.uint64),
        dcqcn=given["dcqcn"],
        parameters=given["parameters"],
        profiles=given["profiles"],
        profile=np.zeros(count + 1, np.uint16),
        without_pfc=np.zeros(0, np.uint32),
        without_ecn=np.zeros(0, np.uint32),
        column=np.arange(count, dtype=np.uint32),
    )


def _pairs(sample: Rotation) -> NDArray[np.uint32]:
    """Return the queue pairs between the two servers of the run ``sample``, first those of one direction, then those of the other.

    A queue pair ends at the NIC with the same index as in the whole collective.
    """
    nics = sample.nics
    whose = _sender_is_first(sample)
    src, dst = (_nic(sample, column) for column in (0, 1))
    first = np.where(whose, 0, nics)
    forth = np.stack([src + first, dst + (nics - first)], axis=1)
    back = np.stack([src + (nics - first), dst + first], axis=1)
    ends = np.concatenate([forth, back])
    return np.concatenate([ends, ends[:, ::-1]], axis=1).astype(np.uint32)


def _of_pair(sample: Rotation) -> NDArray[np.int64]:
    """Return the connection of each queue pair in ``Rotation.sample_traffic``.

    All messages of a queue pair belong to one connection.
    """
    connection = np.zeros(len(sample.sample_traffic.pairs), np.int64)
    connection[sample.sample_traffic.messages[:, 0].astype(np.int64)] = sample.parts.connection.astype(np.int64)
    return connection


def _nic(sample: Rotation, column: int) -> NDArray[np.int64]:
    return sample.program.connections.astype(np.int64)[_of_pair(sample), column] % sample.nics


def _sender_is_first(sample: Rotation) -> NDArray[np.bool_]:
    return ~sample.program.credit[_of_pair(sample)]


def _between_two(sample: Rotation) -> tuple[Traffic, NDArray[np.int64]]:
    """Return (the messages of both servers of the run ``sample``, the indexes of the first server's messages among them).

    Data messages of both servers come first, then their credit messages (reports of free buffers).
    """
    program, parts, sample_traffic = sample.program, sample.parts, sample.sample_traffic
    count, pairs = len(parts.message), len(sample_traffic.pairs)
    data = sample_traffic.data[sample_traffic.messages[:, 0].astype(np.int64)]
    number = np.empty((2, count), np.int64)
    many = int(data.sum())
    place = np.where(data, np.cumsum(data) - 1, np.cumsum(~data) - 1)
    for copy in (0, 1):
        number[copy] = np.where(data, copy * many, 2 * many + copy * (count - many)) + place
    messages = np.empty((2 * count, 4), np.uint64)
    for copy in (0, 1):
        messages[number[copy]] = sample_traffic.messages
        messages[number[copy], 0] = sample_traffic.messages[:, 0] + np.uint64(copy * pairs)
    waiting, awaited, delay = _waits(program, parts)
    # data that waits for data waits for what its server received, which the other one sent
    crosses = (data[waiting] & data[awaited]).astype(np.int64)
    start, after, after_delay = csr(
        2 * count,
        np.concatenate([number[0][waiting], number[1][waiting]]),
        np.concatenate([number[crosses, awaited], number[1 - crosses, awaited]]),
        np.concatenate([delay, delay]),
    )
    traffic = Traffic(_pairs(sample), messages, start, after, after_delay, np.tile(sample_traffic.data, 2))
    return traffic, number[0]


def _waits(program: Program, parts: Split) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return waits as three arrays: the part that waits, the part that it waits for, and the delay after the awaited part's arrival.

    A message has full parts, one shorter part and empty parts. Parts of a message with the same length use the same links, so the part that
    is posted last also arrives last. Only this last part is listed. ``program`` has the messages of the collective.
    """
    first = parts.first.astype(np.int64)
    count = np.diff(first)
    sizes = parts.bytes.astype(np.int64)
    of = parts.message.astype(np.int64)
    full = np.bincount(of, sizes == sizes[first[:-1]][of], len(count)).astype(np.int64)
    filled = np.bincount(of, sizes > 0, len(count)).astype(np.int64)
    ends = np.stack([full, np.maximum(filled, 1), count], axis=1) + first[:-1, None] - 1
    fresh = np.ones(ends.shape, np.bool_)
    fresh[:, 1:] = ends[:, 1:] != ends[:, :-1]
    fresh[:, 2] &= ends[:, 2] != ends[:, 0]
    waiting, awaited = waiting_of(program), program.after.astype(np.int64)
    row, column = np.nonzero(fresh[awaited])
    waited_for = ends[awaited[row], column]
    each = count[waiting[row]]
    pair = np.repeat(np.arange(len(row)), each)
    turn = np.arange(len(pair)) - np.repeat(np.cumsum(each) - each, each)
    delay = program.after_delay_ps.astype(np.int64)
    return first[waiting[row[pair]]] + turn, waited_for[pair], delay[row[pair]]
