"""``router bgp`` of the default VRF: groups of sessions with their policies, and what holds for all of them."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import FAMILIES, Address, Family, InterfaceAddress, Prefix
from railweave.model.device.bgp_model import JointPolicies, of_families, of_one_family, with_bfd
from railweave.model.device.model import Action, Bgp, BgpGroup, Match, Policy, Session, Term
from railweave.systems.eos.read.settings import Settings, forms, key_profiles, usual_bfd
from railweave.systems.eos.read.values import address, as_number, interface_names, neighbor, number, peer_of, prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.sections import SectionReader, SelectedLine
    from railweave.model.device.timers import Bfd
    from railweave.systems.eos.meaning.policy import Lists
    from railweave.systems.eos.read.ports import Port


@dataclass
class Found:
    """A neighbor that is found on a link."""

    interface: str
    group: str
    peer_filter: str | None
    remote_as: int | None


@dataclass
class Listening:
    """Neighbors that may open a session, from addresses of a prefix."""

    prefix: Prefix
    group: str
    peer_filter: str | None
    remote_as: int | None

    def holds(self, one: Address) -> bool:
        """Whether an address is in the prefix."""
        own = ipaddress.ip_network(self.prefix)
        return one.family == self.prefix.family and ipaddress.ip_address(one) in own


@dataclass
class Neighbors:
    """The neighbors of one BGP instance. ``by_default``: IPv4 is active without ``activate``. ``down``: BGP is shut as a whole."""

    groups: dict[str, Settings] = field(default_factory=dict[str, Settings])
    peers: dict[str, Settings] = field(default_factory=dict[str, Settings])
    found: list[Found] = field(default_factory=list[Found])
    listening: list[Listening] = field(default_factory=list[Listening])
    by_default: bool = True
    unchanged: bool = False
    """EVPN's routes keep their next hop to all neighbors."""
    down: bool = False
    routed_lines: dict[str, list[SelectedLine]] = field(default_factory=dict[str, "list[SelectedLine]"])
    """The lines that give a neighbor or a peer group IPv4 or IPv6, or a route map for it, by its name."""
    evpn_lines: dict[str, list[SelectedLine]] = field(default_factory=dict[str, "list[SelectedLine]"])
    """The lines that give a neighbor or a peer group EVPN, by its name."""
    joint: JointPolicies = field(default_factory=JointPolicies)

    def policies(self, one: Settings) -> tuple[str, str]:
        """The route maps of a session, in and out; empty without one."""
        families: tuple[Family, ...] = tuple(f for f in FAMILIES if self.is_active(one, f)) or FAMILIES
        imports: dict[Family, str | None] = {family: one.maps.get((family, "in")) or one.imports for family in families}
        exports: dict[Family, str | None] = {
            family: one.maps.get((family, "out")) or one.exports for family in families
        }
        return self.joint.name(imports) or "", self.joint.name(exports) or ""

    def effective(self, name: str) -> Settings:
        """The settings of a neighbor with those of its peer group."""
        own = self.peers[name]
        return own.over(self.groups.get(own.group))

    def is_shut(self, one: Settings) -> bool:
        """Return whether a session, its peer group, or BGP as a whole is shut."""
        return self.down or one.shutdown

    def is_active(self, one: Settings, family: str) -> bool:
        """Whether a session carries a family."""
        return one.active.get(family, self.by_default and family == "ipv4")

    def is_routed(self, one: Settings) -> bool:
        """Whether a session carries IPv4 or IPv6."""
        return self.is_active(one, "ipv4") or self.is_active(one, "ipv6")


