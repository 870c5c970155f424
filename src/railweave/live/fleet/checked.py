"""Results of checking servers, and what failures share: for people, as JSON, and as JUnit."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from railweave.counting import counted
from railweave.junit import document, suite, suites
from railweave.pages.shell import element, text
from railweave.pages.table import Cell, Table, columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.live.fleet.running import Answer, Reply, Verdict


def matrix(
    servers: Sequence[str],
    silent: Iterable[Answer | Reply],
    heads: Sequence[str],
    cell: Callable[[str, str], Cell],
) -> Table:
    """Return the table of servers, a row each; ``cell`` is that of a server below one of the ``heads``."""
    quiet = {reply.server for reply in silent}
    heads = heads or ("",)
    unanswered = (verdict_cell("no answer", "failed")._replace(css="silent"), *[""] * (len(heads) - 1))
    rows = [
        (server, *(unanswered if server in quiet else (cell(server, head) for head in heads))) for server in servers
    ]
    return Table(columns("Server", *heads), rows, scrolls=True)


VERDICT_CSS = {
    "failed": "failed",
    "warning": "warning",
    "ok": "ok",
    "could not tell": "unknown",
    "not applicable": "nothing",
}
"""The classes of verdicts on a page."""


def verdict_cell(shown: str, verdict: str) -> Cell:
    """Return a cell in the color of its verdict."""
    return Cell(verdict, shown, markup=element("span", text(shown), class_=VERDICT_CSS[verdict]))


BAD = ("failed", "warning")
AGREE = 0.8
"""From this share of like servers on, those that differ are named."""

TOLD_APART = (
    "nic-firmware",
    "nic-driver-version",
    "gpu-driver",
    "system-kernel",
    "system-smt",
    "job-library",
    "system-numa-nodes",
)
"""Checks whose ``seen`` should be the same on servers that are alike."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a NIC is: its leaf and its rail. ``color`` is that of a path, where a verdict is about one."""

    leaf: str
    rail: int
    color: str = ""


@dataclass(frozen=True, slots=True)
class SharedFailure:
    """Failures of a check that have one thing in common: ``what`` as ``leaf stripe1-leaf3``, and the things that failed."""

    check: str
    what: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OddServer:
    """A server that differs from its like: what it has, and what so many of so many have."""

    server: str
    check: str
    seen: str
    usual: str
    agree: int
    of: int


def shared(
    answers: Sequence[Answer],
    places: Mapping[tuple[str, str], Place],
    tables: Mapping[tuple[str, int], Place] | None = None,
) -> list[SharedFailure]:
    """For each check that fails at three places or more: the leaf, rail or color that all share, or the server.

    ``places``: by server and interface; ``tables``: by server and routing table, for verdicts that name one. A leaf is named only
    if the check fails at most of what is on it that was looked at.
    """
    failures: list[SharedFailure] = []
    for check in dict.fromkeys(
        verdict.check for answer in answers for verdict in answer.verdicts if verdict.verdict in BAD
    ):
        bad = _members(answers, check, BAD)
        if len(bad) < 3:
            continue
        good = _members(answers, check, ("ok",))
        for name, key in (("leaf", _leaf), ("rail", _rail), ("color", _color), ("server", _server)):
            groups = Counter(key(*member, _place(*member, places, tables or {})) for member in bad)
            group, count = groups.most_common(1)[0]
            spared = sum(key(*member, _place(*member, places, tables or {})) == group for member in good)
            if group and count == len(bad) and spared < count:
                members = tuple(f"{server} {verdict.of}".strip() for server, verdict in bad)
                failures.append(SharedFailure(check, f"{name} {group}", members))
                break
    return failures


def _members(answers: Iterable[Answer], check: str, verdicts: tuple[str, ...]) -> list[tuple[str, Verdict]]:
    return [
        (answer.server, verdict)
        for answer in answers
        for verdict in answer.verdicts
        if verdict.check == check and verdict.verdict in verdicts
    ]


def _place(
    server: str, verdict: Verdict, places: Mapping[tuple[str, str], Place], tables: Mapping[tuple[str, int], Place]
) -> Place | None:
    """Where a verdict is: at its interface, or at the first routing table that it names."""
    named = re.search(r"\btable (\d+)", verdict.seen)
    return places.get((server, verdict.of)) or (tables.get((server, int(named[1]))) if named else None)


def _leaf(server: str, verdict: Verdict, place: Place | None) -> str:
    del server, verdict
    return place.leaf if place else ""


