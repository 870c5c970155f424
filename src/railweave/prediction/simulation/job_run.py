"""Runs of a user's job on a designed network: a series of collectives with computing time between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.errors import InputError, Option, Problem
from railweave.pages.table import Cell, Column, Table, formatted
from railweave.prediction.collectives.program import written
from railweave.prediction.simulation.agreement import agreed
from railweave.prediction.simulation.prediction import NEVER, NO_END, Prediction
from railweave.prediction.simulation.settings import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from railweave.model.intent.scenario import Scenario, Step
    from railweave.model.network.model import Network
    from railweave.prediction.simulation.conditions import Conditions, SimulatedNetwork
    from railweave.prediction.simulation.engines.measured import Columns

MOST_SHOWN = 200
"""The largest number of steps that a result lists one by one."""


@dataclass(frozen=True)
class JobStep:
    """A collective of a job. ``number`` counts from 1; ``at_ps`` is the time at which it began, from the beginning of the job."""

    number: int
    step: Step
    at_ps: int
    prediction: Prediction


@dataclass(frozen=True)
class JobPrediction:
    """The prediction for a job.

    ``steps`` has all collectives in order. Equal collectives share a prediction if the network was in the same state during both.
    """

    name: str
    steps: tuple[JobStep, ...]
    compute_ps: int
    """The total computing time between collectives, in ps."""
    events: tuple[tuple[int, str], ...] = ()
    """The beginnings and ends of faults, as (time in ps from the beginning of the job, description)."""
    seeds_ps: tuple[int, ...] = ()
    """The job's time in ps with each of several seeds. Empty if only one seed was run."""

    @property
    def complete(self) -> bool:
        """True if every collective completed."""
        return all(step.prediction.complete for step in self.steps)

    @property
    def time_ps(self) -> int:
        """The job completion time in ps: from the beginning of the job to the end of the last collective."""
        last = self.steps[-1]
        return last.at_ps + last.prediction.time_ps

    @property
    def between_ps(self) -> tuple[int, int]:
        """The range of the job's time in ps, as (lowest, highest).

        The range is the sum of the ranges of the collectives (``Band``) and of the computing time, which is exact.
        """
        bands = [step.prediction.band for step in self.steps]
        time = self.time_ps
        low = time - sum(step.prediction.time_ps - b.low_ps for step, b in zip(self.steps, bands, strict=True) if b)
        high = time + sum(b.high_ps - step.prediction.time_ps for step, b in zip(self.steps, bands, strict=True) if b)
        chance = self.seeds_ps or (time,)
        return round(low * min(chance) / time), round(high * max(chance) / time)

    @property
    def links(self) -> Columns:
        """The table of links, with a row for each collective that was run (``step``), link and direction.

        Columns are ``link``, ``from``, ``to``, ``rate_gbps``, ``tx_bytes`` and ``utilisation`` (0 to 1). The packet engine adds
        ``ecn_ce_packets``, ``dropped_packets``, ``pfc_tx``, ``pfc_rx``, ``paused_us`` and ``most_queued_bytes``. As in all tables,
        columns have equal length.
        """
        return self._columns("links")

    @property
    def flows(self) -> Columns:
        """The table of the job's queue pairs, with a row for each collective and queue pair.

        Columns are ``step``, ``queue_pair``, ``src``, ``dst``, ``bytes`` and ``fct_us``. ``fct_us`` is the time at
        which the last byte arrived, from the beginning of the collective; NaN if it never arrived.
        """
        return self._columns("flows")

    @property
    def series(self) -> Columns:
        """The time series of links, with a row for each recorded interval, link and direction. The table is empty if ``watch`` was not set.

        Columns are ``step``, ``time_us`` (from the beginning of the job), ``link``, ``from``, ``to``, ``utilisation``,
        ``queued_bytes`` (at the end of the interval), ``ecn_ce_packets``, ``dropped_packets``, ``pfc_tx``, ``pfc_rx`` and
        ``paused_us``.
        """
        return self._columns("series")

    @property
    def queues(self) -> Columns:
        """The time series of switch queues, with a row for each recorded time and nonempty queue. The table is empty if ``watch`` was not set.

        Columns are ``step``, ``time_us``, ``link``, ``from``, ``to``, ``class`` (number of the traffic class) and
        ``queued_bytes``.
        """
        return self._columns("queues")

    @property
    def rates(self) -> Columns:
        """The time series of queue pairs with data in flight, with a row for each interval. The table is empty if ``watch`` was not set.

        Columns are ``step``, ``time_us``, ``queue_pair``, ``src``, ``dst``, ``background`` (True for background traffic),
        ``delivered_bytes`` (in the interval) and ``rate_gbps`` (the rate that congestion control allows).
        """
        return self._columns("rates")

    def own_runs(self) -> list[JobStep]:
        """Return the steps whose collective was simulated. If several steps share one prediction, return only the first of these steps."""
        seen: dict[int, JobStep] = {}
        for step in self.steps:
            seen.setdefault(id(step.prediction), step)
        return list(seen.values())

    def _columns(self, name: str) -> Columns:
        parts: list[Columns] = []
        for run in self.own_runs():
            columns: Columns = {} if run.prediction.measured is None else getattr(run.prediction.measured, name)
            if columns:
                rows = len(next(iter(columns.values())))
                moved = {"time_us": columns["time_us"] + run.at_ps / 1e6} if "time_us" in columns else {}
                parts.append({"step": np.full(rows, run.number), **columns, **moved})
        return {} if not parts else {key: _joined([part[key] for part in parts]) for key in parts[0]}

    @property
    def table(self) -> Table:
        """The table of steps with a row for each collective."""
        return steps_table(self.steps)

    def to_text(self) -> str:
        """Return lines for people: the table of steps, the job completion time and its likely range.

        For a single collective without computing time, return the text of its prediction.
        """
        if len(self.steps) == 1 and not self.compute_ps:
            return self.steps[0].prediction.to_text()
        lines = self.table.first(MOST_SHOWN).to_text()
        if not self.complete:
            return "\n".join([*lines, f"the job never completes: {NO_END}"])
        low, high = self.between_ps
        lines.append(
            f"job completion time {self.time_ps / 1e6:.1f} us, of which {self.compute_ps / 1e6:.1f} us computing"
        )
        chance = f"; {len(self.seeds_ps)} seeds" if self.seeds_ps else ""
        if high > low:
            lines.append(
                f"between {low / 1e6:.1f} and {high / 1e6:.1f} us, by the errors against published results{chance}"
            )
        lines += dict.fromkeys(
            f"not compared: {step.prediction.band.outside}"
            for step in self.steps
            if step.prediction.band is not None and step.prediction.band.outside
        )
        lines += dict.fromkeys(f"note: {remark}" for step in self.steps for remark in step.prediction.remarks)
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the prediction as a JSON object; docs/predict.md documents its fields.

        For a single collective without computing time, return that collective's object.
        """
        if len(self.steps) == 1 and not self.compute_ps:
            return self.steps[0].prediction.to_json()
        return {
            "name": self.name,
            "complete": self.complete,
            "job_completion_time_us": self.time_ps / 1e6,
            "between_us": [bound_ps / 1e6 for bound_ps in self.between_ps],
            "seeds_us": [seed_ps / 1e6 for seed_ps in self.seeds_ps],
            "compute_us": self.compute_ps / 1e6,
            "steps": [{"at_us": step.at_ps / 1e6, **step.prediction.to_json()} for step in self.steps],
        }


def steps_table(steps: Iterable[JobStep]) -> Table:
    """Return a table of the steps of one or more jobs, numbered in order."""
    return Table(
        (
            Column("step", "number", "step"),
            Column("collective", "text", "collective"),
            Column("size", "number", "size_bytes"),
            Column("begins at us", "number", "at_us"),
            Column("time us", "number", "time_us"),
            Column("bus bandwidth GB/s", "number", "bus_bandwidth_GBps"),
            Column("engine", "text", "engine"),
        ),
        [
            (
                number,
                job_step.step.collective,
                Cell(job_step.step.size, written(job_step.step.size)),
                formatted(job_step.at_ps / 1e6),
                formatted(job_step.prediction.time_ps / 1e6) if job_step.prediction.complete else NEVER,
                job_step.prediction.bus_bandwidth_cell,
                job_step.prediction.choice.engine,
            )
            for number, job_step in enumerate(steps, 1)
        ],
    )


def _joined(columns: list[Any]) -> Any:  # noqa: ANN401 - arrays or lists
    if isinstance(columns[0], list):
        return [value for column in columns for value in column]
    return np.concatenate(columns)


def run_job(
    network: Network,
    bed: SimulatedNetwork,
    scenario: Scenario,
    conditions: Conditions,
    *,
    watch: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    announce: Callable[[str], None] | None = None,
    engine: str = "auto",
    exact: bool = False,
    most_hops: int | None = None,
) -> JobPrediction:
    """Run the traffic of a scenario on the prepared network ``bed``, with the scenario's settings of NCCL and the engine.

    The load balancing is that of ``bed``. ``progress`` is called with the name of the collective, the number of messages that arrived, and
    the number of all messages. ``conditions`` has the faults and background traffic. The other options are arguments of
    ``collective.predict``: the choice of the engine (``engine``, ``exact``, ``most_hops``), the collection of time series (``watch``), and
    announcements.

    If a collective equals an earlier one, and the network is in the same unchanging state, the collective is not run again but gets the
    earlier prediction. Packets that are still queued at the end of a collective are dropped before the next. Raises ``InputError`` if the
    scenario has no traffic, and the errors of ``predict``.
    """
    if not scenario.traffic:
        raise InputError(
            [
                Problem(
                    Option("--scenario"), "the scenario has no traffic", "add `traffic:` with a collective and a size"
                )
            ]
        )
    moments = conditions.moments
    settings = texts(scenario.overrides.settings)
    known: dict[tuple[int, int], Prediction] = {}
    steps: list[JobStep] = []
    now = compute = 0
    for _ in range(scenario.iterations):
        for place, step in enumerate(scenario.traffic):
            for _ in range(step.repeat):
                now, compute = now + step.compute, compute + step.compute
                passed = sum(moment <= now for moment in moments)
                prediction = known.get((place, passed))
                if prediction is None or (passed < len(moments) and moments[passed] < now + prediction.time_ps):
                    label = f"{step.collective} of {step.size} bytes ({len(steps) + 1})"
                    prediction = agreed(
                        network,
                        step.collective,
                        step.size,
                        qps=step.qps,
                        nccl=texts(scenario.overrides.nccl | step.nccl),
                        settings=settings,
                        progress=None if progress is None else partial(progress, label),
                        announce=announce,
                        bed=bed,
                        conditions=conditions,
                        at_ps=now,
                        watch=watch,
                        engine=engine,
                        exact=exact,
                        most_hops=most_hops,
                    )
                    if passed == len(moments) or moments[passed] >= now + prediction.time_ps:
                        known[place, passed] = prediction
                steps.append(JobStep(len(steps) + 1, step, now, prediction))
                now += prediction.time_ps
                if not prediction.complete:
                    return JobPrediction(scenario.name, tuple(steps), compute)
    return JobPrediction(scenario.name, tuple(steps), compute)
