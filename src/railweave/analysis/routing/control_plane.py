"""The converged control plane, computed from device configurations. This module computes BGP; ``isis`` computes IS-IS and OSPF.

The computation is a synchronous path-vector protocol: devices exchange whole tables until nothing changes. Tables and
decisions are cached, so that the work grows with the number of different tables and decisions. Routes are chosen by the
decision process of RFC 4271 section 9.1 with:

- AIGP (RFC 7311) after local preference,
- multipath over different AS paths of equal length (``multipath multiple-as``, ``bestpath as-path multipath-relax``),
- the rules of BGP deterministic path forwarding (docs/load-balancing.md).

If several best routes are equal, the route of the first session in configuration order is advertised further. Real
routers choose by router IDs and addresses instead. In these fabrics, that changes no preferred next hop.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from railweave.analysis.routing import candidates
from railweave.analysis.routing.attributes import NONE, AttributeTable
from railweave.analysis.routing.decisions import Decisions, rules_of
from railweave.analysis.routing.forwarding import Groups, Pattern, forwarding
from railweave.analysis.routing.isis import isis_fibs
from railweave.analysis.routing.overlay import OverlayPlane, tenant_prefixes
from railweave.analysis.routing.policy import PolicyEngine
from railweave.analysis.routing.table import Fib, ReceivedPrefixes, Routes, empty_fib
from railweave.errors import InputError, NetworkPart, Problem, UnsettledError
from railweave.model.device.bgp_model import by_policy
from railweave.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.analysis.routing.attributes import Attributes, Mask
    from railweave.analysis.routing.candidates import Advertisements, Candidates
    from railweave.model.device.model import BgpGroup, DeviceConfig, Session
    from railweave.model.network.model import Network


def without_shut_ports(config: DeviceConfig) -> DeviceConfig:
    """Return the configuration without ports that are shut down, and without BGP sessions and IS-IS on their links."""
    shut = {interface.link for interface in config.interfaces if not interface.enabled}
    if not shut:
        return config
    bgp = config.bgp and replace(
        config.bgp,
        groups=tuple(
            replace(group, sessions=tuple(session for session in group.sessions if session.link not in shut))
            for group in config.bgp.groups
        ),
    )
    return replace(
        config,
        interfaces=tuple(interface for interface in config.interfaces if interface.enabled),
        bgp=bgp,
        isis=config.isis
        and replace(config.isis, ports=tuple(port for port in config.isis.ports if port.link not in shut)),
        ospf=config.ospf
        and replace(config.ospf, ports=tuple(port for port in config.ospf.ports if port.link not in shut)),
        vrfs=tuple(
            replace(vrf, external=tuple(peer for peer in vrf.external if peer.session.link not in shut))
            for vrf in config.vrfs
        ),
    )


def unlike_links(configs: Iterable[DeviceConfig]) -> frozenset[str]:
    """Return the links whose ends differ in speed or in forward error correction. Such links do not come up."""
    ends: dict[str, tuple[int, str]] = {}
    unlike: set[str] = set()
    for config in configs:
        for interface in config.interfaces:
            link, end = interface.link, (interface.speed_gbps, interface.fec)
            if link and interface.speed_gbps and ends.setdefault(link, end) != end:
                unlike.add(link)
    return frozenset(unlike)


class ReceivingGroup(NamedTuple):
    """The BGP group in which the receiving device has a session. ``place`` is the group's index in the configuration.

    ``aigp`` is True if the neighbor sends this attribute. ``looped`` is True if the neighbor has the device's own AS
    number.
    """

    place: int
    aigp: bool
    looped: bool


class Peer(NamedTuple):
    """A session as seen by the device that receives routes on it.

    - ``device``: the neighbor.
    - ``row``: the index of the session among the sessions of the receiving device.
    - ``via``: the receiving group.
    - ``sender``: (neighbor, index of the neighbor's group that sends).
    - ``far_as`` and ``own_as``: the AS numbers of the neighbor and of the receiving device.
    """

    session: Session
    device: str
    row: int
    via: ReceivingGroup
    sender: tuple[str, int]
    far_as: int
    own_as: int


class _Side:
    """One end of BGP sessions: a device with one of its groups, and the AS numbers that the group accepts."""

    def __init__(self, config: DeviceConfig, place: int, group: BgpGroup) -> None:
        self.config = config
        self.group = group
        self.sender = (config.name, place)
        self._accepted: dict[int, bool] = {}

    def accepts(self, session: Session, asn: int) -> bool:
        """Return True if the device accepts the neighbor's AS number ``asn`` on a session of the group."""
        if self.group.peer_as_list is None:
            return session.peer_as == asn
        accepted = self._accepted.get(asn)
        if accepted is None:
            bgp = self.config.bgp
            ranges = bgp.as_lists.get(self.group.peer_as_list, ()) if bgp else ()
            accepted = self._accepted[asn] = any(low <= asn <= high for low, high in ranges)
        return accepted


def pair_sessions(configs: Mapping[str, DeviceConfig]) -> dict[str, list[Peer]]:
    """Return the sessions of each device that come up, by device.

    Both ends must be on the same cable and accept each other's AS number.
    """
    ends: dict[str, list[tuple[_Side, Session]]] = {}
    for config in configs.values():
        for place, group in enumerate(config.bgp.groups if config.bgp else ()):
            side = _Side(config, place, group)
            for session in group.sessions:
                if session.link:  # a text may have a neighbor on a port that no cable is on
                    ends.setdefault(session.link, []).append((side, session))
    sides: dict[str, tuple[_Side, _Side]] = {}
    for link, both in ends.items():
        if len(both) == 2:
            (near, session), (other, far_session) = both
            if near.config is other.config:
                continue
            if near.accepts(session, other.group.local_as) and other.accepts(far_session, near.group.local_as):
                sides[link] = near, other
    return {name: _peers(config, sides) for name, config in configs.items()}


def _peers(config: DeviceConfig, sides: Mapping[str, tuple[_Side, _Side]]) -> list[Peer]:
    """Return the sessions of a device that come up, in the order of its configuration. ``sides`` holds both ends of each link."""
    peers: list[Peer] = []
    for place, group in enumerate(config.bgp.groups if config.bgp else ()):
        known: dict[_Side, ReceivingGroup] = {}
        for session in group.sessions:
            both = sides.get(session.link)
            if both is None:
                continue
            near, other = both
            far = other if near.config is config else near
            asn = far.group.local_as
            via = known.get(far)
            if via is None:
                via = known[far] = ReceivingGroup(place, far.group.aigp, asn == group.local_as)
            peers.append(Peer(session, far.sender[0], len(peers), via, far.sender, asn, group.local_as))
    return peers


MAXIMUM_ROUNDS = 64


class _State(NamedTuple):
    """The converged state of a control plane.

    - ``advertised``: the routes that each BGP group advertises, by (device, group index).
    - ``fibs``: the forwarding table of each device.
    """

    advertised: dict[tuple[str, int], Advertisements]
    fibs: dict[str, Fib]


class ControlPlane:
    """The control plane of a network, computed from its device configurations.

    ``routes(down)`` returns the state after convergence while some links and devices are down. The state without
    failures is cached. Other states are computed from this state, starting at the devices that lose a session or
    receive different routes. ``absent`` holds links and devices that are down in every state, because of ``status:`` in
    the fabric file (``Network.absent``). Links whose ends differ in speed are also down in every state.
    """

    def __init__(self, configs: Iterable[DeviceConfig], absent: Iterable[str] = ()) -> None:
        self.configs = {config.name: _by_policy(without_shut_ports(config)) for config in configs}
        self.absent = frozenset(absent) | unlike_links(self.configs.values())
        self.prefixes = [prefix for config in self.configs.values() for prefix in candidates.originated(config)]
        self.prefixes += tenant_prefixes(self.configs.values())
        self.table = AttributeTable()
        self.groups = Groups()
        self._place = {prefix: place for place, prefix in enumerate(self.prefixes)}
        self._peers = pair_sessions(self.configs)
        self._links = {name: [peer.session.link for peer in peers] for name, peers in self._peers.items()}
        self._receivers: dict[tuple[str, int], list[str]] = {}
        for name, peers in self._peers.items():
            for sender in dict.fromkeys([peer.sender for peer in peers]):
                self._receivers.setdefault(sender, []).append(name)
        policies = PolicyEngine(self.prefixes, self.table)
        memo = candidates.Memo()
        self._rules = {name: rules_of(config, policies, memo) for name, config in self.configs.items()}
        self._inbound = {name: candidates.InboundSessions(peers, memo) for name, peers in self._peers.items()}
        self._origins = candidates.Origins(self.configs, self._place, len(self.prefixes))
        overlaid = any(config.overlay is not None for config in self.configs.values())
        self._overlay = OverlayPlane(self.configs, self.prefixes, self._ends.keys() if overlaid else ())
        self._decisions = Decisions(self.table, policies, candidates.AsPaths(), self._place, memo)
        self._start: _State | None = None

    @cached_property
    def _ends(self) -> dict[tuple[str, str], Peer]:
        """The sessions that come up, by device and link."""
        return {(name, peer.session.link): peer for name, peers in self._peers.items() for peer in peers}

    @cached_property
    def _on_link(self) -> dict[str, list[str]]:
        """The devices that have a session on each link, by link."""
        on_link: dict[str, list[str]] = {}
        for name, link in self._ends:
            on_link.setdefault(link, []).append(name)
        return on_link

    def routes(self, down: Iterable[str] = ()) -> Routes:
        """Return the forwarding tables while the ``down`` links (by name) and devices are down, in addition to the absent ones."""
        failed = self.absent | frozenset(down)
        if self._start is None:
            self._start = self._from_nothing(self.absent)
        if failed == self.absent:
            return self._collect(self._start, failed)
        advertised, fibs = self._start
        state = _State(dict(advertised), {name: fib for name, fib in fibs.items() if name not in failed})
        lost = self._lost(failed)
        noticing = [
            name for name in self.configs if name in lost or not failed.isdisjoint(self._origins.server_ports[name])
        ]
        self._settle(state, noticing, failed, lost, self._decisions.further())
        return self._collect(state, failed)

    def _from_nothing(self, down: frozenset[str]) -> _State:
        """Return the converged state, computed from the beginning instead of from the state without failures.

        ``down`` holds the links and devices that are down.
        """
        nothing = self._decisions.nothing
        advertised = {
            (name, place): nothing
            for name, config in self.configs.items()
            for place in range(len(config.bgp.groups) if config.bgp else 0)
        }
        state = _State(advertised, {})
        self._settle(state, list(self.configs), down, self._lost(down), self._decisions)
        return state

    def _lost(self, down: frozenset[str]) -> dict[str, set[int]]:
        """Return the indexes of the sessions that each device loses if ``down`` fails, by device."""
        ends = [(name, link) for link in down for name in self._on_link.get(link, ())]
        for name in down:
            for peer in self._peers.get(name, ()):
                ends += [(name, peer.session.link), (peer.device, peer.session.link)]
        lost: dict[str, set[int]] = {}
        for name, link in ends:
            lost.setdefault(name, set()).add(self._ends[name, link].row)
        return lost

    def _settle(
        self,
        state: _State,
        dirty: Iterable[str],
        down: frozenset[str],
        lost: Mapping[str, set[int]],
        decisions: Decisions,
    ) -> None:
        """Exchange changed advertisements between neighbors until nothing changes. Then update the forwarding tables that may have changed.

        - ``state``: the routes and tables to update.
        - ``dirty``: the devices that must decide first.
        - ``down``: the links and devices that are down.
        - ``lost``: the indexes of the sessions that each device has lost.
        - ``decisions``: the cache of decisions.
        """
        chosen: dict[str, tuple[Pattern, Candidates]] = {}
        for _ in range(MAXIMUM_ROUNDS):
            changed: dict[tuple[str, int], Advertisements] = {}
            for name in dirty:
                if name in down:
                    continue
                choice = candidates.candidates(
                    self._inbound[name], state.advertised, lost.get(name, ()), decisions.memo
                )
                local = self._origins.local(self.configs[name], down)
                outcome = decisions.decide(self._rules[name], local, choice)
                chosen[name] = outcome.pattern, choice
                for place, advertisement in enumerate(decisions.advertised_by_group(outcome, choice)):
                    if advertisement is not state.advertised[name, place]:
                        changed[name, place] = advertisement
            if not changed:
                break
            state.advertised.update(changed)
            dirty = {name: None for sender in changed for name in self._receivers.get(sender, ())}
        else:
            names = ", ".join(sorted(dirty)[:4])
            raise UnsettledError(
                f"routes do not settle after {MAXIMUM_ROUNDS} rounds: policies of {names} contradict each other"
            )
        for name, (pattern, choice) in chosen.items():
            bgp = self.configs[name].bgp
            width = bgp.maximum_ecmp if bgp else 1
            state.fibs[name] = forwarding(name, pattern, choice.rows, self._links[name], width, self.groups)

    def _collect(self, state: _State, down: frozenset[str]) -> Routes:
        lost = self._lost(down)

        def sender(key: tuple[str, str]) -> tuple[str, int] | None:
            end = self._ends[key]
            return None if end.row in lost.get(key[0], ()) else end.sender

        def offered(key: tuple[str, str]) -> candidates.Candidate:
            end = self._ends[key]
            sent = state.advertised[end.sender]
            refused = sent.paths.loops.get(end.own_as)
            return candidates.Candidate(end.via.place, sent.routes, end.via.aigp, end.via.looped, refused)

        def let_in(key: tuple[str, str]) -> Mask:
            return self._decisions.let_in(self._rules[key[0]], offered(key))

        def attributes(key: tuple[str, str], place: int) -> Attributes | None:
            route = int(self._decisions.admitted(self._rules[key[0]], offered(key))[place])
            return None if route == NONE else self.table.items[route]

        fibs = state.fibs | isis_fibs(self.configs, len(self.prefixes), down, self._origins.local, self.groups)

        def live(name: str) -> Mask:
            return self._origins.live(self.configs[name], down)

        composed, holds, shared = self._overlay.compose(fibs, live, down)
        for name in self.absent & self.configs.keys():
            composed[name] = empty_fib(name, len(self.prefixes))
            holds |= {(name, vrf.name): np.zeros(len(self.prefixes), np.bool_) for vrf in self.configs[name].vrfs}
        received = ReceivedPrefixes(state.advertised, lambda: tuple(self._ends), sender, let_in, attributes)
        return Routes(self.prefixes, self._place, composed, self.groups.members, down, received, holds, shared)


def _by_policy(config: DeviceConfig) -> DeviceConfig:
    """Return the configuration with BGP groups split so that all sessions of a group have the same policies."""
    if config.bgp is None or (bgp := by_policy(config.bgp)) is config.bgp:
        return config
    return replace(config, bgp=bgp)


def down_parts(network: Network, names: Iterable[str]) -> list[str]:
    """Return the links, switches and servers in ``names`` with their full names in the network. A link may have its ends in either order.

    Raises ``InputError`` for an unknown name.
    """
    links = {cable.name for cable in network.cables}
    devices = {device.name for device in (*network.switches, *network.servers)}
    down: list[str] = []
    for name in names:
        turned = "--".join(reversed(name.split("--")))
        if name in links or name in devices:
            down.append(name)
        elif turned in links:
            down.append(turned)
        else:
            near = nearest(name, devices)
            switches, servers = (
                _some([device.name for device in each]) for each in (network.switches, network.servers)
            )
            names_there = (
                f"switches are {switches}; servers are {servers}; " if servers else f"switches are {switches}; "
            )
            fix = (
                f"{f'did you mean {near}? ' if near else names_there}links are leaf:port--spine:port, as in cabling.csv"
            )
            raise InputError([Problem(NetworkPart(name), "neither a link nor a switch nor a server", fix)])
    return down


def _some(names: list[str]) -> str:
    """Return the first four names, and an ellipsis if there are more."""
    return ", ".join(names[:4]) + (", …" if names[4:] else "")
