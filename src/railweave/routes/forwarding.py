"""From decision keys to a forwarding table: next-hop groups, backups and reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from railweave.routes.attributes import NO_ROUTE, reasons
from railweave.routes.table import LOCAL, UNREACHABLE, Fib

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.routes.attributes import Mask


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
