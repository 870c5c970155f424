"""Measured faults as one HTML page that loads nothing, in the style of the report."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.pages.shell import element, html_page, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.live.lab.faults.measure import FaultMeasurement
    from railweave.live.lab.state import Record

SUMMARY = ("kind", "as designed", "time to switch, median", "time to return, median")
_WHOLE = "\n.scroll{max-height:none}\n.scroll td.text{min-width:90px}\n"
"""The tables are what the page is about: they are shown whole."""

HEADER = ("fault", "at", "packets lost", "time to switch", "time to return", "kept a path", "")


def rows(measured: Sequence[FaultMeasurement]) -> list[tuple[str, ...]]:
    """Return the measurements as text, a row for each, under ``HEADER``."""
    return [
        (
            measurement.kind,
            measurement.target,
            f"{measurement.lost:,} of {measurement.sent:,}"
            + (f", then {measurement.lost_on_return:,}" if measurement.lost_on_return else ""),
            seconds(measurement.switch_s),
            seconds(measurement.return_s),
            f"{measurement.kept:,} of {measurement.asked:,}"
            + ("" if measurement.kept == measurement.asked else f" ({measurement.should_keep:,} should)"),
            "; ".join(
                filter(
                    None,
                    ["" if measurement.passed else "not as designed", measurement.note, *measurement.unexpected[:2]],
                )
            ),
        )
        for measurement in measured
    ]


def seconds(value: float | None) -> str:
    """A time to a hundredth of a second; a dash where there was no end to it."""
    return "-" if value is None else f"{value:.2f} s"


def summary(measured: Sequence[FaultMeasurement]) -> list[tuple[str, ...]]:
    """Faults by kind under ``SUMMARY``; times are the median and the longest of those that came to an end."""
    table_rows: list[tuple[str, ...]] = []
    for kind in dict.fromkeys(measurement.kind for measurement in measured):
        of_kind = [measurement for measurement in measured if measurement.kind == kind]
        times = ([measurement.switch_s for measurement in of_kind], [measurement.return_s for measurement in of_kind])
        good = f"{sum(measurement.passed for measurement in of_kind):,} of {len(of_kind):,}"
        table_rows.append((kind, good, *(_span([time for time in each if time is not None]) for each in times)))
    return table_rows


def _span(times: Sequence[float]) -> str:
    return f"{seconds(median(times))}, {seconds(max(times))} at most" if times else "-"


def _table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = (element("tr", *(element("td", text(cell) or "&#8203;", class_="text") for cell in row)) for row in body)
    head = element("thead", element("tr", *(element("th", text(heading)) for heading in header)))
    return element("div", element("table", head, element("tbody", *lines)), class_="scroll")


def faults_html(record: Record, measured: Sequence[FaultMeasurement]) -> str:
    """The page. What is not as designed stands first."""
    timers = record.timers()
    ordered = sorted(measured, key=lambda measurement: measurement.passed)
    good = sum(measurement.passed for measurement in measured)
    interval = max((measurement.interval_s for measurement in measured), default=0.0)
    verdict = (
        f"{counted(len(measured), 'fault')}, of which {good:,} went as designed: every queue pair that has a path by "
        "`routes` kept one, and everything came back."
    )
    setting = f"FRR {record.frr_version}; timers: {timers.sentence() if timers else 'as designed'}."
    reading = (
        f"Packets lost are those of the queue pairs that were watched, one every {interval * 1000:.0f} ms each; times are "
        "known to as much. Time to switch is until the last packet lost, time to return until every kernel forwards as "
        "before. What the emulation does not prove is in docs/lab.md."
    )
    title = f"{record.network}: faults in the lab"
    return html_page(
        title,
        [_WHOLE],
        header=[element("h1", text(title))],
        main=[
            *(element("p", text(paragraph)) for paragraph in (verdict, setting, reading)),
            element("h2", text("By kind")),
            _table(SUMMARY, summary(measured)),
            element("h2", text("Every fault")),
            _table(HEADER, rows(ordered)),
        ],
    )
