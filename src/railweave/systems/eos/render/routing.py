"""Prefix lists, community lists, route maps, ``router bgp``, ``router isis``, and the EVPN overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, line, section
from railweave.systems.eos import names
from railweave.systems.eos.render.keys import keyed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device import model


def _six(peer: model.ExternalPeer) -> bool:
    return peer.session.local_address.family == "ipv6"


def external_neighbors(vrf: model.Vrf) -> list[str]:
    """Lines of ``vrf`` in ``router bgp`` for the sessions."""
    lines: list[str] = []
    for one in vrf.external:
        name = f"neighbor {one.session.peer_address}"
        lines += [
            f"{name} remote-as {one.session.peer_as}",
            f"{name} description external router {one.router}",
            f"{name} route-map {names.external_policy('from', vrf.name, one.router)} in",
            f"{name} route-map {names.external_policy('to', vrf.name, one.router)} out",
            f"{name} maximum-routes 0",
        ]
    return lines


def of_family(vrf: model.Vrf, family: str) -> list[str]:
    """The addresses of external routers whose links are of a family."""
    return [one.session.peer_address for one in vrf.external if _six(one) == (family == "ipv6")]


def external_families(vrf: model.Vrf) -> Iterator[Section]:
    """The families that sessions carry: without them a neighbor is sent nothing."""
    for family in ("ipv4", "ipv6"):
        active = [f"neighbor {one} activate" for one in of_family(vrf, family)]
        if active:
            yield section(f"address-family {family}", active)


FIRST_BRIDGED = 60000
"""Second half of the route distinguishers of bridged VLANs, less the VLAN: tenants' own count from 1. As in FRR."""


def virtual_mac(config: model.DeviceConfig) -> str:
    """The MAC address of shared gateways: EOS has one for all of them, and a fabric has one too. Empty: there are none."""
    return next((one.mac for one in config.gateways if one.mac), "")


def bridged(config: model.DeviceConfig) -> tuple[model.BridgedVlan, ...]:
    """The VLANs that are stretched."""
    return config.mac_vrf.vlans if config.mac_vrf else ()


def distinguisher(config: model.DeviceConfig, vlan: int) -> str:
    """The route distinguisher of a bridged VLAN."""
    own = config.mac_vrf.route_distinguisher if config.mac_vrf else ""
    return f"{own.rpartition(':')[0]}:{FIRST_BRIDGED + vlan}"


def shared_gateways(config: model.DeviceConfig) -> list[Section]:
    """The MAC address that gateways of stretched VLANs answer with."""
    mac = virtual_mac(config)
    return [line(f"ip virtual-router mac-address {mac}")] if mac else []


def vxlan_lines(config: model.DeviceConfig) -> list[str]:
    """Lines of ``interface Vxlan1``."""
    return [f"vxlan vlan {one.vlan} vni {one.vni}" for one in bridged(config)]


def vlan_instances(config: model.DeviceConfig) -> Iterator[Section]:
    """Sections of ``router bgp``: what the switch learns on a VLAN goes out with the VLAN's route target."""
    for one in bridged(config):
        target = one.route_target.removeprefix("target:")
        yield section(
            f"vlan {one.vlan}",
            f"rd {distinguisher(config, one.vlan)}",
            f"route-target both {target}",
            "redistribute learned",
        )


HOPS = 2
"""Loopbacks of neighbors are one hop behind the link."""


def target(value: str) -> str:
    """A route target without the word Junos has before it."""
    return value.removeprefix("target:")


def families(vrf: model.Vrf) -> tuple[str, ...]:
    """The address families of a tenant's prefixes and external routers, in EOS's words."""
    return tuple({"ipv4": "ip", "ipv6": "ipv6"}[one] for one in vrf.families())


def tunnel_source(config: model.DeviceConfig) -> str:
    """The loopback that tunnels begin on; empty where there are none."""
    overlay = config.overlay
    if overlay is None or not overlay.endpoints:
        return ""
    own = {overlay.loopback, config.loopback.address}
    return names.ROUTER_LOOPBACK if overlay.endpoints[0].address in own else names.TUNNEL_LOOPBACK


def instances(config: model.DeviceConfig) -> Iterator[Section]:
    """VRFs, and which families are routed in them."""
    yield section(f"vrf instance {names.MANAGEMENT_VRF}")
    for vrf in config.vrfs:
        yield section(f"vrf instance {vrf.name}")
    yield line(f"no ip routing vrf {names.MANAGEMENT_VRF}")
    for vrf in config.vrfs:
        if "ip" in families(vrf):
            yield line(f"ip routing vrf {vrf.name}")
        if "ipv6" in families(vrf):
            yield line(f"ipv6 unicast-routing vrf {vrf.name}")


