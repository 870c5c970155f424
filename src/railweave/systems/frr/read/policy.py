"""Prefix lists, community lists and route-maps as policies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.config.number_ranges import Lengths, lengths, of_list
from railweave.model.device.bgp_model import is_well_known
from railweave.model.device.model import Action, Community, Match, Policy, Term
from railweave.systems.frr.read.text import number, prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.config.addresses import Prefix
    from railweave.model.config.sections import SectionReader, SelectedLine
    from railweave.systems.frr.read.ports import Port

ANY, NOTHING = "(any)", "(nothing)"
"""Names of what is accepted where a session has no route-map: everything, or nothing. No route-map can be called so."""

NETWORKS = "(networks)"
"""The prefix list, and the policy, of what ``network`` statements originate."""


@dataclass
class PrefixList:
    """A prefix list: of each entry the lengths that it takes, and whether it says so."""

    entries: dict[int, tuple[Prefix, Lengths, bool]] = field(default_factory=dict[int, "tuple[Prefix, Lengths, bool]"])
    lines: list[SelectedLine] = field(default_factory=list["SelectedLine"])

    def prefixes(self) -> tuple[Prefix, ...]:
        """The prefixes in order."""
        return tuple(self.entries[at][0] for at in sorted(self.entries))

    def longer(self) -> tuple[bool, Lengths | None]:
        """Whether longer prefixes are taken too, and of which lengths. A list whose entries differ in that is taken to be exact."""
        return of_list(self.entries.values()) or (False, None)


@dataclass
class Policies:
    """What route-maps and their lists say; ``values`` are the communities by name, as matched."""

    lists: dict[str, PrefixList]
    values: dict[str, str]
    maps: dict[str, tuple[Term, ...]]

    def policies(self, without: Iterable[str]) -> tuple[Policy, ...]:
        """The route-maps as policies, but for those that are for something else."""
        left_out = set(without)
        return tuple(Policy(name, terms) for name, terms in self.maps.items() if name not in left_out)

    def used_lists(self, policies: Iterable[Policy]) -> dict[str, tuple[Prefix, ...]]:
        """The prefix lists that policies name."""
        names = dict.fromkeys(term.match.prefix_list for policy in policies for term in policy.terms)
        known = {name: self.lists.get(name) for name in names if name is not None}
        return {name: found.prefixes() if found else () for name, found in known.items()}

    def used_communities(self, policies: Iterable[Policy]) -> tuple[Community, ...]:
        """The communities that policies name."""
        terms = [term for policy in policies for term in policy.terms]
        names = [*(term.match.community for term in terms), *(name for t in terms for name in t.action.add_communities)]
        used = dict.fromkeys(name for name in names if name)
        return tuple(Community(name, kind(value), value) for name in used for value in [self.values.get(name, name)])


def interface_list(name: str) -> str:
    """The name of the list of an interface's prefixes."""
    return f"(interface {name})"


def kind(value: str) -> Literal["large", "standard"]:
    """What kind of community a value is: of three numbers, or of two."""
    return "large" if value.count(":") == 2 else "standard"


def policies(taking: SectionReader, ports: Mapping[str, Port]) -> Policies:
    """Everything that policies are made of. A term about an interface is about the prefixes of its addresses."""
    found = Policies(_lists(taking), _communities(taking), {})
    for name, port in ports.items():
        prefixes = dict.fromkeys(one.prefix for one in port.addresses)
        found.lists[interface_list(name)] = PrefixList(
            {at: (one, (one.length, one.length), False) for at, one in enumerate(prefixes)}
        )
    names = {value: name for name, value in reversed(found.values.items())}
    entries: dict[str, dict[int, Term]] = {}
    for one in taking.each("route-map <name> permit|deny <number>"):
        sequence = number(one["number"])
        if sequence is None:
            taking.leave(one)
            continue
        accept = one.line.split()[2] == "permit"
        of_map = entries.setdefault(one["name"], {})
        # Where daemons print for themselves, each has the part of an entry that it goes by.
        begun = of_map.get(sequence, Term(one["number"], Match(), Action(accept)))
        of_map[sequence] = _term(taking, one, found, names, begun)
    found.maps = {name: tuple(terms[at] for at in sorted(terms)) for name, terms in entries.items()}
    return found


