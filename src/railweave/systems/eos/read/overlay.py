"""Derivation of the EVPN overlay (sessions, tunnel endpoints, VRFs with external routers, extended VLANs), of VLANs, and of gateways for servers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import FAMILIES, Address, Prefix
from railweave.model.config.sections import select
from railweave.model.device import model
from railweave.model.device.timers import RouterAdvertisements
from railweave.systems.eos.read.bgp import NO_ADDRESS, Process, Sessions
from railweave.systems.eos.read.values import Stanzas, neighbor, number, numbers, prefix
from railweave.systems.eos.render.ports import FIRST_VRF_LOOPBACK
from railweave.systems.eos.statements.bgp import Evpn, Peer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from railweave.model.config.sections import SectionReader, SelectedLine
    from railweave.systems.eos.meaning.policy import Lists
    from railweave.systems.eos.read.ports import Port
    from railweave.systems.frr.statements.bgp import Peer as AnyPeer


VLAN = "Vlan"
EOS_RA = RouterAdvertisements(max_interval=200, min_interval=66, hop_limit=64, link_mtu=True)
"""The defaults of EOS's router advertisements (EOS user manual, IPv6: interval 200 s, lifetime 1800 s, hop limit 64).

According to RFC 4861, the shortest interval is a third of the longest.
"""

_TIMERS: dict[str, tuple[str, int]] = {
    "ipv6 nd ra lifetime <value>": ("router_lifetime", 65535),
    "ipv6 nd ra hop-limit <value>": ("hop_limit", 255),
    "ipv6 nd reachable-time <value>": ("reachable_time", 2**32 - 1),
    "ipv6 nd ns-interval <value>": ("retransmit_timer", 2**32 - 1),
}
_FLAGS = {"ipv6 nd managed-config-flag": "managed", "ipv6 nd other-config-flag": "other"}


def vlans(reader: SectionReader) -> dict[int, str]:
    """Return the name of each VLAN, by its number. A VLAN without a name has EOS's default name, which contains the number.

    ``reader`` has the lines of the configuration.
    """
    names: dict[int, str] = {}
    for line in reader.each("vlan <numbers>"):
        values = numbers(line["numbers"])
        if values is None:
            reader.mark_unknown(line)
            continue
        name = reader.last("name <text...>", below=line)
        names |= {value: name["text"] if name else f"VLAN{value:04d}" for value in values}
    return names


def advertisements(stanzas: Stanzas) -> Callable[[Port], RouterAdvertisements | None]:
    """Return a function that gives the router advertisements of an interface, or None if the interface sends none.

    An interface without an IPv6 address sends none. ``stanzas`` are the lines of all ``interface`` sections.
    """
    reader = stanzas.reader
    off = stanzas.flag("ipv6 nd ra disabled") | {name: True for name, _ in stanzas.each("ipv6 nd ra disabled all")}
    of_port: dict[str, RouterAdvertisements] = {}

    def change(name: str, **more: int | bool) -> None:
        of_port[name] = replace(of_port.get(name, EOS_RA), **more)

    for form, (setting, most) in _TIMERS.items():
        for name, value in stanzas.number(form, 0, most).items():
            change(name, **{setting: value})
    for line, setting in _FLAGS.items():
        for name, there in stanzas.flag(line).items():
            change(name, **{setting: there})
    for name, there in stanzas.flag("ipv6 nd ra mtu suppress").items():
        change(name, link_mtu=not there)
    for name, line in stanzas.each("ipv6 nd ra interval <most> <least>"):
        most, least = number(line["most"]), number(line["least"])
        if most is None or least is None:
            reader.mark_unknown(line)
        else:
            change(name, max_interval=most, min_interval=least)
    of_prefixes: dict[str, list[SelectedLine]] = {}
    for name, line in stanzas.each("ipv6 nd prefix <prefix> **"):
        if not (words := _prefix(line)):
            reader.mark_unknown(line)
        else:
            change(name, **words)
            of_prefixes.setdefault(name, []).append(line)

    def of(port: Port) -> RouterAdvertisements | None:
        _leave_strange(reader, of_prefixes.get(port.name, ()), port)
        if off.get(port.name) or not any(address.family == "ipv6" for address in port.addresses):
            return None
        return of_port.get(port.name, EOS_RA)

    return of


def _leave_strange(reader: SectionReader, lines: Iterable[SelectedLine], port: Port) -> None:
    """Mark those of ``lines`` as not understood that advertise a prefix in which ``port`` has no address.

    ``lines`` are the lines about advertised prefixes. ``reader`` has the lines of the configuration.
    """
    held = {address.prefix for address in port.addresses}
    for line in lines:
        if prefix(line["prefix"]) not in held:
            reader.mark_unknown(line)


def _prefix(line: SelectedLine) -> dict[str, int | bool]:
    """Return the lifetimes and flags of an advertised prefix, by field of ``RouterAdvertisements``. Empty if the line has unknown words."""
    words = line.line.split()[4:]
    flags = {"on_link": "no-onlink" not in words, "autonomous": "no-autoconfig" not in words}
    plain = [word for word in words if word not in {"no-onlink", "no-autoconfig"}]
    plain = ["4294967295" if word == "infinite" else word for word in plain]
    times = [number(word) for word in plain]
    if prefix(line["prefix"]) is None or None in times or len(times) not in {0, 2}:
        return {}
    valid, preferred = times or (EOS_RA.prefix_valid_lifetime, EOS_RA.prefix_preferred_lifetime)
    return {"prefix_valid_lifetime": valid or 0, "prefix_preferred_lifetime": preferred or 0, **flags}


def gateway(
    port: Port, name: str, vlan: int | None, names: Mapping[int, str], sent: RouterAdvertisements | None, mac: str
) -> model.Gateway:
    """Return the gateway of an interface.

    - ``name``: the name of the gateway.
    - ``vlan``: the number of the gateway's VLAN, or None for a routed port.
    - ``names``: the names of VLANs, by number.
    - ``sent``: the router advertisements of the interface.
    - ``mac``: the MAC address of shared gateways. A gateway that is not shared ignores it.
    """
    return model.Gateway(
        name=name,
        vlan=vlan,
        vlan_name="" if vlan is None else names.get(vlan, f"VLAN{vlan:04d}"),
        description=port.description,
        mtu=port.mtu,
        addresses=tuple(port.addresses),
        prefixes=tuple(address.prefix for address in port.addresses),
        advertisements=sent,
        port="" if vlan is not None else port.name,
        vrf=port.vrf,
        proxy_arp=port.proxy_arp,
        mac=mac if port.virtual else "",
    )


def shared_mac(reader: SectionReader) -> str:
    """Return the MAC address of shared gateways, or an empty string if none is set. ``reader`` has the lines of the configuration."""
    line = reader.last("ip virtual-router mac-address <value>")
    return line["value"] if line else ""


MAC_VRF = "evpn-1"
"""The name of the bridging instance in ``DeviceConfig``. EOS itself has a separate instance for each VLAN, without a name."""

_EXTERNAL = "external router "
_LOOPBACK = "Loopback"
_VALUE = re.compile(r"\S+:\d+")


@dataclass
class Tunnels:
    """The settings of ``interface Vxlan1``.

    - ``source``: the loopback from which tunnels start.
    - ``six``: True if tunnels use IPv6 addresses.
    - ``dscp``: True if the outer header of a tunnel gets the DSCP of the packet.
    - ``vlans`` and ``vrfs``: the VNI of each VLAN and each VRF.
    """

    source: str = ""
    six: bool = False
    dscp: bool = False
    vlans: dict[int, int] = field(default_factory=dict[int, int])
    vrfs: dict[str, int] = field(default_factory=dict[str, int])


def tunnels(stanzas: Stanzas) -> Tunnels:
    """Return the settings of ``interface Vxlan1``. ``stanzas`` are the lines of all ``interface`` sections."""
    ends = Tunnels()
    shut = stanzas.flag("shutdown")
    for name, value in stanzas.word("vxlan source-interface <value>").items():
        ends.source = "" if shut.get(name) else value
    for _ in stanzas.each("vxlan encapsulation ipv6"):
        ends.six = True
    for _ in stanzas.each("vxlan qos dscp propagation encapsulation"):
        ends.dscp = True
    for _, line in stanzas.each("vxlan vlan <vlans> vni <vnis>"):
        vlans, vnis = numbers(line["vlans"]), numbers(line["vnis"], 2**24 - 1)
        if vlans is None or vnis is None or len(vlans) != len(vnis):
            stanzas.reader.mark_unknown(line)
        else:
            ends.vlans |= dict(zip(vlans, vnis, strict=True))
    for _, line in stanzas.each("vxlan vrf <name> vni <vni>"):
        vni = number(line["vni"], 1, 2**24 - 1)
        if vni is None:
            stanzas.reader.mark_unknown(line)
        else:
            ends.vrfs[line["name"]] = vni
    return ends


def overlay(
    reader: SectionReader, process: Process, ports: Mapping[str, Port], ends: Tunnels, lists: Lists
) -> model.OverlayConfig | None:
    """Return the EVPN sessions and the tunnel endpoints, or None if no session carries EVPN.

    ``process`` has the contents of ``router bgp``, ``ends`` the settings of ``interface Vxlan1``, and ``lists`` the route maps. ``reader``
    has the lines of the configuration.
    """
    sessions, here = process.sessions, process.here
    evpn = here.evpn or Evpn()
    peers = [peer for peer in sessions.peers if sessions.evpn(peer)]
    groups = [peer for peer in here.neighbors.values() if peer.is_group and sessions.evpn(peer)]
    if not peers and not groups:
        return None
    named = [peer for peer in peers if not peer.on_interface]
    settings = [*groups, *named]
    source = next((peer.update_source for peer in settings if peer.update_source), "")
    family = Address(named[0].name).family if named else "ipv4"
    of_source = ports[source].addresses if source in ports and not ports[source].vrf else []
    usual = NO_ADDRESS if source else process.router_id
    local = next((each.address for each in reversed(of_source) if each.family == family), usual)
    shared = [peer for peer in named if _on_link(sessions, peer) and sessions.unicast(peer)]
    between = [peer for peer in named if peer not in shared]
    for peer in between:
        if sessions.unicast(peer):  # `DeviceConfig` cannot represent IPv4 and IPv6 routes on the session
            mark_family_unknown(
                reader, sessions, peer, ("ipv4", "ipv6"), "neighbor <name> activate", "neighbor <name> route-map * *"
            )
    for peer in peers:
        if isinstance(peer, Peer) and not peer.extended:  # EVPN routes without route targets are not imported
            mark_family_unknown(reader, sessions, peer, ("evpn",), "neighbor <name> activate")
    numbered = [(peer, sessions.numbered(peer)) for peer in between]
    waiting = [peer for peer in groups if not sessions.unicast(peer)]
    on_links = [sessions.links[peer.name].interface for peer in (*(p for p in peers if p.on_interface), *shared)]
    levels = [level for peer in settings for level in here.within(peer, "evpn")]
    return model.OverlayConfig(
        loopback=local,
        neighbors=tuple(
            session if _on_link(sessions, peer) else replace(session, local_address=local)
            for peer, session in numbered
            if session is not None
        ),
        endpoints=_endpoints(ports, ends, local),
        reflects=evpn.unchanged
        or any(level.next_hop_unchanged for level in levels)
        or any(isinstance(peer, Peer) and peer.next_hop_unchanged for peer in settings),
        from_spine=_from_spine(maps_of(process), lists, reader),
        bfd=sessions.common_bfd(between or waiting, reader),
        tunnel_dscp=ends.dscp,
        links=tuple(dict.fromkeys(on_links)),
    )


def _on_link(sessions: Sessions, peer: AnyPeer) -> bool:
    """Return True if the local address of the session with ``peer`` is on the link to the neighbor, and not on a loopback."""
    return not peer.update_source and bool(sessions.links[peer.name].interface)


def mark_family_unknown(
    reader: SectionReader, sessions: Sessions, peer: AnyPeer, families: Collection[str], *forms: str
) -> None:
    """Mark those lines as not understood that concern a neighbor in an address family, because ``DeviceConfig`` cannot represent them.

    The lines are in the BGP instance ``sessions``, match one of the patterns ``forms``, are about ``peer`` or its group, and are in one of
    the address families ``families``. ``reader`` has the lines of the configuration.
    """
    for line in sessions.lines(*forms):
        if line["name"] in {peer.name, peer.group} and line.chain[-2].line.removeprefix("address-family ") in families:
            reader.mark_unknown(line)


def maps_of(process: Process) -> set[str]:
    """Return the names of the route maps that apply to routes sent over EVPN sessions. ``process`` has the contents of ``router bgp``."""
    peers = (process.here.evpn or Evpn()).peers
    return {level.exports for name, level in peers.items() if level.exports and name in process.here.neighbors}


def _endpoints(ports: Mapping[str, Port], ends: Tunnels, local: Address) -> tuple[model.TunnelEndpoint, ...]:
    """Return the addresses at which tunnels end: those of the loopback that ``interface Vxlan1`` names.

    If ``local``, the address of the overlay sessions, is among them, only ``local`` is returned.
    """
    if ends.source not in ports or ports[ends.source].vrf:
        return ()
    addresses = [
        address.address for address in ports[ends.source].addresses if (address.address.family == "ipv6") == ends.six
    ]
    if local in addresses:
        addresses = [local]
    return tuple(model.TunnelEndpoint(address, None) for address in addresses)


def _from_spine(maps: Iterable[str], lists: Lists, reader: SectionReader) -> str:
    """Return the community that spines add to routes so that leaves do not send these routes back; empty if there is none.

    ``maps`` are the names of route maps of EVPN sessions, and ``lists`` has these maps. If the maps do anything else, the lines that apply
    them
    are marked as not understood. ``reader`` has the lines of the configuration.
    """
    mark = lists.mark(set(maps))
    if mark is None:
        mark_forms_unknown(reader, "router bgp *", "address-family evpn", "neighbor * route-map * out")
    return mark or ""


def mac_vrf(
    reader: SectionReader, process: Process, ends: Tunnels, names: Mapping[int, str], members: Iterable[tuple[str, int]]
) -> model.MacVrf | None:
    """Return the VLANs that EVPN extends, as one bridging instance, or None if there are none.

    - ``reader``: the lines of the configuration.
    - ``process``: the contents of ``router bgp``.
    - ``ends``: the settings of ``interface Vxlan1``.
    - ``names``: the name of each VLAN.
    - ``members``: (port, VLAN) for each VLAN of each port.
    """
    bridged: list[model.BridgedVlan] = []
    first, name, whole = "", MAC_VRF, ""
    sections = (("vlan", process.here.vlans), ("vlan-aware-bundle", process.here.bundles))
    for word, header, bridge in ((word, key, bridge) for word, some in sections for key, bridge in some.items()):
        vlans, form = numbers(bridge.vlans), ("router bgp *", f"{word} {header}")
        if vlans is None:
            mark_forms_unknown(reader, *form)
            continue
        target = next(iter(bridge.targets.values()), "")
        if len(set(bridge.targets.values())) > 1:
            mark_forms_unknown(reader, *form, "route-target * *")
        first = first or bridge.distinguisher
        if word != "vlan":
            name, whole = header, f"target:{target}"
        bridged += [
            model.BridgedVlan(vlan, names.get(vlan, f"VLAN{vlan:04d}"), ends.vlans[vlan], target and f"target:{target}")
            for vlan in vlans
            if bridge.learned and vlan in ends.vlans
        ]
    if not bridged:
        return None
    here = {each.vlan for each in bridged}
    ports = tuple(port for port, vlan in members if vlan in here)
    return model.MacVrf(name, f"{first.rpartition(':')[0]}:65534" if not whole else first, whole, tuple(bridged), ports)


def mark_forms_unknown(reader: SectionReader, *forms: str) -> None:
    """Mark lines as not understood. ``forms`` are patterns: one for each section around the lines, from the outside, and one for the lines.

    ``reader`` has the lines of the configuration.
    """
    for line in select(reader.sections, *forms):
        reader.mark_unknown(line)


def vrfs(
    reader: SectionReader, process: Process, ends: Tunnels, lists: Lists
) -> tuple[tuple[model.Vrf, ...], set[str], dict[str, str]]:
    """Return (VRFs of tenants, names of route maps for external routers, name of the external router by interface).

    The field ``prefixes`` of the VRFs is still empty. ``process`` has the contents of ``router bgp``, ``ends`` the settings of
    ``interface Vxlan1``. ``reader`` has the lines of the configuration, ``lists`` the prefix lists and route maps.
    """
    tenants: list[model.Vrf] = []
    maps: set[str] = set()
    outside: dict[str, str] = {}
    ways = sum(map(process.sessions.evpn, process.sessions.peers))
    for name, sessions in process.vrfs.items():
        here = sessions.here
        sessions.mark_bfd_unknown({*here.neighbors}, reader)  # a VRF in `DeviceConfig` has no BFD
        external: list[model.ExternalPeer] = []
        for peer in sessions.peers:
            session = sessions.links[peer.name]
            if not session.interface or peer.asn is None or not sessions.unicast(peer):
                continue
            policies = sessions.policies(peer)
            maps |= {*policies}
            external.append(_external(peer, session, [lists.prefixes.passed(lists.terms(each)) for each in policies]))
            outside[session.interface] = external[-1].router
        vrf = model.Vrf(
            name=name,
            vni=ends.vrfs.get(name, 0),
            route_distinguisher=here.distinguisher,
            import_targets=_targets(here.imports, *(family.imports for family in here.unicast.values())),
            export_targets=_targets(here.exports, *(family.exports for family in here.unicast.values())),
            prefixes=(),
            external=tuple(external),
        )
        if min(filter(None, (here.ways, here.ecmp)), default=ways) < ways:  # fewer than the paths from EVPN sessions
            mark_forms_unknown(reader, "router bgp *", f"vrf {name}", "maximum-paths **")
        if vrf.vni or vrf.route_distinguisher:
            tenants.append(vrf)
    return tuple(tenants), maps, outside


def advertised_prefixes(
    reader: SectionReader, process: Process, vrf: str, lists: Lists, prefixes: Sequence[Prefix]
) -> tuple[Prefix, ...]:
    """Return the members of ``prefixes`` that a VRF advertises: those that the route maps of ``redistribute connected`` accept.

    ``process`` has the contents of ``router bgp``. If the result of a route map cannot be computed, the lines that use it are marked as
    not understood. ``reader`` has the lines of the configuration, ``lists`` the prefix lists and route maps.
    """
    here = process.vrfs[vrf].here
    for family in FAMILIES:
        stated = here.unicast[family].redistributes if family in here.unicast else None
        name = here.redistributes if stated is None else stated
        if not name:
            continue
        passed = lists.prefixes.connected(lists.terms(name), prefixes)
        if passed is None:
            form = f"redistribute connected route-map {name}"
            mark_forms_unknown(reader, "router bgp *", f"vrf {vrf}", form)
            mark_forms_unknown(reader, "router bgp *", f"vrf {vrf}", f"address-family {family}", form)
        else:
            prefixes = [each for each in prefixes if each.family != family or each in passed]
    return tuple(prefixes)


def with_loopback(vrf: model.Vrf, ports: Mapping[str, Port]) -> model.Vrf:
    """Return the VRF with the addresses and the interface number of its loopback. A VRF without a loopback is returned unchanged."""
    loopbacks = [
        port for port in ports.values() if port.vrf == vrf.name and port.name.startswith(_LOOPBACK) and port.addresses
    ]
    if not loopbacks:
        return vrf
    number_of = int(loopbacks[0].name.removeprefix(_LOOPBACK))
    addresses = tuple(each.address.prefix for port in loopbacks for each in port.addresses)
    unit = number_of - FIRST_VRF_LOOPBACK if number_of > FIRST_VRF_LOOPBACK else number_of
    return replace(vrf, loopbacks=addresses, unit=unit)


def _targets(*levels: Iterable[str]) -> tuple[str, ...]:
    """Return the route targets of a VRF, such as ``target:65000:10``, without duplicates.

    ``levels`` are the route targets in the VRF itself and in its address families.
    """
    return tuple(dict.fromkeys(f"target:{target}" for level in levels for target in level))


def _external(peer: AnyPeer, session: model.Session, passed: list[tuple[Prefix, ...]]) -> model.ExternalPeer:
    router = neighbor(peer.description.removeprefix(_EXTERNAL))
    unit = session.interface if "." in session.interface else f"{session.interface}.0"
    numbered = model.NumberedSession(
        unit, "", router, peer.asn or 0, session.local_address or NO_ADDRESS, Address(peer.name)
    )
    return model.ExternalPeer(router, numbered, *passed)
