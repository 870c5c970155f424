"""The EVPN overlay of one switch: its sessions, its tunnel endpoints, and its tenants' VRFs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.device.model import (
    BridgedVlan,
    ExternalPeer,
    Interface,
    MacVrf,
    NumberedSession,
    OverlayConfig,
    TunnelEndpoint,
    Vrf,
)
from railweave.model.device.port_model import with_parts
from railweave.model.device.reading import own_type
from railweave.model.device.timers import Bfd
from railweave.model.network.overlay import EDGE, EdgePort, ExternalLink, ExternalRouter, Tenant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.catalog.systems import System
    from railweave.model.device.model import Community, DeviceConfig, Gateway
    from railweave.model.network.devices import Fabric, Switch
    from railweave.model.network.model import Network


MOST_STANDARD_AS = 65535
PRIVATE_AS = 64512
"""A private AS number (RFC 6996) to use in communities instead of an AS number above 16 bits. These communities stay in the fabric."""


def all_large(fabric: Fabric) -> bool:
    """Return True if every switch of a fabric supports large BGP communities (RFC 8092)."""
    roles = (fabric.leaf, fabric.spine, *filter(None, (fabric.super_spine, fabric.dci)))
    return all(catalog().systems[role.nos].large_communities for role in roles)


def in_form(communities: Iterable[Community], *, large: bool) -> tuple[Community, ...]:
    """Return the communities in the form that the switches support.

    If ``large`` is False, large communities are converted to standard communities (RFC 1997).
    """
    if large:
        return tuple(communities)
    return tuple(
        replace(community, kind="standard", value=standard(community.value)) if community.kind == "large" else community
        for community in communities
    )


def standard(value: str) -> str:
    """Return railweave's large community ``A:B:C`` as the 32-bit community ``A:(1000*B+C)``.

    If ``A`` needs more than 16 bits, it is replaced by a private AS number.
    """
    administrator, kind, number = (int(part) for part in value.split(":"))
    return f"{administrator if administrator <= MOST_STANDARD_AS else PRIVATE_AS}:{1000 * kind + number}"


MAC_VRF = "evpn-1"
MAC_VRF_NUMBER = 65534
"""The number in the route distinguisher of the bridging instance ``MAC_VRF``, as in Juniper's validated configurations."""


def overlay_config(network: Network, fabric: Fabric, switch: Switch, *, large: bool = True) -> OverlayConfig | None:
    """Return the overlay of a switch, with loopback sessions to all neighboring switches. Return None if the fabric has no overlay.

    ``large`` is True if every switch of the fabric supports large communities.
    """
    if fabric.overlay is None:
        return None
    near: dict[str, str] = {}
    for cable in network.cables_of(switch.name):
        if cable.kind == "fabric":
            far = cable.b.device if cable.a.device == switch.name else cable.a.device
            near.setdefault(far, cable.name)
    bfd = own_type(Bfd, fabric.overlay.bfd)
    loopback = Address(switch.loopback)
    from_spine = f"{fabric.spine_asns[0]}:0:2"
    return OverlayConfig(
        loopback=loopback,
        neighbors=tuple(
            NumberedSession(
                interface="",
                link="",
                peer=name,
                peer_as=network.switch(name).asn,
                local_address=loopback,
                peer_address=Address(network.switch(name).loopback),
            )
            for name in near
        ),
        endpoints=tuple(
            TunnelEndpoint(
                Address(endpoint.address), None if endpoint.color is None else fabric.color_name(endpoint.color)
            )
            for endpoint in switch.endpoints
        ),
        reflects=switch.role != "leaf",
        from_spine=from_spine if large else standard(from_spine),
        bfd=bfd if bfd.enabled else None,
        tunnel_dscp=bool(switch.endpoints) and "tunnel-dscp" in catalog().switches[switch.model].needs,
    )


def vrfs(
    fabric: Fabric, switch: Switch, gateways: Sequence[Gateway], interfaces: Sequence[Interface]
) -> tuple[Vrf, ...]:
    """Return a VRF for every tenant with a gateway or an external router on the switch."""
    instances: list[Vrf] = []
    targets = {tenant.name: tenant.route_target for tenant in fabric.tenants}
    for tenant in fabric.tenants:
        tenant_gateways = [gateway for gateway in gateways if gateway.vrf == tenant.name]
        external = _peers(tenant, switch, interfaces)
        part = tenant.on(switch.name)
        if tenant_gateways or external:
            instances.append(
                Vrf(
                    name=tenant.name,
                    vni=tenant.vni,
                    route_distinguisher=part.route_distinguisher or f"{switch.router_id}:{tenant.slot}",
                    import_targets=(tenant.route_target, *(targets[leak] for leak in tenant.leaks)),
                    export_targets=(tenant.route_target,),
                    prefixes=tuple(prefix for gateway in tenant_gateways for prefix in gateway.prefixes),
                    external=external,
                    loopbacks=tuple(Address(loopback).prefix for loopback in part.loopbacks),
                    unit=tenant.slot if part.loopbacks else None,
                )
            )
    return tuple(instances)


