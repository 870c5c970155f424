"""The BGP configuration of a switch, derived from the network: sessions by group, policies and address families."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.model.config.addresses import Address, Family, Prefix
from railweave.model.config.naming import named
from railweave.model.device.bgp_model import by_family
from railweave.model.device.management import Authentication
from railweave.model.device.model import Bgp, BgpGroup, Session, Term
from railweave.model.device.overlay import in_form, underlay_prefixes
from railweave.model.device.policy import (
    dci_policy,
    leaf_policy,
    spine_policy,
    super_spine_policy,
    with_dci,
    with_sites,
    with_super_spines,
)
from railweave.model.device.reading import own_type
from railweave.model.device.timers import Bfd

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.catalog.systems import System
    from railweave.model.device.policy import Form, RoutingPolicy
    from railweave.model.device.port_model import Interface
    from railweave.model.network.devices import Cable, End, Fabric, RoleName, Switch
    from railweave.model.network.model import Network

TIERS: tuple[RoleName, ...] = ("leaf", "spine", "super-spine", "dci")
COLORED: frozenset[RoleName] = frozenset({"leaf", "spine"})
"""The tiers whose links to each other have path colors (classes of paths that BGP keeps apart)."""

_PLURAL = {"leaf": "leaves", "spine": "spines", "super-spine": "super-spines", "dci": "routers of the interconnect"}


def bgp_config(
    network: Network,
    fabric: Fabric,
    switch: Switch,
    system: System,
    form: Form,
    ports: Sequence[tuple[Interface, tuple[End, End, Cable]]],
    *,
    large: bool,
) -> Bgp | None:
    """Return the BGP configuration of a switch, or None if no link needs a session.

    - ``form``: the BGP attributes that announce path colors, for example AIGP or communities.
    - ``ports``: the switch's cabled ports, each with (local end, far end, cable) from ``ends_of``.
    - ``large``: True if every switch of the fabric supports large communities.
    """
    links = [(port, both) for port, both in ports if port.kind == "fabric"]
    if not links:
        return None
    policy = _policy(network, fabric, switch, form, redistribute=system.policies == "route-maps")
    by_peer: dict[tuple[RoleName, int | None], list[Session]] = {}
    parallel = Counter([port.peer for port, _ in links])
    pools = {"leaf": fabric.leaf_asns, "spine": fabric.spine_asns, "super-spine": fabric.super_spine_asns or (0, 0)}
    pools["dci"] = fabric.dci_asns or (0, 0)
    asns: dict[RoleName, set[int]] = {}
    peers = {name: network.switch(name) for name in parallel}
    for peer in peers.values():
        asns.setdefault(peer.role, set()).add(peer.asn)
    colored = form != "none" and switch.role in COLORED
    for port, (end, far, cable) in links:
        peer = peers[far.device]
        session = Session(
            port.name,
            port.link,
            port.peer,
            peer.asn,
            Address(end.address) if end.address else None,
            Address(far.address) if far.address else None,
        )
        color = cable.color if colored and peer.role in COLORED else None
        by_peer.setdefault((peer.role, color), []).append(session)
    up = sum(1 for _, (end, _, cable) in links if cable.a is end)
    numbered = fabric.underlay.peering == "numbered"
    groups = tuple(
        _group(fabric, switch, form, policy, color, sessions, peer_role, None if numbered else f"{peer_role}-as")
        for (peer_role, color), sessions in sorted(
            by_peer.items(), key=lambda item: (TIERS.index(item[0][0]), item[0][1] or 0)
        )
    )
    as_lists = {
        f"{role}-as": (
            pools[role],
            *((asn, asn) for asn in sorted(numbers) if not pools[role][0] <= asn <= pools[role][1]),
        )
        for role, numbers in asns.items()
    }
    used = {name for group in groups for name in (group.import_policy, group.export_policy)} | {policy.redistribute}
    families = routed_families(network, switch)
    policies = tuple(candidate for candidate in policy.policies if candidate.name in used)
    policies = by_family(policies, families) if system.policies == "route-maps" else policies
    communities = policy.communities
    if system.policies == "route-maps":  # where others have named values, these have lists that route-maps look into
        named = {name for policy in policies for term in policy.terms for name in _communities(term)}
        communities = tuple(community for community in communities if community.name in named)
    return Bgp(
        asn=switch.asn,
        router_id=Address(switch.router_id),
        groups=groups,
        policies=policies,
        prefix_lists={name: _by_family(prefixes) for name, prefixes in policy.prefix_lists.items()},
        communities=in_form(communities, large=large),
        as_lists={} if numbered else as_lists,
        fabric_advertise=policy.fabric_advertise,
        redistribute_connected=policy.redistribute,
        default_accept=system.policies == "policy-statements",
        families=families,
        compare_aigp=form in {"dpf", "aigp"},
        maximum_ecmp=maximum_ecmp(fabric, system, max(up, *parallel.values())),
        bfd=own_type(Bfd, fabric.underlay.bfd) if fabric.underlay.bfd.enabled else None,
        graceful_restart=fabric.underlay.graceful_restart,
        ttl_security=fabric.underlay.ttl_security,
        authentication=own_type(Authentication, fabric.underlay.authentication)
        if fabric.underlay.authentication
        else None,
    )


def _by_family(prefixes: tuple[Prefix, ...]) -> tuple[Prefix, ...]:
    """Return the prefixes with all IPv4 prefixes first, because some systems have one list per address family."""
    return tuple(sorted(prefixes, key=lambda prefix: prefix.family))


def _communities(term: Term) -> Iterator[str]:
    """Yield the names of the communities that a policy term adds or matches."""
    yield from term.action.add_communities
    if term.match.community:
        yield term.match.community


def _policy(network: Network, fabric: Fabric, switch: Switch, form: Form, *, redistribute: bool) -> RoutingPolicy:
    """Return the routing policy of a switch: the routes that it advertises and accepts.

    ``form`` says which BGP attributes announce path colors. ``redistribute`` is True for systems with route-maps, where
    policies also decide which routes enter BGP.
    """
    if switch.role == "leaf":
        policy = leaf_policy(fabric, form, _own_prefixes(network, fabric, switch), redistribute=redistribute)
        return with_sites(policy) if fabric.interconnect and not fabric.dci else policy
    has_loopback = redistribute and fabric.overlay is not None
    if switch.role == "super-spine":
        return super_spine_policy(fabric, form, redistribute=has_loopback)
    if switch.role == "dci":
        return dci_policy(fabric, form)
    policy = spine_policy(fabric, form, redistribute=has_loopback)
    return with_super_spines(policy) if fabric.super_spine else with_dci(policy) if fabric.dci else policy


def _group(
    fabric: Fabric,
    switch: Switch,
    form: Form,
    policy: RoutingPolicy,
    color: int | None,
    sessions: Sequence[Session],
    peer_role: RoleName,
    as_list: str | None,
) -> BgpGroup:
    imported, exported = _policies_towards(switch.role, peer_role, policy, color)
    label = fabric.color_name(color) if color is not None else "underlay"
    return BgpGroup(
        name=named(fabric.naming.bgp_group, role=peer_role, color=label),
        description=f"{_PLURAL[peer_role]}, path color {label}" if color is not None else _PLURAL[peer_role],
        local_as=switch.asn,
        sessions=tuple(sessions),
        import_policy=imported,
        export_policy=exported,
        peer_as_list=as_list,
        fabric_color=label if form == "dpf" and color is not None else None,
        aigp=form == "dpf",
    )


def _policies_towards(role: RoleName, peer: RoleName, policy: RoutingPolicy, color: int | None) -> tuple[str, str]:
    """Return (name of the import policy, name of the export policy) for sessions from tier ``role`` to tier ``peer``.

    ``color`` is the path color of their links; None means no color.
    """
    if role == peer:
        return "from-sites", "to-sites"
    if peer == "super-spine":
        return "from-super-spines", "to-super-spines"
    if peer == "dci":
        return "from-dci", "to-dci"
    return policy.imports[color], policy.exports[color]


def maximum_ecmp(fabric: Fabric, system: System, width: int) -> int:
    """Return the maximum number of ECMP paths to configure.

    This is the number in the fabric file, if the file has one. Otherwise it is the smallest number that the system accepts and that is at
    least ``width``. If all accepted numbers are smaller than ``width``, the largest of them is returned.
    """
    asked = fabric.underlay.maximum_ecmp
    if asked is not None:
        return asked
    allowed = system.maximum_ecmp
    return next((value for value in allowed if value >= width), allowed[-1] if allowed else width)


def _own_prefixes(network: Network, fabric: Fabric, switch: Switch) -> dict[int | None, tuple[Prefix, ...]]:
    """Return the prefixes that a leaf originates in the underlay, by the index of the prefix's path color (None: no color).

    Without an overlay, these are the prefixes of servers. With an overlay, they are the addresses of the leaf's overlay sessions and
    tunnels.
    """
    if fabric.overlay is not None:
        return underlay_prefixes(fabric, switch)
    by_color: dict[int | None, tuple[Prefix, ...]] = {}
    for segment in network.segments_of(switch.name):
        for subnet in segment.subnets:
            by_color[subnet.color] = (*by_color.get(subnet.color, ()), Prefix(subnet.prefix))
    return by_color


def routed_families(network: Network, switch: Switch) -> tuple[Family, ...]:
    """Return the address families that a switch's underlay routes.

    With an overlay, this is the family of the tunnels; otherwise the families of the servers.
    """
    overlay = network.fabric(switch.fabric).overlay
    if overlay is not None:
        return (overlay.vtep,)
    return server_families(network, switch)


def server_families(network: Network, switch: Switch) -> tuple[Family, ...]:
    """Return the address families of the server prefixes of a switch's fabric."""
    fabric = network.fabric(switch.fabric)
    prefixes = [network.prefix for tenant in fabric.tenants for network in tenant.networks]
    there = {Prefix(prefix).family for prefix in prefixes} | network.families_of(fabric.name)
    families: tuple[Family, ...] = tuple(family for family in ("ipv4", "ipv6") if family in there)
    return families or ("ipv6",)


def ends_of(cable: Cable, device: str) -> tuple[End, End, Cable]:
    """Return (local end, far end, cable) of a cable, as seen from ``device``."""
    return (cable.a, cable.b, cable) if cable.a.device == device else (cable.b, cable.a, cable)
