"""The expected state of one switch: its ports, queues, sessions, adjacencies and routes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.analysis.expect import prefixes
from railweave.analysis.expect.prefixes import gateways, tenants
from railweave.model.device.expected import (
    PAM4_GBPS,
    Adjacency,
    Clock,
    ExpectedRouting,
    Identity,
    OverlaySession,
    Port,
    Queues,
    Session,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from railweave.analysis.routing.table import Routes
    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.device.expected import ColorPath, Gateway, Route, Tenant
    from railweave.model.device.model import DeviceConfig, Interface
    from railweave.model.network.model import Network


def sessions(network: Network, config: DeviceConfig, routes: Routes) -> list[Session]:
    """Return the expected BGP sessions of a switch on its links, group by group."""
    bgp = config.bgp
    if bgp is None:
        return []

    def accepted(link: str) -> int:
        """Return the number of prefixes of other devices that the switch accepts on a link."""
        try:
            mask = routes.received.accepted((config.name, link))
        except KeyError:
            return 0
        return routes.counted(config.name, mask)[0]

    def received(device: str, link: str) -> tuple[int, int]:
        """Return the numbers of prefixes that a device receives on a link: (prefixes of other devices, the device's own prefixes)."""
        mask = routes.received.get((device, link))
        return (0, 0) if mask is None else routes.counted(device, mask)

    fabric = network.fabric(network.switch(config.name).fabric)
    used, shared = _in_use(config.name, routes)
    return [
        Session(
            device=config.name,
            because=("fabrics", fabric.name, "underlay"),
            group=group,
            session=session,
            received=received(config.name, session.link)[0],
            accepted=accepted(session.link),
            sent=sent,
            echoed=echoed,
            used=used[session.link],
            shared=session.link in shared,
            color="" if (color := network.cable(session.link).color) is None else fabric.color_name(color),
            bfd=bgp.bfd,
        )
        for group in bgp.groups
        for session in group.sessions
        if session.link and not routes.down & {session.link, session.peer}  # none: its cable has left the design
        for sent, echoed in [received(session.peer, session.link)]
    ]


def _in_use(device: str, routes: Routes) -> tuple[Counter[str], set[str]]:
    """Return (number of received prefixes in use on each link, the links that share such a prefix with other links) of a device.

    A prefix is in use on a link if the link is one of its next hops. Tenant prefixes do not count, because tunnels carry them.
    """
    numbers, places = np.unique(routes.fibs[device].group, return_inverse=True)
    groups: list[int] = numbers.tolist()
    used: Counter[str] = Counter()
    shared: set[str] = set()
    counted: dict[int, list[tuple[int, int]]] = {}
    for link in {link for group in groups if group >= 0 for link in routes.groups[group]}:
        mask = routes.received.get((device, link))
        if mask is None:  # IS-IS brings it, and sessions nothing
            continue
        if id(mask) not in counted:  # many sessions carry the same, as one mask
            counts: list[int] = np.bincount(places[mask], minlength=len(groups)).tolist()
            pairs = zip(groups, counts, strict=True)
            counted[id(mask)] = [(group, count) for group, count in pairs if group >= 0 and count]
        for group, count in counted[id(mask)]:
            if link in routes.groups[group]:
                used[link] += count
                shared.update([link] if len(routes.groups[group]) > 1 else [])
    return used, shared


def overlay_sessions(network: Network, config: DeviceConfig, routes: Routes) -> list[OverlaySession]:
    """Return the expected EVPN sessions of a switch."""
    overlay = config.overlay
    because = ("fabrics", network.switch(config.name).fabric, "overlay")
    return [
        OverlaySession(device=config.name, because=because, session=neighbor, bfd=overlay.bfd)
        for neighbor in (overlay.neighbors if overlay else ())
        if overlay and neighbor.peer and neighbor.peer not in routes.down
    ]


def adjacencies(network: Network, config: DeviceConfig, routes: Routes) -> list[Adjacency]:
    """Return the expected IS-IS adjacencies of a switch."""
    isis = config.isis
    because = ("fabrics", network.switch(config.name).fabric, "underlay", "isis")
    return [
        Adjacency(
            device=config.name,
            because=because,
            interface=port.interface,
            link=port.link,
            peer=port.peer,
            metric=port.metric,
            bfd=isis.bfd,
        )
        for port in (isis.ports if isis else ())
        if isis and not routes.down & {port.link, port.peer}
    ]


def present_ports(config: DeviceConfig, down: Collection[str]) -> list[Interface]:
    """Return the ports of a switch for which neither the cable nor the far end is in ``down``.

    A switch may still have ports for cables that are no longer in the design. Such ports are left out.
    """
    of_design = [interface for interface in config.interfaces if interface.link or interface.kind == "external"]
    return [interface for interface in of_design if interface.link not in down and interface.peer not in down]


def ports(network: Network, config: DeviceConfig, down: Collection[str]) -> list[Port]:
    """Return the ports that must be up: all except those whose cable or far end is in ``down``.

    Edge ports and ports to external routers have no cable in the design, and therefore no optic.
    """
    fabric = network.switch(config.name).fabric
    routed = {gateway.port: gateway.mtu for gateway in config.gateways if gateway.port}
    edges = {edge_port.link for edge_port in network.fabric(fabric).edge_ports}
    expected_ports: list[Port] = []
    for interface in present_ports(config, down):
        optic = ""
        kind = "external" if interface.link in edges else interface.kind
        if kind != "external":
            cable = network.cable(interface.link)
            optic = (cable.a if cable.a.device == config.name else cable.b).optic
        expected_ports.append(
            Port(
                device=config.name,
                because=("fabrics", fabric, "edge_ports") if interface.link in edges else _asked(fabric, interface),
                name=interface.name,
                link=interface.link,
                kind=kind,
                peer=interface.peer,
                peer_port=interface.peer_port,
                speed_gbps=interface.speed_gbps,
                lanes=interface.lanes,
                mtu=interface.mtu,
                ip_mtu=routed.get(interface.name),
                switched=bool(interface.vlan),
                optic=optic,
                fec="rs544" if interface.speed_gbps in PAM4_GBPS else None,
            )
        )
    return expected_ports


def _asked(fabric: str, port: Interface) -> tuple[str, ...]:
    """Return the key path in the fabric file that requires a port: servers, tenants or topology."""
    if port.kind == "server":
        return ("servers",)
    return ("fabrics", fabric, "tenants" if port.kind == "external" else "topology")


def queues(network: Network, config: DeviceConfig, down: Collection[str]) -> list[Queues]:
    """Return the expected queues of every port with QoS, except ports whose cable or far end is in ``down``."""
    qos = config.qos
    if qos is None:
        return []
    lossless = {
        traffic_class.queue: traffic_class.pfc_priority
        for traffic_class in qos.classes.values()
        if traffic_class.lossless and traffic_class.pfc_priority is not None
    }
    marked = {
        traffic_class.queue: traffic_class.ecn
        for traffic_class in qos.classes.values()
        if traffic_class.ecn is not None
    }
    because = ("fabrics", network.switch(config.name).fabric, "qos")
    bound = set(qos.ports)
    return [
        Queues(
            device=config.name,
            because=because,
            port=interface.name,
            lossless=lossless if interface.pauses else {},
            marked=marked,
            buffers=qos.buffers,
            watchdog=qos.watchdog if interface.pauses else None,
        )
        for interface in present_ports(config, down)
        if interface.name in bound
    ]


def expected_routing(network: Network, config: DeviceConfig, routes: Routes) -> ExpectedRouting:
    """Return the sessions, routes and tenants that a switch must have if everything outside ``routes.down`` works."""
    examples = prefixes.example_routes(network, config, routes)
    return ExpectedRouting(
        tuple(sessions(network, config, routes)),
        tuple(examples),
        tuple(prefixes.underlay_examples(network, config, routes, examples)),
        tuple(tenants(network, config, routes)),
        tuple(prefixes.shared_prefixes(network, config, routes)),
        prefixes.bridged(config, routes),
    )


@dataclass(frozen=True, slots=True)
class Expected:
    """The state that must hold on a switch. The fields are ordered so that causes come before consequences."""

    device: str
    identity: Identity
    clock: Clock | None
    ports: list[Port]
    sessions: list[Session]
    overlay_sessions: list[OverlaySession]
    adjacencies: list[Adjacency]
    routes: list[Route]
    gateways: list[Gateway]
    tenants: list[Tenant]
    queues: list[Queues]
    color_paths: list[ColorPath]
    tables: tuple[tuple[str, Family], ...] = ()
    """The complete routing tables to compare, as (VRF, address family). The VRF is "" for the default table."""
    route_counts: dict[Family, int] | None = None
    """The number of routes outside VRFs by address family.

    The value is None if complete tables are compared, which makes the numbers redundant.
    """

    @property
    def cabled(self) -> list[Port]:
        """The ports whose cable is in the design. LLDP must show the designed neighbor on these ports."""
        return [port for port in self.ports if port.kind != "external"]

    @property
    def vrfs(self) -> dict[Prefix, str]:
        """The VRF that holds each tenant prefix on the switch, by prefix."""
        return {prefix: tenant.vrf for tenant in self.tenants for prefix in (*tenant.own_prefixes, *tenant.learned)}


def expected(network: Network, config: DeviceConfig, routes: Routes, *, all_routes: bool | None = None) -> Expected:
    """Return the state that must hold on a switch if everything outside ``routes.down`` works.

    With ``all_routes`` True, the state has the routes to all other switches. With False, it has only example routes, to one
    leaf. With None, the number of prefixes decides (``prefixes.whole_tables``). Raises ``KeyError`` if the switch is
    not in the network.
    """
    whole = prefixes.whole_tables(network, config) if all_routes is None else all_routes
    switch = network.switch(config.name)
    examples = prefixes.example_routes(network, config, routes)
    servers = config.management.ntp
    return Expected(
        config.name,
        Identity(
            device=config.name,
            because=("fabrics", switch.fabric, switch.role.replace("-", "_")),
            model=switch.model,
            nos=switch.nos,
            release=switch.release,
            serial=switch.serial,
        ),
        Clock(device=config.name, because=("management", "ntp"), servers=tuple(servers)) if servers else None,
        ports(network, config, routes.down),
        sessions(network, config, routes),
        overlay_sessions(network, config, routes),
        adjacencies(network, config, routes),
        prefixes.every_route(network, config, routes, examples) if whole else examples,
        gateways(network, config),
        tenants(network, config, routes),
        queues(network, config, routes.down),
        prefixes.color_paths(network, config, routes, examples),
        tuple(config.routed()) if whole else (),
        None if whole else prefixes.route_counts(config, routes),
    )
