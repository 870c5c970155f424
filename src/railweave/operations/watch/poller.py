"""One device that is asked, for what it does not stream: the questions of ``collect``, some at every interval, the others more rarely.

The answers to rare questions are kept and read together with those to frequent ones, so that a state is always a whole one.
"""

from __future__ import annotations

import asyncio
from time import monotonic, time
from typing import TYPE_CHECKING

from railweave.live.collect.asking import ask
from railweave.live.collect.plan import Asked
from railweave.live.reach.opening import opened
from railweave.model.state.question import CONFIGURATION
from railweave.operations.watch.subscriber import Reached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from railweave.live.collect.asking import Open
    from railweave.model.state.question import Question
    from railweave.model.state.telemetry import Series
    from railweave.operations.watch.stream import Stream


class Poller:
    """``quick`` are the names of questions that are asked at every interval, of which there may be none.

    ``take`` reads the answers by the names of their questions, and gives the numbers that they have.
    """

    def __init__(
        self,
        asked: Asked,
        stream: Stream,
        take: Callable[[Mapping[str, str]], Iterable[tuple[Series, float]]],
        *,
        quick: frozenset[str],
        every_s: float,
        rarely_s: float,
        begin_after_s: float = 0,
        open_by: Open = opened,
        gate: asyncio.Semaphore | None = None,
        measure: bool = True,
    ) -> None:
        self.reached = Reached()
        self._asked = asked
        self._stream = stream
        self._take = take
        self._quick = quick
        self._every_s = every_s if quick else rarely_s
        self._rarely_s = rarely_s
        self._begin_after_s = begin_after_s
        self._open = open_by
        self._gate = gate or asyncio.Semaphore(1)
        self._measure = measure
        self._texts: dict[str, str] = {}
        self._questions = tuple(one for one in asked.questions if not one.name.startswith(CONFIGURATION))

    async def run(self) -> None:
        """Go on until cancelled."""
        await asyncio.sleep(self._begin_after_s)
        due = monotonic()
        whole = due
        while True:
            every = due >= whole
            if every:
                whole = due + self._rarely_s
            await self._once(tuple(one for one in self._questions if every or one.name in self._quick))
            due = max(due + self._every_s, monotonic())
            await asyncio.sleep(due - monotonic())

    async def _once(self, questions: tuple[Question, ...]) -> None:
        def kept(_: str, question: Question, answer: str) -> None:
            self._texts[question.name] = answer

        for one in questions:  # what is not answered now is not known now
            self._texts.pop(one.name, None)
        async with self._gate:
            begun = time()
            outcome = await ask(
                Asked(self._asked.target, self._asked.system, questions), kept, attempts=1, open_by=self._open
            )
        if not outcome.answered:
            self.reached.turn(up=False, why=outcome.error or next(iter(outcome.failed.values()), "it answered nothing"))
            self.reached.tries += 1
            if self._measure:
                self._stream.forget()
            return
        self.reached.refused = dict(outcome.failed)
        self.reached.heard = monotonic()
        self.reached.turn(up=True, why=outcome.error)
        said = self._take(self._texts)
        self._stream.offer(said if self._measure else (), int(begun * 1e9), time())
