"""One device that is subscribed to, for as long as the network is watched: it is connected again whenever that ends.

A device is up while its numbers come. It is down when its connection ends, and also when nothing came for longer than the interval
and a little more, for a device that hangs ends no connection.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic, time
from typing import TYPE_CHECKING

from railweave.live.reach.failure import ReachError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from typing import Any

    from railweave.model.state.telemetry import Subscription
    from railweave.operations.watch.stream import Stream
    from railweave.systems.protocol import Telemetry

LONGEST_WAIT_S = 8.0
"""Between two tries to reach a device: it counts as silent after one interval, and is back within this time of coming back."""


@dataclass
class Reached:
    """The state of the subscription to one device. ``since`` is when it last came up or went down, ``heard`` when a number last came (monotonic).

    ``known`` says whether it was ever up.
    """

    up: bool = False
    known: bool = False
    since: float = field(default_factory=time)
    heard: float = 0.0
    why: str = "not reached yet"
    tries: int = 0
    refused: dict[str, str] = field(default_factory=dict[str, str])
    """Paths that the device does not take, with its words."""

    def turn(self, *, up: bool, why: str = "") -> None:
        """Say that it is up or down."""
        if up != self.up:
            self.up, self.since = up, time()
            self.known = self.known or up
        self.why = why

    @property
    def age_s(self) -> float | None:
        """Seconds since a number last came; None: none ever did."""
        return None if not self.heard else monotonic() - self.heard


def silent_after(every_s: float, least_s: float) -> float:
    """After how many seconds without a number a device counts as down: 13 with an interval of 10."""
    interval = max(every_s, least_s)
    return interval + max(1.0, 0.3 * interval)


class Subscriber:
    """``open_`` connects to the device; it is called again after each failure."""

    def __init__(
        self,
        stream: Stream,
        telemetry: Telemetry,
        open_: Callable[[], Any],
        *,
        every_s: float,
        begin_after_s: float = 0,
    ) -> None:
        self.stream = stream
        self.reached = Reached()
        self._open = open_
        self._encoding = telemetry.ENCODING
        self._every_s = every_s
        self._begin_after_s = begin_after_s
        self._paths: Sequence[Subscription] = tuple(telemetry.SUBSCRIPTIONS)
        self._one_by_one = False
        sampled = [one.least_s for one in self._paths if one.by == "sample"]
        self._silent_s = silent_after(every_s, min(sampled, default=every_s))

    async def run(self) -> None:
        """Go on until cancelled."""
        wait = 1.0
        await asyncio.sleep(self._begin_after_s)
        while True:
            heard = self.reached.heard
            try:
                await self._connected()
            except ReachError as error:
                self.reached.turn(up=False, why=str(error))
                self.stream.forget()
            self.reached.tries += 1
            wait = 1.0 if self.reached.heard > heard else min(wait * 2, LONGEST_WAIT_S)
            await asyncio.sleep(wait)

    def _calls(self) -> list[tuple[Subscription, ...]]:
        """The paths of each call: all that share origin and target together, or each by itself where one of them was refused."""
        left = [one for one in self._paths if one.path not in self.reached.refused]
        if self._one_by_one:
            return [(one,) for one in left]
        groups: dict[tuple[str, str], list[Subscription]] = {}
        for one in left:
            groups.setdefault((one.origin, one.target), []).append(one)
        return [tuple(one) for one in groups.values()]

    async def _connected(self) -> None:
        """Be connected until that ends. Raises ``ReachError``."""
        connection = await self._open()
        try:
            async with asyncio.TaskGroup() as group:
                for paths in self._calls():
                    group.create_task(self._told(connection, paths))
                group.create_task(self._listening())
        except* ReachError as errors:
            raise next(one for one in _leaves(errors)) from None
        finally:
            await connection.close()

    async def _told(self, connection: Any, paths: tuple[Subscription, ...]) -> None:  # noqa: ANN401 - a Gnmi
        heard = False
        notifications: AsyncGenerator[Any] = connection.subscribed(paths, self._encoding, self._every_s)
        try:
            async with aclosing(notifications):
                async for one in notifications:
                    if one is not None:
                        heard = True
                        self.reached.heard = monotonic()
                        self.stream.take(one, time())
                        if not self.reached.up:
                            self.reached.turn(up=True)
        except ReachError as error:
            if error.kind != "refused" or heard:
                raise
            if len(paths) == 1:
                self.reached.refused[paths[0].path] = str(error)
            else:
                self._one_by_one = True
                raise

    async def _listening(self) -> None:
        """End the connection of a device that says nothing. Raises ``ReachError``."""
        begun = monotonic()
        while True:
            quiet = monotonic() - max(begun, self.reached.heard)
            if quiet >= self._silent_s:
                raise ReachError("late", f"nothing came for {quiet:.0f} s")
            await asyncio.sleep(self._silent_s - quiet + 0.01)


def _leaves(errors: BaseExceptionGroup[ReachError]) -> list[ReachError]:
    found: list[ReachError] = []
    for one in errors.exceptions:
        found += _leaves(one) if isinstance(one, BaseExceptionGroup) else [one]
    return found
