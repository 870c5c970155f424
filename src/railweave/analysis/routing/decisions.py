"""Routing decisions of devices: the best routes, the routes to advertise further, the next hops, and the rules of path colors.

A decision depends on a device's rules, on the prefixes that it originates and on the routes that it receives. Devices
with equal inputs, such as the spines of a path color, have equal decisions, so each decision is computed once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from railweave.analysis.routing.attributes import ALL, NONE, Attributes, as_sent
from railweave.analysis.routing.candidates import EMPTY, NOWHERE, InternedColumns, Memo
from railweave.analysis.routing.forwarding import Pattern, pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from railweave.analysis.routing import candidates
    from railweave.analysis.routing.attributes import AttributeTable, Ids, Mask, Places
    from railweave.analysis.routing.policy import PolicyEngine, ResolvedPolicy
    from railweave.model.device.model import BgpGroup, DeviceConfig, FabricAdvertise


def advertised(
    table: AttributeTable,
    place: Mapping[str, int],
    advertise: tuple[FabricAdvertise, ...],
    color: tuple[str, str],
    own_prefixes: Mask,
    kept: Ids,
    passed: Ids,
    places: NDArray[np.intp],
) -> Ids:
    """Return a group's exported routes under deterministic path forwarding, with colored copies of the device's own prefixes.

    - ``place``: the index of each prefix.
    - ``advertise``: the device's own prefixes, each with its color and its backup colors.
    - ``color``: the name and the community value of the group's color.
    - ``own_prefixes``: a mask of the device's own prefixes, over ``places``.
    - ``passed``: the routes that the export policy accepted.
    - ``kept``: the routes of ``passed``, except routes of other colors.
    - ``places``: the indexes of the prefixes to which all these arrays refer.
    """
    name, mine = color
    result = kept.copy()
    copies: dict[tuple[int, int | None], int] = {}  # a device's own prefixes are mostly alike
    for entry in advertise:
        prefix_place = place.get(entry.prefix)
        at = int(np.searchsorted(places, prefix_place)) if prefix_place is not None else len(places)
        if at == len(places) or places[at] != prefix_place or not own_prefixes[at]:
            continue
        primary = entry.color == name
        if passed[at] < 0 or not (primary or name in entry.backup_colors):
            result[at] = NONE
            continue
        key = original, aigp = int(passed[at]), 0 if primary and entry.backup_colors else None
        copy_id = copies.get(key)
        if copy_id is None:
            copied = table.items[original]
            copied = replace(copied, aigp=aigp, communities=copied.communities | {mine})
            copy_id = copies[key] = table.id_of(copied)
        result[at] = copy_id
    return result


def foreign_color(table: AttributeTable, ids: Ids, mine: str) -> Mask:
    """Return a mask of the routes that have the community of another color and not the community ``mine``.

    ``ids`` are the attribute IDs of the routes in ``table``.
    """

    def foreign(held: frozenset[str]) -> bool:
        return mine not in held and any(value.startswith("color:") for value in held)

    return table.having(ids, ("foreign color", mine), foreign)


def color_value(config: DeviceConfig, group: BgpGroup) -> str:
    """Return the community value of a group's color. If the color is not defined, return a value that no route has."""
    communities = config.bgp.communities if config.bgp else ()
    return next(
        (community.value for community in communities if community.name == group.fabric_color), "color:undefined"
    )


_MANY = 4096
"""The number of received routes from which prefixes with the same routes are grouped, so that each group is decided once."""

_FACTOR = 0x1E3779B97F4A7C15
"""A multiplier that distributes hash values evenly: 2^64 divided by the golden ratio, without the sign bit."""


class GroupRules(NamedTuple):
    """The routing rules of a BGP group: its import and export policies, and its color.

    ``fabric_color`` is the color's name, or None. ``color`` is the color's community value.
    """

    imports: ResolvedPolicy
    exports: ResolvedPolicy
    fabric_color: str | None
    color: str


class CommonRules(NamedTuple):
    """The rules for a device's decisions on the prefixes of other devices: its groups' rules, and True if AIGP is compared."""

    groups: tuple[GroupRules, ...]
    compare_aigp: bool


