"""Measured faults, as a table and as a page: one HTML file without external files, in the style of the report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from railweave.counting import counted
from railweave.pages.shell import element, html_page, text
from railweave.pages.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.live.lab.faults.measure import FaultMeasurement
    from railweave.live.lab.state import Record

_WHOLE = "\n.scroll{max-height:none}\nh2{margin-top:22px}\n"
"""CSS rules that show the tables at full height, because they are the main content of the page."""

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
    """Return a table with a row for each kind of fault. Times are the median and the longest; unknown times are left out."""
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
    """The measured faults of a lab."""

    record: Record
    measured: Sequence[FaultMeasurement]

    @property
    def passed(self) -> int:
        """The number of faults that went as designed."""
        return sum(measurement.passed for measurement in self.measured)

    @property
    def good(self) -> bool:
        """Return whether every fault went as designed."""
        return self.passed == len(self.measured)

    @property
    def table(self) -> Table:
        """The table of measurements, with one row per measurement."""
        return Table(FAULT_COLUMNS, [_row(measurement) for measurement in self.measured])

    def to_text(self) -> str:
        """Return the table as text, followed by a summary in one sentence."""
        verdict = f"{self.passed} of {counted(len(self.measured), 'fault')} went as designed: what should keep a path did, and all came back"
        return "\n".join([*self.table.to_text(), verdict, *self.record.timers_lines()])

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON object (docs/lab.md)."""
        return {
            **self.record.heading(),
            "good": self.good,
            "faults": [measurement.to_json() for measurement in self.measured],
        }

    def to_html(self) -> str:
        """Return the page. Faults that did not go as designed come first."""
        timers = self.record.timers()
        ordered = sorted(self.measured, key=lambda measurement: measurement.passed)
        interval = max((measurement.interval_s for measurement in self.measured), default=0.0)
        verdict = (
            f"{counted(len(self.measured), 'fault')}, of which {self.passed:,} went as designed: every queue pair that has a path by "
            "`routes` kept one, and everything came back."
        )
        setting = f"FRR {self.record.frr_version}; timers: {timers.sentence() if timers else 'as designed'}."
        reading = (
            f"Packets lost are those of the queue pairs that were watched, one every {interval * 1000:.0f} ms each; times are "
            "known to as much. Time to switch is until the last packet lost, time to return until every kernel forwards as "
            "before. What the emulation does not prove is in docs/lab.md."
        )
        title = f"{self.record.network}: faults in the lab"
        return html_page(
            title,
            [_WHOLE],
            header=[element("h1", text(title))],
            main=[
                *(element("p", text(paragraph)) for paragraph in (verdict, setting, reading)),
                element("h2", text("By kind")),
                summary_table(self.measured).to_html(),
                element("h2", text("Every fault")),
                replace(self, measured=ordered).table.to_html(),
            ],
        )
