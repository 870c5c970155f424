"""The counting of a check: how many objects of each kind of state ("subject") were expected, right, wrong and not seen."""

from __future__ import annotations

import collections
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.json_values import JsonObject
from railweave.live.check import counters, diagnosis
from railweave.live.check.living import Deviation, NetworkStates, Part, Visibility, asked_by
from railweave.live.check.subjects import (
    ANSWERS,
    CONFIGURATIONS,
    COUNTERS,
    SERVER,
    SUBJECTS,
    SWITCH,
    Subject,
    SwitchAnswers,
    answered,
)
from railweave.live.check.tenants import traced
from railweave.model.findings.registry import Rule
from railweave.model.intent.reading.source import FieldSource
from railweave.model.state.question import not_running
from railweave.pages.table import Column, Table
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from railweave.analysis.expect import Expected
    from railweave.live.check.counters import Counter
    from railweave.model.findings import Finding
    from railweave.model.intent.reading.source import Field
    from railweave.model.state.device_state import DeviceState

NOT_SEEN = Rule(
    "not-seen",
    "error",
    "living",
    "A device answered, but did not report a part of the state that the design expects.",
    why="it is unknown whether this part is right",
    fix=(
        "collect again with a login that may run the necessary commands; `--allow-unseen SUBJECT` accepts that a "
        "subject is not seen"
    ),
    asked=("role.nos", "servers.{server}.model"),
)


def not_asked(systems: Iterable[str], visible: Visibility) -> dict[str, dict[str, str]]:
    """Return, by operating system, the names of the subjects (kinds of state) that are not expected, each with the reason.

    Subjects of servers are under the empty key. ``visible`` has the states that the network can show.
    """
    reasons: dict[str, dict[str, str]] = {"": dict(visible.not_asked)}
    for nos in systems:
        reader = system(nos).state
        not_read: Mapping[str, str] = reader.NOT_READ if reader is not None else {}
        reasons[nos] = {
            subject.name: why
            for subject in SUBJECTS.values()
            for field, why in not_read.items()
            if subject.field and f"{subject.field}.".startswith(f"{field}.")
        } | dict(visible.not_asked)
    return reasons


@dataclass(frozen=True, slots=True)
class SubjectCount(JsonObject):
    """The counts of one subject of the check (a kind of state, for example ports or port MTUs) on one device.

    ``expected`` counts the objects that the design expects. The other counts are how many of these are right, wrong, or not shown by the
    device (not seen). Some objects cannot be shown because of another fault, for example the speed of a port that is down. They are in none
    of the counts.
    """

    device: str
    subject: str
    expected: int
    wrong: int
    not_seen: int

    JSON = ("device", "subject", "expected", "right", "wrong", "not_seen")

    @property
    def right(self) -> int:
        """The number of objects that are as designed."""
        return self.expected - self.wrong - self.not_seen


def counts(
    living: NetworkStates, deviations: Iterable[Deviation], left_out: Mapping[str, Collection[str]]
) -> list[SubjectCount]:
    """Return the counts of every subject (kind of state) for each device that answered.

    - ``deviations``: the differences from the design.
    - ``left_out``: the result of ``not_asked``. Of the subjects in it, only objects that were seen are counted.

    ``living`` has the expected and the reported states.
    """
    wrong: dict[tuple[str, str], dict[str, int]] = {}
    for deviation in deviations:
        if deviation.severity != "info" and deviation.rule.severity != "info":
            key = deviation.device, deviation.rule.id
            wrong.setdefault(key, {})[deviation.port or deviation.what] = deviation.objects

    rows: list[SubjectCount] = []

    def add(device: str, subject: Subject, seen: Iterable[bool | None], hidden: Collection[str] = ()) -> None:
        objects = [each for each in seen if each or (each is not None and subject.name not in hidden)]
        if objects:
            faults: dict[str, int] = {}
            for rule in subject.rules:
                faults |= wrong.get((device, rule.id), {})
            shown = sum(objects)
            bad = min(sum(faults.values()), shown)
            rows.append(SubjectCount(device, subject.name, len(objects), bad, len(objects) - shown))

    for expected, state in living.pairs():
        hidden = left_out.get(state.system, ())
        answers = SwitchAnswers(living, expected, state)
        add(expected.device, ANSWERS, (answered(question, answers) for question in answers.required))
        add(expected.device, CONFIGURATIONS, living.configuration_parts.get(expected.device, {}).values(), hidden)
        for subject in SWITCH:
            seen = (subject.seen(wanted, answers) for wanted in subject.expected(expected))
            add(expected.device, subject, seen, hidden)
        rises = _known_rises(living, expected, state) if living.before else {}
        for counter, known in rises.items():
            add(expected.device, COUNTERS[counter], known, hidden)
    for server, host in living.servers():
        for subject in SERVER:
            seen = (subject.seen(wanted, host) for wanted in subject.expected(server))
            add(server.device, subject, seen, left_out.get("", ()))
    return rows


