"""Construction of one switch's ``DeviceConfig`` from the ``Network``, without the features that the switch platform lacks."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog, in_force
from railweave.model.catalog.hardware import Platform, PortGroup
from railweave.model.config.addresses import Address, Family, InterfaceAddress, Prefix
from railweave.model.device.balancing import BalancingConfig, Dlb, Hash
from railweave.model.device.bgp import bgp_config, ends_of, maximum_ecmp, routed_families, server_families
from railweave.model.device.management import Management
from railweave.model.device.model import DeviceConfig, Gateway, Interface, Isis, IsisPort, Macsec, QosConfig, Split
from railweave.model.device.overlay import all_large, edge_interfaces, external_ports, mac_vrf, overlay_config, vrfs
from railweave.model.device.policy import drained, path_color_form
from railweave.model.device.port_model import described
from railweave.model.device.protection import control_plane
from railweave.model.device.qos import qos_config
from railweave.model.device.reading import own_type
from railweave.model.device.timers import Bfd, RouterAdvertisements

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from railweave.model.catalog.systems import System
    from railweave.model.network.devices import Cable, End, Fabric, PortQos, Segment, Switch
    from railweave.model.network.model import Network


def system_id(router_id: str) -> str:
    """Return the IS-IS system ID that encodes the digits of a router ID: 10.255.0.1 becomes 0102.5500.0001."""
    digits = "".join(f"{octet:03d}" for octet in ipaddress.IPv4Address(router_id).packed)
    return ".".join(digits[place : place + 4] for place in (0, 4, 8))


def isis_config(
    fabric: Fabric,
    switch: Switch,
    interfaces: Sequence[Interface],
    gateways: Sequence[Gateway],
    families: tuple[Family, ...],
    maximum_ecmp: int,
) -> Isis:
    """Return the IS-IS configuration of a switch whose fabric runs IS-IS. ``families`` are the address families that the switch routes.

    IS-IS runs on the ports to switches. The prefixes of ``gateways`` outside VRFs are advertised. ``maximum_ecmp`` is the
    largest number of equal paths.
    """
    underlay = fabric.underlay
    wanted = underlay.isis
    return Isis(
        net=f"{wanted.area}.{system_id(switch.router_id)}.00",
        router_id=Address(switch.router_id),
        ports=tuple(
            IsisPort(interface.name, interface.link, interface.peer, wanted.metric)
            for interface in interfaces
            if interface.kind == "fabric"
        ),
        passive=tuple(gateway.port or gateway.name for gateway in gateways if not gateway.vrf),
        families=families,
        maximum_ecmp=maximum_ecmp,
        key=wanted.key,
        bfd=own_type(Bfd, underlay.bfd) if underlay.bfd.enabled else None,
    )


def lowered_qos(qos: QosConfig, lacks: Collection[str]) -> tuple[QosConfig, list[str]]:
    """Return (QoS configuration without the features that the platform lacks, texts that name the features left out).

    ``lacks`` holds the platform's missing features as words such as ``pfc-watchdog``.
    """
    out: list[str] = []
    if "shared-buffer" in lacks:
        out.append("shared-buffer partitions and dedicated buffers")
        out += ["thresholds of queues"] if any(c.dynamic_threshold is not None for c in qos.classes.values()) else []
        out += ["record of peak buffer occupancy"] if qos.buffer_monitor else []
        plain = {name: replace(qos_class, dynamic_threshold=None) for name, qos_class in qos.classes.items()}
        qos = replace(qos, classes=plain, shared_buffer=False, buffer_monitor=False)
    if "pfc-watchdog" in lacks and qos.watchdog is not None and qos.profiles:
        out.append("PFC watchdog")
    if "pfc-watchdog" in lacks:
        qos = replace(qos, watchdog=None)
    if "dscp-ipv6" in lacks:
        qos = replace(qos, ipv6_classifiers=False)
    if "pfc-headroom" in lacks and qos.profiles:
        out.append("PFC headroom by cable length and MRU (PFC accounts pause by time instead)")
    if "pfc-xon" in lacks and qos.xon_offset_cells is not None:
        out.append("XON offset")
        qos = replace(qos, xon_offset_cells=None)
    return qos, out


def lowered_balancing(
    balancing: BalancingConfig, platform: Platform, entering: Sequence[str]
) -> tuple[BalancingConfig, list[str]]:
    """Return (load balancing that the platform supports, texts that name the features left out).

    ``entering`` holds the names of the ports where traffic enters the fabric. If the design sprays only some RDMA opcodes
    and the platform cannot match packet contents, nothing is sprayed.
    """
    lacks = platform.lacks
    if balancing.group_mode == "spray" and "random-spray" in platform.has:
        opcodes = balancing.spray_opcodes
        if opcodes and "payload-filter" not in platform.has:
            return replace(balancing, group_mode="ecmp"), ["match on RDMA opcodes (nothing is sprayed)"]
        return replace(balancing, random=True, opcodes=opcodes, filtered_ports=tuple(entering) if opcodes else ()), []
    if "dlb" not in lacks or not balancing.group_mode.startswith("dlb"):
        return balancing, []
    return replace(balancing, group_mode="ecmp", selective=(), global_role=""), [
        f"{balancing.group_mode} (next-hop groups share by static hash)"
    ]


def device_config(network: Network, name: str, nos: str | None = None) -> DeviceConfig:
    """Return the configuration of the switch ``name``. With ``nos``, return it as if every switch ran that operating system.

    If any switch of the fabric runs FRR, the policies announce path colors in a form that all switches of the fabric can read, because the
    lab runs FRR's configuration unchanged. Raises ``KeyError`` if there is no such switch.
    """
    with in_force(network.catalog):
        return _device_config(network, network.switch(name), nos)


def _management(network: Network, system: System) -> Management:
    """Return the management plane without services that the system does not support."""
    management = own_type(Management, network.management)
    if not network.management.services.eapi or "eapi" not in system.capabilities:
        return management  # eAPI is off in it: the fabric file has no such field
    return replace(management, services=replace(management.services, eapi=True))


def _device_config(network: Network, switch: Switch, nos: str | None) -> DeviceConfig:
    name, fabric = switch.name, network.fabric(switch.fabric)
    target = nos or switch.nos
    system = catalog().systems[target]
    release = switch.release if target == switch.nos else catalog().release_of(target, switch.model)
    model = catalog().switches[switch.model]
    platform = model.platform if target == switch.nos else Platform()
    role = fabric.role(switch.role)
    ends = [ends_of(cable, name) for cable in network.cables_of(name)]
    lanes_of = {place: group.lanes for group in model.ports for place in range(group.first, group.last + 1)}
    names = [
        _port_name(target, end.physical or 0, end.channel, end.lanes, lanes_of.get(end.physical or 0, 8), model.cards)
        for end, _, _ in ends
    ]
    pfc = fabric.intent(switch).qos.pfc
    pauses = {link_kind: pfc.pauses(link_kind) for link_kind in ("server", "fabric")}
    some = any(pauses[cable.kind] for _, _, cable in ends)  # where none does, the switch has no lossless class
    of_segments = not fabric.own_links or bool(fabric.tenants) or bool(fabric.other_link)
    usual = {kind: here or not some for kind, here in pauses.items()}
    except_for = {override.port: override for override in switch.port_qos}
    optics = catalog().optics
    copper = {optic for optic in {end.optic for end, _, _ in ends} if optic in optics and optics[optic].copper}
    cabled = tuple(
        _interface(
            network,
            fabric,
            system,
            port_name,
            both,
            of_segments=of_segments,
            pauses=_pauses(except_for.get(both[0].port), usual=usual[both[2].kind])
            if except_for
            else usual[both[2].kind],
            copper=both[0].optic in copper,
        )
        for port_name, both in zip(names, ends, strict=True)
    )
    interfaces = (*cabled, *external_ports(fabric, switch, system, model))
    if fabric.edge_ports:
        edges = edge_interfaces(fabric, switch, system, model, pauses=pauses["server"] or not some)
        edges = tuple(
            replace(port, pauses=_pauses(except_for.get(edge.port), usual=port.pauses))
            for port, edge in zip(edges, (e for e in fabric.edge_ports if e.leaf == name), strict=True)
        )
        interfaces = _in_order(edges, fabric, interfaces, ends)
    gateways = tuple(
        _gateway(system, fabric, segment, interfaces) for segment in network.segments_of(name) if segment.subnets
    )
    interfaces = _shut(interfaces, gateways)
    unbound = _unbound(switch, interfaces)
    systems = network.systems_of(fabric.name)
    as_built = nos is None or any(catalog().systems[system_name].frr_conf for system_name, _ in systems)
    form = path_color_form(fabric, systems if as_built else [(target, release)])
    large = all_large(fabric) if as_built else system.large_communities
    bound = [interface for interface in interfaces if interface.name not in unbound] if unbound else interfaces
    qos = qos_config(fabric, switch, bound, system, release)
    balancing = _balancing(network, fabric, switch, system, release)
    without: list[str] = []
    if qos is not None:
        qos, without = lowered_qos(qos, platform.lacks)
    entering: list[str] = []
    if balancing.group_mode == "spray":
        entering = [
            interface.name
            for interface in interfaces
            if (not interface.between_sites if switch.role == "dci" else interface.kind == "server")
        ]
    balancing, more = lowered_balancing(balancing, platform, entering)
    config = DeviceConfig(
        name=name,
        role=switch.role,
        model=switch.model,
        nos=target,
        release=release,
        management=_management(network, system),
        management_address=InterfaceAddress(switch.management_address),
        management_gateway=Address(switch.management_gateway),
        loopback=Address(switch.router_id).prefix,
        splits=_splits(target, model.ports, model.cards, _used_ports(fabric, switch, ends)),
        interfaces=interfaces,
        gateways=gateways,
        bgp=bgp_config(network, fabric, switch, system, form, list(zip(cabled, ends, strict=True)), large=large)
        if fabric.underlay.protocol == "bgp"
        else None,
        qos=qos,
        balancing=balancing,
        extra={**role.extra, **dict(switch.extra)}.get(target, ""),
        overlay=overlay_config(network, fabric, switch, large=large),
        vrfs=vrfs(fabric, switch, gateways, interfaces),
        mac_vrf=mac_vrf(fabric, switch, system, interfaces),
        left_out=(*without, *more),
        isis=isis_config(
            fabric,
            switch,
            interfaces,
            gateways,
            routed_families(network, switch),
            maximum_ecmp(fabric, system, sum(interface.kind == "fabric" for interface in interfaces)),
        )
        if fabric.underlay.protocol == "isis"
        else None,
    )
    return _protected(network, drained(network, fabric, config, form, by_port=system.frr_conf, large=large), system)


def _unbound(switch: Switch, interfaces: Sequence[Interface]) -> set[str]:
    """Return the system's names of the ports that the fabric file excludes from all QoS settings."""
    ports = {f"{switch.name}:{port_qos.port}" for port_qos in switch.port_qos if not port_qos.bound}
    return (
        {interface.name for interface in interfaces if not ports.isdisjoint(interface.link.split("--"))}
        if ports
        else set()
    )


