"""Job completion times in the format of the EVPN and Apstra JVD test reports: a table per model, a row per profile and setting.

The reports have the columns Traffic Profile, Tuned parameters in leaf/spine, and JCT. The unit of JCT depends on the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING

from railweave.json_values import JsonObject
from railweave.operations.bench.comparing.rows import REMARKS
from railweave.pages.table import NOTHING, Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.operations.store.records import Run, Sample

QUANTITIES = {
    "completion_time_s": "job completion time",
    "time_to_train_s": "time to train",
    "step_time_s": "time of a step",
    "block_time_s": "time of a block",
}
"""The quantities that a table can show, with their names. If the results of a model have several, the first one is shown."""
UNITS = (("min", 60.0, 600.0), ("sec", 1.0, 1.0), ("msec", 1e-3, 0.0))
"""Units of time: the name, its length in seconds, and the shortest time in seconds for which the unit is used."""
TUNED = {
    "lb": "load balancing",
    "load_balancing": "load balancing",
    "flowset_table_size": "flowset-table-size",
    "inactivity_us": "inactivity-interval",
    "sampling_rate_hz": "sampling rate",
    "rate_weightage": "flowlet rate-weightage",
    "egress_q_min": "flowlet egress-quantization min",
    "egress_q_max": "max",
    "reassign_prob_threshold": "reassignment threshold",
    "reassign_quality_delta": "reassignment quality-delta",
}
"""Columns and settings that describe the tuning of switches, with the names that the reports use."""
MODELS = ("model", "benchmark")
"""Columns that name the model, for tables without an operation."""

_Row = tuple[str, str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class Completion:
    """A row of a completion-time table.

    - ``profile``: the traffic profile: the model by itself or with other traffic.
    - ``tuned``: the tuning of the switches, and other settings that distinguish the row.
    - ``seconds``, ``least``, ``most``: the median, minimum and maximum over ``runs`` runs.
    """

    JSON = ("profile", "tuned", "seconds", "runs")

    profile: str
    tuned: str
    seconds: float
    least: float
    most: float
    runs: int


@dataclass(frozen=True, slots=True)
class CompletionTable(JsonObject):
    """A table of one model's completion times. ``unit`` is min, sec or msec; ``unit_s`` is the length of that unit in seconds."""

    JSON = ("model", "what", "rows")

    model: str
    what: str
    unit: str
    unit_s: float
    rows: tuple[Completion, ...]

    @property
    def table(self) -> Table:
        """The table in the format of the reports, with the minimum, the maximum and the number of runs added to each row."""
        return Table(
            (
                Column("Traffic Profile", "text", "profile"),
                Column("Tuned parameters in leaf/spine", "text", "tuned"),
                Column(f"JCT [{self.unit}]", "number", "seconds"),
                Column("least", "number", "least_s"),
                Column("most", "number", "most_s"),
                Column("runs", "number", "runs"),
            ),
            [
                (
                    row.profile,
                    Cell(row.tuned, row.tuned or NOTHING, "said"),
                    self._time(row.seconds),
                    *((self._time(row.least), self._time(row.most)) if row.runs > 1 else (None, None)),
                    row.runs,
                )
                for row in self.rows
            ],
        )

    def _time(self, seconds: float) -> Cell:
        return Cell(seconds, f"{seconds / self.unit_s:.4g}")


def completion_tables(runs: Iterable[Run]) -> list[CompletionTable]:
    """Return the tables of all models, in the order in which the models first appear."""
    by_model: dict[tuple[str, str], dict[_Row, list[float]]] = {}
    for run in runs:
        here: dict[tuple[tuple[str, str], _Row], list[float]] = {}
        for sample in run.samples:
            if sample.quantity in QUANTITIES and isfinite(sample.value) and sample.value > 0:
                told = {**dict(run.environment.variables), **dict(run.settings), **dict(sample.labels)}
                row = _profile(told), _tuned(told), _others(run, sample)
                here.setdefault(((_model(run, sample), sample.quantity), row), []).append(sample.value)
        for (table, row), values in here.items():
            # steps of a run are one time; rows of a table are runs of their own
            rows = by_model.setdefault(table, {})
            rows.setdefault(row, []).extend(values if run.tool == "table" else [median(values)])
    tables: list[CompletionTable] = []
    for model in dict.fromkeys(model for model, _ in by_model):
        quantity = next(measure for measure in QUANTITIES if (model, measure) in by_model)
        rows = by_model[model, quantity]
        usual = median(value for values in rows.values() for value in values)
        unit, unit_s, _ = next(scale for scale in UNITS if usual >= scale[2])
        columns = [set(others) for *_, others in rows]
        alike = columns[0].intersection(*columns[1:])  # what does not tell these rows apart
        told = tuple(
            Completion(
                profile,
                " ".join(
                    filter(None, (tuned, *(f"{name} {text}" for name, text in others if (name, text) not in alike)))
                ),
                median(values),
                min(values),
                max(values),
                len(values),
            )
            for (profile, tuned, others), values in rows.items()
        )
        tables.append(CompletionTable(model, QUANTITIES[quantity], unit, unit_s, told))
    return tables


def _model(run: Run, sample: Sample) -> str:
    if run.tool == "mllog":
        return run.title.removeprefix("training of ")
    return sample.operation or next((text for name, text in sample.labels if name in MODELS and text), run.title)


def _others(run: Run, sample: Sample) -> tuple[tuple[str, str], ...]:
    """Return the columns of a table row that this module does not interpret. Rows with different values are not repeats."""
    known = {*TUNED, *REMARKS, "row_id", *(() if sample.operation else MODELS)}
    return tuple(
        (name, text)
        for name, text in sample.labels
        if run.tool == "table" and name not in known and not name.startswith("background")
    )


def _profile(told: Mapping[str, str]) -> str:
    """Return the traffic profile in the words of the reports: ``Only Model``, or the model with its background load.

    ``told``: the columns and settings of the row.
    """
    load = next(
        (text for name, text in told.items() if name.startswith("background") and text not in {"", "none"}), "0"
    )
    percent = load.rstrip("%")
    if percent in {"0", "0.0"}:
        return "Only Model"
    return f"Model + background ({percent}% traffic)" if percent.replace(".", "", 1).isdigit() else f"Model + {load}"


def _tuned(told: Mapping[str, str]) -> str:
    return " ".join(f"{name} {told[key]}" for key, name in TUNED.items() if told.get(key))
