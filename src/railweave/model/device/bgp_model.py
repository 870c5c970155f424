"""The BGP configuration of a switch: sessions, policies and communities."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal

from railweave.model.config.addresses import Address, Family, Prefix
from railweave.model.device.management import Authentication
from railweave.model.device.timers import Bfd
from railweave.model.network.overlay import Rare, RareFlag

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


NOTHING = "(nothing)"
"""The policy name of a session through which no route may pass. No policy on a device can have this name."""


@dataclass(frozen=True, slots=True)
class Session:
    """One BGP session on a link: the port (``interface``), the name of the cable (``link``), and the neighbor.

    The addresses are None for unnumbered peering. ``import_policy`` and ``export_policy`` override the policies of the group;
    None inherits them.
    """

    interface: str
    link: str
    peer: str
    peer_as: int
    local_address: Address | None
    peer_address: Address | None
    import_policy: Annotated[str | None, Rare] = None
    export_policy: Annotated[str | None, Rare] = None


@dataclass(frozen=True, slots=True)
class NumberedSession(Session):
    """A BGP session whose two addresses are configured."""

    local_address: Address
    peer_address: Address


@dataclass(frozen=True, slots=True)
class BgpGroup:
    """Sessions that share policies.

    - ``fabric_color``: the name of a color community (deterministic path forwarding).
    - ``aigp``: True if the AIGP attribute is sent and received (RFC 7311).
    - ``peer_as_list``: the name of the AS list that must contain the AS of a discovered neighbor; None for configured neighbors.
    - ``bfd``: the group's BFD settings if they differ from ``Bgp.bfd``; None inherits ``Bgp.bfd``. ``Bfd(enabled=False)`` means that
      the group has no BFD. The field is only read from configurations: no design sets it, and nothing renders it.
    """

    name: str
    description: str
    local_as: int
    sessions: tuple[Session, ...]
    import_policy: str
    export_policy: str
    peer_as_list: str | None
    fabric_color: str | None = None
    aigp: bool = False
    bfd: Annotated[Bfd | None, Rare] = None


def with_bfd(groups: Iterable[BgpGroup], watched: Sequence[Bfd | None]) -> tuple[tuple[BgpGroup, ...], Bfd | None]:
    """Return (groups, most frequent BFD settings of the groups). The caller uses these settings for the whole device.

    A group with different settings gets them in its ``bfd`` field. ``watched`` holds the settings of each group, in the same
    order; None means no BFD.
    """
    usual = max(watched, key=watched.count, default=None)
    return tuple(
        group if bfd == usual else replace(group, bfd=bfd or Bfd(enabled=False))
        for group, bfd in zip(groups, watched, strict=True)
    ), usual


@dataclass(frozen=True, slots=True)
class Match:
    """Conditions of a policy term. All conditions that are set must hold.

    - ``orlonger``: True if longer routes inside the prefixes of ``prefix_list`` match too.
    - ``community``: the name of a community that the route must have.
    - ``lengths``: with ``orlonger``, the minimum and maximum length of a route inside a listed prefix; None means any
      length. The field is only read from configurations: no design sets it, and nothing renders it.
    - ``family``: the address family of matching routes. If there is a prefix list, only its prefixes of this family
      count. If a switch routes both families, its route-maps have one term for each.
    """

    protocol: Literal["direct", "bgp"] | None = None
    prefix_list: str | None = None
    orlonger: bool = False
    community: str | None = None
    lengths: tuple[int, int] | None = None
    family: Annotated[Family | None, Rare] = None


@dataclass(frozen=True, slots=True)
class Action:
    """The effect of a policy term on a route that matches.

    - ``prepend``: AS numbers to prepend to the route's path.
    - ``replace_communities``: True if the added communities replace all communities of the same kind on the route.
    """

    accept: bool
    local_preference: int | None = None
    aigp: int | None = None
    add_communities: tuple[str, ...] = ()
    prepend: Annotated[tuple[int, ...], Rare] = ()
    replace_communities: Annotated[bool, RareFlag] = False


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a policy.

    - ``unknown``: statements of the term that railweave does not understand. They may narrow the condition, change the
      route or lead to another term. So the decision on a route that reaches this term is unknown. The field is only read
      from configurations.
    """

    name: str
    match: Match
    action: Action
    unknown: Annotated[tuple[str, ...], Rare] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """A routing policy: terms in order. The first matching term decides. A route that no term matches gets the system's default decision."""

    name: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Community:
    """A named community. ``value`` is ``color:0:N``, ``A:B:C`` (large, RFC 8092) or ``A:B`` (standard, RFC 1997)."""

    name: str
    kind: Literal["color", "large", "standard"]
    value: str


