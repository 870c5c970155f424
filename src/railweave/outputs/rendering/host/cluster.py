"""Files that all servers share: ``hostfile`` and ``mpirun.sh``; a pair for each library where servers differ in it.

Thor2 guide, section 8.7.2. Its hostfile lists a server twice. Its MCA options are for Open MPI 4: what concerns OpenSHMEM
(``spml``) is left out, and Open MPI 5 names shared memory ``sm`` and has no ``openib``.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from railweave.model.device.host import config_of
from railweave.model.device.host_job import mpi_folder, rdma_nics, uses_own_plugin
from railweave.model.device.host_model import HostNic
from railweave.model.device.host_scope import host_scope
from railweave.model.device.queue_pairs import queue_pairs
from railweave.model.network.fabric import alternating
from railweave.outputs.rendering.host.shell import array, body, head
from railweave.prediction.collectives.job import Job, Nic, Server, gpu_link
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.tuner_table import tuner_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.host_model import HostConfig
    from railweave.model.device.host_scope import HostScope
    from railweave.model.network.model import Network
    from railweave.prediction.collectives.tuner_table import TunerRow


SCHEMA = 1
"""Version of ``tuner.json``, as ``plugin/src/tuner.c`` reads it."""


def tuner_json(members: Sequence[HostScope]) -> str:
    """The table for jobs on these servers; empty where they are not alike or their jobs do not use the plugin."""
    first = members[0]
    config = config_of(first)
    nics = [nic for nic in rdma_nics(config.nics) if nic.addresses] if config.nics else []
    alike = len({one.server.model for one in members}) == 1
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
    """The file's text, a row a line."""
    lines = ",\n".join(f"  {json.dumps(_row(one))}" for one in rows)
    return f'{{"schema": {SCHEMA}, "network": {json.dumps(network)}, "paths": {paths}, "rows": [\n{lines}]}}\n'


def _job(config: HostConfig, nics: Sequence[Sequence[HostNic]], servers: int) -> Job:
    """The job on so many servers like this one; ``nics`` are the ports of each NIC."""
    nearest = tuple(number * len(nics) // config.gpus for number in range(config.gpus))
    one = Server(
        config.name,
        tuple(Nic(own[0].name, own[0].rail, sum(one.speed_gbps for one in own) * 1000, len(own)) for own in nics),
        nearest,
        config.gpu,
        link=gpu_link(config.gpu),
    )
    return Job((one,) * servers, config.library)


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


_NAMED = re.compile(r"hostfile(\..*)?|mpirun(-.*)?\.sh|tuner\.json", re.IGNORECASE)


def is_cluster_file(name: str) -> bool:
    """Whether a file that all servers share may be called so, which stand beside the servers' folders; whatever the capitals."""
    return _NAMED.fullmatch(name) is not None


TRANSPORTS = {4: "^vader,tcp,openib,uct", 5: "^sm,tcp,uct"}
"""Byte transfer layers that Open MPI leaves out, so that UCX carries everything, by its major version."""


def cluster_files(network: Network) -> dict[str, str]:
    """Text by file name; nothing where there are no servers with GPUs."""
    # NCCL's ranks and RCCL's do not understand each other, and GPUs of different fabrics do not reach each other.
    jobs: dict[tuple[str, str], list[HostScope]] = {}
    for one in (host_scope(network, server.name) for server in network.servers):
        if one.gpus:
            jobs.setdefault((one.library, one.job_fabric), []).append(one)
    libraries, fabrics = ({key[place] for key in jobs} for place in (0, 1))
    found: dict[str, str] = {}
    for (library, fabric), some in jobs.items():
        words = [library.lower()] if len(libraries) > 1 else []
        words += [fabric or "other"] if len(fabrics) > 1 else []
        word = "-".join(words)
        hostfile, script = (f"hostfile.{word}", f"mpirun-{word}.sh") if word else ("hostfile", "mpirun.sh")
        whose = f" whose library is {library}" if len(libraries) > 1 else ""
        whose += f" whose GPUs are on {fabric or 'no fabric of their own'}" if len(fabrics) > 1 else ""
        found |= {hostfile: _hostfile(network, whose, some), script: _mpirun(network, hostfile, some)}
        if table := tuner_json(some):
            found[f"tuner-{word}.json" if word else "tuner.json"] = table
    return found


def _alternating(network: Network, members: Sequence[HostScope]) -> str | None:
    """The servers with those of each stripe in turn, with commas between; None where all are on one stripe."""
    names = {one.name: one.job_fabric for one in members}
    stripes = {
        server.name: next((nic.stripe for nic in server.nics if nic.fabric == names[server.name]), "")
        for server in network.servers
        if server.name in names
    }
    return ",".join(alternating(stripes)) if len(set(stripes.values())) > 1 else None


def _hostfile(network: Network, which: str, members: Sequence[HostScope]) -> str:
    whose = f"Servers of {network.name}{which}"
    lines = [f"# {whose}, one process a GPU; written by railweave."]
    lines += [f"{one.name} slots={one.gpus}" for one in members]
    return "\n".join(lines) + "\n"


def _mpirun(network: Network, hostfile: str, members: Sequence[HostScope]) -> str:
    wanted = network.hosts.job
    vendors = {one.gpu_vendor for one in members}
    folder = mpi_folder(wanted, "AMD" if vendors == {"AMD"} else "NVIDIA")
    lines = head("Starts a collective test on the servers.", network=network.name)
    lines += [
        f"# Open MPI {wanted.mpi_version}: messages of MPI itself go by UCX, whose variables nccl.env sets.",
        f"SERVERS={hostfile}",
        f"GPUS={min(one.gpus for one in members)}",
        f"MPIRUN={shlex.quote(f'{folder}/bin/mpirun' if folder else 'mpirun')}",
    ]
    if (order := _alternating(network, members)) is not None:
        lines += ["# One server of each stripe in turn, as --hosts stripes-alternate takes them.", f"ALTERNATE={order}"]
    options = ["--prefix", folder] if folder else []
    options += ["--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "btl", TRANSPORTS[wanted.mpi_version]]
    lines += [*array("OPTIONS", options), "", ""]
    return "\n".join(lines) + body("mpirun.sh")
