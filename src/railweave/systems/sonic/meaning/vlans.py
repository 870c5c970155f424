"""Conversion between the VLANs, VRFs and VXLAN tunnel of a device and the tables of ``statements.vlans``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.model.config.number_ranges import numbers
from railweave.model.device.model import Bgp, BridgedVlan, MacVrf
from railweave.model.device.model import Gateway as DeviceGateway
from railweave.model.device.overlay import MAC_VRF, MAC_VRF_NUMBER
from railweave.systems.frr.meaning.ports import advertisements, prefixes
from railweave.systems.frr.read.text import number
from railweave.systems.frr.statements.ports import Port
from railweave.systems.sonic.names import VRF, transit_vlan, vrf_names
from railweave.systems.sonic.statements.vlans import Assigned, Gateway, Mapped, Vlan, Vlans

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from railweave.model.config.addresses import Address
    from railweave.model.device.model import DeviceConfig, Interface
    from railweave.systems.sonic.read.rows import Rows, TableReader

TUNNEL, ENDPOINT = "vtep", "nvo"
_TRANSIT = "VNI of "


def vlans_of(config: DeviceConfig) -> Vlans:
    """Return the VXLAN tunnel and the VLANs as the tables have them.

    There is a VLAN for each layer-2 segment of servers, and a VLAN for each VRF's VNI.
    """
    names, bridged = vrf_names(config), [each for each in config.gateways if each.vlan is not None]
    vlans = {each.name: Vlan(each.vlan, each.description, each.mtu) for each in bridged}
    vlans |= {f"Vlan{vlan}": Vlan(vlan) for vlan in config.bare_vlans()}
    gateways = {
        each.name: Gateway(names[each.vrf] if each.vrf else "", bool(each.mac) or None, each.proxy_arp or None)
        for each in bridged
    }
    made = Vlans(
        vlans=vlans,
        members={
            f"Vlan{vlan} {port.name}": vlan in port.tagged
            for port in sorted(config.interfaces, key=lambda port: numbers(port.name))
            for vlan in config.carried(port)
        },
        gateways=gateways,
        addresses=tuple(Assigned(each.name, address) for each in bridged for address in each.addresses),
        mac=next((each.mac for each in bridged if each.mac), ""),
    )
    if config.overlay is None or not config.vrfs or not config.overlay.endpoints:
        return made
    transit = {vrf.name: transit_vlan(config, vrf.name) for vrf in config.vrfs}
    vlans |= {f"Vlan{vlan}": Vlan(vlan, f"{_TRANSIT}{vrf}") for vrf, vlan in transit.items()}
    gateways |= {f"Vlan{vlan}": Gateway(names[vrf]) for vrf, vlan in transit.items()}
    mapped = [(transit[vrf.name], vrf.vni) for vrf in config.vrfs]
    mapped += [(each.vlan, each.vni) for each in config.mac_vrf.vlans] if config.mac_vrf else []
    return replace(
        made,
        vrfs={names[vrf.name]: vrf.vni for vrf in config.vrfs},
        tunnels={TUNNEL: config.overlay.endpoints[0].address},
        endpoints={ENDPOINT: TUNNEL},
        mapped=tuple(Mapped(TUNNEL, f"map_{vni}_Vlan{vlan}", f"Vlan{vlan}", vni) for vlan, vni in mapped),
    )


@dataclass(frozen=True)
class Membership:
    """The VLANs of a port.

    - ``vlan``: the name of the port's untagged VLAN or, if the port has only tagged VLANs, of the first of these.
    - ``tagged``: the numbers of the port's tagged VLANs.
    """

    vlan: str
    tagged: tuple[int, ...] = ()


def members(vlans: Vlans, reader: TableReader) -> dict[str, Membership]:
    """Return the VLANs of each port that is a member of a VLAN. ``reader`` has the rows of the tables."""
    untagged: dict[str, str] = {}
    tagged: dict[str, dict[str, int]] = {}
    for member, has_tag in vlans.members.items():
        name, _, port = member.partition(" ")
        vlan = number(name.removeprefix("Vlan"))
        if not has_tag and untagged.setdefault(port, name) == name:
            continue
        if has_tag and vlan is not None:
            tagged.setdefault(port, {})[name] = vlan
        else:
            reader.mark_field_unknown(f"VLAN_MEMBER {member}", "tagging_mode")
    return {
        port: Membership(
            untagged[port] if port in untagged else next(iter(tagged[port])), tuple(tagged.get(port, {}).values())
        )
        for port in (*untagged, *(port for port in tagged if port not in untagged))
    }


@dataclass(frozen=True)
class Tunnels:
    """The VXLAN tunnels of a switch.

    - ``source``: the address from which tunnels start, or None if there is none.
    - ``bridged``: the VNI of each VLAN that is extended over tunnels.
    - ``transit``: the VRF of each VLAN that exists only for the VRF's VNI.
    """

    source: Address | None
    bridged: dict[str, int]
    transit: dict[str, str]


def tunnels(vlans: Vlans) -> Tunnels:
    """Return the VXLAN tunnels in the tables. The VLAN of a VRF's VNI has no ports; SONiC routes between tunnels through it."""
    of_vni = {vni: vrf for vrf, vni in vlans.vrfs.items() if vni}
    mapped = [each for each in vlans.mapped if each.vni is not None]
    return Tunnels(
        source=next(reversed(vlans.tunnels.values()), None),
        bridged={each.vlan: each.vni for each in mapped if each.vni is not None and each.vni not in of_vni},
        transit={each.vlan: of_vni[each.vni] for each in mapped if each.vni in of_vni},
    )


