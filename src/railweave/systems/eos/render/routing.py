"""Rendering of routing in the device and in VRFs, of ``router isis``, and of tunnels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, line, section
from railweave.systems.eos import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device import model


def virtual_mac(config: model.DeviceConfig) -> str:
    """Return the MAC address that all shared gateways of the switch have, or an empty string if there are no such gateways."""
    return next((gateway.mac for gateway in config.gateways if gateway.mac), "")


def bridged(config: model.DeviceConfig) -> tuple[model.BridgedVlan, ...]:
    """Return the VLANs that EVPN extends."""
    return config.mac_vrf.vlans if config.mac_vrf else ()


def shared_gateways(config: model.DeviceConfig) -> list[Section]:
    """Return the line that sets the MAC address of shared gateways; empty if there are none."""
    mac = virtual_mac(config)
    return [line(f"ip virtual-router mac-address {mac}")] if mac else []


def vxlan_lines(config: model.DeviceConfig) -> list[str]:
    """Return the lines of ``interface Vxlan1`` that give each extended VLAN its VNI."""
    return [f"vxlan vlan {vlan.vlan} vni {vlan.vni}" for vlan in bridged(config)]


def families(vrf: model.Vrf) -> tuple[str, ...]:
    """Return EOS's keywords (``ip``, ``ipv6``) for the address families of a tenant's prefixes and external routers."""
    return tuple({"ipv4": "ip", "ipv6": "ipv6"}[family] for family in vrf.families())


def tunnel_source(config: model.DeviceConfig) -> str:
    """Return the name of the loopback from which tunnels start, or an empty string if the device has no tunnels."""
    overlay = config.overlay
    if overlay is None or not overlay.endpoints:
        return ""
    addresses = {overlay.loopback, config.loopback.address}
    return names.ROUTER_LOOPBACK if overlay.endpoints[0].address in addresses else names.TUNNEL_LOOPBACK


def instances(config: model.DeviceConfig) -> Iterator[Section]:
    """Yield the VRFs, and the lines that enable routing of their address families."""
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
    """Yield ``interface Vxlan1``, with a VNI for each tenant and each extended VLAN."""
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


def link_of(config: model.DeviceConfig, port: str) -> model.IsisPort | None:
    """Return the IS-IS settings of a port, or None if IS-IS does not run on the port."""
    isis = config.isis
    return next((link for link in isis.ports if link.interface == port), None) if isis else None


def advertises(config: model.DeviceConfig, gateway: model.Gateway) -> bool:
    """Return True if IS-IS advertises the prefix of a gateway."""
    return config.isis is not None and (gateway.port or gateway.name) in config.isis.passive


def passive() -> list[str]:
    """Return the lines of an interface whose prefix IS-IS advertises, but on which IS-IS does not run."""
    return [f"isis enable {names.ISIS_INSTANCE}", "isis passive"]


def on_port(config: model.DeviceConfig, port: str) -> list[str]:
    """Return the IS-IS lines of a port between switches; empty if IS-IS does not run on the port."""
    isis, link = config.isis, link_of(config, port)
    if isis is None or link is None:
        return []
    lines = [
        f"isis enable {names.ISIS_INSTANCE}",
        "isis circuit-type level-2",
        f"isis metric {link.metric}",
        "isis network point-to-point",
    ]
    if isis.bfd:
        every = isis.bfd.minimum_interval
        lines += ["isis bfd", f"bfd interval {every} min-rx {every} multiplier {isis.bfd.multiplier}"]
    if isis.key:
        lines += ["isis authentication mode md5", f"isis authentication key 0 {names.secret(isis.key)}"]
    return lines


def router_isis(config: model.DeviceConfig) -> list[Section]:
    """Return ``router isis`` with level 2 only. EOS uses wide metrics by default."""
    isis = config.isis
    if isis is None:
        return []
    key = ("authentication mode md5", f"authentication key 0 {names.secret(isis.key)}") if isis.key else ()
    families = [
        section(f"address-family {family} unicast", f"maximum-paths {isis.maximum_ecmp}") for family in isis.families
    ]
    body = (f"net {isis.net}", f"router-id ipv4 {isis.router_id}", "is-type level-2", "log-adjacency-changes")
    return [section(f"router isis {names.ISIS_INSTANCE}", body, key, families)]


def routing(config: model.DeviceConfig) -> Iterator[Section]:
    """Yield the lines that select the routing daemons, set the spanning tree, and enable routing of address families."""
    yield line("service routing protocols model multi-agent")
    # Only server ports are bridged. Without spanning tree, BPDU guard cannot detect bridges on them.
    yield line(f"spanning-tree mode {'rstp' if config.bpdu_guard() else 'none'}")
    # Links without IPv4 addresses carry IPv4 routes: to the VTEP addresses and the tenants' prefixes.
    yield line("ip routing ipv6 interfaces")
    yield line("ipv6 unicast-routing")