def _peers(tenant: Tenant, switch: Switch, interfaces: Sequence[Interface]) -> tuple[ExternalPeer, ...]:
    peers: list[ExternalPeer] = []
    for router in tenant.external:
        for link in router.links:
            if link.leaf == switch.name:
                port = next(interface for interface in interfaces if interface.link == _link_name(switch, router, link))
                unit = f"{port.name}.{link.vlan or 0}"
                addresses = Address(link.address), Address(link.peer_address)
                session = NumberedSession(unit, port.link, router.name, router.asn, *addresses)
                prefixes = (tuple(map(Prefix, listed)) for listed in (router.accept, router.advertise))
                peers.append(ExternalPeer(router.name, session, *prefixes))
    return tuple(peers)


def _link_name(switch: Switch, router: ExternalRouter, link: ExternalLink) -> str:
    return f"{switch.name}:{link.port}--{router.name}"


def _width(model: SwitchModel, link: ExternalLink | EdgePort) -> int:
    """Return the number of electrical lanes that a link uses: those of the whole port, or of one channel if the port is split."""
    group = model.group_of(link.physical)
    modes = (
        [mode for mode in group.modes() if mode.speed_gbps == link.speed_gbps and mode.channels > 1] if group else []
    )
    lanes = group.lanes if group else 8
    return lanes // modes[0].channels if modes and link.channel is not None else lanes


def _external_name(system: System, model: SwitchModel, link: ExternalLink | EdgePort) -> str:
    group = model.group_of(link.physical)
    lane = (link.channel or 0) * _width(model, link) + 1
    return system.name_of(link.physical, link.channel, lane, group.lanes if group else 8, model.cards)


def external_ports(fabric: Fabric, switch: Switch, system: System, model: SwitchModel) -> tuple[Interface, ...]:
    """Return the ports from a leaf to external routers.

    If tenants share a port, each tenant has its own VLAN tag on the port.
    """
    ports = with_parts(
        Interface(
            name=_external_name(system, model, link),
            link=_link_name(switch, router, link),
            kind="external",
            description=f"{router.name}, tenant {tenant.name}",
            peer=router.name,
            peer_port="",
            speed_gbps=link.speed_gbps,
            lanes=_width(model, link),
            mtu=fabric.mtu.fabric,
            length_m=0,
            pauses=False,  # nobody beyond the fabric pauses, so no headroom is spent on it
            addresses=(InterfaceAddress(f"{link.address}/{link.prefix_length}"),),
            vrf=tenant.name,
            unit_vlan=link.vlan,
        )
        for tenant in fabric.tenants
        for router in tenant.external
        for link in router.links
        if link.leaf == switch.name
    )
    return tuple(
        replace(port, description=f"{port.peer}, tenants {', '.join(part.vrf for part in port.parts())}")
        if port.more
        else port
        for port in ports
    )


def edge_interfaces(
    fabric: Fabric, switch: Switch, system: System, model: SwitchModel, *, pauses: bool
) -> tuple[Interface, ...]:
    """Return the edge ports of a leaf: ports to devices that are not servers of the fabric file, configured like server ports.

    ``pauses`` is True if PFC is on.
    """
    return tuple(
        Interface(
            name=_external_name(system, model, edge_port),
            link=edge_port.link,
            kind="server",
            description=f"{edge_port.name} {EDGE}",
            peer=edge_port.name,
            peer_port=EDGE,
            speed_gbps=edge_port.speed_gbps,
            lanes=_width(model, edge_port),
            mtu=fabric.mtu.server_port,
            length_m=edge_port.length_m,
            pauses=pauses,
        )
        for edge_port in fabric.edge_ports
        if edge_port.leaf == switch.name
    )


def mac_vrf(fabric: Fabric, switch: Switch, system: System, interfaces: Sequence[Interface]) -> MacVrf | None:
    """Return the bridging instance of a leaf for the layer-2 networks of all tenants.

    Return None if no port of the leaf belongs to such a network. One instance holds all networks, distinguished by VNI and
    route target, as in Juniper's validated configurations.
    """
    here = {interface.vlan for interface in interfaces if interface.kind == "server"}
    networks = [network for tenant in fabric.tenants for network in tenant.networks]
    local_networks = {
        name: network for network in networks if (name := system.vlan_called(network.vlan_name, network.vlan)) in here
    }
    if not local_networks:
        return None
    return MacVrf(
        name=MAC_VRF,
        route_distinguisher=f"{switch.router_id}:{MAC_VRF_NUMBER}",
        route_target="target:100:100",
        vlans=tuple(
            BridgedVlan(local_network.vlan, name, local_network.vni, local_network.route_target)
            for name, local_network in local_networks.items()
        ),
        ports=tuple(interface.name for interface in interfaces if interface.vlan in local_networks),
    )


def forwards_leaks(config: DeviceConfig) -> bool:
    """Return True if a device can forward along routes that a VRF imports from another VRF (route leaking).

    FRR, and systems that run FRR, cannot: they install a route in the kernel only if the route's VNI is the VNI of the importing VRF. They
    also import no routes from VRFs on the same device.
    """
    return catalog().systems[config.nos].has("leaks")


def underlay_prefixes(fabric: Fabric, switch: Switch) -> dict[int | None, tuple[Prefix, ...]]:
    """Return the prefixes that a switch originates for the overlay: its loopback and its tunnel endpoints.

    The keys are numbers of path colors; None holds prefixes without a color.
    """
    if fabric.overlay is None:
        return {}
    loopback = Address(switch.loopback)
    ends = [(endpoint.color, Address(endpoint.address)) for endpoint in switch.endpoints if endpoint.color is not None]
    by_color = {color: (address.prefix,) for color, address in ends if address.family == loopback.family}
    return {None: (loopback.prefix,), **by_color}
