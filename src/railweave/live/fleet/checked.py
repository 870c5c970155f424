"""Checks of servers. The results, and the parts of the network that failures have in common, are available as tables, JSON and JUnit XML."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from railweave.counting import counted
from railweave.errors import InputError, Option, Problem
from railweave.host.checks.outcome import NOT_SEEN
from railweave.host.checks.server import chosen
from railweave.host.failure import HostInputError
from railweave.junit import document, suite, suites
from railweave.live.fleet.running import check as run_checks
from railweave.model.catalog import in_force
from railweave.outputs.rendering.host.host_json import host_json
from railweave.pages.shell import element, text
from railweave.pages.table import Cell, Table, columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.live.fleet.running import Answer, Fleet, Reply, Verdict


def matrix(
    servers: Sequence[str],
    silent: Iterable[Answer | Reply],
    heads: Sequence[str],
    cell: Callable[[str, str], Cell],
) -> Table:
    """Return a table with a row for each server. ``cell`` returns the cell for a server and a column head.

    ``silent``: the replies of servers without results. Their rows contain only the reason.
    """
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
    NOT_SEEN: "unknown",
    "not applicable": "nothing",
}
"""The CSS classes of verdicts on a page."""


def verdict_cell(shown: str, verdict: str) -> Cell:
    """Return a cell in the color of its verdict."""
    return Cell(verdict, shown, markup=element("span", text(shown), class_=VERDICT_CSS[verdict]))


BAD = ("failed", "warning")
AGREE = 0.8
"""The fraction of the servers of a model that must have the same value for the others to be reported as different."""

TOLD_APART = (
    "nic-firmware",
    "nic-driver-version",
    "gpu-driver",
    "system-kernel",
    "system-smt",
    "job-library",
    "system-numa-nodes",
)
"""The checks whose observed value (``seen``) should be the same on all servers of a model."""


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a verdict: leaf and rail of a NIC, and the path color if the verdict is about one path."""

    leaf: str
    rail: int
    color: str = ""


