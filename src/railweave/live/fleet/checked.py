"""Checks of many servers. The results are available as tables, JSON and JUnit XML.

They include the parts of the network that failures have in common, such as a leaf.
"""

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
from railweave.live.fleet.comparison import shared_addresses, unlike, unusual_servers
from railweave.live.fleet.running import check as run_checks
from railweave.model.catalog import in_force
from railweave.outputs.rendering.host.host_json import host_json
from railweave.pages.shell import element, text
from railweave.pages.table import Cell, Table, columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.live.fleet.comparison import OddServer, SharedAddress
    from railweave.live.fleet.running import Answer, Fleet, Reply, Task, Verdict


def matrix(
    servers: Sequence[str],
    silent: Iterable[Answer | Reply],
    heads: Sequence[str],
    cell: Callable[[str, str], Cell],
) -> Table:
    """Return a table with a row for each server and a column for each of ``heads``.

    ``cell`` returns the cell for a server and a column. ``silent`` has the servers without results; their rows contain only ``no answer``.
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
    """Return a table cell with the text ``shown``, in the color of the verdict."""
    return Cell(verdict, shown, markup=element("span", text(shown), class_=VERDICT_CSS[verdict]))


BAD = ("failed", "warning")


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a verdict: leaf and rail of a NIC, and the path color if the verdict is about one path.

    Without a design, the leaf is the switch that LLDP shows, and the rail is None.
    """

    leaf: str
    rail: int | None
    color: str = ""


@dataclass(frozen=True, slots=True)
class SharedFailure:
    """Failures of one check that all have one part of the network in common.

    ``what`` names the part, for example ``leaf stripe1-leaf3``. ``members`` name the server and subject of each
    failure.
    """

    check: str
    what: str
    members: tuple[str, ...]


def shared(
    answers: Sequence[Answer],
    places: Mapping[tuple[str, str], Place],
    tables: Mapping[tuple[str, int], Place] | None = None,
    racks: Mapping[str, str] | None = None,
) -> list[SharedFailure]:
    """Return, for each check with at least three failures, the parts of the network that its failures have in common.

    If one part is common to all failures, it is preferred to several parts that each explain some of them. A part is a
    leaf, a rail, a color, a server, a rack, the firmware of a NIC or a BIOS version; parts are tried in this order.

    - ``places``: the leaf, rail and color, by server and interface.
    - ``tables``: the leaf, rail and color, by server and routing table, for verdicts that name a table.
    - ``racks``: the rack of each server, as far as known.

    A part is returned only if the check fails there more often than it passes. A firmware or BIOS version is returned
    only if the check passed on servers with another version.
    """
    parts = _parts(answers, places, tables or {}, racks or {})
    members: dict[str, list[tuple[str, Verdict]]] = {}
    for answer in answers:
        for verdict in answer.verdicts:
            if verdict.verdict in {*BAD, "ok"}:
                members.setdefault(verdict.check, []).append((answer.server, verdict))
    failures: list[SharedFailure] = []
    for check, of_check in members.items():
        bad = [member for member in of_check if member[1].verdict in BAD]
        good = [member for member in of_check if member[1].verdict == "ok"]
        left = bad
        while len(left) >= _LEAST and (largest := _largest(left, good, parts, whole=left is bad)):
            part, inside = largest
            texts = tuple(f"{server} {verdict.of}".strip() for server, verdict in inside)
            failures.append(SharedFailure(check, part, texts))
            left = [member for member in left if member not in inside]
    return failures


_LEAST = 3
"""The smallest number of failures for which a common part is searched."""


