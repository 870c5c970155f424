"""Probes between servers. The results are available as tables, JSON and JUnit XML.

They include the parts of the network that failed probes have in common, such as a spine.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from railweave.counting import counted
from railweave.junit import document, suite, suites
from railweave.live.fleet import rdma
from railweave.live.fleet.checked import matrix, verdict_cell
from railweave.live.fleet.probes import plan as planned_probes
from railweave.live.fleet.probes import probe_file
from railweave.live.fleet.running import probe as run_probes
from railweave.model.catalog import in_force
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.live.fleet.probes import Probe
    from railweave.live.fleet.running import Fleet, Reply
    from railweave.pages.table import Cell, Table


@dataclass(frozen=True, slots=True)
class Common:
    """Failed probes that have a part of the network in common.

    ``what`` has the part, followed by other parts that explain the failures equally well. It is empty if no part
    explains the failures. In that case, ``most`` is (part, failed probes, all probes) for the part with the largest share of
    failures among the probes that cross it.
    """

    outcome: str
    what: tuple[str, ...]
    probes: tuple[Probe, ...]
    most: tuple[str, int, int] = ("", 0, 0)


def parts(probe: Probe) -> list[str]:
    """Return the names of the parts of the network that a probe crosses, such as ``NIC server1:eth0``, larger parts first."""
    color = probe.color and f"color {probe.color}"
    ends = ((probe.server, probe.nic, probe.leaf), (probe.peer, probe.peer_nic, probe.peer_leaf))
    spine = probe.spines[0] if probe.pinned and probe.spines else ""
    names = [spine, *(leaf for *_, leaf in ends), color and f"{color} of {probe.fabric}"]
    names += [spine and f"the link {leaf}--{spine}" for *_, leaf in ends]
    if not spine and probe.leaf != probe.peer_leaf:
        names += [f"the links from {leaf} upwards" for *_, leaf in ends]
        names += [color and f"the links from {leaf} upwards of {color}" for *_, leaf in ends]
    names += [color and f"{color} on {leaf}" for *_, leaf in ends]
    names += [f"server {server}" for server, *_ in ends]
    names += [f"NIC {server}:{nic}" for server, nic, _ in ends]
    names += [color and f"{color} of NIC {server}:{nic}" for server, nic, _ in ends]
    return list(dict.fromkeys(name for name in names if name))


def common(failed: Sequence[tuple[Probe, str]], good: Sequence[Probe]) -> list[Common]:
    """Return failed probes in groups. All probes of a group have the same outcome and cross the part that explains it.

    A part that a successful probe crossed cannot explain a failure. ``failed`` has the failed probes with their
    outcomes. ``good`` has the successful probes.
    """
    acquitted = Counter(part for probe in good for part in parts(probe))
    groups: list[Common] = []
    for outcome in dict.fromkeys(each for _, each in failed):
        left = [probe for probe, each in failed if each == outcome]
        everywhere: dict[str, int] = {}
        for probe in left:
            for part in parts(probe):
                everywhere[part] = everywhere.get(part, 0) + 1
        while left:
            crossing: dict[str, list[Probe]] = {}
            for probe in left:
                for part in parts(probe):
                    if part not in acquitted:
                        crossing.setdefault(part, []).append(probe)
            most = max(map(len, crossing.values()), default=0)
            if most < 2:
                groups.append(Common(outcome, (), tuple(left), _most(left, acquitted)))
                break
            # Of parts that explain as many, those that fail nowhere else: they are the smaller ones.
            fitting = [part for part, probes in crossing.items() if len(probes) == most]
            least = min(everywhere[part] for part in fitting)
            fitting = [part for part in fitting if everywhere[part] == least]
            explained = crossing[fitting[0]]
            same = tuple(part for part in fitting if crossing[part] == explained)
            groups.append(Common(outcome, same, tuple(explained)))
            done = set(map(id, explained))
            left = [probe for probe in left if id(probe) not in done]
    return groups


def _most(left: Sequence[Probe], acquitted: Counter[str]) -> tuple[str, int, int]:
    bad = Counter(part for probe in left for part in parts(probe))
    part = max(
        bad,
        key=lambda candidate: (
            bad[candidate] * bad[candidate] / (bad[candidate] + acquitted[candidate]),
            bad[candidate],
        ),
    )
    return part, bad[part], bad[part] + acquitted[part]


OK, NOT_TRIED = "ok", "not tried"
MEANINGS = {
    "size": "large packets are lost, small ones come back: an MTU on the way is too small",
    "lost": "nothing comes back",
    "refused": "the server cannot send from this address",
    "rdma": "RDMA writes are lost",
}
"""The meaning of each outcome of a probe, from ``railweave.host.probing`` and ``rdma``."""

SHOWN = 6
"""The largest number of probes of a group of failures that are listed. Further probes are only counted."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a probe.

    ``by`` is the address of the device that sent an error message about the probe. ``ms`` is the round-trip time in
    milliseconds; None if no answer came.
    """

    probe: Probe
    outcome: str
    message: str = ""
    by: str = ""
    ms: float | None = None


@dataclass(frozen=True)
class MeshResult:
    """The results of all probes.

    ``silent`` has the servers that sent no probes, with the reason. ``common`` has the failures, grouped by common
    parts of the network.
    """

    network: str
    results: tuple[Result, ...]
    silent: tuple[Reply, ...]
    common: tuple[Common, ...]
    servers: tuple[str, ...]
    rdma: str = ""
    """A sentence that names the servers that also sent RDMA probes, or gives the reason why none did."""

    @property
    def failed(self) -> list[Result]:
        """The probes that were sent, but whose answer was missing or incomplete."""
        return [result for result in self.results if result.outcome not in {OK, NOT_TRIED}]

    @property
    def untried(self) -> list[Result]:
        """The probes that could not be sent, for a reason on the server and not in the network."""
        return [result for result in self.results if result.outcome == NOT_TRIED]

    @property
    def good(self) -> bool:
        """True if every server answered, and every probe came back in full size."""
        return not (self.silent or self.failed or self.untried)

    @property
    def table(self) -> Table:
        """A table with a row for each server and a column for each path color. With several fabrics, columns name the fabric, too."""
        colors = list(dict.fromkeys(map(self._column, (result.probe for result in self.results))))
        return matrix(self.servers, self.silent, colors, self._cell)

    def _cell(self, server: str, color: str) -> Cell:
        """Return the cell with the result of a server's probes of a color, such as ``FAIL 2/16``."""
        here = self._counts.get((server, color), Counter())
        every, untried = here.total(), here[NOT_TRIED]
        if bad := every - untried - here[OK]:
            return verdict_cell(f"FAIL {bad}/{every}", "failed")
        if untried:
            return verdict_cell(f"? {untried}", "not seen")
        return verdict_cell(f"ok {every}", "ok") if every else verdict_cell("-", "not applicable")

    @cached_property
    def _counts(self) -> dict[tuple[str, str], Counter[str]]:
        """The number of probes with each outcome, by server and column of the table."""
        counts: dict[tuple[str, str], Counter[str]] = {}
        for result in self.results:
            counts.setdefault((result.probe.server, self._column(result.probe)), Counter())[result.outcome] += 1
        return counts

    @cached_property
    def _fabrics(self) -> set[str]:
        return {result.probe.fabric for result in self.results}

    def _column(self, probe: Probe) -> str:
        return (probe.color if len(self._fabrics) == 1 else f"{probe.fabric} {probe.color}".rstrip()) or probe.fabric

    @cached_property
    def _of_probe(self) -> dict[int, Result]:
        return {id(result.probe): result for result in self.results}

    def to_json(self) -> dict[str, Any]:
        """Return the result as the documented JSON object (docs/checks.md)."""
        return {
            "network": self.network,
            "good": self.good,
            "counts": {
                "probes": len(self.results),
                "ok": sum(result.outcome == OK for result in self.results),
                "failed": len(self.failed),
                "not_tried": len(self.untried),
            },
            "rdma": self.rdma,
            "silent": {
                reply.server: {"address": reply.address, "error": reply.error, "fix": reply.fix}
                for reply in self.silent
            },
            "common": [
                {
                    "outcome": group.outcome,
                    "what": list(group.what),
                    "most": {"what": group.most[0], "failed": group.most[1], "of": group.most[2]}
                    if group.most[0]
                    else None,
                    "probes": [str(each) for each in group.probes],
                }
                for group in self.common
            ],
            "probes": [
                {
                    **asdict(result.probe),
                    "outcome": result.outcome,
                    "said": result.message,
                    "by": result.by,
                    "ms": result.ms,
                }
                for result in self.results
            ],
        }

    def to_text(self) -> str:
        """Return a matrix of servers and colors, then the failures grouped by the parts that they share."""
        lines = [*self.table.to_text(), ""]
        for group in self.common:
            lines += [f"failed: {self.sentence(group)}", *(f"  {each}" for each in self.examples(group)), ""]
        for reason in dict.fromkeys(result.message for result in self.untried):
            lines += [
                f"not tried: {counted(sum(result.message == reason for result in self.untried), 'probe')}: {reason}",
                "",
            ]
        lines += [
            f"no answer: {reply.server}: {reply.error}" + (f" ({reply.fix})" if reply.fix else "")
            for reply in self.silent
        ]
        return "\n".join([*lines, *([f"RDMA: {self.rdma}"] if self.rdma else []), self.summary()])

    def summary(self) -> str:
        """Return a summary in one sentence: the numbers of probes, servers, answers, failures and silent servers."""
        quiet = f"; {counted(len(self.silent), 'server')} did not answer" if self.silent else ""
        came = sum(result.outcome == OK for result in self.results)
        return f"{counted(len(self.results), 'probe')} by {counted(len(self.servers), 'server')}: {came:,} came back whole, {len(self.failed):,} failed{quiet}"

    def sentence(self, group: Common) -> str:
        """Return a sentence that describes a group of failed probes."""
        count, meaning = len(group.probes), MEANINGS.get(group.outcome, group.outcome)
        if not group.what:
            part, bad, every = group.most
            return f"{counted(count, 'failure')} without a part that fails wholly; of {part}, {bad} of {every} probes failed: {meaning}"
        names = " or ".join((group.what[0], ", ".join(group.what[1:3]))) if group.what[1:] else group.what[0]
        others = len(self.failed) > count
        which = f"{count} failures" if others else f"all {count} failures"
        return f"{which} cross {names}, and no probe across it came back: {meaning}"

    def examples(self, group: Common) -> list[str]:
        """Return a line for each of the first ``SHOWN`` failed probes in ``group``, with the error message of the probe if there is one.

        If the group has more probes, a last line has the number of the probes that are left out.
        """
        results = [self._of_probe[id(each)] for each in group.probes[:SHOWN]]
        lines = [
            f"{each.probe} ({each.probe.source} to {each.probe.target}, {each.probe.bytes} bytes)"
            + (f": {each.message}" if each.message else "")
            + (f", said by {each.by}" if each.by else "")
            for each in results
        ]
        return [*lines, *([f"and {len(group.probes) - SHOWN} more"] if len(group.probes) > SHOWN else [])]

    def to_html(self) -> str:
        """Return the result as a page."""
        from railweave.live.fleet.page import page

        return page(self)

    def to_junit(self) -> str:
        """Return JUnit XML with a suite for each server and a test case for each of its probes."""
        quiet = {reply.server: reply for reply in self.silent}
        by_server: dict[str, list[ET.Element]] = {}
        for result in self.results:
            by_server.setdefault(result.probe.server, []).append(_case(result))
        for server, reply in quiet.items():
            by_server[server] = [ET.Element("testcase", classname=server, name="answers")]
            ET.SubElement(by_server[server][0], "error", message=reply.error)
        return document(suites(self.network, (suite(server, by_server.get(server, [])) for server in self.servers)))