@dataclass(frozen=True, slots=True)
class SharedFailure:
    """The failures of one check, which all have one part of the network in common.

    ``what`` names the part, for example ``leaf stripe1-leaf3``. ``members`` name the server and subject of each
    failure.
    """

    check: str
    what: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OddServer:
    """A server that differs from other servers of its model.

    ``seen`` is its value; ``usual`` is the value that ``agree`` of ``of`` servers have.
    """

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
    """Return, for each check with at least three failures, the leaf, rail, color or server that all its failures have in common, if there is one.

    ``places``: by server and interface. ``tables``: by server and routing table, for verdicts that name a table. A part
    is included only if the check fails there more often than it passes.
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
    """Return the location of a verdict: that of its interface, or of the first routing table that it names; None if unknown."""
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
    """Return the servers with an unusual version or setting. ``models``: the model of each server, by name.

    A value is usual if at least four fifths of the servers of a model have it.
    """
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
    """Return the ``seen`` text of a verdict without the remark about the plan in parentheses."""
    return verdict.seen.partition(" (")[0]


_MARKS = {"failed": "FAIL", "warning": "warn", NOT_SEEN: "?", "ok": "ok", "not applicable": "-"}
"""Verdicts and their marks in the matrix, the worst first."""


@dataclass(frozen=True, slots=True)
class VerdictGroup:
    """A verdict that several places share.

    ``where``: the places. ``common``: the leaf, rail, color or server that all these places have in common; empty if
    there is none.
    """

    verdict: str
    check: str
    where: tuple[str, ...]
    seen: str
    wanted: str
    remedy: str
    common: str = ""


@dataclass(frozen=True)
class FleetCheckResult:
    """The results of all servers: their answers, the common parts of failures, and servers that differ from their model.

    - ``subjects``: the subject of each check, by the check's id.
    - ``allowed``: the checks and subjects that are allowed not to read the values that they check.
    """

    network: str
    answers: tuple[Answer, ...]
    shared: tuple[SharedFailure, ...]
    odd: tuple[OddServer, ...]
    subjects: Mapping[str, str]
    allowed: frozenset[str] = frozenset()

    @property
    def silent(self) -> list[Answer]:
        """The servers that gave no verdicts."""
        return [answer for answer in self.answers if answer.error]

    @property
    def good(self) -> bool:
        """True if every server answered, no check failed, and every check that is not in ``allowed`` could read its values."""
        failures = (v for answer in self.answers for v in answer.verdicts if v.verdict == "failed")
        return not self.silent and not any(failures) and not self.unseen

    @cached_property
    def unseen(self) -> dict[str, list[str]]:
        """The servers on which a check could not read the values that it checks, by check. Checks in ``allowed`` are left out."""
        servers: dict[str, dict[str, None]] = {}
        for answer in self.answers:
            for verdict in answer.verdicts:
                if verdict.verdict == NOT_SEEN and not self.allowed & {
                    verdict.check,
                    self.subjects.get(verdict.check, ""),
                }:
                    servers.setdefault(verdict.check, {})[answer.server] = None
        return {check: list(names) for check, names in servers.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the result as the documented JSON object (docs/fleet.md)."""
        return {
            "network": self.network,
            "good": self.good,
            "unseen": self.unseen,
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
        """Return a matrix of servers and subjects as text, then each failure with its places, the part that these have in common, and the fix."""
        lines = [*self.table.to_text(), ""]
        for finding in self.findings():
            lines += [
                f"{finding.verdict}: {finding.check}: {_first(finding.where)}",
                f"  seen {finding.seen}; wanted {finding.wanted}",
            ]
            if finding.common:
                lines.append(f"  all of this check at {finding.common}: look there first")
            lines += [f"  do {finding.remedy}", ""]
        for check, servers in self.unseen.items():
            lines.append(f"{NOT_SEEN}: {check}: {_first(servers)}")
        return "\n".join([*lines, *([""] if self.unseen else []), *_odd(self), *_silent(self), self.summary()])

    def summary(self) -> str:
        """Return a summary in one sentence."""
        bad = sum(any(v.verdict == "failed" for v in answer.verdicts) for answer in self.answers)
        quiet = f", {len(self.silent)} did not answer" if self.silent else ""
        blind = f", {counted(len(self.unseen), 'check')} not seen on some" if self.unseen else ""
        return f"{counted(len(self.answers), 'server')}: {bad} with failures{quiet}{blind}"

    def findings(self) -> list[VerdictGroup]:
        """Return the failures, then the warnings. A verdict that several places share is one entry."""
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
        """A table with a row for each server and a column for each subject of checks."""
        servers = [answer.server for answer in self.answers]
        return matrix(servers, self.silent, list(dict.fromkeys(self.subjects.values())), self._cell)

    def _cell(self, server: str, subject: str) -> Cell:
        """Return the cell with a server's worst verdict on a subject, and the number of such verdicts."""
        verdicts = self._verdicts.get((server, subject), Counter())
        worst = next((verdict for verdict in _MARKS if verdicts[verdict]), "not applicable")
        number = f" {verdicts[worst]}" if worst in {*BAD, NOT_SEEN} else ""
        return verdict_cell(_MARKS[worst] + number, worst)

    @cached_property
    def _verdicts(self) -> dict[tuple[str, str], Counter[str]]:
        """The number of verdicts of each kind, by server and subject."""
        counts: dict[tuple[str, str], Counter[str]] = {}
        for answer in self.answers:
            for verdict in answer.verdicts:
                subject = self.subjects.get(verdict.check, "")
                counts.setdefault((answer.server, subject), Counter())[verdict.verdict] += 1
        return counts

    def to_html(self) -> str:
        """Return the result as a page."""
        from railweave.live.fleet.page import page

        return page(self)

    def to_junit(self) -> str:
        """Return JUnit XML with a suite for each server and a test case for each check."""
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
    """Return the summary of the servers' answers.

    - ``places``: the leaf and rail of each interface, by server and interface.
    - ``tables``: the leaf, rail and color of each routing table, by server and table number.
    - ``models``: the model of each server, by name.
    """
    common = tuple(shared(answers, places, tables))
    return FleetCheckResult(network, tuple(answers), common, tuple(odd(answers, models)), subjects)


def _odd(result: FleetCheckResult) -> list[str]:
    lines = [
        f"warning: {odd_server.server} differs: {odd_server.check} is {odd_server.seen}, and {odd_server.usual} on {odd_server.agree} of {odd_server.of}"
        for odd_server in result.odd
    ]
    return [*lines, ""] if lines else []


def _first(names: Sequence[str]) -> str:
    """Return the first six names, and the number of the others."""
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


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


def check_servers(
    fleet: Fleet,
    *,
    only: Sequence[str],
    allow_unseen: Sequence[str],
    sudo: bool,
    at_once: int,
    say: Callable[[str], None],
) -> FleetCheckResult:
    """Run ``railweave host check`` on servers, and summarize the results. Raises ``InputError`` for wrong input.

    ``only``: the checks; empty: all. ``allow_unseen``: the checks and subjects that need not see what they check.
    """
    network, only = fleet.network, only or fleet.checks
    try:
        chosen(allow_unseen, "--allow-unseen")
        subjects = {host_check.id: host_check.subject for host_check in chosen(only)}
    except (HostInputError, ValueError) as error:
        raise InputError([Problem(Option("fleet check"), str(error), "see docs/checks.md")]) from None
    with in_force(network.catalog):
        configs = {name: fleet.config(name) for name in fleet.targets}
    tasks = [fleet.task(name, host_json(config)) for name, config in configs.items()]
    number = [0]

    def done(answer: Answer) -> None:
        number[0] += 1
        say(f"{answer.server}: {'no answer' if answer.error else 'checked'} ({number[0]} of {len(tasks)})")

    answers = run_checks(tasks, only=only, sudo=sudo, at_once=at_once, done=done)
    places = {(name, nic.netdev): Place(nic.leaf, nic.rail) for name, config in configs.items() for nic in config.nics}
    tables = {
        (name, path.table): Place(nic.leaf, nic.rail, path.color_name)
        for name, config in configs.items()
        for nic in config.nics
        for path in nic.addresses
    }
    result = checked(
        network.name,
        answers,
        places,
        {server.name: server.model for server in network.servers if server.name in configs},
        subjects,
        tables,
    )
    return replace(result, allowed=frozenset(allow_unseen))
