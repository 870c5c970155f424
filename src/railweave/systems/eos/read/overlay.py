"""The EVPN overlay (sessions, tunnel endpoints, VRFs with external routers, stretched VLANs), VLANs and gateways of servers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import Address, Prefix
from railweave.model.device import model
from railweave.model.device.timers import RouterAdvertisements
from railweave.systems.eos.read.bgp import NO_ADDRESS, Links, Process, common_bfd, discovered, neighbors, width
from railweave.systems.eos.read.values import Stanzas, neighbor, number, numbers, prefix
from railweave.systems.eos.render.ports import FIRST_VRF_LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from railweave.model.config.sections import SectionReader, SelectedLine
    from railweave.systems.eos.meaning.policy import Lists
    from railweave.systems.eos.read.ports import Port
    from railweave.systems.eos.read.settings import Settings


VLAN = "Vlan"
EOS_RA = RouterAdvertisements(max_interval=200, min_interval=66, hop_limit=64, link_mtu=True)
"""What EOS advertises where nothing is said (EOS user manual, IPv6: 200 s, lifetime 1800 s, hop limit 64; RFC 4861: a third)."""

_TIMERS: dict[str, tuple[str, int]] = {
    "ipv6 nd ra lifetime <value>": ("router_lifetime", 65535),
    "ipv6 nd ra hop-limit <value>": ("hop_limit", 255),
    "ipv6 nd reachable-time <value>": ("reachable_time", 2**32 - 1),
    "ipv6 nd ns-interval <value>": ("retransmit_timer", 2**32 - 1),
}
_FLAGS = {"ipv6 nd managed-config-flag": "managed", "ipv6 nd other-config-flag": "other"}


def vlans(taking: SectionReader) -> dict[int, str]:
    """The names of VLANs; EOS calls one without a name by its number."""
    found: dict[int, str] = {}
    for one in taking.each("vlan <numbers>"):
        values = numbers(one["numbers"])
        if values is None:
            taking.leave(one)
            continue
        name = taking.last("name <text...>", below=one)
        found |= {value: name["text"] if name else f"VLAN{value:04d}" for value in values}
    return found


def advertisements(stanzas: Stanzas) -> Callable[[Port], RouterAdvertisements | None]:
    """What an interface advertises: nothing without an IPv6 address, or where it is told so."""
    taking = stanzas.taking
    off = stanzas.flag("ipv6 nd ra disabled") | {name: True for name, _ in stanzas.each("ipv6 nd ra disabled all")}
    found: dict[str, RouterAdvertisements] = {}

    def change(name: str, **more: int | bool) -> None:
        found[name] = replace(found.get(name, EOS_RA), **more)

    for form, (setting, most) in _TIMERS.items():
        for name, value in stanzas.number(form, 0, most).items():
            change(name, **{setting: value})
    for line, setting in _FLAGS.items():
        for name, there in stanzas.flag(line).items():
            change(name, **{setting: there})
    for name, there in stanzas.flag("ipv6 nd ra mtu suppress").items():
        change(name, link_mtu=not there)
    for name, one in stanzas.each("ipv6 nd ra interval <most> <least>"):
        most, least = number(one["most"]), number(one["least"])
        if most is None or least is None:
            taking.leave(one)
        else:
            change(name, max_interval=most, min_interval=least)
    for name, one in stanzas.each("ipv6 nd prefix <prefix> **"):
        if not (words := _prefix(one)):
            taking.leave(one)
        else:
            change(name, **words)

    def of(port: Port) -> RouterAdvertisements | None:
        if off.get(port.name) or not any(one.family == "ipv6" for one in port.addresses):
            return None
        return found.get(port.name, EOS_RA)

    return of


def _prefix(one: SelectedLine) -> dict[str, int | bool]:
    """Lifetimes and flags of a prefix; none where the words are others."""
    words = one.line.split()[4:]
    flags = {"on_link": "no-onlink" not in words, "autonomous": "no-autoconfig" not in words}
    plain = [word for word in words if word not in {"no-onlink", "no-autoconfig"}]
    plain = ["4294967295" if word == "infinite" else word for word in plain]
    times = [number(word) for word in plain]
    if prefix(one["prefix"]) is None or None in times or len(times) not in {0, 2}:
        return {}
    valid, preferred = times or (EOS_RA.prefix_valid_lifetime, EOS_RA.prefix_preferred_lifetime)
    return {"prefix_valid_lifetime": valid or 0, "prefix_preferred_lifetime": preferred or 0, **flags}


def gateway(
    port: Port, name: str, vlan: int | None, names: Mapping[int, str], sent: RouterAdvertisements | None, mac: str
) -> model.Gateway:
    """The gateway that an interface is; ``mac`` is that of shared ones."""
    return model.Gateway(
        name=name,
        vlan=vlan,
        vlan_name="" if vlan is None else names.get(vlan, f"VLAN{vlan:04d}"),
        description=port.description,
        mtu=port.mtu,
        addresses=tuple(port.addresses),
        prefixes=tuple(one.prefix for one in port.addresses),
        advertisements=sent,
        port="" if vlan is not None else port.name,
        vrf=port.vrf,
        proxy_arp=port.proxy_arp,
        mac=mac if port.virtual else "",
    )


def shared_mac(taking: SectionReader) -> str:
    """The MAC address of shared gateways."""
    found = taking.last("ip virtual-router mac-address <value>")
    return found["value"] if found else ""


MAC_VRF = "evpn-1"
"""Stands for the bridging instance, of which EOS has one for each VLAN."""

_CONNECTED = ("redistribute connected", "redistribute connected route-map *")
_EXTERNAL = "external router "
_LOOPBACK = "Loopback"
_VALUE = re.compile(r"\S+:\d+")


@dataclass
class Tunnels:
    """``interface Vxlan1``: the loopback that tunnels begin on, and VNIs."""

    source: str = ""
    six: bool = False
    dscp: bool = False
    vlans: dict[int, int] = field(default_factory=dict[int, int])
    vrfs: dict[str, int] = field(default_factory=dict[str, int])


def tunnels(stanzas: Stanzas) -> Tunnels:
    """What stands below ``interface Vxlan1``."""
    found = Tunnels()
    shut = stanzas.flag("shutdown")
    for name, value in stanzas.word("vxlan source-interface <value>").items():
        found.source = "" if shut.get(name) else value
    for _ in stanzas.each("vxlan encapsulation ipv6"):
        found.six = True
    for _ in stanzas.each("vxlan qos dscp propagation encapsulation"):
        found.dscp = True
    for _, one in stanzas.each("vxlan vlan <vlans> vni <vnis>"):
        vlans, vnis = numbers(one["vlans"]), numbers(one["vnis"], 2**24 - 1)
        if vlans is None or vnis is None or len(vlans) != len(vnis):
            stanzas.taking.leave(one)
        else:
            found.vlans |= dict(zip(vlans, vnis, strict=True))
    for _, one in stanzas.each("vxlan vrf <name> vni <vni>"):
        vni = number(one["vni"], 1, 2**24 - 1)
        if vni is None:
            stanzas.taking.leave(one)
        else:
            found.vrfs[one["name"]] = vni
    return found


def overlay(
    taking: SectionReader, own: Process, ports: Mapping[str, Port], ends: Tunnels, lists: Lists
) -> model.OverlayConfig | None:
    """The sessions that carry EVPN, and what tunnels end on; None where nothing does."""
    peers = {
        name: settings
        for name in own.neighbors.peers
        if own.neighbors.is_active(settings := own.neighbors.effective(name), "evpn")
        and not own.neighbors.is_shut(settings)
    }
    groups = [one for one in own.neighbors.groups.values() if one.active.get("evpn")]
    if not peers and not groups:
        return None
    settings = [*groups, *peers.values()]
    for name, session in peers.items():
        for selected in (
            line
            for holder in (name, session.group)
            for line in own.neighbors.evpn_lines.get(holder, ())
            if not session.extended
        ):
            taking.leave(selected)  # without route targets no route of EVPN is taken
    source = next((one.source for one in settings if one.source), "")
    family = Address(next(iter(peers))).family if peers else "ipv4"
    there = source in ports and not ports[source].vrf
    on_source = [one.address for one in ports[source].addresses] if there else []
    local = next((one for one in reversed(on_source) if one.family == family), NO_ADDRESS if source else own.router_id)
    links = Links(port for port in ports.values() if not port.vrf)
    near = {name: link[0].name for name, one in peers.items() if not one.source and (link := links.to(Address(name)))}
    shared = {name: port for name, port in near.items() if own.neighbors.is_routed(peers[name])}
    on_links = [port for group, port in discovered(own, ports, lists) if own.neighbors.groups[group].active.get("evpn")]
    between = [one for name, one in peers.items() if name not in shared]
    waiting = [one for one in groups if not own.neighbors.is_routed(one)]
    for name, session in peers.items():
        if name not in shared and own.neighbors.is_routed(session):  # routes of IPv4 and IPv6 on it are not held
            for holder in (name, own.neighbors.peers[name].group):
                for selected in own.neighbors.routed_lines.get(holder, ()):
                    taking.leave(selected)
    return model.OverlayConfig(
        loopback=local,
        neighbors=tuple(
            model.NumberedSession(
                "", "", _peer(own, name), one.remote_as or 0, _local(one, local, links, name), Address(name)
            )
            for name, one in peers.items()
            if name not in shared
        ),
        endpoints=_endpoints(ports, ends, local),
        reflects=own.neighbors.unchanged or any(one.unchanged for one in settings),
        from_spine=_from_spine(maps_of(own), lists),
        bfd=common_bfd(taking, between or waiting, own.usual[1]),
        tunnel_dscp=ends.dscp,
        links=tuple(dict.fromkeys([*on_links, *shared.values()])),
    )


def _local(one: Settings, source: Address, links: Links, peer: str) -> Address:
    """The address that a session is from: of its source, else of the link to the neighbor."""
    link = None if one.source else links.to(Address(peer))
    return link[1] if link else source


def maps_of(own: Process) -> set[str]:
    """The route maps of EVPN's sessions."""
    return {one.evpn_out for one in (*own.neighbors.groups.values(), *own.neighbors.peers.values()) if one.evpn_out}