def neighbors(taking: SectionReader, below: SelectedLine, above: Neighbors | None = None) -> Neighbors:
    """The neighbors of a section; ``above`` are those of the process, whose peer groups its VRFs use too."""
    groups = above.groups if above else {}
    found = Neighbors(
        groups={name: replace(one, active=dict(one.active), maps=dict(one.maps)) for name, one in groups.items()}
    )
    found.down = above.down if above else taking.last("shutdown", below=below) is not None
    keys = key_profiles(taking)
    for form in ("neighbor <name> peer group", "neighbor <name> peer-group"):
        for one in taking.each(form, below=below):
            found.groups.setdefault(one["name"], Settings())
    default = taking.last("** bgp default ipv4-unicast", below=below)
    usual = above is None or above.by_default
    found.by_default = usual if default is None else default.line.startswith("bgp")
    for one in taking.each("neighbor interface <ports> peer-group <group> **", below=below):
        _on_links(taking, one, found)
    for form, set_ in forms(keys).items():
        for one in taking.each(form, below=below):
            settings = _of(found, one["name"])
            if settings is None or not set_(settings, one):
                taking.leave(one)
    for one in taking.each("bgp listen range <prefix> peer-group <group> **", below=below):
        _listens(taking, one, found)
    for family in (*FAMILIES, "evpn"):
        for section in taking.each(f"address-family {family}", below=below):
            _family(taking, section, family, found)
    return found


def _of(found: Neighbors, name: str) -> Settings | None:
    """The settings of a peer group, else of the neighbor of an address."""
    if name in found.groups:
        return found.groups[name]
    own = address(name)
    return None if own is None else found.peers.setdefault(own, Settings())


def _family(taking: SectionReader, section: SelectedLine, family: str, found: Neighbors) -> None:
    for one in taking.each("** neighbor <name> activate", below=section):
        settings = _of(found, one["name"])
        before = one.line.partition("neighbor ")[0].strip()
        if settings is None or before not in {"", "no", "default"}:
            taking.leave(one)
        else:
            settings.active[family] = not before
            if not before:
                lines = found.evpn_lines if family == "evpn" else found.routed_lines
                lines.setdefault(one["name"], []).append(one)
    for one in taking.each("neighbor <name> route-map <map> in|out", below=section):
        settings = _of(found, one["name"])
        if settings is None or (family == "evpn" and one.line.endswith(" in")):
            taking.leave(one)
        elif family == "evpn":
            settings.evpn_out = one["map"]
        else:
            settings.maps[family, one.line.rpartition(" ")[2]] = one["map"]
            found.routed_lines.setdefault(one["name"], []).append(one)
    if family == "evpn" and taking.last("bgp next-hop-unchanged", below=section):
        found.unchanged = True
    for one in taking.each("neighbor <name> next-hop-unchanged", below=section):
        if settings := _of(found, one["name"]):
            settings.unchanged = True
    for one in taking.each("neighbor <name> next-hop address-family ipv6 originate", below=section):
        if settings := _of(found, one["name"]):
            settings.over_six = True


def _on_links(taking: SectionReader, one: SelectedLine, found: Neighbors) -> None:
    words = one.line.split()[5:]
    word, value = words if len(words) == 2 else ("", "")
    asn = as_number(value) if word == "remote-as" else None
    if one["group"] not in found.groups or (word != "peer-filter" and asn is None):
        taking.leave(one)
        return
    for name in interface_names(one["ports"]):
        found.found.append(Found(name, one["group"], value if word == "peer-filter" else None, asn))


def _listens(taking: SectionReader, one: SelectedLine, found: Neighbors) -> None:
    """Neighbors on links; where loopbacks of neighbors are, a prefix does not say."""
    word, value = words if len(words := one.line.split()[6:]) == 2 else ("", "")
    asn, where = as_number(value) if word == "remote-as" else None, prefix(one["prefix"])
    group = found.groups.get(one["group"])
    if group is None or where is None or (word != "peer-filter" and asn is None) or group.source:
        taking.leave(one)
    else:
        found.listening.append(Listening(where, one["group"], value if word == "peer-filter" else None, asn))


UNNAMED = "neighbors"
"""The group of neighbors that have no peer group."""

NO_ADDRESS = Address("0.0.0.0")  # noqa: S104 - nothing listens there
"""Stands for an address that the text does not have."""

PERMIT_ALL = "permit-all"
"""The policy of what has no route map: everything passes."""

_EVERY = Policy(PERMIT_ALL, (Term("all", Match(), Action(accept=True)),))

NETWORKS = "networks"
"""The policy, and the prefix list, of ``network`` statements: of what is connected, these."""


@dataclass
class Process:
    """``router bgp``: its header, AS number, router id and neighbors."""

    header: SelectedLine
    asn: int
    router_id: Address
    neighbors: Neighbors
    usual: tuple[Bfd, Bfd]
    """BFD of neighbors that say nothing else: on a link, and over some hops."""


