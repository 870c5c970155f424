"""The storage traffic of a job, on the fabric of its GPUs or on a separate fabric.

All NICs that the job's servers have on this fabric take part. Each carries an equal part of the bytes, spread evenly
over the storage servers. If a storage server has NICs on the rail of a client's NIC, only those NICs serve that client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import WRITE
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.errors import InputError, Problem
from railweave.model.device.build import device_config
from railweave.model.network.status import present
from railweave.prediction.simulation.engines.run import run_flows
from railweave.prediction.simulation.engines.traffic import Traffic
from railweave.prediction.simulation.job import job_network, ordered
from railweave.prediction.simulation.model.fabric import PacketFabric, packet_fabric
from railweave.prediction.simulation.model.outages import Timeline
from railweave.prediction.simulation.training.loads import CarriedCommunication, PlacedJob

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from railweave.model.intent.job_file import Storage
    from railweave.model.network.model import Network


LEAST = 1e-4
"""The busy fraction below which railweave assumes that a port slows no communication."""
GRAIN = 1e-3
"""The resolution of busy fractions. Links whose busy fractions differ by less are treated as one link."""
MOST_TAKEN = 0.5
"""The largest fraction of a link that background traffic can take away from jobs."""
LEAST_PACE = 1e-9


class SharedLinks:
    """The links that the communications of all jobs share. From them follow the paces of communications that run at the same time.

    The class has the methods of ``prediction.jobs.run.Network``.
    """

    def __init__(self, carried: Sequence[CarriedCommunication], taken: NDArray[np.float64] | None = None) -> None:
        """Find the links that can fill.

        ``carried`` has the load of each communication, by number. ``taken`` has, for each port, the fraction that
        background traffic requests.
        """
        self._alone = [load.alone_ps for load in carried]
        much = [load.busy > LEAST for load in carried]
        met = [load.ports[keep] for load, keep in zip(carried, much, strict=True)]
        ports = np.unique(np.concatenate(met or [np.zeros(0, np.int64)]))
        use = np.zeros((len(carried), len(ports)))
        for number, (load, keep) in enumerate(zip(carried, much, strict=True)):
            use[number, np.searchsorted(ports, load.ports[keep])] = load.busy[keep]
        room = np.ones(len(ports)) if taken is None else 1 - np.minimum(taken[ports], MOST_TAKEN)
        full = use.sum(axis=0) > room  # a link that has room for all at once slows nobody down
        use, room = use[:, full], room[full]
        if use.size:
            alike = np.unique(np.vstack([np.ceil(use / GRAIN), np.floor(room / GRAIN)]).astype(np.int64), axis=1)
            use, room = alike[:-1] * GRAIN, alike[-1] * GRAIN
        self._use, self._room = use, room

    def alone_ps(self, communication: int) -> int:
        """Return the time of a communication in ps if no other communication runs."""
        return self._alone[communication]

    def paces(self, active: tuple[int, ...]) -> list[float]:
        """Return the pace of each communication in ``active`` while all of them run at the same time.

        A pace is relative to the pace of the same communication without others: 0.5 is half as fast.
        """
        use = self._use[list(active)]
        pace = np.ones(len(active))
        if not use.size:
            return pace.tolist()
        pace[:] = 0.0
        rising = np.ones(len(active), np.bool_)
        room = self._room.copy()
        level = 0.0
        while rising.any():
            wanted = use[rising].sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                more = np.where(wanted > 0, room / wanted, np.inf)
            step = min(float(more.min(initial=np.inf)), 1.0 - level)
            level += step
            room = np.maximum(room - wanted * step, 0.0)
            pace[rising] = level
            if level >= 1.0 - 1e-12:
                break
            full = more <= step * (1 + 1e-9) + 1e-15
            rising &= ~(use[:, full] > 0).any(axis=1)
        return np.maximum(pace, LEAST_PACE).tolist()


RUN_BYTES = 1 << 30
"""The largest number of bytes of a connection with storage that are simulated.

