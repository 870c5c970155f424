"""Derivation of the default VRF's routing: groups of BGP sessions with their policies, and the routes that the device originates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from railweave.model.config.addresses import FAMILIES, Address, Family
from railweave.model.config.sections import select
from railweave.model.device import model
from railweave.model.device.bgp_model import (
    NOTHING,
    JointPolicies,
    of_families,
    of_one_family,
    ways_to_one_as,
    with_bfd,
)
from railweave.model.device.management import Authentication
from railweave.model.device.port_model import far_end, neighbor_of
from railweave.model.device.timers import Bfd
from railweave.systems.frr.read.text import address
from railweave.systems.frr.statements import unprinted
from railweave.systems.frr.statements.bgp import INTERNAL

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.sections import SectionReader, SelectedLine
    from railweave.systems.frr.meaning.policy import Lists
    from railweave.systems.frr.meaning.ports import Subnets, WithSubnets
    from railweave.systems.frr.statements.bgp import AddressFamily, Peer, Router


ANY = "(any)"
"""The name of a policy that accepts everything, for sessions that have no route-map and need none. No route-map can have this name."""

NETWORKS = "(networks)"
"""The common name of two objects: a prefix list with the prefixes of ``network`` statements, and a policy that accepts these prefixes."""


def default() -> Bfd:
    """Return FRR's default BFD timers, which apply if no statement sets them."""
    return Bfd(minimum_interval=unprinted("bgp.bfd.minimum_interval"), multiplier=unprinted("bgp.bfd.multiplier"))


UNKNOWN = Address("0.0.0.0")  # noqa: S104 - no program listens on it: it represents an unknown address


@dataclass(frozen=True)
class Syntax:
    """The differences between systems that share FRR's routing statements.

    - ``nos``: the name of the system. Its ``system.yaml`` has the defaults of values that no statement sets.
    - ``bfd``: the patterns of lines about BFD, with the neighbor or group as ``name``.
    - ``exports``: the pattern of lines that apply a route-map to sent EVPN routes.
    - ``imports``: the pattern of lines that apply a route-map (``map``) to received EVPN routes.

    A pattern is a tuple: the headers around the line, then the line.
    """

    nos: str
    bfd: tuple[tuple[str, ...], ...]
    exports: tuple[str, ...]
    imports: tuple[str, ...] = ()


def statements_of(router: Router, reader: SectionReader, *forms: str) -> Iterator[SelectedLine]:
    """Yield the lines of the BGP instance ``router`` that match the patterns ``forms``, without marking these lines as understood.

    ``reader`` has the lines of the configuration.
    """
    wanted = ["vrf", router.vrf] if router.vrf else []
    for line in select(reader.sections, "router bgp **", *forms):
        if line.chain[0].line.split()[3:] == wanted:
            yield line


