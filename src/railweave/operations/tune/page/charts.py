"""Charts of a study: parallel coordinates of its trials, the course of the search, and the frontier of two objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.operations.tune.scoring import aims_of
from railweave.operations.tune.space import short_names
from railweave.pages.charts import shown, ticks
from railweave.pages.markup import number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.operations.tune.run import Outcome
    from railweave.operations.tune.search import Trial

TOP, BOTTOM, SIDE = 46.0, 26.0, 64.0
HEIGHT = 330.0
COLUMN = 170.0
"""Pixels between two axes of the parallel coordinates; a narrow window scrolls them."""
MOST_LABELS = 9
"""Labels on an axis."""


def parallel(found: Outcome) -> str:
    """A line for each trial that was measured with every seed, through the values of its knobs to what it got; the best one bold."""
    knobs, aim = found.space.knobs, aims_of(found.study.goal)[0]
    measured = [one for one in found.trials if one.number in found.scores]
    values = [found.scores[one.number].values[0] for one in measured]
    least, most = min(values, default=0.0), max(values, default=1.0)
    wide = 2 * SIDE + COLUMN * len(knobs)
    parts: list[str] = []
    short = short_names([one.name for one in knobs])
    for place, knob in enumerate(knobs):
        labels = [str(one) for one in knob.values]
        parts.append(_axis(SIDE + COLUMN * place, short[knob.name], knob.name, labels))
    span = most - least or 1.0
    marks = [shown(least + span * part / 4) for part in range(5)]
    parts.append(_axis(SIDE + COLUMN * len(knobs), f"{aim.title} {aim.unit}".strip(), aim.title, marks))
    order = sorted(measured, key=lambda one: (one.number == found.best, _part(found, one, least, span)))
    for one in order:
        part = _part(found, one, least, span)
        places = [_up(_share(chosen, len(knob.values))) for chosen, knob in zip(one.chosen, knobs, strict=True)]
        places.append(_up((found.scores[one.number].values[0] - least) / span))
        path = "L".join(f"{number(SIDE + COLUMN * place)} {number(y)}" for place, y in enumerate(places))
        kind = "best" if one.number == found.best else "kept" if found.scores[one.number].feasible else "broken"
        opacity = 1.0 if kind == "best" else 0.12 + 0.6 * part
        parts.append(
            f'<path class="trial {kind}" style="stroke-opacity:{opacity:.2f}" d="M{path}"><title>{text(_said(found, one))}</title></path>'
        )
    return _svg(wide, HEIGHT, parts)


def _part(found: Outcome, one: Trial, least: float, span: float) -> float:
    """How good a trial is among all, 0 to 1."""
    part = (found.scores[one.number].values[0] - least) / span
    return part if aims_of(found.study.goal)[0].more else 1 - part


def _said(found: Outcome, one: Trial) -> str:
    score = found.scores[one.number]
    short = short_names([knob.name for knob in found.space.knobs])
    lines = [f"trial {one.number}", *(f"{short[name]}: {value}" for name, value in found.values(one.number).items())]
    lines += [
        f"{aim.title}: {shown(value)} {aim.unit}".rstrip()
        for aim, value in zip(aims_of(found.study.goal), score.values, strict=True)
    ]
    return "\n".join([*lines, *(what for what, _ in score.broken)])


def _axis(x: float, title: str, whole: str, labels: Sequence[str]) -> str:
    every = max(1, -(-len(labels) // MOST_LABELS))
    parts = [
        f'<path class="rule" d="M{number(x)} {number(TOP)}V{number(HEIGHT - BOTTOM)}"/>',
        f'<text class="title" x="{number(x)}" y="20">{text(title)}<title>{text(whole)}</title></text>',
    ]
    places = [place for place in range(len(labels)) if place % every == 0 or place == len(labels) - 1]
    if len(places) > 1 and places[-1] - places[-2] < every:
        places.pop(-2)
    parts += [
        f'<text class="mark" x="{number(x + 5)}" y="{number(_up(_share(place, len(labels))) + 4)}">{text(labels[place])}</text>'
        for place in places
    ]
    return "".join(parts)


def _share(place: int, count: int) -> float:
    return place / (count - 1) if count > 1 else 0.5


def _up(part: float) -> float:
    return HEIGHT - BOTTOM - part * (HEIGHT - BOTTOM - TOP)


WIDTH = 720.0
LEFT, RIGHT = 62.0, 14.0


def course(found: Outcome) -> str:
    """Each trial in the order of the search, and the best so far as a line."""
    aim = aims_of(found.study.goal)[0]
    values = {number_: one.values[0] for number_, one in found.scores.items()}
    scale = ticks(max(values.values(), default=1.0))
    last = max(len(found.trials) - 1, 1)

    def across(place: float) -> float:
        return LEFT + place / last * (WIDTH - LEFT - RIGHT)

    def up(value: float) -> float:
        return 230 - BOTTOM - value / scale[-1] * (230 - BOTTOM - 12)

    parts = _sides(scale, up)
    best: float | None = None
    line: list[str] = []
    for place, value in sorted(values.items()):
        feasible = found.scores[place].feasible
        if feasible and (best is None or aim.better(value, best)):
            if best is not None:
                line.append(f"L{number(across(place))} {number(up(best))}")
            best = value
            line.append(f"{'L' if line else 'M'}{number(across(place))} {number(up(value))}")
        kind = "kept" if feasible else "broken"
        said = text(_said(found, found.trials[place]))
        parts.append(
            f'<circle class="dot {kind}" cx="{number(across(place))}" cy="{number(up(value))}" r="3.5"><title>{said}</title></circle>'
        )
    if best is not None:
        line.append(f"L{number(across(last))} {number(up(best))}")
        parts.append(f'<path class="line c1" d="{"".join(line)}"><title>the best so far</title></path>')
    parts.append(f'<text class="tick" x="{number(across(last))}" y="226" style="text-anchor:end">trial {last}</text>')
    parts.append(f'<text class="tick" x="{number(LEFT)}" y="226">0</text>')
    return _svg(WIDTH, 230, parts)


def frontier(found: Outcome) -> str:
    """The first two objectives of every trial; those that no other beats in both are filled."""
    one, other = aims_of(found.study.goal)[:2]
    scores = found.scores
    scale, other_scale = (
        ticks(max((score.values[place] for score in scores.values()), default=1.0)) for place in (0, 1)
    )

    def across(value: float) -> float:
        return LEFT + value / other_scale[-1] * (WIDTH - LEFT - RIGHT)

    def up(value: float) -> float:
        return 260 - BOTTOM - 12 - value / scale[-1] * (260 - BOTTOM - 24)

    parts = _sides(scale, up)
    for place, score in scores.items():
        kind = "front" if place in found.frontier else "kept" if score.feasible else "broken"
        where = f'cx="{number(across(score.values[1]))}" cy="{number(up(score.values[0]))}"'
        parts.append(
            f'<circle class="dot {kind}" {where} r="{5 if kind == "front" else 3.5}"><title>{text(_said(found, found.trials[place]))}</title></circle>'
        )
    parts += [f'<text class="tick" x="{number(across(value))}" y="240">{shown(value)}</text>' for value in other_scale]
    parts.append(
        f'<text class="tick" x="{number((LEFT + WIDTH) / 2)}" y="256">{text(f"{other.title} {other.unit}".strip())}</text>'
    )
    parts.append(f'<text class="mark" x="{number(LEFT + 4)}" y="14">{text(f"{one.title} {one.unit}".strip())}</text>')
    return _svg(WIDTH, 260, parts)


def _sides(scale: Sequence[float], up: Callable[[float], float]) -> list[str]:
    return [
        f'<path class="rule" d="M{number(LEFT)} {number(up(value))}H{number(WIDTH - RIGHT)}"/>'
        f'<text class="side" x="{number(LEFT - 6)}" y="{number(up(value) + 4)}">{shown(value)}</text>'
        for value in scale
    ]


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    natural = f'style="--natural:{number(width)}px"'
    return (
        f'<svg class="chart" {natural} viewBox="0 0 {number(width)} {number(height)}" role="img">{"".join(parts)}</svg>'
    )