def _peer(own: Process, name: str) -> str:
    return neighbor(own.neighbors.peers[name].description)


def _endpoints(ports: Mapping[str, Port], ends: Tunnels, local: Address) -> tuple[model.TunnelEndpoint, ...]:
    """The addresses that tunnels end on: those of their loopback, or the overlay's on one that is for more."""
    if ends.source not in ports or ports[ends.source].vrf:
        return ()
    found = [one.address for one in ports[ends.source].addresses if (one.address.family == "ipv6") == ends.six]
    if local in found:
        found = [local]
    return tuple(model.TunnelEndpoint(one, None) for one in found)


def _from_spine(maps: Iterable[str], lists: Lists) -> str:
    """The community that spines add, and that leaves do not send back; empty if a term is not known."""
    terms = [term for name in sorted(maps) for term in lists.terms(name)]
    for term in terms if not any(term.unknown for term in terms) else ():
        named = (*term.action.add_communities, *([term.match.community] if term.match.community else []))
        for community in named:
            return lists.communities.get(community, community)
    return ""


def mac_vrf(
    taking: SectionReader, own: Process, ends: Tunnels, names: Mapping[int, str], members: Iterable[tuple[str, int]]
) -> model.MacVrf | None:
    """The VLANs that EVPN stretches, as one instance; ``members`` are ports with their VLANs."""
    found: list[model.BridgedVlan] = []
    first = ""
    name = MAC_VRF
    whole = ""
    for form in ("vlan <vlans>", "vlan-aware-bundle <name>"):
        for one in taking.each(form, below=own.header):
            bundle = form.startswith("vlan-aware")
            inner = taking.last("vlan <vlans>", below=one) if bundle else one
            vlans = numbers(inner["vlans"]) if inner else None
            if vlans is None:
                taking.leave(one)
                continue
            learned = taking.last("redistribute learned", below=one) is not None
            distinguisher, target = _distinguisher(taking, one), _target(taking, one)
            first = first or distinguisher
            if bundle:
                name, whole = one["name"], target
            found += [
                model.BridgedVlan(vlan, names.get(vlan, f"VLAN{vlan:04d}"), ends.vlans[vlan], target)
                for vlan in vlans
                if learned and vlan in ends.vlans
            ]
    if not found:
        return None
    here = {one.vlan for one in found}
    ports = tuple(port for port, vlan in members if vlan in here)
    return model.MacVrf(name, f"{first.rpartition(':')[0]}:65534" if not whole else first, whole, tuple(found), ports)


