"""A text of any of the forms, read: what it is follows from what stands in it, and one text may hold several.

So a log of a job, in which ``NCCL_DEBUG`` and two runs of nccl-tests are mixed, gives a log and two runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.operations.bench.lines import Line, Note, Notes, fields, lines_of
from railweave.operations.bench.mllog import MARK, Training, read_mllog
from railweave.operations.bench.nccl_log_text import MESSAGE, VERSION, read_nccl_log
from railweave.operations.bench.nccl_tests import NcclTests, operation_of
from railweave.operations.bench.nccl_tests_json import read_nccl_tests_json
from railweave.operations.bench.nccl_tests_text import read_nccl_tests
from railweave.operations.bench.perftest import COMMAND, TITLE, Perftest
from railweave.operations.bench.perftest_json import read_perftest_json
from railweave.operations.bench.perftest_text import HEADING, read_perftest
from railweave.operations.bench.rccl_reporter import read_reporter_csv, read_reporter_json
from railweave.operations.bench.table import Table, is_table, read_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.bench.nccl_log import NcclLog

_HEADS = ("# nThread", "# nccl-tests", "# rccl-tests", "rccl-tests:", "# Collective test starting", "# Using devices")


@dataclass(frozen=True, slots=True)
class Read:
    """What a text holds, and the notes of what was not understood in it."""

    file: str
    perftests: tuple[Perftest, ...] = ()
    nccl_tests: tuple[NcclTests, ...] = ()
    log: NcclLog | None = None
    trainings: tuple[Training, ...] = ()
    table: Table | None = None
    notes: tuple[Note, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing was found."""
        return not (self.perftests or self.nccl_tests or self.log or self.trainings or self.table)


def read(text: str, file: str, *, gbits: bool | None = None) -> Read:
    """Everything that a text says. ``file`` is where it is from, for notes. Never raises.

    ``gbits``: whether perftest's JSON, which does not say it, was written with ``--report_gbits``; None lets the message rate decide.
    """
    notes = Notes(file)
    text = text.removeprefix("\ufeff")
    lines = lines_of(text)
    begin = text.lstrip()[:1]
    found = _json(text, lines, notes, gbits) if begin in {"{", "["} and "NCCL INFO" not in text else None
    form_is_known = found is not None
    if found is None:
        found = _comma_separated(lines, notes) or _text(lines, notes)
    if found.empty and text.strip() and not (form_is_known and notes.kept):
        notes.kept, notes.more = [], 0
        notes.add(0, "no output of perftest, nccl-tests, rccl-tests, NCCL or MLPerf, and no table of results")
    return replace(found, notes=notes.all())


def _json(text: str, lines: Sequence[Line], notes: Notes, gbits: bool | None) -> Read | None:
    if "numCycle" in text:
        return Read(notes.file, nccl_tests=tuple(read_reporter_json(text, lines, notes)))
    if "test_info" in text or "MsgSize" in text:
        return Read(notes.file, perftests=tuple(read_perftest_json(lines, notes, gbits=gbits)))
    if '"results"' in text or '"nccl_version"' in text:
        return Read(notes.file, nccl_tests=tuple(read_nccl_tests_json(text, notes)))
    return None


def _comma_separated(lines: Sequence[Line], notes: Notes) -> Read | None:
    head = next((line.text for line in lines if line.text.strip()), "")
    heads = fields(head) if "," in head else []
    if "numCycle" in heads:
        return Read(notes.file, nccl_tests=tuple(read_reporter_csv(lines, notes)))
    if is_table(heads):
        return Read(notes.file, table=read_table(lines, notes))
    return None


def _text(lines: Sequence[Line], notes: Notes) -> Read:
    logs: list[Line] = []
    training: list[Line] = []
    tests: list[Line] = []
    perftests: list[Line] = []
    before: list[Line] = []  # of no test yet
    now = before
    for line in lines:
        text = line.text
        if MARK in text:
            training.append(line)
        elif MESSAGE.search(text) or VERSION.match(text):
            logs.append(line)
        else:
            now = _owner(text, now, tests, perftests)
            now.append(line)
    if before and (tests or perftests):
        first = tests if tests and (not perftests or tests[0].number < perftests[0].number) else perftests
        first[:0] = before
    elif before and any(line.text.lstrip().startswith("#bytes") for line in before):
        perftests = before
    elif before and any(line.text.startswith("#") and "busbw" in line.text for line in before):
        tests = before
    elif before:
        perftests = [line for line in before if "Failed status" in line.text or "Couldn't connect" in line.text]
    return Read(
        notes.file,
        perftests=tuple(read_perftest(perftests, notes)),
        nccl_tests=tuple(read_nccl_tests(tests, notes)),
        log=read_nccl_log(logs, notes),
        trainings=tuple(read_mllog(training, notes)),
    )


def _owner(text: str, now: list[Line], tests: list[Line], perftests: list[Line]) -> list[Line]:
    """Whose a line is: that of the last head before it."""
    if text.startswith("#"):
        return tests if text.startswith(_HEADS) else now
    if TITLE.match(text[:HEADING]) or COMMAND.search(text):
        return perftests
    return tests if text.startswith(_HEADS) or operation_of(text) else now