def rdma_programs(replies: Sequence[Reply]) -> dict[str, str]:
    """Return the path of ``railweave-rdma-ping`` on each server that has the program and RDMA devices."""
    programs: dict[str, str] = {}
    for reply in replies:
        try:
            programs[reply.server] = str(parse_json(reply.text)["rdma_ping"])
        except Exception:  # noqa: BLE001, S112 - whatever one server prints, the others are used
            continue
    return {server: program for server, program in programs.items() if program}


def meshed(
    network: str,
    probes: Mapping[str, Sequence[Probe]],
    replies: Sequence[Reply],
    by_rdma: Sequence[tuple[Probe, str]] = (),
    rdma: str = "",
) -> MeshResult:
    """Return the summary of the servers' replies.

    - ``probes``: the probes of each server, in the order in which it sent them.
    - ``by_rdma``: the paths that were tried by RDMA, each with its error (empty if it worked).
    - ``rdma``: a sentence about the RDMA probes as a whole.
    """
    results: list[Result] = []
    silent: list[Reply] = []
    for reply in replies:
        given = probes[reply.server]
        try:
            reply_results = [] if reply.error else _read(reply.text, given)
        except Exception:  # noqa: BLE001 - whatever one server prints, the others are read
            reply.error, reply_results = "it did not print what came of its probes", []
        if reply.error:
            silent.append(reply)
        results += reply_results
    results += [Result(probe, "rdma" if wrong else OK, wrong) for probe, wrong in by_rdma]
    failed = [(result.probe, result.outcome) for result in results if result.outcome not in {OK, NOT_TRIED}]
    shared = common(failed, [result.probe for result in results if result.outcome == OK])
    return MeshResult(
        network, tuple(results), tuple(silent), tuple(shared), tuple(reply.server for reply in replies), rdma
    )


