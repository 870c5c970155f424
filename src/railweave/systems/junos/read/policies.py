"""``policy-options``: prefix lists, policies, communities, AS lists; what they are for is told by who refers to them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import BITS, Prefix
from railweave.model.device.bgp_model import is_well_known
from railweave.model.device.model import Action, Community, Match, Policy, Term
from railweave.systems.junos.read.words import Word, asn, prefix, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LARGE = re.compile(r"large:\d+:\d+:\d+")
_STANDARD = re.compile(r"\d+:\d+")
_COLOR = re.compile(r"color:\d+:\d+")
_PROTOCOLS: dict[str, Literal["direct", "bgp"]] = {"direct": "direct", "bgp": "bgp", "evpn": "bgp"}
"""Routes of EVPN came by BGP; Junos tells them apart, a configuration does not."""
AND = " && "
"""Between the names of policies that must all agree."""
EVERY = {"inet": ("every IPv4 prefix", Prefix("0.0.0.0/0")), "inet6": ("every IPv6 prefix", Prefix("::/0"))}
"""Lists that stand for an address family."""
_DEEPEST = 8
_ENDS = {"accept": True, "reject": False}


@dataclass
class PolicyOptions:
    """``policy-options`` by name. Lists that terms hold themselves (``route-filter``) are in ``own_lists``, by policy and term.

    ``networks`` are the prefixes of units. ``more`` are policies of VRFs and of the overlay that say more than these hold.
    """

    word: Word
    prefix_lists: dict[str, Word] = field(default_factory=dict[str, Word])
    policies: dict[str, Word] = field(default_factory=dict[str, Word])
    communities: dict[str, Word] = field(default_factory=dict[str, Word])
    as_lists: dict[str, Word] = field(default_factory=dict[str, Word])
    route_lists: dict[str, Word] = field(default_factory=dict[str, Word])
    networks: dict[str, tuple[Prefix, ...]] = field(default_factory=dict[str, "tuple[Prefix, ...]"])
    own_lists: dict[str, tuple[Prefix, ...]] = field(default_factory=dict[str, "tuple[Prefix, ...]"])
    more: dict[str, None] = field(default_factory=dict[str, None])


def policy_options(top: Word, networks: Mapping[str, tuple[Prefix, ...]]) -> PolicyOptions:
    """What there is, of which nothing is taken yet."""
    here = top.at_path("policy-options") or Word("")

    def named(word: str) -> dict[str, Word]:
        found = here.at_path(word)
        return dict(found.below) if found is not None else {}

    return PolicyOptions(
        here,
        prefix_lists=named("prefix-list"),
        policies=named("policy-statement"),
        communities=named("community"),
        as_lists=named("as-list"),
        route_lists=named("route-filter-list"),
        networks=dict(networks),
    )


def prefix_list(word: Word) -> tuple[Prefix, ...]:
    """The prefixes of a list."""
    found: list[Prefix] = []
    word.take()
    for one in word.below.values():
        try:
            found.append(prefix(one.text))
        except ValueError:
            continue
        one.take()
    return tuple(found)


def community(word: Word) -> list[Community]:
    """A community; of several values one for each, the first of which has its name. Other kinds are left."""
    members = list(word.block("members").below.values())
    made = [_community(word.text, at, one.text) for at, one in enumerate(members)]
    found = [one for one in made if one is not None]
    if len(found) < len(members):
        return []
    word.take()
    for one in members:
        one.take()
    return found


def _community(name: str, at: int, text: str) -> Community | None:
    own = _numbered(name, at)
    if _LARGE.fullmatch(text):
        return Community(own, "large", text.removeprefix("large:"))
    if _COLOR.fullmatch(text):
        return Community(own, "color", text)
    return Community(own, "standard", text) if _STANDARD.fullmatch(text) and not is_well_known(text) else None


def _numbered(name: str, at: int) -> str:
    return f"{name} {at + 1}" if at else name


def as_list(word: Word) -> tuple[tuple[int, int], ...]:
    """The ranges of AS numbers of a list."""
    word.take()
    found: list[tuple[int, int]] = []
    for one in word.block("members").below.values():
        low, _, high = one.text.partition("-")
        try:
            found.append((asn(low), asn(high or low)))
        except ValueError:
            continue
        one.take()
    return tuple(found)


def policy(options: PolicyOptions, names: tuple[str, ...]) -> Policy:
    """The policy of these names, asked one after another; ``A && B`` is a name of both."""
    terms = [term for name in names for term in _of_name(options, name, several=len(names) > 1)]
    return Policy(" ".join(names), tuple(terms))


def _of_name(options: PolicyOptions, name: str, *, several: bool) -> list[Term]:
    """The terms of a policy, or of policies that must all agree: what all but the last refuse goes before the last."""
    *first, last = name.split(AND)
    found: list[Term] = []
    for one in first:
        for term in _terms(options, one, several=True):
            if term.action.accept:
                break
            found.append(term)
    return found + _terms(options, last, several=several or bool(first))


def _terms(options: PolicyOptions, name: str, *, several: bool = False, depth: int = 0) -> list[Term]:
    word = options.policies.get(name)
    if word is None or depth > _DEEPEST:
        return []
    word.take()
    found: list[Term] = []
    for term in [*word.entries("term"), *([word] if "then" in word.below else [])]:
        label = "" if term is word else term.text
        made = _term(options, name, label, term, depth)
        found += [replace(one, name=f"{name} {one.name}".rstrip()) if several else one for one in made]
    return found


def _term(options: PolicyOptions, policy_name: str, name: str, word: Word, depth: int) -> list[Term]:
    """A term, or several that do the same; none where it is not one that ends, for then the next term decides."""
    then = word.block("then")
    ends = [one for one in then.below.values() if one.text in _ENDS]
    if not ends:
        return []
    ends[-1].take()
    put = [one.take() for one in (then.at_path("community", "set") or Word("")).below.values()]
    added = [one.take() for one in (then.at_path("community", "add") or Word("")).below.values()]
    action = Action(
        accept=_ENDS[ends[-1].text],
        local_preference=then.number("local-preference"),
        add_communities=tuple(own for one in [*put, *added] for own in _values(options, one.text)),
        prepend=then.read(_as_numbers, "as-path-prepend") or (),
        replace_communities=bool(put),
    )
    asked = word.block("from")
    if "policy" in asked.below:
        return list(_asked_of_others(options, name, asked, action, depth))
    return [Term(name, match, action) for match in _matches(options, f"{policy_name}:{name}", asked)]


def _as_numbers(text: str) -> tuple[int, ...]:
    """AS numbers with spaces between. Raises ``ValueError``."""
    return tuple(asn(one) for one in text.strip('"').split())


def _values(options: PolicyOptions, name: str) -> list[str]:
    """The names that a community is read by: one for each of its values."""
    word = options.communities.get(name)
    count = len(word.below["members"].below) if word is not None and "members" in word.below else 1
    return [_numbered(name, at) for at in range(count)]


def _asked_of_others(options: PolicyOptions, name: str, asked: Word, action: Action, depth: int) -> Iterator[Term]:
    """What another policy accepts, with what it does itself; up to where it refuses something."""
    if len(asked.below) > 1:
        return
    for other in asked.entries("policy"):
        for term in _terms(options, other.text, depth=depth + 1):
            if not term.action.accept:
                break
            own = (*term.action.add_communities, *action.add_communities)
            preference = term.action.local_preference if action.local_preference is None else action.local_preference
            yield Term(
                f"{name} {term.name}", term.match, replace(action, add_communities=own, local_preference=preference)
            )


_Listed = tuple[str | None, bool, tuple[int, int] | None]
_RANGE = re.compile(r"/([0-9]{1,3})(?:-/([0-9]{1,3}))?")


def _matches(options: PolicyOptions, place: str, word: Word) -> Iterable[Match]:
    """What a term asks for. It holds for one prefix list and one community; more of them are not understood."""
    name, longer, taken = _listed(options, place, word)
    tagged = word.holds("community")
    if tagged is not None and len(_values(options, tagged.text)) == 1:
        tagged.take()
    protocols = [one for one in (word.at_path("protocol") or Word("")).below.values() if one.text in _PROTOCOLS]
    found = Match(
        prefix_list=name,
        orlonger=longer,
        community=tagged.text if tagged is not None else None,
        lengths=taken,
    )
    return [replace(found, protocol=_PROTOCOLS[one.take().text]) for one in protocols] or [found]


def _listed(options: PolicyOptions, place: str, word: Word) -> _Listed:
    """The name of the prefix list that a term asks for, whether what is in its prefixes is meant too, and of which lengths."""
    family = word.holds("family")
    every = EVERY.get(family.text) if family is not None else None
    if family is not None and every is not None:
        family.take()
    listed = word.holds("prefix-list")
    if listed is not None:
        return listed.take().text, False, None
    for one in word.block("prefix-list-filter").below.values():
        how = next((inner for inner in one.below.values() if inner.text in {"orlonger", "exact"}), None)
        if how is not None:
            return one.take().text, how.take().text == "orlonger", None
    if "route-filter" in word.below:
        return _own_list(options, place, word.below["route-filter"])
    named = word.holds("route-filter-list")
    if named is not None and named.text in options.route_lists:
        return _own_list(options, named.take().text, options.route_lists[named.text])
    units = [one for one in (word.at_path("interface") or Word("")).below.values() if one.text in options.networks]
    if units:
        options.own_lists[place] = tuple(
            dict.fromkeys(own for one in units for own in options.networks[one.take().text])
        )
        return place, False, None
    if every is not None:
        options.own_lists[every[0]] = (every[1],)
        return every[0], True, None
    return None, False, None


def _own_list(options: PolicyOptions, place: str, word: Word) -> _Listed:
    """The prefixes of ``route-filter`` as a list of their own: of all that are meant exactly, or with what is in them."""
    word.take()
    exact: list[Prefix] = []
    longer: dict[tuple[int, int] | None, list[Prefix]] = {}
    for one in word.below.values():
        try:
            own = prefix(one.text)
        except ValueError:
            continue
        for how in one.below.values():
            if how.text == "exact":
                how.take()
                one.take()
                (longer.setdefault(None, []) if own.length == BITS[own.family] else exact).append(own)
                continue
            taken = _lengths(own, how)
            if taken is not None:
                how.take_all()
                one.take()
                whole = taken == (own.length, BITS[own.family])
                longer.setdefault(None if whole else taken, []).append(own)
    if not (longer or exact):
        return None, False, None
    taken = max(longer, key=lambda one: len(longer[one]), default=None)
    chosen = longer[taken] if longer else exact
    for own in (*exact, *(one for many in longer.values() for one in many)):
        if own not in chosen:  # a list is of one kind
            word.below.get(str(own), Word("")).leave()
    options.own_lists[place] = tuple(chosen)
    return place, bool(longer), taken


def _lengths(own: Prefix, how: Word) -> tuple[int, int] | None:
    """The shortest and the longest of the prefixes that a filter means."""
    longest = BITS[own.family]
    found = _RANGE.fullmatch(next(iter(how.below), "")) if how.text in {"upto", "prefix-length-range"} else None
    if how.text in {"orlonger", "longer"}:
        return own.length + (how.text == "longer"), longest
    if found is None or bool(found[2]) is not (how.text == "prefix-length-range"):
        return None
    return (int(found[1]), int(found[2])) if found[2] else (own.length, int(found[1]))


def unused(options: PolicyOptions, top: Word) -> None:
    """What nothing refers to changes nothing: policies, lists and communities whose name stands nowhere else."""
    named = {word for text, one in top.below.items() if text != "policy-options" for word in _words(one)}
    inside = [one for kind in options.word.below.values() for one in kind.below.values()]
    words = {id(one): {word for two in one.below.values() for word in _words(two)} for one in inside}
    left = inside
    for _ in range(_DEEPEST):  # what nobody refers to may refer to others
        used = named.union(*(words[id(one)] for one in left))
        left = [one for one in left if one.text in used]
    kept = set(map(id, left))
    for one in inside:
        for end, _ in statements(one) if id(one) not in kept else ():
            if end.kind == "unknown":
                end.take("irrelevant")


def _words(word: Word) -> Iterator[str]:
    """A word, what it is put together from, and everything below it."""
    stack = [word]
    while stack:
        one = stack.pop()
        yield one.text
        if " " in one.text:
            yield from one.text.strip("() ").split()
        stack += one.below.values()
