"""VLANs, their gateways, VRFs and the tunnel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.model.device.model import BridgedVlan, Gateway, MacVrf
from railweave.model.device.overlay import MAC_VRF, MAC_VRF_NUMBER
from railweave.systems.frr.read.ports import Port
from railweave.systems.frr.read.routing import advertisements, prefixes
from railweave.systems.frr.read.values import address, number
from railweave.systems.sonic.read.ports import Member

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from railweave.model.config.addresses import Address
    from railweave.model.device.model import Bgp, Interface
    from railweave.systems.sonic.read.rows import Rows

_TRANSIT = "VNI of "


@dataclass(frozen=True)
class Tunnels:
    """The tunnel's source; VNIs of bridged VLANs by the VLAN; VLANs that stand for the VNI of a VRF, with that VRF."""

    source: Address | None
    bridged: dict[str, int]
    transit: dict[str, str]


def tunnels(tables: Rows) -> Tunnels:
    """What VXLAN tables say. The VLAN of a VRF's VNI has no ports: SONiC routes between tunnels by way of it."""
    source = None
    for row in tables.rows("VXLAN_TUNNEL"):
        source = address(row.text("src_ip"))
        if source is None:
            row.leave("src_ip")
    for row in tables.rows("VXLAN_EVPN_NVO"):
        row.text("source_vtep")
    of_vni = {row.text("vni"): row.key for row in tables.rows("VRF") if row.text("vni") not in {"", "0"}}
    bridged: dict[str, int] = {}
    transit: dict[str, str] = {}
    for row in tables.rows("VXLAN_TUNNEL_MAP"):
        vlan, vni = row.text("vlan"), row.number("vni")
        if row.text("vni") in of_vni:
            transit[vlan] = of_vni[row.text("vni")]
        elif vni is not None:
            bridged[vlan] = vni
    return Tunnels(source, bridged, transit)


def vrf_names(tables: Rows, found: Tunnels) -> dict[str, str]:
    """What the design calls VRFs, by their names here: the VLAN of a VRF's VNI says so in our configurations."""
    names: dict[str, str] = {}
    for vlan, vrf in found.transit.items():
        row = tables.row("VLAN", vlan)
        interface = tables.row("VLAN_INTERFACE", vlan)
        if interface.text("vrf_name") != vrf:
            interface.leave("vrf_name")
        row.text("vlanid")
        about = row.text("description")
        if about.startswith(_TRANSIT):
            names[vrf] = about.removeprefix(_TRANSIT)
    return names


def members(tables: Rows) -> dict[str, Member]:
    """The VLANs of each port that is in any."""
    untagged: dict[str, str] = {}
    tagged: dict[str, dict[str, int]] = {}
    for row in tables.rows("VLAN_MEMBER"):
        vlan, _, port = row.key.partition("|")
        number_of = number(vlan.removeprefix("Vlan"))
        if row.says("tagging_mode", "untagged") and untagged.setdefault(port, vlan) == vlan:
            continue
        if row.says("tagging_mode", "tagged") and number_of is not None:
            tagged.setdefault(port, {})[vlan] = number_of
        else:
            row.leave("tagging_mode")
            row.known = False
    return {
        port: Member(
            untagged[port] if port in untagged else next(iter(tagged[port])), tuple(tagged.get(port, {}).values())
        )
        for port in (*untagged, *(port for port in tagged if port not in untagged))
    }


def gateways(tables: Rows, ports: Mapping[str, Port], found: Tunnels, routed: Collection[str]) -> Iterator[Gateway]:
    """Gateways of VLANs, and ports of servers that route by themselves."""
    mac = tables.row("SAG", "GLOBAL").text("gateway_mac")
    for row in tables.rows("VLAN"):
        vlan = row.number("vlanid")
        interface = tables.tables.get("VLAN_INTERFACE", {}).get(row.key)
        shut = row.text("admin_status") == "down"
        if row.key in found.transit or vlan is None or interface is None or shut:
            continue
        port = ports.get(row.key, Port(row.key))
        yield Gateway(
            name=row.key,
            vlan=vlan,
            vlan_name=row.key,
            description=row.text("description") or port.description,
            mtu=row.number("mtu") or 0,
            addresses=tuple(port.addresses),
            prefixes=prefixes(port),
            advertisements=advertisements(port),
            vrf=port.vrf,
            proxy_arp=interface.says("proxy_arp", "enabled"),
            mac=mac if interface.says("static_anycast_gateway", "true") else "",
        )
    for name in routed:
        port, row = ports[name], tables.row("PORT", name)
        yield Gateway(
            name=name,
            vlan=None,
            vlan_name="",
            description=row.text("description") or port.description,
            mtu=row.number("mtu") or 0,
            addresses=tuple(port.addresses),
            prefixes=prefixes(port),
            advertisements=advertisements(port),
            port=name,
            vrf=port.vrf,
        )


def mac_vrf(
    from_frr: MacVrf | None, found: Tunnels, bgp: Bgp | None, interfaces: Collection[Interface]
) -> MacVrf | None:
    """The bridging instance: VLANs that have a VNI, with the route targets that FRR has for those."""
    known = {one.vni: one for one in from_frr.vlans} if from_frr else {}
    if not known and not found.bridged:
        return None
    asn = bgp.asn & 0xFFFF if bgp else 0
    of_vni = {vni: vlan for vlan, vni in found.bridged.items()}
    vlans: list[BridgedVlan] = []
    for vni in dict.fromkeys((*known, *of_vni)):
        name = of_vni.get(vni) or (f"Vlan{known[vni].vlan}" if vni in known else "")
        number = int(name[4:]) if name[4:].isdecimal() and name[4:].isascii() and len(name) <= 8 else 0
        one = known.get(vni) or BridgedVlan(number, name, vni, f"target:{asn}:{vni}")
        vlans.append(replace(one, vlan=number, name=name))
    names, numbers = {one.name for one in vlans}, {one.vlan for one in vlans}
    router = bgp.router_id if bgp else ""
    return MacVrf(
        name=MAC_VRF,
        route_distinguisher=from_frr.route_distinguisher if from_frr else f"{router}:{MAC_VRF_NUMBER}",
        route_target="",
        vlans=tuple(vlans),
        ports=tuple(one.name for one in interfaces if one.vlan in names or not numbers.isdisjoint(one.tagged)),
    )
