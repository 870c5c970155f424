"""Derivation of prefix lists, policies, communities and AS lists from ``policy-options``.

The statements that refer to such a definition show its purpose.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import BITS, Prefix
from railweave.model.device.bgp_model import is_well_known
from railweave.model.device.model import Action, Community, EntryList, Match, Policy, PrefixEntry, Term
from railweave.systems.junos.words import Word, asn, prefix, statements

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

_LARGE = re.compile(r"large:\d+:\d+:\d+")
_STANDARD = re.compile(r"\d+:\d+")
_COLOR = re.compile(r"color:\d+:\d+")
_PROTOCOLS: dict[str, Literal["direct", "bgp"]] = {"direct": "direct", "bgp": "bgp", "evpn": "bgp"}
"""The origin of a route in ``DeviceConfig``, by Junos's protocol name. EVPN routes count as BGP routes."""
AND = " && "
"""The text between the names of policies if all of them must accept a route."""
EVERY = {"inet": ("every IPv4 prefix", Prefix("0.0.0.0/0")), "inet6": ("every IPv6 prefix", Prefix("::/0"))}
"""By address family: (the name of the prefix list that stands for all prefixes of the family, its prefix)."""
_DEEPEST = 8
_ENDS = {"accept": True, "reject": False}


@dataclass
class PolicyOptions:
    """The definitions in ``policy-options``, by name.

    - ``route_lists``: the lists of ``route-filter-list``.
    - ``own_lists``: the prefixes that terms list themselves (``route-filter``), by policy and term.
    - ``entry_lists``: the lists of ``own_lists`` whose filters match in different ways, as lists of separate entries.
    - ``networks``: the prefixes of each unit (logical interface).
    - ``more``: the policies of VRFs and of the overlay that contain more than ``DeviceConfig`` can represent.
    """

    word: Word
    prefix_lists: dict[str, Word] = field(default_factory=dict[str, Word])
    policies: dict[str, Word] = field(default_factory=dict[str, Word])
    communities: dict[str, Word] = field(default_factory=dict[str, Word])
    as_lists: dict[str, Word] = field(default_factory=dict[str, Word])
    route_lists: dict[str, Word] = field(default_factory=dict[str, Word])
    networks: dict[str, tuple[Prefix, ...]] = field(default_factory=dict[str, "tuple[Prefix, ...]"])
    own_lists: dict[str, tuple[Prefix, ...]] = field(default_factory=dict[str, "tuple[Prefix, ...]"])
    entry_lists: dict[str, tuple[EntryList, ...]] = field(default_factory=dict[str, tuple[EntryList, ...]])
    more: dict[str, None] = field(default_factory=dict[str, None])

    def is_plain(self, terms: Iterable[Term]) -> bool:
        """Return True if the terms match only by prefix lists, and no condition is unknown."""
        return not any(term.unknown or term.match.prefix_list in self.entry_lists for term in terms)


def policy_options(top: Word, networks: Mapping[str, tuple[Prefix, ...]]) -> PolicyOptions:
    """Return the definitions in ``policy-options``. ``networks`` are the prefixes of each unit.

    A definition is marked as understood only when a reader reads a statement that refers to it. ``top`` is the root of the configuration.
    """
    here = top.at_path("policy-options") or Word("")

    def named(word: str) -> dict[str, Word]:
        block = here.at_path(word)
        return dict(block.below) if block is not None else {}

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
    """Return the prefixes of the prefix list ``word``, the list's name with the words below it."""
    prefixes: list[Prefix] = []
    word.mark()
    for entry in word.below.values():
        try:
            prefixes.append(prefix(entry.text))
        except ValueError:
            continue
        entry.mark()
    return tuple(prefixes)


def community(word: Word) -> list[Community]:
    """Return one community of ``DeviceConfig`` for each value of the Junos community ``word``.

    The communities are named ``NAME``, ``NAME 2`` and so on. If any value is of an unknown kind, return an empty list; the Junos community
    stays marked as not understood.
    """
    members = list(word.block("members").below.values())
    made = [_community(word.text, at, member.text) for at, member in enumerate(members)]
    communities = [community for community in made if community is not None]
    if len(communities) < len(members):
        return []
    word.mark()
    for member in members:
        member.mark()
    return communities


def _community(name: str, at: int, text: str) -> Community | None:
    community_name = _numbered(name, at)
    if _LARGE.fullmatch(text):
        return Community(community_name, "large", text.removeprefix("large:"))
    if _COLOR.fullmatch(text):
        return Community(community_name, "color", text)
    return (
        Community(community_name, "standard", text) if _STANDARD.fullmatch(text) and not is_well_known(text) else None
    )


def _numbered(name: str, at: int) -> str:
    return f"{name} {at + 1}" if at else name


