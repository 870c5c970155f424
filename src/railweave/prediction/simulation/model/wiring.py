"""Nodes and cables of a designed network, numbered as in the packet engine.

A host of the engine is a NIC, named ``SERVER:NIC``. Hosts come first, in the order of the servers and their NICs; then
the switches. If any fabric connects the GPUs' own NICs, only such fabrics are included, because storage and front-end NICs take no
part in collectives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import HOST, SWITCH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.model.catalog.hardware import NicGroup
    from railweave.model.network.devices import Cable, Server
    from railweave.model.network.model import Network

PS_PER_METER = 5_054
"""The delay of light in fiber per meter in ps, at 0.66 of the speed in vacuum.

The headroom arithmetic uses the same value (model/catalog/physics.yaml).
"""

FEC_PS = 75_000
"""The delay of forward error correction in ps: RS(544,514) of 400G Ethernet, decoder about 72 ns, encoder 3 ns.

Source: P. Sun, Analysis on 400G FEC Architecture, IEEE P802.3bs, June 2015. Other speeds are assumed to have the same
delay.
"""

OPTICS_PS = 25_000
"""The delay in ps of the signal processors in optical modules: the sum for the modules at both ends of a cable (assumed)."""

SWITCH_PS = 600_000
"""The latency of a switch from port to port in ps, without queueing and serialization (assumed).

The engine's switches forward without delay. Instead, half of this latency is added to the delay of every cable at each end that is on a
switch.
"""

WIRING_NOTE = (
    f"cables: {PS_PER_METER} ps a meter, {FEC_PS // 1000} ns of FEC, {OPTICS_PS // 1000} ns in modules (assumed), "
    f"{SWITCH_PS // 1000} ns through a switch (assumed)"
)


@dataclass(frozen=True, eq=False)
class Wiring:
    """Nodes, cables and ports of a network.

    - ``kinds``: ``HOST`` (a NIC) or ``SWITCH`` for each node. NICs come first.
    - ``cables``: rows of both nodes, rate in Mb/s and delay in ps. ``links`` has the names of the cables.
    - ``first_port``: the first port of each node. Ports are numbered across all nodes.
    - ``end_ports``: the ports at both ends of each cable.
    - ``port_cable``: the cable of each port.
    """

    nics: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[str, ...]
    kinds: NDArray[np.uint8]
    cables: NDArray[np.uint64]
    first_port: NDArray[np.int64]
    end_ports: NDArray[np.int64]
    port_cable: NDArray[np.int64]
    node: dict[str, int] = field(repr=False)
    """The number of each NIC and switch, by name."""
    cable: dict[str, int] = field(repr=False)
    """The row of each link in ``cables``, by name of the link."""

    def port(self, link: str, name: str) -> int | None:
        """Return the port, numbered across all nodes, that connects the NIC or switch ``name`` to a link.

        Return None if the NIC or switch is not on the link.
        """
        row, node = self.cable.get(link), self.node[name]
        if row is None:
            return None
        nodes, ports = self._ends
        first, other = nodes[row]
        return ports[row][0] if first == node else ports[row][1] if other == node else None

    def ports_of(self, name: str) -> dict[str, int]:
        """Return the ports of a NIC or switch by the names of their links. Ports count from 0 within the NIC or switch."""
        node = self.node[name]
        cables: list[int] = self.port_cable[self.first_port[node] : self.first_port[node + 1]].tolist()
        return {self.links[cable]: number for number, cable in enumerate(cables)}

    @cached_property
    def _ends(self) -> tuple[list[list[int]], list[list[int]]]:
        """(The two nodes of each cable, the two ports of each cable) as lists, because single elements of arrays are slow to read."""
        nodes: list[list[int]] = self.cables[:, :2].tolist()
        ports: list[list[int]] = self.end_ports.tolist()
        return nodes, ports

    def port_link(self, port: int) -> str:
        """Return the name of the link that a port is on."""
        return self.links[int(self.port_cable[port])]


def nic_group(network: Network, server: Server, fabric: str) -> NicGroup | None:
    """Return the group of NICs, from the catalog's server model, that connects a server to a fabric.

    Return None if the catalog lacks the server model.
    """
    model = network.catalog.servers.get(server.model)
    return model.nics.get(network.fabric(fabric).nics) if model else None


def fabrics(network: Network) -> tuple[str, ...]:
    """Return the fabrics that collectives use: the fabrics of the GPUs' own NICs, or all fabrics if there are none."""
    kinds = {(server.model, nic.fabric): server for server in network.servers for nic in server.nics}
    gpu_fabrics = {
        fabric
        for (_, fabric), server in kinds.items()
        if (group := nic_group(network, server, fabric)) is not None and group.per_gpu
    }
    return tuple(fabric.name for fabric in network.fabrics if fabric.name in gpu_fabrics or not gpu_fabrics)