def _known_rises(living: NetworkStates, expected: Expected, state: DeviceState) -> dict[Counter, list[bool]]:
    """Return, for each counter, one value per port of a device: True if the rise since the earlier capture is known.

    ``expected`` and ``state`` are the device's designed and reported state. ``living`` has the expected and the reported states.
    """
    then = living.before.get(expected.device) or replace(state, interfaces=None, queues=None, pfc=None)
    known: dict[Counter, list[bool]] = {}
    for rise in counters.rises(expected, then, state):
        known.setdefault(rise.name, []).append(rise.count is not None)
    return known


def compared(
    living: NetworkStates,
    left_out: Mapping[str, Collection[str]],
    allowed: Collection[str] = (),
    line: Callable[[Sequence[Field]], FieldSource] = lambda _: FieldSource(),
    more: Iterable[Deviation] = (),
) -> tuple[list[Finding], list[SubjectCount]]:
    """Return the findings about everything that is wrong or not seen, and the counts of every subject (kind of state).

    - ``left_out``: the subjects that are not expected, a result of ``not_asked``.
    - ``allowed``: the names of subjects that may stay unseen.
    - ``line``: a function that takes fields of the fabric file, and returns the first that the file has, with its line.
    - ``more``: deviations that were found elsewhere, which may explain others.

    ``living`` has the expected and the reported states.
    """
    differences = diagnosis.deviations(living, more)
    rows = counts(living, differences, left_out)
    every = [*differences, *unseen(living, rows, allowed)]
    return diagnosis.explained(every, lambda deviation: line(asked_by(living, deviation))), rows


def unseen(living: NetworkStates, rows: Iterable[SubjectCount], allowed: Collection[str]) -> Iterator[Deviation]:
    """Yield a finding for each device that did not show all objects of a subject (kind of state).

    ``rows`` are the results of ``counts``. Subjects in ``allowed`` may stay unseen. ``living`` has the expected and the reported states.
    """
    of_device: dict[str, list[SubjectCount]] = {}
    for row in rows:
        if row.not_seen and row.subject not in allowed:
            of_device.setdefault(row.device, []).append(row)
    for device, missing in of_device.items():
        refused = _refused(living, device)
        parts = [f"{row.not_seen} of {row.expected} {SUBJECTS[row.subject].text}" for row in missing]
        questions = [f"{question}{f' ({why})' if why else ''}" for question, why in refused.items()]
        more = f"; not answered: {', '.join(questions)}" if questions else ""
        needs = _answers_of(device, refused)
        wanted = living.expected.get(device)
        if wanted is not None and any(row.subject == "tenant-paths" for row in missing):
            paths = [path for tenant in wanted.tenants if (path := traced(living, tenant)) is not None]
            beyond = {stop for _, stop, why, known in paths if stop and not why and not known}
            needs = needs.union(*(_answers_of(each, living.unanswered.get(each, {})) for each in beyond))
        because = wanted.identity.because if wanted else living.servers_expected[device].because
        yield Deviation(NOT_SEEN, device, f"not seen: {', '.join(parts)}{more}", because, needs=needs)


def _answers_of(device: str, refused: Mapping[str, str]) -> frozenset[Part]:
    """Return the parts of the network on which a device's answers depend: the device, its answers, and its stopped daemons.

    ``refused`` has the reasons for missing answers, by query.
    """
    daemons = {name for why in refused.values() if (name := not_running(why))}
    parts: list[Part] = [("device", device), ("answers", device), *(("daemon", f"{device} {name}") for name in daemons)]
    return frozenset(parts)


def _refused(living: NetworkStates, device: str) -> dict[str, str]:
    """Return the queries to which a device gave no usable answer, each with the reason; the reason is empty if unknown.

    ``living`` has the expected and the reported states.
    """
    refused = dict(living.unanswered.get(device, {}))
    state = living.states.get(device)
    if state is not None:
        refused |= {note.question: note.what for note in state.notes if note.question and not note.place}
        required = (question.name for question in living.questions.get(device, ()) if not question.optional)
        refused |= {name: refused.get(name, "") for name in required if name not in state.answered}
    return refused


COLUMNS = (
    Column("Subject", key="subject"),
    Column("Expected", "number", "expected"),
    Column("Right", "number", "right"),
    Column("Wrong", "number", "wrong"),
    Column("Not seen", "number", "not_seen"),
)


def summary(rows: Iterable[SubjectCount]) -> Table:
    """Return a table with a row per subject (kind of state): the counts of all devices added up."""
    sums: dict[str, collections.Counter[str]] = {}
    for row in rows:
        sums.setdefault(row.subject, collections.Counter()).update(
            expected=row.expected, right=row.right, wrong=row.wrong, not_seen=row.not_seen
        )
    columns = ("expected", "right", "wrong", "not_seen")
    return Table(COLUMNS, [(name, *(sums[name][column] for column in columns)) for name in SUBJECTS if name in sums])