def _pauses(port_qos: PortQos | None, *, usual: bool) -> bool:
    """Return True if PFC is on for a port. ``port_qos`` is the port's exception in the fabric file, or None.

    Without an exception, the result is ``usual``. A port that is excluded from QoS has no PFC.
    """
    if port_qos is None or (port_qos.bound and port_qos.pauses is None):
        return usual
    return port_qos.bound and bool(port_qos.pauses)


def _in_order(
    edges: Sequence[Interface],
    fabric: Fabric,
    interfaces: Sequence[Interface],
    ends: Sequence[tuple[End, End, Cable]],
) -> tuple[Interface, ...]:
    """Return all ports in the order of the configuration, including edge ports.

    Server ports and edge ports come first, sorted by physical port and channel. All other ports keep the order of
    ``interfaces``. ``edges`` holds the edge ports, and ``ends`` holds (local end, far end, cable) for each cable.
    """
    places = {cable.name: (end.physical or 0, end.channel or 0) for end, _, cable in ends}
    places |= {edge_port.link: (edge_port.physical, edge_port.channel or 0) for edge_port in fabric.edge_ports}
    servers = [*edges, *(interface for interface in interfaces if interface.kind == "server")]
    return (
        *sorted(servers, key=lambda port: places[port.link]),
        *(interface for interface in interfaces if interface.kind != "server"),
    )