def _rail(server: str, verdict: Verdict, place: Place | None) -> str:
    del server, verdict
    return str(place.rail) if place else ""


def _color(server: str, verdict: Verdict, place: Place | None) -> str:
    del server, verdict
    return place.color if place else ""


def _server(server: str, verdict: Verdict, place: Place | None) -> str:
    del verdict, place
    return server


def odd(answers: Sequence[Answer], models: Mapping[str, str]) -> list[OddServer]:
    """Servers that differ in a version or a setting from four fifths or more of those of their model (by name)."""
    odd_servers: list[OddServer] = []
    for check in TOLD_APART:
        by_model: dict[str, dict[str, str]] = {}
        for answer in answers:
            seen = " and ".join(
                sorted(
                    {
                        _plain(verdict)
                        for verdict in answer.verdicts
                        if verdict.check == check and verdict.verdict in {"ok", *BAD}
                    }
                )
            )
            if seen:
                by_model.setdefault(models[answer.server], {})[answer.server] = seen
        for seen_by in by_model.values():
            usual, count = Counter(seen_by.values()).most_common(1)[0]
            if len(seen_by) > 2 and count < len(seen_by) and count >= AGREE * len(seen_by):
                odd_servers += [
                    OddServer(server, check, seen, usual, count, len(seen_by))
                    for server, seen in seen_by.items()
                    if seen != usual
                ]
    return odd_servers


def _plain(verdict: Verdict) -> str:
    """Return what was seen, without the part about the plan."""
    return verdict.seen.partition(" (")[0]


_MARKS = {"failed": "FAIL", "warning": "warn", "could not tell": "?", "ok": "ok", "not applicable": "-"}
"""Verdicts in the matrix, the worst first."""


@dataclass(frozen=True, slots=True)
class VerdictGroup:
    """A verdict that things have alike: ``where`` are they, ``common`` is the leaf, rail or server that all of them share."""

    verdict: str
    check: str
    where: tuple[str, ...]
    seen: str
    wanted: str
    remedy: str
    common: str = ""


