"""Charts: lines, columns, heat maps and dots as SVG, bars as HTML. There is one function for each kind of chart.

Every mark has a tooltip with its value, and every drawing has a name for readers who do not see it (``label``). A drawing that is
wider than its window scrolls, so that its texts stay readable. ``charts.css`` is the style sheet.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log10
from typing import TYPE_CHECKING

from railweave.pages.shell import element, number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 720.0, 58.0, 12.0, 10.0, 26.0
LINES = 6
"""The number of line styles in the style sheet: classes c0 to c5."""
WIDE = WIDTH * 1.6
"""The width of a chart that takes the full width of the page."""
MOST_TICKS = 10
"""The largest number of labels below a chart whose horizontal positions have names."""


@dataclass(frozen=True)
class Line:
    """A line of a chart.

    - ``values``: a value for each position on the horizontal axis. None means that the value is unknown.
    - ``style``: the number of the line style. None means the line's index in the chart.
    - ``between``: (lowest, highest) value at each position, drawn as an area, or None if unknown. Empty means no area.
    - ``dots``: True if each value also gets a circle.
    - ``faint``: True for a line that is shown only for comparison.
    """

    name: str
    values: Sequence[float | None]
    style: int | None = None
    between: Sequence[tuple[float, float] | None] = ()
    dots: bool = False
    faint: bool = False


@dataclass(frozen=True)
class Point:
    """A circle at (``x``, ``y``) in the color of the line with index ``line``, with a tooltip."""

    line: int
    x: float
    y: float
    tooltip: str


@dataclass(frozen=True)
class Dot:
    """A circle at (``x``, ``y``) in a chart of dots, with a tooltip. ``kind`` is its CSS class; a dot of the kind ``front`` is larger."""

    x: float
    y: float
    kind: str
    tooltip: str


@dataclass(frozen=True)
class Axis:
    """A horizontal axis.

    - ``places``: the positions at which a chart has values.
    - ``unit``: the unit of the positions.
    - ``marks``: events as (position, description).
    - ``names``: the names of the positions, if they are not shown as numbers.
    - ``first``: the position at the left edge.
    """

    places: Sequence[float]
    unit: str
    marks: Sequence[tuple[float, str]] = ()
    names: Sequence[str] = ()
    first: float = 0.0

    @property
    def last(self) -> float:
        """The position at the right edge."""
        most = max(self.places, default=self.first)
        return most if most > self.first else self.first + 1

    def name(self, place: int) -> str:
        """Return the name of the position with the index ``place``: its name or, without names, its number and unit."""
        return self.names[place] if self.names else f"{shown(self.places[place])} {self.unit}".strip()

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The labels below the chart, as (position, text)."""
        if self.names:
            every = -(-len(self.names) // MOST_TICKS)
            return list(zip(self.places, self.names, strict=True))[::-1][::every][::-1]
        return [(value, shown(value)) for value in ticks(self.last) if value <= self.last * 1.001]


@dataclass(frozen=True)
class Part:
    """A part of a bar that is divided. ``style`` is the number of its color; if it is None, the part is not filled."""

    style: int | None
    value: float
    tooltip: str


@dataclass(frozen=True)
class Bar:
    """A bar of a bar chart. ``shown`` is its value as text.

    - ``parts`` divide the bar; without parts it has one color.
    - ``between``: the lowest and highest likely value, drawn as a line over the end of the bar.
    - ``best``: True for the bar that is emphasized.
    """

    name: str
    value: float
    shown: str
    tooltip: str = ""
    parts: Sequence[Part] = ()
    between: tuple[float, float] | None = None
    best: bool = False


def ticks(most: float) -> list[float]:
    """Return the values for the marks of a vertical axis: round, equally spaced, from 0 up to at least ``most``."""
    if most <= 0:
        return [0.0, 1.0]
    power = 10.0 ** int(log10(most) - (1 if most < 1 else 0))
    step = next(power * part for part in (0.2, 0.25, 0.5, 1, 2, 2.5, 5) if most / (power * part) <= 5)
    return [step * place for place in range(ceil(most / step - 1e-9) + 1)]


def shown(value: float) -> str:
    """Return a number with at most three significant digits, or as a whole number from 100 on: ``0.123``, ``12.3``, ``1,234``."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def drawing(label: str, parts: Sequence[str], height: float, width: float = WIDTH, css: str = "") -> str:
    """Return an SVG drawing in a box that scrolls if the window is too narrow. ``parts`` are its markup. All sizes are in pixels.

    ``label`` is the description for screen readers. ``css`` is an additional CSS class.
    """
    svg = (
        f'<svg class="{f"chart {css}".strip()}" style="--natural:{number(width)}px" viewBox="0 0 {number(width)} {number(height)}" '
        f'role="img" aria-label="{text(label)}">{"".join(parts)}</svg>'
    )
    return element("div", svg, class_="plot", tabindex=0)


def card(title: str, about: str, content: str, *, name: str = "", whole: bool = False) -> str:
    """Return a chart with its title and ``about``, a sentence on how to read it. ``content`` is the chart's markup.

    ``name`` identifies the chart in the HTML. ``whole`` is True if the chart takes the full width of the page.
    """
    return element(
        "article",
        element("h3", text(title)),
        element("p", text(about)) if about else "",
        content,
        class_="chart-card whole" if whole else "chart-card",
        data_chart=name or None,
    )


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """Return the legend of a chart. ``entries`` has (CSS class, name): the classes ``c0`` to ``c5`` are line styles, ``f0`` and on areas."""
    keys = (element("span", element("i", " ", class_=css), text(name)) for css, name in entries)
    return element("div", *keys, class_="keys")


def lines(
    axis: Axis,
    several: Sequence[Line],
    unit: str,
    *,
    label: str,
    height: float = 210.0,
    most: float | None = None,
    points: Sequence[Point] = (),
) -> str:
    """Return a chart of the lines ``several`` with a legend below. ``unit`` is the unit of the values, and ``height`` is in pixels.

    ``label`` is the description for screen readers. ``most`` is the top of the vertical axis; None means the largest value. ``points`` are
    additional circles in the colors of their lines.
    """
    every = [value for line in several for value in line.values if value is not None]
    every += [pair[1] for line in several for pair in line.between if pair is not None]
    scale = ticks(max([0.0, *every, *(point.y for point in points)]) if most is None else most)
    across, up = _frame(axis, scale, height)
    styles = [place if line.style is None else line.style for place, line in enumerate(several)]
    parts = [_grid(axis, scale, height)]
    for style, line in zip(styles, several, strict=True):
        parts += [_area(piece, style, across, up) for piece in _unbroken(axis, line)]
    for style, line in zip(styles, several, strict=True):
        path = _path(axis, line.values, across, up)
        css = f"line c{style % LINES}{' faint' if line.faint else ''}"
        parts.append(f'<path class="{css}" d="{path}"><title>{text(line.name)}</title></path>')
        if line.dots:
            parts += [
                f'<circle class="point c{style % LINES}" cx="{number(across(x))}" cy="{number(up(value))}" r="3"/>'
                for x, value in zip(axis.places, line.values, strict=True)
                if value is not None
            ]
    parts += _targets(axis, several, unit, height, across)
    parts += [
        f'<circle class="point c{point.line % LINES}" cx="{number(across(point.x))}" cy="{number(up(point.y))}" r="4">'
        f"<title>{text(point.tooltip)}</title></circle>"
        for point in points
    ]
    keys = [(f"c{style % LINES}", line.name) for style, line in zip(styles, several, strict=True)]
    return drawing(label, parts, height) + (legend(keys) if len(several) > 1 else "")


def columns(axis: Axis, values: Sequence[float], unit: str, *, label: str, height: float = 150.0) -> str:
    """Return a chart with one column for each position on the axis. ``unit`` is the unit of the values, and ``height`` is in pixels.

    ``label`` is the description for screen readers.
    """
    scale = ticks(max(values, default=0.0))
    across, up = _frame(axis, scale, height)
    step = (across(axis.places[-1]) - LEFT) / max(len(axis.places), 1)
    parts = [_grid(axis, scale, height)]
    for place, (x, value) in enumerate(zip(axis.places, values, strict=True)):
        if value:
            box = _box(across(x) - step, up(value), max(step * 0.9, 1), up(0) - up(value))
            hint = f"{axis.name(place)}\n{shown(value)} {unit}"
            parts.append(f'<rect class="column" {box}><title>{text(hint)}</title></rect>')
    return drawing(label, parts, height)


def dots(axis: Axis, several: Sequence[Dot], unit: str, *, label: str, steps: Sequence[Dot] = ()) -> str:
    """Return a chart with a circle for each single result, from ``several``. ``unit`` is the unit of the vertical axis.

    ``steps`` are the corners of an additional stepped line, from left to right. The line ends at the right edge of the chart. ``label`` is
    the description for screen readers.
    """
    height = 240.0
    scale = ticks(max((dot.y for dot in several), default=1.0))
    across, up = _frame(axis, scale, height)
    parts = [_grid(axis, scale, height)]
    for dot in several:
        circle = f'class="dot {dot.kind}" cx="{number(across(dot.x))}" cy="{number(up(dot.y))}" r="{5 if dot.kind == "front" else 3.5}"'
        parts.append(f"<circle {circle}><title>{text(dot.tooltip)}</title></circle>")
    if steps:
        path = f"M{number(across(steps[0].x))} {number(up(steps[0].y))}"
        path += "".join(f"H{number(across(step.x))}V{number(up(step.y))}" for step in steps[1:])
        parts.append(f'<path class="line c1" d="{path}H{number(across(axis.last))}"/>')
    parts.append(f'<text class="mark" x="{number(LEFT + 4)}" y="{number(TOP + 4)}">{text(unit)}</text>')
    return drawing(label, parts, height)


@dataclass(frozen=True)
class HeatCell:
    """A cell of a heat map: its strength from 0 to 1, and its tooltip."""

    strength: float
    tooltip: str


def heatmap(
    rows: Sequence[tuple[str, Sequence[HeatCell | None]]],
    *,
    label: str,
    axis: Axis | None = None,
    cell: float | None = None,
    left: float = 330.0,
    css: str = "",
) -> str:
    """Return a heat map. ``rows`` has (name, cells) of each row; a cell that is None has no value.

    ``axis`` is drawn below. ``cell`` is the width of a cell in pixels; None means that the cells fill a wide chart. ``left`` is the
    width of the names. ``css`` is an additional CSS class, and ``label`` the description for screen readers.
    """
    row = 15.0
    count = max((len(cells) for _, cells in rows), default=0)
    height = TOP + row * len(rows) + (BOTTOM if axis else 6.0)
    step = (WIDE - left - RIGHT) / max(count, 1) if cell is None else cell
    parts: list[str] = []
    for place, (name, cells) in enumerate(rows):
        y = TOP + row * place
        parts.append(
            f'<text class="name" x="{number(left - 8)}" y="{number(y + 11)}">{text(_short(name, left))}<title>{text(name)}</title></text>'
        )
        for column, each in enumerate(cells):
            if each is not None:
                box = _box(left + column * step, y, step + 0.2 if cell is None else step - 1, row - 1)
                strength = f"{min(max(each.strength, 0), 1):.2f}"
                parts.append(f'<rect class="well" {box}/>' if cell else "")
                parts.append(
                    f'<rect class="cell" {box} style="fill-opacity:{strength}"><title>{text(each.tooltip)}</title></rect>'
                )
    if axis is not None:
        parts += [
            f'<text class="tick" x="{number(left + value / axis.last * step * count)}" y="{number(height - 8)}">{text(name)}</text>'
            for value, name in axis.ticks
        ]
        parts.append(f'<text class="unit" x="{number(left - 8)}" y="{number(height - 8)}">{text(axis.unit)}</text>')
    return drawing(label, parts, height, left + step * count + RIGHT, css)


def bars(several: Sequence[Bar], *, most: float | None = None) -> str:
    """Return the bars ``several`` as an HTML list. ``most`` is the value of a bar of full width; None means the largest value."""
    high = max((bar.between[1] for bar in several if bar.between), default=0.0)
    full = most or max([high, *(bar.value for bar in several)], default=1.0) or 1.0
    return element("ul", *(_bar(bar, full) for bar in several), class_="bars")


def _bar(bar: Bar, full: float) -> str:
    marks = [
        element(
            "i",
            "",
            class_="part" if part.style is None else f"part f{part.style}",
            style=f"width:{_share(part.value, full)}",
            title=part.tooltip,
        )
        for part in bar.parts
    ] or [element("i", "", class_="part f0", style=f"width:{_share(bar.value, full)}")]
    if bar.between is not None:
        low, high = bar.between
        marks.append(
            element("i", "", class_="between", style=f"left:{_share(low, full)};width:{_share(high - low, full)}")
        )
    return element(
        "li",
        element("span", text(bar.name), class_="bar-name"),
        element("span", *marks, class_="track"),
        element("b", text(bar.shown)),
        class_="best" if bar.best else None,
        title=f"{bar.name}\n{bar.tooltip}" if bar.tooltip else None,
    )


def _share(value: float, full: float) -> str:
    """Return a value as a percentage of a full bar."""
    return f"{min(max(value / full, 0), 1) * 100:.2f}%"


def _short(name: str, left: float) -> str:
    """Return a name that fits into ``left`` pixels, with its middle left out if it is too long."""
    most = int((left - 12) / 6.2)
    return name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-(most // 2) :]}"


def _frame(axis: Axis, scale: list[float], height: float) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Return two functions: one from an axis position to x, one from a value to y, both in pixels of the drawing.

    ``height`` is the height of the drawing, and ``scale`` has the values of the vertical axis's marks.
    """

    def across(x: float) -> float:
        return LEFT + (x - axis.first) / (axis.last - axis.first) * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        return height - BOTTOM - y / scale[-1] * (height - TOP - BOTTOM)

    return across, up


def _path(
    axis: Axis, values: Sequence[float | None], across: Callable[[float], float], up: Callable[[float], float]
) -> str:
    """Return the SVG path of a line, with a gap at each unknown value. ``across`` and ``up`` convert positions and values to pixels."""
    pieces: list[str] = []
    pen = "M"
    for x, value in zip(axis.places, values, strict=True):
        if value is None:
            pen = "M"
            continue
        pieces.append(f"{pen}{number(across(x))} {number(up(value))}")
        pen = "L"
    return "".join(pieces)


def _unbroken(axis: Axis, line: Line) -> list[list[tuple[float, float, float]]]:
    """Return the range of a line (``Line.between``) as lists of (position, lowest, highest), divided at unknown values."""
    pieces: list[list[tuple[float, float, float]]] = [[]]
    for x, pair in zip(axis.places, line.between, strict=False):
        if pair is None:
            pieces.append([])
        else:
            pieces[-1].append((x, *pair))
    return [piece for piece in pieces if len(piece) > 1]


def _area(
    piece: Sequence[tuple[float, float, float]],
    style: int,
    across: Callable[[float], float],
    up: Callable[[float], float],
) -> str:
    over = [f"{number(across(x))} {number(up(high))}" for x, _, high in piece]
    under = [f"{number(across(x))} {number(up(low))}" for x, low, _ in reversed(piece)]
    return f'<path class="band f{style % LINES}" d="M{"L".join(over + under)}Z"/>'


def _targets(
    axis: Axis, several: Sequence[Line], unit: str, height: float, across: Callable[[float], float]
) -> list[str]:
    """Return invisible boxes, one for each axis position. Each has a tooltip with the values of all lines at that position.

    ``several`` are the lines, ``unit`` is the unit of their values, and ``height`` is the height of the drawing. ``across`` converts
    positions to pixels.
    """
    xs = [across(x) for x in axis.places]
    parts: list[str] = []
    for place, x in enumerate(xs):
        before = (xs[place - 1] + x) / 2 if place else LEFT
        after = (xs[place + 1] + x) / 2 if place + 1 < len(xs) else WIDTH - RIGHT
        readings = [axis.name(place)]
        for line in several:
            value = line.values[place]
            if value is not None:
                pair = line.between[place] if line.between else None
                reach = f", {shown(pair[0])} to {shown(pair[1])}" if pair else ""
                readings.append(f"{line.name}: {shown(value)}{reach} {unit}")
        box = _box(before, TOP, after - before, height - TOP - BOTTOM)
        parts.append(f'<rect class="target" {box}><title>{text(chr(10).join(readings))}</title></rect>')
    return parts


def _grid(axis: Axis, scale: list[float], height: float) -> str:
    across, up = _frame(axis, scale, height)
    parts: list[str] = []
    for value in scale:
        y = up(value)
        parts.append(f'<path class="rule" d="M{number(LEFT)} {number(y)}H{number(WIDTH - RIGHT)}"/>')
        parts.append(f'<text class="side" x="{number(LEFT - 6)}" y="{number(y + 4)}">{shown(value)}</text>')
    for value, name in axis.ticks:
        x = across(value)
        end = ' style="text-anchor:end"' if x + 3.2 * len(name) > WIDTH else ""
        parts.append(
            f'<text class="tick"{end} x="{number(min(x, WIDTH))}" y="{number(height - 8)}">{text(name)}</text>'
        )
    parts.append(f'<text class="unit" x="{number(LEFT - 14)}" y="{number(height - 8)}">{text(axis.unit)}</text>')
    for moment, event in axis.marks:
        if axis.first <= moment <= axis.last:
            parts.append(
                f'<path class="event" d="M{number(across(moment))} {number(TOP)}V{number(height - BOTTOM)}">'
                f"<title>{text(event)} at {shown(moment)} {axis.unit}</title></path>"
            )
    return "".join(parts)


def _box(x: float, y: float, width: float, height: float) -> str:
    return f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
