"""The storage of a job of a file: what it reads joins its step, and what it writes is a checkpoint of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import InputError
from railweave.prediction.jobs.graph import Communication, Op
from railweave.prediction.jobs.plan import Planned
from railweave.prediction.simulation.training.checkpoint import Written, written
from railweave.prediction.simulation.training.storage import stored, stores_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.errors import Problem
    from railweave.model.intent.job_file import ReadJobs
    from railweave.model.network.model import Network
    from railweave.prediction.jobs.graph import Graph
    from railweave.prediction.jobs.traces.traced import Traced
    from railweave.prediction.simulation.training.loads import Carried, Placed

READ = "read"
"""The kind of what is read from storage."""


@dataclass(frozen=True)
class StorageOf:
    """What a job of a file has to do with storage. ``whole``: the network with all of its fabrics."""

    whole: Network
    read: ReadJobs
    number: int
    lb: str | None

    def add_reads(self, placed: Placed, graph: Graph) -> Carried | None:
        """Add what is read for a step to the step, from its beginning on; gives how long that takes alone, None where nothing is read. Raises ``InputError``."""
        wanted = self.read.jobs[self.number].read
        if wanted is None:
            return None
        stores = stores_of(self.whole, placed, wanted, self.lb, self._tell("read"))
        number = graph.communication(Communication(READ, 0, "send-recv", wanted.bytes, _ranks(placed)))
        graph.add(Op(0, READ, READ, 0, (), number))
        return self._arrived("read", stored(stores, wanted, wanted.bytes, reads=True), stores.name)

    def checkpoint(
        self, placed: Placed, plan: Planned | Traced, graph: Graph, known: Sequence[Carried], step_ps: int
    ) -> Written | None:
        """Its checkpoint, with nobody else on the network; None where it makes none. Raises ``InputError``."""
        wanted = self.read.jobs[self.number].checkpoint
        if wanted is None:
            return None
        stores = stores_of(self.whole, placed, wanted, self.lb, self._tell("checkpoint"))
        size = wanted.bytes or 0
        if isinstance(plan, Planned) and wanted.bytes is None:
            size = max(round(plan.model.parameters * (wanted.weights + wanted.optimizer)), 1)
        to = self._arrived("checkpoint", stored(stores, wanted, size, reads=False), stores.name)
        return written(graph, known, step_ps, to, wanted, size, len(stores.servers), stores.name)

    def _arrived(self, part: str, one: Carried, fabric: str) -> Carried:
        if not one.complete:
            what = f"over fabric {fabric} its servers do not all reach it"
            raise InputError([self._tell(part)("storage", what, "look at tenants, and at faults of the scenario")])
        return one

    def _tell(self, part: str) -> Callable[[str, str, str], Problem]:
        def tell(field: str, what: str, fix: str) -> Problem:
            return self.read.document.problem(self.read.location(self.number, part, field), what, fix)

        return tell


def _ranks(placed: Placed) -> tuple[tuple[int, ...], ...]:
    """The ranks of each server: it reads for all of them together."""
    gpus = placed.job.gpus_per_server
    return tuple(tuple(range(first, first + gpus)) for first in range(0, placed.job.ranks, gpus))