def _largest(
    bad: list[tuple[str, Verdict]],
    good: list[tuple[str, Verdict]],
    parts: Mapping[str, Callable[[str, Verdict], str]],
    *,
    whole: bool,
) -> tuple[str, list[tuple[str, Verdict]]] | None:
    """Return (part of the network, failures) for the part that most failures in ``bad`` have in common; None if there is none.

    ``good`` has the results that passed; ``parts`` has the functions of ``_parts``. If ``whole`` is True, a part that has all
    failures is accepted if more results failed there than passed. Otherwise, a part may have at most one passed result for
    every four failures.
    """
    best: tuple[str, list[tuple[str, Verdict]]] | None = None
    for name, key in parts.items():
        groups: dict[str, list[tuple[str, Verdict]]] = {}
        for member in bad:
            groups.setdefault(key(*member), []).append(member)
        for group, inside in groups.items():
            if not group or len(inside) < _LEAST or (best is not None and len(inside) <= len(best[1])):
                continue
            spared = sum(key(*member) == group for member in good)
            enough = spared < len(inside) if whole and len(inside) == len(bad) else spared * 4 <= len(inside)
            if enough and (name not in _VERSIONS or spared < len(good)):
                best = (f"{name} {group}", inside)
    return best


_VERSIONS = ("NIC firmware", "BIOS")
"""The parts that all servers may have in common. Such a part explains a failure only if servers with a different version passed."""


def _parts(
    answers: Sequence[Answer],
    places: Mapping[tuple[str, str], Place],
    tables: Mapping[tuple[str, int], Place],
    racks: Mapping[str, str],
) -> dict[str, Callable[[str, Verdict], str]]:
    """Return, for each kind of part, such as ``leaf``, a function that returns the part to which a verdict on a server belongs.

    The function returns an empty text if the part is unknown. The parameters are those of ``shared``: the answers, and the
    places and racks of servers.
    """
    firmware = {
        (answer.server, verdict.of): verdict.seen.partition(" ")[0].rstrip(",")
        for answer in answers
        for verdict in answer.verdicts
        if verdict.check == "nic-firmware"
    }
    bios = {answer.server: answer.facts.get("bios", "") for answer in answers}

    def place(server: str, verdict: Verdict) -> Place:
        named = re.search(r"\btable (\d+)", verdict.seen)
        there = places.get((server, verdict.of)) or (tables.get((server, int(named[1]))) if named else None)
        return there or Place("", None)

    def rail(server: str, verdict: Verdict) -> str:
        number = place(server, verdict).rail
        return "" if number is None else str(number)

    return {
        "leaf": lambda server, verdict: place(server, verdict).leaf,
        "rail": rail,
        "color": lambda server, verdict: place(server, verdict).color,
        "server": lambda server, _: server,
        "rack": lambda server, _: racks.get(server, ""),
        "NIC firmware": lambda server, verdict: firmware.get((server, verdict.of), ""),
        "BIOS": lambda server, _: bios.get(server, ""),
    }


_MARKS = {"failed": "FAIL", "warning": "warn", NOT_SEEN: "?", "ok": "ok", "not applicable": "-"}
"""The marks of verdicts in the matrix, the worst verdict first."""


@dataclass(frozen=True, slots=True)
class VerdictGroup:
    """Equal verdicts of one check on several servers.

    ``where`` has the server and subject of each verdict. ``common`` is the part of the network, such as a leaf, that the
    check's failures have in common; empty if there is none.
    """

    verdict: str
    check: str
    where: tuple[str, ...]
    seen: str
    wanted: str
    remedy: str
    common: str = ""

    @property
    def look(self) -> str:
        """A sentence that advises the operator to look first at the part that the check's failures have in common."""
        most = "most" if self.common.endswith(")") else "all"
        return f"{most} of this check at {self.common}: look there first"


