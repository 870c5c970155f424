"""The job that runs on a network: its servers with their GPUs and NICs, as the collectives room takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import Argument, InputError, Option, Problem
from railweave.prediction.collectives.job import Job, JobError, Nic, Server, gpu_link
from railweave.prediction.simulation.model.addresses import NONE, ports_of_hosts
from railweave.prediction.simulation.model.wiring import servers
from railweave.prediction.simulation.ranks import ordered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.model.wiring import Wiring


def job_of(
    network: Network,
    wiring: Wiring,
    tenant: str | None = None,
    order: str | None = None,
    processes: int | None = None,
    *,
    gpus: int | None = None,
    lost: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Job, NDArray[np.uint32]]:
    """The job of all servers of a network, or of a tenant's, and the engine's host of each of its NICs (``Job.nics``).

    ``order``: which servers take part, in the order of their ranks (``ranks.ordered``); ``processes``: how many each has, one for each
    GPU where that is None; ``gpus``: how many GPUs of each server take part, the first ones, with the NICs beside them; ``lost``: NICs that servers are without by their status (``status.lost_nics``). Raises ``JobError`` where the servers are not alike, ``InputError`` where it is not said which
    tenant's job it is, and for an order that cannot be.
    """
    whose = _tenant(network, tenant)
    rails = {
        f"{server.name}:{nic.name}": network.fabric(nic.fabric).nic_number(nic.rail)
        for server in network.servers
        for nic in server.nics
    }
    models = {server.name: server.model for server in network.servers}
    ports: list[list[int]] = ports_of_hosts(network, wiring).tolist()
    rates: list[int] = wiring.cables[wiring.port_cable[wiring.first_port[: len(wiring.nics)]], 2].tolist()
    found: list[Server] = []
    hosts: list[int] = []
    vendors: list[str] = []
    known = {name: (own, count) for name, own, count in servers(network, wiring, whose)}
    for name in ordered(stripes(network, known), order):
        every, there = known[name]
        used = _used(there, gpus)
        own = every[: -(-used * len(every) // there)]
        model = network.catalog.servers.get(models[name])
        vendors.append(model.gpu_vendor if model else "NVIDIA")
        gpu = model.gpu if model else "H100"
        nics = tuple(_nic(wiring, host, ports[host], rails, rates) for host in own)
        nearest = tuple(number * len(every) // there for number in range(used))
        found.append(Server(name, nics, nearest, gpu, link=gpu_link(gpu)))
        hosts += own
    library = "RCCL" if vendors[:1] == ["AMD"] else "NCCL"
    try:
        return Job(tuple(found), library, processes), np.array(hosts, np.uint32)
    except JobError as error:
        without = {name: nics for name, nics in (lost or {}).items() if name in known}
        if without and any(problem.place == Argument("job") for problem in error.problems):
            raise InputError([_without(without)]) from None
        raise InputError([_of_option(problem) for problem in error.problems]) from None


def _used(there: int, asked: int | None) -> int:
    """How many of a server's GPUs take part."""
    if asked is None:
        return there
    if not 1 <= asked <= there:
        raise InputError([Problem(Argument("gpus"), f"{asked} GPUs of a server that has {there}", f"use 1 to {there}")])
    return asked


def _nic(wiring: Wiring, host: int, ports: Sequence[int], rails: Mapping[str, int], rates: Sequence[int]) -> Nic:
    """A NIC, with the ports of it that are there."""
    there = [port for port in ports if port != NONE]
    name = wiring.nics[host]
    return Nic(name.partition(":")[2], rails[name], sum(rates[port] for port in there), len(there))


def _without(lost: Mapping[str, Sequence[str]]) -> Problem:
    """Servers that are unlike the others because of their status."""
    shown = ", ".join(f"{name}:{nic}" for name, nics in lost.items() for nic in nics)
    what = (
        f"by `status:` of the fabric file these NICs are absent, and a job needs servers that are alike: {shown:.300}"
    )
    return Problem(Option("--hosts"), what, f"run the job without {', '.join(lost):.200}, or make their links active")


def stripes(network: Network, names: Iterable[str]) -> dict[str, str]:
    """The stripe of each of these servers: that of its first NIC."""
    of = {server.name: server.nics[0].stripe for server in network.servers if server.nics}
    return {name: of[name] for name in names}


def _of_option(problem: Problem) -> Problem:
    return replace(problem, place=Option("--per-host")) if problem.place == Argument("processes") else problem


def _tenant(network: Network, asked: str | None) -> str:
    """The tenant whose job it is; empty where the network has none."""
    known = [tenant.name for fabric in network.fabrics for tenant in fabric.tenants]
    if asked is not None and asked not in known:
        fix = f"tenants are {', '.join(known)}" if known else "leave it out: the network has no tenants"
        raise InputError([Problem(Option("--tenant"), f"there is no tenant {asked!r}", fix)])
    if asked is None and len(known) > 1:
        what = f"the network has {len(known)} tenants, which do not reach each other"
        raise InputError([Problem(Option("--tenant"), what, f"say whose job it is: {', '.join(known)}")])
    return asked or (known[0] if known else "")
