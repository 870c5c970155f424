"""BGP of the fabric, out of what the lines have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS, FAMILIES, Address, Family, InterfaceAddress, Prefix
from railweave.model.device.bgp_model import JointPolicies, of_families, of_one_family, ways_to_one_as, with_bfd
from railweave.model.device.management import Authentication
from railweave.model.device.model import Action, Bgp, BgpGroup, Match, Policy, Session, Term
from railweave.model.device.port_model import neighbor_of
from railweave.systems.dell_sonic.words import agreed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from railweave.model.device.timers import Bfd
    from railweave.systems.dell_sonic.statements.bgp import Peer, Router
    from railweave.systems.dell_sonic.statements.ports import Lines
    from railweave.systems.frr.meaning.policy import Lists


NOWHERE = Address("0.0.0.0")  # noqa: S104 - no address to listen on
NETWORKS = "networks"
"""The policy and the prefix list that stand for ``network`` statements."""


@dataclass(frozen=True, slots=True)
class Links:
    """Interfaces by the networks that they are in: where a neighbor with an address is; and those of VRFs by name."""

    _by_network: dict[tuple[str, Prefix], tuple[str, Address]] = field(
        default_factory=dict[tuple[str, Prefix], tuple[str, Address]]
    )
    _lengths: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    _vrfs: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, interfaces: Collection[Lines]) -> Links:
        """Those of the interfaces that have addresses."""
        found: dict[tuple[str, Prefix], tuple[str, Address]] = {}
        lengths: dict[str, set[int]] = {}
        for one in interfaces:
            for own in (*one.addresses, *one.anycast):
                found.setdefault((one.vrf, own.prefix), (one.name, own.address))
                lengths.setdefault(one.vrf, set()).add(own.length)
        vrfs = {one.name: one.vrf for one in interfaces}
        return cls(found, {vrf: tuple(sorted(some, reverse=True)) for vrf, some in lengths.items()}, vrfs)

    def runs(self, router: Router, peer: Peer) -> bool:
        """Return whether a session is neither shut nor on an interface of a different VRF."""
        return not router.whole(peer).shut and self._vrfs.get(peer.interface or "", router.vrf) == router.vrf

    def of_neighbor(self, vrf: str, peer: Address) -> tuple[str, Address | None]:
        """The interface that a neighbor is on, and its own address there; nothing where it is on none."""
        for length in self._lengths.get(vrf, ()):
            if length <= BITS[peer.family]:
                found = self._by_network.get((vrf, InterfaceAddress(f"{peer}/{length}").prefix))
                if found is not None and found[1] != peer:
                    return found
        return "", None


def is_overlay(peer: Peer) -> bool:
    """Whether a peer is for EVPN's routes and no others."""
    active = {name for name, one in peer.families.items() if one.active}
    return (active or peer.families.keys()) == {"evpn"}


def bgp(router: Router, listed: Lists, links: Links, bfd: dict[str, Bfd], without: set[str]) -> Bgp:
    """The default instance without its overlay. ``without`` are route-maps that are not the underlay's."""
    members, joint = _members(router), JointPolicies()
    groups = list(_groups(router, links, joint))
    named = [bfd_of(router, members[group.name]) for group in groups]
    groups, watched = with_bfd(groups, [None if name is None else bfd.get(name) for name in named])
    under = [one for one in _watching(router) if not is_overlay(one)]
    policies = list(listed.policies(without))
    taken = {name for policy in without for one in listed.entries(policy) if (name := one.prefix_list)}
    used = {term.match.prefix_list for policy in policies for term in policy.terms}
    names = [name for name in listed.prefixes.names() if name in used or name not in taken]
    prefix_lists = {name: listed.prefixes.prefixes(name) for name in names}
    all_pass = (Term("", Match(), Action(accept=True)),)
    every = Policy("connected" if "connected" not in listed.maps else "all-connected", all_pass)
    by_family: dict[Family, str | None] = {}
    for family in FAMILIES:
        if family in router.unicast:
            name = router.redistributes.get(family)
            by_family[family] = every.name if name == "" else name
    redistributed, more = of_families(by_family, (*policies, every))
    policies += [every] if redistributed == every.name else more
    networks = tuple(network for family in router.unicast.values() for network in family.networks)
    if redistributed is None and networks:
        redistributed = NETWORKS
        prefix_lists[NETWORKS] = networks
        policies.append(Policy(NETWORKS, (Term("", Match(prefix_list=NETWORKS), Action(accept=True)),)))
    passing = Policy("", all_pass)  # without a route-map all routes pass
    policies += joint.policies((*policies, passing))
    if any("" in {one.import_policy, one.export_policy} for one in groups):
        policies.append(passing)
    keys = [one.password for one in _watching(router)]
    width = min((f.maximum_paths for f in router.unicast.values() if f.maximum_paths is not None), default=1)
    made = Bgp(
        asn=router.asn,
        router_id=router.router_id or NOWHERE,
        groups=groups,
        policies=tuple(policies),
        prefix_lists=prefix_lists,
        communities=listed.named(policies),
        as_lists={},
        fabric_advertise=(),
        redistribute_connected=redistributed,
        default_accept=False,
        compare_aigp=False,
        families=tuple(family for family in FAMILIES if family in router.unicast),
        maximum_ecmp=width if router.relaxed else ways_to_one_as(groups, width),
        bfd=watched,
        graceful_restart=router.graceful_restart,
        ttl_security=bool(under) and all(one.ttl_security for one in under),
        authentication=Authentication(keys[0]) if agreed(keys) and keys[0] else None,
        entry_lists=listed.prefixes.entry_lists(names),
    )
    return of_one_family(made)


