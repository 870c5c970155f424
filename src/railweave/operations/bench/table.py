"""Results as comma-separated values with a header: tables of documents, or the output of third-party scripts.

Columns are recognized by name (see below). If a column is called ``value``, the columns ``metric`` (or ``quantity``)
and ``unit`` determine its quantity. All other columns are stored unchanged with the result, as the conditions of the
run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.operations.bench.lines import Line, Note, Notes, fields, measured, number, whole
from railweave.operations.bench.nccl_tests import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = ("size_bytes", "message_bytes", "message_size_bytes", "message_size", "msgsize")
WHAT = ("operation", "collective", "workload")
PLACES = ("place", "placement")
METRICS = ("metric", "quantity")
QUANTITIES = {
    "time_us": ("time_us", 1.0),
    "algbw_gbytes_per_s": ("algbw_gbytes_per_s", 1.0),
    "algbw_gbps": ("algbw_gbytes_per_s", 1.0),
    "busbw_gbytes_per_s": ("busbw_gbytes_per_s", 1.0),
    "busbw_gbps": ("busbw_gbytes_per_s", 1.0),
    "bandwidth_gbps": ("bandwidth_gbps", 1.0),
    "latency_us": ("latency_avg_us", 1.0),
    "step_time_s": ("step_time_s", 1.0),
    "msg_rate_mpps": ("message_rate_mpps", 1.0),
    "message_rate_mpps": ("message_rate_mpps", 1.0),
}
"""By column name in lower case, the quantity and the factor that converts to its unit. The column names contain the unit.

The columns algbw_GBps and busbw_GBps are in 10^9 byte/s, as in nccl-tests.
"""
IN_UNITS = {
    ("avg_busbw", "gb/s"): ("average_busbw_gbytes_per_s", 1.0),
    ("busbw", "gb/s"): ("busbw_gbytes_per_s", 1.0),
    ("algbw", "gb/s"): ("algbw_gbytes_per_s", 1.0),
    ("bw_avg", "gb/s"): ("bandwidth_gbps", 1.0),
    ("bandwidth", "gb/s"): ("bandwidth_gbps", 1.0),
    ("bandwidth", "gbps"): ("bandwidth_gbps", 1.0),
    ("jct", "s"): ("completion_time_s", 1.0),
    ("jct", "ms"): ("completion_time_s", 1e-3),
    ("time", "us"): ("time_us", 1.0),
    ("step_time", "s"): ("step_time_s", 1.0),
    ("one_way_delay", "us"): ("one_way_delay_us", 1.0),
}
"""By (column or metric name, unit), the quantity and the factor that converts to its unit.

In bus bandwidths, ``GB/s`` means 10^9 byte/s; in perftest's rates, ``Gb/s`` means 10^9 bit/s.
"""

KNOWN = {quantity for quantity, _ in (*QUANTITIES.values(), *IN_UNITS.values())}


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured number from a table, or from the output of a tool.

    - ``line``: the number of the line that has the measured number.
    - ``place``: ``in-place``, ``out-of-place``, or the text of the table's column ``place``; empty if there is none.
    - ``labels``: (column name, text) for each other column in the row of the measured number.
    """

    line: int
    operation: str
    size_bytes: int | None
    place: str
    quantity: str
    value: float
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers that were read from a file, and notes on lines that could not be read."""

    file: str
    measurements: tuple[Measurement, ...]
    notes: tuple[Note, ...] = ()


def is_table(heads: Sequence[str]) -> bool:
    """Return True if at least one of the column names ``heads`` stands for a known quantity."""
    names = {head.strip().lower() for head in heads}
    return bool(names & QUANTITIES.keys()) or (
        "unit" in names and bool(names & {"value", *(key for key, _ in IN_UNITS)})
    )


def read_table(lines: Sequence[Line], notes: Notes) -> Table:
    """Return the numbers of a table. Its first nonempty line names the columns. Lines that cannot be read are added to ``notes``."""
    heads: list[str] = []
    measurements: list[Measurement] = []
    for line in lines:
        if not line.text.strip():
            continue
        given = [field.strip() for field in fields(line.text)]
        if not heads:
            heads = _unique_names([head.lower() for head in given])
        elif len(given) != len(heads):
            notes.add(line.number, f"{len(given)} values under {len(heads)} columns", line.text)
        else:
            measurements += _row(line.number, dict(zip(heads, given, strict=True)), notes)
    return Table(notes.file, tuple(measurements))


def _unique_names(heads: Sequence[str]) -> list[str]:
    """Return the column names ``heads``, made unique: the second and later columns of one name get the column number in addition."""
    return [name if name not in heads[:place] else f"{name} (column {place + 1})" for place, name in enumerate(heads)]


def _row(line: int, row: dict[str, str], notes: Notes) -> list[Measurement]:
    used: set[str] = set()

    def first(names: Sequence[str]) -> str:
        name = next((name for name in names if row.get(name)), "")
        used.add(name)
        return row.get(name, "")

    size, operation_name, place = first(SIZES), first(WHAT), first(PLACES).lower()
    size_bytes = whole(size)
    if re.match(r"[+-]?[0-9.]+$", size) and (size_bytes is None or size_bytes < 0):
        notes.add(
            line,
            f"a row is left out: its size {size[:40]!r} is {'negative' if size[0] == '-' else 'no whole number, or too large'}",
        )
        return []
    if size and size_bytes is None:
        used -= set(SIZES)  # a word, as `average over unstated sizes`, which is kept beside the number
    unit = re.split(r"[\s(]", row.get("unit", "").strip().lower(), maxsplit=1)[0]
    values: list[tuple[str, str, float]] = []
    for name, text in row.items():
        metric = first(METRICS).lower() if name == "value" else name
        known = QUANTITIES.get(metric) or IN_UNITS.get((metric, unit))
        if known is None and name == "value" and metric and unit:
            known = re.sub(r"\W+", "_", f"{metric}_{unit.replace('/', '_per_')}"), 1.0
        if known is not None:
            used |= {name, "unit"} if row.get("unit", "").lower() == unit else {name}
            values.append((known[0], text, known[1]))
    labels = tuple((name, text) for name, text in row.items() if name not in used and text)
    operation = OPERATIONS.get(operation_name.lower(), operation_name)
    sides = {"out": "out-of-place", "in": "in-place"}
    measurements: list[Measurement] = []
    for quantity, text, factor in values:
        # a quantity of somebody's own may be below 0
        read = (measured(text, quantity, line, notes) if quantity in KNOWN else number(text)) if text else None
        if read is not None:
            measurements.append(
                Measurement(line, operation, size_bytes, sides.get(place, place), quantity, read * factor, labels)
            )
        elif text and quantity not in KNOWN:
            notes.add(line, f"{quantity} is no number", text)
    if not values:
        notes.add(line, "a row with no number that is known")
    return measurements
