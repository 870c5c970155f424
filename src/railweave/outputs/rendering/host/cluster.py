"""Files that all servers share: ``hostfile`` and ``mpirun.sh``; a pair for each library where servers differ in it.

Thor2 guide, section 8.7.2. Its hostfile lists a server twice. Its MCA options are for Open MPI 4: what concerns OpenSHMEM
(``spml``) is left out, and Open MPI 5 names shared memory ``sm`` and has no ``openib``.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from railweave.model.device.host_job import mpi_folder
from railweave.model.device.host_scope import host_scope
from railweave.model.network.rank_order import alternating
from railweave.outputs.rendering.host.shell import array, body, head
from railweave.outputs.rendering.host.tuner import tuner_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.host_scope import HostScope
    from railweave.model.network.model import Network

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
