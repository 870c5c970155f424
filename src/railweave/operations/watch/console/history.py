"""The page of traffic over time, with deploys, benchmark jobs and anomalies on the same time axis."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from time import time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from railweave.counting import counted
from railweave.errors import OutputError, RailweaveError
from railweave.model.state.telemetry import METRICS, Series
from railweave.operations.deploy import journal
from railweave.operations.watch.console.device import SPANS
from railweave.operations.watch.console.view import PageView, Values, ago, clock
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.stream import Round
from railweave.pages.palette import network_strokes
from railweave.pages.shell import element, section, text
from railweave.pages.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.model.network.model import Network
    from railweave.operations.watch.console.links import Links, Ports
    from railweave.operations.watch.console.state import Console
    from railweave.operations.watch.store import Store


WHOLE = "the whole network"
"""The name that takes the place of a device for network-wide series in the store. No real device has blanks in its name."""
MOST = 900
"""The largest number of points in memory: 15 minutes at one per second."""
TOTALS = {"paused": "pfc_received", "marks": "ecn_marked", "drops": "in_discards", "errors": "in_errors"}
"""The columns of the table of ports (``links.COLUMNS``) whose sum over all ports is stored, each with its metric in the store."""
CARRIED, BUSIEST = "out_octets", "queue_peak"
"""The metrics under which two values of each path color are stored: its traffic (bytes/s), and the load of its busiest link (0 to 1)."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart: a series with its number at each time of the chart. The number is None if there is no sample."""

    series: Series
    numbers: list[float | None]


def _absent(series: Series) -> float | None:
    """Return the value that a chart shows for a series at a time without a sample: 0 for metrics whose zeros are not stored, otherwise None."""
    return 0.0 if METRICS[series.metric].sparse else None


class SeriesHistory:
    """The network-wide series over time: the latest points in memory, and all of them in ``store`` if there is one."""

    def __init__(self, network: Network, store: Store | None) -> None:
        self._store = store
        self._layout = Layout(lambda _: None)
        self._recent: deque[tuple[float, dict[Series, float]]] = deque(maxlen=MOST)
        self._writing: set[asyncio.Task[int]] = set()
        self.colors = {
            (fabric.name, color.index): color.name for fabric in network.fabrics for color in fabric.colors
        } | {(fabric.name, None): "all" for fabric in network.fabrics if not fabric.colors}

    def add(self, at: float, ports: Ports, links: Links, load: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        """Add the network-wide numbers at time ``at``: traffic and load by path color, and the sums of the columns in ``TOTALS``.

        ``at`` is in seconds since 1970. ``load`` has the load of every cable (0 to 1).
        """
        numbers: dict[Series, float] = {}
        for group in links.colors:
            group_load = links.of(group, load)
            name = self.colors.get((group.fabric, group.color), "none")
            if group_load is not None:
                numbers[Series(CARRIED, group.fabric, name)] = group_load.carried / 8
                numbers[Series(BUSIEST, group.fabric, name)] = group_load.most
        for column, metric in TOTALS.items():
            values = ports.numbers[column]
            if not np.isnan(values).all():
                numbers[Series(metric, "", column)] = float(np.nansum(values))
        if not numbers:
            return
        self._recent.append((at, numbers))
        if self._store is not None:
            places = np.array([self._layout.place(series) for series in numbers], np.intp)
            kept = Round(WHOLE, at, places, np.array(list(numbers.values())))
            task = asyncio.ensure_future(asyncio.to_thread(self._store.write, [(self._layout, kept)], at))
            self._writing.add(task)
            task.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[int]) -> None:
        """Retrieve the error of ``task``, a finished write, so that asyncio does not warn about it.

        The collector reports a store that cannot be written, so the error is not lost.
        """
        self._writing.discard(task)
        if not task.cancelled():
            task.exception()

    def lines(self, span_s: float) -> tuple[list[float], list[Line]]:
        """Return (times, lines) of the last ``span_s`` seconds. Each line is a series with its number at each of these times."""
        since = time() - span_s
        by_time: dict[float, dict[Series, float]] = {}
        if self._store is not None:
            for sample in self._store.samples(WHOLE, since=since, until=time() + 1):
                by_time.setdefault(sample.time, {})[sample.series] = sample.number
        last = max(by_time, default=0.0)
        recent = list(self._recent)  # more may come while this is read
        by_time |= {at: those for at, those in recent if at >= max(since, last) and at not in by_time}
        times = sorted(by_time)
        known = sorted({series for those in by_time.values() for series in those})
        return times, [Line(series, [by_time[at].get(series, _absent(series)) for at in times]) for series in known]


