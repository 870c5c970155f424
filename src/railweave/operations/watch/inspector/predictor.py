"""Predictions of running collectives, computed one by one in a process of their own, and kept by condition."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from railweave.live.reach.failure import cause
from railweave.model.catalog import in_force
from railweave.operations.bench.comparing.predicting import answered, prediction_of
from railweave.operations.bench.comparing.rows import BUS
from railweave.operations.store.records import Prediction, Sample
from railweave.processes import Pool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.network.model import Network
    from railweave.operations.bench.comparing.predicting import Asked

MOST_ANSWERS = 2000
"""The largest number of answers that are kept; those that were used longest ago are dropped."""
MOST_S = 120.0
"""The seconds after which a prediction is given up."""
IDLE_S = 300.0
"""The seconds without a question after which the process is ended."""
_PAUSE_S = 0.5

Answer = Prediction | str
"""A predicted bus bandwidth in GB/s with its band, or the reason why there is none."""


class Predictor:
    """The predicted bus bandwidths of collectives on a network. ``answers`` has them by condition: collective, size, servers and ranks."""

    def __init__(self, network: Network) -> None:
        self.answers: OrderedDict[Asked, Answer] = OrderedDict()
        self._network = network
        self._wanted: tuple[Asked, ...] = ()
        self._pool: Pool | None = None

    def want(self, questions: Iterable[Asked]) -> None:
        """Set the conditions that are to be predicted, most urgent first. Those of earlier calls are no longer wanted."""
        self._wanted = tuple(
            asked for asked in list(dict.fromkeys(questions))[:MOST_ANSWERS] if asked not in self.answers
        )

    def answer(self, asked: Asked) -> Answer | None:
        """Return the answer for a condition; None if there is none yet."""
        known = self.answers.get(asked)
        if known is not None:
            with suppress(KeyError):  # the event loop may just have dropped it
                self.answers.move_to_end(asked)
        return known

    async def run(self) -> None:
        """Predict what is wanted, until cancelled."""
        idle_s = 0.0
        try:
            while True:
                asked = next((asked for asked in self._wanted if asked not in self.answers), None)
                if asked is None:
                    await asyncio.sleep(_PAUSE_S)
                    idle_s += _PAUSE_S
                    if idle_s >= IDLE_S and self._pool is not None:
                        await self._ended()
                    continue
                idle_s = 0.0
                self.answers[asked] = await self._predicted(asked)
                while len(self.answers) > MOST_ANSWERS:
                    self.answers.popitem(last=False)
        finally:
            if self._pool is not None:
                self._pool.end_at_once()

    async def _predicted(self, asked: Asked) -> Answer:
        try:
            if self._pool is None:
                self._pool = await asyncio.to_thread(Pool, 1, partial(_begin, self._network))
            task = await asyncio.to_thread(self._pool.submit, _answer, asked)
            return await asyncio.wait_for(asyncio.wrap_future(task), MOST_S)
        except TimeoutError:
            why = f"the prediction took longer than {MOST_S:.0f} s"
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a prediction, the watch goes on
            why = f"the prediction failed: {cause(error)}"
        await self._ended()
        return why

    async def _ended(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.end_at_once)


_network: Network | None = None
"""The network, in the process that predicts."""


def _begin(network: Network) -> None:
    global _network  # noqa: PLW0603 - it is sent once, not with each question
    _network = network
    os.nice(10)


def _answer(asked: Asked) -> Answer:
    if _network is None:
        raise RuntimeError("the process has no network")
    with in_force(_network.catalog):
        result = answered(_network, asked)
    if isinstance(result, str):
        return result
    return prediction_of(Sample(asked[0], asked[1], "", BUS, 0.0), result[0])
