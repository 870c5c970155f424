"""The reader of text in any benchmark format, and of the files that rccl-tests writes.

The content determines the format, and a text may contain several formats. For example, a job log with ``NCCL_DEBUG``
messages and two runs of nccl-tests is read as a log and two runs.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from railweave.operations.bench.diagnostics import DIAGNOSTIC, Diagnostic, read_diagnostics
from railweave.operations.bench.inspector import (
    InspectorRecord,
    is_inspector_json,
    is_inspector_prometheus,
    read_inspector_json,
    read_inspector_prometheus,
)
from railweave.operations.bench.lines import Line, Note, Notes, count, fields, lines_of, measured, sources_of
from railweave.operations.bench.mllog import MARK, Training, read_mllog
from railweave.operations.bench.nccl_log_text import MESSAGE, VERSION, read_nccl_log
from railweave.operations.bench.nccl_tests import (
    OPERATIONS,
    NcclTests,
    NcclTestsRow,
    PlaceTimes,
    operation_of,
    operation_of_file,
    read_nccl_tests_json,
)
from railweave.operations.bench.nccl_tests_text import read_nccl_tests, without_mpi
from railweave.operations.bench.perftest import COMMAND, TITLE, Perftest, read_perftest_json
from railweave.operations.bench.perftest_text import HEADING, read_perftest
from railweave.operations.bench.table import Table, is_table, read_table
from railweave.operations.bench.tools import ToolRun, read_nvbandwidth_json, read_tool, tool_of
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.operations.bench.nccl_log import NcclLog


Record = dict[str, Any]
_Key = tuple[int, str, str, tuple[tuple[str, str], ...], int]
_RUN = ("numcycle", "collective", "name", "nodes", "ranks", "gpus")
_KNOWN = {
    *_RUN,
    *("rankspernode", "gpusperrank", "size", "type", "redop", "inplace"),
    *("time", "algbw", "busbw", "wrong", "#wrong"),
}
"""The fields of rccl-tests' records that this reader interprets. All other fields of a record are stored as labels of its result."""


def is_reporter_head(heads: Sequence[str]) -> bool:
    """Return True if ``heads`` are the column names of a CSV file from rccl-tests. Versions before 2025 have no ``numCycle``."""
    names = {head.strip().lower() for head in heads}
    return "numcycle" in names or {"size", "inplace", "busbw"} <= names


def read_reporter_csv(lines: Sequence[Line], notes: Notes) -> list[NcclTests]:
    """Return the runs in a CSV file from rccl-tests: one run per cycle, operation and number of ranks. Never raises an error.

    Lines that cannot be read are added to ``notes``.
    """
    heads: list[str] = []
    records: list[tuple[int, Record]] = []
    for line in lines:
        given = fields(line.text) if line.text.strip() else []
        if is_reporter_head(given):
            heads = [head.strip().lower() for head in given]
        elif heads and len(given) == len(heads):
            records.append((line.number, dict(zip(heads, (cell.strip() for cell in given), strict=True))))
        elif given:
            notes.add(line.number, f"{len(given)} values under {len(heads)} columns", line.text)
    return _runs(records, notes)


def read_reporter_json(text: str, lines: Sequence[Line], notes: Notes) -> list[NcclTests]:
    """Return the runs in a JSON file from rccl-tests: a list of records, or a record on each line. Never raises an error.

    ``lines`` are the lines of ``text``. Records that cannot be read are added to ``notes``.
    """
    records: list[tuple[int, Record]] = []
    try:
        document = parse_json(text)
        given = cast("list[Any]", document) if isinstance(document, list) else [document]
        records = [(0, _lower(cast("Record", row))) for row in given if isinstance(row, dict)]
    except ValueError:
        for line in lines:
            record = line.text.strip().rstrip(",")
            if record in {"", "[", "]"}:
                continue
            try:
                parsed = parse_json(record)
            except ValueError:
                parsed = None
            if isinstance(parsed, dict):
                records.append((line.number, _lower(cast("Record", parsed))))
            else:
                notes.add(line.number, "not a record", line.text)
    return _runs(records, notes)


def _lower(record: Record) -> Record:
    return {key.lower(): value for key, value in record.items()}


def _runs(records: Sequence[tuple[int, Record]], notes: Notes) -> list[NcclTests]:
    groups: dict[tuple[object, ...], list[tuple[int, Record]]] = {}
    for line, record in records:
        key = tuple(str(record.get(name, "")) for name in _RUN)
        groups.setdefault(key, []).append((line, record))
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
    rows: dict[_Key, dict[str, tuple[int, PlaceTimes]]] = {}
    for line, record in records:
        size, place = count(record.get("size")), str(record.get("inplace", ""))
        if size is None or size < 0 or place not in {"0", "1"}:
            notes.add(line, "a record without a size, or without a place", str(record))
            continue
        others = tuple((name, str(text)) for name, text in record.items() if name not in _KNOWN and str(text))
        key = size, str(record.get("type", "")), str(record.get("redop", "")), others
        again = next(number for number in itertools.count() if place not in rows.get((*key, number), {}))
        rows.setdefault((*key, again), {})[place] = line, _measured(record, line, notes)
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


