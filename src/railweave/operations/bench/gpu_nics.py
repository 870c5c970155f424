"""The NICs of a design by GPU: the rail, the plane and the link of each rank of a communicator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.network.status import present
from railweave.operations.bench.inspector import gpus_of_processes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.network.model import Network
    from railweave.operations.bench.inspector import Communicator


@dataclass(frozen=True, slots=True)
class GpuNic:
    """A NIC of a GPU: ``nic`` (``SERVER:NIC``), its rail (counted from 1), its plane (empty without planes) and its link to a leaf."""

    nic: str
    rail: int
    plane: str
    link: str


@dataclass(frozen=True, slots=True)
class GpuNics:
    """The NICs by (server in lowercase, GPU), and the number of GPUs of each server by its name in lowercase."""

    nics: Mapping[tuple[str, int], tuple[GpuNic, ...]]
    gpus: Mapping[str, int]


def gpu_nics(network: Network) -> GpuNics:
    """Return the NICs of all GPUs of a network that are next to a GPU."""
    nics_of_gpu: dict[tuple[str, int], list[GpuNic]] = {}
    gpus: dict[str, int] = {}
    for server in present(network).servers:
        model = network.catalog.servers.get(server.model)
        if model is None or not model.gpus:
            continue
        gpus[server.name.lower()] = model.gpus
        links = {cable.a.port: cable.name for cable in network.cables_of(server.name)}
        for nic in server.nics:
            group = model.nics.get(network.fabric(nic.fabric).nics)
            if group is not None and group.per_gpu:
                gpu = group.gpu_of(nic.rail, model.gpus)
                place = GpuNic(f"{server.name}:{nic.name}", nic.rail, network.plane_of(nic), links.get(nic.name, ""))
                nics_of_gpu.setdefault((server.name.lower(), gpu), []).append(place)
    return GpuNics({key: tuple(nics) for key, nics in nics_of_gpu.items()}, gpus)


def nics_of(of_job: Iterable[Communicator], design: GpuNics) -> list[tuple[GpuNic, ...]]:
    """Return the NICs of the GPUs of each communicator. A communicator is empty if the GPU of one of its ranks is unknown."""
    given = list(of_job)
    processes = gpus_of_processes(given, design.gpus)
    result: list[tuple[GpuNic, ...]] = []
    for communicator in given:
        nics: dict[GpuNic, None] = {}
        complete = bool(communicator.hosts)
        for host, _, pid, gpu in communicator.places:
            server = host.lower().partition(".")[0]
            index = gpu if gpu is not None else processes.get((server, pid if pid is not None else -1))
            of_gpu = () if index is None else design.nics.get((server, index), ())
            complete &= bool(of_gpu)
            nics |= dict.fromkeys(of_gpu)
        result.append(tuple(nics) if complete else ())
    return result


MOST = 16
"""The largest number of NICs or links that are written out."""


def described(nics: Iterable[GpuNic]) -> tuple[tuple[str, str], ...]:
    """Return the rails, planes, NICs and links of a communicator as pairs of a name and a text. Long lists are left out."""
    given = list(nics)
    texts = {
        "rails": " ".join(map(str, sorted({nic.rail for nic in given}))),
        "planes": " ".join(sorted({nic.plane for nic in given if nic.plane})),
    }
    if len(given) <= MOST:
        texts["NICs"] = " ".join(nic.nic for nic in given)
        texts["links"] = " ".join(nic.link for nic in given if nic.link)
    return tuple((name, text) for name, text in texts.items() if text)
