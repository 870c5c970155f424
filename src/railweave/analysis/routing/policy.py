"""Application of routing policies to all routes of a table at once."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from railweave.analysis.routing.attributes import ALL, NONE
from railweave.errors import UnknownPolicyError
from railweave.model.config.addresses import Family, Prefix

if TYPE_CHECKING:
    from railweave.analysis.routing.attributes import Attributes, AttributeTable, Ids, Mask, Places
    from railweave.model.device.model import Bgp, PrefixEntry, Term

_UNDEFINED = ""
"""The value of an undefined community, which no route carries."""


class ResolvedTerm(NamedTuple):
    """A term of a policy, with the contents of its prefix lists and communities in place of their names.

    - ``protocol``, ``prefixes`` and ``community``: the conditions of the term; None if the term lacks the condition.
    - ``orlonger``: True if more specific prefixes match too. ``lengths`` limits their length (minimum, maximum).
    - ``added``: the communities that the term adds to a route. If ``replaces`` is True, the route first loses its communities of the
      same kinds, such as all colors.
    - ``prepended``: the number of AS numbers that the term prepends.
    - ``entries``: permit and deny entries of a prefix list that is evaluated in order; they replace ``prefixes``.
    - ``unknown``: the reason why railweave cannot tell whether the term accepts a route; empty if it can.
    """

    protocol: Literal["direct", "bgp"] | None
    prefixes: tuple[str, ...] | None
    orlonger: bool
    lengths: tuple[int, int] | None
    community: str | None
    accept: bool
    local_preference: int | None
    aigp: int | None
    added: frozenset[str]
    prepended: int
    replaces: bool
    entries: tuple[PrefixEntry, ...] = ()
    unknown: str = ""


_EVERY: dict[Family, Prefix] = {"ipv4": Prefix("0.0.0.0/0"), "ipv6": Prefix("::/0")}
"""The prefix of each address family that contains all other prefixes."""

_REFUSE = ResolvedTerm(None, (), True, None, None, False, None, None, frozenset(), 0, False)


@dataclass(frozen=True, eq=False)
class ResolvedPolicy:
    """A policy as a device applies it, with the decision for routes that match no term. A policy engine has equal policies only once."""

    terms: tuple[ResolvedTerm, ...]
    default_accept: bool


class PolicyEngine:
    """The policies of all devices, applied to one list of prefixes. Equal prefix lists and actions are evaluated once."""

    def __init__(self, prefixes: list[str], table: AttributeTable) -> None:
        self.table = table
        networks = [ipaddress.ip_network(prefix) for prefix in prefixes]
        self.count = len(networks)
        self._versions = np.array([network.version for network in networks], dtype=np.uint8)
        self._lengths = np.array([network.prefixlen for network in networks], dtype=np.int64)
        high = [int(n.network_address) << (128 - n.max_prefixlen) for n in networks]
        self._high = np.array([value >> 64 for value in high], dtype=np.uint64)
        self._low = np.array([value & (1 << 64) - 1 for value in high], dtype=np.uint64)
        self._lists: dict[tuple[tuple[str, ...], bool, tuple[int, int] | None], Mask] = {}
        self._by_entry: dict[tuple[PrefixEntry, ...], Mask] = {}
        self._resolved: dict[tuple[tuple[ResolvedTerm, ...], bool], ResolvedPolicy] = {}

    def listed(self, entries: tuple[str, ...], *, orlonger: bool, lengths: tuple[int, int] | None = None) -> Mask:
        """Return a mask of the prefixes that a prefix list (``entries``) matches.

        A prefix matches if it is in the list or, with ``orlonger``, inside a prefix of the list. ``lengths`` limits the length of matching
        prefixes (minimum, maximum).
        """
        matched = self._lists.get((entries, orlonger, lengths))
        if matched is None:
            matched = np.zeros(self.count, dtype=np.bool_)
            for entry in entries:
                matched |= self._matches(entry, orlonger=orlonger)
            if lengths is not None:
                matched &= (self._lengths >= lengths[0]) & (self._lengths <= lengths[1])
            self._lists[entries, orlonger, lengths] = matched
        return matched

    def permitted(self, entries: tuple[PrefixEntry, ...]) -> Mask:
        """Return a mask of the prefixes that an ordered prefix list (``entries``) permits: the first matching entry decides."""
        matched = self._by_entry.get(entries)
        if matched is None:
            matched, left = np.zeros(self.count, dtype=np.bool_), np.ones(self.count, dtype=np.bool_)
            for entry in entries:
                hit = left & self.listed((entry.prefix,), orlonger=True, lengths=entry.lengths)
                left &= ~hit
                if entry.permit:
                    matched |= hit
            self._by_entry[entries] = matched
        return matched

    def _matches(self, entry: str, *, orlonger: bool) -> Mask:
        network = ipaddress.ip_network(entry)
        value = int(network.network_address) << (128 - network.max_prefixlen)
        mask = ((1 << network.prefixlen) - 1) << (128 - network.prefixlen)
        high, low = np.uint64(mask >> 64), np.uint64(mask & (1 << 64) - 1)
        inside = (self._high & high == np.uint64(value >> 64)) & (self._low & low == np.uint64(value & (1 << 64) - 1))
        same = self._lengths >= network.prefixlen if orlonger else self._lengths == network.prefixlen
        return inside & same & (self._versions == network.version)

    def resolved(self, bgp: Bgp, name: str, device: str = "") -> ResolvedPolicy:
        """Return a policy by its name, with its lists and communities resolved.

        An undefined policy has no terms, so the system's default applies. ``device`` is the device's name in messages about unknown
        terms.
        """
        policy = next((policy for policy in bgp.policies if policy.name == name), None)
        values = {community.name: community.value for community in bgp.communities}
        where = f"policy {name!r} of {device}"
        terms = tuple(_resolved(bgp, values, term, where) for term in (policy.terms if policy else ()))
        terms = (*self._refused(bgp), *terms)
        return self._resolved.setdefault((terms, bgp.default_accept), ResolvedPolicy(terms, bgp.default_accept))

    def _refused(self, bgp: Bgp) -> list[ResolvedTerm]:
        """Return terms that reject the address families for which the device activates no session, because no such routes are exchanged."""
        off = [every for family, every in _EVERY.items() if family not in bgp.families]
        return [_REFUSE._replace(prefixes=(every,)) for every in off]

    def apply(self, policy: ResolvedPolicy, ids: Ids, direct: Mask, places: Places = ALL) -> Ids:
        """Return the routes after a policy. Rejected routes become ``NONE``.

        ``ids`` are the attributes of the routes, and ``direct`` is a mask of connected routes, both for the prefixes at ``places``.
        Raises ``UnknownPolicyError`` if a route reaches a term with an unknown statement.
        """
        result = np.full(ids.shape, NONE, dtype=np.int32)
        left = ids >= 0
        for term in policy.terms:
            hit = left & self._hits(term, ids, direct, places)
            if not hit.any():
                continue
            if term.unknown:
                raise UnknownPolicyError(term.unknown)
            left &= ~hit
            if term.accept:
                result[hit] = self._change(term, ids[hit])
        if policy.default_accept:
            rest = left & ~direct
            result[rest] = ids[rest]
        return result

    def _hits(self, term: ResolvedTerm, ids: Ids, direct: Mask, places: Places) -> Mask:
        hit = np.ones(len(ids), dtype=np.bool_)
        if term.entries:
            hit &= self.permitted(term.entries)[places]
        elif term.prefixes is not None:
            hit &= self.listed(term.prefixes, orlonger=term.orlonger, lengths=term.lengths)[places]
        if term.protocol is not None:
            hit &= direct if term.protocol == "direct" else ~direct
        wanted = term.community
        if wanted is not None:
            return hit & self.table.having(ids, ("carries", wanted), lambda held: wanted in held)
        return hit

    def _change(self, term: ResolvedTerm, ids: Ids) -> Ids:
        if not (term.local_preference is not None or term.aigp is not None or term.added or term.prepended):
            return ids

        def change(old: Attributes) -> Attributes:
            return replace(
                old,
                local_preference=old.local_preference if term.local_preference is None else term.local_preference,
                aigp=old.aigp if term.aigp is None else term.aigp,
                path_length=old.path_length + term.prepended,
                communities=_others(old.communities, term) | term.added,
            )

        memo = ("action", term.local_preference, term.aigp, term.added, term.prepended, term.replaces)
        return self.table.map(memo, ids, change)


def _others(held: frozenset[str], term: ResolvedTerm) -> frozenset[str]:
    """Return the communities in ``held``, a route's communities, that remain when a term adds its communities.

    If the term replaces communities, those of the same kinds (such as colors) as the added ones are removed.
    """
    kinds = {_kind(community) for community in term.added} if term.replaces else set[str]()
    return frozenset(community for community in held if _kind(community) not in kinds)


def _kind(value: str) -> str:
    return "color" if value.startswith("color:") else str(value.count(":"))


def _asked_for(prefixes: tuple[Prefix, ...], family: Family | None) -> tuple[Prefix, ...]:
    """Return the prefixes of a list to which a term applies: the prefixes of its address family, or all if the term has no family."""
    return prefixes if family is None else tuple(prefix for prefix in prefixes if prefix.family == family)


def _resolved(bgp: Bgp, values: dict[str, str], term: Term, where: str) -> ResolvedTerm:
    match, action = term.match, term.action
    prefixes: tuple[Prefix, ...] | None = None
    if match.prefix_list is not None:
        prefixes = _asked_for(bgp.prefix_lists.get(match.prefix_list, ()), match.family)
    elif match.family is not None:
        prefixes = (_EVERY[match.family],)
    return ResolvedTerm(
        match.protocol,
        prefixes,
        match.orlonger or match.prefix_list is None,
        match.lengths,
        None if match.community is None else values.get(match.community, _UNDEFINED),
        action.accept,
        action.local_preference,
        action.aigp,
        frozenset(values[name] for name in action.add_communities if name in values),
        len(action.prepend),
        action.replace_communities,
        bgp.entries(match) if match.prefix_list is not None else (),
        f"routes are not known: {where} has `{term.unknown[0]}`, which is not understood" if term.unknown else "",
    )
