"""A grid of predictions in which several parameters vary at once.

If the size varies, a straight line is fitted to the times over the sizes, for each combination of the other parameters. The slope
of the line gives a bus bandwidth, which is shown with the times. Measured points can be shown next to the predictions.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.csv_cells import text_of_cell
from railweave.errors import FileLine, InputError, Option, Problem
from railweave.pages.table import EMPTY, Cell, Column, Table, formatted
from railweave.prediction.collectives.program import sizes, written
from railweave.prediction.simulation.compare import comparison, longest_run
from railweave.prediction.simulation.prediction import NEVER
from railweave.prediction.simulation.varied import Variant, asked_with, check_ranks, one_question, values_of
from railweave.progress import silent
from railweave.reading import csv_table, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence, Set
    from pathlib import Path

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.job_run import JobPrediction

MOST_CELLS = 400
"""The largest number of predictions of a grid. A larger grid is refused because it would take hours."""

TIME, BUS = "time_us", "bus_bandwidth_GBps"
"""The two names of a result column in a file of measured points. A file has one of these columns."""

COLUMNS = (
    Column("time us", "number", TIME),
    Column("at least us", "number", "low_us"),
    Column("at most us", "number", "high_us"),
    Column("bus bandwidth GB/s", "number", BUS),
    Column("engine", "text", "engine"),
)
"""The columns of the table of predictions that follow the columns of the varied settings."""


@dataclass(frozen=True)
class Dimension:
    """A varied setting and its values, as text. Sizes are in bytes."""

    name: str
    values: tuple[str, ...]

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The values as numbers, or None if any value is not a number."""
        try:
            return tuple(float(sizes(value)[0]) if self.name == "size" else float(value) for value in self.values)
        except (ValueError, InputError):
            return None

    @property
    def column(self) -> Column:
        """The table column of the setting."""
        kind = "text" if self.numbers is None else "number"
        return Column(self.name, kind, "size_bytes" if self.name == "size" else self.name)

    def cell(self, value: str) -> Cell:
        """Return a value of the setting as a table cell."""
        return Cell(int(value) if self.name == "size" else value, shown(self.name, value))


@dataclass(frozen=True)
class GridCell:
    """A prediction of a grid. ``values`` has the value of each varied setting by name, and ``answer`` is the prediction."""

    values: Mapping[str, str]
    answer: JobPrediction

    @property
    def time_us(self) -> float:
        """The predicted time in microseconds."""
        return self.answer.time_ps / 1e6

    @property
    def time_cell(self) -> Cell | None:
        """The predicted time as a table cell. If the job does not complete, the cell shows "never"."""
        return formatted(self.time_us) if self.answer.complete else NEVER


@dataclass(frozen=True)
class Point:
    """A measured time. ``values`` has the values of some or all varied settings, by name.

    If the file has bandwidths instead of times, ``bus_gbytes`` is the measured bus bandwidth in 10^9 byte/s, and ``time_us``
    is computed from it. Otherwise ``bus_gbytes`` is None.
    """

    values: Mapping[str, str]
    time_us: float
    bus_gbytes: float | None = None


@dataclass(frozen=True)
class Fit:
    """A straight line through times over sizes.

    - ``bus_gbytes``: the bus bandwidth that the slope gives, in 10^9 byte/s.
    - ``start_us``: the time at size 0.
    """

    bus_gbytes: float
    start_us: float


