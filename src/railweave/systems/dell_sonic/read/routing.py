"""BGP of the fabric, its policies, and BFD, out of what the lines have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS, Address, Family, InterfaceAddress, Prefix
from railweave.model.device.bgp_model import of_one_family
from railweave.model.device.management import Authentication
from railweave.model.device.model import Action, Bgp, BgpGroup, Community, Match, NumberedSession, Policy, Session, Term
from railweave.model.device.timers import Bfd
from railweave.systems.dell_sonic.words import address, after, agreed, interface, number, prefix, secret

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from railweave.model.config.sections import Section, SectionReader
    from railweave.systems.dell_sonic.read.ports import Lines


ADDRESS_FAMILIES = {"ipv4 unicast": "ipv4", "ipv6 unicast": "ipv6", "l2vpn evpn": "evpn"}


@dataclass(slots=True)
class PeerFamily:
    """An address family of a peer or of a group."""

    active: bool = False
    imports: str = ""
    exports: str = ""
    next_hop_unchanged: bool = False


@dataclass(slots=True)
class Peer:
    """A neighbor, or a peer group; ``address`` or ``interface`` is a neighbor's. ``asn`` 0 is any but its own."""

    name: str
    address: Address | None = None
    interface: str = ""
    is_group: bool = False
    asn: int | None = None
    local_as: int | None = None
    group: str = ""
    description: str = ""
    bfd: str | None = None
    ttl_security: bool = False
    password: str | None = None
    source: str = ""
    families: dict[str, PeerFamily] = field(default_factory=dict[str, PeerFamily])


@dataclass(slots=True)
class Evpn:
    """``address-family l2vpn evpn``, or a VNI in it."""

    distinguisher: str = ""
    imports: list[str] = field(default_factory=list[str])
    exports: list[str] = field(default_factory=list[str])
    vnis: dict[int, Evpn] = field(default_factory=dict[int, "Evpn"])


@dataclass(slots=True)
class Router:
    """A BGP instance. ``redistributes`` are families by the route-map that connected routes go through; empty: through none."""

    asn: int
    vrf: str = ""
    router_id: Address | None = None
    graceful_restart: bool = False
    redistributes: dict[str, str] = field(default_factory=dict[str, str])
    networks: list[Prefix] = field(default_factory=list[Prefix])
    maximum_paths: dict[str, int] = field(default_factory=dict[str, int])
    families: list[str] = field(default_factory=list[str])
    evpn: Evpn = field(default_factory=Evpn)
    groups: dict[str, Peer] = field(default_factory=dict[str, Peer])
    neighbors: dict[str, Peer] = field(default_factory=dict[str, Peer])

    def peers(self) -> tuple[Peer, ...]:
        """Peer groups and neighbors."""
        return (*self.groups.values(), *self.neighbors.values())

    def whole(self, one: Peer) -> Peer:
        """A neighbor with what it has of its group."""
        group = self.groups.get(one.group)
        if group is None:
            return one
        return replace(
            one,
            asn=group.asn if one.asn is None else one.asn,
            local_as=group.local_as if one.local_as is None else one.local_as,
            bfd=group.bfd if one.bfd is None else one.bfd,
            ttl_security=one.ttl_security or group.ttl_security,
            password=one.password or group.password,
            source=one.source or group.source,
            families={**group.families, **one.families},
        )


def routers(taking: SectionReader) -> list[Router]:
    """Every instance."""
    found: dict[str, Router] = {}
    for header in taking.sections:
        match header.line.split():
            case ["router", "bgp", value] if (asn := _as(value)) is not None:
                vrf = ""
            case ["router", "bgp", value, "vrf", vrf] if (asn := _as(value)) is not None:
                vrf = "" if vrf == "default" else vrf
            case _:
                continue
        taking.take(header)
        here = found.setdefault(vrf, Router(asn, vrf))
        here.asn = asn
        for one in header.body or ():
            _instance(taking, one, here)
    return list(found.values())


def _as(text: str) -> int | None:
    """An AS number, in either notation (RFC 5396)."""
    high, dot, low = text.partition(".")
    first, second = number(high), number(low) if dot else 0
    if first is None or second is None:
        return None
    return first << 16 | second if dot else first


