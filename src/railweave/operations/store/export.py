"""A store's runs as CSV, a line for each sample, and as JSON with everything."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from railweave.operations.store.database import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.operations.store.records import Prediction, Run, Sample

COLUMNS = (
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


def to_csv(runs: Iterable[Run]) -> str:
    """Samples with their run and what was predicted for them. Labels are ``name=text`` with semicolons between."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in runs:
        writer.writerows(_lines(run))
    return out.getvalue()


def _lines(run: Run) -> Iterator[tuple[object, ...]]:
    predicted = {_key(prediction): prediction for prediction in run.predictions}
    head = (run.id, run.tool, run.title, run.file)
    about = (run.began, run.kept, run.ranks, " ".join(run.hosts), run.environment.design_digest)
    for sample in run.samples:
        prediction = predicted.get(_key(sample))
        band = ("", "", "") if prediction is None else (prediction.value, prediction.low, prediction.high)
        labels = ";".join(f"{name}={text}" for name, text in sample.labels)
        size = "" if sample.size_bytes is None else sample.size_bytes
        yield (
            *head,
            sample.line,
            *about,
            sample.operation,
            size,
            sample.place,
            sample.quantity,
            sample.value,
            *band,
            labels,
        )


def _key(result: Sample | Prediction) -> tuple[str, int | None, str, str]:
    return result.operation, result.size_bytes, result.place, result.quantity


def to_json(runs: Iterable[Run]) -> str:
    """Everything, as one object with the version of the store's tables."""
    return json.dumps({"schema": SCHEMA, "runs": [run.to_json() for run in runs]}, indent=1) + "\n"
