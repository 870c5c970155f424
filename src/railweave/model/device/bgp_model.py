"""BGP of a switch as it is configured: sessions, policies, communities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from railweave.model.config.addresses import Address, Family, Prefix
from railweave.model.device.management import Authentication
from railweave.model.device.timers import Bfd
from railweave.model.network.overlay import Rare, RareFlag

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Session:
    """One BGP session: the interface and cable it runs on, and its addresses where peering is numbered.

    Its policies are those of its group, but where it has its own.
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
    """A session that has addresses."""

    local_address: Address
    peer_address: Address


@dataclass(frozen=True, slots=True)
class BgpGroup:
    """Sessions that share policy. ``fabric_color`` names a color community (deterministic path forwarding).

    ``aigp`` says whether the AIGP attribute is sent and received (RFC 7311); ``peer_as_list`` names the list that an
    auto-discovered neighbor's AS must be in.
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


@dataclass(frozen=True, slots=True)
class Match:
    """Conditions of a policy term; all that are set must hold. ``community`` is the name of one the route must carry.

    ``lengths`` are the shortest and the longest that a prefix in those of the list may be, where ``orlonger`` takes such; None: any.
    They are read: no design has them, and nothing renders them. ``family``: only prefixes of the list that are of this address family;
    route-maps of a switch that routes both have a term for each.
    """

    protocol: Literal["direct", "bgp"] | None = None
    prefix_list: str | None = None
    orlonger: bool = False
    community: str | None = None
    lengths: tuple[int, int] | None = None
    family: Annotated[Family | None, Rare] = None


@dataclass(frozen=True, slots=True)
class Action:
    """The effect of a term on a route that matches.

    ``prepend``: AS numbers put in front of the route's path. ``replace_communities``: the added communities replace all communities
    of their kind that the route has.
    """

    accept: bool
    local_preference: int | None = None
    aigp: int | None = None
    add_communities: tuple[str, ...] = ()
    prepend: Annotated[tuple[int, ...], Rare] = ()
    replace_communities: Annotated[bool, RareFlag] = False


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a policy."""

    name: str
    match: Match
    action: Action


@dataclass(frozen=True, slots=True)
class Policy:
    """Terms in order; the first that matches decides. A route that none matches gets the system's default."""

    name: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Community:
    """A named community. ``value`` is ``color:0:N``, ``A:B:C`` (large, RFC 8092) or ``A:B`` (standard, RFC 1997)."""

    name: str
    kind: Literal["color", "large", "standard"]
    value: str


@dataclass(frozen=True, slots=True)
class FabricAdvertise:
    """A prefix advertised by color: the primary copy to neighbors of ``color`` with AIGP 0, others as backup."""

    prefix: Prefix
    color: str
    backup_colors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bgp:
    """The BGP configuration of a device.

    ``ttl_security`` is of sessions on links (RFC 5082); ``graceful_restart`` and ``authentication`` are the overlay's too.
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

    def found_neighbors(self) -> bool:
        """True if a session has no address, because its neighbor is found on the link."""
        return any(session.peer_address is None for group in self.groups for session in group.sessions)

    def values(self, names: Iterable[str]) -> dict[str, str]:
        """The values of communities by name. A name that a text uses and nothing defines has no value."""
        by_name = {community.name: community.value for community in self.communities}
        return {name: by_name[name] for name in names if name in by_name}

    def family_of(self, match: Match) -> Family:
        """The address family of the prefixes that a condition looks at: its own, or the one that is routed.

        A device whose text has lost its address family routes none: its lists still have prefixes of one.
        """
        listed = self.prefix_lists.get(match.prefix_list or "", ())
        known: tuple[Family, ...] = (*self.families, *(prefix.family for prefix in listed), "ipv6")
        return match.family or known[0]


def by_family(policies: tuple[Policy, ...], families: tuple[Family, ...]) -> tuple[Policy, ...]:
    """Policies as route-maps have them, where one condition is of one family: with both, a term for each in place of one."""
    if len(families) < 2:
        return policies

    def terms(term: Term) -> tuple[Term, ...]:
        if term.match.prefix_list is None:
            return (term,)
        return tuple(Term(f"{term.name}-{f}", replace(term.match, family=f), term.action) for f in sorted(families))

    return tuple(
        Policy(policy.name, tuple(made for term in policy.terms for made in terms(term))) for policy in policies
    )


def of_one_family(bgp: Bgp) -> Bgp:
    """The same; where the switch routes one family, no term says of which it is."""
    if len(bgp.families) > 1:
        return bgp
    policies = (
        Policy(policy.name, tuple(Term(t.name, replace(t.match, family=None), t.action) for t in policy.terms))
        for policy in bgp.policies
    )
    return replace(bgp, policies=tuple(policies))


def by_policy(bgp: Bgp) -> Bgp:
    """The same with sessions that have policies of their own in groups of their own, as routing looks at them."""
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
