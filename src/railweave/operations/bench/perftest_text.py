"""The reader of perftest's text output.

Header keys and table columns differ between versions, so the reader finds both by name, never by position.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.operations.bench import perftest
from railweave.operations.bench.lines import Line, Notes, counted, gid_address, measured

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADING = 300
"""The number of characters of a line that the reader searches for a title. A longer line cannot be a header line."""
_PAIR = re.compile(r"([A-Za-z][\w*.\- ]*?)\s*:\s*(\S+(?: \S+)*?)(?=\s{2,}|\t| \t|\s*$)")
_COLUMN = re.compile(
    r"(?:BW peak|BW average|MsgRate|BW Port\d|MsgRate Port\d)\[[^\]]*\]|[\d.]+%+ percentile\[[^\]]*\]|tps average|\S+"
)
_STATUS = re.compile(
    r"Failed status(?:-(?P<text>.*?) ?\((?P<new>\d{1,4})\)| (?P<old>\d{1,4})): ?wr_id -?\d+ syndrom 0?[xX]([0-9a-fA-F]{1,8})"
)
_ENDED = re.compile(
    r"Couldn't connect to|Unable to init the socket connection|BW result is below bw limit|MsgRate result is below|Failed to "
)
_GPU_SAYS = re.compile(r"initializing CUDA|cuMemAlloc\(|Using ROCm Device|allocated GPU buffer|Use ROCm memory : ON")
_KNOWN = re.compile(
    r"^\s*(?:-{5,}$|\*{3,}|Waiting for client|\* |WARNING|Conflicting CPU|Requested |Perftest |There (?:is|are) \d+ |Picking "
    r"|\[pid|creating CUDA|making it|destroying|deallocating|scnt=|Completion with error|Please run the same|Using |allocated "
    r"|CUDA device|Device \d+|Test with events|MultiCast runs|cuMem|initializing|Test MTU|Warning|MTU |Max msg size|Changing |Listing all)"
)
_NAMED = {
    "#bytes": "size_bytes",
    "#iterations": "iterations",
    "#sl": "service_level",
    "BW peak": "bandwidth_peak_gbps",
    "BW average": "bandwidth_gbps",
    "MsgRate": "message_rate_mpps",
    "CPU_Util": "cpu_percent",
    "t_min": "latency_min_us",
    "t_max": "latency_max_us",
    "t_typical": "latency_typical_us",
    "t_avg": "latency_avg_us",
    "99% percentile": "latency_p99_us",
    "99.9% percentile": "latency_p999_us",
    "tps average": "transactions_per_s",
}
_WHOLE = ("size_bytes", "iterations", "service_level")
_HALF = re.compile(r"^\s*(Local|Remote) results\s*:?\s*$", re.IGNORECASE)
_RULE = re.compile(r"^\s*-{5,}\s*$")


@dataclass
class _Test:
    line: int
    verb: perftest.Verb = ""
    kind: perftest.Kind = ""
    bidirectional: bool = False
    gpu: bool = False
    settings: dict[str, str] = field(default_factory=dict[str, str])
    gids: dict[str, str] = field(default_factory=dict[str, str])
    command: str = ""
    columns: list[str] = field(default_factory=list[str])
    rows: list[perftest.PerftestRow] = field(default_factory=list[perftest.PerftestRow])
    failures: list[perftest.PerftestFailure] = field(default_factory=list[perftest.PerftestFailure])
    side: str = "local"
    titled: bool = False
    headed: bool = False
    """True as soon as a table has begun."""
    rules: int = 0
    """The number of dashed lines since the table header. Perftest prints such a line below its table."""
    taken: int = 0
    """The number of rows since the table header, including skipped rows."""
    half: perftest.Half | None = None
    halves: set[perftest.Half] = field(default_factory=set[perftest.Half])
    next_half: perftest.Half | None = None
    heading: str = ""
    """The last unknown line after the last row, which may be the heading of a further table."""
    left_out: str = ""
    """The reason why further rows are skipped; empty if they are kept."""

    @property
    def ended(self) -> bool:
        """True if the test can print no further output: it has failed, or its table has ended.

        A table ends with a dashed line. The server of a one-way test prints a table without rows.
        """
        return bool(self.failures) or (self.headed and self.rules > (0 if self.taken else 1))

    def whole(self, file: str) -> perftest.Perftest:
        return perftest.Perftest(
            file=file,
            line=self.line,
            verb=self.verb,
            kind=self.kind,
            bidirectional=self.bidirectional,
            memory="gpu" if self.gpu else "host",
            settings=tuple(self.settings.items()),
            local_gid=self.gids.get("local", ""),
            remote_gid=self.gids.get("remote", ""),
            command=self.command,
            rows=tuple(self.rows),
            failures=tuple(self.failures),
        )


def read_perftest(lines: Sequence[Line], notes: Notes) -> list[perftest.Perftest]:
    """Return the tests in these lines, in order. Never raises an error.

    The output of a server is returned as a test too, although it has no rows. Unknown lines are added to ``notes``.
    """
    tests: list[_Test] = []
    for line in lines:
        text = line.text
        command, title = perftest.COMMAND.search(text), perftest.TITLE.match(text[:HEADING])
        before = tests[-1].rows or tests[-1].failures if tests else True
        if (before and _GPU_SAYS.search(text)) or command or (title and (not tests or tests[-1].titled)):
            tests.append(_Test(line.number))  # memory of a GPU is taken before the title is printed
        if title or command:
            if title:
                _entitle(tests[-1], title)
            elif command:
                _start(tests[-1], text, command)
        elif text.lstrip().startswith("#bytes"):
            _table(tests, line, notes)
        elif tests and tests[-1].columns and text.lstrip()[:1].isdigit():
            _row(tests, line, notes)
        elif text.strip() and not (tests and _take(tests[-1], line)):
            if not tests and (_ENDED.search(text) or _STATUS.search(text)):
                tests.append(_Test(line.number))
                _take(tests[-1], line)
            elif not _KNOWN.match(text):
                notes.add(line.number, "not understood", text)
                if tests:
                    tests[-1].heading = text.strip()
    return [test.whole(notes.file) for test in tests if test.titled or test.rows or test.failures]


def _entitle(test: _Test, title: re.Match[str]) -> None:
    test.titled = True
    test.verb = perftest.verb_of(title[1])
    test.kind = "bandwidth" if title[2] == "BW" else "latency"
    test.bidirectional = "Bidirectional" in title[0]


def _start(test: _Test, text: str, command: re.Match[str]) -> None:
    test.command = text.strip()[:1000]
    test.verb = perftest.verb_of(command[1])
    test.kind = "bandwidth" if command[2] == "bw" else "latency"
    test.gpu = perftest.GPU.search(text) is not None


def _table(tests: list[_Test], line: Line, notes: Notes) -> None:
    """Begin a table in the last test of ``tests``, at the header ``line``.

    If this test has a table already, the new table has the results of one of the two ends, or belongs to a different
    test. The rows of the two tables are never mixed. If two tests ran at the same time, the rows of both are removed, with a note in
    ``notes``.
    """
    if not tests:
        tests.append(_Test(line.number))
    test = tests[-1]
    half, test.next_half = test.next_half, None
    if half:
        test.left_out = test.left_out or (f"a second table of {half} results" if half in test.halves else "")
        test.halves.add(half)
    elif test.headed and _others(tests):
        _at_once(tests, notes)
    elif test.rows and test.heading:
        test.left_out = f"the heading {test.heading[:80]!r} of its table is not understood"
    elif test.rows:
        test = _Test(line.number)
        tests.append(test)
    test.half, test.headed, test.rules, test.taken = half, True, 0, 0
    test.columns = _COLUMN.findall(line.text.strip())


def _others(tests: Sequence[_Test]) -> list[_Test]:
    """Return the unfinished tests before the last one. Their output is mixed with that of the last test."""
    others: list[_Test] = []
    for test in reversed(tests[:-1]):
        if test.titled and test.ended:
            break
        if test.titled:
            others.insert(0, test)
    return others


def _at_once(tests: Sequence[_Test], notes: Notes) -> None:
    """Remove the rows of tests that ran at the same time, because the output does not show which test a row belongs to.

    A note about each removed row is added to ``notes``.
    """
    test = tests[-1]
    if test.left_out:
        return
    names = ", ".join(
        dict(parallel_test.settings).get("Device", "a device that is not named")
        for parallel_test in (*_others(tests), test)
    )
    test.left_out = f"tests of {names} ran at once, and nothing says whose it is"
    for row in test.rows:
        notes.add(row.line, f"a row of {row.size_bytes} bytes is left out: {test.left_out}")
    test.rows.clear()
    test.gids.clear()


def _take(test: _Test, line: Line) -> bool:
    """Read a line that is not a table row, such as an address, a GID or a dashed line. Return True if it belongs to the test."""
    text = line.text.strip()
    if _RULE.match(text):
        test.rules += 1
        if test.ended:
            test.columns = []
        return True
    if half := _HALF.match(text):
        test.next_half = "local" if half[1].lower() == "local" else "remote"
        return True
    if text.startswith(("local address:", "remote address:")):
        test.side = text.split()[0]
        return True
    if text.startswith("GID:"):
        test.gids.setdefault(test.side, gid_address(text[4:]))
        return True
    if _GPU_SAYS.search(text):
        test.gpu = True
        return True
    return _failed(test, line.number, text) or _pairs(test, text)


def _failed(test: _Test, line: int, text: str) -> bool:
    status = _STATUS.search(text)
    if status:
        number_ = int(status["new"] or status["old"])
        reason = (status["text"] or "").strip() or f"completion with status {number_}"
        test.failures.append(perftest.PerftestFailure(line, reason, number_, int(status[4], 16)))
        return True
    if _ENDED.search(text):
        test.failures.append(perftest.PerftestFailure(line, text[:200]))
        return True
    return False


def _pairs(test: _Test, text: str) -> bool:
    if _KNOWN.match(text) or len(text) > HEADING:
        return False
    pairs = _PAIR.findall(text)
    for name, value in pairs:
        test.settings.setdefault(" ".join(name.split()), value)
    return bool(pairs)


def _row(tests: Sequence[_Test], line: Line, notes: Notes) -> None:
    test, text = tests[-1], line.text.strip()
    fields = text.split()
    test.taken, test.heading = test.taken + 1, ""
    if not test.left_out and len(fields) != len(test.columns):
        notes.add(line.number, f"{len(fields)} values under {len(test.columns)} columns", text)
        return
    unknown = [column for column in test.columns if column.startswith("#") and column not in _NAMED]
    if not test.left_out and not unknown:
        values = _values(test.columns, fields, line, notes)
        size = values.get("size_bytes")
        if size is None:
            notes.add(line.number, "a row without a size", text)
            return
        if not any((row.half, row.size_bytes) == (test.half, size) for row in test.rows) or not _others(tests):
            test.rows.append(perftest.row_of(line.number, values, test.half))
            return
        _at_once(tests, notes)  # two tables in one: each has its row of a size
    why = test.left_out or f"its column {unknown[0]} is not understood"
    notes.add(line.number, f"a row is left out: {why}", text)


def _values(columns: Sequence[str], fields: Sequence[str], line: Line, notes: Notes) -> dict[str, float | int | None]:
    values: dict[str, float | int | None] = {}
    for column, given in zip(columns, fields, strict=True):
        name, _, unit = column.partition("[")
        key = _NAMED.get(name.replace("%%", "%"))
        if key is None:
            continue  # a counter of -W, or one port of two
        read = (counted if key in _WHOLE else measured)(given, column, line.number, notes)
        if read is not None and key.startswith("bandwidth") and unit.startswith(("MB", "MiB")):
            read *= perftest.GBPS_OF_MIBPS
        values[key] = read
    return values
