"""The comparison of predictions for several values of one parameter. Variants run in parallel processes."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.errors import InputError
from railweave.model.catalog import in_force
from railweave.pages.table import Column, Table, formatted, long_text
from railweave.prediction.simulation.bottleneck import bottleneck
from railweave.prediction.simulation.job import ALTERNATE
from railweave.prediction.simulation.prediction import NEVER, NO_END, Prediction
from railweave.prediction.simulation.question import Question, answer
from railweave.prediction.simulation.varied import variants
from railweave.processes import SharedValue, finished, processes, shared
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.job_run import JobPrediction
    from railweave.prediction.simulation.varied import Variant

EQUAL = 0.005
"""The relative difference below which two results count as equal."""

COUNTERS = (
    Column("marked", "number", "ecn_marked_packets"),
    Column("PFC pauses", "number", "pfc_pauses"),
    Column("sent again", "number", "retransmitted_packets"),
    Column("timeouts", "number", "timeouts"),
)
COLUMNS = (
    Column("time us", "number", "time_us"),
    Column("longer", "number", "longer"),
    Column("bus bandwidth GB/s", "number", "bus_bandwidth_GBps"),
    *COUNTERS,
    Column("bound by", "text", "bound_by"),
)
"""The columns of a comparison after the varied value. ``longer`` is the extra time relative to the fastest variant."""


@dataclass(frozen=True)
class Outcome:
    """The prediction for one value of the varied parameter."""

    value: str
    answer: JobPrediction


@dataclass(frozen=True)
class Comparison:
    """The predictions of all variants, in the order in which the variants were given.

    ``name`` is the parameter that varies. ``elsewhere`` says with which other request the variants differ, if they all take the same time.
    """

    name: str
    outcomes: tuple[Outcome, ...]
    elsewhere: str = ""

    @property
    def complete(self) -> bool:
        """Return True if all variants completed."""
        return all(outcome.answer.complete for outcome in self.outcomes)

    @property
    def ranked(self) -> list[Outcome]:
        """The outcomes sorted from fastest to slowest. Outcomes that never complete come last."""
        return sorted(self.outcomes, key=lambda outcome: (not outcome.answer.complete, outcome.answer.time_ps))

    @property
    def tied(self) -> list[Outcome]:
        """The fastest outcome and all outcomes at most ``EQUAL`` slower. The list is empty if the fastest outcome never completes."""
        best = self.ranked[0].answer
        most = best.time_ps * (1 + EQUAL)
        return [outcome for outcome in self.ranked if outcome.answer.complete and outcome.answer.time_ps <= most]

    @property
    def is_tie(self) -> bool:
        """True if all variants complete and take the same time (``EQUAL``)."""
        return len(self.tied) == len(self.outcomes)

    @property
    def winner(self) -> Outcome | None:
        """The fastest outcome, or None if the next one is so close that both count as equal (``EQUAL``), or no outcome completes."""
        return self.tied[0] if len(self.tied) == 1 else None

    def verdict(self) -> str:
        """Return a text that names the fastest variant, its lead and the reasons.

        If several variants are equally fast, or if none completes, the text says so.
        """
        best, *others = self.ranked
        if not others:
            return f"{self.name}={best.value} is alone."
        if not best.answer.complete:
            return "No variant completes: some messages never arrive."
        second, worst = others[0], others[-1]
        alike = [outcome for outcome in self.tied if outcome is not best]
        crossed = all(crosses_spine(outcome.answer) for outcome in [best, *alike])
        if alike and not crossed:
            names = "All" if len(alike) == len(others) else " and ".join(outcome.value for outcome in [best, *alike])
            return (
                f"{self.name}: {names} take the same time, to {EQUAL:.1%}, but no packet crossed a spine: "
                f"so the sharing of links between switches was not tested ({why(best)})."
            )
        if len(alike) == len(others):
            return f"All variants take the same time, to {EQUAL:.1%}: {why(best)}."
        if alike:
            names = " and ".join(outcome.value for outcome in [best, *alike])
            head = f"{self.name}: {names} are equally fast and the fastest"
        else:
            head = f"{self.name}={best.value} wins: {second.value} {_longer(second, best)}"
        if worst is second and not alike:
            return f"{head}. {best.value}: {why(best)}; {worst.value}: {why(worst)}."
        return (
            f"{head}, and {worst.value} {_longer(worst, best)}. {best.value}: {why(best)}; {worst.value}: {why(worst)}."
        )

    @property
    def table(self) -> Table:
        """The table of variants with a row for each variant, the fastest first."""
        fastest, ranked = self.ranked[0].answer.time_ps, self.ranked
        return Table(
            (Column(self.name, "text", "value"), *COLUMNS),
            [_row(outcome, fastest) for outcome in ranked],
            row_css=["best" if outcome is self.winner else "" for outcome in ranked],
        )

    def to_text(self) -> str:
        """Return the table of variants and, below it, the verdict."""
        return "\n".join([*self.table.to_text(), self.verdict(), *([self.elsewhere] if self.elsewhere else [])])

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object; docs/predict.md documents its fields."""
        return {
            "compare": self.name,
            "winner": None if self.winner is None else self.winner.value,
            "tied": [outcome.value for outcome in self.tied],
            "verdict": self.verdict(),
            "elsewhere": self.elsewhere,
            "variants": [
                {"value": outcome.value, "time_us": outcome.answer.time_ps / 1e6, "result": outcome.answer.to_json()}
                for outcome in self.outcomes
            ],
        }


