"""What BGP settles on, computed from the configurations of the devices.

A synchronous path-vector computation: devices exchange whole tables until nothing changes. It follows the decision
process of RFC 4271 section 9.1 with AIGP (RFC 7311) after local preference, multipath over different AS paths of equal
length (``multipath multiple-as``, ``bestpath as-path multipath-relax``), and the rules of BGP deterministic path
forwarding (docs/path-colors.md). Where several best routes are equal, the first session in configuration order is the
one passed on; real routers go by router ids and addresses, which changes no preferred next hop in these fabrics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import RailweaveError
from railweave.routes.attributes import NONE, Attributes, AttributeTable, as_sent
from railweave.routes.forwarding import Groups, forwarding
from railweave.routes.overlay import OverlayPlane, overlay_loopbacks, tenant_prefixes
from railweave.routes.policy import PolicyEngine
from railweave.routes.table import Heard, Routes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.device.model import BgpGroup, DeviceConfig, Session
    from railweave.routes.attributes import Ids, Mask
    from railweave.routes.table import Fib

MAXIMUM_ROUNDS = 64


@dataclass(frozen=True, slots=True)
class _Peer:
    """One direction of a session: where a device hears from. ``row`` is the session's place in the device's tables."""

    group: BgpGroup
    session: Session
    device: str
    row: int


@dataclass
class _State:
    """What every device has heard, before and after import policy: a row a session. Rows are copied when written."""

    heard: dict[str, Ids]
    accepted: dict[str, Ids]
    written: set[str]

    def copy(self) -> _State:
        return _State(dict(self.heard), dict(self.accepted), set())

    def write(self, device: str, rows: list[int], heard: Ids, accepted: Ids) -> bool:
        """Store rows of a device; returns whether what it accepted changed."""
        if np.array_equal(self.heard[device][rows], heard) and np.array_equal(self.accepted[device][rows], accepted):
            return False
        if device not in self.written:
            self.heard[device], self.accepted[device] = self.heard[device].copy(), self.accepted[device].copy()
            self.written.add(device)
        changed = not np.array_equal(self.accepted[device][rows], accepted)
        self.heard[device][rows], self.accepted[device][rows] = heard, accepted
        return changed


class ControlPlane:
    """The control plane of a network, given by its device configurations.

    ``routes(down)`` is what it settles on with a set of links and devices down. The state without failures is kept, and
    every other is computed from it, device by device that notices.
    """

    def __init__(self, configs: Iterable[DeviceConfig]) -> None:
        self.configs = {config.name: config for config in configs}
        self.prefixes = [prefix for config in self.configs.values() for prefix in _originated(config)]
        self.prefixes += tenant_prefixes(self.configs.values())
        self.table = AttributeTable()
        self.policies = PolicyEngine(self.prefixes, self.table)
        self.groups = Groups()
        self._place = {prefix: place for place, prefix in enumerate(self.prefixes)}
        self._none_direct = np.zeros(len(self.prefixes), dtype=np.bool_)
        self._direct_id = np.int32(self.table.id_of(Attributes("direct")))
        self._peers = self._pair_sessions()
        self._far = {(name, peer.session.link): peer for name, peers in self._peers.items() for peer in peers}
        self._overlay = OverlayPlane(self.configs, self.prefixes)
        self._start: tuple[_State, dict[str, Fib]] | None = None

    def routes(self, down: Iterable[str] = ()) -> Routes:
        """The forwarding tables with ``down`` links (by name) and devices gone."""
        failed = frozenset(down)
        if self._start is None:
            state = self._empty()
            self._settle(state, set(self.configs), frozenset())
            self._start = state, {name: self._fib(state, name, frozenset()) for name in self.configs}
        first, fibs = self._start
        if not failed:
            return self._collect(first, fibs, failed)
        state = first.copy()
        noticed = self._forget(state, failed)
        self._settle(state, noticed, failed)
        anew = (state.written | noticed) - failed
        changed = {name: self._fib(state, name, failed) for name in self.configs if name in anew}
        kept = {name: changed.get(name, fib) for name, fib in fibs.items() if name not in failed}
        return self._collect(state, kept, failed)

    def _pair_sessions(self) -> dict[str, list[_Peer]]:
        """Sessions that come up: both ends configured on one link, each accepting the other's AS number."""
        ends: dict[str, list[tuple[DeviceConfig, BgpGroup, Session]]] = {}
        for config in self.configs.values():
            for group in config.bgp.groups if config.bgp else ():
                for session in group.sessions:
                    ends.setdefault(session.link, []).append((config, group, session))
        peers: dict[str, list[_Peer]] = {name: [] for name in self.configs}
        for config in self.configs.values():
            for group in config.bgp.groups if config.bgp else ():
                for session in group.sessions:
                    others = [end for end in ends[session.link] if end[0] is not config]
                    if len(others) != 1:
                        continue
                    other, far_group, far_session = others[0]
                    if _accepts(config, group, session, far_group) and _accepts(other, far_group, far_session, group):
                        peers[config.name].append(_Peer(group, session, other.name, len(peers[config.name])))
        return peers

    def _empty(self) -> _State:
        shape = {name: (len(peers), len(self.prefixes)) for name, peers in self._peers.items()}
        tables = [{name: np.full(size, NONE, dtype=np.int32) for name, size in shape.items()} for _ in range(2)]
        return _State(tables[0], tables[1], set(self.configs))

    def _forget(self, state: _State, down: frozenset[str]) -> set[str]:
        """Drop what failed sessions had said; returns the devices that notice."""
        noticed: set[str] = set()
        for name, peers in self._peers.items():
            rows = [peer.row for peer in peers if _is_down(name, peer, down)]
            if rows:
                nothing = np.full((len(rows), len(self.prefixes)), NONE, dtype=np.int32)
                state.write(name, rows, nothing, nothing)
                noticed.add(name)
        for config in self.configs.values():
            if any(one.kind == "server" and not down.isdisjoint((one.link, one.peer)) for one in config.interfaces):
                noticed.add(config.name)
        return noticed - down

    def _settle(self, state: _State, dirty: set[str], down: frozenset[str]) -> None:
        """Let devices that changed tell their neighbors, until none changes."""
        for _ in range(MAXIMUM_ROUNDS):
            if not dirty:
                return
            sent: dict[tuple[str, str], Ids] = {}
            for name in self.configs:
                if name in dirty and name not in down:
                    sent |= self._advertise(state, name, down)
            receivers = {peer.device for name in dirty for peer in self._peers[name]} - down
            dirty = {name for name in self.configs if name in receivers and self._listen(state, name, sent, down)}
        names = ", ".join(sorted(dirty)[:4])
        raise RailweaveError(
            f"routes do not settle after {MAXIMUM_ROUNDS} rounds: policies of {names} contradict each other"
        )

    def _local(self, config: DeviceConfig, down: frozenset[str]) -> Mask:
        """The prefixes that a device originates in the underlay: of gateways that have a port up, and its loopbacks."""
        mask = self._live(config, down)
        mask[[self._place[prefix] for vrf in config.vrfs for prefix in vrf.prefixes]] = False
        return mask

    def _live(self, config: DeviceConfig, down: frozenset[str]) -> Mask:
        """The same with the prefixes of VRFs."""
        mask = self._none_direct.copy()
        if config.gateways:
            servers = [one for one in config.interfaces if one.kind == "server"]
            up = {one.vlan or one.name for one in servers if one.link not in down and one.peer not in down}
            places = [
                self._place[p]
                for gateway in config.gateways
                if (gateway.vlan_name or gateway.port) in up
                for p in gateway.prefixes
            ]
            mask[places] = True
        if config.overlay is not None:
            mask[[self._place[prefix] for prefix in overlay_loopbacks(config)]] = True
        return mask

    def _advertise(self, state: _State, name: str, down: frozenset[str]) -> dict[tuple[str, str], Ids]:
        """What a device sends to the neighbors of each of its groups."""
        config = self.configs[name]
        if config.bgp is None:
            return {}
        direct = self._local(config, down)
        best = self._best(state, config, direct)
        return {(name, group.name): self._export(config, group, best, direct) for group in config.bgp.groups}

    def _best(self, state: _State, config: DeviceConfig, direct: Mask) -> Ids:
        """The route passed on for each prefix: a local one, else the first of the best."""
        rows = state.accepted[config.name]
        best = np.full(len(self.prefixes), NONE, dtype=np.int32)
        if len(rows):
            best = rows[self.table.keys(rows).argmin(axis=0), np.arange(len(self.prefixes))]
        own = np.where(direct, self._direct_id, np.int32(NONE)).astype(np.int32)
        if config.bgp is not None and config.bgp.redistribute_connected is not None:
            own = self.policies.apply(config.bgp, config.bgp.redistribute_connected, own, direct)
        return np.where(direct, own, best).astype(np.int32)

    def _export(self, config: DeviceConfig, group: BgpGroup, best: Ids, direct: Mask) -> Ids:
        """What a group's neighbors are sent."""
        bgp = config.bgp
        assert bgp is not None  # noqa: S101 - only devices with BGP have groups
        passed = self.policies.apply(bgp, group.export_policy, best, direct)
        if group.fabric_color is not None:
            passed = self._colored(config, group, best, passed)
        asn, aigp = group.local_as, group.aigp
        return self.table.map(("send", asn, aigp), passed, lambda old: as_sent(old, asn, aigp=aigp))

    def _colored(self, config: DeviceConfig, group: BgpGroup, best: Ids, passed: Ids) -> Ids:
        """Deterministic path forwarding on export: colored copies of own prefixes, only matching colors of others."""
        bgp = config.bgp
        assert bgp is not None  # noqa: S101 - only devices with BGP have groups
        mine = _color_value(config, group)
        result = np.where(self._foreign_color(passed, mine), np.int32(NONE), passed).astype(np.int32)
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

    def _foreign_color(self, ids: Ids, mine: str) -> Mask:
        """Which routes carry color communities, but not this one."""

        def foreign(held: frozenset[str]) -> bool:
            return mine not in held and any(value.startswith("color:") for value in held)

        return self.table.having(ids, ("foreign color", mine), foreign)

    def _listen(self, state: _State, name: str, sent: dict[tuple[str, str], Ids], down: frozenset[str]) -> bool:
        """Take what neighbors sent; returns whether anything that was accepted changed."""
        config = self.configs[name]
        changed = False
        for group in config.bgp.groups if config.bgp else ():
            rows: list[int] = []
            tables: list[Ids] = []
            for peer in self._peers[name]:
                if peer.group is group and not _is_down(name, peer, down):
                    table = sent.get((peer.device, self._far[peer.device, peer.session.link].group.name))
                    if table is not None:
                        rows.append(peer.row)
                        tables.append(table)
            if rows:
                heard = np.stack(tables)
                changed |= state.write(name, rows, heard, self._accept(config, group, heard))
        return changed

    def _accept(self, config: DeviceConfig, group: BgpGroup, heard: Ids) -> Ids:
        """What a device keeps of what it heard: loops and other colors out, then import policy."""
        bgp = config.bgp
        assert bgp is not None  # noqa: S101 - only devices with BGP have groups
        refused = self.table.passed(group.local_as, heard)
        if group.fabric_color is not None:
            refused |= self._foreign_color(heard, _color_value(config, group))
        kept = np.where(refused, np.int32(NONE), heard).astype(np.int32)
        accepted = self.policies.apply(bgp, group.import_policy, kept, self._none_direct)
        if bgp.compare_aigp:
            return accepted
        return self.table.map("ignore AIGP", accepted, lambda old: replace(old, aigp=None))

    def _fib(self, state: _State, name: str, down: frozenset[str]) -> Fib:
        config = self.configs[name]
        links = [peer.session.link for peer in self._peers[name]]
        width = config.bgp.maximum_ecmp if config.bgp else 1
        keys = self.table.keys(state.accepted[name])
        return forwarding(name, keys, self._local(config, down), links, width, self.groups)

    def _collect(self, state: _State, fibs: dict[str, Fib], down: frozenset[str]) -> Routes:
        heard = {
            (name, peer.session.link): (state.heard[name], peer.row)
            for name, peers in self._peers.items()
            for peer in peers
            if not _is_down(name, peer, down)
        }
        composed, holds = self._overlay.compose(fibs, lambda name: self._live(self.configs[name], down))
        return Routes(self.prefixes, self._place, composed, self.groups.members, down, Heard(heard), holds)


def _originated(config: DeviceConfig) -> list[str]:
    """The prefixes that a device may originate in the underlay."""
    own = [prefix for gateway in config.gateways if not gateway.vrf for prefix in gateway.prefixes]
    return own + overlay_loopbacks(config)


def _accepts(config: DeviceConfig, group: BgpGroup, session: Session, other: BgpGroup) -> bool:
    """Whether a device lets a neighbor's AS number in."""
    if group.peer_as_list is None:
        return session.peer_as == other.local_as
    ranges = config.bgp.as_lists.get(group.peer_as_list, ()) if config.bgp else ()
    return any(low <= other.local_as <= high for low, high in ranges)


def _is_down(device: str, peer: _Peer, down: frozenset[str]) -> bool:
    return device in down or peer.device in down or peer.session.link in down


def _color_value(config: DeviceConfig, group: BgpGroup) -> str:
    """The community value of a group's color; one that nothing carries where the color is not defined."""
    communities = config.bgp.communities if config.bgp else ()
    return next((one.value for one in communities if one.name == group.fabric_color), "color:undefined")