def _read(text: str, given: Sequence[Probe]) -> list[Result]:
    rows = parse_json(text)["probes"]
    if len(rows) != len(given):
        raise ValueError
    return [
        Result(
            probe,
            str(row["outcome"]) if row["outcome"] in {OK, NOT_TRIED, *MEANINGS} else "lost",
            str(row["said"]),
            str(row["by"]),
            None if row["ms"] is None else float(row["ms"]),
        )
        for probe, row in zip(given, rows, strict=True)
    ]


def _case(result: Result) -> ET.Element:
    case = ET.Element("testcase", classname=result.probe.server, name=str(result.probe))
    if result.outcome == NOT_TRIED:
        ET.SubElement(case, "skipped", message=result.message)
    elif result.outcome != OK:
        failure = ET.SubElement(
            case, "failure", type=result.outcome, message=result.message or MEANINGS[result.outcome]
        )
        failure.text = f"{result.probe.source} to {result.probe.target}; crosses {', '.join(parts(result.probe))}"
    return case


def mesh_servers(fleet: Fleet, *, sudo: bool, at_once: int, say: Callable[[str], None]) -> MeshResult:
    """Let servers send packets to each other on every path color, and summarize the results.

    ``sudo`` runs the program by ``sudo -n``. ``at_once`` servers send at a time. ``say`` prints a line of progress.
    """
    network, names = fleet.network, list(fleet.targets)
    with in_force(network.catalog):
        probes = planned_probes(network, names)
    by_server: dict[str, list[Probe]] = {name: [] for name in names}
    for planned_probe in probes:
        by_server[planned_probe.server].append(planned_probe)
    tasks = [fleet.task(name, probe_file(given)) for name, given in by_server.items() if given]
    number = [0]

    def done(reply: Reply) -> None:
        number[0] += 1
        say(f"{reply.server}: {'no answer' if reply.error else 'probed'} ({number[0]} of {len(tasks)})")

    replies = run_probes(tasks, sudo=sudo, at_once=at_once, done=done)
    able = rdma_programs(replies) if fleet.rdma else {}
    asked = rdma.pairs(probes, able)
    paths: list[tuple[Probe, str]] = []
    untried: list[str] = []
    if len(able) < len(names):
        untried.append(
            f"no RDMA device, or no railweave-rdma-ping, on {len(names) - len(able)} of {len(names)} servers"
        )
    for output in rdma.ping(
        asked,
        fleet.targets,
        able,
        at_once=at_once,
        done=lambda output: say(f"{output.pair.server} to {output.pair.peer}: RDMA tried"),
    ):
        try:
            paths += rdma.read(network, output)
        except ValueError as error:
            untried.append(f"{output.pair.server} to {output.pair.peer}: {error}")
    summary = f"{len(paths):,} paths tried" if paths else "not tried"
    return meshed(network.name, by_server, replies, paths, "; ".join([summary, *untried[:4]]))
