"""Lists and route-maps, as policies have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS, Family, Prefix
from railweave.model.device.model import Action, Community, Match, Policy, Term
from railweave.systems.dell_sonic.read.words import number, prefix

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from railweave.model.config.sections import Section
    from railweave.model.config.taking import Taking

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


def lists(taking: Taking) -> Lists:
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


def _entry(taking: Taking, section: Section, entries: dict[int, Entry], made: Entry) -> None:
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
