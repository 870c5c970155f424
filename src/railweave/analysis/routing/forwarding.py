"""Conversion of decision keys (numbers that rank routes) to a forwarding table: next-hop groups, backups and reasons."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from railweave.analysis.routing.attributes import NO_ROUTE, REASONS, reasons
from railweave.analysis.routing.table import LOCAL, UNREACHABLE, Fib

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from railweave.analysis.routing.attributes import Mask

    Rows = tuple[tuple[int, ...], ...]
    """The indexes of the sessions of each candidate."""

    Sets = tuple[tuple[int, ...], ...]
    """Sets of candidates, as tuples of their indexes."""


_BITS = 63
"""The number of candidates from which a column of flags, one per candidate, no longer fits into a 64-bit integer."""


class Groups:
    """Next-hop groups (tuples of links) by ID. Equal groups have the same ID."""

    def __init__(self) -> None:
        self.members: list[tuple[str, ...]] = []
        self._ids: dict[tuple[str, ...], int] = {}
        self._of_choices: dict[Hashable, NDArray[np.int32]] = {}

    def id_of(self, links: tuple[str, ...]) -> int:
        """Return the ID of the next-hop group with these links. A new group gets a new ID."""
        group_id = self._ids.get(links)
        if group_id is None:
            group_id = self._ids[links] = len(self.members)
            self.members.append(links)
        return group_id

    def of_choice(self, device: str, width: int, sets: Sets, rows: Rows, links: Sequence[str]) -> NDArray[np.int32]:
        """Return an array with the next-hop group ID of each set of candidates in ``sets``. A group has at most ``width`` links.

        ``rows`` holds the session indexes of each candidate; ``links`` holds the link of each session. Results are cached for each
        ``device``, because ``links`` depends on it. The last two elements of the array are ``LOCAL`` and ``UNREACHABLE``. These are
        negative indexes, so each selects itself in the array.
        """
        key = (device, width, sets, rows)
        group_ids = self._of_choices.get(key)
        if group_ids is None:
            ids = [0] * (len(sets) + 2)
            ids[LOCAL], ids[UNREACHABLE] = LOCAL, UNREACHABLE
            for place, candidate_set in enumerate(sets):
                members = (
                    rows[candidate_set[0]]
                    if len(candidate_set) == 1
                    else sorted(itertools.chain.from_iterable(map(rows.__getitem__, candidate_set)))
                )
                ids[place] = self.id_of(tuple(map(links.__getitem__, members[:width])))
            group_ids = self._of_choices[key] = np.array(ids, dtype=np.int32)
        return group_ids


class Pattern(NamedTuple):
    """A forwarding table whose next hops are still candidates (sessions that received the same routes), not links.

    ``sets`` are sets of candidate indexes. For each prefix, ``best`` and ``second`` (the backup) are indexes into ``sets``, or the
    negative values ``UNREACHABLE`` or ``LOCAL``. ``reason`` holds codes of ``REASONS``.
    """

    sets: Sets
    best: NDArray[np.int32]
    second: NDArray[np.int32]
    reason: NDArray[np.uint8]

    def patched(self, places: NDArray[np.intp], part: Pattern) -> Pattern:
        """Return a copy in which the prefixes with the indexes ``places`` have the values of ``part``."""
        best, second, reason = self.best.copy(), self.second.copy(), self.reason.copy()
        more = len(self.sets)
        best[places] = np.where(part.best < 0, part.best, part.best + more)
        second[places] = np.where(part.second < 0, part.second, part.second + more)
        reason[places] = part.reason
        return Pattern(self.sets + part.sets, best, second, reason)

    def spread(self, places: NDArray[np.intp]) -> Pattern:
        """Return the pattern (next-hop candidates of each prefix) expanded to more prefixes.

        ``places`` holds, for each new prefix, the index of its values in this pattern.
        """
        return Pattern(self.sets, self.best[places], self.second[places], self.reason[places])


def pattern(keys: NDArray[np.int64], local: Mask, weights: tuple[int, ...]) -> Pattern:
    """Return the forwarding pattern (the next-hop candidates of each prefix) from decision keys.

    ``keys`` has one row per candidate and one column per prefix. ``weights`` holds the number of sessions of each candidate.
    ``local`` is a mask of the device's own prefixes. Packets to a prefix go to every candidate with the best key. The backup is
    every candidate with the second-best key.
    """
    if local.all():
        there, nowhere = np.full(len(local), LOCAL, np.int32), np.full(len(local), UNREACHABLE, np.int32)
        return Pattern((), there, nowhere, np.full(len(local), REASONS.index("local"), np.uint8))
    if not len(keys):
        keys, weights = np.full((1, len(local)), NO_ROUTE, dtype=np.int64), (1,)
    best = keys.min(axis=0)
    members = (keys == best) & (best != NO_ROUTE)
    rest = np.where(members, NO_ROUTE, keys)
    second = rest.min(axis=0)
    backups = (rest == second) & (second != NO_ROUTE)
    sets, places = _sets(np.concatenate([members, backups], axis=1))
    first, other = np.split(places, 2)
    reason = reasons(best, second, np.array(weights) @ members)
    return Pattern(
        sets,
        np.where(local, np.int32(LOCAL), first).astype(np.int32),
        np.where(local, np.int32(UNREACHABLE), other).astype(np.int32),
        np.where(local, np.uint8(REASONS.index("local")), reason).astype(np.uint8),
    )


def forwarding(name: str, device_pattern: Pattern, rows: Rows, links: Sequence[str], width: int, groups: Groups) -> Fib:
    """Return the forwarding table of one device, with next-hop links in place of the candidates of its pattern.

    ``rows`` holds the session indexes of each candidate, and ``links`` the link of each session. A next-hop group has
    the links of all candidates in a set, in the order of sessions, but at most ``width`` links.
    """
    ids = groups.of_choice(name, width, device_pattern.sets, rows, links)
    return Fib(name, ids[device_pattern.best], ids[device_pattern.second], device_pattern.reason)


def _sets(members: Mask) -> tuple[Sets, NDArray[np.int32]]:
    """Return (the distinct non-empty columns, each as the set of its True rows; for each column, the index of its set).

    The index of an empty column is ``UNREACHABLE``. A row of ``members`` is a candidate; a column has the candidates to which packets
    to one prefix go. Equal columns are processed only once.
    """
    if len(members) < _BITS:
        columns = (np.int64(1) << np.arange(len(members))) @ members
    else:
        packed = np.packbits(members, axis=0).T
        columns = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, inverse = np.unique(columns, return_index=True, return_inverse=True)
    which, rows = np.nonzero(members[:, first].T)
    bounds = cast("list[int]", np.searchsorted(which, np.arange(len(first) + 1)).tolist())
    held = rows.tolist()
    sets = [tuple(held[start:end]) for start, end in itertools.pairwise(bounds)]
    empty = np.array([not row_set for row_set in sets], dtype=np.bool_)
    places = np.where(empty, UNREACHABLE, np.cumsum(~empty) - 1).astype(np.int32)
    return tuple(row_set for row_set in sets if row_set), places[inverse.reshape(-1)]
