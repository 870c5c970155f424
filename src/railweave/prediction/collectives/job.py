"""A job: the servers of a communicator in order, with the GPUs and NICs of each.

This module has only plain data, independent of any network. Ranks are numbered server by server, and within a server in
the order of its GPUs. A hostfile with one slot per GPU gives the same order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from railweave.errors import Argument, InputError, Problem
from railweave.model.catalog import catalog

Library = Literal["NCCL", "RCCL"]


class JobError(InputError):
    """The error for servers that cannot form a job, for example because their numbers of NICs differ."""


@dataclass(frozen=True, slots=True)
class GpuLink:
    """The link that joins the GPUs of a server.

    ``gbps`` is the payload rate from one GPU to the others of its server, in 10^9 bit/s; ``source`` names the source of
    the figure.
    """

    name: str
    gbps: float
    source: str


def gpu_link(gpu: str) -> GpuLink:
    """Return the link between GPUs of the model ``gpu`` from the server catalog. If the catalog lacks it, return the H100's link (assumed)."""
    known = {model.gpu: model.gpu_link for model in catalog().servers.values() if model.gpu_link is not None}
    link = known.get(gpu) or known["H100"]
    return GpuLink(link.name, link.gbps, link.source)


@dataclass(frozen=True, slots=True)
class Nic:
    """A NIC of a server.

    - ``name``: the NIC's name in the server.
    - ``rail``: the rail that the NIC is cabled to.
    - ``rate_mbps``: the line rate in 10^6 bit/s, summed over the NIC's ``ports``.
    """

    name: str
    rail: int
    rate_mbps: int
    ports: int = 1


@dataclass(frozen=True, slots=True)
class Server:
    """A server of a job, or an NVLink domain, which NCCL treats as one server.

    - ``nearest``: for each GPU, the index in ``nics`` of the NIC with the shortest PCIe path to it.
    - ``members``: the servers of an NVLink domain, in order, all with the same GPUs and NICs; empty for a single server.
    """

    name: str
    nics: tuple[Nic, ...]
    nearest: tuple[int, ...]
    gpu: str = "H100"
    cpu: Literal["Intel", "AMD"] = "Intel"
    link: GpuLink = field(default_factory=lambda: gpu_link("H100"))
    members: tuple[str, ...] = ()

    @property
    def gpus(self) -> int:
        """Return the number of GPUs of the server."""
        return len(self.nearest)

    @property
    def machines(self) -> tuple[str, ...]:
        """The names of the machines: the members of an NVLink domain, or the server itself."""
        return self.members or (self.name,)