def _row(outcome: Outcome, fastest_ps: int) -> tuple[object, ...]:
    longest = longest_run(outcome.answer)
    counted = longest.counters or {}
    time_ps = outcome.answer.time_ps if outcome.answer.complete else None
    return (
        outcome.value,
        NEVER if time_ps is None else formatted(time_ps / 1e6),
        None if time_ps is None else formatted(time_ps / fastest_ps - 1, "+.1%"),
        longest.bus_bandwidth_cell,
        *(counted.get(column.key) for column in COUNTERS),
        long_text(why(outcome)),
    )


def longest_run(job_prediction: JobPrediction) -> Prediction:
    """Return the prediction of a job's longest collective. A collective that never completes counts as longest."""
    return max(
        (step.prediction for step in job_prediction.steps),
        key=lambda prediction: (not prediction.complete, prediction.time_ps),
    )


def crosses_spine(job_prediction: JobPrediction) -> bool:
    """Return True if the job sent any bytes between switches, or if the links' bytes were not measured."""
    for run in job_prediction.own_runs():
        measured = run.prediction.measured
        if measured is None:
            return True
        links, switches = measured.links, set(measured.wiring.switches)
        between = [a in switches and b in switches for a, b in zip(links["from"], links["to"], strict=True)]
        if links["tx_bytes"][np.array(between, dtype=np.bool_)].any():
            return True
    return False


def _longer(outcome: Outcome, best: Outcome) -> str:
    if not outcome.answer.complete:
        return "never completes"
    return f"takes {outcome.answer.time_ps / best.answer.time_ps - 1:.1%} longer"


def why(outcome: Outcome) -> str:
    """Return a phrase on a variant's longest collective: its bottleneck, and its numbers of timeouts, pauses and retransmissions.

    If the collective never completes, the phrase says so instead of naming a bottleneck.
    """
    longest = longest_run(outcome.answer)
    bound = bottleneck(longest.load, longest.time_ps)
    parts = [f"{bound.kind} {bound.what} busy {bound.busy:.1%}" if longest.complete else NO_END]
    counted = longest.counters or {}
    for name, word in (
        ("timeouts", "timeouts"),
        ("pfc_pauses", "pauses"),
        ("retransmitted_packets", "packets sent again"),
    ):
        if counted.get(name):
            parts.append(f"{counted[name]:,} {word}")
    return ", ".join(parts)


