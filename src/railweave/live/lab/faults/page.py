"""Measured faults, as a table and as a page: one HTML file without external files, in the style of the report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from railweave.counting import counted
from railweave.pages.charts import Bar, bars, card
from railweave.pages.palette import line_colors
from railweave.pages.shell import asset, element, html_page, section, text
from railweave.pages.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.live.lab.faults.measure import FaultMeasurement
    from railweave.live.lab.state import Record

MOST_BARS = 12
"""The largest number of faults of a kind that are drawn as bars: the slowest ones. The table has all faults."""

FAULT_COLUMNS = (
    Column("fault", key="kind"),
    Column("at", key="target"),
    Column("packets lost", "number", "lost"),
    Column("time to switch", "number", "switch_s"),
    Column("time to return", "number", "return_s"),
    Column("kept a path", "number", "kept"),
    Column("remark", key="note"),
)
SUMMARY_COLUMNS = (
    Column("kind"),
    Column("as designed", "number", "passed"),
    Column("time to switch, median", "number", "switch_s"),
    Column("time to return, median", "number", "return_s"),
)


def _row(measurement: FaultMeasurement) -> tuple[object, ...]:
    later = f", then {measurement.lost_on_return:,}" if measurement.lost_on_return else ""
    should = "" if measurement.kept == measurement.asked else f" ({measurement.should_keep:,} should)"
    verdict = "" if measurement.passed else "not as designed"
    remark = "; ".join(filter(None, [verdict, measurement.note, *measurement.unexpected[:2]]))
    return (
        measurement.kind,
        measurement.target,
        Cell(measurement.lost, f"{measurement.lost:,} of {measurement.sent:,}{later}"),
        Cell(measurement.switch_s, seconds(measurement.switch_s)),
        Cell(measurement.return_s, seconds(measurement.return_s)),
        Cell(measurement.kept, f"{measurement.kept:,} of {measurement.asked:,}{should}"),
        remark,
    )


def seconds(value: float | None) -> str:
    """Return a time with two decimals, such as ``0.25 s``, or a dash for None."""
    return "-" if value is None else f"{value:.2f} s"


def summary_table(measured: Sequence[FaultMeasurement]) -> Table:
    """Return a table with a row for each kind of fault in ``measured``. Times are the median and the longest; unknown times are left out."""
    rows: list[tuple[object, ...]] = []
    for kind in dict.fromkeys(measurement.kind for measurement in measured):
        of_kind = [measurement for measurement in measured if measurement.kind == kind]
        times = ([measurement.switch_s for measurement in of_kind], [measurement.return_s for measurement in of_kind])
        good = sum(measurement.passed for measurement in of_kind)
        spans = (_span([time for time in each if time is not None]) for each in times)
        rows.append((kind, Cell(good, f"{good:,} of {len(of_kind):,}"), *spans))
    return Table(SUMMARY_COLUMNS, rows)


def _span(times: Sequence[float]) -> Cell:
    if not times:
        return Cell(None, seconds(None))
    return Cell(median(times), f"{seconds(median(times))}, {seconds(max(times))} at most")


@dataclass(frozen=True)
class InjectedFaults:
    """The measured effects of the faults that were injected into a lab. ``record`` identifies the lab and its timers."""

    record: Record
    measured: Sequence[FaultMeasurement]

    @property
    def passed(self) -> int:
        """The number of faults whose effect was as designed."""
        return sum(measurement.passed for measurement in self.measured)

    @property
    def good(self) -> bool:
        """True if the effect of every fault was as designed."""
        return self.passed == len(self.measured)

    @property
    def table(self) -> Table:
        """The table of measurements, with one row per fault or group of overlapping faults."""
        return Table(FAULT_COLUMNS, [_row(measurement) for measurement in self.measured])

    def to_text(self) -> str:
        """Return the table as text, followed by a summary in one sentence."""
        verdict = f"{self.passed} of {counted(len(self.measured), 'fault')} went as designed: what should keep a path did, and all came back"
        return "\n".join([*self.table.to_text(), verdict, *self.record.timers_lines()])

    def to_json(self) -> dict[str, Any]:
        """Return the measurements as the JSON object that `railweave lab fault --json` prints."""
        return {
            **self.record.heading(),
            "good": self.good,
            "faults": [measurement.to_json() for measurement in self.measured],
        }

    def to_html(self) -> str:
        """Return the page. Faults whose effect was not as designed come first."""
        timers = self.record.timers()
        ordered = sorted(self.measured, key=lambda measurement: measurement.passed)
        wrong = len(self.measured) - self.passed
        verdict = (
            ("as designed", "good")
            if self.measured and self.good
            else (f"{counted(wrong, 'fault')} not as designed", "error")
            if wrong
            else ("no fault was measured", "warning")
        )
        title = f"{self.record.network}: faults in the lab"
        about = (
            f"{counted(len(self.measured), 'fault')}, of which {self.passed:,} went as designed: every queue pair that should keep a path by the "
            "computed routes kept one, and everything came back."
        )
        setting = f"FRR {self.record.frr_version}; timers: {timers.sentence() if timers else 'as designed'}."
        sections = [
            (
                "kinds",
                "By kind",
                "",
                element("div", *_cards(self.measured), class_="charts") + summary_table(self.measured).to_html(),
            ),
            ("faults", "Every fault", _reading(self.measured), replace(self, measured=ordered).table.to_html()),
        ]
        return html_page(
            title,
            [asset("charts.css"), line_colors()],
            header=[
                element("h1", text(title), " ", element("span", text(verdict[0]), class_=verdict[1])),
                element("p", text(setting), class_="description"),
                element("p", text(f"{about} {_next(wrong)}"), class_="lead"),
                element("ul", *_tiles(self.measured), class_="tiles"),
            ],
            links=[(name, heading) for name, heading, _, _ in sections],
            main=[section(*part) for part in sections],
            footer="Made by railweave from what this lab measured. Kernels of one machine forward these packets, not switches.",
        )


def _reading(measured: Sequence[FaultMeasurement]) -> str:
    """Return the paragraph that explains the columns of the table."""
    interval = max((measurement.interval_s for measurement in measured), default=0.0)
    return (
        f"Packets lost are those of the queue pairs that were watched, one every {interval * 1000:.0f} ms each; times are "
        "known to as much. Time to switch is until the last packet lost, time to return until every kernel forwards as "
        "before. What the emulation does not prove is in docs/lab.md."
    )


def _next(wrong: int) -> str:
    if wrong:
        return f"Next: read the remarks of {'this fault' if wrong == 1 else 'these faults'}, the first rows under Every fault."
    return "Next: compare the times with the timers of the design."


def _tiles(measured: Sequence[FaultMeasurement]) -> list[str]:
    lost, sent = (sum(getattr(measurement, name) for measurement in measured) for name in ("lost", "sent"))
    switched = [measurement.switch_s for measurement in measured if measurement.switch_s is not None]
    returned = [measurement.return_s for measurement in measured if measurement.return_s is not None]
    tiles = [
        (f"{sum(measurement.passed for measurement in measured):,} of {len(measured):,}", "as designed"),
        (f"{lost:,} of {sent:,}", "packets lost"),
        (seconds(max(switched, default=None)), "longest time to switch"),
        (seconds(max(returned, default=None)), "longest time to return"),
    ]
    return [element("li", element("b", text(value)), element("span", text(label))) for value, label in tiles]


def _cards(measured: Sequence[FaultMeasurement]) -> list[str]:
    """Return the HTML of a bar chart for each kind of fault, with the time until traffic was on other paths, the longest first."""
    most = max((measurement.switch_s or 0.0 for measurement in measured), default=0.0)
    cards: list[str] = []
    for kind in dict.fromkeys(measurement.kind for measurement in measured):
        of_kind = [measurement for measurement in measured if measurement.kind == kind]
        known = sorted(
            ((measurement.switch_s, measurement) for measurement in of_kind if measurement.switch_s is not None),
            key=lambda pair: -pair[0],
        )
        drawn = [
            Bar(measurement.target, time, seconds(time), f"{measurement.lost:,} of {measurement.sent:,} packets lost")
            for time, measurement in known[:MOST_BARS]
        ]
        rest = [f"the {len(known) - len(drawn)} fastest are in the table"] if len(known) > len(drawn) else []
        never = len(of_kind) - len(known)
        rest += (
            [f"{counted(never, 'fault')} lost packets to the end and {'has' if never == 1 else 'have'} no bar"]
            if never
            else []
        )
        about = f"Time to switch: smaller is better{'; ' if rest else ''}{'; '.join(rest)}."
        cards.append(card(kind, about, bars(drawn, most=most or None), name=kind))
    return cards