@dataclass(frozen=True, slots=True)
class PrefixEntry:
    """One entry of a prefix list: it permits or denies routes inside ``prefix`` with a length between the two ``lengths``."""

    prefix: Prefix
    lengths: tuple[int, int]
    permit: bool = True


@dataclass(frozen=True, slots=True)
class EntryList:
    """A prefix list of one address family that is evaluated in order: the first entry that matches a route decides."""

    name: str
    family: Family
    entries: tuple[PrefixEntry, ...]


@dataclass(frozen=True, slots=True)
class FabricAdvertise:
    """A prefix advertised by path color: neighbors of ``color`` get the primary copy with AIGP 0, neighbors of other colors get a backup."""

    prefix: Prefix
    color: str
    backup_colors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bgp:
    """The BGP configuration of a device.

    - ``as_lists``: ranges of AS numbers as (first, last), by name of the list.
    - ``redistribute_connected``: the name of the policy that selects connected routes to redistribute; None without one.
    - ``default_accept``: True if the system accepts a BGP route that no term of a policy matches.
    - ``bfd``: the BFD settings of groups whose ``BgpGroup.bfd`` is None.
    - ``ttl_security``: True if sessions on links use the TTL check of RFC 5082.
    - ``graceful_restart`` and ``authentication``: settings of the sessions on links and of the overlay.
    - ``entry_lists``: the prefix lists that must be evaluated entry by entry, because an entry denies or the entries match
      different lengths. They replace the lists of the same name in ``prefix_lists``. The field is only read from
      configurations.
    """

    asn: int
    router_id: Address
    groups: tuple[BgpGroup, ...]
    policies: tuple[Policy, ...]
    prefix_lists: dict[str, tuple[Prefix, ...]]
    communities: tuple[Community, ...]
    as_lists: dict[str, tuple[tuple[int, int], ...]]
    fabric_advertise: tuple[FabricAdvertise, ...]
    redistribute_connected: str | None
    default_accept: bool
    compare_aigp: bool
    families: tuple[Family, ...]
    maximum_ecmp: int
    bfd: Bfd | None
    graceful_restart: bool = False
    ttl_security: bool = False
    authentication: Authentication | None = None
    entry_lists: Annotated[tuple[EntryList, ...], Rare] = ()

    def found_neighbors(self) -> bool:
        """True if any session has no peer address because its neighbor is discovered on the link."""
        return any(session.peer_address is None for group in self.groups for session in group.sessions)

    def values(self, names: Iterable[str]) -> dict[str, str]:
        """Return the values of communities such as ``65000:1:2``, by community name. Names of undefined communities are left out."""
        by_name = {community.name: community.value for community in self.communities}
        return {name: by_name[name] for name in names if name in by_name}

    def family_of(self, match: Match) -> Family:
        """Return the address family of the condition ``match``: its own family, or else the first family that the device routes.

        If both are missing, return the family of the first prefix in the condition's prefix list, or IPv6 if the list is empty.
        """
        listed = self.prefix_lists.get(match.prefix_list or "", ())
        known: tuple[Family, ...] = (*self.families, *(prefix.family for prefix in listed), "ipv6")
        return match.family or known[0]

    def entries(self, match: Match) -> tuple[PrefixEntry, ...]:
        """Return the entries of the prefix list that ``match`` names, if the list must be evaluated in order (``EntryList``).

        Return () for other lists.
        """
        families = (match.family,) if match.family else self.families
        return tuple(
            entry
            for listed in self.entry_lists
            if listed.name == match.prefix_list and (listed.family in families or not families)
            for entry in listed.entries
        )


def by_family(policies: tuple[Policy, ...], families: tuple[Family, ...]) -> tuple[Policy, ...]:
    """Return the policies as route-maps need them: each condition with a prefix list has one address family.

    ``families`` are the families that the switch routes. If there are two, a term with a prefix list is split into one term per
    family.
    """
    if len(families) < 2:
        return policies

    def terms(term: Term) -> tuple[Term, ...]:
        if term.match.prefix_list is None:
            return (term,)
        return tuple(
            replace(term, name=f"{term.name}-{f}", match=replace(term.match, family=f)) for f in sorted(families)
        )

    return tuple(
        Policy(policy.name, tuple(made for term in policy.terms for made in terms(term))) for policy in policies
    )


