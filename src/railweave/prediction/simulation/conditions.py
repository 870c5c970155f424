"""Networks prepared for simulation runs, and the faults and background traffic during a collective."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.fib_file import read_fibs
from railweave.errors import InputError, Option, Problem
from railweave.garbage import uncollected
from railweave.model.device.build import device_config
from railweave.model.network.status import present
from railweave.prediction.simulation.job import job_of
from railweave.prediction.simulation.model.fabric import PacketFabric, packet_fabric
from railweave.prediction.simulation.model.outages import REROUTE_PS, Timeline, fault_timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from railweave.design.fault_targets import FaultTarget
    from railweave.model.device.model import DeviceConfig
    from railweave.model.intent.scenario import Background
    from railweave.model.network.model import Network
    from railweave.prediction.collectives.job import Job


@dataclass(frozen=True, eq=False)
class SimulatedNetwork:
    """A network prepared for the engines (numbers and tables in place of names), and the job that runs on its servers.

    - ``hosts``: for each NIC of the job, the number of the engine's host.
    - ``plane``: the control plane. None if forwarding tables were read from a file; such tables cannot be recomputed.
    """

    plane: ControlPlane | None
    fabric: PacketFabric
    job: Job
    hosts: NDArray[np.uint32]


def bed_of(
    network: Network,
    lb: str | None = None,
    fibs: Path | None = None,
    tenant: str | None = None,
    configs: Mapping[str, DeviceConfig] | None = None,
    order: str | None = None,
    processes: int | None = None,
    gpus: int | None = None,
) -> SimulatedNetwork:
    """Return a network prepared for predictions.

    - ``lb``: the load balancing of switches, in place of the designed load balancing (``model.fabric.override``).
    - ``fibs``: a file of forwarding tables (``analysis.routing.fib_file``).
    - ``tenant``: the tenant that owns the job, if there are several.
    - ``configs``: running configurations of switches, in place of the designed configurations.
    - ``order``, ``processes``: the servers that take part, in order of rank, and the number of processes per server.
    - ``gpus``: the number of GPUs per server that take part (``job.job_of``).

    Devices and links that ``status:`` marks as absent are left out, and the notes of the fabric list them. Raises ``InputError`` for an
    unknown tenant or server, or a file of forwarding tables that does not match the network.
    """
    running = configs or {}
    with uncollected():
        here = [running.get(switch.name) or device_config(network, switch.name) for switch in network.switches]
        plane = ControlPlane(here, network.absent)
        routes = plane.routes() if fibs is None else read_fibs(fibs, network, plane.prefixes)
        there = present(network)
        fabric = packet_fabric(there, plane.configs, routes, lb, tenant=tenant)
        if words := network.absent_sentence():
            fabric = replace(fabric, notes=(*fabric.notes, words))
        job, hosts = job_of(
            there,
            fabric.wiring,
            tenant,
            order,
            processes,
            gpus=gpus,
            whole=network,
        )
    return SimulatedNetwork(plane if fibs is None else None, fabric, job, hosts)


@dataclass(frozen=True, slots=True)
class NvlinkLoss:
    """The failure of one NVLink switch tray between ``from_ps`` and ``until_ps`` (None: until the end).

    ``servers`` are the servers of the tray's NVLink domain, and ``trays`` is the number of switch trays of the domain.
    """

    servers: frozenset[str]
    trays: int
    from_ps: int
    until_ps: int | None = None

    def active(self, at_ps: int) -> bool:
        """Return True if the tray is down at the time ``at_ps``."""
        return self.from_ps <= at_ps and (self.until_ps is None or at_ps < self.until_ps)


def nvlink_losses(faults: Iterable[FaultTarget]) -> tuple[NvlinkLoss, ...]:
    """Return the failures of NVLink switch trays among ``faults``."""
    return tuple(
        NvlinkLoss(frozenset(target.devices), target.trays, target.fault.at, target.fault.end_ps)
        for target in faults
        if target.fault.kind == "nvlink-switch-down"
    )


def with_losses(job: Job, losses: Iterable[NvlinkLoss]) -> Job:
    """Return the job with a lower NVLink rate: the rate of the domain that lost the largest fraction of its switch trays.

    ``losses`` are the failures of trays. Every GPU spreads its NVLinks equally over the switch trays of its domain. Raises ``InputError``
    if all trays of a domain fail.
    """
    failed: dict[frozenset[str], int] = {}
    trays: dict[frozenset[str], int] = {}
    for loss in losses:
        if loss.servers & set(job.machines):
            failed[loss.servers] = failed.get(loss.servers, 0) + 1
            trays[loss.servers] = loss.trays
    left = min((1 - count / trays[servers] for servers, count in failed.items()), default=1.0)
    if left == 1.0:
        return job
    if left <= 0:
        whole = "all NVLink switch trays of a domain fail"
        raise InputError([Problem(Option("--scenario"), whole, "leave one, or fail its servers with device-down")])
    slower = (replace(server, link=replace(server.link, gbps=server.link.gbps * left)) for server in job.servers)
    return replace(job, servers=tuple(slower))


@dataclass(frozen=True, eq=False)
class Conditions:
    """The faults and background traffic during a job. Times of ``timeline`` count from the beginning of the job.

    - ``notes``: the assumptions about the faults, as sentences.
    - ``lost_until_ps``: if a NIC port loses its path before this time, it counts as lost from the beginning of the collective
      (``model.ports``).
    - ``nvlink``: the failures of NVLink switch trays.
    """

    background: Background | None = None
    timeline: Timeline = Timeline()  # noqa: RUF009 - it is immutable
    notes: tuple[str, ...] = ()
    lost_until_ps: int = 0
    nvlink: tuple[NvlinkLoss, ...] = ()

    @property
    def moments(self) -> list[int]:
        """The times of all changes, in ps and in order."""
        ends = {at for loss in self.nvlink for at in (loss.from_ps, loss.until_ps) if at is not None}
        return sorted(ends.union(self.timeline.moments))

    @property
    def faulty(self) -> bool:
        """True if there are faults."""
        return bool(self.timeline.changes or self.timeline.tables or self.nvlink)


def conditions_of(
    bed: SimulatedNetwork, background: Background | None, faults: Sequence[FaultTarget], reroute_ps: int | None
) -> Conditions:
    """Return the conditions for runs on a network. Raises ``InputError`` if outages overlap.

    ``background`` is the background traffic, if any. ``reroute_ps`` is the time after a fault until routes have adapted; None means the
    default. ``bed`` is the prepared network.
    """
    notes: list[str] = []
    if not faults:
        return Conditions(background)
    if bed.plane is None:
        notes.append("faults: forwarding tables come from the file and do not change")
    elif reroute_ps is None:
        notes.append(
            f"faults: routes follow {REROUTE_PS // 10**9} ms after each fault (assumed; `reroute` changes this)"
        )
    else:
        notes.append(f"faults: routes follow {reroute_ps / 1e6:g} us after each fault, as the scenario sets")
    timeline = fault_timeline(
        bed.fabric.wiring,
        bed.plane,
        bed.fabric.routes,
        faults,
        REROUTE_PS if reroute_ps is None else reroute_ps,
        int(bed.fabric.parameters["host.data-class"]),
    )
    losses = nvlink_losses(faults)
    if losses:
        notes.append("NVLink switch trays that fail or return count from the next collective on; NCCL's channels stay")
    return Conditions(background, timeline, tuple(notes), nvlink=losses)
