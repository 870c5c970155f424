"""Rendering of ports, VLANs with their gateways, loopbacks and router advertisements."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from railweave.model.config.addresses import Address, Addressed, Prefix
from railweave.model.config.number_ranges import numbers, ranges
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.config.sections import Section, section
from railweave.systems.eos.names import MACSEC_PROFILE, ROUTER_LOOPBACK, TUNNEL_LOOPBACK
from railweave.systems.eos.render.management import edge_port, on_gateway
from railweave.systems.eos.render.qos import profile_of
from railweave.systems.eos.render.routing import advertises, on_port, passive

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig, Gateway, Interface
    from railweave.model.device.port_model import Fec
    from railweave.model.device.timers import RouterAdvertisements

FIRST_VRF_LOOPBACK = 100
"""The number of the loopback of the first VRF."""

FEC_LINES: Mapping[Fec, str] = {
    "": "error-correction encoding reed-solomon",
    "none": "no error-correction encoding",
    "fc": "error-correction encoding fire-code",
}
"""The line for each kind of forward error correction. ``""`` is Reed-Solomon, the default of the design.

Source: arista.avd, schema of ``ethernet_interfaces``: ``error_correction_encoding``.
"""

MOST_LANES = {100: 4, 200: 4}
"""By speed in Gb/s: the number of lanes of a module, if it is smaller than the number of lanes of the port.

Source: AVD, ethernet_interfaces.speed.
"""


class Loopback(NamedTuple):
    """A loopback interface: its name, its purpose, and its addresses with their prefix lengths."""

    name: str
    description: str
    addresses: tuple[Prefix, ...]


def family(address: Addressed) -> str:
    """Return EOS's keyword for the address family of an address: ``ip`` or ``ipv6``."""
    return "ipv6" if address.family == "ipv6" else "ip"


def speed(port: Interface) -> str:
    """Return the speed with the number of lanes, such as ``400g-4``. On EOS, this keyword also splits the port."""
    return f"{port.speed_gbps}g-{min(port.lanes, MOST_LANES.get(port.speed_gbps, port.lanes))}"


def vlan_ids(config: DeviceConfig) -> dict[str, int]:
    """Return the VLAN ids by VLAN name."""
    return {gateway.vlan_name: gateway.vlan for gateway in config.gateways if gateway.vlan}


def loopbacks(config: DeviceConfig) -> tuple[Loopback, ...]:
    """Return the loopback with the router id.

    If tunnel endpoints have their own addresses, also return a loopback with the endpoints' addresses.
    """
    ends = {endpoint.address for endpoint in config.overlay.endpoints} if config.overlay else set[Address]()
    sources = {config.loopback.address, config.overlay.loopback if config.overlay else None}
    apart = tuple(prefix for prefix in config.loopbacks() if prefix.address in ends - sources)
    first = Loopback(
        ROUTER_LOOPBACK, "router id", tuple(prefix for prefix in config.loopbacks() if prefix not in apart)
    )
    return (first, Loopback(TUNNEL_LOOPBACK, "tunnels", apart)) if apart else (first,)


def interfaces(config: DeviceConfig) -> Iterator[Section]:
    """Yield the VLANs, then every interface except the management port."""
    for gateway in config.gateways:
        if gateway.vlan:
            yield section(f"vlan {gateway.vlan}", f"name {gateway.vlan_name}")
    for number in config.bare_vlans():
        yield section(f"vlan {number}", f"name VLAN{number:04d}")
    routed = {gateway.port: gateway for gateway in config.gateways if gateway.port}
    for port in sorted(config.interfaces, key=lambda port: numbers(port.name)):
        yield section(f"interface {port.name}", _port(config, port, routed.get(port.name)))
        for part in port.parts() if port.unit_vlan is not None else ():
            yield section(f"interface {tagged_name(part)}", _tagged(part))
    for loopback in loopbacks(config):
        addresses = [
            f"{family(address)} address {address}{more}"
            for address, more in zip(loopback.addresses, secondary(loopback.addresses), strict=True)
        ]
        yield section(
            f"interface {loopback.name}",
            f"description {loopback.description}",
            addresses,
            passive() if config.isis else None,
        )
    for vrf in config.vrfs:
        if vrf.unit is not None:
            yield section(
                f"interface Loopback{FIRST_VRF_LOOPBACK + vrf.unit}",
                f"description loopback of {vrf.name}",
                f"vrf {vrf.name}",
                [f"{family(prefix)} address {prefix}" for prefix in vrf.loopbacks],
            )
    for gateway in config.gateways:
        if gateway.vlan:
            yield section(
                f"interface Vlan{gateway.vlan}", f"description {gateway.description}", gateway_lines(config, gateway)
            )


def secondary(addresses: Sequence[Addressed]) -> list[str]:
    """Return the last word of each address's line: ``" secondary"`` for every IPv4 address except the first, otherwise empty."""
    four = [address for address in addresses if address.family == "ipv4"]
    return [" secondary" if address in four[1:] else "" for address in addresses]


