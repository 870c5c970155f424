"""Rendering of front-panel ports (``PORT`` with its lanes, ``BREAKOUT_CFG``, MACsec), of interfaces and VLANs, and of the loopback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.number_ranges import numbers
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.systems.sonic.names import LOOPBACK, routed_name, vrf_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig, Gateway, Interface
    from railweave.systems.sonic.tables import Row, Tables


PROFILE = "interconnect"
KEY_NAME_DIGITS = 64
"""The number of digits in a MACsec key name (sonic-macsec.yang allows 32 or 64)."""


def macsec(config: DeviceConfig) -> Tables:
    """Return the table ``MACSEC_PROFILE``.

    A shorter key name is padded with zeros at its end, as Junos does (connectivity-association, ckn).
    """
    wanted = next((port.macsec for port in config.interfaces if port.macsec), None)
    if wanted is None:
        return {}
    return {
        "MACSEC_PROFILE": {
            PROFILE: {
                "cipher_suite": wanted.cipher_suite.upper(),
                "primary_cak": f"<{wanted.key}>",
                "primary_ckn": wanted.key_name.ljust(KEY_NAME_DIGITS, "0"),
                "policy": "security",
            }
        }
    }


def ports(config: DeviceConfig) -> Tables:
    """Return ``PORT`` for all ports of the front panel, and ``BREAKOUT_CFG`` for ports that are split.

    SONiC creates exactly the ports in the table, with the lanes in the table. Ports without a cable are shut down.
    """
    model, system = catalog().switches.get(config.model), catalog().systems[config.nos]
    cabled = {port.name: port for port in config.interfaces}
    routed = {gateway.port: gateway for gateway in config.gateways if gateway.port}
    splits = {split.physical: (split.channels, split.speed_gbps) for split in config.splits}
    if model is None:  # a configuration that was read may have a model that the catalog does not have
        return {"PORT": {name: _use(port, routed.get(name)) for name, port in cabled.items()}}
    lanes = model.sonic.first_lanes if model.sonic else ()
    table: dict[str, Row] = {}
    modes: dict[str, Row] = {}
    place = 0
    for group in model.ports:
        for physical in range(group.first, group.last + 1):
            first_lane = lanes[place] if place < len(lanes) else place * group.lanes + 1
            channels, speed = splits.get(physical, (1, group.speed_gbps))
            base = place * group.lanes
            modes[f"Ethernet{base}"] = {"brkout_mode": f"{channels}x{speed}G"}
            width = group.lanes // max(1, channels)
            for channel in range(channels):
                offset = channel * width
                name = f"Ethernet{base + offset}"
                row = {
                    "alias": system.alias_of(place, channel if channels > 1 else None),
                    "lanes": ",".join(str(first_lane + offset + lane) for lane in range(width)),
                    "speed": str(speed * 1000),
                    "index": str(place + 1),
                    "subport": str(channel + 1 if channels > 1 else 0),
                    "fec": "rs",
                }
                table[name] = {**row, **_use(cabled.get(name), routed.get(name))}
            place += 1
    return {"PORT": table, "BREAKOUT_CFG": modes}


def _use(port: Interface | None, gateway: Gateway | None) -> Row:
    if port is None:
        return {"admin_status": "down"}
    return {
        "description": port.description,
        "mtu": str(gateway.mtu if gateway else port.mtu - ETHERNET_HEADER),
        "admin_status": "up" if port.enabled else "down",
        **({"fec": port.fec} if port.fec else {}),
        **({"macsec": PROFILE} if port.macsec else {}),
    }


def interfaces(config: DeviceConfig) -> Tables:
    """Return ``INTERFACE`` and ``VLAN_SUB_INTERFACE``: fabric links, routed ports to servers, and ports to external routers.

    A fabric link without an address gets a link-local address. A port to an external router is in the VRF of the router's tenant. If the
    port
    has a VLAN tag, the port is in ``VLAN_SUB_INTERFACE``.
    """
    table: dict[str, Row] = {}
    names = vrf_names(config)
    for port in sorted(config.fabric_interfaces(), key=lambda port: numbers(port.name)):
        table[port.name] = {} if port.addresses else {"ipv6_use_link_local_only": "enable"}
        table |= {f"{port.name}|{address}": {} for address in port.addresses}
    for gateway in config.gateways:
        if gateway.port:
            table |= _addressed(gateway, names)
    tagged: dict[str, Row] = {}
    outside = [part for port in config.interfaces if port.kind == "external" for part in port.parts()]
    for port in sorted(outside, key=lambda port: numbers(port.name)):
        if port.kind == "external":
            name, row = routed_name(port), {"vrf_name": names[port.vrf]} if port.vrf else {}
            if port.unit_vlan is None:
                target = table
            else:
                target = tagged
                row |= {"vlan": str(port.unit_vlan), "admin_status": "up"}
            target[name] = {**row}
            target |= {f"{name}|{address}": {} for address in port.addresses}
    return {"INTERFACE": table, "VLAN_SUB_INTERFACE": tagged}


def _addressed(gateway: Gateway, names: dict[str, str]) -> dict[str, Row]:
    name = gateway.name
    row: Row = {"vrf_name": names[gateway.vrf]} if gateway.vrf else {}
    return {name: row, **{f"{name}|{address}": {} for address in gateway.addresses}}


def loopback(config: DeviceConfig) -> Tables:
    """Return the table ``LOOPBACK_INTERFACE``."""
    rows: dict[str, Row] = {LOOPBACK: {}, **{f"{LOOPBACK}|{address}": {} for address in config.loopbacks()}}
    names = vrf_names(config)
    for vrf in config.vrfs:
        if vrf.unit is not None:
            name = f"Loopback{vrf.unit}"
            rows[name] = {"vrf_name": names[vrf.name]}
            rows |= {f"{name}|{address}": {} for address in vrf.loopbacks}
    return {"LOOPBACK_INTERFACE": rows}


def used(config: DeviceConfig) -> Iterator[Interface]:
    """Yield the ports with QoS settings, in the order of their numbers."""
    bound = set(config.qos.ports if config.qos else ())
    yield from sorted((port for port in config.interfaces if port.name in bound), key=lambda port: numbers(port.name))