class Sessions:
    """The sessions of a BGP instance, with functions that return what ``DeviceConfig`` contains about them.

    ``open_`` is True if external sessions without a route-map pass every route.
    """

    neighbor_of = staticmethod(neighbor_of)
    far_end = staticmethod(far_end)

    def __init__(
        self,
        here: Router,
        ports: Mapping[str, WithSubnets],
        subnets: Subnets,
        profiles: Mapping[str, Bfd],
        syntax: Syntax,
        *,
        open_: bool,
    ) -> None:
        self.here, self._ports, self._subnets, self._profiles = here, ports, subnets, profiles
        self._open, self.syntax = open_, syntax
        self.joint = JointPolicies()

    @cached_property
    def peers(self) -> tuple[Peer, ...]:
        """The neighbors whose session is in use; empty if the instance is shut down.

        Left out are neighbors that are shut down, and neighbors on an interface of a different VRF.
        """
        if self.here.shut:
            return ()
        vrf = self.here.vrf
        return tuple(
            peer
            for peer in self.here.peers
            if not peer.shut and (peer.name not in self._ports or self._ports[peer.name].vrf == vrf)
        )

    def unicast(self, peer: Peer) -> list[Family]:
        """Return the unicast address families (IPv4, IPv6) whose routes the session with ``peer`` carries."""
        return [family for family in FAMILIES if self.here.is_active(peer, family)]

    def evpn(self, peer: Peer) -> bool:
        """Return True if the session with ``peer`` carries EVPN routes."""
        return self.here.is_active(peer, "evpn")

    def peer_as(self, peer: Peer) -> int:
        """Return the AS number of the neighbor ``peer``. 0 means any number that differs from the AS number of the device."""
        return self.here.asn if peer.asn == INTERNAL else peer.asn or 0

    def ports(self) -> set[str]:
        """Return the names of interfaces with a neighbor, even if the session is shut down."""
        shut = (self._on_link(peer) for peer in self.here.peers if peer.name not in self.links)
        return {session.interface for session in (*self.links.values(), *shut)} - {""}

    @cached_property
    def links(self) -> dict[str, model.Session]:
        """The session on the link to each neighbor in ``peers``, by neighbor name. A session has an interface and addresses."""
        return {peer.name: self._on_link(peer) for peer in self.peers}

    def _on_link(self, peer: Peer) -> model.Session:
        at, asn, named = address(peer.name), self.peer_as(peer), self.neighbor_of(peer.description)
        link = self._subnets.port(at, self.here.vrf) if at else None
        port = link[0] if link else None if at else self._ports.get(peer.name)
        far = named or (self.far_end(port.description)[0] if port else "")
        if at is None:
            return model.Session(peer.name, "", far, asn, None, None)
        return model.Session(port.name if port else "", "", far, asn, link[1].address if link else None, at)

    def numbered(self, peer: Peer) -> model.NumberedSession | None:
        """Return the session with ``peer`` between loopbacks as ``DeviceConfig`` has it, or None if the neighbor has no address."""
        at = address(peer.name)
        if at is None:
            return None
        return model.NumberedSession(
            "", "", self.neighbor_of(peer.description), self.peer_as(peer), self.source(peer), at
        )

    def source(self, peer: Peer) -> Address:
        """Return the local address of the session with ``peer``.

        This is the address of ``update_source`` or, if that is not set, the address on the link to the neighbor. If neither
        exists, ``UNKNOWN`` is returned.
        """
        named, at = self._ports.get(peer.update_source), address(peer.name)
        of_port = next((port_address.address for port_address in named.addresses), None) if named else None
        link = self._subnets.port(at, self.here.vrf) if at else None
        return address(peer.update_source) or of_port or (link[1].address if link else UNKNOWN)

    def reaches(self, peer: Peer) -> bool:
        """Return True if the session with ``peer`` can come up.

        The neighbor must be directly connected or in the same AS. Otherwise, ``hops`` must be set, so that the neighbor may be several hops
        away.
        """
        at = address(peer.name)
        near = at is not None and self._subnets.port(at, self.here.vrf) is not None
        return near or self.peer_as(peer) == self.here.asn or peer.hops is not None

    def exports(self, peer: Peer, family: AddressFamily) -> str | None:
        """Return the name of the route-map for routes of a family that are sent over the session with ``peer``, or None if there is none."""
        return next((level.exports for level in self.here.within(peer, family) if level.exports), None)

    def policies(self, peer: Peer) -> tuple[str, str]:
        """Return the names (import policy, export policy) of the session with ``peer``.

        If the address families of the session have different route-maps, one policy combines them.
        """
        without = ANY if self._open or self.peer_as(peer) == self.here.asn else NOTHING
        imports: dict[Family, str | None] = {}
        exports: dict[Family, str | None] = {}
        for family in self.unicast(peer):
            levels = self.here.within(peer, family)
            imports[family] = next((level.imports for level in levels if level.imports), without)
            exports[family] = self.exports(peer, family) or without
        return self.joint.name(imports) or NOTHING, self.joint.name(exports) or NOTHING

    def bfd(self, peer: Peer) -> Bfd | None:
        """Return the BFD timers of the session with ``peer``, or None if the session does not use BFD."""
        if peer.profile is None and not peer.bfd:
            return None
        return self._profiles.get(peer.profile or "") or default()

    def key(self, peer: Peer) -> Authentication | None:
        """Return the password of the session with ``peer`` as an ``Authentication``, or None if it has no password."""
        return Authentication(peer.password) if peer.password else None

    def underlay(self) -> list[Peer]:
        """Return the neighbors of the underlay: all neighbors except those that exchange only EVPN routes."""
        return [peer for peer in self.peers if self.unicast(peer) or not self.evpn(peer)]

    def families(self, peers: Sequence[Peer]) -> tuple[Family, ...]:
        """Return the unicast families whose routes the sessions with ``peers`` carry.

        If ``peers`` is empty, return the families of the instance.
        """
        used = {family for peer in peers for family in self.unicast(peer)}
        return tuple(family for family in FAMILIES if family in used or (not peers and family in self.here.unicast))

    def common_bfd(self, peers: Collection[Peer], reader: SectionReader) -> Bfd | None:
        """Return the BFD timers that the sessions with ``peers`` share, or None if they differ or do not use BFD.

        If the sessions differ, their lines about BFD are marked as not understood. ``reader`` has the lines of the configuration.
        """
        watched = {self.bfd(peer) for peer in peers}
        if len(watched) == 1:
            return watched.pop()
        self.mark_bfd_unknown({name for peer in peers for name in (peer.name, peer.group)}, reader)
        return None

    def statements(self, reader: SectionReader, *forms: str) -> Iterator[SelectedLine]:
        """Yield the lines of the BGP instance that match the patterns ``forms``, without marking these lines as understood.

        ``reader`` has the lines of the configuration.
        """
        return statements_of(self.here, reader, *forms)

    def mark_bfd_unknown(self, names: Container[str | None], reader: SectionReader) -> None:
        """Mark the lines about BFD of the neighbors and groups ``names`` as not understood. ``reader`` has the lines of the configuration."""
        for forms in self.syntax.bfd:
            for line in self.statements(reader, *forms):
                if line["name"].removeprefix("interface ") in names:
                    reader.mark_unknown(line)


