"""The expected routes, gateways and tenant VRFs of a switch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.model.config.addresses import Address, Family, Prefix
from railweave.model.device.expected import ColorPath, Gateway, Route, SharedPrefix, Tenant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.devices import Segment
    from railweave.model.network.model import Network


def example_segments(network: Network, config: DeviceConfig) -> list[Segment]:
    """Return server subnets (segments) of other leaves as candidates for example routes of a switch, the preferred ones first.

    Segments of the switch's plane come first, then segments of its rails. Segments of a tenant are included if the
    switch has the tenant's VRF.
    """
    switch = network.switch(config.name)
    vrfs = {"", *(vrf.name for vrf in config.vrfs)}
    away = [
        segment
        for segment in network.segments
        if segment.fabric == switch.fabric
        and segment.leaf not in {config.name, *network.absent}
        and segment.tenant in vrfs
    ]

    def far(segment: Segment) -> tuple[bool, bool]:
        other_plane = bool(switch.plane) and network.switch(segment.leaf).plane not in {"", switch.plane}
        return other_plane, bool(switch.rails) and segment.rail not in switch.rails

    return sorted(away, key=far)  # sorting is stable


def example_routes(network: Network, config: DeviceConfig, routes: Routes) -> list[Route]:
    """Return example routes of a switch: to the prefixes, one per path color, of the first suitable segment of another leaf.

    A segment holds the prefixes of one rail at a leaf. Segments of the switch's own rails are preferred. In a fabric with one stripe,
    no other leaf has such segments, so a segment of another rail is used.
    """
    for segment in example_segments(network, config):
        examples = list(_routes(network, config, routes, [segment]))
        if any(route.ports for route in examples):
            return examples
    return []


def color_paths(network: Network, config: DeviceConfig, routes: Routes, examples: Sequence[Route]) -> list[ColorPath]:
    """Return the BGP paths to example prefixes that a switch must accept, with the attributes that mark path colors.

    The result is empty without path colors. Prefixes of tenants are left out, because the overlay carries them.
    """
    fabric = network.fabric(network.switch(config.name).fabric)
    if not fabric.colors or config.bgp is None:
        return []
    examples = [route for route in examples if routes.outside_vrfs[routes.index[route.prefix]]]
    paths: list[ColorPath] = []
    for session in (session for group in config.bgp.groups for session in group.sessions):
        if not session.link or routes.down & {session.link, session.peer}:
            continue
        for route in examples:
            attributes = routes.received.attributes((config.name, session.link), routes.index[route.prefix])
            if attributes is not None:
                paths.append(
                    ColorPath(
                        device=config.name,
                        because=route.because,
                        prefix=str(route.prefix),
                        color=route.color,
                        leaf=route.leaf,
                        session=session,
                        communities=frozenset(text.removeprefix("large:") for text in attributes.communities),
                        aigp=attributes.aigp,
                        local_preference=attributes.local_preference,
                    )
                )
    return paths


def underlay_examples(network: Network, config: DeviceConfig, routes: Routes, examples: Sequence[Route]) -> list[Route]:
    """Return example routes that are in the default VRF.

    Without an overlay, these are ``examples``. With an overlay, these are routes to the tunnel endpoints of the examples'
    leaf, because tunnels carry the tenants' traffic.
    """
    if not examples or config.overlay is None:
        return list(examples)
    fabric, ports = (
        network.fabric(network.switch(config.name).fabric),
        {interface.link: interface.name for interface in config.interfaces},
    )
    return [
        replace(
            examples[0],
            prefix=prefix,
            color=fabric.color_name(endpoint.color),
            ports=tuple(ports[link] for link in routes.next_hops(config.name, prefix)),
        )
        for endpoint in network.switch(examples[0].leaf).endpoints
        for prefix in [Address(endpoint.address).prefix]
    ]


MOST_ROUTES = 512
"""The largest number of server prefixes in a fabric for which a switch's complete table is queried and compared.