class Links:
    """Which port, and which address of it, an address at its other end is reached by."""

    def __init__(self, ports: Iterable[Port]) -> None:
        self._found: dict[tuple[int, int, int], tuple[Port, Address]] = {}
        self._lengths: set[tuple[int, int]] = set()
        for port in ports:
            for one in port.addresses:
                own = ipaddress.ip_interface(one)
                self._lengths.add((own.version, own.network.prefixlen))
                key = (own.version, own.network.prefixlen, int(own.network.network_address))
                self._found.setdefault(key, (port, one.address))

    def to(self, peer: Address) -> tuple[Port, Address] | None:
        """The port on whose subnet a peer is; None: on none."""
        own = ipaddress.ip_address(peer)
        bits, value = own.max_prefixlen, int(own)
        for version, length in sorted(self._lengths, reverse=True):
            if version == own.version and length < bits:
                found = self._found.get((version, length, value >> (bits - length) << (bits - length)))
                if found is not None and found[1] != peer:
                    return found
        return None


def process(taking: SectionReader, fallback: Address) -> Process | None:
    """``router bgp``; None where there is none. ``fallback`` is the router id that EOS takes without a statement."""
    header = taking.last("router bgp <asn>")
    asn = as_number(header["asn"]) if header else None
    if header is None or asn is None:
        if header is not None:
            taking.leave(header)
        return None
    named = taking.last("router-id <value>", below=header)
    value = address(named["value"]) if named else None
    if named is not None and (value is None or value.family != "ipv4"):
        taking.leave(named)
        value = None
    return Process(header, asn, value or fallback, neighbors(taking, header), usual_bfd(taking))


def is_underlay(one: Settings, found: Neighbors, links: Links, peer: Address) -> bool:
    """Whether a session is one of the underlay: it carries IPv4 or IPv6, and is not one of the overlay between loopbacks."""
    return found.is_routed(one) and (links.to(peer) is not None or not found.is_active(one, "evpn"))


def bgp(taking: SectionReader, own: Process, ports: Mapping[str, Port], lists: Lists, elsewhere: set[str]) -> Bgp:
    """The BGP of the default VRF. ``elsewhere`` are the route maps that only the overlay and VRFs use."""
    links = Links(one for one in ports.values() if not one.vrf)
    groups, watched = _groups(taking, own, ports, links, lists)
    groups, bfd = with_bfd(groups, [common_bfd(taking, some, own.usual[0]) for some in watched])
    named = [own.neighbors.groups.get(one.name) for one in groups]
    settings = [one for one in named if one] or _alone(own, links)
    families = _families(taking, own, settings)
    redistributed, made = _redistributed(taking, own, lists, families)
    wide = taking.last("maximum-paths <value> **", below=own.header)
    known = (*lists.policies(set()), _EVERY, replace(_EVERY, name=""))
    policies = (*made, *lists.policies(elsewhere), *own.neighbors.joint.policies(known))
    if redistributed == PERMIT_ALL or any(PERMIT_ALL in {one.import_policy, one.export_policy} for one in groups):
        policies = (*policies, _EVERY)
    unused = lists.of_maps(elsewhere)
    keys = {one.key for one in settings}
    made = Bgp(
        asn=own.asn,
        router_id=own.router_id,
        groups=groups,
        policies=policies,
        prefix_lists=lists.used(policies, unused),
        communities=lists.listed(policies, unused),
        as_lists=lists.as_lists,
        fabric_advertise=(),
        redistribute_connected=redistributed,
        default_accept=False,
        compare_aigp=False,
        families=families,
        maximum_ecmp=width(taking, wide),
        bfd=bfd,
        graceful_restart=taking.last("graceful-restart", below=own.header) is not None,
        ttl_security=bool(settings) and all(one.one_hop for one in settings),
        authentication=next(iter(keys)) if len(keys) == 1 else None,
        entry_lists=lists.prefixes.entry_lists({term.match.prefix_list for one in policies for term in one.terms}),
    )
    return of_one_family(made)