def _instance(taking: SectionReader, line: Section, here: Router) -> None:
    match line.line.split():
        case ["router-id", value] if (found := address(value)) is not None:
            here.router_id = found
        case ["graceful-restart", "enable"]:
            here.graceful_restart = True
        case ["graceful-restart", "preserve-fw-state"]:
            pass
        case ["log-neighbor-changes"]:
            pass
        case ["bestpath", "as-path", "multipath-relax"]:
            pass
        case ["address-family", *words] if (family := ADDRESS_FAMILIES.get(" ".join(words))) is not None:
            _family(taking, line, here, family)
        case ["peer-group", name]:
            _peer(taking, line, _found(here, Peer(name, is_group=True)))
        case ["neighbor", "interface", *words] if (name := interface(" ".join(words))) is not None:
            _peer(taking, line, _found(here, Peer(name, interface=name)))
        case ["neighbor", value] if (found := address(value)) is not None:
            _peer(taking, line, _found(here, Peer(found, address=found)))
        case ["neighbor", *words] if (name := interface(" ".join(words))) is not None:
            _peer(taking, line, _found(here, Peer(name, interface=name)))
        case _:
            return
    taking.take(line)


def _found(router: Router, made: Peer) -> Peer:
    """The peer of a name, as it is said of so far."""
    return (router.groups if made.is_group else router.neighbors).setdefault(made.name, made)


def _family(taking: SectionReader, line: Section, here: Router, family: str) -> None:
    if family != "evpn" and family not in here.families:
        here.families.append(family)
    for one in line.body or ():
        match one.line.split():
            case ["redistribute", "connected"] if family != "evpn":
                here.redistributes[family] = ""
            case ["redistribute", "connected", "route-map", name] if family != "evpn":
                here.redistributes[family] = name
            case ["network", value] if family != "evpn" and (found := prefix(value)) is not None:
                here.networks.append(found)
            case ["maximum-paths", value] if (found := number(value)) is not None:
                here.maximum_paths[family] = found
            case ["advertise-all-vni"] | ["advertise", "ipv4" | "ipv6", "unicast"] if family == "evpn":
                pass
            case ["vni", value] if family == "evpn" and (found := number(value)) is not None:
                vni = here.evpn.vnis.setdefault(found, Evpn())
                for inner in one.body or ():
                    if _target(inner.line.split(), vni):
                        taking.take(inner)
            case words if family == "evpn" and _target(words, here.evpn):
                pass
            case _:
                continue
        taking.take(one)


def _target(words: list[str], here: Evpn) -> bool:
    match words:
        case ["rd", value]:
            here.distinguisher = value
        case ["route-target", "import", value]:
            here.imports.append(value)
        case ["route-target", "export", value]:
            here.exports.append(value)
        case ["route-target", "both", value]:
            here.imports.append(value)
            here.exports.append(value)
        case _:
            return False
    return True


def _peer(taking: SectionReader, line: Section, here: Peer) -> None:
    for one in line.body or ():
        words = one.line.split()
        family = ADDRESS_FAMILIES.get(" ".join(words[1:])) if words[0] == "address-family" else None
        if family is not None:
            _peer_family(taking, one, here.families.setdefault(family, PeerFamily()))
        elif not _who(one.line, words, here) and not _how(words, here):
            continue
        taking.take(one)


def _who(line: str, words: list[str], here: Peer) -> bool:
    match words:
        case ["remote-as", "external" | "internal"]:
            here.asn = 0
        case ["remote-as", value] if (found := _as(value)) is not None:
            here.asn = found
        case ["local-as", value] if (found := _as(value)) is not None:
            here.local_as = found
        case ["peer-group", name]:
            here.group = name
        case ["description", *_]:
            here.description = after(line, 1)
        case _:
            return False
    return True


def _how(words: list[str], here: Peer) -> bool:
    """How a session is watched, kept and keyed."""
    match words:
        case ["bfd"]:
            here.bfd = here.bfd or ""
        case ["bfd", "profile", name] | ["bfd", "check-control-plane-failure", "profile", name]:
            here.bfd = name
        case ["ttl-security", "hops", value] if number(value) is not None:
            here.ttl_security = value == "1"
        case ["password", value, *rest] if rest in ([], ["encrypted"]):
            here.password = secret(value)
        case ["update-source", *value]:
            here.source = " ".join(value).removeprefix("interface ")
        case ["timers", "connect", value] | ["ebgp-multihop", value] if number(value) is not None:
            pass
        case ["capability", "extended-nexthop"]:
            pass
        case _:
            return False
    return True


