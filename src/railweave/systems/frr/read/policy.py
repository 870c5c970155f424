"""Prefix lists, community lists and route-maps as policies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import BITS, Family, Prefix
from railweave.model.device.bgp_model import is_well_known
from railweave.model.device.model import Action, Community, Match, Policy, Term
from railweave.model.device.prefix_lists import PrefixLists
from railweave.model.device.reading import is_irrelevant
from railweave.systems.frr.read.text import number, prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.config.sections import SectionReader, SelectedLine
    from railweave.systems.frr.read.ports import Port

ANY, NOTHING = "(any)", "(nothing)"
"""Names of what is accepted where a session has no route-map: everything, or nothing. No route-map can be called so."""

FAMILIES: dict[str, Family] = {"ip": "ipv4", "ipv6": "ipv6"}
ANYWHERE: dict[Family, Prefix] = {"ipv4": Prefix("0.0.0.0/0"), "ipv6": Prefix("::/0")}

NETWORKS = "(networks)"
"""The prefix list, and the policy, of what ``network`` statements originate."""


@dataclass
class Policies:
    """What route-maps and their lists say; ``values`` are the communities by name, as matched, and ``strange`` their lists that say more."""

    lists: PrefixLists = field(default_factory=PrefixLists)
    values: dict[str, str] = field(default_factory=dict[str, str])
    strange: set[str] = field(default_factory=set[str])
    maps: dict[str, tuple[Term, ...]] = field(default_factory=dict[str, tuple[Term, ...]])

    def policies(self, without: Iterable[str]) -> tuple[Policy, ...]:
        """The route-maps as policies, but for those that are for something else."""
        left_out = set(without)
        return tuple(Policy(name, terms) for name, terms in self.maps.items() if name not in left_out)

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
    found = Policies()
    _lists(taking, found.lists)
    _communities(taking, found)
    for name, port in ports.items():
        found.lists.hold(interface_list(name), dict.fromkeys(one.prefix for one in port.addresses))
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


def _lists(taking: SectionReader, found: PrefixLists) -> None:
    for word, family in FAMILIES.items():
        for one in taking.each(f"{word} prefix-list <name> <rest...>"):
            words = one["rest"].split()
            if words[0] == "description":
                continue
            numbered = words[0] == "seq" and len(words) > 1
            sequence, words = (number(words[1]), words[2:]) if numbered else (None, words)
            at = prefix(words[1]) if len(words) > 1 and (sequence is not None or not numbered) else None
            if at is None and words[1:] == ["any"]:
                at, words = ANYWHERE[family], [words[0], "any", "le", str(BITS[family])]
            if not found.add(one["name"], family, sequence, at, [*words[:1], *words[2:]]):
                taking.leave(one)


def _communities(taking: SectionReader, found: Policies) -> None:
    """Lists of one community each, by name."""
    for one in taking.each("bgp community-list|large-community-list <rest...>"):
        match [word for word in one["rest"].split() if word != "standard"]:
            case [name, "seq", _, "permit", value] | [name, "permit", value] if (
                name not in found.values and name not in found.strange and _is_community(value)
            ):
                found.values[name] = value
            case [name, *_]:
                found.strange.add(one["rest"].split()[1] if name == "expanded" else name)
                taking.leave(one)
            case _:
                taking.leave(one)


@dataclass
class _Entry:
    """An entry of a route-map while it is read."""

    name: str
    match: Match
    action: Action


def _term(taking: SectionReader, one: SelectedLine, known: Policies, names: dict[str, str], begun: Term) -> Term:
    entry, strange = _Entry(begun.name, begun.match, begun.action), list(begun.unknown)
    for line in taking.each("<words...>", below=one) if one.below else ():
        words = line["words"].split()
        if words[0] == "description":
            entry.name = " ".join(words[1:])
        elif not (_matches(words, known, entry) or _sets(words, names, entry)):
            taking.leave(line)
        elif _names_strange(words, known):
            strange.append(line.line)
    unknown = dict.fromkeys((*strange, *taking.untaken(one.below, one.path, is_irrelevant("frr"))))
    return Term(entry.name, entry.match, entry.action, tuple(unknown))


def _names_strange(words: list[str], known: Policies) -> bool:
    """Whether a condition is about a list that is not understood."""
    match words:
        case ["match", "ip" | "ipv6" as word, "address", "prefix-list", name]:
            return (name, FAMILIES[word]) in known.lists.strange
        case ["match", "community" | "large-community", name]:
            return name in known.strange
        case _:
            return False


def _matches(words: list[str], known: Policies, entry: _Entry) -> bool:
    """Take a condition; each kind is held once."""
    held = entry.match
    match words:
        case ["match", "ip" | "ipv6" as word, "address", "prefix-list", name] if held.prefix_list is None or (
            held.prefix_list,
            held.family,
        ) == (name, FAMILIES[word]):
            entry.match = replace(
                known.lists.match(name, FAMILIES[word]), community=held.community, protocol=held.protocol
            )
        case ["match", "interface", name] if held.prefix_list in {None, interface_list(name)}:
            entry.match = replace(held, prefix_list=interface_list(name))
        case ["match", "community" | "large-community", name] if held.community in {None, name}:
            entry.match = replace(held, community=name)
        case ["match", "source-protocol", "connected" | "bgp" as protocol]:
            entry.match = replace(held, protocol="direct" if protocol == "connected" else "bgp")
        case _:
            return False
    return True


def _sets(words: list[str], names: dict[str, str], entry: _Entry) -> bool:
    """Take what is done to a route. A community that no list names is called by its value."""
    held = entry.action
    match words:
        case ["set", "local-preference", text] if (value := number(text)) is not None:
            entry.action = replace(held, local_preference=value)
        case ["set", "aigp-metric", text] if (value := number(text)) is not None:
            entry.action = replace(held, aigp=value)
        case ["set", "community" | "large-community", *values] if _are_communities(values):
            added = tuple(names.get(one, one) for one in values if one != "additive")
            replaces = values[-1] != "additive"
            if held.add_communities and (replaces != held.replace_communities):
                return False
            more = tuple(dict.fromkeys((*held.add_communities, *added)))
            entry.action = replace(held, add_communities=more, replace_communities=replaces)
        case ["set", "as-path", "prepend", *values] if values and all(map(str.isdecimal, values)):
            entry.action = replace(held, prepend=tuple(map(int, values)))
        case _:
            return False
    return True


def _are_communities(words: list[str]) -> bool:
    """Whether they are communities that no neighbor acts on by itself, ``additive`` behind them or not."""
    values = words[:-1] if words[-1:] == ["additive"] else words
    return bool(values) and all(_is_community(value) and not is_well_known(value) for value in values)


def _is_community(word: str) -> bool:
    return word.count(":") in {1, 2} and all(part.isdecimal() for part in word.split(":"))
