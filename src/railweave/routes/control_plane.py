"""What BGP settles on, computed from the configurations of the devices.

A synchronous path-vector computation: devices exchange whole tables until nothing changes. It follows the decision
process of RFC 4271 section 9.1 with AIGP (RFC 7311) after local preference, multipath over different AS paths of equal
length (``multipath multiple-as``, ``bestpath as-path multipath-relax``), and the rules of BGP deterministic path
forwarding (docs/path-colors.md). Where several best routes are equal, the first session in configuration order is the
one passed on; real routers use router ids and addresses, which changes no next-hop group in these fabrics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from railweave.errors import RailweaveError
from railweave.routes.attributes import NONE, Attributes, AttributeTable, reasons, without_next_hop_scope
from railweave.routes.policy import PolicyEngine
from railweave.routes.table import LOCAL, UNREACHABLE, Fib, Routes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from railweave.device.model import BgpGroup, DeviceConfig, Session
    from railweave.routes.attributes import Ids, Mask

MAXIMUM_ROUNDS = 64
_NO_ROUTE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class _Peer:
    """One direction of a session: where this device hears from."""

    group: BgpGroup
    session: Session
    device: str
    row: int


@dataclass
class _State:
    """What every device has heard: after import policy, and whether anything was heard at all."""

    accepted: dict[str, Ids]
    heard: dict[str, Ids]


class ControlPlane:
    """The control plane of a network, given by its device configurations.

    ``routes(down)`` is what it settles on with a set of links and devices down. The state without failures is kept, and
    every other is computed from it.
    """

    def __init__(self, configs: Iterable[DeviceConfig]) -> None:
        self.configs = {config.name: config for config in configs}
        self.prefixes = [
            prefix for config in self.configs.values() for gateway in config.gateways for prefix in gateway.prefixes
        ]
        self.table = AttributeTable()
        self.policies = PolicyEngine(self.prefixes, self.table)
        self._direct_id = self.table.id_of(Attributes("direct"))
        self._peers = self._pair_sessions()
        self._far = {(name, peer.session.link): peer for name, peers in self._peers.items() for peer in peers}
        self._place = {prefix: place for place, prefix in enumerate(self.prefixes)}
        self._start: _State | None = None

    def routes(self, down: Iterable[str] = ()) -> Routes:
        """The forwarding tables with ``down`` links (by name) and devices gone."""
        failed = frozenset(down)
        if self._start is None:
            self._start = self._empty()
            self._settle(self._start, set(self.configs), frozenset())
        if not failed:
            return self._collect(self._start, failed)
        state = _State(
            {device: rows.copy() for device, rows in self._start.accepted.items()},
            {device: rows.copy() for device, rows in self._start.heard.items()},
        )
        touched = self._forget(state, failed)
        self._settle(state, touched, failed)
        return self._collect(state, failed)

    def _pair_sessions(self) -> dict[str, list[_Peer]]:
        """Sessions that come up: both ends configured on one link, each accepting the other's AS number."""
        ends: dict[str, list[tuple[str, BgpGroup, Session]]] = {}
        for config in self.configs.values():
            for group in config.bgp.groups if config.bgp else ():
                for session in group.sessions:
                    ends.setdefault(session.link, []).append((config.name, group, session))
        rows: dict[str, int] = dict.fromkeys(self.configs, 0)
        peers: dict[str, list[_Peer]] = {name: [] for name in self.configs}
        for config in self.configs.values():
            for group in config.bgp.groups if config.bgp else ():
                for session in group.sessions:
                    other = [end for end in ends[session.link] if end[0] != config.name]
                    if len(other) != 1 or not self._accepts(config, group, session, other[0][1]):
                        continue
                    if not self._accepts(self.configs[other[0][0]], other[0][1], other[0][2], group):
                        continue
                    peers[config.name].append(_Peer(group, session, other[0][0], rows[config.name]))
                    rows[config.name] += 1
        return peers

    @staticmethod
    def _accepts(config: DeviceConfig, group: BgpGroup, session: Session, other: BgpGroup) -> bool:
        if group.peer_as_list is None:
            return session.peer_as == other.local_as
        ranges = config.bgp.as_lists.get(group.peer_as_list, ()) if config.bgp else ()
        return any(low <= other.local_as <= high for low, high in ranges)

    def _empty(self) -> _State:
        def rows() -> dict[str, Ids]:
            return {
                name: np.full((len(peers), len(self.prefixes)), NONE, dtype=np.int32)
                for name, peers in self._peers.items()
            }

        return _State(rows(), rows())

    def _forget(self, state: _State, down: frozenset[str]) -> set[str]:
        """Drop what failed sessions had said; returns the devices that notice."""
        touched: set[str] = set()
        for name, peers in self._peers.items():
            for peer in peers:
                if self._is_down(name, peer, down):
                    state.accepted[name][peer.row] = NONE
                    state.heard[name][peer.row] = NONE
                    touched.add(name)
        for config in self.configs.values():
            if any(one.kind == "server" and one.link in down for one in config.interfaces):
                touched.add(config.name)
        return touched - down

    @staticmethod
    def _is_down(device: str, peer: _Peer, down: frozenset[str]) -> bool:
        return not down.isdisjoint((device, peer.device, peer.session.link))

    def _settle(self, state: _State, dirty: set[str], down: frozenset[str]) -> None:
        for _ in range(MAXIMUM_ROUNDS):
            if not dirty:
                return
            heard_from = [name for name in self.configs if name in dirty and name not in down]
            dirty = set()
            for name in heard_from:
                dirty |= self._advertise(state, name, down)
        raise RailweaveError(
            f"routes do not settle after {MAXIMUM_ROUNDS} rounds: the policies of {', '.join(sorted(dirty)[:4])} contradict each other"
        )

    def _local(self, config: DeviceConfig, down: frozenset[str]) -> Mask:
        """The prefixes of gateways that have a port up."""
        mask = np.zeros(len(self.prefixes), dtype=np.bool_)
        up = {one.vlan for one in config.interfaces if one.kind == "server" and one.link not in down}
        for gateway in config.gateways:
            if gateway.vlan_name in up and config.name not in down:
                mask[[self._place[prefix] for prefix in gateway.prefixes]] = True
        return mask

    def _advertise(self, state: _State, name: str, down: frozenset[str]) -> set[str]:
        """Send a device's best routes to its neighbors; returns those whose tables change."""
        config = self.configs[name]
        bgp = config.bgp
        if bgp is None:
            return set()
        direct = self._local(config, down)
        best = self._best(state, name, down)
        changed: set[str] = set()
        sent: dict[str, Ids] = {}
        for peer in self._peers[name]:
            if self._is_down(name, peer, down):
                continue
            out = sent.get(peer.group.name)
            if out is None:
                out = sent[peer.group.name] = self._export(config, peer.group, best, direct)
            far = self._far[peer.device, peer.session.link]
            accepted = self._receive(peer.device, far, out)
            heard = state.heard[peer.device]
            if not np.array_equal(heard[far.row], out):
                heard[far.row] = out
            if not np.array_equal(state.accepted[peer.device][far.row], accepted):
                state.accepted[peer.device][far.row] = accepted
                changed.add(peer.device)
        return changed

    def _best(self, state: _State, name: str, down: frozenset[str]) -> Ids:
        """The route passed on for each prefix: a local one, else the first of the best."""
        config, rows = self.configs[name], state.accepted[name]
        best = np.full(len(self.prefixes), NONE, dtype=np.int32)
        if len(rows):
            keys = self.table.keys(rows)
            winner = keys.argmin(axis=0)
            best = rows[winner, np.arange(len(self.prefixes))]
        local = self._local(config, down)
        bgp = config.bgp
        own = np.where(local, np.int32(self._direct_id), np.int32(NONE)).astype(np.int32)
        if bgp is not None and bgp.redistribute_connected is not None:
            own = self.policies.apply(bgp, bgp.redistribute_connected, own, local)
        return np.where(local, own, best).astype(np.int32)

    def _export(self, config: DeviceConfig, group: BgpGroup, best: Ids, direct: Mask) -> Ids:
        """What a group's neighbors are sent."""
        bgp = config.bgp
        assert bgp is not None  # noqa: S101 - only devices with BGP have groups
        passed = self.policies.apply(bgp, group.export_policy, best, direct)
        if group.fabric_color is not None:
            passed = self._colored(config, group, best, passed)
        aigp, asn = group.aigp, group.local_as
        return self.table.map(("send", asn, aigp), passed, lambda old: without_next_hop_scope(old, asn, aigp=aigp))

    def _colored(self, config: DeviceConfig, group: BgpGroup, best: Ids, passed: Ids) -> Ids:
        """Deterministic path forwarding on export: colored copies of own prefixes, only matching colors of others."""
        bgp = config.bgp
        assert bgp is not None  # noqa: S101 - only devices with BGP have groups
        values = {community.name: community.value for community in bgp.communities}
        mine = values.get(group.fabric_color or "", "")

        def matching(old: Attributes) -> Attributes | None:
            colors = old.colors()
            return old if not colors or mine in colors else None

        result = self.table.map(("color", mine), passed, matching)
        for entry in bgp.fabric_advertise:
            place = self._place.get(entry.prefix)
            if place is None or best[place] < 0 or self.table.items[int(best[place])].protocol != "direct":
                continue
            primary = entry.color == group.fabric_color
            if passed[place] < 0 or not (primary or group.fabric_color in entry.backup_colors):
                result[place] = NONE
                continue
            copy = self.table.items[int(passed[place])]
            aigp = 0 if primary and entry.backup_colors else None
            result[place] = self.table.id_of(replace(copy, aigp=aigp, communities=copy.communities | {mine}))
        return result

    def _receive(self, name: str, peer: _Peer, sent: Ids) -> Ids:
        """What a device keeps of what a neighbor sent: loops and other colors out, then import policy."""
        config = self.configs[name]
        bgp = config.bgp
        assert bgp is not None  # noqa: S101 - only devices with BGP have peers
        asn, color = peer.group.local_as, peer.group.fabric_color
        mine = next((c.value for c in bgp.communities if c.name == color), "") if color else ""

        def keep(old: Attributes) -> Attributes | None:
            return None if asn in old.as_path or (mine and old.colors() and mine not in old.colors()) else old

        kept = self.table.map(("receive", asn, mine), sent, keep)
        accepted = self.policies.apply(
            bgp, peer.group.import_policy, kept, np.zeros(len(self.prefixes), dtype=np.bool_)
        )
        if bgp.compare_aigp:
            return accepted
        return self.table.map("ignore AIGP", accepted, lambda old: replace(old, aigp=None))

    def _collect(self, state: _State, down: frozenset[str]) -> Routes:
        groups: dict[tuple[str, ...], int] = {}
        fibs = {name: self._fib(state, name, groups, down) for name in self.configs if name not in down}
        heard = {
            (name, peer.session.link): state.heard[name][peer.row] >= 0
            for name, peers in self._peers.items()
            for peer in peers
            if name not in down and not self._is_down(name, peer, down)
        }
        return Routes(self.prefixes, fibs, list(groups), down, heard)

    def _fib(self, state: _State, name: str, groups: dict[tuple[str, ...], int], down: frozenset[str]) -> Fib:
        config, rows, size = self.configs[name], state.accepted[name], len(self.prefixes)
        links = [peer.session.link for peer in self._peers[name]]
        width = config.bgp.maximum_ecmp if config.bgp else 1
        local = self._local(config, down)
        keys = self.table.keys(rows) if len(rows) else np.full((1, size), _NO_ROUTE, dtype=np.int64)
        best = keys.min(axis=0)
        members = (keys == best) & (best != _NO_ROUTE)
        rest = np.where(members, _NO_ROUTE, keys)
        second = rest.min(axis=0)
        backups = (rest == second) & (second != _NO_ROUTE)
        reason = reasons(best, second, members.sum(axis=0))
        group = _intern(members, links, groups, width)
        backup = _intern(backups, links, groups, width)
        return Fib(
            name,
            np.where(local, np.int32(LOCAL), group).astype(np.int32),
            np.where(local, np.int32(UNREACHABLE), backup).astype(np.int32),
            np.where(local, np.uint8(2), reason).astype(np.uint8),
        )


def _intern(members: Mask, links: list[str], groups: dict[tuple[str, ...], int], width: int) -> NDArray[np.int32]:
    """Next-hop groups of each prefix, by id; at most ``width`` members."""
    columns, inverse = np.unique(members, axis=1, return_inverse=True)
    ids = np.empty(columns.shape[1], dtype=np.int32)
    for place in range(columns.shape[1]):
        chosen = tuple(links[row] for row in cast("list[int]", np.flatnonzero(columns[:, place])[:width].tolist()))
        ids[place] = groups.setdefault(chosen, len(groups)) if chosen else UNREACHABLE
    return ids[inverse.reshape(-1)]
