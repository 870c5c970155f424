"""One device that is asked by SNMP at every interval, for what it gives by nothing else. Its numbers go into the stream of the others."""

from __future__ import annotations

import asyncio
from time import monotonic, time
from typing import TYPE_CHECKING

from railweave.live.reach.failure import ReachError
from railweave.model.state.telemetry import PORT_NAMES, Series
from railweave.operations.watch.subscriber import Reached

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from railweave.live.reach.target import Target
    from railweave.model.state.telemetry import Column
    from railweave.operations.watch.stream import Stream

    Table = Mapping[tuple[int, ...], int | str]
    Walk = Callable[[Target, str], Awaitable[Table]]

NAMES_S = 600.0
"""How often the names of ports are asked for: their numbers may change where a device restarts."""


class SnmpSource:
    """``columns`` are asked every ``every_s`` seconds by ``walk``, which is ``live.reach.snmp.column``."""

    def __init__(
        self,
        target: Target,
        stream: Stream,
        columns: Sequence[Column],
        walk: Walk,
        *,
        every_s: float,
        begin_after_s: float = 0,
    ) -> None:
        self.reached = Reached()
        self._target = target
        self._stream = stream
        self._columns = columns
        self._walk = walk
        self._every_s = every_s
        self._begin_after_s = begin_after_s
        self._names: Mapping[int, str] = {}
        self._named = float("-inf")

    async def run(self) -> None:
        """Go on until cancelled."""
        await asyncio.sleep(self._begin_after_s)
        due = monotonic()
        while True:
            try:
                await self._once()
            except ReachError as error:
                self.reached.turn(up=False, why=str(error))
                self.reached.tries += 1
                self._named = float("-inf")
            due = max(due + self._every_s, monotonic())
            await asyncio.sleep(due - monotonic())

    async def _once(self) -> None:
        if monotonic() >= self._named + NAMES_S:
            table = await self._walk(self._target, PORT_NAMES)
            self._names = {row[0]: str(name) for row, name in table.items() if len(row) == 1}
            self._named = monotonic()
        for column in self._columns:
            begun = time()
            table = await self._walk(self._target, column.oid)
            self._stream.offer(said(column, table, self._names), int(begun * 1e9), time())
        self.reached.heard = monotonic()
        self.reached.turn(up=True)


def said(column: Column, table: Table, names: Mapping[int, str]) -> list[tuple[Series, float]]:
    """The numbers of a column; rows of ports without a name, and words that are no numbers, are left out."""
    found: list[tuple[Series, float]] = []
    for row, value in table.items():
        name = names.get(row[0]) if row else None
        if name is None or isinstance(value, str):
            continue
        number = column.words.get(value) if column.words is not None else value
        if number is not None:
            found.append((Series(column.metric, name, ".".join(map(str, row[1:]))), number))
    return found