def _port(config: DeviceConfig, port: Interface, gateway: Gateway | None) -> list[str]:
    lines = [f"description {port.description}"]
    if not port.enabled:
        lines.append("shutdown")
    if not bridged(port, gateway):
        mtu = gateway.mtu if gateway else port.mtu - ETHERNET_HEADER
        lines.append(f"mtu {mtu}")
    lines += ["flowcontrol send off", "flowcontrol receive off"]
    lines += [f"speed {speed(port)}", FEC_LINES[port.fec]]
    if gateway is not None:
        lines += ["no switchport", *gateway_lines(config, gateway)[1:]]
    elif bridged(port, gateway):
        lines += [*_bridged(config, port), *edge_port(config, port)]
    elif port.unit_vlan is not None:
        lines.append("no switchport")
    elif port.addresses:
        lines += ["no switchport", *_addressed(port)]
    else:
        lines += ["no switchport", "ipv6 enable"]
    lines += [f"mac security profile {MACSEC_PROFILE}"] if port.macsec else []
    lines += on_port(config, port.name)
    profile = profile_of(config, port.name)
    return [*lines, f"service-profile {profile}"] if profile else lines


def tagged_name(port: Interface) -> str:
    """Return the name of the subinterface, such as ``Ethernet1.5``, of a port to an external router with a VLAN tag."""
    return f"{port.name}.{port.unit_vlan}"


def _tagged(port: Interface) -> list[str]:
    return [f"description {port.description}", f"encapsulation dot1q vlan {port.unit_vlan}", *_addressed(port)]


def _addressed(port: Interface) -> list[str]:
    lines = [f"vrf {port.vrf}"] if port.vrf else []
    lines += ["ipv6 enable"] if port.vrf and {address.family for address in port.addresses} == {"ipv6"} else []
    return [*lines, *(f"{family(address)} address {address}" for address in port.addresses)]


def bridged(port: Interface, gateway: Gateway | None) -> bool:
    """Return True if a port to servers is switched: its gateway is not on the port itself (``gateway`` is None)."""
    return port.kind == "server" and gateway is None


def _bridged(config: DeviceConfig, port: Interface) -> list[str]:
    untagged = vlan_ids(config).get(port.vlan or "", port.native_vlan)
    carried = [*([] if untagged is None or untagged in port.tagged else [untagged]), *port.tagged]
    if not carried:
        return ["switchport"]
    if port.native_vlan is None and not port.tagged:
        return [f"switchport access vlan {carried[0]}", "switchport mode access", "switchport"]
    return [
        *([] if port.native_vlan is None else [f"switchport trunk native vlan {port.native_vlan}"]),
        f"switchport trunk allowed vlan {ranges(carried)}",
        "switchport mode trunk",
        "switchport",
    ]


def gateway_lines(config: DeviceConfig, gateway: Gateway) -> list[str]:
    """Return the lines of an interface to servers: the MTU, then the VRF, addresses and router advertisements."""
    lines = [f"mtu {gateway.mtu}"]
    lines += [f"vrf {gateway.vrf}"] if gateway.vrf else []
    more = secondary(gateway.addresses)
    lines += ["ip proxy-arp"] if gateway.proxy_arp else []
    lines += ["ipv6 enable"] if "ipv6" in gateway.families else []
    shared = " virtual" if gateway.mac else ""
    lines += [
        f"{family(address)} address{shared} {address}{word}"
        for address, word in zip(gateway.addresses, more, strict=True)
    ]
    lines += passive() if advertises(config, gateway) else []
    return [*lines, *advertised(gateway), *on_gateway(config, gateway)]


def advertised(gateway: Gateway) -> list[str]:
    """Return the lines of router advertisements: flags, prefixes and timers."""
    timers = gateway.advertisements
    if timers is None:
        return ["ipv6 nd ra disabled"] if "ipv6" in gateway.families else []
    lines = ["ipv6 nd managed-config-flag"] if timers.managed else []
    lines += ["ipv6 nd other-config-flag"] if timers.other else []
    if timers.on_link:
        lines += [f"ipv6 nd prefix {prefix} {_lifetimes(timers)}" for prefix in gateway.advertised]
    lines += [
        f"ipv6 nd ra interval {timers.max_interval} {timers.min_interval}",
        f"ipv6 nd ra lifetime {timers.router_lifetime}",
        f"ipv6 nd ra hop-limit {timers.hop_limit}",
    ]
    lines += [] if timers.link_mtu else ["ipv6 nd ra mtu suppress"]
    lines += [f"ipv6 nd reachable-time {timers.reachable_time}"] if timers.reachable_time else []
    lines += [f"ipv6 nd ns-interval {timers.retransmit_timer}"] if timers.retransmit_timer else []
    if not timers.on_link:
        lines += [f"ipv6 nd prefix {prefix} {_lifetimes(timers)} no-onlink" for prefix in gateway.advertised]
    return lines


def _lifetimes(timers: RouterAdvertisements) -> str:
    alone = "" if timers.autonomous else " no-autoconfig"
    return f"{timers.prefix_valid_lifetime} {timers.prefix_preferred_lifetime}{alone}"