CHARTS = (
    ("carried", "Carried by path color", "bit/s between switches, both directions"),
    ("busiest", "Busiest link by path color", "share of its bandwidth, the busier direction"),
    ("events", "Pauses, marks and drops", "per second, of all ports"),
)
_WORDS = {"paused": "PFC frames received", "marks": "ECN marks", "drops": "packets dropped", "errors": "errors"}
MOST_EVENTS = 500


@dataclass(frozen=True, slots=True)
class Event:
    """An event on the time axis. Times are in seconds since 1970; ``until`` is None if the event is still going on or has no end."""

    kind: Literal["deploy", "job", "anomaly"]
    begin: float
    until: float | None
    title: str
    severity: str = ""


def history(console: Console, query: Mapping[str, str], values: Values) -> PageView:
    """Return the page of traffic over time. Values that change while the page is open are added to ``values``.

    The query parameter ``span`` is the length of time in seconds.
    """
    span = span_of(query)
    choices = "".join(
        element(
            "a",
            text(words),
            href=f"/history?span={seconds}",
            aria_current="true" if int(seconds) == span else None,
            class_="choice-link",
        )
        for seconds, words in SPANS
    )
    kept = (
        ""
        if console.watching.store
        else "Without --store only what was seen since the watch began is known, and no longer than a quarter of an hour."
    )
    about = f"The last {ago(span)}. Bands are deploys and jobs, ticks at the bottom are anomalies. {kept}"
    charts = [
        section(name, title, caption, element("div", "", class_="chart", id=f"chart-{name}"))
        for name, title, caption in CHARTS
    ]
    rows = values.html("events", _rows(list(events(console, span))))
    values.live["tick"] = f"{console.at:.3f}"
    return PageView(
        "History",
        [
            section("history", "History", about, element("p", choices, class_="choices-row")),
            *charts,
            section("log", "On the time axis", "Deploys, jobs and anomalies that fall into this time.", rows),
        ],
        values.live,
        scripts=["uplot/uPlot.iife.min.js", "charts.js"],
    )


def span_of(query: Mapping[str, str]) -> int:
    """Return the time span of a query in seconds: one of the offered spans, or the first of them by default."""
    asked = query.get("span", "")
    return int(asked) if asked in {seconds for seconds, _ in SPANS} else int(SPANS[0][0])