def _lists(taking: SectionReader) -> dict[str, PrefixList]:
    found: dict[str, PrefixList] = {}
    for one in taking.each("ip|ipv6 prefix-list <name> <rest...>"):
        here = found.setdefault(one["name"], PrefixList())
        words = one["rest"].split()
        sequence: int | None = 5 * (len(here.entries) + 1)
        if words[0] == "seq" and len(words) > 1:
            sequence, words = number(words[1]), words[2:]
        entry = _entry(words)
        if entry is None or sequence is None:
            taking.leave(one)
        else:
            here.entries[sequence] = entry
            here.lines.append(one)
    for one in found.values():
        if of_list(one.entries.values()) is None:
            for line in one.lines:
                taking.leave(line)
    return found


def _entry(words: list[str]) -> tuple[Prefix, Lengths, bool] | None:
    """A prefix that is permitted, and the lengths that are; None for what is no such entry."""
    if len(words) < 2 or words[0] != "permit" or (found := prefix(words[1])) is None:
        return None
    taken = lengths(found, words[2:])
    return None if taken is None else (found, taken, len(words) > 2)


def _communities(taking: SectionReader) -> dict[str, str]:
    """Lists of one community each, by name."""
    found: dict[str, str] = {}
    forms = (
        "bgp community-list|large-community-list standard <name> seq <seq> permit <value>",
        "bgp community-list|large-community-list standard <name> permit <value>",
        "bgp community-list|large-community-list <name> seq <seq> permit <value>",
        "bgp community-list|large-community-list <name> permit <value>",
    )
    for form in forms:
        for one in taking.each(form):
            if one["name"] in found or not _is_community(one["value"]):
                taking.leave(one)
            else:
                found[one["name"]] = one["value"]
    return found


@dataclass
class _Entry:
    """An entry of a route-map while it is read."""

    name: str
    match: Match
    action: Action


def _term(taking: SectionReader, one: SelectedLine, known: Policies, names: dict[str, str], begun: Term) -> Term:
    entry = _Entry(begun.name, begun.match, begun.action)
    for line in taking.each("<words...>", below=one) if one.below else ():
        words = line["words"].split()
        if words[0] == "description":
            entry.name = " ".join(words[1:])
        elif not (_matches(words, known, entry) or _sets(words, names, entry)):
            taking.leave(line)
    return Term(entry.name, entry.match, entry.action)


def _matches(words: list[str], known: Policies, entry: _Entry) -> bool:
    """Take a condition; each kind is held once."""
    match words:
        case ["match", "ip" | "ipv6", "address", "prefix-list", name] if entry.match.prefix_list in {None, name}:
            listed = known.lists.get(name)
            longer, taken = listed.longer() if listed else (False, None)
            family = "ipv6" if words[1] == "ipv6" else "ipv4"
            entry.match = replace(entry.match, prefix_list=name, orlonger=longer, lengths=taken, family=family)
        case ["match", "interface", name] if entry.match.prefix_list is None:
            entry.match = replace(entry.match, prefix_list=interface_list(name))
        case ["match", "community" | "large-community", name] if entry.match.community in {None, name}:
            entry.match = replace(entry.match, community=name)
        case ["match", "source-protocol", "connected" | "bgp" as protocol]:
            entry.match = replace(entry.match, protocol="direct" if protocol == "connected" else "bgp")
        case _:
            return False
    return True


def _sets(words: list[str], names: dict[str, str], entry: _Entry) -> bool:
    """Take what is done to a route. A community that no list names is called by its value."""
    match words:
        case ["set", "local-preference", text] if (value := number(text)) is not None:
            entry.action = replace(entry.action, local_preference=value)
        case ["set", "aigp-metric", text] if (value := number(text)) is not None:
            entry.action = replace(entry.action, aigp=value)
        case ["set", "community" | "large-community", *values] if _are_communities(values):
            added = tuple(names.get(one, one) for one in values if one != "additive")
            entry.action = replace(entry.action, add_communities=added, replace_communities=values[-1] != "additive")
        case ["set", "as-path", "prepend", *values] if values and all(map(str.isdecimal, values)):
            entry.action = replace(entry.action, prepend=tuple(map(int, values)))
        case _:
            return False
    return True


def _are_communities(words: list[str]) -> bool:
    """Whether they are communities that no neighbor acts on by itself, ``additive`` behind them or not."""
    values = words[:-1] if words[-1:] == ["additive"] else words
    return bool(values) and all(_is_community(value) and not is_well_known(value) for value in values)


def _is_community(word: str) -> bool:
    return word.count(":") in {1, 2} and all(part.isdecimal() for part in word.split(":"))
