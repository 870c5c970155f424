"""Prefix lists, community lists, peer filters and route maps, with all of their lines; who uses them decides what is kept."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.device.bgp_model import is_well_known
from railweave.model.device.model import Action, Community, Match, Policy, Term
from railweave.model.device.prefix_lists import PrefixLists
from railweave.model.device.reading import is_irrelevant
from railweave.systems.eos.read.values import as_range, number, prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.config.sections import SectionReader, SelectedLine

_COMMUNITY = re.compile(r"[0-9]{1,10}(?::[0-9]{1,10}){1,2}")
_FAMILIES: dict[str, Family] = {"ip": "ipv4", "ipv6": "ipv6"}


@dataclass
class Policies:
    """The parts of policies, by name. ``strange`` are community lists with more than one community."""

    lists: PrefixLists = field(default_factory=PrefixLists)
    communities: dict[str, str] = field(default_factory=dict[str, str])
    strange: set[str] = field(default_factory=set[str])
    as_lists: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict[str, "tuple[tuple[int, int], ...]"])
    maps: dict[str, tuple[Term, ...]] = field(default_factory=dict[str, tuple[Term, ...]])

    def without(self, maps: set[str]) -> tuple[Policy, ...]:
        """The route maps but for some."""
        return tuple(Policy(name, terms) for name, terms in self.maps.items() if name not in maps)

    def used(self, policies: tuple[Policy, ...], unused: set[str]) -> dict[str, tuple[Prefix, ...]]:
        """The prefix lists that policies name, and those that nothing else does (``unused``)."""
        own = {term.match.prefix_list for one in policies for term in one.terms}
        return {name: self.lists.prefixes(name) for name in self.lists.names() if name in own or name not in unused}

    def named(self, maps: set[str]) -> set[str]:
        """The prefix lists and community lists that some route maps name."""
        terms = [term for name in maps for term in self.maps.get(name, ())]
        return {name for term in terms for name in (term.match.prefix_list, term.match.community) if name}

    def listed(self, policies: tuple[Policy, ...], unused: set[str]) -> tuple[Community, ...]:
        """The communities that policies look for or add, and those of lists that nothing else names."""
        terms = [term for one in policies for term in one.terms]
        own = {name for term in terms for name in (term.match.community, *term.action.add_communities) if name}
        values = {name: value for name, value in self.communities.items() if name in own or name not in unused}
        values |= {name: name for name in sorted(own - values.keys())}
        return tuple(Community(name, _kind(value), value) for name, value in values.items())


def policies(taking: SectionReader) -> Policies:
    """Everything that policies are made of."""
    found = Policies()
    _prefix_lists(taking, found.lists)
    _communities(taking, found)
    _filters(taking, found)
    names = {value: name for name, value in reversed(found.communities.items())}
    numbered: dict[str, list[tuple[int, Term]]] = {}
    for one in taking.each("route-map <name> permit|deny <number>"):
        place = number(one["number"])
        if place is None:
            taking.leave(one)
            continue
        action: Literal["permit", "deny"] = "permit" if f" {one['name']} permit " in one.line else "deny"
        numbered.setdefault(one["name"], []).append(
            (place, _term(taking, one, found, names, accept=action == "permit"))
        )
    for one in taking.each("route-map <name> statement **"):  # whose place among the terms is not read
        taking.leave(one)
        numbered.setdefault(one["name"], []).append((0, Term("", Match(), Action(accept=False), (one.line,))))
    found.maps = {
        name: tuple(term for _, term in sorted(terms, key=lambda one: one[0])) for name, terms in numbered.items()
    }
    return found


def _prefix_lists(taking: SectionReader, found: PrefixLists) -> None:
    for word, family in _FAMILIES.items():
        for header in taking.each(f"{word} prefix-list <name>"):
            for one in taking.each("<words...>", below=header) if header.below else ():
                _entry(taking, one, found, header["name"], family)
        for one in taking.each(f"{word} prefix-list <name> <words...>"):
            _entry(taking, one, found, one["name"], family)


def _entry(taking: SectionReader, one: SelectedLine, found: PrefixLists, name: str, family: Family) -> None:
    words = one["words"].split()
    place: int | None = None
    if words[0] == "seq" and len(words) > 1:
        place, words = number(words[1]), words[2:]
    at = prefix(words[1]) if len(words) > 1 else None
    if not found.add(name, family, place, at, [*words[:1], *words[2:]]):
        taking.leave(one)


def _communities(taking: SectionReader, found: Policies) -> None:
    for one in taking.each("ip community-list|large-community-list <words...>"):
        match [word for word in one["words"].split() if word != "standard"]:
            case [name, "permit", value] if (
                _COMMUNITY.fullmatch(value) and name not in found.communities and name not in found.strange
            ):
                found.communities[name] = value
            case [kind, *names]:
                found.strange.add(names[0] if names and kind in {"regexp", "expanded"} else kind)
                taking.leave(one)
            case _:
                taking.leave(one)


def _filters(taking: SectionReader, found: Policies) -> None:
    for header in taking.each("peer-filter <name>"):
        ranges: list[tuple[int, int]] = []
        for one in taking.each("* match as-range <range> result accept", below=header):
            value = as_range(one["range"])
            if value is None:
                taking.leave(one)
            else:
                ranges.append(value)
        found.as_lists[header["name"]] = tuple(ranges)


def _kind(value: str) -> Literal["large", "standard"]:
    return "large" if value.count(":") == 2 else "standard"


def _term(taking: SectionReader, one: SelectedLine, found: Policies, names: dict[str, str], *, accept: bool) -> Term:
    described = taking.last("description <text...>", below=one)
    listed = _first(taking, "match ip|ipv6 address prefix-list <name>", one)
    family = _FAMILIES[listed.line.split()[1]] if listed else None
    tagged = _first(taking, "match community|large-community <name>", one)
    community = tagged["name"] if tagged else None
    strange = [tagged.line] if tagged and community in found.strange else []
    match = Match(community=community)
    if listed and family:
        match = replace(found.lists.match(listed["name"], family), community=community)
        strange += [listed.line] if (listed["name"], family) in found.lists.strange else []
    source = taking.last("match source-protocol <name>", below=one)
    if source is not None and source["name"] in {"connected", "bgp"}:
        match = replace(match, protocol="direct" if source["name"] == "connected" else "bgp")
    elif source is not None:
        taking.leave(source)
    preference = taking.last("set local-preference <value>", below=one)
    value = number(preference["value"]) if preference else None
    if preference and value is None:
        taking.leave(preference)
    added, replaces = _added(taking, one, names)
    action = Action(accept, value, None, added, tuple(_prepended(taking, one)), replace_communities=replaces)
    unknown = (*strange, *taking.untaken(one.below, one.path, is_irrelevant("eos")))
    return Term(described["text"] if described else one["number"], match, action, unknown)


def _first(taking: SectionReader, form: str, below: SelectedLine) -> SelectedLine | None:
    """The line of what a term matches; a second one of the kind is more than a term can hold."""
    found = list(taking.each(form, below=below))
    for one in found[1:]:
        taking.leave(one)
    return found[0] if found else None


def _added(taking: SectionReader, below: SelectedLine, names: dict[str, str]) -> tuple[tuple[str, ...], bool]:
    """Communities that a term adds, by the name of the list that holds them, by themselves where none does; and whether others go."""
    found: list[str] = []
    replaces = False
    for one in taking.each("set community|large-community <values...>", below=below):
        values = one["values"].split()
        added = values[:-1] if values[-1] == "additive" else values
        mixed = bool(found) and replaces != (added is values)
        if mixed or not added or not all(map(_COMMUNITY.fullmatch, added)) or any(map(is_well_known, added)):
            taking.leave(one)
        else:
            replaces |= added is values
            found += [names.get(value, value) for value in added]
    return tuple(found), replaces


def _prepended(taking: SectionReader, below: SelectedLine) -> Iterator[int]:
    """AS numbers that a term puts in front of the path."""
    for one in taking.each("set as-path prepend <values...>", below=below):
        if all(map(str.isdecimal, values := one["values"].split())):
            yield from map(int, values)
        else:
            taking.leave(one)
