"""Bandwidth over sizes as SVG: sizes in powers of two, the prediction as a line in its band, earlier runs behind the latest."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from railweave.pages.charts import LINES, shown, ticks
from railweave.pages.markup import element, number, text
from railweave.prediction.simulation.grid import shown as shown_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.operations.bench.comparing.curves import Curve

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720.0, 250.0, 58.0, 12.0, 10.0, 26.0
MOST_TICKS = 10


def size_chart(curve: Curve) -> str:
    """The chart with its legend. The latest run is a line with circles; what is predicted is dashed."""
    least, most = log2(curve.sizes[0]), log2(curve.sizes[-1])
    bands = [one for one in curve.predicted if one is not None]
    several = [curve.now, *(values for _, values in curve.earlier)]
    top = max([high for _, _, high in bands] + [one for values in several for one in values if one is not None])
    scale = ticks(top)

    def across(size: int) -> float:
        return LEFT + (log2(size) - least) / max(most - least, 1e-9) * (WIDTH - LEFT - RIGHT)

    def up(value: float) -> float:
        return HEIGHT - BOTTOM - value / scale[-1] * (HEIGHT - TOP - BOTTOM)

    xs = [across(one) for one in curve.sizes]
    parts = [_grid(curve.sizes, xs, scale, up)]
    parts += [_band(places) for places in _pieces(xs, curve.predicted, up)]
    for place, (_, values) in enumerate(curve.earlier):
        parts.append(f'<path class="line earlier c{2 + place % (LINES - 2)}" d="{_path(xs, values, up)}"/>')
    parts.append(
        f'<path class="line c1" d="{_path(xs, [one and one[0] for one in curve.predicted], up)}"/>'
        f'<path class="line c0" d="{_path(xs, curve.now, up)}"/>'
    )
    parts += [
        f'<circle class="point c0" cx="{number(x)}" cy="{number(up(value))}" r="3"/>'
        for x, value in zip(xs, curve.now, strict=True)
        if value is not None
    ]
    parts += _targets(curve, xs)
    names = ["latest run"] + (["predicted, with its band"] if bands else [])
    legend = [element("span", element("i", " ", class_=f"c{place}"), text(name)) for place, name in enumerate(names)]
    legend += [
        element("span", element("i", " ", class_=f"c{2 + place % (LINES - 2)}"), text(name))
        for place, (name, _) in enumerate(curve.earlier)
    ]
    svg = f'<svg class="chart" viewBox="0 0 {number(WIDTH)} {number(HEIGHT)}" role="img">{"".join(parts)}</svg>'
    return svg + element("div", *legend, class_="keys")


def _pieces(
    xs: Sequence[float], bands: Sequence[tuple[float, float, float] | None], up: Callable[[float], float]
) -> list[list[tuple[float, float, float]]]:
    """Runs of sizes that have a band: x, lower and upper end."""
    found: list[list[tuple[float, float, float]]] = [[]]
    for x, one in zip(xs, bands, strict=True):
        if one is None:
            found.append([])
        else:
            found[-1].append((x, up(one[1]), up(one[2])))
    return [one for one in found if len(one) > 1]


def _band(places: Sequence[tuple[float, float, float]]) -> str:
    over = [f"{number(x)} {number(high)}" for x, _, high in places]
    under = [f"{number(x)} {number(low)}" for x, low, _ in reversed(places)]
    return f'<path class="band" d="M{"L".join(over + under)}Z"/>'


def _path(xs: Sequence[float], values: Sequence[float | None], up: Callable[[float], float]) -> str:
    pieces: list[str] = []
    pen = "M"
    for x, value in zip(xs, values, strict=True):
        if value is None:
            pen = "M"
            continue
        pieces.append(f"{pen}{number(x)} {number(up(value))}")
        pen = "L"
    return "".join(pieces)


def _grid(sizes: Sequence[int], xs: Sequence[float], scale: Sequence[float], up: Callable[[float], float]) -> str:
    parts: list[str] = []
    for value in scale:
        parts.append(f'<path class="rule" d="M{number(LEFT)} {number(up(value))}H{number(WIDTH - RIGHT)}"/>')
        parts.append(f'<text class="side" x="{number(LEFT - 6)}" y="{number(up(value) + 4)}">{shown(value)}</text>')
    every = -(-len(sizes) // MOST_TICKS)
    for size, x in list(zip(sizes, xs, strict=True))[::-1][::every]:
        end = ' style="text-anchor:end"' if x > WIDTH - RIGHT - 20 else ""
        parts.append(
            f'<text class="tick"{end} x="{number(x)}" y="{number(HEIGHT - 8)}">{text(shown_value("size", str(size)))}</text>'
        )
    return "".join(parts)


def _targets(curve: Curve, xs: Sequence[float]) -> list[str]:
    """What is said where a size is pointed at."""
    parts: list[str] = []
    for place, (size, x) in enumerate(zip(curve.sizes, xs, strict=True)):
        before = (xs[place - 1] + x) / 2 if place else LEFT
        after = (xs[place + 1] + x) / 2 if place + 1 < len(xs) else WIDTH - RIGHT
        said = [shown_value("size", str(size))]
        here = [("latest run", curve.now[place]), *((name, values[place]) for name, values in curve.earlier)]
        said += [f"{name}: {shown(value)} {curve.unit}" for name, value in here if value is not None]
        band = curve.predicted[place]
        if band is not None:
            said.append(f"predicted: {shown(band[0])}, {shown(band[1])} to {shown(band[2])} {curve.unit}")
        box = f'x="{number(before)}" y="{number(TOP)}" width="{number(after - before)}" height="{number(HEIGHT - TOP - BOTTOM)}"'
        parts.append(f'<rect class="target" {box}><title>{text(chr(10).join(said))}</title></rect>')
    return parts
