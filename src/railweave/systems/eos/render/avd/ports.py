"""AVD: VLANs, ports, loopbacks, gateways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.render.avd.isis import PASSIVE, on_port
from railweave.systems.eos.render.isis import told
from railweave.systems.eos.render.macsec import CIPHERS, MACSEC_PROFILE, key_line, wanted
from railweave.systems.eos.render.ports import (
    ETHERNET_HEADER,
    advertised_unknown_to_avd,
    bridged,
    loopbacks,
    speed,
    tagged_name,
    vlan_ids,
    waits,
)
from railweave.systems.eos.render.qos import profile_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.device.model import DeviceConfig, Gateway, Interface


def interfaces(config: DeviceConfig) -> dict[str, Any]:
    """Every interface but the management port."""
    routed = {gateway.port: gateway for gateway in config.gateways if gateway.port}
    found: dict[str, Any] = {
        "ethernet_interfaces": [
            *(_port(config, port, routed.get(port.name)) for port in config.interfaces),
            *(_tagged(port) for port in config.interfaces if port.unit_vlan is not None),
        ],
        "loopback_interfaces": [
            {
                "name": one.name,
                "description": one.description,
                **_addresses(one.addresses),
                **(PASSIVE if config.isis else {}),
            }
            for one in loopbacks(config)
        ],
    }
    vlans = [one for one in config.gateways if one.vlan]
    if vlans:
        found["vlans"] = [{"id": one.vlan, "name": one.vlan_name} for one in vlans]
        found["vlan_interfaces"] = [
            {"name": f"Vlan{one.vlan}", "description": one.description, "mtu": one.mtu, **_gateway(config, one)}
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
            if port.unit_vlan is None:
                found |= _addressed(port) if port.addresses else {"ipv6_enable": True}
        else:
            own = _gateway(config, gateway)
            raw += [one for one in [own.pop("eos_cli", "")] if one]
            found |= {"mtu": gateway.mtu, **own}
    found |= {"mac_security": {"profile": MACSEC_PROFILE}} if port.macsec else {}
    return {**found, **on_port(config, port.name), "eos_cli": "\n".join(raw)}


def _addressed(port: Interface) -> dict[str, Any]:
    found = _addresses(port.addresses)
    found |= {"vrf": port.vrf} if port.vrf else {}
    return found | ({"ipv6_enable": True} if port.vrf and "ipv6_addresses" in found else {})


def _tagged(port: Interface) -> dict[str, Any]:
    found = {"name": tagged_name(port), "description": port.description}
    return {**found, "encapsulation_dot1q": {"vlan": port.unit_vlan}, **_addressed(port)}


def encryption(config: DeviceConfig, raw: list[str]) -> dict[str, Any]:
    """The profile of encrypted links. ``raw`` takes the key: the schema has only keys that a switch has encrypted."""
    own = wanted(config)
    if own is None:
        return {}
    raw += ["mac security", f"   profile {MACSEC_PROFILE}", f"      {key_line(own)}"]
    return {"mac_security": {"profiles": [{"name": MACSEC_PROFILE, "cipher": CIPHERS[own.cipher_suite]}]}}


def _membership(config: DeviceConfig, port: Interface) -> dict[str, Any]:
    if port.vlan is None:
        return {}
    number = vlan_ids(config)[port.vlan]
    if port.native_vlan is None:
        return {"mode": "access", "access_vlan": number}
    return {"mode": "trunk", "trunk": {"native_vlan": port.native_vlan, "allowed_vlan": str(number)}}


def _shared(addresses: Sequence[str]) -> dict[str, Any]:
    four = [one for one in addresses if ":" not in one]
    six = [one for one in addresses if ":" in one]
    found: dict[str, Any] = {"ip_address_virtual": four[0]} if four else {}
    found |= {"ip_address_virtual_secondaries": four[1:]} if four[1:] else {}
    return found | ({"ipv6_address_virtuals": six} if six else {})


def _gateway(config: DeviceConfig, gateway: Gateway) -> dict[str, Any]:
    timers = gateway.advertisements
    found = _shared(gateway.addresses) if gateway.mac else _addresses(gateway.addresses)
    found |= {"ip_proxy_arp": True} if gateway.proxy_arp else {}
    found |= PASSIVE if told(config, gateway) else {}
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