def _watching(router: Router) -> Iterator[Peer]:
    """Groups, and neighbors that have something of their own: who says how sessions are watched and keyed."""
    yield from router.groups.values()
    for one in router.neighbors:
        alone = one.group not in router.groups and bool(one.families)
        if alone or one.bfd is not None or one.password or one.ttl_security:
            yield router.whole(one)


def is_watched_alike(router: Router) -> bool:
    """Return whether the sessions of each group, and those of the overlay, have the same BFD profile or no profile."""
    groups = _members(router).values()
    overlay = {one.bfd for one in _watching(router) if is_overlay(one)}
    return len(overlay) <= 1 and all(len({one.bfd for one in _whole(router, some)}) == 1 for some in groups)


def bfd_of(router: Router, members: list[Peer]) -> str | None:
    """The BFD profile of a group's sessions; None if they have none, or not all the same."""
    found = {one.bfd for one in _whole(router, members)}
    return found.pop() if len(found) == 1 else None


def _members(router: Router) -> dict[str, list[Peer]]:
    """Neighbors by their group; those without one by themselves."""
    members: dict[str, list[Peer]] = {name: [] for name in router.groups}
    for one in router.neighbors:
        members.setdefault(one.group if one.group in router.groups else one.title, []).append(one)
    return {name: some or [router.groups[name]] for name, some in members.items()}


def _whole(router: Router, peers: Iterable[Peer]) -> Iterator[Peer]:
    """Neighbors with the settings of their groups; groups as they are."""
    return (one if one.name is not None else router.whole(one) for one in peers)


def _groups(router: Router, links: Links, joint: JointPolicies) -> Iterator[BgpGroup]:
    """Yield the groups of sessions. Route-maps that differ between families go into ``joint``."""
    for name, members in _members(router).items():
        some = [one for one in members if one.name is None]
        group = router.groups.get(name) or some[0]
        whole = router.whole(some[0]) if some else group
        if name not in router.groups and not whole.families:  # it exchanges nothing
            continue
        if is_overlay(group if name in router.groups else whole):
            continue
        families = {**group.families, **whole.families}
        unicast = {family: families[family] for family in FAMILIES if family in families}
        unicast = {family: one for family, one in unicast.items() if one.active} or unicast
        imports: dict[Family, str | None] = {
            family: unicast[family].imports for family in FAMILIES if family in unicast
        }
        exports: dict[Family, str | None] = {
            family: unicast[family].exports for family in FAMILIES if family in unicast
        }
        active = any(one.active for one in families.values())
        yield BgpGroup(
            name=name,
            description=group.description if name in router.groups else "",
            local_as=group.local_as or router.asn,
            sessions=tuple(_session(router.whole(one), links) for one in some if links.runs(router, one))
            if active
            else (),
            import_policy=joint.name(imports) or "",
            export_policy=joint.name(exports) or "",
            peer_as_list=None,
        )


def _session(one: Peer, links: Links) -> Session:
    interface, local = (one.interface or "", None) if one.address is None else links.of_neighbor("", one.address)
    return Session(interface, "", neighbor_of(one.description), one.asn or 0, local, one.address)
