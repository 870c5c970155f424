"""The reader of the output of nccl-tests and rccl-tests."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from railweave.operations.bench import nccl_tests
from railweave.operations.bench.lines import Line, Notes, counted, measured, whole

if TYPE_CHECKING:
    from collections.abc import Sequence


Place = Literal["out-of-place", "in-place"]
_LEAD = ("size", "count", "type", "redop", "root")
_TIMES = ("time", "cputime")
_TAIL = ("algo", "proto", "nchannels", "timestamp")


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns of a result table.

    - ``lead``: the columns before the times.
    - ``group``: the columns of times, which each of ``places`` has.
    - ``places``: ``out-of-place``, ``in-place`` or both.
    - ``tail``: the columns after the times.
    """

    lead: tuple[str, ...]
    group: tuple[str, ...]
    places: tuple[Place, ...]
    tail: tuple[str, ...]

    @property
    def cpu_time(self) -> bool:
        """True if the times are processor times."""
        return self.group[:1] == ("cputime",)


USUAL = Columns(_LEAD, ("time", "algbw", "busbw", "#wrong"), ("out-of-place", "in-place"), ())
"""The columns that are assumed for a table without a header: those of nccl-tests since 2.13 without options."""


def columns_of(head: str, above: str) -> Columns | None:
    """Return the columns that the header line ``head`` names, or None if the line is not a header.

    ``above`` is the line above, which says in-place or out-of-place.
    """
    names = head.lstrip("# \t").split()
    if names[:3] != ["size", "count", "type"]:
        return None
    starts = [at for at, name in enumerate(names) if name in _TIMES]
    if not starts:
        return None
    lead = tuple(names[: starts[0]])
    width = starts[1] - starts[0] if len(starts) > 1 else _width(names[starts[0] :])
    group = tuple(names[starts[0] : starts[0] + width])
    named: list[Place] = [place for place in ("out-of-place", "in-place") if place in above]
    places: tuple[Place, ...] = tuple(named) if len(named) == len(starts) else USUAL.places[: len(starts)]
    return Columns(lead, group, places, tuple(names[starts[0] + width * len(starts) :]))


def _width(names: Sequence[str]) -> int:
    return next((at for at, name in enumerate(names) if name in _TAIL), len(names))


