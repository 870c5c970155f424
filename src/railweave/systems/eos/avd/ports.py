"""AVD: VLANs, ports, loopbacks, gateways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.avd.access import edge_port
from railweave.systems.eos.avd.addresses import addressed, shared
from railweave.systems.eos.avd.control_plane import at_gateway
from railweave.systems.eos.avd.isis import on_gateway, on_port
from railweave.systems.eos.avd.loopbacks import loopback_interfaces
from railweave.systems.eos.avd.qos import service_profiles
from railweave.systems.eos.names import MACSEC_PROFILE, secret

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig, Gateway, Interface
    from railweave.model.device.timers import RouterAdvertisements

ETHERNET_HEADER_BYTES = 14


def interfaces(config: DeviceConfig) -> dict[str, Any]:
    """Every interface but the management port."""
    routed = {gateway.port: gateway for gateway in config.gateways if gateway.port}
    profiles = service_profiles(config)
    found: dict[str, Any] = {
        "ethernet_interfaces": [
            *(_port(config, port, routed.get(port.name), profiles.get(port.name)) for port in config.interfaces),
            *(_tagged(part) for port in config.interfaces if port.unit_vlan is not None for part in port.parts()),
        ],
        "loopback_interfaces": loopback_interfaces(config),
    }
    vlans = [one for one in config.gateways if one.vlan]
    if vlans:
        bare = [{"id": one, "name": f"VLAN{one:04d}"} for one in config.bare_vlans()]
        found["vlans"] = [*({"id": one.vlan, "name": one.vlan_name} for one in vlans), *bare]
        found["vlan_interfaces"] = [
            {"name": f"Vlan{one.vlan}", "description": one.description, "mtu": one.mtu, **_gateway(config, one)}
            for one in vlans
        ]
    return found


def _port(config: DeviceConfig, port: Interface, gateway: Gateway | None, profile: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": port.name,
        "description": port.description,
        "speed": _speed(port),
        "flowcontrol": {"received": "off"},
        "error_correction_encoding": {"reed_solomon": True},
    }
    raw = ["flowcontrol send off"]
    bridged = port.kind == "server" and gateway is None
    if not port.enabled:
        found["shutdown"] = True
    if profile is not None:
        found["service_profile"] = profile
    if bridged:
        found |= {"switchport": {"enabled": True, **_membership(config, port)}, **edge_port(config, port)}
    else:
        found["switchport"] = {"enabled": False}
        if gateway is None:
            found["mtu"] = port.mtu - ETHERNET_HEADER_BYTES
            if port.unit_vlan is None:
                found |= _addressed(port) if port.addresses else {"ipv6_enable": True}
        else:
            own = _gateway(config, gateway)
            raw += [one for one in [own.pop("eos_cli", "")] if one]
            found |= {"mtu": gateway.mtu, **own}
    found |= {"mac_security": {"profile": MACSEC_PROFILE}} if port.macsec else {}
    return {**found, **on_port(config, port.name), "eos_cli": "\n".join(raw)}


def _addressed(port: Interface) -> dict[str, Any]:
    found = addressed(port.addresses)
    found |= {"vrf": port.vrf} if port.vrf else {}
    return found | ({"ipv6_enable": True} if port.vrf and "ipv6_addresses" in found else {})


def _tagged(port: Interface) -> dict[str, Any]:
    found = {"name": f"{port.name}.{port.unit_vlan}", "description": port.description}
    return {**found, "encapsulation_dot1q": {"vlan": port.unit_vlan}, **_addressed(port)}


def encryption(config: DeviceConfig, raw: list[str]) -> dict[str, Any]:
    """The profile of encrypted links. ``raw`` takes the key: the schema has only keys that a switch has encrypted."""
    wanted = [port.macsec for port in config.interfaces if port.macsec]
    if not wanted:
        return {}
    own = wanted[0]  # all links between sites are encrypted alike
    raw += ["mac security", f"   profile {MACSEC_PROFILE}", f"      key {own.key_name} 0 {secret(own.key)}"]
    *_, bits = own.cipher_suite.split("-")
    cipher = f"aes{bits}-gcm{'-xpn' if '-xpn-' in own.cipher_suite else ''}"
    return {"mac_security": {"profiles": [{"name": MACSEC_PROFILE, "cipher": cipher}]}}


def _membership(config: DeviceConfig, port: Interface) -> dict[str, Any]:
    number = next((one.vlan for one in config.gateways if one.vlan_name == port.vlan), port.native_vlan)
    own = set[int]() if number is None else {number}
    carried = sorted(own | set(port.tagged))
    if not carried:
        return {}
    if port.native_vlan is None and not port.tagged:
        return {"mode": "access", "access_vlan": carried[0]}
    native = {} if port.native_vlan is None else {"native_vlan": port.native_vlan}
    return {"mode": "trunk", "trunk": {**native, "allowed_vlan": _listed(carried)}}


def _listed(numbers: list[int]) -> str:
    """Numbers in order as EOS shows them: those that follow one another as a range."""
    text = ""
    for at, one in enumerate(numbers):
        before, after = one - 1 in numbers, one + 1 in numbers
        if before and after:
            continue
        mark = "" if at == 0 else "-" if before else ","
        text += f"{mark}{one}"
    return text


def _gateway(config: DeviceConfig, gateway: Gateway) -> dict[str, Any]:
    timers = gateway.advertisements
    found = shared(gateway.addresses) if gateway.mac else addressed(gateway.addresses)
    found |= {"ip_proxy_arp": True} if gateway.proxy_arp else {}
    found |= {**on_gateway(config, gateway), **at_gateway(config, gateway)}
    if "ipv6" in gateway.families:
        found["ipv6_enable"] = True
    if gateway.vrf:
        found["vrf"] = gateway.vrf
    if timers is None:
        return {**found, "ipv6_nd": {"ra": {"disabled": True}}} if "ipv6_enable" in found else found
    prefix: dict[str, Any] = {
        "valid_lifetime": str(timers.prefix_valid_lifetime),
        "preferred_lifetime": str(timers.prefix_preferred_lifetime),
    }
    prefix |= {} if timers.autonomous else {"no_autoconfig_flag": True}
    prefixes = [{"ipv6_prefix": one, **prefix} for one in gateway.advertised] if timers.on_link else []
    discovery: dict[str, Any] = {"prefixes": prefixes} if prefixes else {}
    discovery |= {"managed_config_flag": True} if timers.managed else {}
    discovery |= {"other_config_flag": True} if timers.other else {}
    found |= {"ipv6_nd": discovery} if discovery else {}
    return {**found, "eos_cli": "\n".join(_unknown_to_schema(gateway, timers))}


def _unknown_to_schema(gateway: Gateway, timers: RouterAdvertisements) -> list[str]:
    """Router advertisements, as far as the schema has no word for them."""
    lines = [
        f"ipv6 nd ra interval {timers.max_interval} {timers.min_interval}",
        f"ipv6 nd ra lifetime {timers.router_lifetime}",
        f"ipv6 nd ra hop-limit {timers.hop_limit}",
    ]
    if not timers.link_mtu:
        lines.append("ipv6 nd ra mtu suppress")
    if timers.reachable_time:
        lines.append(f"ipv6 nd reachable-time {timers.reachable_time}")
    if timers.retransmit_timer:
        lines.append(f"ipv6 nd ns-interval {timers.retransmit_timer}")
    if not timers.on_link:
        flags = "no-onlink" if timers.autonomous else "no-autoconfig no-onlink"
        lifetimes = f"{timers.prefix_valid_lifetime} {timers.prefix_preferred_lifetime}"
        lines += [f"ipv6 nd prefix {prefix} {lifetimes} {flags}" for prefix in gateway.advertised]
    return lines


def _speed(port: Interface) -> str:
    """The speed with its lanes; a module of 100G or 200G in a larger port runs on four of them."""
    lanes = min(4, port.lanes) if port.speed_gbps in {100, 200} else port.lanes
    return f"{port.speed_gbps}g-{lanes}"