@dataclass(frozen=True)
class FleetCheckResult:
    """The answers of all servers, what failures share, and who differs; ``subjects``: the subject of each check by its id."""

    network: str
    answers: tuple[Answer, ...]
    shared: tuple[SharedFailure, ...]
    odd: tuple[OddServer, ...]
    subjects: Mapping[str, str]

    @property
    def silent(self) -> list[Answer]:
        """Servers that gave no verdicts."""
        return [answer for answer in self.answers if answer.error]

    @property
    def good(self) -> bool:
        """True if every server answered and nothing failed."""
        return not self.silent and not any(v.verdict == "failed" for answer in self.answers for v in answer.verdicts)

    def to_json(self) -> dict[str, Any]:
        """The whole as the documented JSON object (docs/fleet.md)."""
        return {
            "network": self.network,
            "good": self.good,
            "servers": {
                answer.server: {
                    "address": answer.address,
                    "seconds": answer.seconds,
                    **({"error": answer.error, "fix": answer.fix} if answer.error else {}),
                    "results": [asdict(each) for each in answer.verdicts],
                    "counters": answer.counters,
                }
                for answer in self.answers
            },
            "shared": [asdict(failure) for failure in self.shared],
            "odd": [asdict(odd_server) for odd_server in self.odd],
        }

    def to_text(self) -> str:
        """Return a matrix of servers and subjects, then each failure once.

        A failure shows where it is, what these places share, and how to fix it.
        """
        lines = [*self.table.to_text(), ""]
        for finding in self.findings():
            names = ", ".join(finding.where[:6]) + (
                f" and {len(finding.where) - 6} more" if len(finding.where) > 6 else ""
            )
            lines += [f"{finding.verdict}: {finding.check}: {names}", f"  seen {finding.seen}; wanted {finding.wanted}"]
            if finding.common:
                lines.append(f"  all of this check at {finding.common}: look there first")
            lines += [f"  do {finding.remedy}", ""]
        return "\n".join([*lines, *_odd(self), *_silent(self), self.summary()])

    def summary(self) -> str:
        """One sentence on the whole."""
        bad = sum(any(v.verdict == "failed" for v in answer.verdicts) for answer in self.answers)
        quiet = f", {len(self.silent)} did not answer" if self.silent else ""
        return f"{counted(len(self.answers), 'server')}: {bad} with failures{quiet}"

    def findings(self) -> list[VerdictGroup]:
        """Every failure and warning, those of many things that are alike once; failures first."""
        alike: dict[tuple[str, str, str, str], list[tuple[str, Verdict]]] = {}
        for answer in self.answers:
            for check_verdict in answer.verdicts:
                if check_verdict.verdict in BAD:
                    alike.setdefault(
                        (check_verdict.verdict, check_verdict.check, check_verdict.seen, check_verdict.wanted), []
                    ).append((answer.server, check_verdict))
        common = {failure.check: failure.what for failure in self.shared}
        return [
            VerdictGroup(
                verdict,
                check,
                tuple(f"{server} {check_verdict.of}".strip() for server, check_verdict in members),
                seen,
                wanted,
                members[0][1].remedy,
                common.get(check, ""),
            )
            for (verdict, check, seen, wanted), members in sorted(alike.items(), key=lambda item: BAD.index(item[0][0]))
        ]

    @property
    def table(self) -> Table:
        """A row for each server, a column for each subject of checks."""
        servers = [answer.server for answer in self.answers]
        return matrix(servers, self.silent, list(dict.fromkeys(self.subjects.values())), self._cell)

    def _cell(self, server: str, subject: str) -> Cell:
        """The worst verdict of a server on a subject, and how often it was given."""
        verdicts = self._verdicts.get((server, subject), Counter())
        worst = next((verdict for verdict in _MARKS if verdicts[verdict]), "not applicable")
        number = f" {verdicts[worst]}" if worst in {*BAD, "could not tell"} else ""
        return verdict_cell(_MARKS[worst] + number, worst)

    @cached_property
    def _verdicts(self) -> dict[tuple[str, str], Counter[str]]:
        """The number of times that each verdict was given, by server and subject."""
        counts: dict[tuple[str, str], Counter[str]] = {}
        for answer in self.answers:
            for verdict in answer.verdicts:
                subject = self.subjects.get(verdict.check, "")
                counts.setdefault((answer.server, subject), Counter())[verdict.verdict] += 1
        return counts

    def to_junit(self) -> str:
        """A suite for each server, and in it a test case for each check."""
        return document(
            suites(
                self.network,
                (
                    suite(answer.server, (_case(answer, check, self._of(answer, check)) for check in self.subjects))
                    for answer in self.answers
                ),
            )
        )

    @staticmethod
    def _of(answer: Answer, check: str) -> list[Verdict]:
        return [verdict for verdict in answer.verdicts if verdict.check == check]


def checked(
    network: str,
    answers: Sequence[Answer],
    places: Mapping[tuple[str, str], Place],
    models: Mapping[str, str],
    subjects: Mapping[str, str],
    tables: Mapping[tuple[str, int], Place] | None = None,
) -> FleetCheckResult:
    """Sum up answers.

    ``places``: leaf and rail by server and interface; ``tables``: those and the color by server and routing table; ``models``:
    server models by name.
    """
    common = tuple(shared(answers, places, tables))
    return FleetCheckResult(network, tuple(answers), common, tuple(odd(answers, models)), subjects)


def _odd(result: FleetCheckResult) -> list[str]:
    lines = [
        f"warning: {odd_server.server} differs: {odd_server.check} is {odd_server.seen}, and {odd_server.usual} on {odd_server.agree} of {odd_server.of}"
        for odd_server in result.odd
    ]
    return [*lines, ""] if lines else []


def _silent(result: FleetCheckResult) -> list[str]:
    lines = [
        f"no answer: {answer.server}: {answer.error}" + (f" ({answer.fix})" if answer.fix else "")
        for answer in result.silent
    ]
    return [*lines, ""] if lines else []


def _case(answer: Answer, check: str, verdicts: list[Verdict]) -> ET.Element:
    case = ET.Element("testcase", classname=answer.server, name=check)
    bad = [verdict for verdict in verdicts if verdict.verdict in BAD]
    if answer.error:
        ET.SubElement(case, "error", message=answer.error)
    elif bad:
        failure = ET.SubElement(case, "failure", type=bad[0].verdict, message=bad[0].seen)
        failure.text = "\n".join(
            f"{verdict.of}: {verdict.seen}; wanted {verdict.wanted}; {verdict.remedy}" for verdict in bad
        )
    elif not any(verdict.verdict == "ok" for verdict in verdicts):
        ET.SubElement(case, "skipped", message="; ".join(verdict.seen for verdict in verdicts) or "not looked at")
    return case