def _peer_family(taking: SectionReader, line: Section, here: PeerFamily) -> None:
    for one in line.body or ():
        match one.line.split():
            case ["activate"]:
                here.active = True
            case ["route-map", name, "in"]:
                here.imports = name
            case ["route-map", name, "out"]:
                here.exports = name
            case ["attribute-unchanged", "next-hop"] | ["next-hop-unchanged"]:
                here.next_hop_unchanged = True
            case ["send-community", "both"]:
                pass
            case _:
                continue
        taking.take(one)


_FAMILIES: dict[str, Family] = {"ip": "ipv4", "ipv6": "ipv6"}


@dataclass(slots=True)
class Entry:
    """An entry of a route-map. ``adds`` are communities by value, and ``replaces`` whether others go; ``shared``: its routes are shared by load."""

    number: int
    permits: bool
    prefix_list: str | None = None
    community: str | None = None
    local_preference: int | None = None
    adds: tuple[str, ...] = ()
    replaces: bool = False
    prepends: tuple[int, ...] = ()
    shared: bool = False
    family: Family | None = None


@dataclass(slots=True)
class Lists:
    """What route-maps are made of. ``longer`` are prefix lists that take every longer prefix too."""

    prefixes: dict[str, dict[int, Prefix]] = field(default_factory=dict[str, dict[int, Prefix]])
    longer: set[str] = field(default_factory=set[str])
    communities: dict[str, str] = field(default_factory=dict[str, str])
    maps: dict[str, dict[int, Entry]] = field(default_factory=dict[str, dict[int, Entry]])

    def prefix_list(self, name: str) -> tuple[Prefix, ...]:
        """The prefixes of a list, in order."""
        return tuple(one for _, one in sorted(self.prefixes.get(name, {}).items()))

    def entries(self, name: str) -> tuple[Entry, ...]:
        """The entries of a route-map, in order."""
        return tuple(one for _, one in sorted(self.maps.get(name, {}).items()))

    def policies(self, without: Collection[str]) -> tuple[Policy, ...]:
        """The route-maps, but for some. Communities that no list of the device has the name of are called by their value."""
        names = {value: name for name, value in reversed(self.communities.items())}
        return tuple(
            Policy(name, tuple(self._term(one, names) for one in self.entries(name)))
            for name in self.maps
            if name not in without
        )

    def named(self, policies: Iterable[Policy]) -> tuple[Community, ...]:
        """The communities that policies name."""
        terms = [term for policy in policies for term in policy.terms]
        names = [name for one in terms for name in (one.match.community, *one.action.add_communities) if name]
        return tuple(Community(name, "standard", self.communities.get(name, name)) for name in dict.fromkeys(names))

    def _term(self, one: Entry, names: dict[str, str]) -> Term:
        match = Match(
            prefix_list=one.prefix_list,
            orlonger=one.prefix_list in self.longer,
            community=one.community,
            family=one.family,
        )
        adds = tuple(names.get(value, value) for value in one.adds)
        action = Action(
            one.permits,
            local_preference=one.local_preference,
            add_communities=adds,
            prepend=one.prepends,
            replace_communities=one.replaces,
        )
        return Term("", match, action)