def as_list(word: Word) -> tuple[tuple[int, int], ...]:
    """Return the ranges (first, last) of AS numbers in the list ``word``. For a single number, first and last are equal.

    Other members, such as patterns, are left out and count as not understood.
    """
    word.mark()
    ranges: list[tuple[int, int]] = []
    for member in word.block("members").below.values():
        low, _, high = member.text.partition("-")
        try:
            ranges.append((asn(low), asn(high or low)))
        except ValueError:
            continue
        member.mark()
    return tuple(ranges)


def policy(options: PolicyOptions, names: tuple[str, ...]) -> Policy:
    """Return one policy that is equivalent to the named policies, evaluated in order. A name ``A && B`` means that both must accept."""
    terms = [term for name in names for term in _of_name(options, name, several=len(names) > 1)]
    return Policy(" ".join(names), tuple(terms))


def _of_name(options: PolicyOptions, name: str, *, several: bool) -> list[Term]:
    """Return the terms of a policy, or of policies joined by ``&&``, which must all accept.

    For joined policies, the result has the leading rejecting terms of every policy except the last, then all terms of the
    last. This differs from Junos if an earlier policy changes routes, or rejects routes after a term that accepts. For
    such a policy, the result gets a term whose effect is unknown. ``several`` is True if further policies are evaluated besides ``name``.
    """
    *first, last = name.split(AND)
    all_terms: list[Term] = []
    for policy_name in first:
        terms = _terms(options, policy_name, several=True)
        refused = list(itertools.takewhile(lambda term: not term.action.accept, terms))
        others = terms[len(refused) :]
        all_terms += refused
        if any(term.action != Action(accept=True) or term.unknown for term in others):
            all_terms.append(_not_known(policy_name, (name,)))
    return all_terms + _terms(options, last, several=several or bool(first))


def _not_known(name: str, statements: tuple[str, ...]) -> Term:
    """Return a term for statements whose effect is unknown. The decision on every route that reaches the term is then unknown."""
    return Term(name, Match(), Action(accept=False), statements)


def _terms(options: PolicyOptions, name: str, *, several: bool = False, depth: int = 0) -> list[Term]:
    word = options.policies.get(name)
    if word is None or depth > _DEEPEST:
        return [_not_known(name, (name,))] if word is not None or name.startswith("(") else []
    word.mark()
    terms: list[Term] = []
    for term in [*word.entries("term"), *([word] if "then" in word.below else [])]:
        label = "" if term is word else term.text
        made = _term(options, name, label, term, depth)
        terms += [replace(term, name=f"{name} {term.name}".rstrip()) if several else term for term in made]
    others = _unknown(word, set(word.below) - {"term", "from", "to", "then"})
    return [_not_known("", others), *terms] if others else terms


def _unknown(word: Word, names: Collection[str]) -> tuple[str, ...]:
    """Return the statements below ``word``, a policy or a term, that are not understood. Only the words in ``names`` are searched."""
    return tuple(
        " ".join((text, *path))
        for text, inner in word.below.items()
        if text in names
        for end, path in (statements(inner) if inner.below else [(inner, ())])
        if end.kind == "unknown"
    )


def _term(options: PolicyOptions, policy_name: str, name: str, word: Word, depth: int) -> list[Term]:
    """Return the terms of ``DeviceConfig`` that together have the effect of the Junos term ``word``.

    The result is empty if ``word`` has no effect. ``policy_name`` and ``name`` are the names of the policy and of the term. ``depth``
    counts the policies that refer to each other (``from policy``).
    """
    then = word.block("then")
    ends = [action for action in then.below.values() if action.text in _ENDS]
    if not ends and [path for _, path in statements(then)] in ([], [("next", "term")]):
        then.mark_all()
        return []
    accept = bool(ends) and _ENDS[ends[-1].mark().text]
    action = _action(options, then, accept=accept) if ends else Action(accept=False)
    asked, strange = word.block("from"), list[str]()
    if "policy" in asked.below:
        terms = list(_asked_of_others(options, name, asked, action, depth))
    else:
        terms = [Term(name, match, action) for match in _matches(options, f"{policy_name}:{name}", asked, strange)]
    unknown = (*strange, *_unknown(word, {"from", "to", "then"}))
    return [replace(term, unknown=(*term.unknown, *unknown)) for term in terms or [_not_known(name, ("from policy",))]]


def _action(options: PolicyOptions, then: Word, *, accept: bool) -> Action:
    put = [word.mark() for word in (then.at_path("community", "set") or Word("")).below.values()]
    added = [word.mark() for word in (then.at_path("community", "add") or Word("")).below.values()]
    return Action(
        accept=accept,
        local_preference=then.number("local-preference"),
        add_communities=tuple(value for word in [*put, *added] for value in _values(options, word.text)),
        prepend=then.read(_as_numbers, "as-path-prepend") or (),
        replace_communities=bool(put),
    )


