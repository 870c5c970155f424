"""The table of nccl-tests and rccl-tests: which column is what, and rows read by that.

A column that is not known is kept beside the row. Columns differ by version and option: no redop or root (up to 2.9), ``error`` for ``#wrong`` (up to 2.12), one place alone (rccl-tests
-O), cputime (-C), hipevt, iterations (-I), algorithm and channels (rccl-tests -A), timestamp (-S), and lines of replays
that have only the in-place half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.operations.bench.lines import Notes, counted, measured, whole
from railweave.operations.bench.nccl_tests import Measured, NcclTestsRow

if TYPE_CHECKING:
    from collections.abc import Sequence

Place = Literal["out-of-place", "in-place"]
_LEAD = ("size", "count", "type", "redop", "root")
_TIMES = ("time", "cputime")
_TAIL = ("algo", "proto", "nchannels", "timestamp")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table: those before the times, those of each place, those after."""

    lead: tuple[str, ...]
    group: tuple[str, ...]
    places: tuple[Place, ...]
    tail: tuple[str, ...]

    @property
    def cpu_time(self) -> bool:
        """Whether times are those of the processor."""
        return self.group[:1] == ("cputime",)


USUAL = Columns(_LEAD, ("time", "algbw", "busbw", "#wrong"), ("out-of-place", "in-place"), ())
"""Of a table whose head is not there: that of nccl-tests since 2.13 without options."""


def columns_of(head: str, above: str) -> Columns | None:
    """The columns of a header line and of the line above it, which names the places; None where it is no header."""
    names = head.lstrip("# \t").split()
    if names[:3] != ["size", "count", "type"]:
        return None
    starts = [at for at, name in enumerate(names) if name in _TIMES]
    if not starts:
        return None
    lead = tuple(names[: starts[0]])
    width = starts[1] - starts[0] if len(starts) > 1 else _width(names[starts[0] :])
    group = tuple(names[starts[0] : starts[0] + width])
    named: list[Place] = [one for one in ("out-of-place", "in-place") if one in above]
    places: tuple[Place, ...] = tuple(named) if len(named) == len(starts) else USUAL.places[: len(starts)]
    return Columns(lead, group, places, tuple(names[starts[0] + width * len(starts) :]))


def _width(names: Sequence[str]) -> int:
    return next((at for at, name in enumerate(names) if name in _TAIL), len(names))


def row_of(columns: Columns, line: int, text: str, notes: Notes) -> NcclTestsRow | str:
    """A row of a table, or what is wrong with it.

    Names that may be empty (redop, root) are missing among its words then; a timestamp is two words, a date and a time.
    """
    fields = text.split()
    size = whole(fields[0]) if fields else None
    if size is None or size < 0:
        return "a row without a size"
    tail = [*columns.tail, "clock"] if "timestamp" in columns.tail and _has_clock(fields) else list(columns.tail)
    fewest = min(3, len(columns.lead)) if set(columns.lead) <= set(_LEAD) else len(columns.lead)
    for leads in range(len(columns.lead), fewest - 1, -1):
        for places in (columns.places, columns.places[-1:]):
            if len(fields) == leads + len(places) * len(columns.group) + len(tail):
                return _read(columns, line, fields, leads, places, tail, notes)
    expected = len(columns.lead) + len(columns.places) * len(columns.group) + len(columns.tail)
    return f"{len(fields)} values under {expected} columns"


def _has_clock(fields: Sequence[str]) -> bool:
    return fields[-1].count(":") == 2 and fields[-2:-1] != [] and fields[-2].count("-") == 2


def _read(
    columns: Columns,
    line: int,
    fields: list[str],
    leads: int,
    places: Sequence[Place],
    tail: Sequence[str],
    notes: Notes,
) -> NcclTestsRow:
    lead = dict(zip(columns.lead[:leads], fields[:leads], strict=True))
    width = len(columns.group)
    by_place: dict[Place, Measured] = {}
    for at, place in enumerate(places):
        begin = leads + at * width
        found = dict(zip(columns.group, fields[begin : begin + width], strict=True))
        by_place[place] = _measured(found, place, line, notes)
    after = dict(zip(tail, fields[len(fields) - len(tail) :], strict=True)) if tail else {}
    redop, root = lead.get("redop", ""), lead.get("root", "")
    return NcclTestsRow(
        line,
        whole(fields[0]) or 0,
        count=counted(lead.get("count"), "count", line, notes),
        type=lead.get("type", ""),
        redop="" if redop == "none" else redop,
        root=whole(root),
        out_of_place=by_place.get("out-of-place"),
        in_place=by_place.get("in-place"),
        algorithm=after.get("algo", ""),
        protocol=after.get("proto", ""),
        channels=counted(after.get("nchannels"), "nchannels", line, notes),
        timestamp=" ".join(after[name] for name in ("timestamp", "clock") if name in after),
        others=tuple((name, text) for name, text in (lead | after).items() if name not in {*_LEAD, *_TAIL, "clock"}),
    )


def _measured(found: dict[str, str], place: Place, line: int, notes: Notes) -> Measured:
    def read(*names: str) -> float | None:
        name = next((name for name in names if name in found), "")
        if not name or found[name] == "N/A":
            return None
        return measured(found[name], f"{place} {name}", line, notes)

    return Measured(
        time_us=read(*_TIMES),
        algbw_gbytes_per_s=read("algbw"),
        busbw_gbytes_per_s=read("busbw"),
        wrong=read("#wrong"),
        largest_error=read("error"),
        event_us=read("hipevt"),
        fastest_us=read("i_min"),
        slowest_us=read("i_max"),
        p99_us=read("i_p99"),
        variation_percent=read("i_cv%"),
    )
