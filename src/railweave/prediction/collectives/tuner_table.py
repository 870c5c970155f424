"""The table of the plugin's tuner: algorithm, protocol and channels by collective, ranks and size.

Nothing but the table and what NCCL passes to a tuner decides (``plugin/src/tuner.h``), so all ranks choose alike. Rows come from
``uncongested_ps``: for every power of two the least time among what NCCL could run, and never faster than NCCL's own figures for
what GPUs and CPUs do with a protocol, which messages do not show. Channels are a whole multiple of the
paths of a connection: where messages take one queue pair each, the channels of a NIC then fill its paths evenly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.model.catalog.posting import POST_COST_PS
from railweave.prediction.collectives.channels import channel_count
from railweave.prediction.collectives.chunks import cut
from railweave.prediction.collectives.collective import links_need_ps
from railweave.prediction.collectives.nccl import PROTOCOLS
from railweave.prediction.collectives.pace import Pace
from railweave.prediction.collectives.queue_pairs import parts_of
from railweave.prediction.collectives.tree import chunk_bytes, most_edges
from railweave.prediction.collectives.tuning import bandwidth_gbytes, choice_of
from railweave.prediction.collectives.whole import ring_loops, ring_ps, ring_steps, wire_ps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.prediction.collectives.bus_bandwidth import Collective
    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.nccl import Parameters
    from railweave.prediction.collectives.tuning import Choice


WITH_FLAGS = {"LL": 2.0, "LL128": 128 / 120, "Simple": 1.0}
"""Bytes on the wire for a byte of data."""


def uncongested_ps(job: Job, nccl: Parameters, collective: Collective, size_bytes: int, choice: Choice) -> int:
    """The time of an all-reduce, all-gather or reduce-scatter over two servers or more."""
    pace, ring = Pace.of(job, choice), choice.algorithm == "Ring"
    how, share = cut(nccl, choice.protocol, ring=ring), -(-size_bytes // choice.channels)
    if ring:
        each = ring_loops(job, size_bytes, choice, how.chunk) * ring_steps(job, collective) * how.slices
        moved = share * ring_steps(job, collective) / job.ranks
        way = pace.network_hop_ps
        chain = ring_ps(job, nccl, collective, size_bytes, choice)
    else:
        servers = len(job.servers)
        chunk = chunk_bytes(choice.protocol, how.chunk, share, servers, job.gpus_per_server)
        edges = most_edges(servers, 2 if choice.channels > job.nics_per_server else 1)
        each = edges * -(-share // chunk)
        moved = share * edges
        way = _tree_way_ps(job, nccl, choice, pace, min(chunk, share))
        chain = way
    busiest = -(-choice.channels // job.nics_per_server)  # channels of a NIC
    posts = busiest * (each * _parts(job, nccl) + max(0, each - how.window)) * POST_COST_PS
    wire = wire_ps(job, round(busiest * moved * WITH_FLAGS[choice.protocol]))
    links = links_need_ps(job, nccl, collective, size_bytes, choice)
    return choice.launch_ps + round(max(chain, wire + way, posts + way, links))


def _parts(job: Job, nccl: Parameters) -> int:
    """How many parts each message is posted in."""
    split_data = bool(nccl["NCCL_IB_SPLIT_DATA_ON_QPS"])
    return parts_of(nccl["NCCL_IB_QPS_PER_CONNECTION"], split_data=split_data, ports=job.ports)


def _tree_way_ps(job: Job, nccl: Parameters, choice: Choice, pace: Pace, chunk: int) -> int:
    """The way of a chunk up a tree of servers and down again, and through the GPUs of both ends."""
    post = _parts(job, nccl) * POST_COST_PS
    wire = wire_ps(job, round(chunk * WITH_FLAGS[choice.protocol]))
    level = post + pace.network_hop_ps + pace.hops(1, chunk) + wire
    # On the way down a server posts to both of its children, one after the other.
    return (len(job.servers).bit_length() - 1) * (2 * level + post) + 2 * pace.hops(job.gpus_per_server - 1, chunk)


COLLECTIVES: tuple[Collective, ...] = ("all-reduce", "all-gather", "reduce-scatter")
"""Those that have a closed form. Of the others NCCL has nothing to choose but the protocol."""
SMALLEST_POWER, LARGEST_POWER = 10, 34
"""Sizes looked at: 1 KiB to 16 GiB."""
ANY_BYTES = 10**15
"""Of a last row: as large as may be."""
BETTER_BY = 0.03
"""Times that differ by less are taken for equal, so a row ends only where another choice gains more."""


@dataclass(frozen=True, slots=True)
class TunerRow:
    """What collectives of up to ``max_bytes`` take, on so many ranks and servers. The first row that fits decides."""

    collective: Collective
    ranks: int
    nodes: int
    max_bytes: int
    algorithm: str
    protocol: str
    channels: int


def server_counts(servers: int) -> list[int]:
    """Numbers of servers that jobs have rows for: powers of two, and all."""
    return sorted({1 << power for power in range(1, servers.bit_length()) if 1 << power <= servers} | {servers} - {1})


def tuner_rows(job_of: Callable[[int], Job], servers: int, nccl: Parameters, paths: int) -> list[TunerRow]:
    """The rows for jobs on up to ``servers`` servers; ``job_of`` gives the job on so many.

    None where the job has fewer channels than paths: NCCL then chooses everything.
    """
    found: list[TunerRow] = []
    for count in server_counts(servers):
        job = job_of(count)
        counts = _channels(channel_count(job, nccl), paths)
        for collective in COLLECTIVES if counts else ():
            found += _rows(job, nccl, collective, counts)
    return found


def _channels(most: int, paths: int) -> list[int]:
    """Multiples of the paths that are tried: each twice the one before, and the largest."""
    largest = most // paths * paths
    return sorted({paths << power for power in range(8) if paths << power <= largest} | ({largest} - {0}))


def _rows(job: Job, nccl: Parameters, collective: Collective, counts: Sequence[int]) -> list[TunerRow]:
    algorithms = ("Tree", "Ring") if collective == "all-reduce" else ("Ring",)
    choices = [
        choice_of(job, algorithm, protocol, channels)
        for algorithm in algorithms
        for protocol in PROTOCOLS
        for channels in counts
    ]
    rows: list[TunerRow] = []
    last, kind = None, None
    for power in range(SMALLEST_POWER, LARGEST_POWER + 1):
        size = 1 << power
        times = {
            one: max(uncongested_ps(job, nccl, collective, size, one), _least_ps(job, collective, size, one))
            for one in choices
        }
        least = min(times.values())
        near = [one for one, time_ps in times.items() if time_ps <= least * (1 + BETTER_BY)]
        # As for the size before; and more channels where they cost nothing, for what one channel can carry is not modelled.
        best = max(near, key=lambda one: ((one.algorithm, one.protocol) == kind, one.channels))
        row = TunerRow(collective, job.ranks, len(job.servers), size, best.algorithm, best.protocol, best.channels)
        if best == last:
            rows[-1] = row
        else:
            rows.append(row)
        last, kind = best, (best.algorithm, best.protocol)
    return [*rows[:-1], replace(rows[-1], max_bytes=ANY_BYTES)]


def _least_ps(job: Job, collective: Collective, size_bytes: int, choice: Choice) -> int:
    gbytes = bandwidth_gbytes(job, collective, choice.algorithm, choice.protocol, choice.channels)
    return choice.launch_ps + round(size_bytes * 1000 / gbytes)