def _as_numbers(text: str) -> tuple[int, ...]:
    """Return the AS numbers in a text, which are separated by spaces. Raises ``ValueError`` for other texts."""
    return tuple(asn(number) for number in text.strip('"').split())


def _values(options: PolicyOptions, name: str) -> list[str]:
    """Return the names in ``DeviceConfig`` of the Junos community ``name``: ``NAME``, ``NAME 2`` and so on, one for each of its values."""
    word = options.communities.get(name)
    count = len(word.below["members"].below) if word is not None and "members" in word.below else 1
    return [_numbered(name, at) for at in range(count)]


def _asked_of_others(options: PolicyOptions, name: str, asked: Word, action: Action, depth: int) -> Iterator[Term]:
    """Yield the terms of the policies to which a term refers by ``from policy``. ``asked`` is the term's ``from`` block, ``action`` its action.

    If such a policy accepts a route after a term that rejects, the decision is unknown. ``depth`` counts the policies that refer to each
    other.
    """
    for other in asked.entries("policy"):
        terms = _terms(options, other.text, depth=depth + 1)
        accepted = list(itertools.takewhile(lambda term: term.action.accept, terms))
        for term in accepted:
            communities = (*term.action.add_communities, *action.add_communities)
            preference = term.action.local_preference if action.local_preference is None else action.local_preference
            changed = replace(action, add_communities=communities, local_preference=preference)
            yield Term(f"{name} {term.name}", term.match, changed, term.unknown)
        if any(term.action.accept or term.unknown for term in terms[len(accepted) :]) or not terms:
            yield Term(name, Match(), action, (f"from policy {other.text}",))


_Listed = tuple[str | None, bool, tuple[int, int] | None]
_RANGE = re.compile(r"/([0-9]{1,3})(?:-/([0-9]{1,3}))?")


def _matches(options: PolicyOptions, place: str, word: Word, strange: list[str]) -> Iterable[Match]:
    """Return the conditions of a term, one for each protocol. ``word`` is the ``from`` block of the term.

    A condition has at most one prefix list and one community; further ones are marked as not understood. ``place`` is the policy and the
    term, joined by a colon. Conditions on lists or communities that are not understood are added to ``strange``.
    """
    name, longer, taken = _listed(options, place, word, strange)
    tagged = word.holds("community")
    if tagged is not None and len(_values(options, tagged.text)) == 1:
        tagged.mark()
        defined = options.communities.get(tagged.text)
        if defined is not None and (defined.below.keys() != {"members"} or not community(defined)):
            strange.append(f"from community {tagged.text}")
    protocols = [
        protocol for protocol in (word.at_path("protocol") or Word("")).below.values() if protocol.text in _PROTOCOLS
    ]
    match = Match(
        prefix_list=name, orlonger=longer, community=tagged.text if tagged is not None else None, lengths=taken
    )
    return [replace(match, protocol=_PROTOCOLS[protocol.mark().text]) for protocol in protocols] or [match]


def _listed(options: PolicyOptions, place: str, word: Word, strange: list[str]) -> _Listed:
    """Return (name of the prefix list in a condition, True if longer prefixes match too, their lengths or None for any).

    ``word`` is the condition. ``place`` is the policy and term, from which a list of ``route-filter`` statements gets its name. Lists that
    are not understood are added to ``strange``.
    """
    family = word.holds("family")
    every = EVERY.get(family.text) if family is not None else None
    if family is not None and every is not None:
        family.mark()
    listed = word.holds("prefix-list")
    if listed is not None:
        strange += _not_listed(options, listed.text)
        return listed.mark().text, False, None
    for listed in word.block("prefix-list-filter").below.values():
        how = next((inner for inner in listed.below.values() if inner.text in {"orlonger", "exact"}), None)
        if how is not None:
            strange += _not_listed(options, listed.text)
            return listed.mark().text, how.mark().text == "orlonger", None
    if "route-filter" in word.below:
        return _own_list(options, place, word.below["route-filter"])
    named = word.holds("route-filter-list")
    if named is not None and named.text in options.route_lists:
        taken = _own_list(options, named.mark().text, options.route_lists[named.text])
        if any(end.kind == "unknown" for end, _ in statements(options.route_lists[named.text])):
            strange.append(f"from route-filter-list {named.text}")
        return taken
    units = [unit for unit in (word.at_path("interface") or Word("")).below.values() if unit.text in options.networks]
    if units:
        options.own_lists[place] = tuple(
            dict.fromkeys(network for unit in units for network in options.networks[unit.mark().text])
        )
        return place, False, None
    if every is not None:
        options.own_lists[every[0]] = (every[1],)
        return every[0], True, None
    return None, False, None