class Rules(NamedTuple):
    """The rules for a device's decisions. They do not contain its name, its AS numbers or its neighbors.

    - ``common``: the rules for the prefixes of other devices.
    - ``exports_connected``: True if export policies apply to the device's own prefixes directly. Otherwise only the own
      prefixes that the policy ``redistribute`` accepts enter BGP.
    - ``advertise``: own prefixes with their path colors.
    """

    common: CommonRules
    exports_connected: bool
    redistribute: ResolvedPolicy | None
    advertise: tuple[FabricAdvertise, ...]


class Decision(NamedTuple):
    """A device's decision on some or all prefixes.

    - ``passed``: for each group, the routes that the device advertises to the group's neighbors.
    - ``winner``: for each prefix, the index of the candidate with the best route.
    - ``pattern``: for each prefix, the candidates over whose sessions the device sends packets.
    """

    passed: tuple[Ids, ...]
    winner: NDArray[np.intp]
    pattern: Pattern


class Outcome(NamedTuple):
    """A device's decision on all prefixes.

    ``routes`` are the advertised routes of each group. ``learned`` holds the indexes of the received prefixes that the device
    advertises further. ``winner`` and ``pattern`` are as in ``Decision``: the best candidate and the next hops.
    """

    routes: tuple[candidates.RouteColumn, ...]
    learned: NDArray[np.intp]
    winner: NDArray[np.intp]
    pattern: Pattern


def rules_of(config: DeviceConfig, policies: PolicyEngine, memo: Memo) -> Rules:
    """Return the rules of a device. Devices with equal rules get the same object.

    ``policies`` resolves the device's policies, and ``memo`` is the cache of rules.
    """
    bgp = config.bgp
    if bgp is None:
        return memo("no rules", lambda: Rules(CommonRules((), compare_aigp=False), False, None, ()))

    def of_group(group: BgpGroup) -> GroupRules:
        imports = policies.resolved(bgp, group.import_policy, config.name)
        exports = policies.resolved(bgp, group.export_policy, config.name)
        return GroupRules(imports, exports, group.fabric_color, color_value(config, group))

    common = CommonRules(tuple(map(of_group, bgp.groups)), bgp.compare_aigp)
    connected = bgp.redistribute_connected
    rules = Rules(
        memo(("common rules", common), lambda: common),
        bgp.default_accept,
        None if connected is None else policies.resolved(bgp, connected, config.name),
        bgp.fabric_advertise,
    )
    return memo(("rules", rules), lambda: rules)