def bgp(sessions: Sessions, policies: Lists, reader: SectionReader, without: Collection[str]) -> model.Bgp:
    """Return the BGP configuration of the default VRF, whose sessions are ``sessions``, as ``DeviceConfig`` has it.

    ``without`` are the names of route-maps to leave out, because only the overlay and VRFs use them. ``policies`` has the prefix lists and
    route-maps, and ``reader`` the lines of the configuration.
    """
    here = sessions.here
    on_links = sessions.underlay()
    groups, bfd = with_bfd(*_groups(sessions, on_links, reader))
    read_policies = policies.policies(without)
    families = sessions.families(on_links)
    connected, more = _originated(here, read_policies, families)
    named = {name for group in groups for name in (group.import_policy, group.export_policy)}
    accepted = model.Policy(ANY, (model.Term(ANY, model.Match(), model.Action(accept=True)),))
    nothing = model.Policy(NOTHING, (model.Term(NOTHING, model.Match(), model.Action(accept=False)),))
    known = (*read_policies, accepted, nothing)
    joined = sessions.joint.policies(known)
    read_policies = (
        *read_policies,
        *more,
        *joined,
        *(policy for policy in (accepted, nothing) if policy.name in named),
    )
    used = dict.fromkeys(name for policy in read_policies for term in policy.terms if (name := term.match.prefix_list))
    elsewhere = {entry.prefix_list for name in without for entry in policies.entries(name)}
    unused = (name for name in policies.prefixes.names() if name not in elsewhere and name[0] != "(")
    names = [*used, *(name for name in unused if name not in used)]
    lists = {name: policies.prefixes.prefixes(name) for name in names}
    networks = tuple(dict.fromkeys(prefix for family in here.unicast.values() for prefix in family.networks))
    width = min(_widths(sessions, on_links), default=unprinted("bgp.maximum_ecmp", sessions.syntax.nos))
    keys = {sessions.key(peer) for peer in on_links}
    made = model.Bgp(
        asn=here.asn,
        router_id=here.router_id or UNKNOWN,
        groups=groups,
        policies=read_policies,
        prefix_lists={**lists, NETWORKS: networks} if networks else lists,
        communities=policies.named(read_policies),
        as_lists={},
        fabric_advertise=(),
        redistribute_connected=connected,
        default_accept=False,
        compare_aigp=here.compare_aigp,
        families=families,
        maximum_ecmp=width if here.relaxed else ways_to_one_as(groups, width),
        bfd=bfd,
        graceful_restart=here.graceful_restart,
        ttl_security=bool(on_links) and all(peer.ttl_security for peer in on_links),
        authentication=keys.pop() if len(keys) == 1 else None,
        entry_lists=policies.prefixes.entry_lists(names),
    )
    return of_one_family(made)