@dataclass(frozen=True)
class Grid:
    """All predictions of a grid. It is drawn with a chart for each combination of values in ``apart``.

    Each chart has a line for each value of the setting ``by``, over the values of the setting ``across``.
    """

    dimensions: tuple[Dimension, ...]
    cells: tuple[GridCell, ...]
    measured: tuple[Point, ...] = ()

    @property
    def complete(self) -> bool:
        """True if the job completes in every cell."""
        return all(cell.answer.complete for cell in self.cells)

    @property
    def across(self) -> Dimension:
        """The setting on the horizontal axis: the size if it varies, else the numeric setting with the most values, else the first setting."""
        numeric = [dimension for dimension in self.dimensions if dimension.numbers is not None]
        by_size = [dimension for dimension in numeric if dimension.name == "size" and len(dimension.values) > 1]
        return (by_size or sorted(numeric, key=lambda dimension: -len(dimension.values)) or list(self.dimensions))[0]

    @property
    def by(self) -> Dimension | None:
        """The setting whose values have separate lines in a chart: the first one that is not ``across``. None if there is only one setting."""
        return next((dimension for dimension in self.dimensions if dimension is not self.across), None)

    @property
    def apart(self) -> list[dict[str, str]]:
        """The combinations of values, by name, of all settings except ``across`` and ``by``. Each combination has its own chart."""
        rest = [dimension for dimension in self.dimensions if dimension is not self.across and dimension is not self.by]
        return [
            dict(zip([dimension.name for dimension in rest], values, strict=True))
            for values in product(*(dimension.values for dimension in rest))
        ]

    def line(self, fixed: Mapping[str, str]) -> list[GridCell]:
        """Return the predictions of a line: those with the values in ``fixed`` (by name of the setting), in the order of the horizontal axis."""
        order = self.across.values
        line_cells = [cell for cell in self.cells if all(cell.values[name] == value for name, value in fixed.items())]
        return sorted(line_cells, key=lambda cell: order.index(cell.values[self.across.name]))

    def points(self, fixed: Mapping[str, str]) -> list[Point]:
        """Return the measured points that have the values in ``fixed`` (by name of the setting).

        A point that has no value for a setting matches every value of this setting.
        """
        return [
            point
            for point in self.measured
            if all(point.values.get(name, value) == value for name, value in fixed.items())
        ]

    def lines(self) -> list[dict[str, str]]:
        """Return, for each line of the charts, the values that are the same along the line, by name of the setting."""
        by_values: list[dict[str, str]] = (
            [{}] if self.by is None else [{self.by.name: value} for value in self.by.values]
        )
        return [{**each, **by_value} for each in self.apart for by_value in by_values]

    def fit(self, fixed: Mapping[str, str]) -> Fit | None:
        """Return a straight line fitted to the times over the sizes, for the predictions with the values in ``fixed``.

        Return None if the axis is not the size, if there are fewer than two sizes, or if times do not rise.
        """
        cells = self.line(fixed)
        if self.across.name != "size" or len(cells) < 2:
            return None
        bytes_ = np.array([float(cell.values["size"]) for cell in cells])
        slope, start = np.polyfit(bytes_, [cell.time_us for cell in cells], 1)
        factor = longest_run(cells[0].answer).program.bus_factor
        return Fit(factor / slope / 1e3, float(start)) if slope > 0 else None

    @property
    def table(self) -> Table:
        """The table of predictions with a row for each prediction, and its measured values if there are any."""
        measured = (Column("measured us", "number", "measured_us"), Column("off by", "number", "off"))
        return Table(
            (
                *(dimension.column for dimension in self.dimensions),
                *COLUMNS,
                *(measured if self.measured else ()),
            ),
            [self._row(cell) for cell in self.cells],
        )

    def _row(self, cell: GridCell) -> tuple[object, ...]:
        low, high = cell.answer.between_ps
        longest = longest_run(cell.answer)
        near = [
            point.time_us
            for point in self.measured
            if all(cell.values.get(name) == value for name, value in point.values.items())
        ]
        beside = (formatted(near[0]), formatted(cell.time_us / near[0] - 1, "+.1%")) if near else (None, None)
        return (
            *(dimension.cell(cell.values[dimension.name]) for dimension in self.dimensions),
            cell.time_cell,
            *((formatted(low / 1e6), formatted(high / 1e6)) if high > low else (None, None)),
            longest.bus_bandwidth_cell,
            longest.choice.engine,
            *(beside if self.measured else ()),
        )

    @property
    def times(self) -> Table:
        """The table of times in us, with a row for each line of the charts and a column for each value on the axis.

        Rows with measured values follow the row with the predicted values. If sizes vary, the last column has the bus bandwidth that
        follows from the slope of the times.
        """
        across, fits = self.across, [self.fit(line) for line in self.lines()]
        heads = [Column("time us", "text", "line")]
        heads += [Column(f"{across.name}={shown(across.name, value)}", "number") for value in across.values]
        heads += [Column("slope GB/s", "number", "slope_GBps")] if any(fits) else []
        rows: list[list[object]] = []
        for fixed, fit in zip(self.lines(), fits, strict=True):
            slope = [None if fit is None else formatted(fit.bus_gbytes, ",.2f")] if any(fits) else []
            rows.append([words(fixed), *(cell.time_cell for cell in self.line(fixed)), *slope])
            for point in self.points(fixed):
                if point.values.get(across.name) in across.values:
                    here = [point.values[across.name] == value for value in across.values]
                    near = [formatted(point.time_us) if at else EMPTY for at in here]
                    rows.append(["  measured", *near, *(EMPTY for _ in slope)])
        return Table(heads, rows)

    def to_text(self) -> str:
        """Return the table of times for a terminal. Each row is a line of the charts."""
        return "\n".join(self.times.to_text())

    def to_json(self) -> dict[str, Any]:
        """Return the grid as a JSON object; docs/predict.md documents its fields."""
        fits = [(line, self.fit(line)) for line in self.lines()]
        return {
            "compare": {dimension.name: list(dimension.values) for dimension in self.dimensions},
            "cells": [
                {"values": dict(cell.values), "time_us": cell.time_us, "result": cell.answer.to_json()}
                for cell in self.cells
            ],
            "fits": [
                {"values": line, "bus_bandwidth_GBps": fit.bus_gbytes, "start_us": fit.start_us}
                for line, fit in fits
                if fit
            ],
            "measured": [{"values": dict(point.values), "time_us": point.time_us} for point in self.measured],
        }


