"""Conversion between a device's routing policy and BFD profiles and their statements (``statements.policy``).

Enterprise SONiC uses this module, too.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import BITS
from railweave.model.device.model import Action, Community, Match, Policy, Term
from railweave.model.device.prefix_lists import PrefixLists
from railweave.model.device.reading import is_irrelevant
from railweave.model.device.timers import Bfd
from railweave.systems.frr.statements import FAMILY
from railweave.systems.frr.statements.policy import CommunityEntry, Detection, MapEntry, Policies, PrefixEntry, Profile
from railweave.systems.frr.tree import BFD_PROFILE, FROM_SPINE, OVERLAY_BFD_PROFILE, TO_NEIGHBORS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.config.sections import Section, SectionReader
    from railweave.model.device.model import Bgp, DeviceConfig, OverlayConfig, Vrf

USUAL_INTERVAL = 300
"""The default time in milliseconds between BFD packets (FRR's bfdd, BFD_DEFREQUIREDMINRX)."""


def kind(value: str) -> Literal["large", "standard"]:
    """Return the kind of the community ``value``, such as ``65000:10``: ``large`` if it has three numbers, otherwise ``standard``."""
    return "large" if value.count(":") == 2 else "standard"


def interface_list(name: str) -> str:
    """Return the name, such as ``(interface lo)``, of the prefix list that contains the prefixes of the interface ``name``."""
    return f"(interface {name})"


def fabric_policies(config: DeviceConfig, bgp: Bgp) -> Policies:
    """Return the policies of the fabric, and the BFD profiles of the fabric's and the overlay's sessions."""
    terms = [term for policy in bgp.policies for term in policy.terms]
    listed = sorted({(term.match.prefix_list, term.match.orlonger) for term in terms if term.match.prefix_list})
    matched = sorted({term.match.community for term in terms if term.match.community})
    overlay = config.overlay.bfd if config.overlay else None
    return Policies(
        detection=detection({OVERLAY_BFD_PROFILE: overlay, BFD_PROFILE: bgp.bfd}),
        prefixes=tuple(
            entry for name, longer in listed for entry in _entries(name, bgp.prefix_lists.get(name, ()), longer=longer)
        ),
        communities=tuple(_community_list(name, value) for name, value in bgp.values(matched).items()),
        maps=tuple(
            _map_entry(bgp, policy.name, 10 * place, term)
            for policy in bgp.policies
            for place, term in enumerate(policy.terms, 1)
        ),
    )


def detection(profiles: dict[str, Bfd | None]) -> tuple[Detection, ...]:
    """Return the ``bfd`` section with the BFD profiles ``profiles``, or an empty tuple if no session uses BFD.

    ``profiles`` has the BFD timers by profile name; None means that the sessions of the profile do not use BFD.
    """
    watched = {
        name: Profile(bfd.multiplier, bfd.minimum_interval, bfd.minimum_interval)
        for name, bfd in profiles.items()
        if bfd is not None
    }
    return (Detection(watched),) if watched else ()


def _entries(name: str, prefixes: Iterable[Prefix], *, longer: bool) -> Iterator[PrefixEntry]:
    for place, prefix in enumerate(prefixes, 1):
        most = BITS[prefix.family] if longer else None
        yield PrefixEntry(name, prefix, prefix.family, 5 * place, le=most)


def _community_list(name: str, value: str) -> CommunityEntry:
    return CommunityEntry(name, value, large=kind(value) == "large", sequence=5)


def _map_entry(bgp: Bgp, name: str, number: int, term: Term) -> MapEntry:
    match, action = term.match, term.action
    family = bgp.family_of(match) if match.prefix_list else None
    entry = MapEntry(
        name=name,
        permits=action.accept,
        number=number,
        description=term.name,
        ipv4_list=match.prefix_list if family == "ipv4" else None,
        ipv6_list=match.prefix_list if family == "ipv6" else None,
        local_preference=action.local_preference,
        aigp=action.aigp,
        prepends=action.prepend,
    )
    if match.community:
        entry = _matching(entry, match.community, bgp.values([match.community]).get(match.community, ""))
    return _marking(entry, bgp.values(action.add_communities).values(), additive=not action.replace_communities)


def _matching(entry: MapEntry, name: str, value: str) -> MapEntry:
    """Return a route-map entry with the condition that a route has the community ``name`` with the value ``value``."""
    return replace(entry, large_community=name) if kind(value) == "large" else replace(entry, community=name)


def _marking(entry: MapEntry, values: Iterable[str], *, additive: bool) -> MapEntry:
    """Return a route-map entry that sets the communities ``values``. If ``additive`` is True, a route keeps its other communities, too."""
    large = tuple(value for value in values if kind(value) == "large")
    return replace(
        entry,
        communities=tuple(value for value in values if value not in large),
        additive=additive,
        large_communities=large,
        large_additive=additive,
    )


def overlay_policies(overlay: OverlayConfig) -> Policies:
    """Return the export policy for EVPN routes.

    Spines add a community to routes, and leaves do not advertise routes with this community.
    """
    mark = overlay.from_spine
    if overlay.reflects:
        entry = MapEntry(TO_NEIGHBORS, permits=True, number=10, description="forward")
        return Policies(maps=(_marking(entry, (mark,), additive=True),))
    returned = MapEntry(TO_NEIGHBORS, permits=False, number=10, description="returned")
    return Policies(
        communities=(_community_list(FROM_SPINE, mark),),
        maps=(
            _matching(returned, FROM_SPINE, mark),
            MapEntry(TO_NEIGHBORS, permits=True, number=20, description="own"),
        ),
    )


def external_policies(vrf: Vrf) -> Iterator[Policies]:
    """Yield the policies for routes from and to each external router of a tenant.

    A policy accepts only the prefixes that the design lists.
    """
    for router, peer in {peer.router: peer for peer in vrf.external}.items():
        family = peer.session.local_address.family
        for way, prefixes in (("from", peer.accept), ("to", peer.advertise)):
            name = f"{way}-{vrf.name}-{router}"
            ipv4_list, ipv6_list = (name, None) if family == "ipv4" else (None, name)
            yield Policies(
                prefixes=tuple(_entries(name, prefixes, longer=way == "to")),
                maps=(MapEntry(name, permits=True, number=10, ipv4_list=ipv4_list, ipv6_list=ipv6_list),),
            )


@dataclass(frozen=True, slots=True)
class Lists:
    """The prefix lists, community lists and route-maps of a configuration, by name.

    - ``communities``: the value of each community list.
    - ``strange``: the names of community lists that do not consist of one value.
    - ``unknown``: the lines of a route-map entry that are not understood, by (name of the map, number of the entry).
    - ``numbered``: True if an entry without a description is named by its number.
    """

    prefixes: PrefixLists
    communities: dict[str, str]
    strange: frozenset[str]
    maps: dict[str, tuple[MapEntry, ...]]
    unknown: dict[tuple[str, int], tuple[str, ...]]
    numbered: bool

    def entries(self, name: str) -> tuple[MapEntry, ...]:
        """Return the entries of a route-map, in order."""
        return self.maps.get(name, ())

    def policies(self, without: Collection[str]) -> tuple[Policy, ...]:
        """Return the route-maps as policies, except the maps named in ``without``."""
        return tuple(Policy(name, self.terms(name)) for name in self.maps if name not in without)

    def terms(self, name: str) -> tuple[Term, ...]:
        """Return the entries of a route-map as terms of a policy. A community that is in no list is named by its value."""
        names = {value: name for name, value in reversed(self.communities.items())}
        return tuple(self._term(entry, names) for entry in self.entries(name))

    def passes_all(self, name: str) -> bool:
        """Return True if a route-map accepts every route unchanged."""
        terms = self.terms(name)
        return bool(terms) and (terms[0].match, terms[0].action, terms[0].unknown) == (Match(), Action(accept=True), ())

    def named(self, policies: Iterable[Policy]) -> tuple[Community, ...]:
        """Return the communities to which policies refer."""
        terms = [term for policy in policies for term in policy.terms]
        names = [*(term.match.community for term in terms), *(name for t in terms for name in t.action.add_communities)]
        values = {name: self.communities.get(name, name) for name in names if name}
        return tuple(Community(name, kind(value), value) for name, value in values.items())

    def mark(self, maps: Collection[str]) -> str | None:
        """Return the community that keeps leaves from sending routes back to spines.

        Route-maps of spines add the community, and route-maps of leaves reject routes with it. ``maps`` are the route-maps of EVPN
        sessions. The
        result is empty if the maps pass everything, or have unknown statements. The result is None if the maps have any other effect, or
        differ
        between sessions, because ``DeviceConfig`` cannot represent this.
        """
        if not any(maps):
            return ""
        terms = self.terms(next(iter(maps))) if len(maps) == 1 else ()
        if any(term.unknown for term in terms):
            return ""
        match [(term.match, term.action) for term in terms]:
            case [(every, Action(add_communities=added) as passing)] if len(added) <= 1:
                is_mark = (every, passing) == (Match(), Action(accept=True, add_communities=added))
                return next((self.communities.get(name, name) for name in added), "") if is_mark else None
            case [(Match(community=str(name)) as returned, refusing), rest]:
                is_mark = (returned, refusing) == (Match(community=name), Action(accept=False))
                return self.communities.get(name) if is_mark and rest == (Match(), Action(accept=True)) else None
            case _:
                return None

    def _term(self, entry: MapEntry, names: dict[str, str]) -> Term:
        community, strange = entry.community or entry.large_community, list[str]()
        match = Match(community=community, protocol=entry.protocol)
        for line, name, family in _conditions(entry)[:1]:
            listed = self.prefixes.match(name, family) if family else Match(prefix_list=name)
            match = replace(listed, community=community, protocol=entry.protocol)
            strange += [line] if family and (name, family) in self.prefixes.strange else []
        strange += [f"match {word} {name}" for word, name in _of_communities(entry) if name in self.strange]
        added = (*entry.communities, *entry.large_communities)
        action = Action(
            entry.permits,
            local_preference=entry.local_preference,
            aigp=entry.aigp,
            add_communities=tuple(names.get(value, value) for value in added),
            prepend=entry.prepends,
            replace_communities=bool(added) and not (entry.additive if entry.communities else entry.large_additive),
        )
        unknown = (*strange, *self.unknown.get((entry.name, entry.number), ()))
        usual = str(entry.number) if self.numbered else ""
        return Term(
            usual if entry.description is None else entry.description, match, action, tuple(dict.fromkeys(unknown))
        )


def _conditions(entry: MapEntry) -> list[tuple[str, str, Family | None]]:
    """Return an entry's conditions on prefixes, each as (line, name of the list, address family of the list)."""
    ports = interface_list(entry.interface) if entry.interface else None
    conditions: tuple[tuple[str, str | None, Family | None], ...] = (
        (f"match ip address prefix-list {entry.ipv4_list}", entry.ipv4_list, "ipv4"),
        (f"match ipv6 address prefix-list {entry.ipv6_list}", entry.ipv6_list, "ipv6"),
        (f"match interface {entry.interface}", ports, None),
    )
    return [(line, name, family) for line, name, family in conditions if name is not None]


def _of_communities(entry: MapEntry) -> list[tuple[str, str]]:
    named = (("community", entry.community), ("large-community", entry.large_community))
    return [(word, name) for word, name in named if name is not None]


def _unrepresented(entry: MapEntry) -> Iterator[str]:
    """Yield the lines of a route-map entry that a ``Term`` of ``DeviceConfig`` cannot represent.

    A term has one condition of each kind, and either adds communities or replaces them.
    """
    yield from (line for line, *_ in _conditions(entry)[1:])
    yield from (f"match {word} {name}" for word, name in _of_communities(entry)[1:])
    if entry.communities and entry.large_communities and entry.additive != entry.large_additive:
        additive = " additive" if entry.large_additive else ""
        yield f"set large-community {' '.join(entry.large_communities)}{additive}"


def lists(policies: Policies, reader: SectionReader, nos: str, *, numbered: bool) -> Lists:
    """Return the lists and route-maps of a device. Statements that ``Lists`` cannot represent are marked as not understood.

    ``nos`` is the operating system. ``numbered`` is True if an entry without a description is named by its number. ``reader`` has the lines
    of the configuration, ``policies`` the statements about lists, route-maps and BFD profiles.
    """
    prefixes, communities = _values(policies, reader)
    maps: dict[str, dict[int, MapEntry]] = {}
    bodies: dict[tuple[str, int], list[Section]] = {}
    for entry in policies.maps:
        places = maps.setdefault(entry.name, {})
        places[entry.number] = _together(places[entry.number], entry) if entry.number in places else entry
        bodies.setdefault((entry.name, entry.number), []).extend((entry.section and entry.section.body) or ())
    unknown: dict[tuple[str, int], tuple[str, ...]] = {}
    irrelevant = is_irrelevant(nos)
    for (name, number), body in bodies.items():
        unrepresented = set(_unrepresented(maps[name][number]))
        for section in body:
            if section.line in unrepresented:
                reader.mark_unknown(section)
        unknown[name, number] = reader.unknown_lines(body, f"route-map {name} permit {number}", irrelevant)
    strange: set[str] = set()
    for line in _unknown_lines(reader, irrelevant):
        match [word for word in line.split() if word not in {"standard", "expanded", "regexp"}]:
            case ["bgp" | "ip", "community-list" | "large-community-list", name, *_]:
                strange.add(name)
            case ["ip" | "ipv6" as word, "prefix-list", name, *_]:
                prefixes.strange.add((name, FAMILY.read(word)))
            case ["route-map", name, *_]:  # an entry whose number is not understood
                maps.setdefault(name, {}).setdefault(0, MapEntry(name, permits=False, number=0, description=""))
                unknown[name, 0] = (*unknown.get((name, 0), ()), line)
            case _:
                pass
    ordered = {name: tuple(places[number] for number in sorted(places)) for name, places in maps.items()}
    return Lists(prefixes, communities, frozenset(strange), ordered, unknown, numbered)


def _values(policies: Policies, reader: SectionReader) -> tuple[PrefixLists, dict[str, str]]:
    """Return (the prefix lists, the value of each community list).

    Lines that these two cannot represent are marked as not understood. ``reader`` has the lines of the configuration, ``policies`` the
    statements about lists, route-maps and BFD profiles.
    """
    prefixes, communities = PrefixLists(), dict[str, str]()
    unrepresented: list[PrefixEntry | CommunityEntry] = []
    for entry in policies.prefixes:
        lengths = [word for name, value in (("ge", entry.ge), ("le", entry.le)) if value for word in (name, str(value))]
        words = ["permit" if entry.permits else "deny", *lengths]
        if not prefixes.add(entry.name, entry.family, entry.sequence, entry.prefix, words):
            unrepresented.append(entry)
    for entry in policies.communities:
        is_of_kind = entry.large == (kind(entry.value) == "large")
        if entry.permits and is_of_kind and entry.name not in communities:  # one value: any and all are the same
            communities[entry.name] = entry.value
        else:
            unrepresented.append(entry)
    for entry in unrepresented:
        if entry.section is not None:
            reader.mark_unknown(entry.section)
    return prefixes, communities


def _unknown_lines(reader: SectionReader, irrelevant: Callable[[str], bool]) -> Iterator[str]:
    """Yield the top-level lines that are not understood and not ``irrelevant``. Lines of a prefix list follow the header of the list.

    ``reader`` has the lines of the configuration.
    """
    yield from reader.unknown_lines(reader.sections, "", irrelevant)
    for section in reader.sections:
        if " prefix-list " in section.line:
            yield from (
                f"{section.line} {line}" for line in reader.unknown_lines(section.body or (), section.line, irrelevant)
            )


def _together(entry: MapEntry, later: MapEntry) -> MapEntry:
    """Return a route-map entry, extended by the lines of ``later``, a second section with the same name and number."""
    usual = MapEntry(later.name, later.permits, later.number)
    given = {field.name: getattr(later, field.name) for field in fields(later)}
    changed = {name: value for name, value in given.items() if value != getattr(usual, name)}
    for slot, additive in (("communities", "additive"), ("large_communities", "large_additive")):
        if given[slot]:
            changed[additive] = given[additive]
    return replace(entry, permits=later.permits, **changed)


def profiles(policies: Policies, reader: SectionReader) -> dict[str, Bfd]:
    """Return the BFD settings of each BFD profile. The key is empty for sessions without a profile.

    If the sending and the receiving interval of a profile differ, one of the two is marked as not understood. ``reader`` has the lines of
    the configuration, ``policies`` the statements about lists, route-maps and BFD profiles.
    """
    named = {"": Bfd(minimum_interval=USUAL_INTERVAL)}
    for section in policies.detection:
        for name, profile in section.profiles.items():
            sent, received = profile.transmit or USUAL_INTERVAL, profile.receive or USUAL_INTERVAL
            multiplier = Bfd().multiplier if profile.multiplier is None else profile.multiplier
            named[name] = Bfd(minimum_interval=max(sent, received), multiplier=multiplier)
            if sent != received:
                word = "receive-interval" if profile.receive else "transmit-interval"
                for line in (profile.section.body if profile.section else None) or ():
                    if line.line.startswith(word):
                        reader.mark_unknown(line)
    return named
