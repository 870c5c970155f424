"""A designed network as engines take it.

::

    network = railweave.load("examples/h100-rlb.yaml")
    plane = ControlPlane(device_config(network, switch.name) for switch in network.switches)
    fabric = packet_fabric(network, plane.configs, plane.routes())
    pairs = fabric.queue_pairs([("H100-01:gpu0_eth", "H100-03:gpu0_eth", qp) for qp in range(4)])
    engine = PacketEngine(**fabric.arguments(pairs), messages=...)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from railweave._sim import NO_GROUP, ROUTE
from railweave.design.limits.devices import tunnel_overhead_bytes
from railweave.errors import InputError, NetworkPart, Problem
from railweave.model.catalog.nvlink_domains import domain_remarks
from railweave.model.device.host import host_config
from railweave.prediction.simulation.model.addresses import Addresses, addresses
from railweave.prediction.simulation.model.balancing import (
    MODES,
    REORDERING,
    Override,
    balancing_notes,
    dlb_parameters,
    override,
)
from railweave.prediction.simulation.model.buffers import switch_parameters
from railweave.prediction.simulation.model.classes import remarks, unbound, unpaused
from railweave.prediction.simulation.model.outages import REPAIR_PS, Change, Timeline, places_down
from railweave.prediction.simulation.model.tables import Forwarding, by_address, joined_prefixes, nic_port
from railweave.prediction.simulation.model.transport import transport
from railweave.prediction.simulation.model.wiring import WIRING_NOTE, Wiring, fabrics, wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.host_model import HostConfig, HostNic
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.prediction.simulation.model.transport import Transport

FAULTS_NOTE = (
    f"faults: links are down for both ends at once; fast reroute takes {REPAIR_PS // 10**6} us (assumed); backup groups "
    "take over with the routes, not before"
)


class Arguments(TypedDict):
    """What engines take beside messages."""

    kinds: NDArray[np.uint8]
    cables: NDArray[np.uint64]
    group: NDArray[np.uint32]
    groups: NDArray[np.uint32]
    members: NDArray[np.uint16]
    queue_pairs: NDArray[np.uint32]
    changes: NDArray[np.uint64]
    dcqcn: str | None
    parameters: dict[str, str]
    profiles: list[dict[str, str]]
    profile: NDArray[np.uint16]
    without_pfc: NDArray[np.uint32]
    without_ecn: NDArray[np.uint32]


class FlowArguments(Arguments):
    """The same with tables by prefix, which ``FlowEngine`` alone takes: ``column`` is that of each address."""

    column: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class PacketFabric:
    """A network's numbers, routes and parameters. ``notes`` says what was assumed, or is not modelled.

    ``balance``, ``repairs``, ``joined``: see ``tables.Forwarding``. ``profiles`` are parameters of switches, ``profile`` the place of each node's among them (hosts have no use for theirs).
    ``remarks`` are those of ``notes`` that every answer shows: what the network has and nobody simulates.
    ``without_pfc``, ``without_ecn``: ports that do not pause, and ports that do not mark.
    """

    wiring: Wiring
    addresses: Addresses
    routes: Routes
    balance: tuple[int, ...]
    repairs: tuple[bool, ...]
    joined: NDArray[np.int64] | None
    parameters: dict[str, str]
    dcqcn: str | None
    profiles: tuple[dict[str, str], ...]
    profile: NDArray[np.uint16]
    without_pfc: NDArray[np.uint32]
    without_ecn: NDArray[np.uint32]
    notes: tuple[str, ...]
    remarks: tuple[str, ...]

    def queue_pairs(self, wanted: Iterable[tuple[str, str, int]]) -> NDArray[np.uint32]:
        """Rows of src, dst, to, back for source and destination NIC (``SERVER:NIC``) and which queue pair of theirs it is.

        Where they are many, ``addresses.pairs`` takes arrays. Raises ``InputError`` for an unknown NIC.
        """
        rows: list[tuple[int, int, int]] = []
        for src, dst, qp in wanted:
            for name in (src, dst):
                if name not in self.wiring.node or self.wiring.node[name] >= len(self.wiring.nics):
                    fix = f"NICs are {', '.join(self.wiring.nics[:4])}, …"
                    raise InputError([Problem(NetworkPart(name), "no NIC of the simulated fabrics", fix)])
            rows.append((self.wiring.node[src], self.wiring.node[dst], qp))
        src, dst, qp = np.array(rows, np.uint32).reshape(-1, 3).T
        return self.addresses.pairs(src, dst, qp)

    def arguments(self, queue_pairs: NDArray[np.uint32], timeline: Timeline | None = None) -> Arguments:
        """What ``PacketEngine`` takes beside messages: tables hold the addresses that these queue pairs use.

        What is down in the routes is down from the beginning.
        """
        return self._arguments(*_used(queue_pairs), timeline or Timeline(), by_prefix=False)

    def flow_arguments(self, queue_pairs: NDArray[np.uint32], timeline: Timeline | None = None) -> FlowArguments:
        """The same for ``FlowEngine``, which needs no column for each address: prefixes are many times fewer."""
        pairs, used = _used(queue_pairs)
        found = self._arguments(pairs, used, timeline or Timeline(), by_prefix=True)
        return FlowArguments(**found, column=self.addresses.prefix[used].astype(np.uint32))

    def _arguments(
        self, pairs: NDArray[np.uint32], used: NDArray[np.int64], timeline: Timeline, *, by_prefix: bool
    ) -> Arguments:
        standing, entries = self._standing
        forwarding = standing.copy()
        ports = nic_port(self.wiring)

        def table(entries: NDArray[np.uint32]) -> NDArray[np.uint32]:
            return entries if by_prefix else by_address(self.wiring, self.addresses, ports, entries, used)

        now = table(entries)
        hosts = len(self.wiring.nics)
        group = now
        changes: list[NDArray[np.uint64]] = [_rows([*self._down(), *timeline.changes])]
        for one in timeline.tables:
            after = table(forwarding.entries(one.routes, one.dead))
            for name in one.routes.down & set(
                self.wiring.switches
            ):  # what is dead keeps its tables: nothing reads them
                after[self.wiring.node[name] - hosts] = now[self.wiring.node[name] - hosts]
            for name in one.silent:
                after[self.wiring.node[name] - hosts] = NO_GROUP
            changes.append(_reroutes(one.at_ps, now, after, hosts))
            now = after
        groups, members = forwarding.groups()
        rows = np.concatenate(changes)
        return Arguments(
            kinds=self.wiring.kinds,
            cables=self.wiring.cables,
            group=group,
            groups=groups,
            members=members,
            queue_pairs=pairs,
            changes=np.ascontiguousarray(rows[np.argsort(rows[:, 0], kind="stable")]),
            dcqcn=self.dcqcn,
            parameters=self.parameters,
            profiles=list(self.profiles),
            profile=self.profile,
            without_pfc=self.without_pfc,
            without_ecn=self.without_ecn,
        )

    @cached_property
    def _standing(self) -> tuple[Forwarding, NDArray[np.uint32]]:
        """The beginning of every run, made once: forwarding by the routes, and its entries."""
        forwarding = Forwarding(self.wiring, self.balance, self.repairs, self.joined)
        entries = forwarding.entries(self.routes)
        entries.flags.writeable = False
        return forwarding, entries

    def _down(self) -> list[Change]:
        known = (
            self.wiring.node.keys() | self.wiring.cable.keys() | {nic.rpartition(":")[0] for nic in self.wiring.nics}
        )
        return [change for name in sorted(self.routes.down & known) for change in places_down(self.wiring, name, 0)]


def packet_fabric(
    network: Network,
    configs: Mapping[str, DeviceConfig],
    routes: Routes,
    lb: str | None = None,
    *,
    tenant: str | None = None,
) -> PacketFabric:
    """The packet engine's view of a network that forwards by ``routes``. ``configs``: the configuration of each switch.

    ``lb``: see ``railweave.prediction.simulation.model.balancing``; ``tenant``: whose NICs send, where there are tenants. Raises ``InputError`` where that is wrong, or the network has no NICs.
    """
    wiring = wire(network)
    if not wiring.nics:
        fix = "servers of the fabric file need NICs on a fabric"
        raise InputError([Problem(NetworkPart(network.name), "there is no NIC to send by", fix)])
    taken = [network.fabric(name) for name in dict.fromkeys(network.switch(one).fabric for one in wiring.switches)]
    wanted = override(lb, colored=any(fabric.colors for fabric in taken))
    here = [configs[name] for name in wiring.switches]
    balance = tuple(_code(config, wanted) for config in here)
    host, nic = _sender(network, wiring, tenant)
    family = network.job_family(nic.fabric, nic.tenant)
    sent = transport(nic, host.qos_of(nic.fabric), reordering=bool(REORDERING & set(balance)), family=family)
    notes = dict.fromkeys((WIRING_NOTE, *sent.notes, FAULTS_NOTE))
    profiles: dict[tuple[tuple[str, str], ...], int] = {}
    profile = np.zeros(len(wiring.kinds), np.uint16)
    simulated = set(fabrics(network))
    for number, config in enumerate(here, len(wiring.nics)):
        cables = [cable for cable in network.cables_of(config.name) if cable.fabric in simulated]
        own, said = switch_parameters(config, cables, host.qos_of(nic.fabric))
        own |= dlb_parameters(config.balancing) | dict(wanted.knobs) | _tunnel(network, config)
        profile[number] = profiles.setdefault(tuple(own.items()), len(profiles))
        notes |= dict.fromkeys((*said, *balancing_notes(config.balancing)))
    notes |= dict.fromkeys(_others(network, wiring, sent))
    models = (server.model for server in network.servers)
    told = (*remarks(here, host.qos_of(nic.fabric).dscp), *domain_remarks(network.catalog, models))
    return PacketFabric(
        wiring=wiring,
        addresses=addresses(network, wiring, {prefix: place for place, prefix in enumerate(routes.prefixes)}),
        routes=routes,
        balance=balance,
        repairs=tuple(config.balancing.fast_reroute for config in here),
        joined=joined_prefixes(network, routes.index) if wanted.joined else None,
        parameters=sent.parameters,
        dcqcn=sent.dcqcn,
        profiles=tuple(dict(one) for one in profiles),
        profile=profile,
        without_pfc=_ports(wiring, {config.name: unpaused(config) for config in here}),
        without_ecn=_ports(wiring, {config.name: unbound(config) for config in here}),
        notes=tuple(dict.fromkeys((*told, *notes))),
        remarks=told,
    )


def _sender(network: Network, wiring: Wiring, tenant: str | None) -> tuple[HostConfig, HostNic]:
    """The NIC whose transport stands for all that send: the first of the tenant's that has an address, else the first at all."""
    nics = [(server.name, nic) for server in network.servers for nic in server.nics]
    nics = [(server, nic) for server, nic in nics if f"{server}:{nic.name}" in wiring.node]
    own = [(server, nic) for server, nic in nics if nic.addresses and tenant in {None, nic.tenant}]
    server, first = (own or nics)[0]
    host = host_config(network, server)
    return host, next(nic for nic in host.nics if nic.name == first.name)