def chart_data(console: Console, span: int) -> dict[str, Any]:
    """Return the chart data of the last ``span`` seconds as a JSON object: the times, the lines of each chart, and the events."""
    times, lines = console.past.lines(span)
    strokes = network_strokes(console.network)
    hues = {
        (fabric.name, color.name): strokes[fabric.name][color.index]
        for fabric in console.network.fabrics
        for color in fabric.colors
    }
    several = len(console.network.fabrics) > 1
    charts: dict[str, list[dict[str, Any]]] = {name: [] for name, _, _ in CHARTS}
    for curve in lines:
        series = curve.series
        if series.metric in {CARRIED, BUSIEST}:
            hue = hues.get((series.port, series.index))
            label = f"{series.port}: {series.index}" if several else series.index
            scale = 8 if series.metric == CARRIED else 1
            numbers = [None if number is None else number * scale for number in curve.numbers]
            line = {
                "label": label,
                "numbers": numbers,
                "light": hue.light if hue else "",
                "dark": hue.dark if hue else "",
                "dash": hue.dash if hue else "",
            }
            charts["carried" if series.metric == CARRIED else "busiest"].append(line)
        elif series.index in TOTALS:
            charts["events"].append(
                {"label": _WORDS[series.index], "numbers": curve.numbers, "light": "", "dark": "", "dash": ""}
            )
    now = time()
    event_rows = [
        {
            "kind": event.kind,
            "begin": event.begin,
            "until": event.until or (event.begin if event.kind == "anomaly" else now),
            "title": event.title,
            "severity": event.severity,
        }
        for event in events(console, span)
    ]
    return {"since": now - span, "until": now, "times": times, "charts": charts, "events": event_rows}  # fmt: skip


def events(console: Console, span: float) -> Iterator[Event]:
    """Yield the deploys, jobs and anomalies of the last ``span`` seconds, sorted by their beginning."""
    since = time() - span
    all_events = [*console.lately("deploys", _deploys), *console.lately("jobs", _jobs), *_anomalies(console)]
    late = [event for event in all_events if (event.until or time()) >= since]
    yield from sorted(late, key=lambda event: event.begin)[-MOST_EVENTS:]


def _deploys(console: Console) -> Iterator[Event]:
    fabric = console.fabric_file
    if fabric is None:
        return
    try:
        with journal.opened(fabric) as read:
            revisions = read.revisions()
    except OutputError:  # it cannot be read
        return
    for revision in revisions:
        label = f" ({revision.label})" if revision.label else ""
        severity = "error" if revision.state == "stopped" else ""
        yield Event(
            "deploy", revision.began, revision.ended, f"revision {revision.number}{label}: {revision.state}", severity
        )


def _jobs(console: Console) -> Iterator[Event]:
    """Yield the benchmark runs of the console's store. If the store cannot be read, yield nothing, so that the page still works."""
    if console.runs is None:
        return
    from railweave.operations.store.store import opened

    try:
        with opened(console.runs) as store:
            runs = store.runs()
    except RailweaveError:
        return
    for run in runs:
        begun = _time(run.began)
        if begun is not None:
            failed = "error" if run.failures else ""
            yield Event("job", begun, _time(run.kept) or begun, f"{run.tool}: {run.title}", failed)


def _time(timestamp: str) -> float | None:
    try:
        at = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _anomalies(console: Console) -> Iterator[Event]:
    """Yield the anomalies that are causes, as events. Anomalies that another anomaly explains are left out."""
    for closed in (True, False):
        for anomaly in console.watching.anomalies.listed(closed=closed):
            if not anomaly.follows and anomaly.finding.severity != "info":
                yield Event(
                    "anomaly",
                    anomaly.first,
                    anomaly.closed,
                    anomaly.name,
                    anomaly.finding.severity,
                )


EVENT_COLUMNS = (
    Column("Began", "when", "began"),
    Column("Took", "when", "took_s"),
    Column("Kind", key="kind"),
    Column("What", key="title"),
)


def _took(event: Event) -> Cell:
    if event.until is None:
        return Cell(None, "goes on")
    return Cell(event.until - event.begin, ago(event.until - event.begin))


def _rows(listed: list[Event]) -> str:
    if not listed:
        return element("p", "Nothing.", class_="about")
    rows = [
        (
            Cell(event.begin, clock(event.begin)),
            _took(event),
            event.kind,
            Cell(event.title, event.title, "text", element("span", text(event.title), class_=event.severity or None)),
        )
        for event in reversed(listed)
    ]
    table = Table(EVENT_COLUMNS, rows)
    return element("p", text(f"{counted(len(listed), 'entry', 'entries')}."), class_="about") + table.to_html()
