"""``policy-options``: prefix lists, policies, communities, AS lists; what they are for is told by who refers to them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.config.addresses import Prefix
from railweave.device.model import Action, Community, Match, Policy, Term
from railweave.systems.junos.read.values import asn, prefix
from railweave.systems.junos.read.words import Word

if TYPE_CHECKING:
    from collections.abc import Iterable

_LARGE = re.compile(r"large:\d+:\d+:\d+")
_STANDARD = re.compile(r"\d+:\d+")
_COLOR = re.compile(r"color:\d+:\d+")
_PROTOCOLS: dict[str, Literal["direct", "bgp"]] = {"direct": "direct", "bgp": "bgp"}
_ENDS = {"accept": True, "reject": False}


@dataclass
class PolicyOptions:
    """``policy-options`` by name. Lists that terms hold themselves (``route-filter``) are in ``own_lists``, by policy and term."""

    word: Word
    prefix_lists: dict[str, Word] = field(default_factory=dict[str, Word])
    policies: dict[str, Word] = field(default_factory=dict[str, Word])
    communities: dict[str, Word] = field(default_factory=dict[str, Word])
    as_lists: dict[str, Word] = field(default_factory=dict[str, Word])
    own_lists: dict[str, tuple[Prefix, ...]] = field(default_factory=dict[str, "tuple[Prefix, ...]"])


def policy_options(top: Word) -> PolicyOptions:
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


def community(word: Word) -> Community | None:
    """A community with one value, of a kind that configurations hold; another is left."""
    members = list(word.block("members").below.values())
    if len(members) != 1:
        return None
    text = members[0].text
    kinds: tuple[tuple[re.Pattern[str], Literal["large", "color", "standard"]], ...] = (
        (_LARGE, "large"),
        (_COLOR, "color"),
        (_STANDARD, "standard"),
    )
    for pattern, kind in kinds:
        if pattern.fullmatch(text):
            word.take()
            members[0].take()
            return Community(word.text, kind, text.removeprefix("large:"))
    return None


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


def policy(options: PolicyOptions, names: tuple[str, ...], loopbacks: tuple[Prefix, ...]) -> Policy:
    """The policy of these names, asked one after another."""
    terms = [term for name in names for term in _terms(options, name, loopbacks, several=len(names) > 1)]
    return Policy(" ".join(names), tuple(terms))


def _terms(options: PolicyOptions, name: str, loopbacks: tuple[Prefix, ...], *, several: bool) -> list[Term]:
    word = options.policies.get(name)
    if word is None:
        return []
    word.take()
    found: list[Term] = []
    for term in [*word.entries("term"), *([word] if "then" in word.below else [])]:
        label = "" if term is word else term.text
        made = _term(options, name, label, term, loopbacks)
        found += [replace(one, name=f"{name} {one.name}".rstrip()) if several else one for one in made]
    return found


def _term(options: PolicyOptions, policy_name: str, name: str, word: Word, loopbacks: tuple[Prefix, ...]) -> list[Term]:
    """A term; two where it names two protocols. None where it is not one that ends: the next term decides."""
    then = word.block("then")
    ends = [one for one in then.below.values() if one.text in _ENDS]
    if not ends:
        return []
    ends[-1].take()
    added = [one.take() for one in (then.at_path("community", "add") or Word("")).below.values()]
    if added:
        then.block("community").block("add")
    action = Action(
        accept=_ENDS[ends[-1].text],
        local_preference=then.number("local-preference"),
        add_communities=tuple(one.text for one in added),
    )
    return [Term(name, match, action) for match in _matches(options, f"{policy_name}:{name}", word.block("from"), loopbacks)]


def _matches(options: PolicyOptions, place: str, word: Word, loopbacks: tuple[Prefix, ...]) -> Iterable[Match]:
    """What a term asks for. It holds for one prefix list and one community; more of them are not understood."""
    listed = word.holds("prefix-list")
    longer = False
    if listed is not None:
        listed.take()
    else:
        for one in word.block("prefix-list-filter").below.values():
            how = next((inner for inner in one.below.values() if inner.text in {"orlonger", "exact"}), None)
            if how is not None and listed is None:
                listed, longer = one.take(), how.take().text == "orlonger"
    name = listed.text if listed is not None else None
    if name is None and "route-filter" in word.below:
        name, longer = _own_list(options, place, word.below["route-filter"])
    if name is None and word.at_path("interface", "lo0.0") is not None:
        word.flag("interface", "lo0.0")
        options.own_lists[place], name = loopbacks, place
    tagged = word.holds("community")
    if tagged is not None:
        tagged.take()
    protocols = [one for one in (word.at_path("protocol") or Word("")).below.values() if one.text in _PROTOCOLS]
    found = Match(prefix_list=name, orlonger=longer, community=tagged.text if tagged is not None else None)
    return [replace(found, protocol=_PROTOCOLS[one.take().text]) for one in protocols] or [found]


def _own_list(options: PolicyOptions, place: str, word: Word) -> tuple[str | None, bool]:
    """The prefixes of ``route-filter`` as a list of their own: of all that are meant exactly, or with what is in them."""
    word.take()
    exact: list[Prefix] = []
    longer: list[Prefix] = []
    for one in word.below.values():
        try:
            own = prefix(one.text)
        except ValueError:
            continue
        for how in one.below.values():
            longest = f"/{128 if own.family == 'ipv6' else 32}"
            if how.text == "exact":
                how.take()
                one.take()
                exact.append(own)
            elif how.text == "orlonger" or (how.text == "upto" and longest in how.below):
                how.take_all()
                one.take()
                longer.append(own)
    chosen = longer or exact
    if not chosen:
        return None, False
    if longer and exact:  # a list is of one kind
        for own in exact:
            word.below.get(str(own), Word("")).leave()
    options.own_lists[place] = tuple(chosen)
    return place, bool(longer)
