"""What BGP settles on, computed from the configurations of the devices.

A synchronous path-vector computation: devices exchange whole tables until nothing changes. It follows the decision
process of RFC 4271 section 9.1 with AIGP (RFC 7311) after local preference, multipath over different AS paths of equal
length (``multipath multiple-as``, ``bestpath as-path multipath-relax``), and the rules of BGP deterministic path
forwarding (docs/path-colors.md). Where several best routes are equal, the first session in configuration order is the
one passed on; real routers go by router ids and addresses, which changes no preferred next hop in these fabrics.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from railweave.errors import RailweaveError
from railweave.routes.attributes import NONE, Attributes, AttributeTable, as_sent
from railweave.routes.colors import color_value, colored, foreign_color
from railweave.routes.forwarding import Groups, forwarding, patched, without
from railweave.routes.origins import Origins, originated
from railweave.routes.overlay import OverlayPlane, tenant_prefixes
from railweave.routes.policy import PolicyEngine
from railweave.routes.sessions import is_down, pair_sessions
from railweave.routes.state import State
from railweave.routes.table import Heard, Routes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.device.model import BgpGroup, DeviceConfig
    from railweave.routes.attributes import Ids, Mask, Places
    from railweave.routes.sessions import Peer
    from railweave.routes.table import Fib

MAXIMUM_ROUNDS = 64


class _Sent(NamedTuple):
    """What a group of a device tells its neighbors anew: routes (or none) of the prefixes at ``places``."""

    device: str
    group: str
    places: Places
    ids: Ids


class ControlPlane:
    """The control plane of a network, given by its device configurations.

    ``routes(down)`` is what it settles on with a set of links and devices down. The state without failures is kept, and
    every other is computed from it: device by device that notices, and only the prefixes that change there.
    """

    def __init__(self, configs: Iterable[DeviceConfig]) -> None:
        self.configs = {config.name: config for config in configs}
        self.prefixes = [prefix for config in self.configs.values() for prefix in originated(config)]
        self.prefixes += tenant_prefixes(self.configs.values())
        self.table = AttributeTable()
        self.policies = PolicyEngine(self.prefixes, self.table)
        self.groups = Groups()
        self._place = {prefix: place for place, prefix in enumerate(self.prefixes)}
        self._all = np.arange(len(self.prefixes), dtype=np.intp)
        self._none_direct = np.zeros(len(self.prefixes), dtype=np.bool_)
        self._direct_id = np.int32(self.table.id_of(Attributes("direct")))
        self._peers = pair_sessions(self.configs)
        self._far = {(name, peer.session.link): peer for name, peers in self._peers.items() for peer in peers}
        self._rows = {key: peer.row for key, peer in self._far.items()}
        self._listeners = self._find_listeners()
        self._on_link: dict[str, list[str]] = {}
        for name, peers in self._peers.items():
            for peer in peers:
                self._on_link.setdefault(peer.session.link, []).append(name)
        self._origins = Origins(self.configs, self._place, len(self.prefixes))
        self._overlay = OverlayPlane(self.configs, self.prefixes)
        self._start: tuple[State, dict[str, Fib]] | None = None

    def routes(self, down: Iterable[str] = ()) -> Routes:
        """The forwarding tables with ``down`` links (by name) and devices gone."""
        failed = frozenset(down)
        if self._start is None:
            self._start = self._from_nothing(frozenset())
        first, fibs = self._start
        if not failed:
            return self._collect(first, fibs, failed)
        state = first.copy()
        lost, noticed = self._forget(state, failed)
        self._settle(state, noticed, failed)
        kept = {name: fib for name, fib in fibs.items() if name not in failed}
        for name in (lost.keys() | state.touched.keys()) - failed:
            kept[name] = self._changed_fib(state, name, failed, fibs[name], lost.get(name, []))
        return self._collect(state, kept, failed)

    def _from_nothing(self, down: frozenset[str]) -> tuple[State, dict[str, Fib]]:
        """What everything settles on, and the forwarding tables, without knowing any other state."""
        state = State.empty(self._sessions(), len(self.prefixes))
        self._settle(state, dict.fromkeys(self.configs, self._all), down)
        return state, {name: self._fib(state, name, down, self._all) for name in self.configs if name not in down}

    def _sessions(self) -> dict[str, tuple[int, list[str]]]:
        """How many sessions each device has, and its groups."""
        return {
            name: (
                len(peers),
                [group.name for group in config.bgp.groups] if (config := self.configs[name]).bgp else [],
            )
            for name, peers in self._peers.items()
        }

    def _find_listeners(self) -> dict[tuple[str, str], list[tuple[str, Peer]]]:
        """Who hears what each group of each device sends: (device, group) to the device and its end of the session."""
        found: dict[tuple[str, str], list[tuple[str, Peer]]] = {}
        for name, peers in self._peers.items():
            for peer in peers:
                far = self._far[peer.device, peer.session.link]
                found.setdefault((peer.device, far.group.name), []).append((name, peer))
        return found

    def _forget(self, state: State, down: frozenset[str]) -> tuple[dict[str, list[int]], dict[str, Places]]:
        """Drop what failed sessions had said: the rows lost by device, and where each device notices a change."""
        near = {name for link in down for name in self._on_link.get(link, ())}
        near |= {peer.device for name in down for peer in self._peers.get(name, ())}
        lost: dict[str, list[int]] = {}
        noticed: dict[str, Places] = {}
        for name in self.configs:
            if name in down:
                continue
            changed = np.zeros(len(self.prefixes), dtype=np.bool_)
            if name in near:
                rows = [peer.row for peer in self._peers[name] if is_down(name, peer, down)]
                lost[name] = rows
                changed |= state.forget(name, rows)
            if not down.isdisjoint(self._origins.server_ports[name]):
                gone = self._origins.local(self.configs[name], frozenset()) & ~self._origins.local(
                    self.configs[name], down
                )
                state.touch(name, np.flatnonzero(gone))
                changed |= gone
            if changed.any():
                noticed[name] = np.flatnonzero(changed)
        return lost, noticed

    def _settle(self, state: State, dirty: dict[str, Places], down: frozenset[str]) -> None:
        """Let devices tell their neighbors what changed, until nothing does."""
        for _ in range(MAXIMUM_ROUNDS):
            if not dirty:
                return
            inbox: dict[str, dict[str, list[tuple[int, _Sent]]]] = {}
            for name in self.configs:
                if name in dirty and name not in down:
                    for sent in self._advertise(state, name, down, dirty[name]):
                        for receiver, peer in self._listeners.get((name, sent.group), ()):
                            if not is_down(receiver, peer, down):
                                inbox.setdefault(receiver, {}).setdefault(peer.group.name, []).append((peer.row, sent))
            heard = {name: self._listen(state, name, inbox[name]) for name in self.configs if name in inbox}
            dirty = {name: places for name, places in heard.items() if len(places)}
        names = ", ".join(sorted(dirty)[:4])
        raise RailweaveError(
            f"routes do not settle after {MAXIMUM_ROUNDS} rounds: policies of {names} contradict each other"
        )

    def _advertise(self, state: State, name: str, down: frozenset[str], places: Places) -> list[_Sent]:
        """What a device has to tell the neighbors of each of its groups about prefixes whose routes changed."""
        config = self.configs[name]
        if config.bgp is None:
            return []
        local = self._origins.local(config, down)
        best = self._best(state, config, local[places], places)
        moved = best != state.best[name][places]
        if not moved.any():
            return []
        places, best = places[moved], best[moved]
        state.store("best", name, places, best)
        direct = local[places]
        passed: dict[str, Ids] = {}
        result: list[_Sent] = []
        for group in config.bgp.groups:
            if group.export_policy not in passed:
                passed[group.export_policy] = self.policies.apply(config.bgp, group.export_policy, best, direct, places)
            sent = self._export(config, group, best, passed[group.export_policy], places)
            new = sent != state.sent[name, group.name][places]
            if new.any():
                where, ids = places[new], sent[new]
                state.store("sent", (name, group.name), where, ids)
                result.append(_Sent(name, group.name, where, ids))
        return result

    def _best(self, state: State, config: DeviceConfig, direct: Mask, places: Places) -> Ids:
        """The route passed on for each prefix: a local one, else the first of the best."""
        rows = state.accepted[config.name][:, places]
        best = np.full(len(places), NONE, dtype=np.int32)
        if len(rows):
            best = rows[self.table.keys(rows).argmin(axis=0), np.arange(len(places))]
        if not direct.any():
            return best
        own = np.where(direct, self._direct_id, np.int32(NONE)).astype(np.int32)
        if config.bgp is not None and config.bgp.redistribute_connected is not None:
            own = self.policies.apply(config.bgp, config.bgp.redistribute_connected, own, direct, places)
        return np.where(direct, own, best).astype(np.int32)

    def _export(self, config: DeviceConfig, group: BgpGroup, best: Ids, passed: Ids, places: Places) -> Ids:
        """What a group's neighbors are sent, of what its policy let pass."""
        if (passed < 0).all():
            return passed
        if group.fabric_color is not None:
            passed = colored(self.table, self._place, config, group, best, passed, places)
        asn, aigp = group.local_as, group.aigp
        return self.table.map(("send", asn, aigp), passed, lambda old: as_sent(old, asn, aigp=aigp))

    def _listen(self, state: State, name: str, inbox: dict[str, list[tuple[int, _Sent]]]) -> Places:
        """Take what neighbors sent; returns the prefixes whose accepted routes changed."""
        config = self.configs[name]
        changed = np.zeros(len(self.prefixes), dtype=np.bool_)
        for group in config.bgp.groups if config.bgp else ():
            mail = inbox.get(group.name)
            if not mail:
                continue
            rows = [row for row, _ in mail]
            said = np.zeros(len(self.prefixes), dtype=np.bool_)
            for _, sent in mail:
                said[sent.places] = True
            places = np.flatnonzero(said)
            heard = state.heard[name][np.array(rows)[:, np.newaxis], places]
            for line, (_, sent) in zip(heard, mail, strict=True):
                if len(sent.places) == len(places):
                    line[:] = sent.ids
                else:
                    line[np.searchsorted(places, sent.places)] = sent.ids
            changed[places] |= state.hear(name, rows, places, heard, self._accept(config, group, heard, places))
        found = np.flatnonzero(changed)
        state.touch(name, found)
        return found

    def _accept(self, config: DeviceConfig, group: BgpGroup, heard: Ids, places: Places) -> Ids:
        """What a device keeps of what it heard: loops and other colors out, then import policy."""
        if (heard < 0).all():
            return heard
        bgp = config.bgp
        assert bgp is not None  # noqa: S101 - only devices with BGP have groups
        refused = self.table.passed(group.local_as, heard)
        if group.fabric_color is not None:
            refused |= foreign_color(self.table, heard, color_value(config, group))
        kept = np.where(refused, np.int32(NONE), heard).astype(np.int32)
        accepted = self.policies.apply(bgp, group.import_policy, kept, self._none_direct[places], places)
        if bgp.compare_aigp:
            return accepted
        return self.table.map("ignore AIGP", accepted, lambda old: replace(old, aigp=None))

    def _fib(self, state: State, name: str, down: frozenset[str], places: Places) -> Fib:
        """A device's forwarding table of the prefixes at ``places``."""
        config = self.configs[name]
        links = [peer.session.link for peer in self._peers[name]]
        width = config.bgp.maximum_ecmp if config.bgp else 1
        keys = self.table.keys(state.accepted[name][:, places])
        return forwarding(name, keys, self._origins.local(config, down)[places], links, width, self.groups)

    def _changed_fib(self, state: State, name: str, down: frozenset[str], before: Fib, lost: list[int]) -> Fib:
        """A forwarding table after changes: groups without the links lost, and anew where that does not tell all."""
        config = self.configs[name]
        links = frozenset(self._peers[name][row].session.link for row in lost)
        width = config.bgp.maximum_ecmp if config.bgp else 1
        anew, fib = without(before, links, width, self.groups)
        anew[state.touched.get(name, [])] = True
        return (
            patched(fib, self._fib(state, name, down, places), places) if len(places := np.flatnonzero(anew)) else fib
        )

    def _collect(self, state: State, fibs: dict[str, Fib], down: frozenset[str]) -> Routes:
        def gone(key: tuple[str, str]) -> bool:
            return is_down(key[0], self._far[key], down)

        heard = Heard(state.heard, self._rows, gone)

        def live(name: str) -> Mask:
            return self._origins.live(self.configs[name], down)

        composed, holds, shared = self._overlay.compose(fibs, live, down)
        return Routes(self.prefixes, self._place, composed, self.groups.members, down, heard, holds, shared)