def width(taking: SectionReader, one: SelectedLine | None) -> int:
    """The paths of a next-hop group, of which ``ecmp`` may allow fewer; EOS has one where nothing is said."""
    words = one.line.split()[1:] if one else []
    values = [number(text, 1, 4096) for text in words if text != "ecmp"]
    if one is not None and (None in values or words[1:2] not in ([], ["ecmp"])):
        taking.leave(one)
    return min((value for value in values if value), default=1)


def common_bfd(taking: SectionReader, settings: Sequence[Settings], usual: Bfd) -> Bfd | None:
    """BFD that all of these sessions have; where they differ there is none, and its lines are not understood."""
    found = {one.watched(usual) for one in settings}
    if len(found) > 1:
        for one in settings:
            for line in one.bfd_lines:
                taking.leave(line)
    return found.pop() if len(found) == 1 else None


def _alone(own: Process, links: Links) -> list[Settings]:
    peers = ((Address(name), own.neighbors.effective(name)) for name in own.neighbors.peers)
    return [one for peer, one in peers if not one.shutdown and is_underlay(one, own.neighbors, links, peer)]


def _families(taking: SectionReader, own: Process, settings: Sequence[Settings]) -> tuple[Family, ...]:
    """The families that sessions carry and the switch routes; IPv4 over links without it has next hops of IPv6."""
    found: list[Family] = []
    on_links = {one.group for one in own.neighbors.found}
    bare = [one for name, one in own.neighbors.groups.items() if name in on_links and not one.over_six]
    four = any(own.neighbors.is_active(one, "ipv4") and one not in bare for one in settings)
    if _on(taking, "ip routing", "ip routing ipv6 interfaces") and four:
        found.append("ipv4")
    if _on(taking, "ipv6 unicast-routing") and any(own.neighbors.is_active(one, "ipv6") for one in settings):
        found.append("ipv6")
    return tuple(found)


def _on(taking: SectionReader, *forms: str) -> bool:
    """Whether one of these lines is there."""
    return bool([form for form in forms if taking.last(form)])


def _groups(
    taking: SectionReader, own: Process, ports: Mapping[str, Port], links: Links, lists: Lists
) -> tuple[tuple[BgpGroup, ...], list[list[Settings]]]:
    """Groups in the order of the text, and what holds for the sessions of each; neighbors with other policies are a group of their own."""
    found: dict[tuple[str, str, str], list[Session]] = {}
    said_of: dict[tuple[str, str, str], list[Settings]] = {}
    filters: dict[str, str | None] = {}
    about: dict[str, Settings] = dict(own.neighbors.groups)
    told = _on(
        taking, "ipv6 unicast-routing"
    )  # without it nothing is advertised on links, and no neighbor is found there
    keys = {name: (name, *own.neighbors.policies(settings)) for name, settings in about.items()}
    found |= {key: [] for key in keys.values()}
    for one in own.neighbors.found:
        settings = about[one.group]
        filters.setdefault(one.group, one.peer_filter)
        only = only_as(lists, one.peer_filter)
        port = ports.get(one.interface)
        peer = peer_of(port.description)[0] if port else ""
        session = Session(one.interface, "", peer, one.remote_as or settings.remote_as or only, None, None)
        up = told and port is not None and port.speaks_six and not port.vrf
        if up and own.neighbors.is_routed(settings) and not own.neighbors.is_shut(settings):
            found[keys[one.group]].append(session)
    for name, sessions in _listening(own, ports, lists):
        filters.setdefault(name, next(one.peer_filter for one in own.neighbors.listening if one.group == name))
        if not own.neighbors.is_shut(about[name]):
            found[keys[name]] += sessions
    for name, said in own.neighbors.peers.items():
        settings, peer = own.neighbors.effective(name), Address(name)
        if own.neighbors.is_shut(settings) or not is_underlay(settings, own.neighbors, links, peer):
            continue
        key = (said.group or UNNAMED, *own.neighbors.policies(settings))
        found.setdefault(key, []).append(_session(peer, said, settings, links))
        said_of.setdefault(key, []).append(settings)
    names: dict[str, int] = {}
    groups: list[BgpGroup] = []
    watched: list[list[Settings]] = []
    for (name, imports, exports), sessions in found.items():
        if not sessions:
            continue
        named = said_of.get((name, imports, exports), [])
        watched.append([*named, about[name]] if len(named) < len(sessions) and name in about else named)
        names[name] = names.get(name, 0) + 1
        settings = about.get(name)
        groups.append(
            BgpGroup(
                name=name if names[name] == 1 else f"{name}-{names[name]}",
                description=settings.description if settings else "",
                local_as=(settings.local_as if settings else None) or own.asn,
                sessions=tuple(sessions),
                import_policy=imports or PERMIT_ALL,
                export_policy=exports or PERMIT_ALL,
                peer_as_list=filters.get(name),
            )
        )
    return tuple(groups), watched