@dataclass(frozen=True)
class Job:
    """The servers of a communicator, in order.

    All servers must have the same GPUs, NICs and rails. If servers differed, NCCL would limit every server to the
    capabilities of the weakest server; this is not modelled. Raises ``JobError`` if the servers differ.
    """

    servers: tuple[Server, ...]
    library: Library = "NCCL"
    processes: int | None = None
    """The number of processes on each machine, which share its GPUs evenly. None means one process per GPU."""

    def __post_init__(self) -> None:
        problems = [Problem(Argument("job"), reason, fix) for reason, fix in _wrong(self.servers)]
        if (
            not problems
            and self.processes is not None
            and (self.processes < 1 or self.gpus_per_machine % self.processes)
        ):
            counts = [count for count in range(1, self.gpus_per_machine + 1) if not self.gpus_per_machine % count]
            description = f"{self.processes} processes cannot share {self.gpus_per_machine} GPUs evenly"
            problems.append(Problem(Argument("processes"), description, f"use one of {', '.join(map(str, counts))}"))
        if problems:
            raise JobError(problems)

    @cached_property
    def nics(self) -> tuple[tuple[int, int], ...]:
        """All NICs of the job as (server index, NIC index within the server). A ``Program`` refers to a NIC by its index in this tuple."""
        return tuple((s, n) for s, server in enumerate(self.servers) for n in range(len(server.nics)))

    @property
    def gpus_per_server(self) -> int:
        """The number of GPUs of each server."""
        return self.servers[0].gpus

    @property
    def gpus_per_process(self) -> int:
        """The number of GPUs of each process."""
        return 1 if self.processes is None else self.gpus_per_machine // self.processes

    @property
    def machines(self) -> tuple[str, ...]:
        """The names of all machines, in rank order."""
        return tuple(name for server in self.servers for name in server.machines)

    @property
    def machines_per_server(self) -> int:
        """The number of machines of each NVLink domain; 1 for servers."""
        return len(self.servers[0].machines)

    @property
    def gpus_per_machine(self) -> int:
        """The number of GPUs of each machine."""
        return self.gpus_per_server // self.machines_per_server

    @property
    def nics_per_machine(self) -> int:
        """The number of NICs of each machine."""
        return self.nics_per_server // self.machines_per_server

    @property
    def nics_per_gpu(self) -> int:
        """The number of NICs next to each GPU. The value is 1 if GPUs share NICs, or if the NICs cannot be divided evenly among the GPUs."""
        each, left = divmod(self.nics_per_server, self.gpus_per_server)
        return 1 if left else each

    @property
    def nics_per_server(self) -> int:
        """The number of NICs of each server."""
        return len(self.servers[0].nics)

    @cached_property
    def ports(self) -> int:
        """The number of ports per NIC, which NCCL merges into one device. If NICs differ, this is the largest number (``net_ib``)."""
        return max(nic.ports for server in self.servers for nic in server.nics)

    @property
    def ranks(self) -> int:
        """The number of ranks: one for each GPU."""
        return len(self.servers) * self.gpus_per_server

    def gpus_beside(self, nic: int) -> list[int]:
        """Return the GPUs of a server whose nearest NIC is ``nic``. If ``nic`` is not the nearest NIC of any GPU, return all GPUs."""
        beside = [gpu for gpu, nearest in enumerate(self.servers[0].nearest) if nearest == nic]
        return beside or list(range(self.gpus_per_server))

    @classmethod
    def of_servers(
        cls,
        count: int,
        gpus: int = 8,
        rate_mbps: int = 400_000,
        *,
        gpu: str = "H100",
        cpu: Literal["Intel", "AMD"] = "Intel",
        library: Library = "NCCL",
        processes: int | None = None,
    ) -> Job:
        """Return a job of ``count`` servers in which every GPU has its own NIC, and NIC g is on rail g.

        ``rate_mbps`` is the rate of a NIC. The other arguments are fields of ``Server`` and ``Job`` in this module: models, library and
        processes.
        """
        nics = tuple(Nic(f"nic{g}", g, rate_mbps) for g in range(gpus))
        link = gpu_link(gpu)
        servers = (Server(f"server{s}", nics, tuple(range(gpus)), gpu, cpu, link) for s in range(count))
        return cls(tuple(servers), library, processes)


def _wrong(servers: tuple[Server, ...]) -> list[tuple[str, str]]:
    """Return the differences between servers that prevent a job, as (error message, fix). The list is empty if the servers form a job."""
    if not servers:
        return [("the job has no server", "name at least one")]
    wrong: list[tuple[str, str]] = []
    first = servers[0]
    for server in servers:
        if not server.nearest:
            wrong.append((f"server {server.name} has no GPU", "leave it out, or give nearest an entry for each GPU"))
        elif not server.nics:
            wrong.append((f"server {server.name} has no NIC", "leave it out, or give it its NICs"))
        elif not all(0 <= place < len(server.nics) for place in server.nearest):
            wrong.append(
                (
                    f"server {server.name}: nearest {server.nearest} has an index without a NIC",
                    f"give indexes from 0 to {len(server.nics) - 1}",
                )
            )
        elif server.link.gbps <= 0 or any(nic.rate_mbps <= 0 for nic in server.nics):
            wrong.append((f"server {server.name} has a GPU link or a NIC without a rate", "give a rate above 0"))
        elif server.nearest != first.nearest or [n.rail for n in server.nics] != [n.rail for n in first.nics]:
            wrong.append(
                (
                    f"servers {first.name} and {server.name} differ in GPUs, NICs or rails",
                    "use servers with equal GPUs, NICs and rails",
                )
            )
    return wrong
