"""Measured faults as one HTML page that loads nothing, in the style of the report."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.pages.shell import element, html_page, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.live.lab.faults.measure import Measured
    from railweave.live.lab.state import Record

SUMMARY = ("kind", "as designed", "time to switch, median", "time to return, median")
_WHOLE = "\n.scroll{max-height:none}\n.scroll td.text{min-width:90px}\n"
"""The tables are what the page is about: they are shown whole."""

HEADER = ("fault", "at", "packets lost", "time to switch", "time to return", "kept a path", "")


def rows(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    """Return the measurements as text, a row for each, under ``HEADER``."""
    return [
        (
            one.kind,
            one.target,
            f"{one.lost:,} of {one.sent:,}" + (f", then {one.lost_on_return:,}" if one.lost_on_return else ""),
            seconds(one.switch_s),
            seconds(one.return_s),
            f"{one.kept:,} of {one.asked:,}" + ("" if one.kept == one.asked else f" ({one.should_keep:,} should)"),
            "; ".join(filter(None, ["" if one.passed else "not as designed", one.note, *one.unexpected[:2]])),
        )
        for one in measured
    ]


def seconds(value: float | None) -> str:
    """A time to a hundredth of a second; a dash where there was no end to it."""
    return "-" if value is None else f"{value:.2f} s"


def summary(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    """Faults by kind under ``SUMMARY``; times are the median and the longest of those that came to an end."""
    found: list[tuple[str, ...]] = []
    for kind in dict.fromkeys(one.kind for one in measured):
        of_kind = [one for one in measured if one.kind == kind]
        times = ([one.switch_s for one in of_kind], [one.return_s for one in of_kind])
        good = f"{sum(one.passed for one in of_kind):,} of {len(of_kind):,}"
        found.append((kind, good, *(_span([time for time in each if time is not None]) for each in times)))
    return found


def _span(times: Sequence[float]) -> str:
    return f"{seconds(median(times))}, {seconds(max(times))} at most" if times else "-"


def _table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = (element("tr", *(element("td", text(cell) or "&#8203;", class_="text") for cell in row)) for row in body)
    head = element("thead", element("tr", *(element("th", text(one)) for one in header)))
    return element("div", element("table", head, element("tbody", *lines)), class_="scroll")


def faults_html(record: Record, measured: Sequence[Measured]) -> str:
    """The page. What is not as designed stands first."""
    timers = record.timers()
    ordered = sorted(measured, key=lambda one: one.passed)
    good = sum(one.passed for one in measured)
    interval = max((one.interval_s for one in measured), default=0.0)
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
            *(element("p", text(one)) for one in (verdict, setting, reading)),
            element("h2", text("By kind")),
            _table(SUMMARY, summary(measured)),
            element("h2", text("Every fault")),
            _table(HEADER, rows(ordered)),
        ],
    )