def _measured(record: Record, line: int, notes: Notes) -> PlaceTimes:
    def read(*names: str) -> float | None:
        name = next((name for name in names if name in record), "")
        given = record.get(name)
        return None if given in ("N/A", "") else measured(given, name, line, notes)

    return PlaceTimes(
        time_us=read("time"),
        algbw_gbytes_per_s=read("algbw"),
        busbw_gbytes_per_s=read("busbw"),
        wrong=read("wrong", "#wrong"),
    )


_TEST_TABLE = re.compile(r"^#\s*size\s+count\b|^# nThread\s")
_LAST_WARNING = re.compile(r"^\s*(\S{1,255}): Test NCCL failure \S+ '[^']*? / ([^\s'].*?)'?\s*$")
"""The pattern of a failure line of nccl-tests with NCCL's last warning. nccl-tests prints it even without NCCL_DEBUG."""
_PERFTEST_TABLE = re.compile(r"^\s*#bytes\s")
_HEADS = ("# nThread", "# nccl-tests", "# rccl-tests", "rccl-tests:", "# Collective test starting", "# Using devices")


@dataclass(frozen=True, slots=True)
class ParsedText:
    """The content of a text, and notes on unknown lines.

    - ``tableless``: the line number of the first header ``# nThread`` of nccl-tests, if no row of a table could be read; otherwise 0.
    """

    file: str
    perftests: tuple[Perftest, ...] = ()
    nccl_tests: tuple[NcclTests, ...] = ()
    log: NcclLog | None = None
    trainings: tuple[Training, ...] = ()
    table: Table | None = None
    tools: tuple[ToolRun, ...] = ()
    inspector: tuple[InspectorRecord, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[Note, ...] = ()
    tableless: int = 0

    @property
    def empty(self) -> bool:
        """True if the text holds no results."""
        results = self.perftests, self.nccl_tests, self.log, self.trainings, self.table, self.tools
        return not any((*results, self.inspector, self.diagnostics))


def read(text: str, file: str, *, gbits: bool | None = None, operation: str = "") -> ParsedText:
    """Read all results in a text. Never raises an error. ``file`` is the name of the text's file or other source, for notes.

    ``operation`` is the operation of nccl-tests runs whose output does not name it.
    ``gbits`` is True if perftest wrote its JSON with ``--report_gbits``; the JSON itself does not show this. If
    ``gbits`` is None, the unit is derived from the message rate.
    """
    notes = Notes(file)
    text = text.removeprefix("\ufeff")
    lines = lines_of(text)
    if any(line.source for line in lines) and _PREFIXED_JSON.match(_joined(lines[:5])):
        text = _joined(lines)
    begin = text.lstrip()[:1]
    reading = _json(text, lines, notes, gbits) if begin in {"{", "["} and "NCCL INFO" not in text else None
    if reading is None and is_inspector_prometheus(text):
        reading = ParsedText(file, inspector=tuple(read_inspector_prometheus(text, notes)))
    form_is_known = reading is not None
    if reading is None:
        reading = _comma_separated(lines, notes) or _text(lines, notes, operation)
    tableless = 0
    if "# nThread" in text and not any(test.rows for test in reading.nccl_tests):
        tableless = next((line.number for line in lines if "# nThread" in line.text), 0)
        notes.add(tableless, "the header of nccl-tests is here, and no row of a table was read")
    if reading.empty and text.strip() and not (form_is_known and notes.kept) and not tableless:
        notes.kept, notes.more = [], 0
        notes.add(
            0,
            "no output of perftest, nccl-tests, rccl-tests, NCCL, MLPerf or another benchmark that is read, and no table of results",
        )
    tests = tuple(replace(test, operation=test.operation or operation) for test in reading.nccl_tests)
    return replace(reading, nccl_tests=tests, notes=notes.all(), tableless=tableless)


def _joined(lines: Sequence[Line]) -> str:
    return "\n".join(line.text for line in lines)


_PREFIXED_JSON = re.compile(r"\s*[\[{]\s*[\"{]")


_REPORTER = re.compile(r'"(?:busBw|busbw|algBw)"\s*:')


def _json(text: str, lines: Sequence[Line], notes: Notes, gbits: bool | None) -> ParsedText | None:
    if is_inspector_json(text):
        return ParsedText(notes.file, inspector=tuple(read_inspector_json(text, notes)))
    if "numCycle" in text or _REPORTER.search(text[:4000]):
        return ParsedText(notes.file, nccl_tests=tuple(read_reporter_json(text, lines, notes)))
    if "test_info" in text or "MsgSize" in text:
        return ParsedText(notes.file, perftests=tuple(read_perftest_json(lines, notes, gbits=gbits)))
    if '"nvbandwidth"' in text:
        return ParsedText(notes.file, tools=tuple(read_nvbandwidth_json(text, notes)))
    if '"results"' in text or (
        '"nccl_version"' in text and not re.search(r'"(?:entries|pg_config|communicators)"', text)
    ):
        return ParsedText(notes.file, nccl_tests=tuple(read_nccl_tests_json(text, notes)))
    return None


def _comma_separated(lines: Sequence[Line], notes: Notes) -> ParsedText | None:
    head = next((line.text for line in lines if line.text.strip()), "")
    heads = fields(head) if "," in head else []
    if is_reporter_head(heads):
        return ParsedText(notes.file, nccl_tests=tuple(read_reporter_csv(lines, notes)))
    if is_table(heads):
        return ParsedText(notes.file, table=read_table(lines, notes))
    return None


def _text(lines: Sequence[Line], notes: Notes, operation: str) -> ParsedText:
    logs: list[Line] = []
    training: list[Line] = []
    tests: list[Line] = []
    perftests: list[Line] = []
    tools: dict[str, list[Line]] = {}
    diagnostics: list[Line] = []
    before: list[Line] = []  # of no test yet
    now = before
    last_error = dict[str, bool]()  # of each process: PyTorch prints NCCL's last warning in the line after these words
    for line in lines:
        text = line.text
        if last_error.pop(line.source, False) and text.strip() and not MESSAGE.search(text):
            logs.append(replace(line, text=f"NCCL WARN {text.strip()}"))
            continue
        last_error[line.source] = text.endswith("Last error:")
        if MARK in text:
            training.append(line)
        elif "NCCL DIAG" in text and DIAGNOSTIC.search(text):
            diagnostics.append(line)
        elif MESSAGE.search(text) or VERSION.match(text):
            logs.append(line)
        else:
            tool = tool_of(text)
            now = tools.setdefault(tool, []) if tool else _owner(text, now, tests, perftests)
            now.append(line)
            if (reported := _LAST_WARNING.match(text)) and not any(reported[2] in each.text for each in logs[-200:]):
                logs.append(replace(line, text=f"NCCL WARN {reported[2]}", host=reported[1]))
    if before and (tests or perftests):
        first = tests if tests and (not perftests or tests[0].number < perftests[0].number) else perftests
        first[:0] = before
    elif before and any(line.text.lstrip().startswith("#bytes") for line in before):
        perftests = before
    elif before and any(line.text.startswith("#") and "busbw" in line.text for line in before):
        tests = before
    elif before:
        perftests = [line for line in before if "Failed status" in line.text or "Couldn't connect" in line.text]
    return ParsedText(
        notes.file,
        perftests=tuple(
            sorted(
                (test for part in sources_of(perftests, _PERFTEST_TABLE) for test in read_perftest(part, notes)),
                key=lambda test: test.line,
            )
        ),
        nccl_tests=_together(
            sorted(
                (test for part in sources_of(tests, _TEST_TABLE) for test in read_nccl_tests(part, notes, operation)),
                key=lambda test: test.line,
            )
        ),
        log=read_nccl_log(logs, notes),
        trainings=tuple(read_mllog(training, notes)),
        tools=tuple(run for tool, part in tools.items() for run in read_tool(tool, part, notes)),
        diagnostics=tuple(read_diagnostics(diagnostics, notes)),
    )


def _together(tests: Sequence[NcclTests]) -> tuple[NcclTests, ...]:
    """Return the tests. A test that several processes ran separately gets a failure that says so.

    Without MPI, each process runs the whole test as rank 0.
    """
    alike: dict[tuple[object, ...], set[tuple[str, int]]] = {}
    for test in tests:
        for rank in test.ranks if test.rank_count == 1 else ():
            alike.setdefault((test.operation, test.settings), set()).add((rank.host, rank.pid))
    apart = {key: len(processes) for key, processes in alike.items() if len(processes) > 1}
    return tuple(
        replace(test, failures=(*test.failures, (test.line, without_mpi(apart[test.operation, test.settings]))))
        if test.rank_count == 1 and (test.operation, test.settings) in apart
        else test
        for test in tests
    )


def _owner(text: str, now: list[Line], tests: list[Line], perftests: list[Line]) -> list[Line]:
    """Return the list to which a line belongs: ``tests`` (nccl-tests), ``perftests``, or ``now``.

    A line that is a heading of nccl-tests or perftest belongs to the list of that program. Any other line belongs to ``now``, the
    list to which the last heading belongs. ``text`` is the text of the line.
    """
    if text.startswith("#"):
        return tests if text.startswith(_HEADS) else now
    if TITLE.match(text[:HEADING]) or COMMAND.search(text):
        return perftests
    return tests if text.startswith(_HEADS) or operation_of(text) else now
