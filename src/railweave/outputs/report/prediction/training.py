"""Training jobs as HTML pages: the time of a step, the waiting of GPUs, and a timeline of a step. Variants of a job can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.report.prediction.page import document
from railweave.pages.charts import Bar, Part, bars, card, drawing, legend
from railweave.pages.shell import element, number, section, text
from railweave.pages.terms import tile
from railweave.prediction.jobs.graph import COMPUTE
from railweave.prediction.simulation.training.answer import KINDS, JobResult, TrainingPrediction
from railweave.prediction.simulation.training.variants import SEVERAL, Row, Variants

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


MOST_STAGES = 12
"""The largest number of pipeline stages in a drawing. If there are more, an evenly spaced selection is drawn."""
MOST_LINKS = 500
"""The largest number of links in the page's embedded data. If there are more, only the busiest are included."""
WIDTH, LEFT, LANE, GAP = 1150.0, 86.0, 15.0, 9.0
LEAST = 0.35
"""The smallest visible gap in pixels. Two marks of the same kind with a smaller gap are drawn as one."""
FILL = {"forward": 0, "backward": 5, "TP": 6, "CP": 6, "EP": 2, "PP": 1, "DP": 3, "EDP": 4}
"""The fill color of each kind of activity, as an index into the page's colors."""
OTHER = 3
"""The fill color of communication of unknown kind (the trace does not tell its parallelism), as an index into the page's colors."""
NAMES = {
    "forward": "computing forward",
    "backward": "computing backward, optimizer",
    **{kind: KINDS[kind] for kind in KINDS if kind in FILL},
}
PURPOSE = (
    "This page predicts how long a step of training takes on a designed network, and what its GPUs wait for meanwhile. Nothing was measured "
    "on hardware; docs/predict.md#training-steps says how it is worked out, and how near it was to published steps."
)


def training_html(prediction: TrainingPrediction) -> str:
    """Return the page of a training prediction."""
    names = [
        prediction.title(number) + (f" ({job.plan.job.tenant})" if job.plan.job.tenant else "")
        for number, job in enumerate(prediction.jobs)
    ]
    title = f"{prediction.network}: {', '.join(names)}"
    sections: list[str] = []
    links: list[tuple[str, str]] = []
    for place, (name, job) in enumerate(zip(names, prediction.jobs, strict=True), 1):
        links.append((f"job{place}", name))
        sections.append(section(f"job{place}", name, "", _job(job)))
    links.append(("notes", "Assumed"))
    sections.append(
        section("notes", "Assumed", "", element("ul", *(element("li", text(note)) for note in prediction.notes)))
    )
    header = element("h1", text(title)) + element("p", text(PURPOSE), class_="lead")
    value = prediction.to_json()
    for record in value["jobs"]:
        del record["links"][MOST_LINKS:]
    return document(title, header, sections, value, links)


def _job(job: JobResult) -> str:
    step, tokens, mfu = job.step_ps, job.tokens_per_second, job.mfu
    figures = [
        (f"{step / 1e9:,.1f} ms", "a step"),
        *([] if tokens is None else [(f"{tokens:,.0f}", "tokens a second")]),
        *([] if mfu is None else [(f"{mfu:.1%}", "MFU: of the GPUs' peak")]),
        (f"{job.wasted_gpus:,.1f} of {job.plan.ranks:,}", "GPUs that wait for communication"),
    ]
    if job.alone_ps != step:
        figures.insert(1, (f"{job.alone_ps / 1e9:,.1f} ms", "a step with nobody else on the network"))
    about, tiers = f"{job.plan.about}.", job.tiers_table
    drawn = card("A step, stage by stage", _DRAWN, _keys(job) + _timeline(job), name="timeline", whole=True)
    return "".join(
        [
            element("p", text(about), class_="about"),
            element("p", text(_sure(job)), class_="about"),
            element("ul", *(tile(value, label) for value, label in figures), class_="tiles"),
            *([] if job.checkpoint is None else [element("p", text(job.checkpoint.summary), class_="about")]),
            *(element("p", text(f"{note}."), class_="about") for note in job.plan.notes),
            element("h3", "What GPUs do in a step"),
            job.parts_table.to_html(),
            element("div", drawn, class_="charts"),
            *([element("h3", "Where a step's bytes go"), tiers.to_html()] if tiers.rows else []),
            element("h3", "What is sent between servers"),
            job.sent_table.to_html()
            if job.carried
            else element("p", "Nothing is sent between servers.", class_="about"),
            *([element("h3", "The same by packets"), job.packets_table.to_html()] if job.checked else []),
        ]
    )


