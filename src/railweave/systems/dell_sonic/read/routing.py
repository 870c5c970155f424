"""BGP of the fabric, its policies, and BFD, out of what the lines have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS, Address, Family, InterfaceAddress, Prefix
from railweave.model.device.bgp_model import of_one_family
from railweave.model.device.management import Authentication
from railweave.model.device.model import Action, Bgp, BgpGroup, Community, Match, NumberedSession, Policy, Session, Term
from railweave.model.device.timers import Bfd
from railweave.systems.dell_sonic.words import agreed, number, prefix

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from railweave.model.config.sections import Section, SectionReader
    from railweave.systems.dell_sonic.read.ports import Lines
    from railweave.systems.dell_sonic.statements.bgp import Peer, Router


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
    networks = tuple(network for family in router.unicast.values() for network in family.networks)
    if redistributed is None and networks:
        redistributed = NETWORKS
        prefix_lists[NETWORKS] = networks
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
        families=tuple(family for family in UNICAST if family in router.unicast),
        maximum_ecmp=min((f.maximum_paths for f in router.unicast.values() if f.maximum_paths is not None), default=1),
        bfd=bfd.get(watched[0] or "") if agreed(watched) and watched[0] is not None else None,
        graceful_restart=router.graceful_restart,
        ttl_security=bool(under) and all(one.ttl_security for one in under),
        authentication=Authentication(keys[0]) if agreed(keys) and keys[0] else None,
    )
    return of_one_family(made)


def _watching(router: Router) -> Iterator[Peer]:
    """Groups, and neighbors that have something of their own: who says how sessions are watched and keyed."""
    yield from router.groups.values()
    for one in router.neighbors:
        alone = one.group not in router.groups and bool(one.families)
        if alone or one.bfd is not None or one.password or one.ttl_security:
            yield router.whole(one)


def _groups(router: Router, links: Links) -> Iterator[BgpGroup]:
    members: dict[str, list[Peer]] = {name: [] for name in router.groups}
    for one in router.neighbors:
        members.setdefault(one.group if one.group in router.groups else one.title, []).append(one)
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
    interface, local = (one.interface or "", None) if one.address is None else links.of_neighbor("", one.address)
    return Session(interface, "", one.description, one.asn or 0, local, one.address)


def numbered(one: Peer, interface: str, local: Address) -> NumberedSession | None:
    """A session by addresses; None where the neighbor has none."""
    if one.address is None:
        return None
    return NumberedSession(interface, "", one.description, one.asn or 0, local, one.address)