def _distinguisher(taking: SectionReader, below: SelectedLine) -> str:
    found = taking.last("rd <value>", below=below)
    return found["value"] if found else ""


def _target(taking: SectionReader, below: SelectedLine) -> str:
    """The route target of a VLAN, both ways."""
    found = ""
    for one in taking.each("route-target both|import|export <value>", below=below):
        value = f"target:{one['value']}"
        if not _VALUE.fullmatch(one["value"]) or found not in {"", value}:
            taking.leave(one)
        else:
            found = value
    return found


def vrfs(
    taking: SectionReader,
    own: Process,
    ports: Mapping[str, Port],
    ends: Tunnels,
    lists: Lists,
) -> tuple[tuple[model.Vrf, ...], set[str], dict[str, str]]:
    """The VRFs of tenants, without the prefixes of their gateways; the route maps of their external routers; and which router each of their ports leads to."""
    found: list[model.Vrf] = []
    maps: set[str] = set()
    outside: dict[str, str] = {}
    everyone = map(own.neighbors.effective, own.neighbors.peers)
    ways = sum(own.neighbors.is_active(one, "evpn") for one in everyone)
    for one in taking.each("vrf <name>", below=own.header):
        name = one["name"]
        there = neighbors(taking, one, own.neighbors)
        links = Links(port for port in ports.values() if port.vrf == name)
        external: list[model.ExternalPeer] = []
        for peer, said in there.peers.items():
            settings = there.effective(peer)
            for line in said.bfd_lines:  # a VRF has no BFD in the model
                taking.leave(line)
            link = links.to(Address(peer))
            if link is None or settings.remote_as is None or there.is_shut(settings) or not there.is_routed(settings):
                continue
            imports, exports = there.policies(settings)
            maps |= {imports, exports} - {""}
            passed = [lists.prefixes.passed(lists.terms(policy)) for policy in (imports, exports)]
            external.append(_external(Address(peer), settings, link, passed))
            outside[link[0].name] = external[-1].router
        targets = _targets(taking, one, "import"), _targets(taking, one, "export")
        vrf = model.Vrf(
            name=name,
            vni=ends.vrfs.get(name, 0),
            route_distinguisher=_distinguisher(taking, one),
            import_targets=targets[0],
            export_targets=targets[1],
            prefixes=(),
            external=tuple(external),
        )
        for form in ("router-id <value>", *_CONNECTED):
            for _ in taking.each(form, below=one):
                pass  # as the default VRF has them
        for line in taking.each("maximum-paths <value> **", below=one):
            if width(taking, line) < ways:  # fewer than EVPN's sessions bring
                taking.leave(line)
        if vrf.vni or vrf.route_distinguisher:
            found.append(vrf)
    return tuple(found), maps, outside


