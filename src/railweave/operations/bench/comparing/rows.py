"""Numbers of runs by what they are of, so that those of other runs can be laid beside them.

A run counts once, whatever number of samples it has of a thing: steps of one run are not repeats of it, for what slows a run slows all of
them. So the number of a run is the median of its samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING, Any

from railweave.prediction.collectives.sizes import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.operations.store.records import Prediction, Run, Sample

FASTER = (
    "busbw_gbytes_per_s",
    "average_busbw_gbytes_per_s",
    "bandwidth_gbps",
    "throughput_per_s",
)
"""Quantities of which more is better."""
SLOWER = (
    "latency_avg_us",
    "latency_typical_us",
    "time_us",
    "step_time_s",
    "block_time_s",
    "time_to_train_s",
    "completion_time_s",
)
"""Quantities of which less is better."""
COARSE = 0.1
"""Bus bandwidth below this, GB/s, has too few digits as it is printed: the time stands for it."""
RESULTS = ("algorithm", "protocol", "channels", "timestamp", "at", "samples")
"""Labels of nccl-tests and of training that say what became of a run. All others say what was asked for, and tell rows apart."""
REMARKS = ("note", "flag", "source", "table", "timestamp", "unit", "unit_in_source")
"""Columns of tables that do not tell rows apart."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What a number is of. ``where``: the run of a plan, the pair of NICs, or how many GPUs; empty where nothing says it."""

    where: str
    operation: str
    size_bytes: int
    place: str
    quantity: str
    labels: tuple[tuple[str, str], ...] = ()

    def to_text(self) -> str:
        """A line for people; a row of a table that has a name is called by it."""
        size = "" if self.size_bytes < 0 else written(self.size_bytes)
        told = dict(self.labels)
        labels = told.get("row_id") or ", ".join(f"{name} {text}" for name, text in self.labels)
        return " ".join(
            filter(None, (self.where and f"{self.where}:", self.operation, size, self.place, labels and f"({labels})"))
        )

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {
            "where": self.where,
            "operation": self.operation,
            "size_bytes": None if self.size_bytes < 0 else self.size_bytes,
            "place": self.place,
            "quantity": self.quantity,
            "labels": dict(self.labels),
        }


@dataclass(frozen=True, slots=True)
class Number:
    """What one run gave."""

    run: str
    value: float


def ratio(key: Key, before: float, after: float) -> float | None:
    """How well ``after`` does beside ``before``: above 1 it is better, whatever the quantity. None where there is none."""
    up, down = (after, before) if key.quantity in FASTER else (before, after)
    found = up / down if down > 0 else None
    return found if found is not None and isfinite(found) else None


def where(run: Run, more: Mapping[str, str] | None = None) -> str:
    """What tells runs of the same operation apart: the run of a plan, the pair of NICs, or how many GPUs.

    ``more``: settings that follow from the network.
    """
    told = {**(more or {}), **dict(run.settings)}
    if told.get("planned run"):
        return told["planned run"]
    if run.tool == "perftest":
        pair = " to ".join(filter(None, (told.get("client"), told.get("server"))))
        return " ".join(filter(None, (pair, told.get("color"))))
    return f"{run.ranks} GPUs" if run.ranks else ""


def numbers(runs: Iterable[Run], more: Mapping[str, Mapping[str, str]] | None = None) -> dict[Key, list[Number]]:
    """Of each thing, one number of each run that has it, in the order of runs; sorted by what it is.

    ``more``: settings that follow from the network, by the id of a run.
    """
    found: dict[Key, list[Number]] = {}
    for run in runs:
        here: dict[Key, list[float]] = {}
        place = where(run, (more or {}).get(run.id))
        for one in run.samples:
            if one.quantity in FASTER + SLOWER and isfinite(one.value) and one.value >= 0:
                here.setdefault(key_of(one, place, run.tool), []).append(one.value)
        for key, values in here.items():
            found.setdefault(key, []).append(Number(run.id, median(values)))
    return {key: found[key] for key in sorted(_main(found))}


def key_of(sample: Sample | Prediction, place: str, tool: str = "") -> Key:
    """What a sample or a prediction is of."""
    told: tuple[tuple[str, str], ...] = getattr(sample, "labels", ())
    labels = tuple(
        (name, text)
        for name, text in told
        if (text and name not in REMARKS if tool == "table" else name not in RESULTS and text != "0")
    )
    size = -1 if sample.size_bytes is None else sample.size_bytes
    return Key(place, sample.operation, size, sample.place, sample.quantity, labels)


def _main(found: dict[Key, list[Number]]) -> list[Key]:
    """One quantity of each thing: bus bandwidth before time where its digits are enough, the average before the typical latency."""
    by_thing: dict[tuple[object, ...], dict[str, Key]] = {}
    for key in found:
        by_thing.setdefault((key.where, key.operation, key.size_bytes, key.place, key.labels), {})[key.quantity] = key
    kept: list[Key] = []
    for several in by_thing.values():
        bus = several.get("busbw_gbytes_per_s")
        coarse = bus is not None and min(one.value for one in found[bus]) < COARSE and "time_us" in several
        left_out = {"busbw_gbytes_per_s" if coarse else "time_us"} if bus is not None else set[str]()
        if "latency_avg_us" in several:
            left_out.add("latency_typical_us")
        if "step_time_s" in several:
            left_out.add("block_time_s")
        kept += [key for quantity, key in several.items() if quantity not in left_out]
    return kept