def _protected(network: Network, config: DeviceConfig, system: System) -> DeviceConfig:
    """Return the configuration with control-plane protection (rules for traffic to the switch itself), if the fabric file enables it."""
    security = network.management.security
    if security is None or security.control_plane is None:
        return config
    prefixes = security.control_plane.management_prefixes or (network.management.pool,)
    rules = control_plane(
        config,
        tuple(map(Prefix, prefixes)),
        sees_interfaces=system.control_rules == "interfaces",
        holds_sessions=system.control_rules != "services",
        in_kernel=system.kernel_tunnels,
    )
    return replace(config, protection=rules)


@lru_cache(maxsize=65536)
def _port_name(nos: str, physical: int, channel: int | None, used: str, lanes: int, cards: int | None) -> str:
    """Return an operating system's name for a port. The result is cached, because thousands of switches have the same ports.

    ``channel`` is the number of the port's channel; None if the physical port is not split. ``used`` are the port's lanes, such as
    ``1-4``, among the ``lanes`` of the physical port. ``cards`` is the number of ports of a line card; None without line cards.
    """
    return catalog().systems[nos].name_of(physical, channel, _lanes(used)[0], lanes, cards)


@lru_cache(maxsize=256)
def _lanes(text: str) -> tuple[int, int]:
    """Return (first, last) electrical lane of a text such as ``1-4`` or ``5``."""
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def _interface(
    network: Network,
    fabric: Fabric,
    system: System,
    name: str,
    ends: tuple[End, End, Cable],
    *,
    of_segments: bool,
    pauses: bool,
    copper: bool,
) -> Interface:
    """Return the interface for the local end of a cable. ``ends`` is (local end, far end, cable), as ``ends_of`` returns it.

    - ``of_segments``: True if server ports may be members of VLANs or tenants.
    - ``pauses``: True if PFC is on for the port.
    - ``copper``: True if the cable is copper.
    """
    end, far, cable = ends
    segment = None
    if of_segments and cable.kind == "server":
        nic = network.server(far.device).nic(far.port)
        segment = network.segment_of(far.device, nic) if nic else None
    trunk = segment is not None and segment.vlan is not None and fabric.link_of(segment.vlan) == "trunk"
    across = fabric.interconnect
    if across is not None and not network.between_sites(cable):
        across = None
    first, last = _lanes(end.lanes)
    return Interface(  # by place as far as it reads well: names of arguments take a third of the time
        name,
        cable.name,
        cable.kind,
        described(far),
        far.device,
        far.port,
        cable.speed_gbps,
        last - first + 1,
        fabric.mtu.fabric if cable.kind == "fabric" else fabric.mtu.server_port,
        cable.length_m,
        vlan=(system.vlan_called(segment.vlan_name, segment.vlan) or None) if segment else None,
        native_vlan=segment.vlan if segment and trunk else None,
        addresses=(InterfaceAddress(f"{end.address}/{cable.prefix_length}"),) if end.address else (),
        between_sites=across is not None,
        macsec=own_type(Macsec, across.macsec) if across and across.macsec else None,
        pauses=(across is None or across.pfc) and pauses,
        tagged=fabric.tagged_vlans if trunk else (),
        copper=copper,
    )


