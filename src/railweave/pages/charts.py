"""Charts as SVG: lines over time, heat maps and bars. Each mark has a tooltip with its value."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log10
from typing import TYPE_CHECKING

from railweave.pages.shell import element, number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 720.0, 58.0, 12.0, 10.0, 26.0
LINES = 6
"""The number of line styles in the page's style sheet: classes c0 to c5."""


@dataclass(frozen=True)
class Line:
    """A line of a chart: its name, and a value for each position on the horizontal axis. None means that the value is unknown."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Point:
    """A circle at (``x``, ``y``) in the color of the line with index ``line``, with a tooltip."""

    line: int
    x: float
    y: float
    tooltip: str


@dataclass(frozen=True)
class Axis:
    """A horizontal axis: the positions of the values, and their unit. ``marks`` holds events as pairs of position and description."""

    places: Sequence[float]
    unit: str
    marks: Sequence[tuple[float, str]] = ()


def ticks(most: float) -> list[float]:
    """Return the values for the marks of a vertical axis: round, equally spaced, from 0 up to at least ``most``."""
    if most <= 0:
        return [0.0, 1.0]
    power = 10.0 ** int(log10(most) - (1 if most < 1 else 0))
    step = next(power * part for part in (0.2, 0.25, 0.5, 1, 2, 2.5, 5) if most / (power * part) <= 5)
    return [step * place for place in range(ceil(most / step - 1e-9) + 1)]


def shown(value: float) -> str:
    """Return a value as text with no more digits than are readable."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def lines(
    axis: Axis,
    several: Sequence[Line],
    unit: str,
    *,
    height: float = 210.0,
    most: float | None = None,
    points: Sequence[Point] = (),
) -> str:
    """Return a line chart with a legend below. ``unit`` is the unit of the values, and ``height`` is in pixels.

    ``most`` is the top of the vertical axis; None means the largest value. ``points`` are circles in the colors of their lines.
    """
    top = max((value for line in several for value in line.values if value is not None), default=0.0)
    top = max(top, *(point.y for point in points)) if points else top
    scale = ticks(top if most is None else most)
    across, up = _frame(axis, scale, height)
    parts = [_grid(axis, scale, height)]
    for place, line in enumerate(several):
        pieces: list[str] = []
        pen = "M"
        for x, value in zip(axis.places, line.values, strict=True):
            if value is None:
                pen = "M"
                continue
            pieces.append(f"{pen}{number(across(x))} {number(up(value))}")
            pen = "L"
        parts.append(
            f'<path class="line c{place % LINES}" d="{"".join(pieces)}"><title>{text(line.name)}</title></path>'
        )
    step = (across(axis.places[-1]) - LEFT) / max(len(axis.places) - 1, 1) if axis.places else 1.0
    for place, x in enumerate(axis.places):
        values = [(line.name, line.values[place]) for line in several]
        readings = "\n".join(f"{name}: {shown(value)} {unit}" for name, value in values if value is not None)
        parts.append(
            _target(across(x) - step / 2, TOP, step, height - TOP - BOTTOM, f"{shown(x)} {axis.unit}\n{readings}")
        )
    parts += [
        f'<circle class="point c{point.line % LINES}" cx="{number(across(point.x))}" cy="{number(up(point.y))}" r="4">'
        f"<title>{text(point.tooltip)}</title></circle>"
        for point in points
    ]
    legend = "".join(
        element("span", element("i", " ", class_=f"c{place % LINES}"), text(line.name))
        for place, line in enumerate(several)
    )
    return _svg(height, parts) + (element("div", legend, class_="keys") if len(several) > 1 else "")


def columns(axis: Axis, values: Sequence[float], unit: str, *, height: float = 150.0) -> str:
    """Return a chart with one column for each position on the axis. ``unit`` is the unit of the values, and ``height`` is in pixels."""
    scale = ticks(max(values, default=0.0))
    across, up = _frame(axis, scale, height)
    step = (across(axis.places[-1]) - LEFT) / max(len(axis.places), 1)
    parts = [_grid(axis, scale, height)]
    for x, value in zip(axis.places, values, strict=True):
        if value:
            box = f'x="{number(across(x) - step)}" y="{number(up(value))}" width="{number(max(step * 0.9, 1))}" height="{number(up(0) - up(value))}"'
            parts.append(
                f'<rect class="column" {box}><title>{shown(x)} {axis.unit}\n{shown(value)} {text(unit)}</title></rect>'
            )
    return _svg(height, parts)


