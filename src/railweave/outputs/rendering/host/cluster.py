"""Files that all servers share: ``hostfile``, ``mpirun.sh`` and ``tuner.json``.

If servers use different libraries, there is one set of files for each library. The same applies to GPUs that are on
different fabrics.

The source is the Thor2 guide, section 8.7.2. In the guide, the hostfile lists a server twice, and the MCA options are
for Open MPI 4. Here, the options of OpenSHMEM (SPML) are left out, and for Open MPI 5 shared memory is named ``sm`` and
``openib`` is left out.
"""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from railweave.model.catalog.rdma import POST_COST_PS
from railweave.model.device.host import config_of
from railweave.model.device.host_job import mpi_folder, rdma_nics, uses_own_plugin
from railweave.model.device.host_model import HostConfig, HostNic
from railweave.model.device.host_scope import HostScope, host_scope
from railweave.model.device.queue_pairs import queue_pairs
from railweave.model.network.devices import alternating
from railweave.outputs.rendering.host.shell import array, body, head
from railweave.prediction.collectives.channels import Collective, Pace, channel_count
from railweave.prediction.collectives.collective import links_need_ps
from railweave.prediction.collectives.job import Job, Nic, Server, gpu_link
from railweave.prediction.collectives.nccl import PROTOCOLS, Parameters, parameters
from railweave.prediction.collectives.program import cut
from railweave.prediction.collectives.queue_pairs import parts_of
from railweave.prediction.collectives.search import ring_graph
from railweave.prediction.collectives.single_message import ring_loops, ring_ps, ring_steps, wire_ps
from railweave.prediction.collectives.tree import chunk_bytes, most_edges
from railweave.prediction.collectives.tuning import Choice, bandwidth_gbytes, choice_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.model.network.model import Network


WITH_FLAGS = {"LL": 2.0, "LL128": 128 / 120, "Simple": 1.0}
"""The number of bytes on the wire for each byte of data, by NCCL protocol.

LL and LL128 send flags with the data, so they send more bytes than data.
"""


