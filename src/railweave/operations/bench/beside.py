"""A comparison of what NCCL did with what ``collectives`` assumes. If the two differ, predictions for the job are not valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.prediction.collectives.channels import COLLECTIVES, Collective, channel_count
from railweave.prediction.collectives.nccl import LISTS, NUMBERS, NcclError, Parameters, parameters
from railweave.prediction.collectives.tuning import choose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.operations.bench.nccl_log import NcclLog
    from railweave.prediction.collectives.job import Job


@dataclass(frozen=True, slots=True)
class Row:
    """A fact about a job: its value in the NCCL log and the value that the model assumes."""

    what: str
    logged: str
    assumed: str

    @property
    def same(self) -> bool:
        """True if the log shows the value that the model assumes."""
        return self.logged == self.assumed


def parameters_of(log: NcclLog, job: Job) -> Parameters:
    """Return the model's parameters, set from the NCCL variables in the log.

    Variables that the model does not know, and values that it rejects, are ignored.
    """
    known = {name: text for name, text in log.variables if name in NUMBERS or name in LISTS}
    while known:
        try:
            return parameters(known, job.library)
        except NcclError as error:
            wrong = {name for problem in error.problems for name in known if name in f"{problem.place} {problem.what}"}
            known = {name: text for name, text in known.items() if wrong and name not in wrong}
    return parameters({}, job.library)


def laid_beside(log: NcclLog, job: Job, nccl: Parameters | None = None) -> tuple[Row, ...]:
    """Return a row for each fact in a log, with what the model assumes for a job of these servers in this order.

    ``nccl``: the model's parameters; None: the parameters in force in the log. A fact that the log does not state has no row.
    """
    return tuple(_rows(log, job, nccl or parameters_of(log, job)))


def _rows(log: NcclLog, job: Job, nccl: Parameters) -> Iterator[Row]:
    names = [server.name for server in job.servers]
    channels = channel_count(job, nccl)
    if log.library:
        yield Row("library", log.library, job.library)
    if log.ranks:
        yield Row("ranks", str(max(rank.ranks for rank in log.ranks)), str(job.ranks))
    if log.nodes is not None:
        yield Row("servers", str(log.nodes), str(len(names)))
    if len(log.hosts) > 1:
        yield Row("order of servers", " ".join(log.hosts), " ".join(names))
    if log.networks:
        through = {network.text for network in log.networks}
        yield Row("network", "sockets" if "Socket" in through else "RDMA", "RDMA")
    if log.counts:
        yield Row("channels", str(max(count.collective for count in log.counts)), str(channels))
    net = [channel for channel in log.channels if channel.transport == "NET"]
    if net:
        direct = sum(channel.gdr for channel in net)
        yield Row("GPUDirect RDMA", "all" if direct == len(net) else "some" if direct else "none", "all")
        if nccl["NCCL_PXN_DISABLE"]:
            yield Row(
                "over another GPU's NIC (PXN)",
                "yes" if any(channel.proxy is not None for channel in net) else "no",
                "no",
            )
    yield from _ring(log, job)
    yield from _choices(log, job, nccl, channels)


def _ring(log: NcclLog, job: Job) -> Iterator[Row]:
    """Yield a row with the order of servers in the first ring. The model assumes that the ring follows the ranks."""
    ring, each = log.ring_of(0), job.gpus_per_server
    if len(ring) == job.ranks and len(job.servers) > 1:
        order: list[int] = []
        for rank in ring:
            if not order or order[-1] != rank // each:
                order.append(rank // each)
        yield Row("ring 0, by server", " ".join(map(str, order)), " ".join(map(str, range(len(job.servers)))))


def _choices(log: NcclLog, job: Job, nccl: Parameters, channels: int) -> Iterator[Row]:
    by_name: dict[str, Collective] = {name.replace("-", ""): name for name in COLLECTIVES}
    seen: set[tuple[str, int]] = set()
    for choice in log.choices:
        collective = by_name.get(choice.collective.lower())
        if collective is None or (collective, choice.size_bytes) in seen or choice.size_bytes < 1:
            continue
        seen.add((collective, choice.size_bytes))
        assumed = choose(job, nccl, collective, choice.size_bytes, channels)
        yield Row(
            f"{collective} of {choice.size_bytes} bytes",
            f"{choice.algorithm} {choice.protocol}",
            f"{assumed.algorithm} {assumed.protocol}",
        )
