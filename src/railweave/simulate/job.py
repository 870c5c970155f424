"""The job that runs on a network: its servers with their GPUs and NICs, as the collectives room takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave.catalog import catalog
from railweave.collectives.job import Job, Nic, Server, gpu_link
from railweave.simulate.wiring import servers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.design.network import Network
    from railweave.simulate.wiring import Wiring


def job_of(network: Network, wiring: Wiring) -> tuple[Job, NDArray[np.uint32]]:
    """The job of all servers of a network, and the engine's host of each of its NICs (``Job.nics``).

    Raises ``JobError`` where the servers are not alike.
    """
    rails = {f"{server.name}:{nic.name}": nic.rail for server in network.servers for nic in server.nics}
    models = {server.name: server.model for server in network.servers}
    rates = {int(a): int(rate) for a, b, rate, _ in wiring.cables.tolist() for a in (a, b)}
    found: list[Server] = []
    hosts: list[int] = []
    for name, own, gpus in servers(network, wiring):
        model = catalog().servers.get(models[name])
        gpu = model.gpu if model else "H100"
        nics = tuple(Nic(wiring.nics[host].partition(":")[2], rails[wiring.nics[host]], rates[host]) for host in own)
        nearest = tuple(number * len(nics) // gpus for number in range(gpus))
        found.append(Server(name, nics, nearest, gpu, link=gpu_link(gpu)))
        hosts += own
    library = "RCCL" if found and found[0].gpu.startswith("MI") else "NCCL"
    return Job(tuple(found), library), np.array(hosts, np.uint32)