def row_of(columns: Columns, line: int, text: str, notes: Notes) -> nccl_tests.NcclTestsRow | str:
    """Return a row of a table, or the reason why the row is invalid. ``line`` is the number of the line, and ``text`` its text.

    If an optional column (redop, root) is empty, the line has no field for it. A timestamp has two fields, a date and a time.
    ``notes`` collects values that cannot be read.
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
) -> nccl_tests.NcclTestsRow:
    lead = dict(zip(columns.lead[:leads], fields[:leads], strict=True))
    width = len(columns.group)
    by_place: dict[Place, nccl_tests.PlaceTimes] = {}
    for at, place in enumerate(places):
        begin = leads + at * width
        cells = dict(zip(columns.group, fields[begin : begin + width], strict=True))
        by_place[place] = _measured(cells, place, line, notes)
    after = dict(zip(tail, fields[len(fields) - len(tail) :], strict=True)) if tail else {}
    redop, root = lead.get("redop", ""), lead.get("root", "")
    return nccl_tests.NcclTestsRow(
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


def _measured(cells: dict[str, str], place: Place, line: int, notes: Notes) -> nccl_tests.PlaceTimes:
    def read(*names: str) -> float | None:
        name = next((name for name in names if name in cells), "")
        if not name or cells[name] == "N/A":
            return None
        return measured(cells[name], f"{place} {name}", line, notes)

    return nccl_tests.PlaceTimes(
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


_VERSION = re.compile(r"^#?\s*(nccl|rccl)-tests:?\s+[Vv]ersion\s+(\S+)(?:.*?(?:nccl|rccl)-library=(\d{3,6}))?")
_STARTING = re.compile(r"^# Collective test starting: (\S+)")
_ENDED = re.compile(r"^# Collective test concluded")
_SETTINGS = re.compile(r"^#\s*nThread\s")
_SETTING = re.compile(
    r"(nThread|nGpus|minBytes|maxBytes|step|warmup iters|agg iters|iters|validation|graph|unalign):? ([\w()]+)"
)
_RANK = re.compile(
    r"^#\s+Rank\s+(\d{1,7})\s+(?:Group\s+(\d{1,7})\s+)?Pid\s+(\d{1,9})\s+on\s+(\S+)\s+device\s+(\d{1,4})\s+\[([^\]]*)\]\s*(.*)$"
)
_OUT_OF_BOUNDS = re.compile(r"^#\s*Out of bounds values\s*:\s*(\d{1,18})\s+(OK|FAILED)")
_AVERAGE = re.compile(r"^#\s*Avg bus bandwidth\s*:\s*(\S+)\s*(OK|FAILED)?")
_MEMORY = re.compile(r"^#\s*(GPU memory usage)\s*:\s*(.*\S)")
_FAILED = re.compile(
    r"Test (?:NCCL |CUDA |HIP )?failure|Test timeout|^# error: \S|Invalid number of GPUs|\[ERROR\]|is not available|"
    r"NCCL failure|out of memory"
)
_HEADER = re.compile(r"^#\s*size\s+count\b")
_ROW = re.compile(r"^\s*[0-9]+\s+(?:[0-9]+\s|$)|^\s+[0-9]")
_DATE = re.compile(r"^# (?:Date|Test date|start(?:ed)?)\s*[:=]\s*(.*\S)", re.IGNORECASE)
_KNOWN = re.compile(
    r"^#\s*$|^#\s*Using devices|^#\s+\(B\)|^#\s+(?:out-of-place|in-place)|^# Blocking Enabled|^# Per-Iteration|^# Parallel Init"
    r"|^#\s*Reducing maxBytes|^# Errors with asterisks|^# Writing JSON|^# Testing \d+ cycle|^# (?:NCCL|RCCL|ROCm|HIP|CUDA|Hip) "
    r"|^\s*$|^# skipping json|^\s*(?:mpirun|mpiexec|srun) -"
)


@dataclass
class _Run:
    line: int
    operation: str = ""
    library: Literal["NCCL", "RCCL", ""] = ""
    tests_version: str = ""
    library_version: str = ""
    columns: Columns | None = None
    unread: str = ""
    """The header of a table with unknown columns, as long as its rows are being skipped; else empty."""
    settings: dict[str, str] = field(default_factory=dict[str, str])
    ranks: list[nccl_tests.Rank] = field(default_factory=list[nccl_tests.Rank])
    rows: list[nccl_tests.NcclTestsRow] = field(default_factory=list[nccl_tests.NcclTestsRow])
    failures: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    out_of_bounds: int | None = None
    average: float | None = None
    averaged: bool = False
    enough: bool | None = None
    concluded: bool = False
    began: str = ""
    command: str = ""

    @property
    def began_to_measure(self) -> bool:
        """True if a table of the run has begun. A line that names a version, a test program or settings then begins a new run."""
        return bool(self.columns or self.unread or self.rows or self.averaged)

    @property
    def apart(self) -> int:
        """The number of processes that each ran the whole test separately as rank 0, because the test was built without MPI. Otherwise 0."""
        firsts = sum(rank.rank == 0 and rank.group == 0 for rank in self.ranks)
        return firsts if firsts > 1 else 0

    @property
    def rank_count(self) -> int | None:
        """The number of ranks of a run; None if the output does not list them."""
        return len(self.ranks) // (self.apart or 1) or None

    def named(self, file: str) -> str:
        """Return the operation: from the output, or else from the file's name, or else from the table. Empty if none of them shows it."""
        return (
            self.operation
            or nccl_tests.operation_of_file(file)
            or nccl_tests.operation_of_rows(self.rows, self.rank_count)
        )

    def whole(self, file: str) -> nccl_tests.NcclTests:
        failures = [*self.failures, *([(self.line, without_mpi(self.apart))] if self.apart else [])]
        return nccl_tests.NcclTests(
            file=file,
            line=self.line,
            operation=self.named(file),
            library=self.library or _library(self.ranks),
            tests_version=self.tests_version,
            library_version=self.library_version,
            cpu_time=self.columns is not None and self.columns.cpu_time,
            settings=tuple(self.settings.items()),
            ranks=tuple(self.ranks),
            rank_count=self.rank_count,
            node_count=len({rank.host for rank in self.ranks}) // (self.apart or 1) or (1 if self.ranks else None),
            rows=tuple(self.rows),
            out_of_bounds=self.out_of_bounds,
            average_busbw_gbytes_per_s=self.average,
            average_is_enough=self.enough,
            concluded=self.concluded or self.averaged,
            failures=tuple(failures),
            began=self.began,
            command=self.command,
        )


def without_mpi(processes: int) -> str:
    """Return a sentence about the failure of a test that was built without MPI.

    ``processes`` is the number of processes, each of which ran the test separately.
    """
    return (
        f"{processes} processes measured each for itself, none of them over the network: the test was built without MPI "
        "(build with MPI=1), or the launcher belongs to another MPI"
    )


def _library(ranks: Sequence[nccl_tests.Rank]) -> Literal["NCCL", "RCCL", ""]:
    """Return the library that the GPUs of these ranks use, for versions of the tests that do not print the library."""
    if not ranks:
        return ""
    return "RCCL" if any("AMD" in rank.gpu for rank in ranks) else "NCCL"