def tunnels(config: model.DeviceConfig) -> Iterator[Section]:
    """``interface Vxlan1``: a VNI per tenant, and one per stretched VLAN."""
    source = tunnel_source(config)
    if source and config.overlay:
        six = config.overlay.endpoints[0].address.family == "ipv6"
        yield section(
            "interface Vxlan1",
            f"vxlan source-interface {source}",
            "vxlan udp-port 4789",
            "vxlan encapsulation ipv6" if six else None,
            vxlan_lines(config),
            [f"vxlan vrf {vrf.name} vni {vrf.vni}" for vrf in config.vrfs],
            "vxlan qos ecn propagation",
            "vxlan qos dscp propagation encapsulation" if config.overlay.tunnel_dscp else None,
        )


def overlay_neighbors(config: model.DeviceConfig) -> list[str]:
    """Lines of ``router bgp`` for the overlay's sessions."""
    overlay = config.overlay
    if overlay is None:
        return []
    name = f"neighbor {names.OVERLAY_GROUP}"
    lines = [f"{name} peer group", f"{name} description EVPN, loopback to loopback"]
    lines += [f"{name} next-hop-unchanged"] if overlay.reflects else []
    lines += [f"{name} update-source {names.ROUTER_LOOPBACK}", f"{name} ebgp-multihop {HOPS}"]
    if overlay.bfd:
        every = overlay.bfd.minimum_interval
        lines += [f"{name} bfd", f"{name} bfd interval {every} min-rx {every} multiplier {overlay.bfd.multiplier}"]
    lines += keyed(config.bgp, names.OVERLAY_GROUP) if config.bgp else []
    lines += [f"{name} send-community", f"{name} maximum-routes 0"]
    for one in overlay.neighbors:
        lines += [
            f"neighbor {one.peer_address} peer group {names.OVERLAY_GROUP}",
            f"neighbor {one.peer_address} remote-as {one.peer_as}",
            f"neighbor {one.peer_address} description {one.peer}",
        ]
    return lines


def overlay_family(config: model.DeviceConfig) -> Section | None:
    """``address-family evpn``."""
    if config.overlay is None:
        return None
    lines = (
        f"neighbor {names.OVERLAY_GROUP} activate",
        f"neighbor {names.OVERLAY_GROUP} route-map {names.TO_NEIGHBORS} out",
    )
    return section("address-family evpn", *lines)


def vrf_routers(config: model.DeviceConfig) -> Iterator[Section]:
    """Stretched VLANs; a tenant's connected prefixes as type-5 routes, and those of its external routers."""
    if config.bgp is None or config.overlay is None:
        return
    yield from vlan_instances(config)
    width = max(1, len(config.overlay.neighbors))
    for vrf in config.vrfs:
        yield section(
            f"vrf {vrf.name}",
            f"rd {vrf.route_distinguisher}",
            [f"route-target import evpn {target(one)}" for one in vrf.import_targets],
            [f"route-target export evpn {target(one)}" for one in vrf.export_targets],
            f"router-id {config.bgp.router_id}",
            f"maximum-paths {width} ecmp {width}",
            external_neighbors(vrf),
            "redistribute connected",
            *external_families(vrf),
        )


def link_of(config: model.DeviceConfig, port: str) -> model.IsisPort | None:
    """The link of a port that IS-IS runs on."""
    found = config.isis
    return next((one for one in found.ports if one.interface == port), None) if found else None


def advertises(config: model.DeviceConfig, gateway: model.Gateway) -> bool:
    """Whether IS-IS advertises the prefix of a gateway."""
    return config.isis is not None and (gateway.port or gateway.name) in config.isis.passive


def passive() -> list[str]:
    """The lines of an interface whose prefix IS-IS advertises without running on it."""
    return [f"isis enable {names.ISIS_INSTANCE}", "isis passive"]