def _shut(interfaces: tuple[Interface, ...], gateways: Sequence[Gateway]) -> tuple[Interface, ...]:
    """Return the ports. Server ports that have neither a VLAN nor one of the ``gateways`` are shut down, because no tenant uses them yet."""
    routed = {gateway.port for gateway in gateways}
    waiting = {
        interface.name
        for interface in interfaces
        if interface.kind == "server" and interface.vlan is None and interface.name not in routed
    }
    if not waiting:
        return interfaces
    return tuple(
        replace(interface, enabled=False) if interface.kind == "server" and interface.name in waiting else interface
        for interface in interfaces
    )


def _gateway(system: System, fabric: Fabric, segment: Segment, interfaces: Sequence[Interface]) -> Gateway:
    port = next(
        (interface.name for interface in interfaces if segment.nic == f"{interface.peer}:{interface.peer_port}"), ""
    )
    subnets = sorted(segment.subnets, key=lambda subnet: subnet.family)  # as systems show them: IPv4 first
    return Gateway(
        name=system.vlan_interface.format(vlan=segment.vlan) if segment.vlan else port,
        vlan=segment.vlan,
        vlan_name=system.vlan_called(segment.vlan_name, segment.vlan),
        description=_purpose(segment),
        mtu=fabric.mtu.irb,
        addresses=tuple(InterfaceAddress(f"{s.gateway}/{s.prefix.partition('/')[2]}") for s in subnets),
        prefixes=tuple(Prefix(s.prefix) for s in subnets),
        advertisements=own_type(RouterAdvertisements, fabric.router_advertisements)
        if fabric.server_mode == "slaac"
        and not segment.network
        and not segment.edge
        and any(s.family == "ipv6" for s in segment.subnets)
        else None,
        port=port,
        vrf=segment.tenant,
        mac=fabric.overlay.gateway_mac if fabric.overlay and segment.network else "",
        proxy_arp=fabric.server_link == "proxy-arp",
    )