def _widths(sessions: Sessions, peers: Iterable[Peer]) -> list[int]:
    """Return the configured maximum numbers of equal-cost paths: one for each address family and for each kind of session (internal, external).

    Only the kinds of the sessions with ``peers`` count. Numbers that no statement sets are left out.
    """
    inside = {sessions.peer_as(peer) == sessions.here.asn for peer in peers} or {False}
    families = sessions.here.unicast.values()
    widths = [family.inner_paths if way else family.maximum_paths for family in families for way in inside]
    return [width for width in widths if width]


def _groups(
    sessions: Sessions, peers: Iterable[Peer], reader: SectionReader
) -> tuple[list[model.BgpGroup], list[Bfd | None]]:
    """Return (peer groups with their sessions, in the order of the text; the BFD timers of each group).

    A session whose policies or local AS number differ from those of its group becomes a separate group. ``reader`` has the lines of the
    configuration.
    """
    here = sessions.here
    order = {name: place for place, name in enumerate(here.neighbors)}
    groups: dict[str, model.BgpGroup] = {}
    members: dict[str, list[Peer]] = {}
    for peer in peers:
        imports, exports = sessions.policies(peer)
        local, name = peer.local_as or here.asn, peer.group or peer.name
        stands = groups.get(name)
        if stands and (stands.import_policy, stands.export_policy, stands.local_as) != (imports, exports, local):
            name = peer.name
            stands = groups.get(name)
        if stands is None:
            about = here.neighbors[peer.group or name].description
            stands = model.BgpGroup(name, about, local, (), imports, exports, peer_as_list=None)
        groups[name] = replace(stands, sessions=(*stands.sessions, sessions.links[peer.name]))
        members.setdefault(name, []).append(peer)
    names = sorted(groups, key=lambda name: order[name])
    return [groups[name] for name in names], [sessions.common_bfd(members[name], reader) for name in names]


def _originated(
    here: Router, known: Sequence[model.Policy], routed: Sequence[Family]
) -> tuple[str | None, tuple[model.Policy, ...]]:
    """Return (name of a policy, policies to add) for the BGP instance ``here``. The policy selects the device's own routes to originate.

    The policy accepts the connected routes that ``redistribute`` selects, and the prefixes of ``network`` statements. Policies are
    added if no route-map of the configuration has this effect. ``known`` are the policies from route-maps, ``routed`` the address families
    of the sessions.
    """
    everything = model.Policy(ANY, (model.Term(ANY, model.Match(), model.Action(accept=True)),))
    names: dict[Family, str | None] = {}
    for family in routed or here.unicast:
        name = here.unicast[family].redistributes if family in here.unicast else None
        names[family] = ANY if name == "" else name
    name, more = of_families(names, (*known, everything))
    if name == ANY:
        more = (everything,)
    if not any(family.networks for family in here.unicast.values()):
        return name, more
    listed = model.Term(NETWORKS, model.Match(prefix_list=NETWORKS), model.Action(accept=True))
    terms = next((policy.terms for policy in (*more, *known) if policy.name == name), ())
    return NETWORKS, (model.Policy(NETWORKS, (listed, *terms)),)