def wire(network: Network) -> Wiring:
    """Return the nodes and cables of the fabrics that collectives use. NICs and switches without a cable are left out."""
    taken = set(fabrics(network))
    cables = [cable for cable in network.cables if cable.fabric in taken]
    ends_of = [_ends(cable) for cable in cables]
    cabled = {name for ends in ends_of for name in ends}
    nics = tuple(
        name
        for server in network.servers
        for nic in server.nics
        if nic.fabric in taken and (name := f"{server.name}:{nic.name}") in cabled
    )
    switches = tuple(switch.name for switch in network.switches if switch.name in cabled)
    node = {name: number for number, name in enumerate((*nics, *switches))}
    rows = [
        (node[near], node[far], cable.speed_gbps * 1000, delay_ps(cable))
        for (near, far), cable in zip(ends_of, cables, strict=True)
    ]
    kinds = np.full(len(node), SWITCH, np.uint8)
    kinds[: len(nics)] = HOST
    table = np.array(rows, np.uint64).reshape(-1, 4)
    first, ends, of = _ports(table, len(node))
    links = tuple(cable.name for cable in cables)
    return Wiring(
        nics, switches, links, kinds, table, first, ends, of, node, {name: row for row, name in enumerate(links)}
    )


def delay_ps(cable: Cable) -> int:
    """Return the delay of a signal through a cable in ps, including half the latency of each switch at its ends."""
    switches = 1 if cable.kind == "server" else 2
    way = round(cable.length_m * PS_PER_METER) if cable.delay_us is None else cable.delay_us * 1_000_000
    return way + FEC_PS + OPTICS_PS + switches * SWITCH_PS // 2


def _ends(cable: Cable) -> tuple[str, str]:
    near = f"{cable.a.device}:{cable.a.port}" if cable.kind == "server" else cable.a.device
    return near, cable.b.device


def _ports(cables: NDArray[np.uint64], nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return (the first port of each node, the ports at both ends of each cable, the cable of each port).

    The ports of a node are in the order of its cables.
    """
    ends = cables[:, :2].astype(np.int64).ravel()
    order = np.argsort(ends, kind="stable")
    first = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=nodes), out=first[1:])
    ports = np.empty(len(ends), np.int64)
    ports[order] = np.arange(len(ends))
    return first, ports.reshape(-1, 2), order // 2


def servers(network: Network, wiring: Wiring, tenant: str = "") -> list[tuple[str, list[int], int]]:
    """Return each server that a job can use as (name, numbers of its NICs in rail order, number of GPUs).

    Only NICs of ``tenant`` count. If collective libraries merge several ports of a NIC into one device, only the first existing port is
    listed.

    The catalog gives the number of GPUs. A server of an unknown model counts one GPU per NIC. A tenant with a fraction of a server's NICs
    has the same fraction of the server's GPUs. ``wiring`` has the numbered nodes, ports and cables.
    """
    job_servers: list[tuple[str, list[int], int]] = []
    for server in network.servers:
        rails = sorted(server.nics, key=lambda nic: (nic.fabric, nic.rail))
        there = [nic for nic in rails if f"{server.name}:{nic.name}" in wiring.node]
        first = {(nic.fabric, network.fabric(nic.fabric).nic_number(nic.rail)): nic for nic in reversed(there)}
        wired = [first[key] for key in sorted(first)]
        hosts = [wiring.node[f"{server.name}:{nic.name}"] for nic in wired if nic.tenant == tenant]
        model = network.catalog.servers.get(server.model)
        if hosts:
            gpus = model.gpus if model else len(wired)
            job_servers.append((server.name, hosts, max(1, gpus * len(hosts) // len(wired))))
    return job_servers