WELL_KNOWN = frozenset({*range(10), 666, *range(65281, 65285)})
"""The assigned values of N in communities 65535:N (IANA, "BGP Well-known Communities"), for example 0 for graceful shutdown."""


def is_well_known(community: str) -> bool:
    """Return True if a standard community is well-known: routers act on it without a policy (RFC 1997)."""
    first, _, second = community.partition(":")
    return first == "65535" and second.isdigit() and int(second) in WELL_KNOWN


def ways_to_one_as(groups: Iterable[BgpGroup], width: int) -> int:
    """Return the number of paths that can share load, at most ``width``, on a system that combines only paths with equal AS paths.

    The result is ``width`` if all neighbors in ``groups`` have the same AS number, and otherwise the largest number of sessions to one AS.
    """
    counts = Counter(session.peer_as for group in groups for session in group.sessions)
    return min(width, max(counts.values())) if len(counts) > 1 else width


def of_one_family(bgp: Bgp) -> Bgp:
    """Return ``bgp``, changed so that conditions of policies do not name the switch's address family, if the switch routes only one family.

    A condition on a different family keeps its family, so that it matches no route. A switch with both families stays unchanged.
    """
    if len(bgp.families) > 1:
        return bgp
    policies = (
        replace(policy, terms=tuple(_without_family(term, bgp.families) for term in policy.terms))
        for policy in bgp.policies
    )
    return replace(bgp, policies=tuple(policies))


def _without_family(term: Term, routed: tuple[Family, ...]) -> Term:
    if term.match.family is None or (routed and term.match.family not in routed):
        return term
    return replace(term, match=replace(term.match, family=None))


def of_families(
    names: Mapping[Family, str | None], policies: Iterable[Policy]
) -> tuple[str | None, tuple[Policy, ...]]:
    """Return (name of a policy that replaces one policy per address family, policies to add).

    ``names`` maps each family to the name of its policy; None blocks all routes of the family. If all families use the
    same policy, its name is returned, and no policy is added. Otherwise one new policy is added. It contains the terms of
    the named policies, which ``policies`` holds; each term is limited to the family of its policy.
    """
    if len(set(names.values())) <= 1:
        return next(iter(names.values()), None), ()
    by_name = {policy.name: policy for policy in policies}
    terms = tuple(
        replace(term, match=replace(term.match, family=family))
        for family, name in names.items()
        for term in (by_name[name].terms if name in by_name else ())
        if term.match.family in {None, family}
    )
    words = {None: "none", "": "all"}
    joined = ", ".join(f"{family}: {words.get(name, name)}" for family, name in names.items())
    return joined, (Policy(joined, terms),)


@dataclass(frozen=True, slots=True)
class JointPolicies:
    """The joint policies of a device. A joint policy replaces one policy per address family (``of_families``).

    ``families`` holds, by name of the joint policy, the name of the replaced policy for each family.
    """

    families: dict[str, Mapping[Family, str | None]] = field(default_factory=dict[str, "Mapping[Family, str | None]"])

    def name(self, names: Mapping[Family, str | None]) -> str | None:
        """Return the name of the policy that replaces the policies in ``names``, one per address family, or None if no family has a policy.

        If this is a new policy, it is recorded, and ``policies`` returns it later.
        """
        joined, more = of_families(names, ())
        if more and joined:
            self.families[joined] = names
        return joined

    def policies(self, known: Sequence[Policy]) -> list[Policy]:
        """Return the joint policies that ``name`` recorded. ``known`` holds the policies per address family that the joint policies replace."""
        return [policy for names in self.families.values() for policy in of_families(names, known)[1]]


def by_policy(bgp: Bgp) -> Bgp:
    """Return ``bgp`` with its groups split so that all sessions of a group have the same policies.

    The computation of routes needs this, because it reads the policies of groups, not those of sessions.
    """
    if not any(session.import_policy or session.export_policy for group in bgp.groups for session in group.sessions):
        return bgp
    groups: list[BgpGroup] = []
    for group in bgp.groups:
        parts: dict[tuple[str, str], list[Session]] = {(group.import_policy, group.export_policy): []}
        for peer_session in group.sessions:
            policies = (
                peer_session.import_policy or group.import_policy,
                peer_session.export_policy or group.export_policy,
            )
            parts.setdefault(policies, []).append(replace(peer_session, import_policy=None, export_policy=None))
        groups += [
            replace(group, sessions=tuple(sessions), import_policy=imports, export_policy=exports)
            for (imports, exports), sessions in parts.items()
            if sessions
        ]
    return replace(bgp, groups=tuple(groups))