def _sure(job: JobResult) -> str:
    """Return sentences about the likely range of a step's time, and about the bottleneck that determines the time."""
    band = job.band
    between = f"The step is between {band.low_ps / 1e9:,.1f} and {band.high_ps / 1e9:,.1f} ms: {band.compared}. "
    sentence = "" if band.error is None and len(band.seeds_ps) < 2 else between
    outside = f"Not compared: {band.outside}. " if band.outside else ""
    return f"{sentence}{outside}Bound by: {job.binds()}."


_DRAWN = (
    "For each pipeline stage, above what its GPUs compute, below what they send to other servers. What is sent while they compute is pale: it is "
    "hidden. Where the upper lane is empty, GPUs wait. Communication inside servers is part of computing here; the table above has its time."
)


def _keys(job: JobResult) -> str:
    there = {"forward", "backward"} | {communication.kind for communication in job.graph.communications}
    return legend([(f"f{FILL.get(kind, OTHER)}", name) for kind, name in NAMES.items() if kind in there])


def _timeline(job: JobResult) -> str:
    """Return the timeline of a step as SVG. Each pipeline stage has its own lanes."""
    stages = job.graph.classes
    chosen = sorted(
        {
            round(place * (stages - 1) / max(min(MOST_STAGES, stages) - 1, 1))
            for place in range(min(MOST_STAGES, stages))
        }
    )
    scale = (WIDTH - LEFT - 10) / max(job.times.step_ps, 1)
    marks: list[str] = []
    y = 6.0
    for stage in chosen:
        marks.append(f'<text x="{number(LEFT - 8)}" y="{number(y + 12)}" class="side">stage {stage + 1}</text>')
        computing = _merged(_computing(job, stage), scale)
        marks += [_mark(mark, y, scale, 1.0) for mark in computing]
        busy = [(begin, end) for _, begin, end, _ in _merged(_computing(job, stage, plain=True), 0)]
        for kind, begin, end, label in _merged(_sending(job, stage), scale):
            marks.append(_mark((kind, begin, end, label), y + LANE + 1, scale, 0.35))
            marks += [
                _mark((kind, a, b, label + "; GPUs wait"), y + LANE + 1, scale, 1.0)
                for a, b in _without(begin, end, busy)
            ]
        y += 2 * LANE + GAP
    axis = "".join(
        f'<line class="rule" x1="{number(LEFT + (WIDTH - LEFT - 10) * part / 5)}" x2="{number(LEFT + (WIDTH - LEFT - 10) * part / 5)}" y1="4" y2="{number(y)}"/>'
        f'<text class="tick" x="{number(LEFT + (WIDTH - LEFT - 10) * part / 5)}" y="{number(y + 13)}">{job.times.step_ps * part / 5e9:,.0f} ms</text>'
        for part in range(6)
    )
    return drawing("A step, stage by stage", [axis, *marks], y + 20, WIDTH + 20)


Mark = tuple[str, int, int, str]
"""A mark in the timeline: (kind of activity such as ``forward``, begin in ps, end in ps, tooltip)."""


def _computing(job: JobResult, stage: int, *, plain: bool = False) -> Iterable[Mark]:
    for op, begin, end in zip(job.graph.ops, job.times.begin_ps, job.times.end_ps, strict=True):
        if op.rank_class == stage and op.stream == COMPUTE and end > begin:
            kind = "forward" if op.label.startswith("F") or plain else "backward"
            yield kind, begin, end, op.label


def _sending(job: JobResult, stage: int) -> Iterable[Mark]:
    for op, begin, end in zip(job.graph.ops, job.times.begin_ps, job.times.end_ps, strict=True):
        if op.rank_class == stage and op.communication is not None:
            communication = job.graph.communications[op.communication]
            yield (
                communication.kind,
                begin,
                end,
                f"{KINDS.get(communication.kind, communication.kind)}: {communication.collective} of {communication.size_bytes:,} bytes, {op.label}",
            )


def _merged(marks: Iterable[Mark], scale: float) -> list[Mark]:
    """Return the marks in order of time. Neighbors of the same kind are merged if the gap between them is too small to see.

    ``scale`` is in pixels per picosecond.
    """
    result: list[Mark] = []
    for kind, begin, end, label in sorted(marks, key=lambda mark: (mark[1], mark[2])):
        if result and result[-1][0] == kind and (begin - result[-1][2]) * scale < LEAST and begin >= result[-1][1]:
            before = result[-1]
            if scale == 0 and begin > before[2]:
                result.append((kind, begin, end, label))
                continue
            first = before[3].split(" to ")[0]
            result[-1] = (kind, before[1], max(end, before[2]), first if first == label else f"{first} to {label}")
        else:
            result.append((kind, begin, end, label))
    return result