def uncongested_ps(job: Job, nccl: Parameters, collective: Collective, size_bytes: int, choice: Choice) -> int:
    """Return the time in picoseconds of an all-reduce, all-gather or reduce-scatter over two or more servers, without congestion.

    ``nccl`` has the parameters of NCCL by name, and ``choice`` the algorithm, protocol and number of channels.
    """
    pace, ring = Pace.of(job, choice), choice.algorithm == "Ring"
    how, share = cut(nccl, choice.protocol, ring=ring), -(-size_bytes // choice.channels)
    if ring:
        each = ring_loops(job, size_bytes, choice, how.chunk) * ring_steps(job, collective) * how.slices
        moved = share * ring_steps(job, collective) / job.ranks
        way = pace.network_hop_ps
        chain = ring_ps(job, nccl, collective, size_bytes, choice)
    else:
        servers = len(job.servers)
        chunk = chunk_bytes(job, choice, how.chunk, share)
        edges = most_edges(servers, 2 if choice.channels > ring_graph(job).channels else 1)
        each = edges * -(-share // chunk)
        moved = share * edges
        way = _tree_way_ps(job, nccl, choice, pace, min(chunk, share))
        chain = way
    busiest = -(-choice.channels // job.nics_per_server)  # the number of channels of a NIC
    posts = busiest * (each * _parts(job, nccl) + max(0, each - how.window)) * POST_COST_PS
    wire = wire_ps(job, round(busiest * moved * WITH_FLAGS[choice.protocol]))
    links = links_need_ps(job, nccl, collective, size_bytes, choice)
    return choice.launch_ps + round(max(chain, wire + way, posts + way, links))


def _parts(job: Job, nccl: Parameters) -> int:
    """Return the number of parts into which NCCL, with the parameters ``nccl``, splits each message: one for each queue pair that carries it."""
    split_data = bool(nccl["NCCL_IB_SPLIT_DATA_ON_QPS"])
    return parts_of(nccl["NCCL_IB_QPS_PER_CONNECTION"], split_data=split_data, ports=job.ports)


def _tree_way_ps(job: Job, nccl: Parameters, choice: Choice, pace: Pace, chunk: int) -> int:
    """Return the time in picoseconds that a chunk needs up a tree of servers and down again, including the GPUs at both ends.

    ``chunk`` is its size in bytes. ``nccl`` has the parameters of NCCL, ``choice`` the protocol, and ``pace`` the time of a hop.
    """
    post = _parts(job, nccl) * POST_COST_PS
    sent = round(chunk * WITH_FLAGS[choice.protocol])
    wire = wire_ps(job, sent)
    level = post + pace.crossing(sent) + pace.hops(1, chunk) + wire
    # On the way down, a server sends to its two children one after the other.
    return (len(job.servers).bit_length() - 1) * (2 * level + post) + 2 * pace.hops(job.gpus_per_server - 1, chunk)


COLLECTIVES: tuple[Collective, ...] = ("all-reduce", "all-gather", "reduce-scatter")
"""The collectives that have rows in the table, because a formula gives their time. For all others, NCCL can choose only the protocol."""
SMALLEST_POWER, LARGEST_POWER = 10, 34
"""The range of message sizes to evaluate, as powers of two: 1 KiB to 16 GiB."""
ANY_BYTES = 10**15
"""The size limit in bytes in the last row of a table. No message exceeds it."""
BETTER_BY = 0.03
"""The largest fraction by which a choice of algorithm and protocol may be slower than the fastest choice and still count as equally fast."""


@dataclass(frozen=True, slots=True)
class TunerRow:
    """A row of ``tuner.json``: NCCL's settings for one collective of up to ``max_bytes`` on ``ranks`` ranks and ``nodes`` servers.

    The first matching row of the table applies.
    """

    collective: Collective
    ranks: int
    nodes: int
    max_bytes: int
    algorithm: str
    protocol: str
    channels: int


def server_counts(servers: int) -> list[int]:
    """Return the numbers of servers for which the table has rows: powers of two from 2 on, and the number of all servers."""
    return sorted({1 << power for power in range(1, servers.bit_length()) if 1 << power <= servers} | {servers} - {1})


def tuner_rows(job_of: Callable[[int], Job], servers: int, nccl: Parameters, paths: int) -> list[TunerRow]:
    """Return the rows for jobs on up to ``servers`` servers. ``job_of`` returns the job for a number of servers.

    ``nccl`` has the parameters of NCCL. ``paths`` is the number of paths (addresses) of a NIC. Jobs with fewer channels than paths have no
    rows: NCCL chooses their settings itself.
    """
    rows: list[TunerRow] = []
    for count in server_counts(servers):
        job = job_of(count)
        counts = _channels(channel_count(job, nccl), paths)
        for collective in COLLECTIVES if counts else ():
            rows += _rows(job, nccl, collective, counts)
    return rows


def _channels(most: int, paths: int) -> list[int]:
    """Return the numbers of channels to try: ``paths`` times each power of two, and the largest multiple of ``paths``. None is above ``most``."""
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
            choice: max(uncongested_ps(job, nccl, collective, size, choice), _least_ps(job, collective, size, choice))
            for choice in choices
        }
        least = min(times.values())
        near = [candidate for candidate, time_ps in times.items() if time_ps <= least * (1 + BETTER_BY)]
        # Prefers the choice for the size before, and more channels if they cost nothing: the limit of a single channel is not modelled.
        best = max(near, key=lambda candidate: ((candidate.algorithm, candidate.protocol) == kind, candidate.channels))
        row = TunerRow(collective, job.ranks, len(job.servers), size, best.algorithm, best.protocol, best.channels)
        if best == last:
            rows[-1] = row
        else:
            rows.append(row)
        last, kind = best, (best.algorithm, best.protocol)
    return [*rows[:-1], replace(rows[-1], max_bytes=ANY_BYTES)]


def _least_ps(job: Job, collective: Collective, size_bytes: int, choice: Choice) -> int:
    gbytes = bandwidth_gbytes(job, collective, choice.algorithm, choice.protocol, choice.channels / 2)
    return choice.launch_ps + round(size_bytes * 1000 / gbytes)


SCHEMA = 1
"""The version of the format of ``tuner.json`` that ``plugin/src/tuner.c`` reads."""


def tuner_json(members: Sequence[HostScope]) -> str:
    """Return the text of ``tuner.json`` for jobs on the servers ``members``.

    The text is empty for a single server, for servers of different models, for NVLink domains of several servers, and if jobs do not
    use railweave's plugin.
    """
    first = members[0]
    config = config_of(first)
    nics = [nic for nic in rdma_nics(config.nics) if nic.addresses] if config.nics else []
    alike = len({member.server.model for member in members}) == 1
    if first.model.domain_servers > 1:
        return ""  # NCCL counts NVLink domains as nodes, and a job may have any part of one
    if len(members) < 2 or not alike or not nics or not uses_own_plugin(first, nics):
        return ""
    paths = len(nics[0].addresses)
    far = first.long_haul.get(nics[0].fabric)
    words = {name: value for name, (value, _) in queue_pairs(first.hosts.job, paths, far).items()}
    fabric, ports = first.fabrics[nics[0].fabric], defaultdict[int, list[HostNic]](list)
    for nic in nics:
        ports[fabric.nic_number(nic.rail)].append(nic)
    rows = tuner_rows(partial(_job, config, list(ports.values())), len(members), parameters(words), paths)
    return tuner_text(config.network, paths, rows) if rows else ""


def tuner_text(network: str, paths: int, rows: Sequence[TunerRow]) -> str:
    """Return the text of ``tuner.json``, the table from which the net plugin chooses NCCL's settings, with one row per line.

    ``network`` is the network's name, and ``paths`` the number of paths (addresses) of a NIC.
    """
    lines = ",\n".join(f"  {json.dumps(_row(row))}" for row in rows)
    return f'{{"schema": {SCHEMA}, "network": {json.dumps(network)}, "paths": {paths}, "rows": [\n{lines}]}}\n'


def _job(config: HostConfig, nics: Sequence[Sequence[HostNic]], servers: int) -> Job:
    """Return a job on ``servers`` servers of the kind of ``config``. ``nics`` has the ports of each NIC."""
    nearest = tuple(number * len(nics) // config.gpus for number in range(config.gpus))
    server = Server(
        config.name,
        tuple(Nic(nic[0].name, nic[0].rail, sum(port.speed_gbps for port in nic) * 1000, len(nic)) for nic in nics),
        nearest,
        config.gpu,
        link=gpu_link(config.gpu),
    )
    return Job((server,) * servers, config.library)


def _row(row: TunerRow) -> dict[str, str | int]:
    return {
        "collective": row.collective.replace("-", "_"),
        "ranks": row.ranks,
        "nodes": row.nodes,
        "max_bytes": row.max_bytes,
        "algorithm": row.algorithm.lower(),
        "protocol": row.protocol.lower(),
        "channels": row.channels,
    }


TRANSPORTS = {4: "^vader,tcp,openib,uct", 5: "^sm,tcp,uct"}
"""The byte transfer layers to disable, by Open MPI's major version, so that UCX carries all traffic."""


def cluster_files(network: Network) -> dict[str, str]:
    """Return the texts of the files that servers share, by name. The result is empty if no server has GPUs."""
    # NCCL and RCCL cannot communicate with each other, and neither can GPUs on different fabrics.
    jobs: dict[tuple[str, str], list[HostScope]] = {}
    for scope in (host_scope(network, server.name) for server in network.servers):
        if scope.gpus:
            jobs.setdefault((scope.library, scope.job_fabric), []).append(scope)
    libraries, fabrics = ({key[place] for key in jobs} for place in (0, 1))
    files: dict[str, str] = {}
    for (library, fabric), some in jobs.items():
        words = [library.lower()] if len(libraries) > 1 else []
        words += [fabric or "other"] if len(fabrics) > 1 else []
        word = "-".join(words)
        hostfile, script = (f"hostfile.{word}", f"mpirun-{word}.sh") if word else ("hostfile", "mpirun.sh")
        whose = f" whose library is {library}" if len(libraries) > 1 else ""
        whose += f" whose GPUs are on {fabric or 'no fabric of their own'}" if len(fabrics) > 1 else ""
        files |= {hostfile: _hostfile(network, whose, some), script: _mpirun(network, hostfile, some)}
        if table := tuner_json(some):
            files[f"tuner-{word}.json" if word else "tuner.json"] = table
    return files


def _alternating(network: Network, members: Sequence[HostScope]) -> str | None:
    """Return the names of the servers ``members``, separated by commas, in an order that alternates between stripes.

    A stripe is the servers on the same leaves. Return None if there is only one stripe.
    """
    names = {member.name: member.job_fabric for member in members}
    stripes = {
        server.name: next((nic.stripe for nic in server.nics if nic.fabric == names[server.name]), "")
        for server in network.servers
        if server.name in names
    }
    return ",".join(alternating(stripes)) if len(set(stripes.values())) > 1 else None


def _hostfile(network: Network, which: str, members: Sequence[HostScope]) -> str:
    whose = f"Servers of {network.name}{which}"
    lines = [f"# {whose}, one process a GPU; written by railweave."]
    lines += [f"{member.name} slots={member.gpus}" for member in members]
    return "\n".join(lines) + "\n"


def _mpirun(network: Network, hostfile: str, members: Sequence[HostScope]) -> str:
    wanted = network.hosts.job
    vendors = {member.gpu_vendor for member in members}
    folder = mpi_folder(wanted, "AMD" if vendors == {"AMD"} else "NVIDIA")
    lines = head("Starts a collective test on the servers.", network=network.name)
    lines += [
        f"# Open MPI {wanted.mpi_version}: messages of MPI itself go by UCX, whose variables nccl.env sets.",
        f"SERVERS={hostfile}",
        f"GPUS={min(member.gpus for member in members)}",
        f"MPIRUN={shlex.quote(f'{folder}/bin/mpirun' if folder else 'mpirun')}",
    ]
    if (order := _alternating(network, members)) is not None:
        lines += ["# One server of each stripe in turn, as --hosts stripes-alternate takes them.", f"ALTERNATE={order}"]
    options = ["--prefix", folder] if folder else []
    options += ["--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "btl", TRANSPORTS[wanted.mpi_version]]
    lines += [*array("OPTIONS", options), "", ""]
    return "\n".join(lines) + body("mpirun.sh")