def words(values: Mapping[str, str]) -> str:
    """Return the values of settings as text in the form of options, such as ``size=4G qps=4``."""
    return " ".join(f"{name}={shown(name, value)}" for name, value in values.items())


def shown(name: str, value: str) -> str:
    """Return a value for people. Sizes are written as nccl-tests writes them."""
    return written(int(value)) if name == "size" else value


def dimensions(text: str) -> list[Dimension]:
    """Return the varied settings in a text such as ``size=4G..16G qps=1,2,4``. Raises the errors of ``dimensions_of``."""
    named_values: list[tuple[str, list[str]]] = []
    for word in text.split():
        name, _, values = word.partition("=")
        named_values.append((name, values_of(name, values)))
        if not named_values[-1][1]:
            raise _wrong(f"{word!r} does not have the form NAME=a,b,c")
    return dimensions_of(named_values)


def dimensions_of(wanted: Iterable[tuple[str, Iterable[str]]]) -> list[Dimension]:
    """Return the varied settings of a grid. ``wanted`` has (name, values) of each.

    Raises ``InputError`` if a name occurs twice or has no values, or if the grid is empty or too large.
    """
    varied = [
        Dimension(
            name, tuple(str(size) for each in values for size in sizes(each)) if name == "size" else tuple(values)
        )
        for name, values in wanted
    ]
    names = [dimension.name for dimension in varied]
    if not varied or not all(dimension.values for dimension in varied):
        raise _wrong("there is nothing to vary" if not varied else "a name has no values")
    if len(set(names)) < len(names):
        raise _wrong("a name is given twice")
    cells = int(np.prod([len(dimension.values) for dimension in varied]))
    if cells > MOST_CELLS:
        raise _wrong(f"the grid has {cells:,} predictions; at most {MOST_CELLS} are allowed")
    return varied


