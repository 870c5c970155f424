"""The EVPN overlay: sessions from loopback to loopback, VRFs with a VNI, type-5 routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, line, section
from railweave.systems.eos.names import (
    FROM_SPINE,
    MANAGEMENT_VRF,
    OVERLAY_GROUP,
    ROUTER_LOOPBACK,
    TO_NEIGHBORS,
    TUNNEL_LOOPBACK,
)
from railweave.systems.eos.render.bridging import vlan_instances, vxlan_lines
from railweave.systems.eos.render.external import external_families, external_neighbors, external_policies
from railweave.systems.eos.render.keys import keyed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig, Vrf

HOPS = 2
"""Loopbacks of neighbors are one hop behind the link."""


def target(value: str) -> str:
    """A route target without the word Junos has before it."""
    return value.removeprefix("target:")


def families(vrf: Vrf) -> tuple[str, ...]:
    """The address families of a tenant's prefixes and external routers, in EOS's words."""
    return tuple({"ipv4": "ip", "ipv6": "ipv6"}[one] for one in vrf.families())


def community_word(value: str) -> str:
    """What EOS calls a community of three numbers, or of two."""
    return "large-community" if value.count(":") == 2 else "community"


def tunnel_source(config: DeviceConfig) -> str:
    """The loopback that tunnels begin on; empty where there are none."""
    overlay = config.overlay
    if overlay is None or not overlay.endpoints:
        return ""
    own = {overlay.loopback, config.loopback.address}
    return ROUTER_LOOPBACK if overlay.endpoints[0].address in own else TUNNEL_LOOPBACK


def instances(config: DeviceConfig) -> Iterator[Section]:
    """VRFs, and which families are routed in them."""
    yield section(f"vrf instance {MANAGEMENT_VRF}")
    for vrf in config.vrfs:
        yield section(f"vrf instance {vrf.name}")
    yield line(f"no ip routing vrf {MANAGEMENT_VRF}")
    for vrf in config.vrfs:
        if "ip" in families(vrf):
            yield line(f"ip routing vrf {vrf.name}")
        if "ipv6" in families(vrf):
            yield line(f"ipv6 unicast-routing vrf {vrf.name}")


def tunnels(config: DeviceConfig) -> Iterator[Section]:
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


def overlay_policies(config: DeviceConfig) -> Iterator[Section]:
    """What overlay neighbors are sent, and external routers."""
    yield from external_policies(config)
    overlay = config.overlay
    if overlay is None:
        return
    word = community_word(overlay.from_spine)
    if overlay.reflects:
        mark = f"set {word} {overlay.from_spine} additive"
        yield section(f"route-map {TO_NEIGHBORS} permit 10", "description forward", mark)
        return
    yield line(f"ip {word}-list {FROM_SPINE} permit {overlay.from_spine}")
    yield section(f"route-map {TO_NEIGHBORS} deny 10", "description returned", f"match {word} {FROM_SPINE}")
    yield section(f"route-map {TO_NEIGHBORS} permit 20", "description own")


def overlay_neighbors(config: DeviceConfig) -> list[str]:
    """Lines of ``router bgp`` for the overlay's sessions."""
    overlay = config.overlay
    if overlay is None:
        return []
    name = f"neighbor {OVERLAY_GROUP}"
    lines = [f"{name} peer group", f"{name} description EVPN, loopback to loopback"]
    lines += [f"{name} next-hop-unchanged"] if overlay.reflects else []
    lines += [f"{name} update-source {ROUTER_LOOPBACK}", f"{name} ebgp-multihop {HOPS}"]
    if overlay.bfd:
        every = overlay.bfd.minimum_interval
        lines += [f"{name} bfd", f"{name} bfd interval {every} min-rx {every} multiplier {overlay.bfd.multiplier}"]
    lines += keyed(config.bgp, OVERLAY_GROUP) if config.bgp else []
    lines += [f"{name} send-community", f"{name} maximum-routes 0"]
    for one in overlay.neighbors:
        lines += [
            f"neighbor {one.peer_address} peer group {OVERLAY_GROUP}",
            f"neighbor {one.peer_address} remote-as {one.peer_as}",
            f"neighbor {one.peer_address} description {one.peer}",
        ]
    return lines


def overlay_family(config: DeviceConfig) -> Section | None:
    """``address-family evpn``."""
    if config.overlay is None:
        return None
    lines = (f"neighbor {OVERLAY_GROUP} activate", f"neighbor {OVERLAY_GROUP} route-map {TO_NEIGHBORS} out")
    return section("address-family evpn", *lines)


def vrf_routers(config: DeviceConfig) -> Iterator[Section]:
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
