"""Routing policy and BFD profiles of a device and of its statements (``statements.policy``)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS
from railweave.model.device.model import Action, Community, Match, Policy, Term
from railweave.model.device.prefix_lists import PrefixLists
from railweave.model.device.reading import is_irrelevant
from railweave.model.device.timers import Bfd
from railweave.systems.dell_sonic.statements.policy import (
    CommunityEntry,
    Detection,
    MapEntry,
    Policies,
    PrefixEntry,
    Profile,
)
from railweave.systems.frr.names import BFD_PROFILE, OVERLAY_BFD_PROFILE
from railweave.systems.frr.render.overlay import FROM_SPINE, TO_NEIGHBORS
from railweave.systems.sonic.render.names import vrf_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.config.sections import Section, SectionReader
    from railweave.model.device.model import Bgp, DeviceConfig, OverlayConfig

WORDS: dict[Family, str] = {"ipv4": "ip", "ipv6": "ipv6"}
FAMILIES_OF: dict[str, Family] = {word: family for family, word in WORDS.items()}
USUAL_INTERVAL = 300
"""Milliseconds between packets of BFD without a profile's interval (FRR's bfdd, BFD_DEFREQUIREDMINRX)."""


def policies_of(config: DeviceConfig, shared_by: str | None) -> Iterator[Policies]:
    """Yield the policies of a device: the fabric's, the overlay's, and one for each direction of a tenant's external routers.

    ``shared_by`` is the ARS object for routes of the fabric. If None, traffic is shared by the hash.
    """
    if config.bgp is None:
        return
    yield _fabric(config, config.bgp, shared_by)
    if config.overlay is not None:
        yield _overlay(config.overlay)
    names = vrf_names(config)
    for vrf in config.vrfs:
        for router, peer in {peer.router: peer for peer in vrf.external}.items():
            family, tenant = peer.session.local_address.family, names[vrf.name]
            yield _external(f"from-{tenant}-{router}", family, peer.accept, longer=False)
            yield _external(f"to-{tenant}-{router}", family, peer.advertise, longer=True)


def _fabric(config: DeviceConfig, bgp: Bgp, shared_by: str | None) -> Policies:
    terms = [term for policy in bgp.policies for term in policy.terms]
    listed = sorted({(term.match.prefix_list, term.match.orlonger) for term in terms if term.match.prefix_list})
    matched = sorted({term.match.community for term in terms if term.match.community})
    imports = {group.import_policy for group in bgp.groups}
    profiles = {OVERLAY_BFD_PROFILE: config.overlay.bfd if config.overlay else None, BFD_PROFILE: bgp.bfd}
    watched = {name: _profile(bfd) for name, bfd in profiles.items() if bfd is not None}
    return Policies(
        detection=(Detection(watched),) if watched else (),
        prefixes=tuple(
            entry for name, longer in listed for entry in _entries(name, bgp.prefix_lists.get(name, ()), longer=longer)
        ),
        communities=tuple(CommunityEntry(name, value) for name, value in bgp.values(matched).items()),
        maps=tuple(
            _map_entry(bgp, policy.name, 10 * place, term, shared_by if policy.name in imports else None)
            for policy in bgp.policies
            for place, term in enumerate(policy.terms, 1)
        ),
    )


def _profile(bfd: Bfd) -> Profile:
    return Profile(bfd.multiplier, bfd.minimum_interval, bfd.minimum_interval)


def _entries(name: str, prefixes: Iterable[Prefix], *, longer: bool) -> Iterator[PrefixEntry]:
    for place, prefix in enumerate(prefixes, 1):
        most = BITS[prefix.family] if longer else None
        yield PrefixEntry(name, prefix, prefix.family, 5 * place, le=most)


def _map_entry(bgp: Bgp, name: str, number: int, term: Term, shared_by: str | None) -> MapEntry:
    match, action = term.match, term.action
    family = bgp.family_of(match) if match.prefix_list else None
    return MapEntry(
        name=name,
        permits=action.accept,
        number=number,
        ipv4_list=match.prefix_list if family == "ipv4" else None,
        ipv6_list=match.prefix_list if family == "ipv6" else None,
        community=match.community or None,
        local_preference=action.local_preference,
        communities=tuple(bgp.values(action.add_communities).values()),
        additive=not action.replace_communities,
        prepends=action.prepend,
        shared_by=shared_by if action.accept else None,
    )


def _overlay(overlay: OverlayConfig) -> Policies:
    """Return the export policy for EVPN routes. Spines mark routes; leaves send no marked route back."""
    if overlay.reflects:
        mark = MapEntry(TO_NEIGHBORS, permits=True, number=10, communities=(overlay.from_spine,), additive=True)
        return Policies(maps=(mark,))
    return Policies(
        communities=(CommunityEntry(FROM_SPINE, overlay.from_spine),),
        maps=(
            MapEntry(TO_NEIGHBORS, permits=False, number=10, community=FROM_SPINE),
            MapEntry(TO_NEIGHBORS, permits=True, number=20),
        ),
    )


def _external(name: str, family: Family, prefixes: Iterable[Prefix], *, longer: bool) -> Policies:
    """Return the policy for routes to or from an external router: only the listed prefixes pass."""
    ipv4_list, ipv6_list = (name, None) if family == "ipv4" else (None, name)
    return Policies(
        prefixes=tuple(_entries(name, prefixes, longer=longer)),
        maps=(MapEntry(name, permits=True, number=10, ipv4_list=ipv4_list, ipv6_list=ipv6_list),),
    )


@dataclass(frozen=True, slots=True)
class Lists:
    """Prefix lists, community lists and route-maps by name.

    - ``communities``: the value of each community list.
    - ``strange``: community lists with an entry that this value does not hold.
    - ``unknown``: lines of route-map entries that are not understood, by the map's name and the entry's number.
    """

    prefixes: PrefixLists
    communities: dict[str, str]
    strange: frozenset[str]
    maps: dict[str, tuple[MapEntry, ...]]
    unknown: dict[tuple[str, int], tuple[str, ...]]

    def entries(self, name: str) -> tuple[MapEntry, ...]:
        """Return the entries of a route-map, in order."""
        return self.maps.get(name, ())

    def policies(self, without: Collection[str]) -> tuple[Policy, ...]:
        """Return the route-maps, except those in ``without``."""
        return tuple(Policy(name, self.terms(name)) for name in self.maps if name not in without)

    def terms(self, name: str) -> tuple[Term, ...]:
        """Return the terms of a route-map. A community that no list has is named by its value."""
        names = {value: name for name, value in reversed(self.communities.items())}
        return tuple(self._term(entry, names) for entry in self.entries(name))

    def named(self, policies: Iterable[Policy]) -> tuple[Community, ...]:
        """Return the communities that policies name."""
        terms = [term for policy in policies for term in policy.terms]
        names = [name for term in terms for name in (term.match.community, *term.action.add_communities) if name]
        return tuple(Community(name, "standard", self.communities.get(name, name)) for name in dict.fromkeys(names))

    def _term(self, entry: MapEntry, names: dict[str, str]) -> Term:
        match, strange = Match(community=entry.community), list(self.unknown.get((entry.name, entry.number), ()))
        listed: tuple[tuple[str | None, Family], ...] = ((entry.ipv4_list, "ipv4"), (entry.ipv6_list, "ipv6"))
        conditions: list[tuple[str, Family]] = [(name, family) for name, family in listed if name is not None]
        for name, family in conditions:
            match = replace(self.prefixes.match(name, family), community=entry.community)
        strange += [
            f"match {WORDS[family]} address prefix-list {name}"
            for name, family in conditions
            if len(conditions) > 1 or (name, family) in self.prefixes.strange  # no route has two families
        ]
        if entry.community in self.strange:
            strange.append(f"match community {entry.community}")
        action = Action(
            entry.permits,
            local_preference=entry.local_preference,
            add_communities=tuple(names.get(value, value) for value in entry.communities),
            prepend=entry.prepends,
            replace_communities=bool(entry.communities) and not entry.additive,
        )
        return Term("", match, action, tuple(strange))


def lists(policies: Policies, reader: SectionReader) -> Lists:
    """Return the lists and route-maps of a device. Entries that mean more than these fields hold are given back to the reader."""
    prefixes, communities = PrefixLists(), dict[str, str]()
    given_back: list[PrefixEntry | CommunityEntry | MapEntry] = []
    for entry in policies.prefixes:
        lengths = [word for name, value in (("ge", entry.ge), ("le", entry.le)) if value for word in (name, str(value))]
        words = ["permit" if entry.permits else "deny", *lengths]
        if not prefixes.add(entry.name, entry.family, entry.sequence, entry.prefix, words):
            given_back.append(entry)
    for entry in policies.communities:
        if entry.permits and entry.name not in communities:  # of one community, any and all of them are the same
            communities[entry.name] = entry.value
        else:
            given_back.append(entry)
    maps: dict[str, dict[int, MapEntry]] = {}
    unknown: dict[tuple[str, int], tuple[str, ...]] = {}
    irrelevant = is_irrelevant("dell_sonic")
    for entry in policies.maps:
        places, at = maps.setdefault(entry.name, {}), (entry.name, entry.number)
        section = entry.section
        if section is not None:
            unknown[at] = unknown.get(at, ()) + reader.untaken(section.body or (), section.line, irrelevant)
        places[entry.number] = _together(places[entry.number], entry) if entry.number in places else entry
    given_back += [
        entry for places in maps.values() for entry in places.values() if entry.ipv4_list and entry.ipv6_list
    ]
    for entry in given_back:
        if entry.section is not None:
            reader.give_back(entry.section)
    strange: set[str] = set()
    for line in reader.untaken(reader.sections, "", irrelevant):
        match line.split():
            case ["bgp", "community-list", _, name, *_]:
                strange.add(name)
            case ["ip" | "ipv6" as word, "prefix-list", name, *_]:
                prefixes.strange.add((name, FAMILIES_OF[word]))
            case _:
                pass
    ordered = {name: tuple(places[number] for number in sorted(places)) for name, places in maps.items()}
    return Lists(prefixes, communities, frozenset(strange), ordered, unknown)


def _together(entry: MapEntry, later: MapEntry) -> MapEntry:
    """Return an entry of a route-map with the lines of a later section for it."""
    usual = MapEntry(later.name, later.permits, later.number, additive=later.additive)
    given = {field.name: getattr(later, field.name) for field in fields(later)}
    changed = {name: value for name, value in given.items() if value != getattr(usual, name)}
    if later.communities:
        changed["additive"] = later.additive
    return replace(entry, permits=later.permits, **changed)


def profiles(policies: Policies) -> dict[str, Bfd]:
    """Return the BFD settings of profiles by name. The empty name is for sessions without a profile."""
    named = {name: _bfd(profile) for detection in policies.detection for name, profile in detection.profiles.items()}
    return {"": Bfd(minimum_interval=USUAL_INTERVAL), **named}


def uneven(policies: Policies) -> Iterator[Section]:
    """Yield the headers of profiles that send at another interval than they receive, which a BFD setting cannot hold."""
    for detection in policies.detection:
        for profile in detection.profiles.values():
            if profile.section is not None and profile.receive != profile.transmit:
                yield profile.section


def _bfd(profile: Profile) -> Bfd:
    """Return the settings of a profile. The longer of its intervals is the time between packets."""
    interval = max(profile.receive or 0, profile.transmit or 0) or USUAL_INTERVAL
    usual = Bfd()
    return Bfd(
        minimum_interval=interval, multiplier=usual.multiplier if profile.multiplier is None else profile.multiplier
    )