def comparison(
    network: Network,
    wanted: Sequence[Variant],
    name: str,
    *,
    watch: bool = False,
    progress: Callable[[str], None] = silent,
) -> Comparison:
    """Run all variants and return their predictions. Variants run in parallel, with at most one process per core.

    ``wanted`` are the variants, and ``name`` is the parameter that varies. With ``watch``, time series are also collected. Raises
    ``InputError`` if a variant is invalid.
    """
    predictions: dict[str, JobPrediction] = {}
    workers = min(len(wanted), os.cpu_count() or 1)
    with shared(network) as given, processes(workers, partial(_begin, given)) as pool:
        runs = {pool.submit(_run, variant.question, watch): variant.value for variant in wanted}
        for done in finished(runs):
            predictions[runs[done]] = done.result()
            progress(f"{len(predictions)} of {len(wanted)} variants")
    return Comparison(name, tuple(Outcome(variant.value, predictions[variant.value]) for variant in wanted))


PARTING = ("qps", "lb")
"""The settings that decide how traffic shares links. If all their values take the same time, other requests are tried."""

PROBES: tuple[tuple[str, str], ...] = (("hosts", ALTERNATE), ("collective", "all-to-all"))
"""The options that are tried, each with its value. In both cases, more traffic crosses the spines."""


def elsewhere(
    network: Network,
    compare: str,
    given: Mapping[str, Any],
    tied: Comparison,
    progress: Callable[[str], None] = silent,
) -> str:
    """Return a sentence on another request with which the variants of ``tied`` differ; empty if they already do.

    ``compare`` is the text that names the setting and its values, and ``given`` has the other options. The requests of ``PROBES`` are
    predicted in turn until the times differ. A request that the network cannot run is left out.
    """
    if tied.name not in PARTING or not tied.is_tie:
        return ""
    tried: list[str] = []
    for option, value in PROBES:
        if given.get(option) is not None and (option != "collective" or given[option] == value):
            continue
        try:
            wanted = variants(network, compare, {**given, option: value})
            other = comparison(network, wanted, tied.name, progress=progress)
        except InputError:
            continue
        if not other.complete:
            continue
        if not other.is_tie:
            each = ", ".join(
                f"{outcome.value} {longest_run(outcome.answer).bus_bandwidth_text}" for outcome in other.outcomes
            )
            return f"They differ with --{option} {value}, in GB/s of bus bandwidth: {each}."
        tried.append(f"--{option} {value}")
    return f"They do not differ with {' or '.join(tried)} either." if tried else ""


_here: list[Network] = []
"""A list with the network of this worker process as its only member. The main process sends the network to each worker once."""


def _begin(network: SharedValue[Network]) -> None:
    _here.append(network.value())


def _run(asked: Question, watch: bool) -> JobPrediction:
    """Run the request ``asked`` of one variant in a worker process and return its prediction.

    To save memory, the prediction does not have the messages of its collectives. With ``watch``, it has time series.
    """
    network = _here[0]
    with in_force(network.catalog):  # it runs in a process of its own, which has the package's catalog
        prediction = answer(network, asked, watch=watch, name_costs=False)
    light = {id(step.prediction): _light(step.prediction) for step in prediction.steps}
    return replace(
        prediction, steps=tuple(replace(step, prediction=light[id(step.prediction)]) for step in prediction.steps)
    )


def _light(prediction: Prediction) -> Prediction:
    none = np.zeros(0, np.uint64)
    few = np.zeros(0, np.uint32)
    program = replace(
        prediction.program, connection=few, bytes=none, delay_ps=none, after_start=none, after=few, after_delay_ps=none
    )
    measured = prediction.measured
    if measured is not None:
        traffic = replace(measured.traffic, after_start=none, after=few, after_delay_ps=none, after_of=None)
        measured = replace(measured, traffic=traffic)
    return replace(prediction, program=program, measured=measured)