class Decisions:
    """A cache of routing decisions, which computes a decision when it is first requested."""

    def __init__(
        self,
        table: AttributeTable,
        policies: PolicyEngine,
        paths: candidates.AsPaths,
        place: Mapping[str, int],
        memo: Memo,
    ) -> None:
        self._table, self._policies, self._paths, self._place, self.memo = table, policies, paths, place, memo
        self._count = policies.count
        self._columns = InternedColumns(paths, memo)
        self._direct_id = np.int32(table.id_of(Attributes("direct")))
        self._no_paths = self._columns.paths(np.full(self._count, EMPTY, dtype=np.int32))
        self._no_prefixes = np.zeros(self._count, dtype=np.bool_)
        no_routes = self._columns.routes(np.full(self._count, NONE, dtype=np.int32))
        self.nothing = self._columns.advertised(no_routes, self._no_paths)

    def further(self) -> Decisions:
        """Return a new cache that also reads from this cache. New decisions are stored only in the new cache."""
        return Decisions(self._table, self._policies, self._paths, self._place, Memo(self.memo))

    def decide(self, rules: Rules, local: Mask, choice: candidates.Candidates) -> Outcome:
        """Return the decision of a device. ``local`` is a mask of the device's own prefixes; ``choice`` holds the received routes."""
        weights = tuple(map(len, choice.rows))
        key = ("outcome", id(rules), local.tobytes(), choice.received, weights)
        return self.memo(key, lambda: self._decide(rules, local, choice.received, weights))

    def let_in(self, rules: Rules, candidate: candidates.Candidate) -> Mask:
        """Return a mask of the prefixes that a device accepts from a candidate (sessions that received the same routes)."""
        return self.memo(("let in", id(rules.common), candidate), lambda: self.admitted(rules, candidate) != NONE)

    def admitted(self, rules: Rules, candidate: candidates.Candidate) -> Ids:
        """Return the routes that a device accepts from a candidate (sessions that received the same routes).

        The result has one attribute ID for each prefix, after the import policy.
        """
        common = rules.common
        return self.memo(("admitted", id(common), candidate), lambda: self._accepted(common, (candidate,))[0])

    def advertised_by_group(self, outcome: Outcome, choice: candidates.Candidates) -> list[candidates.Advertisements]:
        """Return the routes that a device advertises to the neighbors of each of its groups.

        ``outcome`` is the device's decision. ``choice`` holds the routes that it has received.
        """
        paths = self._no_paths
        if len(outcome.learned):
            key = ("paths", id(outcome), choice.senders)
            paths = self.memo(key, lambda: self._extended(outcome, choice.senders))
        return [self._columns.advertised(routes, paths) for routes in outcome.routes]

    def _decide(
        self, rules: Rules, local: Mask, received: tuple[candidates.Candidate, ...], weights: tuple[int, ...]
    ) -> Outcome:
        """Return the decision on all prefixes. Devices with common rules, such as the leaves of a stripe, share most of the decision.

        The exceptions are the device's own prefixes (``local``, a mask) and the prefixes that it refuses: these are decided for each
        device. ``received`` holds the candidates, and ``weights`` the number of sessions of each candidate.
        """
        common = rules.common
        alike = tuple(candidate._replace(refused=NOWHERE) for candidate in received)
        shared = self.memo(
            ("shared", id(common), alike, weights),
            lambda: self._decided(common, None, self._no_prefixes, self._accepted(common, alike), weights, ALL),
        )
        special = local.copy()
        for candidate in received:
            special[np.frombuffer(candidate.refused, np.int32)] = True
        places = np.flatnonzero(special)
        passed, winner, pattern = shared
        if len(places):
            rows, mine = self._accepted(common, received, places), local[places]
            key = ("own", id(rules), places.tobytes(), mine.tobytes(), rows.tobytes(), weights)
            own_decision = self.memo(key, lambda: self._decided(common, rules, mine, rows, weights, places))
            passed = tuple(
                _patched(shared_ids, places, other)
                for shared_ids, other in zip(passed, own_decision.passed, strict=True)
            )
            winner, pattern = (
                _patched(winner, places, own_decision.winner),
                pattern.patched(places, own_decision.pattern),
            )
        learned = np.zeros(self._count, dtype=np.bool_)
        for group_ids in passed:
            learned |= group_ids != NONE
        return Outcome(tuple(map(self._columns.routes, passed)), np.flatnonzero(learned & ~local), winner, pattern)

    def _decided(
        self, common: CommonRules, rules: Rules | None, local: Mask, rows: Ids, weights: tuple[int, ...], places: Places
    ) -> Decision:
        """Return the decision on the prefixes at ``places``.

        - ``common``: the device's rules for the prefixes of other devices.
        - ``rules``: all rules of the device; None if there are no own prefixes.
        - ``local``: a mask of the device's own prefixes.
        - ``rows``: the accepted routes, one row per candidate.
        - ``weights``: the number of sessions of each candidate.
        """
        different = None if local.any() else _different(rows)
        keys = self._table.keys(rows if different is None else rows[:, different[0]])
        best, winner = np.full(len(local), NONE, dtype=np.int32), np.zeros(len(local), dtype=np.intp)
        if len(rows):
            winner = keys.argmin(axis=0)
            winner = winner if different is None else winner[different[1]]
            best = rows[winner, np.arange(len(local))]
        if rules is not None:
            direct_routes = np.where(local, self._direct_id, np.int32(NONE)).astype(np.int32)
            if rules.redistribute is not None:
                direct_routes = self._policies.apply(rules.redistribute, direct_routes, local, places)
            elif not rules.exports_connected:
                direct_routes[:] = NONE
            best = np.where(local, direct_routes, best).astype(np.int32)
        places_key = () if isinstance(places, slice) else (id(rules), places.tobytes(), local.tobytes())
        key = ("passed", id(common), places_key, best.tobytes())
        passed = self.memo(key, lambda: self._passed(common, rules, local, best, places))
        chosen_pattern = pattern(keys, local if different is None else local[different[0]], weights)
        return Decision(passed, winner, chosen_pattern if different is None else chosen_pattern.spread(different[1]))

    def _passed(
        self, common: CommonRules, rules: Rules | None, local: Mask, best: Ids, places: Places
    ) -> tuple[Ids, ...]:
        """Return, for each group, the routes that its export policy accepts. If the group has a color, routes of other colors are removed.

        ``common`` holds the policies and the color of each group. ``best`` holds the best route of each prefix at ``places``. ``local`` is
        a
        mask of the device's own prefixes there. ``rules`` is None if there are no own prefixes.
        """
        after = {
            export_policy: self._policies.apply(export_policy, best, local, places)
            for export_policy in {group.exports for group in common.groups}
        }
        own_prefixes = local & (best >= 0)
        passed_by_group: list[Ids] = []
        for group in common.groups:
            passed = after[group.exports]
            name, value = group.fabric_color, group.color
            if name is not None and (passed != NONE).any():
                kept = np.where(foreign_color(self._table, passed, value), np.int32(NONE), passed).astype(np.int32)
                if rules is not None and not isinstance(places, slice):
                    kept = advertised(
                        self._table, self._place, rules.advertise, (name, value), own_prefixes, kept, passed, places
                    )
                passed = kept
            passed_by_group.append(passed)
        return tuple(passed_by_group)

    def _extended(
        self, outcome: Outcome, senders: tuple[tuple[int, candidates.PathColumn], ...]
    ) -> candidates.PathColumn:
        """Return the AS paths of the routes to advertise further.

        A path is the path that the best candidate's neighbor sent, with that neighbor's AS number prepended. ``outcome`` holds the best
        candidate of each prefix. ``senders`` holds (the neighbor's AS number, the AS paths that it sent) for each candidate.
        """
        paths = np.full(self._count, EMPTY, dtype=np.int32)
        at = outcome.learned
        winner = outcome.winner[at]
        sent = np.stack([column.ids for _, column in senders])[winner, at]
        paths[at] = self._paths.extended(np.array([asn for asn, _ in senders], dtype=np.int64)[winner], sent)
        return self._columns.paths(paths)

    def _accepted(self, common: CommonRules, received: tuple[candidates.Candidate, ...], places: Places = ALL) -> Ids:
        """Return the received routes that a device accepts, one row for each candidate, over the prefixes at ``places``.

        Loops and routes of other colors are removed first. Then the import policy in ``common`` applies. All prefixes that a candidate
        refuses because of loops must be among ``places``.
        """
        count = self._count if isinstance(places, slice) else len(places)
        rows = np.full((len(received), count), NONE, dtype=np.int32)
        for row, candidate in zip(rows, received, strict=True):
            if not candidate.looped:
                row[:] = self._imported(common.groups[candidate.group], candidate, ignore_aigp=not common.compare_aigp)[
                    places
                ]
                refused = np.frombuffer(candidate.refused, np.int32)
                row[refused if isinstance(places, slice) else np.searchsorted(places, refused)] = NONE
        return rows

    def _imported(self, group: GroupRules, candidate: candidates.Candidate, *, ignore_aigp: bool) -> Ids:
        def decide() -> Ids:
            ids = self._table.map(
                ("send", candidate.aigp), candidate.routes.ids, lambda old: as_sent(old, aigp=candidate.aigp)
            )
            if group.fabric_color is not None:
                ids = np.where(foreign_color(self._table, ids, group.color), np.int32(NONE), ids).astype(np.int32)
            ids = self._policies.apply(group.imports, ids, self._no_prefixes)
            return self._table.map("ignore AIGP", ids, lambda old: replace(old, aigp=None)) if ignore_aigp else ids

        color = None if group.fabric_color is None else group.color
        return self.memo(("import", candidate.routes, candidate.aigp, group.imports, color, ignore_aigp), decide)


def _different(rows: Ids) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Find equal columns of ``rows`` (prefixes with the same routes), so that each group of equal columns is decided once.

    Return (indexes of the distinct columns; for each column, the position of the equal column among the distinct columns). Return None
    if there are few routes, or if hashes of different columns collide.
    """
    if rows.size < _MANY:
        return None
    factors = np.arange(1, len(rows) + 1, dtype=np.int64) * _FACTOR | 1
    _, first, like = np.unique(factors @ rows.astype(np.int64), return_index=True, return_inverse=True)
    return (first, like) if (rows[:, first][:, like] == rows).all() else None


def _patched(column: NDArray[Any], places: NDArray[np.intp], values: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of an array with new values at the given indexes (``places``)."""
    patched = column.copy()
    patched[places] = values
    return patched