def on_port(config: model.DeviceConfig, port: str) -> list[str]:
    """The lines of a port between switches; none where IS-IS does not run on it."""
    found, link = config.isis, link_of(config, port)
    if found is None or link is None:
        return []
    lines = [
        f"isis enable {names.ISIS_INSTANCE}",
        "isis circuit-type level-2",
        f"isis metric {link.metric}",
        "isis network point-to-point",
    ]
    if found.bfd:
        every = found.bfd.minimum_interval
        lines += ["isis bfd", f"bfd interval {every} min-rx {every} multiplier {found.bfd.multiplier}"]
    if found.key:
        lines += ["isis authentication mode md5", f"isis authentication key 0 {names.secret(found.key)}"]
    return lines


def router_isis(config: model.DeviceConfig) -> list[Section]:
    """``router isis``: level 2 alone; metrics are wide on EOS unless told otherwise."""
    found = config.isis
    if found is None:
        return []
    key = ("authentication mode md5", f"authentication key 0 {names.secret(found.key)}") if found.key else ()
    families = [
        section(f"address-family {one} unicast", f"maximum-paths {found.maximum_ecmp}") for one in found.families
    ]
    body = (f"net {found.net}", f"router-id ipv4 {found.router_id}", "is-type level-2", "log-adjacency-changes")
    return [section(f"router isis {names.ISIS_INSTANCE}", body, key, families)]


def routing(config: model.DeviceConfig) -> Iterator[Section]:
    """Which families are routed, and the daemon that does it."""
    yield line("service routing protocols model multi-agent")
    # Only server ports are bridged, and without spanning tree nobody listens for bridges on them.
    yield line(f"spanning-tree mode {'rstp' if config.bpdu_guard() else 'none'}")
    # IPv4 is routed over links that have none: the VTEP's and the tenants' prefixes.
    yield line("ip routing ipv6 interfaces")
    yield line("ipv6 unicast-routing")


def router_bgp(config: model.DeviceConfig) -> Iterator[Section]:
    """``router bgp``: a peer group per path color."""
    bgp = config.bgp
    if bgp is None:
        return
    peers: list[str] = []
    for group in bgp.groups:
        peers += _group(bgp, group)
    yield section(
        f"router bgp {bgp.asn}",
        f"router-id {bgp.router_id}",
        "no bgp default ipv4-unicast",
        f"maximum-paths {bgp.maximum_ecmp} ecmp {bgp.maximum_ecmp}",
        "graceful-restart" if bgp.graceful_restart else None,
        peers,
        overlay_neighbors(config),
        f"redistribute connected route-map {bgp.redistribute_connected}" if bgp.redistribute_connected else None,
        overlay_family(config),
        [_family(bgp, one) for one in bgp.families],
        vrf_routers(config),
    )


def _group(bgp: model.Bgp, group: model.BgpGroup) -> list[str]:
    name = f"neighbor {group.name}"
    found = [f"{name} peer group", f"{name} description {group.description}"]
    if bgp.bfd:
        every = bgp.bfd.minimum_interval
        found += [f"{name} bfd", f"{name} bfd interval {every} min-rx {every} multiplier {bgp.bfd.multiplier}"]
    found += [f"{name} ttl maximum-hops 1"] if bgp.ttl_security else []
    found += keyed(bgp, group.name)
    found += [
        f"{name} route-map {group.import_policy} in",
        f"{name} route-map {group.export_policy} out",
        f"{name} send-community",
        f"{name} maximum-routes 0",
    ]
    for session in group.sessions:
        if session.peer_address:
            found += [
                f"neighbor {session.peer_address} peer group {group.name}",
                f"neighbor {session.peer_address} remote-as {session.peer_as}",
                f"neighbor {session.peer_address} description {session.peer}",
            ]
            found += [
                f"neighbor {session.peer_address} route-map {policy} {way}"
                for policy, way in ((session.import_policy, "in"), (session.export_policy, "out"))
                if policy
            ]
        elif group.peer_as_list:
            found.append(
                f"neighbor interface {session.interface} peer-group {group.name} peer-filter {group.peer_as_list}"
            )
    return found


def _family(bgp: model.Bgp, family: str) -> Section:
    lines: list[str] = []
    for group in bgp.groups:
        lines.append(f"neighbor {group.name} activate")
        if over_link_local(group, family):
            lines.append(f"neighbor {group.name} next-hop address-family ipv6 originate")
    return section(f"address-family {family}", lines)


def over_link_local(group: model.BgpGroup, family: str) -> bool:
    """Whether IPv4 routes of a group have IPv6 next hops (RFC 8950)."""
    return family == "ipv4" and all(
        one.peer_address is None or one.peer_address.family == "ipv6" for one in group.sessions
    )
