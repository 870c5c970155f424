"""From decision keys to a forwarding table: next-hop groups, backups and reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from railweave.routes.attributes import NO_ROUTE, REASONS, reasons
from railweave.routes.table import LOCAL, UNREACHABLE, Fib

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.routes.attributes import Mask, Places

ONLY, MULTIPATH = REASONS.index("only"), REASONS.index("multipath")


class Groups:
    """Next-hop groups by id; equal groups have one id."""

    def __init__(self) -> None:
        self.members: list[tuple[str, ...]] = []
        self._ids: dict[tuple[str, ...], int] = {}

    def id_of(self, links: tuple[str, ...]) -> int:
        """The id of a group, given now if it is new."""
        found = self._ids.get(links)
        if found is None:
            found = self._ids[links] = len(self.members)
            self.members.append(links)
        return found


def forwarding(name: str, keys: NDArray[np.int64], local: Mask, links: list[str], width: int, groups: Groups) -> Fib:
    """One device's table from the decision key of each session's route: ``keys`` has a row a session.

    The next-hop group of a prefix is every session with the best key, at most ``width``; the backup is every session
    with the next best.
    """
    if not len(keys):
        keys = np.full((1, len(local)), NO_ROUTE, dtype=np.int64)
    best = keys.min(axis=0)
    members = (keys == best) & (best != NO_ROUTE)
    rest = np.where(members, NO_ROUTE, keys)
    second = rest.min(axis=0)
    backups = (rest == second) & (second != NO_ROUTE)
    group = np.where(local, np.int32(LOCAL), _ids(members, links, groups, width)).astype(np.int32)
    backup = np.where(local, np.int32(UNREACHABLE), _ids(backups, links, groups, width)).astype(np.int32)
    reason = np.where(local, np.uint8(2), reasons(best, second, members.sum(axis=0))).astype(np.uint8)
    return Fib(name, group, backup, reason)


def without(fib: Fib, links: frozenset[str], width: int, groups: Groups) -> tuple[Mask, Fib]:
    """A table whose groups have lost some links, and where it cannot be told without the routes: a mask.

    That is where a group or a backup has no link left, or was cut to ``width`` and others move up.
    """
    anew = np.zeros(len(fib.group), dtype=np.bool_)
    if not links:
        return anew, fib
    group, backup, reason = fib.group.copy(), fib.backup.copy(), fib.reason.copy()
    for table in (group, backup):
        for number in cast("list[int]", np.unique(table[table >= 0]).tolist()):
            members = groups.members[number]
            left = tuple(link for link in members if link not in links)
            if len(left) < len(members):
                where = table == number
                if not left or len(members) >= width:
                    anew |= where
                else:
                    table[where] = groups.id_of(left)
                    if table is group and len(left) == 1:  # no longer one of several, where nothing loses to it
                        reason[where & (reason == MULTIPATH)] = ONLY
    return anew, Fib(fib.device, group, backup, reason)


def patched(fib: Fib, part: Fib, places: Places) -> Fib:
    """A table with a part of it anew."""
    group, backup, reason = fib.group.copy(), fib.backup.copy(), fib.reason.copy()
    group[places], backup[places], reason[places] = part.group, part.backup, part.reason
    return Fib(fib.device, group, backup, reason)


def _ids(members: Mask, links: list[str], groups: Groups, width: int) -> NDArray[np.int32]:
    """The next-hop group of each prefix; columns that are alike are looked at once."""
    packed = np.packbits(members, axis=0).T
    columns = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, inverse = np.unique(columns, return_index=True, return_inverse=True)
    ids = np.empty(len(first), dtype=np.int32)
    for place, column in enumerate(cast("list[int]", first.tolist())):
        rows = cast("list[int]", np.flatnonzero(members[:, column])[:width].tolist())
        ids[place] = groups.id_of(tuple(links[row] for row in rows)) if rows else UNREACHABLE
    return ids[inverse.reshape(-1)]
