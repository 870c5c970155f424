"""Prefix lists, community lists, peer filters and route maps, with all of their lines; who uses them decides what is kept."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import BITS, Family, Prefix
from railweave.model.config.number_ranges import Lengths, lengths, of_list
from railweave.model.device.bgp_model import is_well_known
from railweave.model.device.model import Action, Community, Match, Policy, Term
from railweave.systems.eos.read.values import as_range, number, prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import SectionReader, SelectedLine

_COMMUNITY = re.compile(r"[0-9]{1,10}(?::[0-9]{1,10}){1,2}")
_Entry = tuple[int, "Prefix", "Lengths", bool]


@dataclass
class Policies:
    """What policies are made of, by name. ``longer``: the list takes longer prefixes too, of these lengths, or any."""

    lists: dict[str, tuple[Prefix, ...]] = field(default_factory=dict[str, "tuple[Prefix, ...]"])
    longer: dict[str, Lengths | None] = field(default_factory=dict[str, "Lengths | None"])
    communities: dict[str, str] = field(default_factory=dict[str, str])
    as_lists: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict[str, "tuple[tuple[int, int], ...]"])
    maps: dict[str, tuple[Term, ...]] = field(default_factory=dict[str, "tuple[Term, ...]"])

    def without(self, maps: set[str]) -> tuple[Policy, ...]:
        """The route maps but for some."""
        return tuple(Policy(name, terms) for name, terms in self.maps.items() if name not in maps)

    def used(self, policies: tuple[Policy, ...], unused: set[str]) -> dict[str, tuple[Prefix, ...]]:
        """The prefix lists that policies name, and those that nothing else does (``unused``)."""
        own = {term.match.prefix_list for one in policies for term in one.terms}
        return {name: prefixes for name, prefixes in self.lists.items() if name in own or name not in unused}

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
    _prefix_lists(taking, found)
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
    found.maps = {
        name: tuple(term for _, term in sorted(terms, key=lambda one: one[0])) for name, terms in numbered.items()
    }
    return found


def _prefix_lists(taking: SectionReader, found: Policies) -> None:
    entries: dict[str, list[_Entry]] = {}
    lines: dict[str, list[SelectedLine]] = {}
    for word, bits in (("ip", "32"), ("ipv6", "128")):
        for header in taking.each(f"{word} prefix-list <name>"):
            own = entries.setdefault(header["name"], [])
            start = 1 << 32 if bits == "128" else 0
            for one in taking.each("seq <number> permit <prefix> **", below=header):
                _entry(taking, one, own, lines.setdefault(header["name"], []), start)
        for one in taking.each(f"{word} prefix-list <name> seq <number> permit <prefix> **"):
            start = 1 << 32 if bits == "128" else 0
            _entry(taking, one, entries.setdefault(one["name"], []), lines.setdefault(one["name"], []), start)
    for name, own in entries.items():
        own.sort(key=lambda one: one[0])
        found.lists[name] = tuple(value for _, value, *_ in own)
        taken = of_list((value, each, said) for _, value, each, said in own)
        if taken is None:  # a list is of one kind
            for one in lines[name]:
                taking.leave(one)
        elif taken[0]:
            found.longer[name] = taken[1]


def _entry(taking: SectionReader, one: SelectedLine, own: list[_Entry], lines: list[SelectedLine], start: int) -> None:
    """An entry of a list. With words that are not known it is taken for all longer prefixes."""
    value, place = prefix(one["prefix"]), number(one["number"])
    if value is None or place is None:
        taking.leave(one)
        return
    more = one.line.partition(f" permit {one['prefix']}")[2].split()
    found = lengths(value, more)
    own.append((start + place, value, found or (value.length, BITS[value.family]), bool(more)))
    lines.append(one)
    if found is None:
        taking.leave(one)


def _communities(taking: SectionReader, found: Policies) -> None:
    for forms in (
        "ip community-list|large-community-list <name> permit <value>",
        "ip community-list|large-community-list standard <name> permit <value>",
    ):
        for one in taking.each(forms):
            if not _COMMUNITY.fullmatch(one["value"]) or one["name"] in found.communities:
                taking.leave(one)
            else:
                found.communities[one["name"]] = one["value"]


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
    family = _family_of(taking, one) if listed else None
    community = _first(taking, "match community|large-community <name>", one)
    source = taking.last("match source-protocol <name>", below=one)
    protocol: Literal["direct", "bgp"] | None = None
    if source is not None and source["name"] in {"connected", "bgp"}:
        protocol = "direct" if source["name"] == "connected" else "bgp"
    elif source is not None:
        taking.leave(source)
    preference = taking.last("set local-preference <value>", below=one)
    value = number(preference["value"]) if preference else None
    if preference and value is None:
        taking.leave(preference)
    added, replaces = _added(taking, one, names)
    return Term(
        name=described["text"] if described else one["number"],
        match=Match(protocol, listed, listed in found.longer, community, found.longer.get(listed or ""), family),
        action=Action(accept, value, None, added, tuple(_prepended(taking, one)), replace_communities=replaces),
    )


def _family_of(taking: SectionReader, below: SelectedLine) -> Family:
    """The address family of the prefixes that a term matches."""
    return "ipv6" if taking.last("match ipv6 address prefix-list <name>", below=below) else "ipv4"


def _first(taking: SectionReader, form: str, below: SelectedLine) -> str | None:
    """The name that a term matches; a second one of the kind is more than a term can hold."""
    found = list(taking.each(form, below=below))
    for one in found[1:]:
        taking.leave(one)
    return found[0]["name"] if found else None


def _added(taking: SectionReader, below: SelectedLine, names: dict[str, str]) -> tuple[tuple[str, ...], bool]:
    """Communities that a term adds, by the name of the list that holds them, by themselves where none does; and whether others go."""
    found: list[str] = []
    replaces = False
    for one in taking.each("set community|large-community <values...>", below=below):
        values = one["values"].split()
        added = values[:-1] if values[-1] == "additive" else values
        if not added or not all(map(_COMMUNITY.fullmatch, added)) or any(map(is_well_known, added)):
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
