"""AVD: VLANs, ports, loopbacks, gateways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.render.eos.ports import (
    ETHERNET_HEADER,
    advertised_unknown_to_avd,
    bridged,
    loopbacks,
    speed,
    vlan_ids,
    waits,
)
from railweave.render.eos.qos import profile_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.device.model import DeviceConfig, Gateway, Interface


def interfaces(config: DeviceConfig) -> dict[str, Any]:
    """Every interface but the management port."""
    routed = {gateway.port: gateway for gateway in config.gateways if gateway.port}
    found: dict[str, Any] = {
        "ethernet_interfaces": [_port(config, port, routed.get(port.name)) for port in config.interfaces],
        "loopback_interfaces": [
            {"name": one.name, "description": one.description, **_addresses(one.addresses)} for one in loopbacks(config)
        ],
    }
    vlans = [one for one in config.gateways if one.vlan]
    if vlans:
        found["vlans"] = [{"id": one.vlan, "name": one.vlan_name} for one in vlans]
        found["vlan_interfaces"] = [
            {"name": f"Vlan{one.vlan}", "description": one.description, "mtu": one.mtu, **_gateway(one)}
            for one in vlans
        ]
    return found


def _addresses(addresses: Sequence[str]) -> dict[str, Any]:
    four = [one for one in addresses if ":" not in one]
    six = [one for one in addresses if ":" in one]
    found: dict[str, Any] = {"ip_address": four[0]} if four else {}
    found |= {"ip_address_secondaries": four[1:]} if four[1:] else {}
    return found | ({"ipv6_addresses": six} if six else {})


def _port(config: DeviceConfig, port: Interface, gateway: Gateway | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": port.name,
        "description": port.description,
        "speed": speed(port),
        "flowcontrol": {"received": "off"},
        "error_correction_encoding": {"reed_solomon": True},
    }
    raw = ["flowcontrol send off"]
    if waits(port, gateway):
        found["shutdown"] = True
    profile = profile_of(config, port.name)
    if profile:
        found["service_profile"] = profile
    if bridged(port, gateway):
        found["switchport"] = {"enabled": True, **_membership(config, port)}
    else:
        found["switchport"] = {"enabled": False}
        if gateway is None:
            found["mtu"] = port.mtu - ETHERNET_HEADER
            found |= _addresses(port.addresses) if port.addresses else {"ipv6_enable": True}
        else:
            own = _gateway(gateway)
            raw += [one for one in [own.pop("eos_cli", "")] if one]
            found |= {"mtu": gateway.mtu, **own}
    return {**found, "eos_cli": "\n".join(raw)}


def _membership(config: DeviceConfig, port: Interface) -> dict[str, Any]:
    if port.vlan is None:
        return {}
    number = vlan_ids(config)[port.vlan]
    if port.native_vlan is None:
        return {"mode": "access", "access_vlan": number}
    return {"mode": "trunk", "trunk": {"native_vlan": port.native_vlan, "allowed_vlan": str(number)}}


def _gateway(gateway: Gateway) -> dict[str, Any]:
    timers = gateway.advertisements
    found = _addresses(gateway.addresses)
    if ":" in gateway.addresses[0]:
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
    prefixes = [{"ipv6_prefix": one, **prefix} for one in gateway.prefixes] if timers.on_link else []
    discovery: dict[str, Any] = {"prefixes": prefixes} if prefixes else {}
    discovery |= {"managed_config_flag": True} if timers.managed else {}
    discovery |= {"other_config_flag": True} if timers.other else {}
    found |= {"ipv6_nd": discovery} if discovery else {}
    return {**found, "eos_cli": "\n".join(advertised_unknown_to_avd(gateway))}
