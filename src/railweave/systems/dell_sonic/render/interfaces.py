"""Ports, VLANs, gateways, loopback, and router advertisements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.number_ranges import numbers, ranges
from railweave.model.config.sections import line, section
from railweave.systems.dell_sonic.render.access import edge_port
from railweave.systems.dell_sonic.render.control_plane import on_gateway
from railweave.systems.dell_sonic.render.qos import bound
from railweave.systems.dell_sonic.tree import quoted
from railweave.systems.frr.render import advertisements, discovery
from railweave.systems.sonic.render.names import ETHERNET_HEADER, transit_vlan, vrf_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.addresses import Addressed
    from railweave.model.config.sections import Section
    from railweave.model.device.model import DeviceConfig, Gateway, Interface

FAMILIES = {"ipv4": "ip", "ipv6": "ipv6"}
"""The system's words for address families."""

PROXY_ARP = "ip proxy-arp enable remote-only"
"""Answers for addresses that the switch has a route to by another interface."""


def breakouts(config: DeviceConfig) -> Iterator[Section]:
    """How ports are split, before their channels are configured. One that only runs slower is told so by ``speed``."""
    for split in config.splits:
        if split.channels == 1:
            continue
        port = split.port.removeprefix("Eth")
        yield line(f"interface breakout port {port} mode {split.channels}x{split.speed_gbps}G")


def interfaces(config: DeviceConfig) -> Iterator[Section]:
    """Loopback, VLANs with their gateways, and every cabled port."""
    loopbacks = [
        f"{address(one)}{' secondary' if place and one.family == 'ipv4' else ''}" for place, one in _numbered(config)
    ]
    yield section("interface Loopback 0", loopbacks)
    names = vrf_names(config)
    for vrf in config.vrfs:
        if vrf.unit is not None:
            own = [address(one) for one in vrf.loopbacks]
            yield section(f"interface Loopback {vrf.unit}", f"ip vrf forwarding {names[vrf.name]}", own)
    for gateway in config.gateways:
        if gateway.vlan:
            vrf = [f"ip vrf forwarding {names[gateway.vrf]}"] if gateway.vrf else []
            head = [f"description {quoted(gateway.description)}", f"mtu {gateway.mtu}"]
            proxy = [PROXY_ARP] if gateway.proxy_arp else []
            yield section(
                f"interface Vlan {gateway.vlan}", head, vrf, _addressed(gateway), proxy, on_gateway(config, gateway)
            )
    for number in config.bare_vlans():
        yield section(f"interface Vlan {number}")
    for vrf in config.vrfs:
        yield section(f"interface Vlan {transit_vlan(config, vrf.name)}", f"ip vrf forwarding {names[vrf.name]}")
    routed = {one.port: one for one in config.gateways if one.port}
    for port in sorted(config.interfaces, key=lambda one: numbers(one.name)):
        yield _port(config, port, routed.get(port.name))
        for part in port.parts() if port.kind == "external" and port.unit_vlan is not None else ():
            yield section(
                f"interface {part.name}.{part.unit_vlan}",
                f"description {quoted(part.description)}",
                f"encapsulation dot1q vlan-id {part.unit_vlan}",
                _external(config, part),
            )


def anycast(config: DeviceConfig) -> Iterator[Section]:
    """The MAC address that gateways of layer-2 networks have on every leaf; a fabric has one."""
    of_networks = [one for one in config.gateways if one.mac]
    if not of_networks:
        return
    yield line(f"ip anycast-mac-address {of_networks[0].mac}")
    for six, word in ((False, "ip"), (True, "ipv6")):
        if any((address.family == "ipv6") is six for one in of_networks for address in one.addresses):
            yield line(f"{word} anycast-address enable")


def _external(config: DeviceConfig, port: Interface) -> list[str]:
    """What a port to an external router, or the sub-interface of its tag, has: the tenant's VRF, and addresses."""
    vrf = [f"ip vrf forwarding {vrf_names(config)[port.vrf]}"] if port.vrf else []
    return [*vrf, *(address(one) for one in port.addresses)]


def _numbered(config: DeviceConfig) -> Iterator[tuple[int, Addressed]]:
    """Loopback addresses, those of each family counted."""
    seen = {"ipv4": 0, "ipv6": 0}
    for one in config.loopbacks():
        yield seen[one.family], one
        seen[one.family] += 1


def address(one: Addressed) -> str:
    """The command that gives an interface an address."""
    return f"{FAMILIES[one.family]} address {one}"


def _port(config: DeviceConfig, port: Interface, gateway: Gateway | None) -> Section:
    carried = config.carried(port)
    body = [
        f"description {quoted(port.description)}",
        f"mtu {gateway.mtu if gateway else port.mtu - ETHERNET_HEADER}",
        f"speed {port.speed_gbps * 1000}",
        "fec RS",
        # The Thor2 guide (section 2.5.2) has it on ports with copper cables. An optical port that waits for training may stay down.
        *(["standalone-link-training"] if port.copper else []),
        "unreliable-los auto",
    ]
    body.append("no shutdown" if port.enabled else "shutdown")
    body += edge_port(config, port)
    if gateway is not None:
        body += [f"ip vrf forwarding {vrf_names(config)[gateway.vrf]}"] if gateway.vrf else []
        body += _addressed(gateway)
        body += [PROXY_ARP] if gateway.proxy_arp else []
        body += on_gateway(config, gateway)
    elif port.kind == "external":
        body += _external(config, port) if port.unit_vlan is None else []
    elif carried:
        body += [f"switchport access Vlan {one}" for one in carried if one not in port.tagged]
        body += [f"switchport trunk allowed Vlan {ranges(port.tagged)}"] if port.tagged else []
    elif port.kind == "fabric":
        body += [address(one) for one in port.addresses] or ["ipv6 enable"]
        body += discovery(port)
    return section(f"interface {port.name}", body, bound(config, port))


def _addressed(gateway: Gateway) -> list[str]:
    if gateway.mac:
        shared = [address(one).replace(" address", " anycast-address", 1) for one in gateway.addresses]
        return shared + advertisements(gateway)
    four = [one for one in gateway.addresses if one.family == "ipv4"]
    found = [f"{address(one)}{' secondary' if one in four[1:] else ''}" for one in gateway.addresses]
    advertised = advertisements(gateway)
    timers = gateway.advertisements
    return found + advertised + ([f"ipv6 nd min-ra-interval {timers.min_interval}"] if timers else [])
