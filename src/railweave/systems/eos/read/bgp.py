"""Derivation of BGP from the statements of ``router bgp``: its sessions, and the settings that all sessions share.

The classes of the result are those that the reader of FRR also uses.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import FAMILIES, Address, Family, InterfaceAddress
from railweave.model.config.sections import has, select
from railweave.model.device.management import Authentication
from railweave.systems.eos.read.values import address, interface_names, key_profiles, neighbor, peer_of
from railweave.systems.eos.statements.bgp import DETECTION, EOS_BFD, INTERFACE, ROUTING, Evpn, Peer, PeerFamily, Router
from railweave.systems.eos.statements.bgp import Family as Unicast
from railweave.systems.frr.meaning.ports import Subnets
from railweave.systems.frr.read import sessions as frr

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from railweave.model.config.sections import SectionReader, SelectedLine
    from railweave.model.device.model import Bgp
    from railweave.model.device.timers import Bfd
    from railweave.systems.eos.meaning.policy import Lists
    from railweave.systems.eos.read.ports import Port
    from railweave.systems.frr.statements.bgp import Peer as AnyPeer

NO_ADDRESS = Address("0.0.0.0")  # noqa: S104 - no program listens on it
"""The placeholder that ``DeviceConfig`` gets if the text lacks a required address."""
SYNTAX = frr.Syntax(
    "eos",
    bfd=(("neighbor <name> bfd",), ("neighbor <name> bfd interval **",)),
    exports=("address-family evpn", "neighbor * route-map * out"),
)


class Sessions(frr.Sessions):
    """The BGP sessions of the main instance or of a VRF.

    ``usual`` are the BFD timers of neighbors without their own timers: (for sessions on a link, for sessions over several hops).
    """

    neighbor_of = staticmethod(neighbor)
    far_end = staticmethod(peer_of)

    def __init__(
        self,
        here: Router,
        ports: Mapping[str, Port],
        subnets: Subnets,
        usual: tuple[Bfd, Bfd],
        keys: Mapping[str, Authentication],
        reader: SectionReader,
    ) -> None:
        super().__init__(here, ports, subnets, {}, SYNTAX, open_=True)
        self.here: Router = here
        self._usual, self._keys, self._taking = usual, keys, reader

    def statements(self, reader: SectionReader, *forms: str) -> Iterator[SelectedLine]:
        """Yield the lines that match the patterns ``forms``. Only lines directly below ``router bgp``, or below the VRF, are searched.

        ``reader`` has the lines of the configuration.
        """
        above = [f"vrf {self.here.vrf}"] if self.here.vrf else []
        return select(reader.sections, "router bgp *", *above, *forms)

    def lines(self, *forms: str) -> Iterator[SelectedLine]:
        """Yield the lines that match one of the patterns ``forms``, below ``router bgp`` or the VRF, and in the address families there."""
        for form in forms:
            yield from self.statements(self._taking, form)
            yield from self.statements(self._taking, "address-family *", form)

    def bfd(self, peer: AnyPeer) -> Bfd | None:
        """Return the BFD timers of the session with ``peer``, or None if the session does not use BFD."""
        if not peer.bfd or not isinstance(peer, Peer):
            return None
        near = peer.name in self.links and bool(self.links[peer.name].interface)
        return peer.timers or self._usual[0 if near else 1]

    def key(self, peer: AnyPeer) -> Authentication | None:
        """Return the key of the session with ``peer``, or None if it has none. The key is in a profile or on a line of the neighbor."""
        profile = self._keys.get(peer.profile or "")
        if profile is None or not isinstance(peer, Peer) or peer.algorithm is None:
            return super().key(peer)
        return Authentication(profile.key, peer.algorithm, profile.key_id)

    def underlay(self) -> list[AnyPeer]:
        """Return the neighbors of the underlay: those that exchange IPv4 or IPv6 routes, except overlay neighbors between loopbacks."""
        routed = (peer for peer in self.peers if self.unicast(peer))
        return [peer for peer in routed if self.links[peer.name].interface or not self.evpn(peer)]

    def fabric_ports(self) -> Iterator[str]:
        """Yield the interfaces to other switches, including those whose sessions are shut down."""
        yield from (
            port for port in (self._on_link(peer).interface for peer in self.here.peers if self.unicast(peer)) if port
        )

    def families(self, peers: Collection[AnyPeer]) -> tuple[Family, ...]:
        """Return the address families that the switch routes and that a session with one of ``peers`` carries.

        A session with an IPv6 neighbor carries IPv4 only if IPv4 routes may have IPv6 next hops.
        """
        forms = {"ipv4": ("ip routing", "ip routing ipv6 interfaces"), "ipv6": ("ipv6 unicast-routing",)}
        return tuple(
            family
            for family in FAMILIES
            if any(has(self._taking.sections, form) for form in forms[family])
            and any(self.here.is_active(peer, family) and self._has_next_hops(peer, family) for peer in peers)
        )

    def _has_next_hops(self, peer: AnyPeer, family: Family) -> bool:
        levels = self.here.within(peer, family)
        six = any(isinstance(level, PeerFamily) and level.over_six for level in levels)
        return family == "ipv6" or six or address(peer.name) is not None


@dataclass
class Process:
    """The contents of ``router bgp``: its sessions, the sessions of each VRF, and the interfaces on which neighbors are discovered.

    ``found_on`` has the names of these interfaces.
    """

    sessions: Sessions
    vrfs: dict[str, Sessions]
    router_id: Address
    found_on: set[str]
    filters: dict[str, str]
    """The name of the peer filter of each peer group that has one. The filter limits the AS numbers of discovered neighbors."""

    @property
    def here(self) -> Router:
        """The statements of the main instance."""
        return self.sessions.here


def process(reader: SectionReader, ports: Mapping[str, Port], lists: Lists, fallback: Address) -> Process | None:
    """Return the contents of ``router bgp``, or None if the configuration does not have it.

    ``lists`` has the prefix lists, route maps and peer filters. ``fallback`` is the router id that EOS uses if none is set. ``reader`` has
    the lines of the configuration.
    """
    stated = list(ROUTING.read(reader.sections, reader).routers.values())
    if not stated:
        return None
    keys, timers = key_profiles(reader), DETECTION.read(reader.sections, reader)
    above = timers.router or timers
    usual = above.near or timers.near or EOS_BFD, above.far or timers.far or EOS_BFD
    whole = _whole(stated[-1])
    subnets, discovered = Subnets(ports), _discovered(reader, whole, ports, lists)
    instance = replace(
        whole,
        neighbors={
            **{name: peer for name, peer in whole.neighbors.items() if peer.is_group or address(name)},
            **{peer.name: peer for peer in discovered},
        },
    )
    made = Sessions(instance, ports, subnets, usual, keys, reader)
    vrfs = {
        name: Sessions(_in_vrf(instance, vrf, name), ports, subnets, usual, keys, reader)
        for name, vrf in whole.vrfs.items()
    }
    for sessions in (made, *vrfs.values()):
        _mark_undefined(sessions, keys, reader)
    return Process(
        made,
        vrfs,
        whole.router_id or fallback,
        {name for peer in whole.neighbors.values() for name in _interfaces(peer)},
        _filters(whole),
    )


def _filters(here: Router) -> dict[str, str]:
    """Return the name of the peer filter by peer group, for all peer groups of the instance ``here`` that have a peer filter.

    The filter limits the AS numbers of discovered neighbors.
    """
    discovering = [*here.listening, *here.neighbors.values()]
    return {each.group: each.peer_filter for each in reversed(discovering) if each.group and each.peer_filter}


def _whole(stated: Router) -> Router:
    """Return the main BGP instance ``stated``, completed with both unicast address families and with EOS's defaults.

    A family without its own statement, for example ``redistribute``, gets the setting of the instance.
    """
    width = min(filter(None, (stated.ways, stated.ecmp)), default=1)
    families = {family: stated.unicast.get(family, Unicast()) for family in FAMILIES}
    return replace(
        stated,
        unicast_by_default=stated.activates is not False,
        relaxed=True,
        unicast={
            family: replace(
                here,
                redistributes=stated.redistributes if here.redistributes is None else here.redistributes,
                networks=(*here.networks, *(network for network in stated.networks if network.family == family)),
                maximum_paths=width,
                inner_paths=width,
            )
            for family, here in families.items()
        },
    )


def _in_vrf(above: Router, stated: Router, name: str) -> Router:
    """Return the BGP instance of the VRF ``name``, completed with the settings that it inherits from the main instance.

    Inherited are the AS number and the peer groups, including the groups' settings in address families. ``above`` is the main instance;
    ``stated`` has only the lines of the VRF.
    """
    groups = {name: peer for name, peer in above.neighbors.items() if peer.is_group}
    here = {name: peer for name, peer in stated.neighbors.items() if peer.is_group or address(name)}
    by_default = above.unicast_by_default if stated.activates is None else stated.activates
    families = {
        family: replace(
            stated.unicast.get(family, Unicast()),
            peers={**above.unicast[family].peers, **(stated.unicast[family].peers if family in stated.unicast else {})},
        )
        for family in FAMILIES
    }
    shared = {"asn": above.asn, "vrf": name, "shut": above.shut, "evpn": None}
    return replace(stated, neighbors={**groups, **here}, unicast=families, unicast_by_default=by_default, **shared)


def _interfaces(peer: AnyPeer) -> tuple[str, ...]:
    """Return the interfaces on which a peer statement discovers neighbors; empty if the statement names an address or a group."""
    return interface_names(peer.name.removeprefix(INTERFACE)) if peer.name.startswith(INTERFACE) else ()


def _discovered(reader: SectionReader, here: Router, ports: Mapping[str, Port], lists: Lists) -> Iterator[Peer]:
    """Yield the neighbors of the instance ``here`` whose address is in no line.

    - A neighbor may be discovered on a link by router advertisements, if the switch routes IPv6.
    - A neighbor may open the session itself from an address in a ``bgp listen range``. If the prefix of the link has two
      addresses, the neighbor has the one that is not the switch's (``other_end``).

    ``reader`` has the lines of the configuration.
    """
    groups = {name for name, peer in here.neighbors.items() if peer.is_group}
    routed = has(reader.sections, "ipv6 unicast-routing")
    for peer in here.neighbors.values():
        for name in _interfaces(peer) if routed and peer.group in groups else ():
            if name in ports and ports[name].speaks_six and not ports[name].vrf:
                asn = peer.asn or here.neighbors[peer.group or ""].asn or only_as(lists, peer.peer_filter)
                yield replace(peer, name=name, on_interface=True, asn=asn)
    for range_ in here.listening:
        for port in ports.values() if range_.group in groups else ():
            for local in port.addresses:
                far = other_end(local) if not port.vrf else None
                if far is not None and far not in here.neighbors and range_.prefix.holds(far):
                    asn = range_.asn or only_as(lists, range_.peer_filter)
                    yield Peer(far, on_interface=True, asn=asn, group=range_.group, peer_filter=range_.peer_filter)


def _mark_undefined(sessions: Sessions, keys: Mapping[str, Authentication], reader: SectionReader) -> None:
    """Mark a line of a BGP instance (``sessions``) as not understood if it refers to an undefined neighbor, group or key profile.

    A ``bgp listen range`` that matches no link is marked, too. ``keys`` has the defined key profiles. ``reader`` has the lines of the
    configuration.
    """
    known = sessions.here.neighbors
    for line in sessions.lines("neighbor <name> **", "no|default neighbor <name> activate"):
        if line["name"] not in known and line["name"] != INTERFACE.strip():
            reader.mark_unknown(line)
    for line in sessions.lines("neighbor <name> password shared-secret profile <profile> **"):
        if line["profile"] not in keys:
            reader.mark_unknown(line)
    for line in sessions.lines("neighbor interface * peer-group <group> **"):
        group = known.get(line["group"])
        if group is None or not group.is_group:
            reader.mark_unknown(line)
    opened = {(peer.group, peer.name) for peer in known.values() if peer.on_interface}
    used = {
        (f"{range_.prefix}", range_.group)
        for range_ in sessions.here.listening
        for group, name in opened
        if group == range_.group and (at := address(name)) is not None and range_.prefix.holds(at)
    }
    for line in sessions.lines("bgp listen range <prefix> peer-group <group> **"):
        group = known.get(line["group"])
        if group is None or group.update_source or (line["prefix"], line["group"]) not in used:
            reader.mark_unknown(line)


def bgp(reader: SectionReader, process: Process, lists: Lists, elsewhere: set[str]) -> Bgp:
    """Return the BGP configuration of the default VRF. ``process`` has the contents of ``router bgp``, ``lists`` the route maps.

    ``elsewhere`` has the names of route maps that the overlay and VRFs use. Names that the default VRF also uses are removed from
    ``elsewhere``.
    ``reader`` has the lines of the configuration.
    """
    here, sessions = process.here, process.sessions
    levels = [level for family in here.unicast.values() for level in family.peers.values()]
    peers = here.neighbors.values()
    kept = {name for each in (*levels, *peers) for name in (each.imports, each.exports)}
    elsewhere -= kept | {family.redistributes for family in here.unicast.values()}
    made = frr.bgp(sessions, lists, reader, elsewhere)
    unused = lists.of_maps(elsewhere)
    watched = {group.name for group in made.groups} | {peer.name for peer in sessions.peers}
    overlay = {name for name, level in (here.evpn or Evpn()).peers.items() if level.active}
    sessions.mark_bfd_unknown({peer.name for peer in peers if peer.is_group} - watched - overlay, reader)
    return replace(
        made,
        router_id=process.router_id,
        groups=tuple(replace(group, peer_as_list=process.filters.get(group.name)) for group in made.groups),
        communities=lists.listed(made.policies, unused),
        as_lists=lists.as_lists,
    )


def other_end(local: InterfaceAddress) -> Address | None:
    """Return the other address of a link whose prefix has two addresses, or None if the prefix has more. ``local`` is the switch's address."""
    bits = 128 if local.family == "ipv6" else 32
    if local.length not in {bits - 1, bits - 2}:
        return None
    value = ipaddress.ip_address(local.address)
    flipped = int(value) ^ (1 if local.length == bits - 1 else 3)
    return Address(str(type(value)(flipped)))


def only_as(lists: Lists, name: str | None) -> int:
    """Return the AS number that the peer filter ``name`` accepts, or 0 if there is no such filter or it accepts several numbers.

    ``lists`` has the peer filters.
    """
    ranges = lists.as_lists.get(name or "", ())
    return ranges[0][0] if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else 0