def with_loopback(found: model.Vrf, ports: Mapping[str, Port]) -> model.Vrf:
    """The VRF with the addresses of its loopbacks."""
    own = [one for one in ports.values() if one.vrf == found.name and one.name.startswith(_LOOPBACK) and one.addresses]
    if not own:
        return found
    number_of = int(own[0].name.removeprefix(_LOOPBACK))
    addresses = tuple(each.address.prefix for one in own for each in one.addresses)
    unit = number_of - FIRST_VRF_LOOPBACK if number_of > FIRST_VRF_LOOPBACK else number_of
    return replace(found, loopbacks=addresses, unit=unit)


def _targets(taking: SectionReader, below: SelectedLine, direction: str) -> tuple[str, ...]:
    """The targets of a VRF, which stand in it or in its address families."""
    found: list[str] = []
    families = [one for name in ("ipv4", "ipv6") for one in taking.each(f"address-family {name}", below=below)]
    forms = [f"route-target {word}{kind} <value>" for word in (direction, "both") for kind in (" evpn", "")]
    for form in forms:
        for place in (below, *families):
            for one in taking.each(form, below=place):
                if _VALUE.fullmatch(one["value"]):
                    found.append(f"target:{one['value']}")
                else:
                    taking.leave(one)
    return tuple(dict.fromkeys(found))


def _external(
    peer: Address, settings: Settings, link: tuple[Port, Address], passed: list[tuple[Prefix, ...]]
) -> model.ExternalPeer:
    port, local = link
    said = settings.description
    router = neighbor(said.removeprefix(_EXTERNAL))
    unit = port.name if "." in port.name else f"{port.name}.0"
    session = model.NumberedSession(unit, "", router, settings.remote_as or 0, local, peer)
    return model.ExternalPeer(router, session, *passed)