def read_nccl_tests(lines: Sequence[Line], notes: Notes, operation: str = "") -> list[nccl_tests.NcclTests]:
    """Return the runs in these lines, in order. Never raises an error; ``notes`` collects the lines that cannot be read.

    A run whose output does not name its operation gets a note, unless the user gives the operation (``operation``).
    """
    runs: list[_Run] = []
    above = ""
    for line in lines:
        text = line.text.rstrip()
        if runs and runs[-1].began_to_measure and (_heads(text) or _of_another(runs[-1], text)):
            runs.append(_Run(line.number))
        if not runs and text.strip():
            runs.append(_Run(line.number))
        if runs and not _take(runs[-1], line, text, above, notes) and not _KNOWN.match(text):
            notes.add(line.number, "not understood", text)
        above = text
    recognized = [run for run in runs if run.columns or run.rows or run.ranks or run.settings or run.failures]
    for run in recognized:
        if run.rows and not (operation or run.named(notes.file)):
            notes.add(
                run.line,
                "the output does not name its operation (a version before 2.17 and no command): give it by --operation",
            )
    return [run.whole(notes.file) for run in recognized]


def _heads(text: str) -> bool:
    return bool(
        _VERSION.match(text)
        or _STARTING.match(text)
        or _SETTINGS.match(text)
        or (not text.startswith("#") and nccl_tests.operation_of(text))
    )


def _of_another(run: _Run, text: str) -> bool:
    """Return True if a line belongs to the table of a new run, although no line with a version, a test program or settings has begun that run.

    Such a line is a second header, or a row after the end of the previous run.
    """
    if _HEADER.match(text):
        return bool(run.rows or run.averaged)
    return (run.concluded or run.averaged) and _ROW.match(text) is not None


def _take(run: _Run, line: Line, text: str, above: str, notes: Notes) -> bool:
    """Return True if a line belongs to a run. If so, store the line's content in ``run``.

    ``text`` is the line's text without trailing blanks, and ``above`` is the text of the previous line. ``notes`` collects rows that
    cannot be read.
    """
    if text.startswith("#"):
        return _comment(run, line.number, text, above, notes) or _failed(run, line, text)
    if _ROW.match(text):
        if run.unread:
            notes.add(line.number, f"a row is left out: its header is not understood ({run.unread})", text)
            return True
        row = row_of(run.columns or USUAL, line.number, text, notes)
        if isinstance(row, str):
            notes.add(line.number, row, text)
            return True
        if run.columns is None:
            notes.add(line.number, "a row without a header, read as nccl-tests prints it without options", text)
            run.columns = USUAL
        run.rows.append(row)
        return True
    operation = nccl_tests.operation_of(text)
    if operation and not run.began_to_measure:
        run.operation, run.command = run.operation or operation, text.strip()[:2000]
        return True
    version = _VERSION.match(text)  # rccl-tests of 2024 prints its version without a mark
    if version:
        _versions(run, version)
    return bool(version) or _failed(run, line, text)


def _failed(run: _Run, line: Line, text: str) -> bool:
    if _FAILED.search(text):
        run.failures.append((line.number, text.strip(" #")[:300]))
        return True
    return False


def _versions(run: _Run, match: re.Match[str]) -> None:
    run.library = "NCCL" if match[1] == "nccl" else "RCCL"
    run.tests_version = match[2]
    run.library_version = nccl_tests.version_of(int(match[3])) if match[3] else ""


def _comment(run: _Run, line: int, text: str, above: str, notes: Notes) -> bool:
    """Return True if a line that begins with ``#`` is a header, a setting, a rank or a part of the summary. If so, store its content in ``run``.

    ``line`` is the number of the line, ``above`` is the text of the previous line, and ``notes`` collects values that cannot be read.
    """
    columns = columns_of(text, above)
    if columns or _HEADER.match(text):
        run.columns, run.unread = columns, "" if columns else " ".join(text.split())[:80]
    elif match := _VERSION.match(text):
        _versions(run, match)
    elif match := _STARTING.match(text):
        run.operation = nccl_tests.operation_of(match[1]) or run.operation
    elif _SETTINGS.match(text):
        run.settings |= dict(_SETTING.findall(text))
    elif match := _RANK.match(text):
        rank, group, pid, host, device, pci, gpu = match.groups()
        run.ranks.append(nccl_tests.Rank(int(rank), int(group or 0), int(pid), host, int(device), pci, gpu.strip()))
    else:
        return _footer(run, line, text, notes)
    return True


def _footer(run: _Run, line: int, text: str, notes: Notes) -> bool:
    if match := _OUT_OF_BOUNDS.match(text):
        run.out_of_bounds = counted(match[1], "out of bounds values", line, notes)
    elif match := _AVERAGE.match(text):
        run.average, run.averaged = measured(match[1], "average bus bandwidth", line, notes), True
        run.enough = None if match[2] is None else match[2] == "OK"
    elif _ENDED.match(text):
        run.concluded = True
    elif match := _MEMORY.match(text):
        run.settings[match[1]] = match[2]
    elif match := _DATE.match(text):
        run.began = run.began or match[1]
    else:
        return False
    return True
