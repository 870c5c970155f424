"""The file that rccl-tests write with ``-Z csv`` or ``-Z json`` (``-x FILE``, since 2025 ``-X FILE``).

One record for each size and place. As JSON it is a list, in older versions a record on each line. Source: the ``Reporter`` of rccl-tests.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, cast

from railweave.operations.bench.lines import Line, Notes, count, fields, measured
from railweave.operations.bench.nccl_tests import OPERATIONS, Measured, NcclTests, NcclTestsRow, operation_of_file
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Record = dict[str, Any]
_Key = tuple[int, str, str, tuple[tuple[str, str], ...], int]
_RUN = ("numcycle", "collective", "name", "nodes", "ranks", "gpus")
_KNOWN = {
    *_RUN,
    *("rankspernode", "gpusperrank", "size", "type", "redop", "inplace"),
    *("time", "algbw", "busbw", "wrong", "#wrong"),
}
"""Fields that are known; all others are kept beside the row, and tell rows apart."""


def read_reporter_csv(lines: Sequence[Line], notes: Notes) -> list[NcclTests]:
    """The runs of a file of comma-separated values: one for each cycle, operation and number of ranks. Never raises."""
    heads: list[str] = []
    records: list[tuple[int, Record]] = []
    for line in lines:
        given = fields(line.text) if line.text.strip() else []
        if "numCycle" in given:
            heads = [one.strip().lower() for one in given]
        elif heads and len(given) == len(heads):
            records.append((line.number, dict(zip(heads, (one.strip() for one in given), strict=True))))
        elif given:
            notes.add(line.number, f"{len(given)} values under {len(heads)} columns", line.text)
    return _runs(records, notes)


def read_reporter_json(text: str, lines: Sequence[Line], notes: Notes) -> list[NcclTests]:
    """The same of JSON: a list of records, or a record on each line. ``lines`` are those of ``text``. Never raises."""
    records: list[tuple[int, Record]] = []
    try:
        found = parse_json(text)
        given = cast("list[Any]", found) if isinstance(found, list) else [found]
        records = [(0, _lower(cast("Record", one))) for one in given if isinstance(one, dict)]
    except ValueError:
        for line in lines:
            record = line.text.strip().rstrip(",")
            if record in {"", "[", "]"}:
                continue
            try:
                one = parse_json(record)
            except ValueError:
                one = None
            if isinstance(one, dict):
                records.append((line.number, _lower(cast("Record", one))))
            else:
                notes.add(line.number, "not a record", line.text)
    return _runs(records, notes)


def _lower(record: Record) -> Record:
    return {key.lower(): one for key, one in record.items()}


def _runs(records: Sequence[tuple[int, Record]], notes: Notes) -> list[NcclTests]:
    groups: dict[tuple[object, ...], list[tuple[int, Record]]] = {}
    for line, one in records:
        key = tuple(str(one.get(name, "")) for name in _RUN)
        groups.setdefault(key, []).append((line, one))
    return [_run(group, notes) for group in groups.values()]


def _run(records: Sequence[tuple[int, Record]], notes: Notes) -> NcclTests:
    first = records[0][1]
    name = str(first.get("collective", first.get("name", ""))).lower().replace(" ", "").replace("-", "_")
    settings = [(key, str(first[key])) for key in ("numcycle", "rankspernode", "gpusperrank") if key in first]
    return NcclTests(
        file=notes.file,
        line=records[0][0],
        operation=OPERATIONS.get(name.removesuffix("_perf"), "") or operation_of_file(notes.file),
        library="RCCL",
        tests_version="",
        library_version="",
        cpu_time=False,
        settings=tuple(settings),
        ranks=(),
        rank_count=count(first.get("ranks", first.get("gpus"))),
        node_count=count(first.get("nodes")),
        rows=tuple(_rows(records, notes)),
        out_of_bounds=None,
        average_busbw_gbytes_per_s=None,
        average_is_enough=None,
        concluded=True,
    )


def _rows(records: Sequence[tuple[int, Record]], notes: Notes) -> Iterator[NcclTestsRow]:
    rows: dict[_Key, dict[str, tuple[int, Measured]]] = {}
    for line, one in records:
        size, place = count(one.get("size")), str(one.get("inplace", ""))
        if size is None or size < 0 or place not in {"0", "1"}:
            notes.add(line, "a record without a size, or without a place", str(one))
            continue
        others = tuple((name, str(text)) for name, text in one.items() if name not in _KNOWN and str(text))
        key = size, str(one.get("type", "")), str(one.get("redop", "")), others
        again = next(number for number in itertools.count() if place not in rows.get((*key, number), {}))
        rows.setdefault((*key, again), {})[place] = line, _measured(one, line, notes)
    for (size, type_, redop, others, _), places in rows.items():
        out, inside = places.get("0"), places.get("1")
        yield NcclTestsRow(
            min(line for line, _ in places.values()),
            size,
            type=type_,
            redop="" if redop == "none" else redop,
            out_of_place=out[1] if out else None,
            in_place=inside[1] if inside else None,
            others=others,
        )


def _measured(record: Record, line: int, notes: Notes) -> Measured:
    def read(*names: str) -> float | None:
        name = next((name for name in names if name in record), "")
        given = record.get(name)
        return None if given in ("N/A", "") else measured(given, name, line, notes)

    return Measured(
        time_us=read("time"),
        algbw_gbytes_per_s=read("algbw"),
        busbw_gbytes_per_s=read("busbw"),
        wrong=read("wrong", "#wrong"),
    )