def _not_listed(options: PolicyOptions, name: str) -> list[str]:
    """Return the condition ``from prefix-list NAME`` as a list if the prefix list contains more than prefixes; otherwise empty."""
    entries = options.prefix_lists[name].below if name in options.prefix_lists else {}
    return [] if all(map(_is_prefix, entries)) else [f"from prefix-list {name}"]


def _is_prefix(text: str) -> bool:
    try:
        prefix(text)
    except ValueError:
        return False
    return True


def _own_list(options: PolicyOptions, place: str, word: Word) -> _Listed:
    """Record the ``route-filter`` statements ``word`` of a term as a prefix list named ``place``, and return the condition on it.

    The condition is (name of the list or None, True if longer prefixes match too, their lengths or None for any). If the statements
    match different lengths, each becomes a separate entry.
    """
    word.mark()
    filters: dict[Prefix, list[tuple[int, int]]] = {}
    kinds: set[tuple[int, int] | str | None] = set()
    for route_filter in word.below.values():
        if not _is_prefix(route_filter.text):
            continue
        network = prefix(route_filter.text)
        whole = (network.length, BITS[network.family])
        for how in route_filter.below.values():
            taken = (network.length, network.length) if how.text == "exact" else _lengths(network, how)
            if taken is None:
                continue
            (how.mark if how.text == "exact" else how.mark_all)()
            route_filter.mark()
            kinds.add(None if taken == whole else "exact" if how.text == "exact" else taken)
            filters.setdefault(network, []).append(taken)
    if not filters:
        return None, False, None
    options.own_lists[place] = tuple(filters)
    kind = kinds.pop()
    if kinds:
        options.entry_lists[place] = tuple(_entries(place, filters))
        return place, False, None
    return place, kind != "exact", None if isinstance(kind, str) else kind


def _entries(place: str, filters: Mapping[Prefix, Sequence[tuple[int, int]]]) -> Iterator[EntryList]:
    """Yield the ``route-filter`` statements of a term as a list of entries for each address family. ``place`` is the name of the lists.

    In Junos, only the longest prefix that contains a route decides. Therefore, a deny entry follows the entries of each
    prefix. ``filters`` has the (minimum, maximum) lengths of each prefix.
    """
    for family in BITS:
        inside = sorted(
            (network for network in filters if network.family == family), key=lambda network: -network.length
        )
        entries: list[PrefixEntry] = []
        for network in inside:
            entries += [PrefixEntry(network, taken) for taken in filters[network]]
            entries.append(PrefixEntry(network, (network.length, BITS[family]), permit=False))
        if entries:
            yield EntryList(place, family, tuple(entries))


def _lengths(network: Prefix, how: Word) -> tuple[int, int] | None:
    """Return (minimum, maximum) length of the prefixes that a filter matches. ``how`` is the kind of match, such as ``orlonger``.

    Return None for unknown kinds.
    """
    longest = BITS[network.family]
    match = _RANGE.fullmatch(next(iter(how.below), "")) if how.text in {"upto", "prefix-length-range"} else None
    if how.text in {"orlonger", "longer"}:
        return network.length + (how.text == "longer"), longest
    if match is None or bool(match[2]) is not (how.text == "prefix-length-range"):
        return None
    return (int(match[1]), int(match[2])) if match[2] else (network.length, int(match[1]))


def unused(options: PolicyOptions, top: Word) -> None:
    """Mark policies, lists and communities as without effect if their name occurs nowhere else in the configuration.

    ``top`` is the root of the configuration.
    """
    named = {word for text, statement in top.below.items() if text != "policy-options" for word in _words(statement)}
    inside = [definition for kind in options.word.below.values() for definition in kind.below.values()]
    words = {
        id(definition): {word for two in definition.below.values() for word in _words(two)} for definition in inside
    }
    left = inside
    for _ in range(_DEEPEST):  # an unused definition may be the only one that refers to others
        used = named.union(*(words[id(definition)] for definition in left))
        left = [definition for definition in left if definition.text in used]
    kept = set(map(id, left))
    for definition in inside:
        for end, _ in statements(definition) if id(definition) not in kept else ():
            if end.kind == "unknown":
                end.mark("irrelevant")


def _words(word: Word) -> Iterator[str]:
    """Yield a word, the names in it if it is an expression such as ``A && B``, and all words below it."""
    stack = [word]
    while stack:
        current = stack.pop()
        yield current.text
        if " " in current.text:
            yield from current.text.strip("() ").split()
        stack += current.below.values()
