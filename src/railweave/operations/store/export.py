"""Exports of a store's runs: tables of runs and samples, the samples as CSV, and everything as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.operations.store.database import SCHEMA
from railweave.operations.store.store import opened
from railweave.pages.table import EMPTY, Cell, Column, Table, formatted, long_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from railweave.operations.store.records import Prediction, Run, Sample

COLUMNS = tuple(
    Column(name)
    for name in (
        "run",
        "tool",
        "title",
        "file",
        "line",
        "began",
        "kept",
        "ranks",
        "hosts",
        "design_digest",
        "operation",
        "size_bytes",
        "place",
        "quantity",
        "value",
        "predicted",
        "predicted_low",
        "predicted_high",
        "labels",
    )
)


def samples_table(runs: Iterable[Run]) -> Table:
    """Return a table with a row for each sample, including its run and its prediction.

    Labels are written as ``name=text``, separated by semicolons.
    """
    return Table(COLUMNS, [row for run in runs for row in _rows(run)])


def _rows(run: Run) -> Iterator[tuple[object, ...]]:
    predicted = {_key(prediction): prediction for prediction in run.predictions}
    head = (run.id, run.tool, run.title, run.file)
    about = (run.began, run.kept, run.ranks, " ".join(run.hosts), run.environment.design_digest)
    for sample in run.samples:
        prediction = predicted.get(_key(sample))
        band = (None,) * 3 if prediction is None else (prediction.value, prediction.low, prediction.high)
        thing = (sample.operation, sample.size_bytes, sample.place, sample.quantity, sample.value)
        yield (*head, sample.line, *about, *thing, *band, _labels(sample))


def _labels(sample: Sample) -> str:
    return ";".join(f"{name}={text}" for name, text in sample.labels)


def _key(result: Sample | Prediction) -> tuple[str, int | None, str, str]:
    return result.operation, result.size_bytes, result.place, result.quantity


def runs_table(runs: Iterable[Run]) -> Table:
    """Return a table with a row for each run."""
    return Table(
        (
            Column("run", "mono", "id"),
            Column("when", "when", "began"),
            Column("tool", "text", "tool"),
            Column("of", "text", "title"),
            Column("on", "text", "hosts"),
            Column("numbers", "number", "samples"),
            Column("end", "text", "failures"),
        ),
        [
            (
                Cell(run.id, run.id[:SHORT]),
                Cell(run.began or run.kept, (run.began or run.kept)[:19].replace("T", " ")),
                run.tool,
                long_text(run.title),
                Cell(" ".join(run.hosts), _hosts(run), "said"),
                len(run.samples),
                _end(run),
            )
            for run in runs
        ],
    )


def numbers_table(run: Run) -> Table:
    """Return a table with a row for each sample of a run."""
    return Table(
        (
            Column("of", "text", "operation"),
            Column("bytes", "number", "size_bytes"),
            Column("place", "text", "place"),
            Column("quantity", "text", "quantity"),
            Column("value", "number", "value"),
            Column("labels", "text", "labels"),
        ),
        [
            (
                sample.operation,
                EMPTY if sample.size_bytes is None else sample.size_bytes,
                sample.place,
                sample.quantity,
                formatted(sample.value, "g"),
                _labels(sample),
            )
            for sample in run.samples
        ],
    )


SHORT = 8
"""The length in characters of a shortened run id. The commands accept a shortened id."""


def _hosts(run: Run) -> str:
    settings = dict(run.settings)
    pair = [settings[end] for end in ("client", "server") if settings.get(end)]
    names = pair or list(run.hosts)
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _end(run: Run) -> Cell:
    if not run.failures:
        return Cell("", "ended")
    return Cell("; ".join(run.failures), "; ".join(run.failures[:2]), "failed")


FORMS = (".csv", ".json")
"""The endings of file names, one for each format in which runs can be written."""


@dataclass(frozen=True)
class StoredRuns:
    """The runs that were read from a store."""

    runs: tuple[Run, ...]

    @property
    def table(self) -> Table:
        """The table of runs, one per row."""
        return runs_table(self.runs)

    def numbers(self, run: Run) -> Table:
        """Return a table with a row for each sample of a run."""
        return numbers_table(run)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the runs: all data of each run, and the schema version of the store."""
        return {"schema": SCHEMA, "runs": [run.to_json() for run in self.runs]}

    def written(self, file: Path) -> str:
        """Return the text for a file. The file's ending selects the format: CSV has the samples, JSON has all data."""
        return (
            samples_table(self.runs).as_csv() if file.suffix == ".csv" else json.dumps(self.to_json(), indent=1) + "\n"
        )


def stored_runs(store: Path | str, ids: Sequence[str] = ()) -> StoredRuns:
    """Return the runs of a store, or those whose ids begin with one of ``ids``.

    Raises ``SpecError`` if there is no store, and ``OutputError`` if the database cannot be used.
    """
    with opened(store) as there:
        return StoredRuns(tuple(there.runs(ids=ids)))