def lists(taking: SectionReader) -> Lists:
    """Prefix lists, community lists and route-maps."""
    found = Lists()
    for one in taking.sections:
        words = one.line.split()
        match words:
            case ["ip" | "ipv6", "prefix-list", name, "seq", sequence, "permit", value, *rest]:
                if not _prefix(found, words[0], name, sequence, value, rest):
                    continue
            case [
                "ip" | "ipv6",
                "prefix-list",
                name,
                "permit",
                value,
                *rest,
            ]:  # counted in fives, where no number is given
                after = 5 * (max(found.prefixes.get(name, {}), default=0) // 5 + 1)
                if not _prefix(found, words[0], name, str(after), value, rest):
                    continue
            case ["bgp", "community-list", "standard", name, "permit", value, *rest] if (
                ":" in value and name not in found.communities and rest in (["any"], ["all"], [])
            ):
                found.communities[name] = value
            case ["route-map", name, "permit" | "deny", sequence] if (place := number(sequence)) is not None:
                _entry(taking, one, found.maps.setdefault(name, {}), Entry(place, words[2] == "permit"))
            case _:
                continue
        taking.take(one)
    return found


def _prefix(found: Lists, word: str, name: str, sequence: str, value: str, rest: list[str]) -> bool:
    """Read an entry of a prefix list that takes a prefix as it is, or every longer one."""
    place, read = number(sequence), prefix(value)
    if place is None or read is None or read.family != _FAMILIES[word]:
        return False
    longer = ["le", str(BITS[read.family])]
    if rest not in ([], longer, ["le", str(read.length)]):
        return False
    if rest == longer:
        found.longer.add(name)
    found.prefixes.setdefault(name, {})[place] = read
    return True


def _entry(taking: SectionReader, section: Section, entries: dict[int, Entry], made: Entry) -> None:
    entries[made.number] = made
    for one in section.body or ():
        match one.line.split():
            case ["match", "ip" | "ipv6" as word, "address", "prefix-list", name]:
                made.prefix_list, made.family = name, _FAMILIES[word]
            case ["match", "community", name]:
                made.community = name
            case ["set", "local-preference", value] if (found := number(value)) is not None:
                made.local_preference = found
            case ["set", "community", *values, "additive"] if values and all(":" in value for value in values):
                made.adds, made.replaces = tuple(values), False
            case ["set", "community", *values] if values and all(":" in value for value in values):
                made.adds, made.replaces = tuple(values), True
            case ["set", "as-path", "prepend", values] if all(map(str.isdecimal, values.split(","))):
                made.prepends = tuple(map(int, values.split(",")))
            case ["set", "ars-object", _]:
                made.shared = True
            case _:
                continue
        taking.take(one)


NOWHERE = Address("0.0.0.0")  # noqa: S104 - no address to listen on
UNICAST: tuple[Family, ...] = ("ipv4", "ipv6")
USUAL_INTERVAL = 300
"""Milliseconds between packets of BFD where nothing is said (FRR's bfdd, BFD_DEFREQUIREDMINRX)."""
NETWORKS = "networks"
"""The policy and the prefix list that stand for ``network`` statements."""


@dataclass(frozen=True, slots=True)
class Links:
    """Interfaces by the networks that they are in: where a neighbor with an address is."""

    _by_network: dict[tuple[str, Prefix], tuple[str, Address]] = field(
        default_factory=dict[tuple[str, Prefix], tuple[str, Address]]
    )
    _lengths: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    @classmethod
    def of(cls, interfaces: Iterable[Lines]) -> Links:
        """Those of the interfaces that have addresses."""
        found: dict[tuple[str, Prefix], tuple[str, Address]] = {}
        lengths: dict[str, set[int]] = {}
        for one in interfaces:
            for own in (*one.addresses, *one.anycast):
                found.setdefault((one.vrf, own.prefix), (one.name, own.address))
                lengths.setdefault(one.vrf, set()).add(own.length)
        return cls(found, {vrf: tuple(sorted(some, reverse=True)) for vrf, some in lengths.items()})

    def of_neighbor(self, vrf: str, peer: Address) -> tuple[str, Address | None]:
        """The interface that a neighbor is on, and its own address there; nothing where it is on none."""
        for length in self._lengths.get(vrf, ()):
            if length <= BITS[peer.family]:
                found = self._by_network.get((vrf, InterfaceAddress(f"{peer}/{length}").prefix))
                if found is not None and found[1] != peer:
                    return found
        return "", None


def profiles(taking: SectionReader) -> dict[str, Bfd]:
    """BFD profiles by name; the empty name is that of a session without one."""
    found = {"": Bfd(minimum_interval=USUAL_INTERVAL)}
    for header in taking.sections:
        if header.line != "bfd":
            continue
        taking.take(header)
        for one in header.body or ():
            match one.line.split():
                case ["profile", name]:
                    taking.take(one)
                    found[name] = _profile(taking, one)
                case _:
                    continue
    return found


def _profile(taking: SectionReader, section: Section) -> Bfd:
    """A profile. Of two intervals the longer one is how often packets come."""
    values = {"detect-multiplier": 3, "receive-interval": 0, "transmit-interval": 0}
    for one in section.body or ():
        match one.line.split():
            case [word, value] if word in values and (found := number(value)) is not None:
                values[word] = found
            case ["no", "shutdown"]:
                pass
            case _:
                continue
        taking.take(one)
    interval = max(values["receive-interval"], values["transmit-interval"]) or USUAL_INTERVAL
    return Bfd(minimum_interval=interval, multiplier=values["detect-multiplier"])


def is_overlay(peer: Peer) -> bool:
    """Whether a peer is for EVPN's routes and no others."""
    active = {name for name, one in peer.families.items() if one.active}
    return (active or peer.families.keys()) == {"evpn"}


def bgp(router: Router, listed: Lists, links: Links, bfd: dict[str, Bfd], without: set[str]) -> Bgp:
    """The default instance without its overlay. ``without`` are route-maps that are not the underlay's."""
    groups = tuple(_groups(router, links))
    under = [one for one in _watching(router) if not is_overlay(one)]
    policies = list(listed.policies(without))
    prefix_lists = {name: listed.prefix_list(name) for name in listed.prefixes}
    taken = {name for policy in without for one in listed.entries(policy) if (name := one.prefix_list)}
    used = {term.match.prefix_list for policy in policies for term in policy.terms}
    prefix_lists = {name: some for name, some in prefix_lists.items() if name in used or name not in taken}
    redistributed = next((name for name in router.redistributes.values() if name), None)
    if redistributed is None and router.redistributes:
        redistributed = "connected" if "connected" not in listed.maps else None
        policies += [Policy("connected", (Term("", Match(), Action(accept=True)),))] if redistributed else []
    if redistributed is None and router.networks:
        redistributed = NETWORKS
        prefix_lists[NETWORKS] = tuple(router.networks)
        policies.append(Policy(NETWORKS, (Term("", Match(prefix_list=NETWORKS), Action(accept=True)),)))
    if any("" in {one.import_policy, one.export_policy} for one in groups):
        policies.append(Policy("", (Term("", Match(), Action(accept=True)),)))  # without a route-map all routes pass
    keys = [one.password for one in _watching(router)]
    watched = [one.bfd for one in under]
    made = Bgp(
        asn=router.asn,
        router_id=router.router_id or NOWHERE,
        groups=groups,
        policies=tuple(policies),
        prefix_lists=prefix_lists,
        communities=listed.named(policies),
        as_lists={},
        fabric_advertise=(),
        redistribute_connected=redistributed,
        default_accept=False,
        compare_aigp=False,
        families=tuple(one for one in UNICAST if one in router.families),
        maximum_ecmp=min((n for name, n in router.maximum_paths.items() if name != "evpn"), default=1),
        bfd=bfd.get(watched[0] or "") if agreed(watched) and watched[0] is not None else None,
        graceful_restart=router.graceful_restart,
        ttl_security=bool(under) and all(one.ttl_security for one in under),
        authentication=Authentication(keys[0]) if agreed(keys) and keys[0] else None,
    )
    return of_one_family(made)


def _watching(router: Router) -> Iterator[Peer]:
    """Groups, and neighbors that have something of their own: who says how sessions are watched and keyed."""
    yield from router.groups.values()
    for one in router.neighbors.values():
        alone = one.group not in router.groups and bool(one.families)
        if alone or one.bfd is not None or one.password or one.ttl_security:
            yield router.whole(one)


def _groups(router: Router, links: Links) -> Iterator[BgpGroup]:
    members: dict[str, list[Peer]] = {name: [] for name in router.groups}
    for one in router.neighbors.values():
        members.setdefault(one.group if one.group in router.groups else one.name, []).append(one)
    for name, some in members.items():
        group = router.groups.get(name) or some[0]
        whole = router.whole(some[0]) if some else group
        if name not in router.groups and not whole.families:  # it exchanges nothing
            continue
        if is_overlay(group if name in router.groups else whole):
            continue
        families = {**group.families, **whole.families}
        family = next((one for key, one in families.items() if key != "evpn"), None)
        active = any(one.active for one in families.values())
        yield BgpGroup(
            name=name,
            description=group.description if name in router.groups else "",
            local_as=group.local_as or router.asn,
            sessions=tuple(_session(router.whole(one), links) for one in some) if active else (),
            import_policy=family.imports if family else "",
            export_policy=family.exports if family else "",
            peer_as_list=None,
        )


def _session(one: Peer, links: Links) -> Session:
    interface, local = (one.interface, None) if one.address is None else links.of_neighbor("", one.address)
    return Session(interface, "", one.description, one.asn or 0, local, one.address)


def numbered(one: Peer, interface: str, local: Address) -> NumberedSession | None:
    """A session by addresses; None where the neighbor has none."""
    if one.address is None:
        return None
    return NumberedSession(interface, "", one.description, one.asn or 0, local, one.address)