def _purpose(segment: Segment) -> str:
    if segment.network:
        return f"network {segment.network}"
    return f"{segment.stripe} rail {segment.rail}" if segment.vlan else segment.nic.replace(":", " ")


def _used_ports(
    fabric: Fabric, switch: Switch, ends: Sequence[tuple[End, End, Cable]]
) -> tuple[tuple[int, int | None, int], ...]:
    """Return (physical port, channel or None, speed in Gb/s) of each port that a cable, an external router or edge equipment uses.

    ``ends`` holds (local end, far end, cable) for each cable of the switch.
    """
    links = [link for tenant in fabric.tenants for router in tenant.external for link in router.links]
    used = [(end.physical, end.channel, cable.speed_gbps) for end, _, cable in ends if end.physical is not None]
    used += [(link.physical, link.channel, link.speed_gbps) for link in links if link.leaf == switch.name]
    used += [
        (edge_port.physical, edge_port.channel, edge_port.speed_gbps)
        for edge_port in fabric.edge_ports
        if edge_port.leaf == switch.name
    ]
    return tuple(dict.fromkeys(used))


@lru_cache(maxsize=256)
def _splits(
    nos: str, ports: tuple[PortGroup, ...], cards: int | None, used: tuple[tuple[int, int | None, int], ...]
) -> tuple[Split, ...]:
    system = catalog().systems[nos]
    splits: dict[int, Split] = {}
    for physical, channel, speed in used:
        if physical in splits:
            continue
        group = next((port for port in ports if port.first <= physical <= port.last), None)
        if group is None or (channel is None and group.speed_gbps == speed):
            continue
        split = [w for w in group.breakouts if (w.channels > 1) == (channel is not None)]
        mode = next((w for w in split if w.speed_gbps == speed), None)
        if mode:
            name = system.name_of(physical, None, lanes=group.lanes, cards=cards)
            splits[physical] = Split(name, physical, mode.channels, mode.speed_gbps)
    return tuple(splits[port] for port in sorted(splits))


def _balancing(network: Network, fabric: Fabric, switch: Switch, system: System, release: str) -> BalancingConfig:
    """Return the load balancing of a switch.

    The result applies dynamic load balancing (DLB) to all address families in use. If it were limited to IPv4, it would
    never act on IPv6 RDMA.
    """
    wanted = fabric.load_balancing
    features = catalog().switches[switch.model].features if wanted.selective or wanted.global_balancing else ()
    features = {name for name in features if system.has(name, release)}
    part = "load-balancer-only" if switch.role == "leaf" else "helper-only"
    return BalancingConfig(
        selective=wanted.selective.opcodes if wanted.selective and "selective-dlb" in features else (),
        global_role=part if wanted.global_balancing and "global-load-balancing" in features else "",
        group_mode=wanted.group_mode(),
        dlb=own_type(Dlb, wanted.dlb),
        hash=own_type(Hash, wanted.hash),
        fast_reroute=wanted.fast_reroute,
        spray_opcodes=wanted.spray_opcodes,
        ether_types=tuple(sorted({*routed_families(network, switch), *server_families(network, switch)})),
    )