def grid(
    network: Network,
    wanted: Sequence[Dimension],
    given: Mapping[str, Any],
    *,
    measured: Path | None = None,
    progress: Callable[[str], None] = silent,
) -> Grid:
    """Predict every combination of the values in ``wanted``, in parallel processes.

    ``given`` has the options of ``predict`` that do not vary, by name. ``measured`` is a CSV file of measured points
    (``read_points``). Raises ``InputError`` for invalid options or values and, with the line, for errors in the file.
    """
    bare = Grid(tuple(wanted), ())
    names = [dimension.name for dimension in wanted]
    rows = [dict(zip(names, values, strict=True)) for values in product(*(dimension.values for dimension in wanted))]
    variants: list[Variant] = []
    for row in rows:
        varied: Mapping[str, Any] = given
        for name, value in row.items():
            varied = asked_with(name, value, varied)
        variants.append(Variant(words(row), one_question(network, varied)))
    check_ranks(network, names, variants)
    points = () if measured is None else read_points(measured, bare)
    compared = comparison(network, variants, " ".join(names), progress=progress)
    cells = tuple(GridCell(row, outcome.answer) for row, outcome in zip(rows, compared.outcomes, strict=True))
    return replace(bare, cells=cells, measured=tuple(_timed(point, cells) for point in points))


def read_points(path: Path, bare: Grid) -> list[Point]:
    """Read measured points from a CSV file with columns for varied settings, and ``time_us`` or ``bus_bandwidth_GBps``.

    Other columns are ignored. A point with a bandwidth gets the time 0; ``_timed`` computes its time later. ``bare`` is
    a grid with the varied settings; its predictions are not used. Raises ``InputError`` if the file is missing, and with the line
    if a row is invalid.
    """
    names = {dimension.name for dimension in bare.dimensions}
    points: list[Point] = []
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise InputError([Problem(FileLine(str(path)), "no such file", "name a CSV file of measured points")]) from None
    rows = csv_table(text, restval="")
    try:
        for number, row in enumerate(rows, 2):
            points.append(_point(row, names, FileLine(str(path), number)))
    except csv.Error as error:
        description = f"not a table: {error}"
        raise InputError(
            [Problem(FileLine(str(path), rows.line_num), description, "close the quotation marks")]
        ) from None
    return points


def _point(row: Mapping[str, str], names: Set[str], place: FileLine) -> Point:
    """Return the measured point in a row. ``names`` are the varied settings. Raises ``InputError`` at ``place`` if the row is invalid."""
    try:
        values = {
            name: str(sizes(row[name])[0]) if name == "size" else text_of_cell(row[name]) for name in names & row.keys()
        }
        return Point(values, float(row[TIME])) if row.get(TIME) else Point(values, 0.0, float(row[BUS]))
    except (KeyError, ValueError, TypeError, InputError):
        description = f"the row needs a number in {TIME} or {BUS}, and sizes such as 4G"
        fix = f"write columns {', '.join(sorted(names))} and {TIME}"
        raise InputError([Problem(place, description, fix)]) from None


def _timed(point: Point, cells: Sequence[GridCell]) -> Point:
    """Return a measured point with a time. If the point has a bandwidth, its time follows from the bandwidth.

    The calculation uses the bus factor of a prediction in ``cells`` with the same values.
    """
    if point.bus_gbytes is None:
        return point
    like = next(
        (cell for cell in cells if all(cell.values.get(name) == value for name, value in point.values.items())),
        cells[0],
    )
    longest = longest_run(like.answer)
    size = float(point.values.get("size", longest.size_bytes))
    return replace(point, time_us=size * longest.program.bus_factor / point.bus_gbytes / 1e3)


def _wrong(description: str) -> InputError:
    return InputError([Problem(Option("--compare"), description, 'write --compare "size=4G..16G qps=1,2,4"')])