def _without(begin: int, end: int, busy: Sequence[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """Yield the parts, as (begin, end), of the interval from ``begin`` to ``end`` that no interval of ``busy`` covers.

    ``busy`` is in order of time. All times are in picoseconds.
    """
    for a, b in busy:
        if b <= begin:
            continue
        if a >= end:
            break
        if a > begin:
            yield begin, a
        begin = b
    if begin < end:
        yield begin, end


def _mark(mark: Mark, y: float, scale: float, opacity: float) -> str:
    kind, begin, end, label = mark
    long = max((end - begin) * scale, 0.6)
    label = f"{label}: {begin / 1e9:,.1f} to {end / 1e9:,.1f} ms"
    return (
        f'<rect x="{number(LEFT + begin * scale)}" y="{number(y)}" width="{number(max(long, 0.6))}" height="{number(LANE)}" '
        f'fill="var(--k{FILL.get(kind, OTHER)})" fill-opacity="{number(opacity) if opacity == 1 else opacity}"><title>{text(label)}</title></rect>'
    )


FILLS = {"compute": 0, **{kind: place for kind, place in FILL.items() if kind in KINDS}}
"""The fill color of each part of a step's time, as an index into the page's colors. Waiting (``bubble``) is not filled."""
VARIANTS_PURPOSE = (
    "This page compares what a step of training takes with different choices, on a network that is designed again where a choice changes it; only what "
    "the first column names differs. GPUs wasted: how many fewer would do the same at the pace of the quickest choice."
)


def variants_html(variants: Variants) -> str:
    """Return the page of a comparison of variants."""
    network = variants.predictions[0][1].network
    title = f"{network}: {'choices' if variants.name == SEVERAL else variants.name} compared"
    sections: list[str] = []
    links: list[tuple[str, str]] = []
    for place in range(variants.jobs):
        name, rows = variants.title(place), variants.rows(place)
        links.append((f"job{place + 1}", name))
        sections.append(
            section(f"job{place + 1}", name, "", variants.job_table(place).to_html() + _variants_chart(rows))
        )
    notes = dict.fromkeys(note for _, prediction in variants.predictions for note in prediction.notes)
    links.append(("notes", "Assumed"))
    sections.append(section("notes", "Assumed", "", element("ul", *(element("li", text(note)) for note in notes))))
    header = element("h1", text(title)) + element("p", text(VARIANTS_PURPOSE), class_="lead")
    value = variants.to_json()
    for variant in value["variants"]:
        for job in variant["jobs"]:
            del job["communications"], job["links"]
    return document(title, header, sections, value, links)


def _variants_chart(rows: Sequence[Row]) -> str:
    about = (
        "Mean over the pipeline stages: the shorter, the better. What is left empty is waiting for other stages. The line over the end of a "
        "bar is the range in which the step's time probably lies."
    )
    return element(
        "div",
        card("What GPUs do in a step", about, _variants_keys(rows) + _bars(rows), name="parts", whole=True),
        class_="charts",
    )


def _variants_keys(rows: Sequence[Row]) -> str:
    there = {kind for row in rows for kind, time in row.job.parts.items() if time}
    return legend([(f"f{FILLS[kind]}", KINDS.get(kind, "computing")) for kind in FILLS if kind in there])


def _bars(rows: Sequence[Row]) -> str:
    """Return a bar for each variant of a job, divided into the parts of a step's time."""
    fastest = min(row.job.step_ps for row in rows)
    several: list[Bar] = []
    for row in rows:
        parts = [
            Part(FILLS.get(kind), time, f"{row.label}, {KINDS.get(kind, 'computing')}: {time / 1e9:,.1f} ms")
            for kind in ["compute", *KINDS]
            if (time := row.job.parts.get(kind, 0.0))
        ]
        band = row.job.band
        known = band.error is not None or len(band.seeds_ps) > 1
        several.append(
            Bar(
                row.label,
                row.job.step_ps,
                f"{row.job.step_ps / 1e9:,.1f} ms",
                parts=parts,
                between=(band.low_ps, band.high_ps) if known else None,
                best=row.job.step_ps == fastest and len(rows) > 1,
            )
        )
    return bars(several)