A table of 512 prefixes with 8 next hops each is 0.3 to 0.7 MB, and is read in 0.2 s on one core (docs/architecture.md).
"""


def whole_tables(network: Network, config: DeviceConfig) -> bool:
    """Return True if the complete tables of a switch are compared by default: its fabric has at most ``MOST_ROUTES`` server prefixes."""
    fabric = network.switch(config.name).fabric
    return sum(len(segment.subnets) for segment in network.segments if segment.fabric == fabric) <= MOST_ROUTES


def every_route(network: Network, config: DeviceConfig, routes: Routes, examples: Sequence[Route]) -> list[Route]:
    """Return the routes of a switch to all prefixes of other switches that this switch can reach.

    The prefixes are subnets of servers, loopbacks and tunnel endpoints. The routes of ``examples`` come first.
    """
    fabric = network.fabric(network.switch(config.name).fabric)
    vrfs = {"", *(vrf.name for vrf in config.vrfs)}
    away = [
        segment
        for segment in network.segments
        if segment.fabric == fabric.name and segment.leaf != config.name and segment.tenant in vrfs
    ]
    routes_by_prefix = {route.prefix: route for route in examples if route.ports}
    routes_by_prefix |= {route.prefix: route for route in _routes(network, config, routes, away) if route.ports}
    ports = {interface.link: interface.name for interface in config.interfaces}
    for switch in network.switches:
        endpoints = {Address(endpoint.address).prefix: endpoint.color for endpoint in switch.endpoints}
        loopbacks = {Address(switch.loopback.partition("/")[0]).prefix: None} if switch.loopback else {}
        if switch.fabric != fabric.name or switch.name == config.name:
            continue
        for prefix, color in {**loopbacks, **endpoints}.items():
            links = routes.next_hops(config.name, prefix)
            if links:
                routes_by_prefix[prefix] = Route(
                    device=config.name,
                    because=("fabrics", fabric.name, "overlay"),
                    prefix=prefix,
                    color="" if color is None else fabric.color_name(color),
                    leaf=switch.name,
                    ports=tuple(ports[link] for link in links),
                )
    return list(routes_by_prefix.values())


def route_counts(config: DeviceConfig, routes: Routes) -> dict[Family, int]:
    """Return the number of prefixes of other devices to which a switch has a route outside all VRFs, by address family."""
    counts: dict[Family, int] = {}
    for place in np.flatnonzero((routes.fibs[config.name].group >= 0) & routes.outside_vrfs).tolist():
        family = Prefix(routes.prefixes[place]).family
        counts[family] = counts.get(family, 0) + 1
    return counts


def _routes(network: Network, config: DeviceConfig, routes: Routes, segments: list[Segment]) -> Iterator[Route]:
    fabric = network.fabric(network.switch(config.name).fabric)
    ports = {interface.link: interface.name for interface in config.interfaces}
    because = ("fabrics", fabric.name, "colors" if fabric.colors else "addressing")
    for segment in segments:
        for subnet in segment.subnets:
            if subnet.routed_by in routes.index:
                yield Route(
                    device=config.name,
                    because=because,
                    prefix=subnet.routed_by,
                    color=fabric.color_name(subnet.color),
                    leaf=segment.leaf,
                    ports=tuple(ports[link] for link in routes.next_hops(config.name, subnet.routed_by)),
                )


def gateways(network: Network, config: DeviceConfig) -> list[Gateway]:
    """Return the expected gateways of a switch, which are the default routers of its servers."""
    because = ("fabrics", network.switch(config.name).fabric)
    return [
        Gateway(
            device=config.name,
            because=(*because, "router_advertisements" if gateway.advertisements else "addressing"),
            name=gateway.name,
            addresses=gateway.addresses,
            prefixes=gateway.prefixes,
            advertisements=gateway.advertisements,
            vrf=gateway.vrf,
        )
        for gateway in config.gateways
    ]


def tenants(network: Network, config: DeviceConfig, routes: Routes) -> list[Tenant]:
    """Return each VRF of a switch with its own prefixes and the prefixes that it must learn from other leaves."""
    because = ("fabrics", network.switch(config.name).fabric, "tenants")
    expected: list[Tenant] = []
    for vrf in config.vrfs:
        own_prefixes = vrf.own_prefixes()
        away = [
            Prefix(prefix)
            for prefix in routes.of_vrf(config.name, vrf.name)
            if routes.shared.leaves(config.name, vrf.name, prefix) != (config.name,)
        ]
        expected.append(
            Tenant(
                device=config.name,
                because=(*because, vrf.name),
                vrf=vrf.name,
                vni=vrf.vni,
                route_distinguisher=vrf.route_distinguisher,
                import_targets=vrf.import_targets,
                export_targets=vrf.export_targets,
                own_prefixes=own_prefixes,
                learned=tuple(prefix for prefix in away if prefix not in own_prefixes),
            )
        )
    return expected


def shared_prefixes(network: Network, config: DeviceConfig, routes: Routes) -> list[SharedPrefix]:
    """Return the prefixes in a switch's VRFs that several leaves can originate.

    Each has the leaves through which the switch reaches the prefix. Prefixes of the switch's own gateways are left out.
    """
    because = ("fabrics", network.switch(config.name).fabric, "tenants")
    subnets = {prefix for gateway in config.gateways for prefix in gateway.prefixes}
    return [
        SharedPrefix(
            device=config.name,
            because=(*because, vrf.name),
            vrf=vrf.name,
            prefix=Prefix(prefix),
            leaves=routes.shared.leaves(config.name, vrf.name, prefix),
        )
        for vrf in config.vrfs
        for prefix in sorted(routes.shared.exits.get((config.name, vrf.name), {}))
        if prefix not in subnets
    ]


def bridged(config: DeviceConfig, routes: Routes) -> dict[int, tuple[str, ...]]:
    """Return the leaves of each layer-2 network of a switch, by VNI. The leaves include the switch itself."""
    vlans = config.mac_vrf.vlans if config.mac_vrf else ()
    return {vlan.vni: routes.shared.bridged.get((config.name, vlan.vni), ()) for vlan in vlans}
