"""Conversion of the interfaces of a device to their statements (``statements.ports``)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.config.number_ranges import numbers
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.systems.dell_sonic.meaning.qos import port_qos_of
from railweave.systems.dell_sonic.statements.ports import (
    INTERFACES,
    Assigned,
    Interfaces,
    Lines,
    Shared,
    Split,
    Splits,
    Tunnel,
)
from railweave.systems.frr.meaning.ports import DISCOVERY, advertised_of
from railweave.systems.sonic.meaning.management import kbps
from railweave.systems.sonic.names import transit_vlan, vrf_names
from railweave.systems.sonic.statements.management import STORMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from railweave.model.config.addresses import Family
    from railweave.model.config.sections import Section
    from railweave.model.device.model import DeviceConfig, Gateway, Interface
    from railweave.systems.frr.statements.ports import Advertised

FILTERS: dict[Family, str] = {"ipv4": "from-servers-v4", "ipv6": "from-servers-v6"}
"""The name of the access list on gateways' interfaces, by address family."""
TUNNEL = "vtep"


def splits_of(config: DeviceConfig) -> Splits:
    """Return the breakouts of ports that are split into channels, by port name."""
    split = (each for each in config.splits if each.channels > 1)
    return Splits({each.port: Split(each.channels, each.speed_gbps) for each in split})


def shared_of(config: DeviceConfig) -> Shared:
    """Return the settings that all interfaces share: the MAC address of all gateways, the gateways' address families, and the spanning tree.

    The spanning tree is on only to detect bridges.
    """
    gateways = [gateway for gateway in config.gateways if gateway.mac]
    present = {address.family for gateway in gateways for address in gateway.addresses}
    return Shared(gateways[0].mac if gateways else "", tuple(sorted(present)), config.bpdu_guard())


def interfaces_of(config: DeviceConfig) -> Interfaces:
    """Return all interfaces as the values that their configuration lines print.

    They are loopbacks, VLANs with their gateways, cabled ports, and the VXLAN tunnel.
    """
    names = vrf_names(config)
    loopbacks = [Lines("Loopback0", unicast=_assigned(config.loopbacks()))]
    loopbacks += [
        Lines(f"Loopback{vrf.unit}", vrf=names[vrf.name], unicast=_plain(vrf.loopbacks))
        for vrf in config.vrfs
        if vrf.unit is not None
    ]
    vlans = [
        Lines(f"Vlan{each.vlan}", each.description, each.mtu, **_gateway(config, each, names))
        for each in config.gateways
        if each.vlan
    ]
    vlans += [Lines(f"Vlan{number}") for number in config.bare_vlans()]
    vlans += [Lines(f"Vlan{transit_vlan(config, vrf.name)}", vrf=names[vrf.name]) for vrf in config.vrfs]
    return Interfaces(
        loopbacks={each.name: each for each in loopbacks},
        vlans={each.name: each for each in vlans},
        ports={each.name: each for each in _ports(config, names)},
        tunnels=_tunnels(config, names),
    )


def _ports(config: DeviceConfig, names: Mapping[str, str]) -> Iterator[Lines]:
    routed = {gateway.port: gateway for gateway in config.gateways if gateway.port}
    for port in sorted(config.interfaces, key=lambda each: numbers(each.name)):
        yield _port(config, port, routed.get(port.name), names)
        for tagged in port.parts() if port.kind == "external" and port.unit_vlan is not None else ():
            name = f"{tagged.name}.{tagged.unit_vlan}"
            yield Lines(name, tagged.description, tag=tagged.unit_vlan, **_external(tagged, names))


def _port(config: DeviceConfig, port: Interface, gateway: Gateway | None, names: Mapping[str, str]) -> Lines:
    limit = kbps(config, port)
    carried = config.carried(port)
    more: dict[str, Any] = {}
    if gateway is not None:
        more = _gateway(config, gateway, names)
    elif port.kind == "external":
        more = _external(port, names) if port.unit_vlan is None else {}
    elif carried:
        untagged = [vlan for vlan in carried if vlan not in port.tagged]
        more = {"vlan": untagged[0] if untagged else None, "trunks": (port.tagged,) if port.tagged else ()}
    elif port.kind == "fabric":
        more = {"unicast": _plain(port.addresses)} if port.addresses else {"ipv6": True, "advertised": DISCOVERY}
    return Lines(
        port.name,
        port.description,
        gateway.mtu if gateway else port.mtu - ETHERNET_HEADER,
        port.speed_gbps,
        fec=port.fec,
        training=port.copper,
        shut=not port.enabled,
        floods=dict.fromkeys(STORMS, limit) if limit else {},
        guarded=config.bpdu_guard() and port in config.edge_ports(),
        qos=port_qos_of(config, port),
        **more,
    )