def _listening(own: Process, ports: Mapping[str, Port], lists: Lists) -> Iterator[tuple[str, list[Session]]]:
    """Sessions that neighbors open: on links of two addresses the neighbor has the other one."""
    for one in own.neighbors.listening:
        sessions: list[Session] = []
        for port in ports.values():
            for local in port.addresses:
                far = other_end(local) if not port.vrf else None
                if far is not None and far not in own.neighbors.peers and one.holds(far):
                    asn = one.remote_as or only_as(lists, one.peer_filter)
                    sessions.append(Session(port.name, "", peer_of(port.description)[0], asn, local.address, far))
        yield one.group, sessions


def discovered(own: Process, ports: Mapping[str, Port], lists: Lists) -> Iterator[tuple[str, str]]:
    """The groups and ports of neighbors that no line names: those that are found on a link, and those that open a session."""
    for one in own.neighbors.found:
        if one.interface in ports and ports[one.interface].speaks_six:
            yield one.group, one.interface
    for name, sessions in _listening(own, ports, lists):
        yield from ((name, session.interface) for session in sessions)


def other_end(own: InterfaceAddress) -> Address | None:
    """The other address of a link that has two."""
    bits = 128 if own.family == "ipv6" else 32
    if own.length not in {bits - 1, bits - 2}:
        return None
    value = ipaddress.ip_address(own.address)
    flipped = int(value) ^ (1 if own.length == bits - 1 else 3)
    return Address(str(type(value)(flipped)))


def only_as(lists: Lists, name: str | None) -> int:
    """The AS number that a peer filter lets in, where it is one alone; else 0."""
    ranges = lists.as_lists.get(name or "", ())
    return ranges[0][0] if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else 0


def _session(peer: Address, said: Settings, settings: Settings, links: Links) -> Session:
    link = links.to(peer)
    port, local = link or (None, None)
    name = neighbor(said.description) or (peer_of(port.description)[0] if port else "")
    return Session(port.name if port else "", "", name, settings.remote_as or 0, local, peer)


def _redistributed(
    taking: SectionReader, own: Process, lists: Lists, routed: Sequence[Family]
) -> tuple[str | None, tuple[Policy, ...]]:
    """The policy by which connected routes are advertised, and those that are made up for it.

    What the process says holds for a family that does not say it itself.
    """
    names: dict[Family, str | None] = {}
    networks: list[Prefix] = []
    general = _connected(taking, own.header, networks)
    for family in ("ipv4", "ipv6"):
        for section in taking.each(f"address-family {family}", below=own.header):
            names[family] = _connected(taking, section, networks) or names.get(family)
    said: dict[Family, str | None] = {family: names.get(family) or general for family in routed}
    name, made = of_families(said, (*lists.policies(set()), _EVERY)) if routed else (general, ())
    if name is None and networks:
        lists.prefixes.hold(NETWORKS, networks)
        term = Term(NETWORKS, Match(prefix_list=NETWORKS), Action(accept=True))
        return NETWORKS, (Policy(NETWORKS, (term,)),)
    return name, made


def _connected(taking: SectionReader, section: SelectedLine, networks: list[Prefix]) -> str | None:
    """The policy of connected routes in one section, whose ``network`` statements are added to ``networks``."""
    maps = [one["map"] for one in taking.each("redistribute connected route-map <map>", below=section)]
    plain = taking.last("redistribute connected", below=section)
    for one in taking.each("network <prefix>", below=section):
        value = prefix(one["prefix"])
        if value is None:
            taking.leave(one)
        else:
            networks.append(value)
    return maps[-1] if maps else PERMIT_ALL if plain else None
