"""What the devices of a control plane have heard, keep, prefer and have sent: tables that are copied when written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.routes.attributes import NONE

if TYPE_CHECKING:
    from railweave.routes.attributes import Ids, Mask, Places


@dataclass
class State:
    """``heard`` and ``accepted`` (after import policy) have a row a session; ``sent`` is by device and group.

    ``touched`` are the prefixes whose accepted or local routes changed by other than sessions that went down.
    """

    heard: dict[str, Ids]
    accepted: dict[str, Ids]
    best: dict[str, Ids]
    sent: dict[tuple[str, str], Ids]
    touched: dict[str, Places] = field(default_factory=dict[str, "Places"])
    _own: set[tuple[str, Any]] = field(default_factory=set[tuple[str, Any]])

    @staticmethod
    def empty(sessions: dict[str, tuple[int, list[str]]], prefixes: int) -> State:
        """Nothing heard yet; ``sessions`` has each device's number of sessions and its groups."""

        def nothing(*shape: int) -> Ids:
            return np.full(shape, NONE, dtype=np.int32)

        return State(
            {name: nothing(count, prefixes) for name, (count, _) in sessions.items()},
            {name: nothing(count, prefixes) for name, (count, _) in sessions.items()},
            {name: nothing(prefixes) for name in sessions},
            {(name, group): nothing(prefixes) for name, (_, groups) in sessions.items() for group in groups},
            _own={(table, name) for name in sessions for table in ("heard", "accepted", "best")}
            | {("sent", (name, group)) for name, (_, groups) in sessions.items() for group in groups},
        )

    def copy(self) -> State:
        """The same, to be changed without changing this one."""
        return State(dict(self.heard), dict(self.accepted), dict(self.best), dict(self.sent))

    def _writable(self, table: str, key: Any) -> Ids:  # noqa: ANN401 - a device, or a device and a group
        tables: dict[Any, Ids] = getattr(self, table)
        if (table, key) not in self._own:
            tables[key] = tables[key].copy()
            self._own.add((table, key))
        return tables[key]

    def store(self, table: str, key: Any, places: Places, ids: Ids) -> None:  # noqa: ANN401 - as above
        """Write a part of ``best`` or ``sent``."""
        self._writable(table, key)[places] = ids

    def hear(self, name: str, rows: list[int], places: Places, heard: Ids, accepted: Ids) -> Mask:
        """Write what sessions of a device said; returns for which of the places what it accepted changed."""
        at = (np.array(rows)[:, np.newaxis], places)
        changed = (self.accepted[name][at] != accepted).any(axis=0)
        self._writable("heard", name)[at] = heard
        if changed.any():
            self._writable("accepted", name)[at] = accepted
        return changed

    def forget(self, name: str, rows: list[int]) -> Mask:
        """Drop what sessions of a device had said; returns for which prefixes one of them counted."""
        counted = (self.accepted[name][rows] != NONE).any(axis=0)
        self._writable("heard", name)[rows] = NONE
        self._writable("accepted", name)[rows] = NONE
        return counted

    def touch(self, name: str, places: Places) -> None:
        """Note prefixes that changed at a device."""
        if len(places):
            known = self.touched.get(name)
            self.touched[name] = places if known is None else np.union1d(known, places)