def _gateway(config: DeviceConfig, gateway: Gateway, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of ``Lines`` (the settings of an interface), by name, that are set because the interface is a gateway.

    ``names`` are the names of VRFs on the switch, by tenant. The field ``filters`` has an access list only for address families in which
    packets are dropped.
    """
    dropped = {rule.family for rule in (config.protection.server_ports if config.protection else ())}
    return {
        "vrf": names[gateway.vrf] if gateway.vrf else "",
        "shared" if gateway.mac else "unicast": (_plain if gateway.mac else _assigned)(gateway.addresses),
        "advertised": _advertised(gateway),
        "proxy_arp": gateway.proxy_arp,
        "filters": {family: name for family, name in FILTERS.items() if family in dropped & {*gateway.families}},
    }


def _external(port: Interface, names: Mapping[str, str]) -> dict[str, Any]:
    """Return fields of ``Lines`` (the settings of an interface), by name, for a port to an external router: VRF and addresses.

    ``port`` is the port or one of its tagged subinterfaces. ``names`` are the names of VRFs on the switch, by tenant.
    """
    return {"vrf": names[port.vrf] if port.vrf else "", "unicast": _plain(port.addresses)}


def _plain(addresses: Iterable[Any]) -> tuple[Assigned, ...]:
    return tuple(Assigned(**{address.family: address}) for address in addresses)


def _assigned(addresses: Iterable[Any]) -> tuple[Assigned, ...]:
    """Return the addresses of an interface. All IPv4 addresses except the first are secondary."""
    first = next((address for address in addresses if address.family == "ipv4"), None)
    return tuple(
        Assigned(ipv4=address, secondary=None if address is first else True)
        if address.family == "ipv4"
        else Assigned(ipv6=address)
        for address in addresses
    )


def _advertised(gateway: Gateway) -> Advertised | None:
    """Return the router advertisements of a gateway, or None if the gateway sends none.

    A gateway with a shared MAC address has no minimum interval.
    """
    advertised, timers = advertised_of(gateway), gateway.advertisements
    return (
        replace(advertised, min_interval=timers.min_interval)
        if advertised and timers and not gateway.mac
        else advertised
    )


def _tunnels(config: DeviceConfig, names: Mapping[str, str]) -> dict[str, Tunnel]:
    """Return the VXLAN tunnel between leaves, by name. It maps tenants' VNIs to VLANs and VRFs, and the VNIs of layer-2 networks to VLANs.

    ``names`` are the names of VRFs on the switch, by tenant. The result is empty if the switch has no tunnel.
    """
    if config.overlay is None or not config.vrfs or not config.overlay.endpoints:
        return {}
    vlans = {transit_vlan(config, vrf.name): vrf.vni for vrf in config.vrfs}
    vlans |= {each.vlan: each.vni for each in (config.mac_vrf.vlans if config.mac_vrf else ())}
    vrfs = {names[vrf.name]: vrf.vni for vrf in config.vrfs}
    return {TUNNEL: Tunnel(str(config.overlay.endpoints[0].address), vlans, vrfs)}


def unrepresented_at_ports(interfaces: Interfaces, config: DeviceConfig) -> Iterator[Section]:
    """Yield the lines about interfaces that ``DeviceConfig`` cannot represent.

    These lines set storm control or router advertisements, or belong to interfaces whose names do not follow railweave's scheme.
    """
    if "Loopback0" not in interfaces.loopbacks:
        yield from (lines.section for lines in interfaces.loopbacks.values() if lines.section and not lines.vrf)
    yield from (
        tunnel.section
        for name, tunnel in interfaces.tunnels.items()
        if tunnel.section and not re.fullmatch(rf"{TUNNEL}\d*", name)
    )
    expected = interfaces_of(config).every
    for name, lines in interfaces.every.items():
        held = expected.get(name, Lines(name))
        if lines.section is not None and lines.tag is not None and "." not in name:  # only subinterfaces have a tag
            yield from (line for line in lines.section.body or () if line.line.startswith("encapsulation "))
        if lines.section is None or (lines.floods, lines.advertised) == (held.floods, held.advertised):
            continue
        known = {
            line.line for section in INTERFACES.printed(Interfaces(vlans={name: held})) for line in section.body or ()
        }
        for line in lines.section.body or ():
            if line.line.startswith(("storm-control ", "ipv6 nd ")) and line.line not in known:
                yield line
