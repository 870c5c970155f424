"""The default VRF's routing: groups of BGP sessions with their policies, and what is originated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import FAMILIES, Address, Family
from railweave.model.device import model
from railweave.model.device.bgp_model import JointPolicies, of_families, of_one_family, ways_to_one_as, with_bfd
from railweave.model.device.management import Authentication
from railweave.model.device.port_model import far_end, neighbor_of
from railweave.model.device.timers import Bfd
from railweave.systems.frr.read.bgp import EVPN, INTERNAL, Instance, Neighbor
from railweave.systems.frr.read.text import address
from railweave.systems.frr.statements.words import unprinted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.sections import SectionReader
    from railweave.systems.frr.meaning.policy import Lists
    from railweave.systems.frr.meaning.ports import Subnets
    from railweave.systems.frr.statements.ports import Port


ANY, NOTHING = "(any)", "(nothing)"
"""Names of what is accepted where a session has no route-map: everything, or nothing. No route-map can be called so."""

NETWORKS = "(networks)"
"""The prefix list, and the policy, of what ``network`` statements originate."""


def default() -> Bfd:
    """The timers where a profile does not say."""
    return Bfd(minimum_interval=unprinted("bgp.bfd.minimum_interval"), multiplier=unprinted("bgp.bfd.multiplier"))


UNKNOWN = Address("0.0.0.0")  # noqa: S104 - nothing listens there: it stands for an address that is not said


class Sessions:
    """The sessions of an instance, with what each has of its peer group."""

    def __init__(
        self, here: Instance, ports: Mapping[str, Port], subnets: Subnets, profiles: Mapping[str, Bfd], *, open_: bool
    ) -> None:
        self.here, self._ports, self._subnets, self._profiles = here, ports, subnets, profiles
        self._open = open_
        """Whether a session without a route-map passes everything."""
        self.joint = JointPolicies()

    def peers(self) -> Iterator[tuple[Neighbor, Neighbor | None]]:
        """Neighbors that are not shut, nor on an interface of another VRF, each with its peer group."""
        for one in self.here.peers():
            group = self.here.group_of(one)
            port = self._ports.get(one.name)
            elsewhere = port is not None and port.vrf != self.here.vrf
            if not (one.shut or elsewhere or (group and group.shut)):
                yield one, group

    def unicast(self, one: Neighbor) -> list[Family]:
        """The unicast families of a session."""
        return [family for family in FAMILIES if self.here.active(one, family)]

    def evpn(self, one: Neighbor) -> bool:
        """Whether EVPN routes go over a session."""
        return self.here.evpn and self.here.active(one, EVPN)

    def peer_as(self, one: Neighbor) -> int:
        """The AS number of a neighbor; 0: any other."""
        group = self.here.group_of(one)
        said = one.peer_as if one.peer_as is not None else group.peer_as if group else None
        return self.here.asn if said == INTERNAL else said or 0

    def session(self, one: Neighbor) -> model.Session:
        """A session on a link: its interface and addresses."""
        at = address(one.name)
        if at is None:
            port = self._ports.get(one.name)
            peer = neighbor_of(one.description or "") or (far_end(port.description)[0] if port else "")
            return model.Session(one.name, "", peer, self.peer_as(one), None, None)
        found = self._subnets.port(at, self.here.vrf)
        name, local = (found[0].name, found[1].address) if found else ("", None)
        peer = neighbor_of(one.description or "") or (far_end(found[0].description)[0] if found else "")
        return model.Session(name, "", peer, self.peer_as(one), local, at)

    def numbered(self, one: Neighbor) -> model.NumberedSession | None:
        """A session from a loopback; None where the neighbor has no address."""
        at = address(one.name)
        return (
            model.NumberedSession("", "", neighbor_of(one.description or ""), self.peer_as(one), self.source(one), at)
            if at
            else None
        )

    def source(self, one: Neighbor) -> Address:
        """The address that a session comes from: of the link to the neighbor, where the text leaves that to the way it goes."""
        group = self.here.group_of(one)
        text = one.source or (group.source if group else None) or ""
        named = self._ports.get(text)
        at = address(text)
        of_port = next((own.address for own in named.addresses), None) if named else None
        peer = address(one.name)
        link = self._subnets.port(peer, self.here.vrf) if peer else None
        return at or of_port or (link[1].address if link else UNKNOWN)

    def reaches(self, one: Neighbor) -> bool:
        """Whether a session can come up: over several hops only where that is said, or within an AS (RFC 4271, section 8)."""
        at, group = address(one.name), self.here.group_of(one)
        inside = self.peer_as(one) == self.here.asn
        near = at is not None and self._subnets.port(at, self.here.vrf) is not None
        return inside or near or one.multihop or bool(group and group.multihop)

    def policies(self, one: Neighbor) -> tuple[str, str]:
        """The policies of a session, in and out. One name stands for route-maps that differ between its families."""
        group = self.here.group_of(one)
        without = ANY if self._open or self.peer_as(one) == self.here.asn else NOTHING
        imports: dict[Family, str | None] = {}
        exports: dict[Family, str | None] = {}
        for family in self.unicast(one):
            said = [level.families[family] for level in (one, group) if level and family in level.families]
            imports[family] = next((level.imports for level in said if level.imports), without)
            exports[family] = next((level.exports for level in said if level.exports), without)
        return self.joint.name(imports) or NOTHING, self.joint.name(exports) or NOTHING

    def bfd(self, one: Neighbor) -> Bfd | None:
        """BFD of a session."""
        group = self.here.group_of(one)
        said = one.bfd if one.bfd is not None else group.bfd if group else None
        if said is None or not isinstance(said, str):
            return said
        return self._profiles.get(said) or default()

    def common_bfd(self, peers: Collection[Neighbor], taking: SectionReader) -> Bfd | None:
        """BFD that all of these sessions have; where only some have it, their lines are not understood."""
        found = {self.bfd(one) for one in peers}
        if len(found) == 1:
            return found.pop()
        self.leave_bfd(peers, taking)
        return None

    def leave_bfd(self, peers: Iterable[Neighbor], taking: SectionReader) -> None:
        """Give back what is said of BFD for these sessions."""
        for one in peers:
            for level in (one, self.here.group_of(one)):
                for line in level.bfd_lines if level else ():
                    taking.leave(line)


def bgp(sessions: Sessions, policies: Lists, taking: SectionReader, without: Collection[str]) -> model.Bgp:
    """The BGP configuration. ``without`` are route-maps that are for something else."""
    here = sessions.here
    on_links = [one for one, _ in sessions.peers() if sessions.unicast(one) or not sessions.evpn(one)]
    groups, bfd = with_bfd(*_groups(sessions, on_links, taking))
    found = policies.policies(without)
    families = _families(sessions, on_links)
    connected, more = _originated(here, found, families)
    named = {name for group in groups for name in (group.import_policy, group.export_policy)}
    accepted = model.Policy(ANY, (model.Term(ANY, model.Match(), model.Action(accept=True)),))
    nothing = model.Policy(NOTHING, (model.Term(NOTHING, model.Match(), model.Action(accept=False)),))
    known = (*found, accepted, nothing)
    joined = sessions.joint.policies(known)
    found = (*found, *more, *joined, *(one for one in (accepted, nothing) if one.name in named))
    used = [term.match.prefix_list for policy in found for term in policy.terms]
    lists = {name: policies.prefixes.prefixes(name) for name in dict.fromkeys(used) if name is not None}
    networks = tuple(dict.fromkeys(one for family in here.families.values() for one in family.networks))
    levels = [level for one in on_links for level in (one, here.group_of(one)) if level]
    width = min(_widths(sessions, on_links), default=unprinted("bgp.maximum_ecmp"))
    keys = {one.key or (group.key if (group := here.group_of(one)) else None) for one in on_links}
    made = model.Bgp(
        asn=here.asn,
        router_id=here.router_id or UNKNOWN,
        groups=groups,
        policies=found,
        prefix_lists={**lists, NETWORKS: networks} if networks else lists,
        communities=policies.named(found),
        as_lists={},
        fabric_advertise=(),
        redistribute_connected=connected,
        default_accept=False,
        compare_aigp=here.compare_aigp,
        families=families,
        maximum_ecmp=width if here.relaxed else ways_to_one_as(groups, width),
        bfd=bfd,
        graceful_restart=here.restart,
        ttl_security=bool(on_links) and all(_one_hop(here, one) for one in on_links),
        authentication=Authentication(key) if len(keys) == 1 and (key := keys.pop()) and levels else None,
        entry_lists=policies.prefixes.entry_lists(used),
    )
    return of_one_family(made)


def _widths(sessions: Sessions, peers: Iterable[Neighbor]) -> list[int]:
    """The paths that families allow: over sessions within the AS, or over those with others."""
    inside = {sessions.peer_as(peer) == sessions.here.asn for peer in peers} or {False}
    families = sessions.here.families.values()
    widths = [family.inner_width if way else family.width for family in families for way in inside]
    return [width for width in widths if width]


def _one_hop(here: Instance, one: Neighbor) -> bool:
    group = here.group_of(one)
    return one.one_hop or (group is not None and group.one_hop)


def _families(sessions: Sessions, peers: Sequence[Neighbor]) -> tuple[Family, ...]:
    used = {family for one in peers for family in sessions.unicast(one)}
    return tuple(family for family in FAMILIES if family in used or (not peers and family in sessions.here.families))


def _groups(
    sessions: Sessions, peers: Iterable[Neighbor], taking: SectionReader
) -> tuple[list[model.BgpGroup], list[Bfd | None]]:
    """Peer groups with their sessions, in the order of the text, and BFD of each; sessions with policies of their own stand by themselves."""
    here = sessions.here
    order = {name: place for place, name in enumerate(here.neighbors)}
    found: dict[str, model.BgpGroup] = {}
    first: dict[str, int] = {}
    members: dict[str, list[Neighbor]] = {}
    for one in peers:
        group = here.group_of(one)
        imports, exports = sessions.policies(one)
        local = one.local_as or (group.local_as if group else None) or here.asn
        name = group.name if group else one.name
        stands = found.get(name)
        if stands and (stands.import_policy, stands.export_policy, stands.local_as) != (imports, exports, local):
            name = one.name
            stands = found.get(name)
        if stands is None:
            about = (group.description if group else one.description) or ""
            stands = model.BgpGroup(name, about, local, (), imports, exports, peer_as_list=None)
            first[name] = order[group.name if group and name == group.name else one.name]
        found[name] = replace(stands, sessions=(*stands.sessions, sessions.session(one)))
        members.setdefault(name, []).append(one)
    names = sorted(found, key=lambda name: first[name])
    return [found[name] for name in names], [sessions.common_bfd(members[name], taking) for name in names]


def _originated(
    here: Instance, known: Sequence[model.Policy], routed: Sequence[Family]
) -> tuple[str | None, tuple[model.Policy, ...]]:
    """The policy by which connected routes are originated, and policies that stand for what has no route-map.

    A ``network`` statement is a connected route that is originated whatever else is. Each routed family has its own statements.
    """
    everything = model.Policy(ANY, (model.Term(ANY, model.Match(), model.Action(accept=True)),))
    names: dict[Family, str | None] = {}
    for family in routed or here.families:
        name = here.families[family].connected if family in here.families else None
        names[family] = ANY if name == "" else name
    name, more = of_families(names, (*known, everything))
    if name == ANY:
        more = (everything,)
    if not any(one.networks for one in here.families.values()):
        return name, more
    listed = model.Term(NETWORKS, model.Match(prefix_list=NETWORKS), model.Action(accept=True))
    terms = next((one.terms for one in (*more, *known) if one.name == name), ())
    return NETWORKS, (model.Policy(NETWORKS, (listed, *terms)),)