def _ports(wiring: Wiring, links: Mapping[str, Iterable[str]]) -> NDArray[np.uint32]:
    """Ports of switches, in order, by the links that they are on; what no collective takes is left out."""
    found = {wiring.port(link, name) for name, own in links.items() for link in own}
    return np.array(sorted(port for port in found if port is not None), np.uint32)


def _tunnel(network: Network, config: DeviceConfig) -> dict[str, str]:
    """Tunnels of tenants, as switches put packets into them and mark them (EVPN test report, Table 8)."""
    overlay = network.fabric(network.switch(config.name).fabric).overlay
    if overlay is None:
        return {}
    return {"switch.vxlan": "yes", "switch.vxlan-overhead": str(tunnel_overhead_bytes(overlay.vtep))}


def _code(config: DeviceConfig, wanted: Override) -> int:
    return MODES[config.balancing.group_mode] if wanted.code is None else wanted.code


def _others(network: Network, wiring: Wiring, sent: Transport) -> list[str]:
    """Where servers differ: the engine has one transport for all hosts."""
    models = {server.model: server.name for server in network.servers}
    found: list[str] = []
    for name in models.values():
        host = host_config(network, name)
        for nic in host.nics:
            if f"{name}:{nic.name}" in wiring.node:
                reordering, family = "host.reth" in sent.parameters, network.job_family(nic.fabric, nic.tenant)
                own = transport(nic, host.qos_of(nic.fabric), reordering=reordering, family=family)
                if (own.parameters, own.dcqcn) != (sent.parameters, sent.dcqcn):
                    found.append(f"NICs of {host.model} on {nic.fabric}: the transport of the first server is taken")
    return found


def _used(queue_pairs: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Queue pairs with addresses counted among those that are used, and these."""
    used, places = np.unique(queue_pairs[:, 2:], return_inverse=True)
    pairs = queue_pairs.copy()
    pairs[:, 2:] = places.reshape(-1, 2)
    return pairs, used.astype(np.int64)


def _rows(changes: Sequence[Change]) -> NDArray[np.uint64]:
    return np.array(changes, np.uint64).reshape(-1, 5)


def _reroutes(at_ps: int, now: NDArray[np.uint32], after: NDArray[np.uint32], hosts: int) -> NDArray[np.uint64]:
    """A row for every entry that changes."""
    switch, address = np.nonzero(now != after)
    rows = np.zeros((len(switch), 5), np.uint64)
    rows[:, 0], rows[:, 1], rows[:, 2] = at_ps, ROUTE, switch + hosts
    rows[:, 3], rows[:, 4] = address, after[switch, address]
    return rows
