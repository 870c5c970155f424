"""Routing policy and BFD profiles of a device and of its statements (``statements.policy``)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS
from railweave.model.device.model import Action, Community, Match, Policy, Term
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
    from railweave.model.config.sections import Section
    from railweave.model.device.model import Bgp, DeviceConfig, OverlayConfig

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

    - ``longer``: names of prefix lists that match every longer prefix too.
    - ``communities``: the value of each community list.
    - ``unsaid``: statements that mean more than these fields can hold.
    """

    prefixes: dict[str, tuple[Prefix, ...]]
    longer: frozenset[str]
    communities: dict[str, str]
    maps: dict[str, tuple[MapEntry, ...]]
    unsaid: tuple[Section, ...] = ()

    def prefix_list(self, name: str) -> tuple[Prefix, ...]:
        """Return the prefixes of a list, in order."""
        return self.prefixes.get(name, ())

    def entries(self, name: str) -> tuple[MapEntry, ...]:
        """Return the entries of a route-map, in order."""
        return self.maps.get(name, ())

    def policies(self, without: Collection[str]) -> tuple[Policy, ...]:
        """Return the route-maps, except those in ``without``. A community that no list has is named by its value."""
        names = {value: name for name, value in reversed(self.communities.items())}
        return tuple(
            Policy(name, tuple(self._term(entry, names) for entry in entries))
            for name, entries in self.maps.items()
            if name not in without
        )

    def named(self, policies: Iterable[Policy]) -> tuple[Community, ...]:
        """Return the communities that policies name."""
        terms = [term for policy in policies for term in policy.terms]
        names = [name for term in terms for name in (term.match.community, *term.action.add_communities) if name]
        return tuple(Community(name, "standard", self.communities.get(name, name)) for name in dict.fromkeys(names))

    def _term(self, entry: MapEntry, names: dict[str, str]) -> Term:
        match = Match(
            prefix_list=entry.prefix_list,
            orlonger=entry.prefix_list in self.longer,
            community=entry.community,
            family=None if entry.prefix_list is None else "ipv4" if entry.ipv4_list else "ipv6",
        )
        action = Action(
            entry.permits,
            local_preference=entry.local_preference,
            add_communities=tuple(names.get(value, value) for value in entry.communities),
            prepend=entry.prepends,
            replace_communities=bool(entry.communities) and not entry.additive,
        )
        return Term("", match, action)


def lists(policies: Policies) -> Lists:
    """Return the lists and route-maps of a device."""
    prefixes, unheld = _prefix_lists(policies.prefixes)
    communities: dict[str, str] = {}
    unsaid: list[PrefixEntry | CommunityEntry | MapEntry] = list(unheld)
    for entry in policies.communities:
        if entry.permits and entry.name not in communities:  # of one community, any and all of them are the same
            communities[entry.name] = entry.value
        else:
            unsaid.append(entry)
    maps: dict[str, dict[int, MapEntry]] = {}
    for entry in policies.maps:
        places = maps.setdefault(entry.name, {})
        places[entry.number] = _together(places[entry.number], entry) if entry.number in places else entry
    unsaid += [entry for places in maps.values() for entry in places.values() if entry.ipv4_list and entry.ipv6_list]
    return Lists(
        prefixes={name: tuple(entry.prefix for entry in entries) for name, entries in prefixes.items()},
        longer=frozenset(name for name, entries in prefixes.items() if all(map(_is_longer, entries))),
        communities=communities,
        maps={name: tuple(places[number] for number in sorted(places)) for name, places in maps.items()},
        unsaid=tuple(entry.section for entry in unsaid if entry.section is not None),
    )


def _prefix_lists(entries: Iterable[PrefixEntry]) -> tuple[dict[str, list[PrefixEntry]], list[PrefixEntry]]:
    """Return the entries of each prefix list in order, and those that a list of prefixes cannot hold.

    Of entries of a family with the same number, the last holds. All entries of a list match longer prefixes, or none does.
    """
    by_number: dict[str, dict[tuple[int, Family], PrefixEntry]] = {}
    unsaid: list[PrefixEntry] = []
    for entry in entries:
        if not _is_held(entry):
            unsaid.append(entry)
            continue
        places = by_number.setdefault(entry.name, {})
        last = max((number for number, family in places if family == entry.family), default=0)
        number = 5 * (last // 5 + 1) if entry.sequence is None else entry.sequence  # the system counts in fives
        places[number, entry.family] = entry
    in_order = {name: [places[place] for place in sorted(places)] for name, places in by_number.items()}
    unsaid += [entry for listed in in_order.values() if len({*map(_is_longer, listed)}) > 1 for entry in listed]
    return in_order, unsaid


def _is_held(entry: PrefixEntry) -> bool:
    """Return whether an entry permits a prefix of its own family, alone or with every prefix inside."""
    prefix = entry.prefix
    lengths = {None, prefix.length, BITS[prefix.family]}
    return entry.permits and prefix.family == entry.family and entry.ge is None and entry.le in lengths


def _is_longer(entry: PrefixEntry) -> bool:
    """Return whether every prefix inside matches too."""
    return entry.le == BITS[entry.family]


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