def designed_names(vlans: Vlans, vxlan: Tunnels, reader: TableReader) -> dict[str, str]:
    """Return the names of VRFs in the design, by their names on the switch. ``vxlan`` has the VLAN of each VRF's VNI.

    The description that railweave gives to such a VLAN contains the designed name. If the operator has changed the description, the
    result is the name on the switch without its prefix. ``reader`` has the rows of the tables.
    """
    for vlan, vrf in vxlan.transit.items():
        if vlans.gateways.get(vlan, Gateway()).vrf != vrf:
            reader.mark_field_unknown(f"VLAN_INTERFACE {vlan}", "vrf_name")
    about = {vrf: vlans.vlans[vlan].description for vlan, vrf in vxlan.transit.items() if vlan in vlans.vlans}
    return {
        vrf: text.removeprefix(_TRANSIT) if text.startswith(_TRANSIT) else vrf.removeprefix(VRF)
        for vrf, text in about.items()
    }


def gateways(
    vlans: Vlans, tables: Rows, reader: TableReader, ports: Mapping[str, Port], vxlan: Tunnels, routed: Collection[str]
) -> Iterator[DeviceGateway]:
    """Yield the gateways of VLANs, then the gateways on routed ports to servers (``routed`` has the names of these ports).

    ``vxlan`` has the VLANs of VRFs' VNIs, which are not gateways for servers. ``reader`` has the rows of the tables.
    """
    for name, vlan in vlans.vlans.items():
        gateway = vlans.gateways.get(name)
        if vlan.up is False and (name in vxlan.transit or gateway is None):
            reader.mark_field_unknown(f"VLAN {name}", "admin_status")
        if name in vxlan.transit or vlan.number is None or gateway is None or vlan.up is False:
            reader.mark_field_unknown(f"VLAN {name}", "mtu")
            continue
        port = ports.get(name, Port(name))
        if not port.shut:
            mac = vlans.mac if gateway.anycast else ""
            made = _gateway(port, vlan.description, vlan.mtu)
            yield replace(made, vlan=vlan.number, vlan_name=name, proxy_arp=bool(gateway.proxy_arp), mac=mac)
    for name in routed:
        row = tables.row("PORT", name)
        yield replace(_gateway(ports[name], row.text("description"), row.number("mtu")), port=name)


def _gateway(port: Port, description: str, mtu: int | None) -> DeviceGateway:
    return DeviceGateway(
        name=port.name,
        vlan=None,
        vlan_name="",
        description=description or port.description,
        mtu=mtu or 0,
        addresses=port.addresses,
        prefixes=prefixes(port),
        advertisements=advertisements(port),
        vrf=port.vrf,
    )


def mac_vrf(
    from_frr: MacVrf | None, vxlan: Tunnels, bgp: Bgp | None, interfaces: Collection[Interface]
) -> MacVrf | None:
    """Return the bridging instance with the VLANs that have a VNI, or None if no VLAN has a VNI.

    ``vxlan`` has the VNIs. ``from_frr`` is the same instance as read from FRR; it has the route targets of the VNIs.
    """
    known = {vlan.vni: vlan for vlan in from_frr.vlans} if from_frr else {}
    if not known and not vxlan.bridged:
        return None
    asn = bgp.asn & 0xFFFF if bgp else 0
    of_vni = {vni: vlan for vlan, vni in vxlan.bridged.items()}
    vlans: list[BridgedVlan] = []
    for vni in dict.fromkeys((*known, *of_vni)):
        name = of_vni.get(vni) or (f"Vlan{known[vni].vlan}" if vni in known else "")
        number = int(name[4:]) if name[4:].isdecimal() and name[4:].isascii() and len(name) <= 8 else 0
        held = known.get(vni) or BridgedVlan(number, name, vni, f"target:{asn}:{vni}")
        vlans.append(replace(held, vlan=number, name=name))
    names, numbers = {bridged.name for bridged in vlans}, {bridged.vlan for bridged in vlans}
    router = bgp.router_id if bgp else ""
    return MacVrf(
        name=MAC_VRF,
        route_distinguisher=from_frr.route_distinguisher if from_frr else f"{router}:{MAC_VRF_NUMBER}",
        route_target="",
        vlans=tuple(vlans),
        ports=tuple(port.name for port in interfaces if port.vlan in names or not numbers.isdisjoint(port.tagged)),
    )