def heatmap(axis: Axis, rows: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Return a heat map with one row for each name and one cell for each position. Values are fractions from 0 to 1."""
    row, left = 15.0, 330.0
    height = TOP + row * len(rows) + BOTTOM
    width = WIDTH * 1.6
    end = axis.places[-1] if axis.places else 1.0
    step = (width - left - RIGHT) / max(len(axis.places), 1)
    parts: list[str] = []
    for place, (name, values) in enumerate(rows):
        y = TOP + row * place
        parts.append(
            f'<text class="name" x="{number(left - 8)}" y="{number(y + 11)}">{text(_short(name))}<title>{text(name)}</title></text>'
        )
        for column, value in enumerate(values):
            shade = f'style="fill-opacity:{min(value, 1):.2f}"'
            box = f'x="{number(left + column * step)}" y="{number(y)}" width="{number(step + 0.2)}" height="{number(row - 1)}"'
            parts.append(
                f'<rect class="cell" {box} {shade}><title>{text(name)}\n{shown(axis.places[column])} {axis.unit}: {value:.1%}</title></rect>'
            )
    for value in ticks(end):
        if value <= end * 1.001:
            x = left + value / end * (width - left - RIGHT)
            parts.append(f'<text class="tick" x="{number(x)}" y="{number(height - 8)}">{shown(value)}</text>')
    parts.append(f'<text class="unit" x="{number(left - 8)}" y="{number(height - 8)}">{text(axis.unit)}</text>')
    return _svg(height, parts, width)


def percent(value: float) -> str:
    """Return a fraction as a percentage."""
    return f"{value:.1%}"


def bars(
    rows: Sequence[tuple[str, float, str]],
    *,
    most: float = 1.0,
    show: Callable[[float], str] = percent,
    left: float = 330.0,
    width: float = WIDTH * 1.6,
) -> str:
    """Return a bar chart. Each row is (name, value, tooltip), ``most`` is the value of a full bar, and ``show`` formats the value.

    ``left`` is the width of the names and ``width`` the width of the chart, in pixels.
    """
    row = 19.0
    height = TOP + row * len(rows) + 6
    parts: list[str] = []
    for place, (name, value, hint) in enumerate(rows):
        y = TOP + row * place
        long = (width - left - 70) * min(value / most, 1)
        parts.append(
            f"<g><title>{text(name)}\n{text(hint)}</title>"
            f'<text class="name" x="{number(left - 8)}" y="{number(y + 12)}">{text(_short(name))}</text>'
            f'<rect class="track" x="{number(left)}" y="{number(y + 1)}" width="{number(width - left - 70)}" height="14" rx="3"/>'
            f'<rect class="bar-value" x="{number(left)}" y="{number(y + 1)}" width="{number(long)}" height="14" rx="3"/>'
            f'<text class="value" x="{number(width - 62)}" y="{number(y + 12)}">{text(show(value))}</text></g>'
        )
    return _svg(height, parts, width)


def _short(name: str) -> str:
    return name if len(name) <= 52 else f"{name[:25]}…{name[-26:]}"


def _frame(axis: Axis, scale: list[float], height: float):  # noqa: ANN202 - two functions of one argument
    end = max(axis.places, default=1.0) or 1.0

    def across(x: float) -> float:
        return LEFT + x / end * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        return height - BOTTOM - y / scale[-1] * (height - TOP - BOTTOM)

    return across, up


def _grid(axis: Axis, scale: list[float], height: float) -> str:
    across, up = _frame(axis, scale, height)
    end = max(axis.places, default=1.0) or 1.0
    parts: list[str] = []
    for value in scale:
        y = up(value)
        parts.append(f'<path class="rule" d="M{number(LEFT)} {number(y)}H{number(WIDTH - RIGHT)}"/>')
        parts.append(f'<text class="side" x="{number(LEFT - 6)}" y="{number(y + 4)}">{shown(value)}</text>')
    parts += [
        f'<text class="tick" x="{number(across(value))}" y="{number(height - 8)}">{shown(value)}</text>'
        for value in ticks(end)
        if value <= end * 1.001
    ]
    parts.append(f'<text class="unit" x="{number(LEFT - 6)}" y="{number(height - 8)}">{text(axis.unit)}</text>')
    for moment, event in axis.marks:
        if 0 <= moment <= end:
            parts.append(
                f'<path class="event" d="M{number(across(moment))} {number(TOP)}V{number(height - BOTTOM)}">'
                f"<title>{text(event)} at {shown(moment)} {axis.unit}</title></path>"
            )
    return "".join(parts)


def _target(x: float, y: float, width: float, height: float, hint: str) -> str:
    box = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
    return f'<rect class="target" {box}><title>{text(hint)}</title></rect>'


def _svg(height: float, parts: Sequence[str], width: float = WIDTH) -> str:
    return f'<svg class="chart" viewBox="0 0 {number(width)} {number(height)}" role="img">{"".join(parts)}</svg>'