For more bytes, the simulated time is scaled, because no other traffic shares the links in this run.
"""


@dataclass(frozen=True, eq=False)
class Stores:
    """The connection of a job with its storage. ``name`` is the name of the fabric.

    - ``clients``: the engine's host numbers of the job's NICs.
    - ``servers``: the engine's host numbers of each storage server's NICs.
    - ``rail``: for each host of the engine, the rail of its NIC.
    - ``on_gpu_fabric``: True if the storage is on the fabric of the GPUs.
    """

    fabric: PacketFabric
    name: str
    clients: NDArray[np.uint32]
    servers: tuple[NDArray[np.uint32], ...]
    rail: NDArray[np.int64]
    on_gpu_fabric: bool
    timeline: Timeline


def stores_of(
    whole: Network, placed: PlacedJob, wanted: Storage, lb: str | None, tell: Callable[[str, str, str], Problem]
) -> Stores:
    """Return the connection of a job with the storage that it names.

    - ``whole``: the network with all its fabrics.
    - ``placed``: the job, placed on the network.
    - ``wanted``: the storage settings of the job file.
    - ``lb``: the load balancing of switches, in place of the designed load balancing.
    - ``tell``: a function that makes an error from a field of the job file, a description and a fix.

    Raises ``InputError``, with the line, if the storage does not exist, or if no fabric connects the storage with the job.
    """
    try:
        names = ordered({server.name: "" for server in whole.servers}, wanted.storage)
    except InputError as error:
        raise InputError([tell("storage", problem.what, problem.fix) for problem in error.problems]) from None
    job = placed.job.machines
    if both := next((name for name in names if name in job), None):
        raise InputError([tell("storage", f"{both} trains itself", "name other servers, or give the job `hosts`")])
    on = {server.name: {nic.fabric for nic in server.nics} for server in whole.servers}
    joined = [fabric.name for fabric in whole.fabrics if all(fabric.name in on[name] for name in (*job, *names))]
    here = {whole.switch(switch).fabric for switch in placed.fabric.wiring.switches}
    if wanted.fabric is not None and wanted.fabric not in joined:
        fix = f"fabrics that do are {', '.join(joined)}" if joined else "connect both to one fabric"
        raise InputError([tell("fabric", f"fabric {wanted.fabric!r} does not connect the job with its storage", fix)])
    if not joined:
        description = f"no fabric connects {job[0]} with {names[0]}"
        raise InputError([tell("storage", description, "storage servers need NICs on a fabric of the job's servers")])
    of_storage = [candidate for candidate in joined if whole.fabric(candidate).nics == "storage"]
    name = wanted.fabric or next((candidate for candidate in joined if candidate in here), (of_storage or joined)[0])
    fabric = placed.fabric if name in here else _fabric(job_network(whole, name), lb)
    of_server: dict[str, list[int]] = {}
    for number, nic in enumerate(fabric.wiring.nics):
        of_server.setdefault(nic.partition(":")[0], []).append(number)
    if dark := next((server_name for server_name in (*job, *names) if server_name not in of_server), None):
        raise InputError([tell("storage", f"{dark} has no active link to fabric {name}", "")])
    rails = {f"{server.name}:{nic.name}": nic.rail for server in whole.servers for nic in server.nics}
    return Stores(
        fabric,
        name,
        np.array([host for server_name in job for host in of_server[server_name]], np.uint32),
        tuple(np.array(of_server[name], np.uint32) for name in names),
        np.array([rails[nic] for nic in fabric.wiring.nics], np.int64),
        name in here,
        placed.timeline if name in here else Timeline(),
    )


def _fabric(network: Network, lb: str | None) -> PacketFabric:
    """Return a fabric on which no job runs, in the engines' form. ``lb`` is the load balancing of switches in place of the designed one."""
    plane = ControlPlane([device_config(network, switch.name) for switch in network.switches], network.absent)
    return packet_fabric(present(network), plane.configs, plane.routes(), lb)


def stored(stores: Stores, wanted: Storage, size_bytes: int, *, reads: bool) -> CarriedCommunication:
    """Return the load of writing ``size_bytes`` to storage, or of reading them, without other traffic on the network.

    ``stores`` is the job's connection with its storage, and ``wanted`` has the storage settings of the job file. Raises the errors of
    ``run_flows``.
    """
    ends, parts = _connections(stores)
    each = size_bytes * parts / wanted.qps
    scale = max(float(each.max()) / RUN_BYTES, 1.0)
    sources, targets = np.repeat(ends, wanted.qps, axis=0).T
    # the first queue pairs of all connections would take the first color: they take colors in turn
    turns = np.tile(np.arange(wanted.qps), len(ends)) + np.repeat(np.arange(len(ends)), wanted.qps)
    pairs = stores.fabric.addresses.pairs(
        *((targets, sources) if reads else (sources, targets)), turns.astype(np.uint32)
    )
    messages = np.zeros((len(pairs), 4), np.uint64)
    messages[:, 0] = np.arange(len(pairs))
    messages[:, 1] = np.maximum(np.repeat(each, wanted.qps) / scale, 1)
    messages[:, 3] = WRITE
    none = np.zeros(0, np.uint64)
    starts = np.zeros(len(pairs) + 1, np.uint64)
    traffic = Traffic(pairs, messages, starts, none.astype(np.uint32), none, np.ones(len(pairs), np.bool_))
    run = run_flows(stores.fabric.flow_arguments(pairs, stores.timeline), traffic)
    slowest = 0 if wanted.rate is None else round(size_bytes / len(stores.servers) * 8e6 / wanted.rate)
    arrived = round(run.last_ps * scale)
    alone = max(arrived, slowest, 1)
    wiring = stores.fabric.wiring
    sent = run.sent_bytes * scale
    busy = sent * 8e6 / wiring.cables[wiring.port_cable, 2].astype(np.float64) / alone
    bound = "the rate of storage servers" if slowest > arrived else f"link {wiring.port_link(int(busy.argmax()))}"
    ports = np.flatnonzero(busy > LEAST) if stores.on_gpu_fabric else np.zeros(0, np.int64)
    return CarriedCommunication(
        alone, ports, np.minimum(busy[ports], 1.0), sent[ports], bound, "point to point", run.complete
    )


def _connections(stores: Stores) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    """Return (pairs of client NIC and storage NIC, the fraction of all bytes that each pair carries).

    ``stores`` is the job's connection with its storage.
    """
    ends: list[tuple[int, int]] = []
    parts: list[float] = []
    for client in stores.clients.tolist():
        for server in stores.servers:
            same = server[stores.rail[server] == stores.rail[client]]
            taken = same if len(same) else server
            ends += [(client, int(nic)) for nic in taken]
            parts += [1.0 / len(stores.clients) / len(stores.servers) / len(taken)] * len(taken)
    return np.array(ends, np.uint32), np.array(parts)