@dataclass(frozen=True)
class FleetCheckResult:
    """The results of all servers: answers, parts of the network that failures have in common, and servers that differ from similar ones.

    - ``odd``: the servers that differ from other servers of their model or kind.
    - ``subjects``: the subject of each check, by the check's id.
    - ``allowed``: ids and subjects of the checks whose values need not be readable.
    - ``addresses``: the addresses that several servers have.
    - ``generic``: True if there was no design. Then a server that differs from other servers of its kind is a failure.
    """

    network: str
    answers: tuple[Answer, ...]
    shared: tuple[SharedFailure, ...]
    odd: tuple[OddServer, ...]
    subjects: Mapping[str, str]
    allowed: frozenset[str] = frozenset()
    addresses: tuple[SharedAddress, ...] = ()
    generic: bool = False

    @property
    def silent(self) -> list[Answer]:
        """The servers that gave no verdicts."""
        return [answer for answer in self.answers if answer.error]

    @property
    def good(self) -> bool:
        """True if every server answered, no check failed, all values were read, and no two servers have the same address.

        Values of checks in ``allowed`` need not be readable. Without a design, the servers of one kind must also have the same
        values.
        """
        if self.addresses or (self.generic and self.odd):
            return False
        failures = (v for answer in self.answers for v in answer.verdicts if v.verdict == "failed")
        return not self.silent and not any(failures) and not self.unseen

    @cached_property
    def unseen(self) -> dict[str, list[str]]:
        """For each check outside ``allowed``, the servers on which its values could not be read."""
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
        """Return the result as the documented JSON object (docs/checks.md)."""
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
            "addresses": [asdict(address) for address in self.addresses],
            "generic": self.generic,
        }

    def to_text(self) -> str:
        """Return the matrix of servers and subjects as text, then each failure with its servers, their common part, and the fix."""
        lines = [*self.table.to_text(), ""]
        for finding in self.findings():
            lines += [
                f"{finding.verdict}: {finding.check}: {_first(finding.where)}",
                f"  seen {finding.seen}; wanted {finding.wanted}",
            ]
            if finding.common:
                lines.append(f"  {finding.look}")
            lines += [f"  do {finding.remedy}", ""]
        for check, servers in self.unseen.items():
            lines.append(f"{NOT_SEEN}: {check}: {_first(servers)}")
        return "\n".join([*lines, *([""] if self.unseen else []), *_odd(self), *_silent(self), self.summary()])

    def summary(self) -> str:
        """Return a summary in one sentence: numbers of servers, failures, servers without answer, and shared addresses."""
        bad = sum(any(v.verdict == "failed" for v in answer.verdicts) for answer in self.answers)
        quiet = f", {len(self.silent)} did not answer" if self.silent else ""
        twice = f", {counted(len(self.addresses), 'address', 'addresses')} on several servers" if self.addresses else ""
        unlike = {odd_server.server for odd_server in self.odd}
        twice += f", {len(unlike)} unlike the others" if self.generic and unlike else ""
        blind = f", {counted(len(self.unseen), 'check')} not seen on some" if self.unseen else ""
        return f"{counted(len(self.answers), 'server')}: {bad} with failures{quiet}{twice}{blind}"

    def findings(self) -> list[VerdictGroup]:
        """Return the failures, then the warnings. Equal verdicts of one check on several servers form one group."""
        alike: dict[tuple[str, str, str, str], list[tuple[str, Verdict]]] = {}
        for answer in self.answers:
            for check_verdict in answer.verdicts:
                if check_verdict.verdict in BAD:
                    alike.setdefault(
                        (check_verdict.verdict, check_verdict.check, check_verdict.seen, check_verdict.wanted), []
                    ).append((answer.server, check_verdict))
        common: dict[str, str] = {}
        for failure in self.shared:
            earlier = f"{common[failure.check]}, " if failure.check in common else ""
            common[failure.check] = (
                f"{earlier}{failure.what} ({len(failure.members)})" if self._several(failure.check) else failure.what
            )
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

    def _several(self, check: str) -> bool:
        """Return True if no single part of the network explains all failures of a check.

        Then the failures have several common parts, or some failures have no common part.
        """
        members = [failure.members for failure in self.shared if failure.check == check]
        return len(members) > 1 or sum(map(len, members)) < self._failures[check]

    @cached_property
    def _failures(self) -> Counter[str]:
        """The number of failures and warnings of each check."""
        return Counter(v.check for answer in self.answers for v in answer.verdicts if v.verdict in BAD)

    @property
    def table(self) -> Table:
        """A table with a row for each server and a column for each subject of checks."""
        servers = [answer.server for answer in self.answers]
        return matrix(servers, self.silent, list(dict.fromkeys(self.subjects.values())), self._cell)

    def _cell(self, server: str, subject: str) -> Cell:
        """Return the cell with a server's worst verdict on a subject of checks, and the number of such verdicts."""
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
    racks: Mapping[str, str] | None = None,
) -> FleetCheckResult:
    """Return the summary of the servers' answers.

    - ``places``: the leaf and rail of each interface, by server and interface.
    - ``models``: the model of each server, by name.
    - ``subjects``: the subject of each check, by the check's id.
    - ``tables``: the leaf, rail and color of each routing table, by server and table number.
    - ``racks``: the rack of each server, by name.
    """
    common = tuple(shared(answers, places, tables, racks))
    addresses = tuple(shared_addresses(answers))
    return FleetCheckResult(
        network, tuple(answers), common, tuple(unusual_servers(answers, models)), subjects, addresses=addresses
    )


