"""What devices decide: the best of what they hear, what they pass on, and where packets go.

A decision depends on a device's rules, on what it originates, and on what it hears. Devices with equal ones, as the
spines of a path color have, decide alike: every decision is taken once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from railweave.routes.advertised import Interned
from railweave.routes.as_paths import EMPTY
from railweave.routes.attributes import NONE, Attributes, as_sent
from railweave.routes.colors import color_value, colored, foreign_color
from railweave.routes.forwarding import pattern
from railweave.routes.once import Once

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from railweave.device.model import BgpGroup, DeviceConfig, FabricAdvertise
    from railweave.routes.advertised import Advertised, PathColumn, RouteColumn
    from railweave.routes.as_paths import AsPaths
    from railweave.routes.attributes import AttributeTable, Ids, Mask
    from railweave.routes.candidates import Candidate, Candidates
    from railweave.routes.forwarding import Pattern
    from railweave.routes.policy import PolicyEngine, Resolved


class GroupRules(NamedTuple):
    """What a group takes and passes on; ``color`` is the value of its ``fabric_color``."""

    imports: Resolved
    exports: Resolved
    fabric_color: str | None
    color: str


@dataclass(frozen=True)
class Rules:
    """How a device decides, apart from its name, its AS numbers and its neighbors."""

    groups: tuple[GroupRules, ...]
    redistribute: Resolved | None
    compare_aigp: bool
    advertise: tuple[FabricAdvertise, ...]


class Decision(NamedTuple):
    """What a device decided: by group the route passed on for each prefix, and which candidates it forwards to.

    ``learned`` are the places of what it passes on from others, ``winner`` the candidate that each prefix's route is of.
    """

    routes: tuple[RouteColumn, ...]
    learned: NDArray[np.intp]
    winner: NDArray[np.intp]
    pattern: Pattern


def rules_of(config: DeviceConfig, policies: PolicyEngine) -> Rules:
    """The rules of a device."""
    bgp = config.bgp
    if bgp is None:
        return Rules((), None, compare_aigp=False, advertise=())

    def rules(group: BgpGroup) -> GroupRules:
        imports, exports = policies.resolved(bgp, group.import_policy), policies.resolved(bgp, group.export_policy)
        return GroupRules(imports, exports, group.fabric_color, color_value(config, group))

    connected = bgp.redistribute_connected
    return Rules(
        tuple(map(rules, bgp.groups)),
        None if connected is None else policies.resolved(bgp, connected),
        bgp.compare_aigp,
        bgp.fabric_advertise,
    )


class Decisions:
    """Decisions taken so far."""

    def __init__(
        self, table: AttributeTable, policies: PolicyEngine, paths: AsPaths, place: Mapping[str, int], once: Once
    ) -> None:
        self._table, self._policies, self._paths, self._place, self.once = table, policies, paths, place, once
        self._count = policies.count
        self._columns = Interned(paths, once)
        self._direct_id = np.int32(table.id_of(Attributes("direct")))
        self._no_paths = self._columns.paths(np.full(self._count, EMPTY, dtype=np.int32))
        no_routes = self._columns.routes(np.full(self._count, NONE, dtype=np.int32))
        self.nothing = self._columns.advertised(no_routes, self._no_paths)

    def further(self) -> Decisions:
        """A place for more decisions beside these, which go when it is no longer used."""
        return Decisions(self._table, self._policies, self._paths, self._place, Once(self.once))

    def decide(self, rules: Rules, local: Mask, choice: Candidates) -> Decision:
        """What a device decides that originates the ``local`` prefixes."""
        weights = tuple(map(len, choice.rows))
        key = ("decision", id(rules), local.tobytes(), choice.heard, weights)
        return self.once(key, lambda: self._decide(rules, local, choice.heard, weights))

    def told(self, decision: Decision, choice: Candidates) -> list[Advertised]:
        """What a device with a decision tells the neighbors of each of its groups."""
        paths = self._no_paths
        if len(decision.learned):
            key = ("paths", id(decision), choice.senders)
            paths = self.once(key, lambda: self._extended(decision, choice.senders))
        return [self._columns.advertised(routes, paths) for routes in decision.routes]

    def _extended(self, decision: Decision, senders: tuple[tuple[int, PathColumn], ...]) -> PathColumn:
        """The AS paths of what is passed on: those that the winners sent, with their own numbers in front."""
        paths = np.full(self._count, EMPTY, dtype=np.int32)
        at = decision.learned
        winner = decision.winner[at]
        sent = np.stack([column.ids for _, column in senders])[winner, at]
        paths[at] = self._paths.extended(np.array([asn for asn, _ in senders], dtype=np.int64)[winner], sent)
        return self._columns.paths(paths)

    def _accepted(self, rules: Rules, heard: tuple[Candidate, ...]) -> Ids:
        """What a device keeps of what it hears, a row for each candidate: loops and other colors out, then policy."""
        rows = np.full((len(heard), self._count), NONE, dtype=np.int32)
        for row, one in zip(rows, heard, strict=True):
            if not one.looped:
                row[:] = self._imported(rules.groups[one.group], one, ignore_aigp=not rules.compare_aigp)
                row[np.frombuffer(one.refused, np.int32)] = NONE
        return rows

    def _imported(self, group: GroupRules, one: Candidate, *, ignore_aigp: bool) -> Ids:
        def decide() -> Ids:
            ids = self._table.map(("send", one.aigp), one.routes.ids, lambda old: as_sent(old, aigp=one.aigp))
            if group.fabric_color is not None:
                ids = np.where(foreign_color(self._table, ids, group.color), np.int32(NONE), ids).astype(np.int32)
            ids = self._policies.apply(group.imports, ids, np.zeros(self._count, np.bool_))
            return self._table.map("ignore AIGP", ids, lambda old: replace(old, aigp=None)) if ignore_aigp else ids

        color = None if group.fabric_color is None else group.color
        return self.once(("import", one.routes, one.aigp, group.imports, color, ignore_aigp), decide)

    def _decide(self, rules: Rules, local: Mask, heard: tuple[Candidate, ...], weights: tuple[int, ...]) -> Decision:
        best = np.full(self._count, NONE, dtype=np.int32)
        winner = np.zeros(self._count, dtype=np.intp)
        rows = self._accepted(rules, heard)
        keys = self._table.keys(rows)
        if heard:
            winner = keys.argmin(axis=0)
            best = rows[winner, np.arange(self._count)]
        if local.any():
            own = np.where(local, self._direct_id, np.int32(NONE)).astype(np.int32)
            if rules.redistribute is not None:
                own = self._policies.apply(rules.redistribute, own, local)
            best = np.where(local, own, best).astype(np.int32)
        after = {one: self._policies.apply(one, best, local) for one in dict.fromkeys(g.exports for g in rules.groups)}
        passed = [self._colored(rules, group, local, best, after[group.exports]) for group in rules.groups]
        learned = np.zeros(self._count, dtype=np.bool_)
        for one in dict.fromkeys(passed):
            learned |= one.present
        return Decision(tuple(passed), np.flatnonzero(learned & ~local), winner, pattern(keys, local, weights))

    def _colored(self, rules: Rules, group: GroupRules, local: Mask, best: Ids, passed: Ids) -> RouteColumn:
        """What a group's policy let pass, by the rules of its color if it has one."""
        routes, name = self._columns.routes(passed), group.fabric_color
        if name is None or routes.empty:
            return routes

        def color() -> RouteColumn:
            own = local & (best >= 0)
            advertise = (self._table, self._place, rules.advertise, (name, group.color), own, passed)
            return self._columns.routes(colored(*advertise))

        return self.once(("colored", id(rules), local.tobytes(), name, routes), color)