def _odd(result: FleetCheckResult) -> list[str]:
    lines = [f"failed: {address.text}" for address in result.addresses]
    level = "failed" if result.generic else "warning"
    lines += [f"{level}: {odd_server.text}" for odd_server in result.odd]
    return [*lines, ""] if lines else []


def _first(names: Sequence[str]) -> str:
    """Return the first six names, separated by commas, and the number of further names."""
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

    - ``only``: the ids or subjects of the checks to run; empty runs all.
    - ``allow_unseen``: the ids and subjects of checks whose values need not be readable.
    - ``sudo``: run the program by ``sudo -n``.
    - ``at_once``: the number of servers to check at the same time.
    - ``say``: a function that prints a line of progress.
    """
    network, only = fleet.network, only or fleet.checks
    subjects = _subjects(only, allow_unseen)
    with in_force(network.catalog):
        configs = {name: fleet.config(name) for name in fleet.targets}
    tasks = [fleet.task(name, host_json(config)) for name, config in configs.items()]
    answers = run_checks(tasks, only=only, sudo=sudo, at_once=at_once, done=_progress(say, len(tasks)))
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
        {name: position.rack for name, position in network.positions.items()},
    )
    return replace(result, allowed=frozenset(allow_unseen))


def _subjects(only: Sequence[str], allow_unseen: Sequence[str], *, generic: bool = False) -> dict[str, str]:
    """Return the subject of each check in ``only`` (empty: of all checks), by its id. Raises ``InputError`` for an unknown name.

    The names in ``allow_unseen`` are only validated. If ``generic`` is True, checks that need a design are left out.
    """
    try:
        chosen(allow_unseen, "--allow-unseen")
        return {host_check.id: host_check.subject for host_check in chosen(only) if not (generic and host_check.design)}
    except (HostInputError, ValueError) as error:
        raise InputError([Problem(Option("fleet check"), str(error), "see docs/checks.md")]) from None


def _progress(say: Callable[[str], None], total: int) -> Callable[[Answer], None]:
    number = [0]

    def done(answer: Answer) -> None:
        number[0] += 1
        say(f"{answer.server}: {'no answer' if answer.error else 'checked'} ({number[0]} of {total})")

    return done


def compare_servers(
    tasks: Sequence[Task],
    *,
    only: Sequence[str],
    allow_unseen: Sequence[str],
    sudo: bool,
    at_once: int,
    say: Callable[[str], None],
) -> FleetCheckResult:
    """Check servers without a design, and compare them with each other. Raises ``InputError`` for an unknown check.

    ``tasks`` are the servers. The other parameters are those of ``check_servers``: the checks and how to run them.
    """
    subjects = _subjects(only, allow_unseen, generic=True)
    answers = run_checks(tasks, only=only, sudo=sudo, at_once=at_once, generic=True, done=_progress(say, len(tasks)))
    places = {
        (answer.server, netdev): Place(leaf, None) for answer in answers for netdev, leaf in answer.leaves.items()
    }
    result = checked("servers without a design", answers, places, {}, subjects)
    return replace(result, odd=tuple(unlike(answers)), allowed=frozenset(allow_unseen), generic=True)
