"""The comparison of a network's design with a capture of the running network: findings, a punch list for technicians, and JUnit XML."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from railweave.analysis.expect import expected
from railweave.analysis.expect.hosts import expected_host
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.counting import counted
from railweave.errors import FileLine, InputError, Option, Problem
from railweave.json_values import JsonObject
from railweave.junit import document, suite, suites
from railweave.live.check import cabling, counters, identity, servers
from railweave.live.check import ports as of_ports
from railweave.live.check.counters import ORDER, STATES
from railweave.live.check.counting import SubjectCount, compared, not_asked, summary
from railweave.live.check.identity import (
    NOT_ASKED,
    SILENT,
    captured_configurations,
    compared_configurations,
    configuration_parts,
    rerouted_by,
)
from railweave.live.check.living import EVERYTHING, NetworkStates, Visibility
from railweave.live.check.servers import RETRANSMITTED
from railweave.live.check.sessions import color_table
from railweave.live.check.subjects import SUBJECTS
from railweave.live.collect.plan import asks_tables, questions
from railweave.model.device.build import device_config
from railweave.model.findings.registry import Rule, rules_of
from railweave.model.intent.reading.source import FieldSource
from railweave.model.state.host_state import HOST, read_hosts
from railweave.pages.table import Cell, Column, Table
from railweave.systems.reading import read_states

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.intent.reading.source import Field
    from railweave.model.network.model import Network
    from railweave.model.state.capture import Capture
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.question import Question


HANDS = (
    cabling.SWAPPED,
    cabling.WRONG,
    cabling.MISSING,
    of_ports.ABSENT,
    of_ports.DOWN,
    of_ports.NO_OPTIC,
    of_ports.OPTIC,
    of_ports.DARK,
    servers.DOWN,
    counters.ERRORS,
    counters.FLAPS,
    identity.SILENT,
    identity.MODEL,
    identity.SERIAL,
)
"""The rules whose findings require a technician at the device."""


@dataclass(frozen=True, slots=True)
class Task(JsonObject):
    """One task of the punch list for technicians.

    ``rack`` is empty if the fabric file has no rack for the device; ``unit`` is the rack unit. ``port`` is empty if the task is
    about the whole device. ``do`` is the instruction, and ``because`` the fault.
    """

    rack: str
    unit: int
    device: str
    port: str
    do: str
    because: str


TASK_COLUMNS = (
    Column("Done", key="done"),
    Column("Device", "mono", "device"),
    Column("Port", "mono", "port"),
    Column("What to do", key="do"),
    Column("Why", key="because"),
)


def punch_list(network: Network, findings: Sequence[Finding]) -> list[Task]:
    """Return the tasks for technicians, sorted by rack, device and port.

    A finding that another finding explains is left out, because it disappears with its cause.
    """
    hands = {rule.id for rule in HANDS}
    devices = {node.name: place for place, node in enumerate((*network.switches, *network.servers))}
    ends = (end for cable in network.cables for end in (cable.a, cable.b))
    ports = {(end.device, end.port): place for place, end in enumerate(ends)}
    tasks: list[Task] = []
    for finding in findings:
        if finding.id in hands and finding.severity != "info":
            device, _, port = finding.where.partition(" ")
            place = network.positions.get(device)
            tasks.append(
                Task(place.rack if place else "", place.unit if place else 0, device, port, finding.fix, finding.what)
            )

    def key(task: Task) -> tuple[str, int, int, int]:
        # By the first of two ports that one line names; what is about the whole device comes first.
        port = ports.get((task.device, task.port.partition(" ")[0]), -1)
        return task.rack, -task.unit, devices.get(task.device, len(devices)), port

    return sorted(tasks, key=key)


UNKNOWN = Rule(
    "capture-device-unknown",
    "warning",
    "living",
    "The capture has answers of a device that is not in the design.",
    why="the answers were not compared with anything",
    fix="rename the device's folder in the capture to its name in the design, or check against the fabric file "
    "that has this device",
)


@dataclass(frozen=True)
class CheckResult(JsonObject):
    """The result of a check.

    - ``devices``: the devices that should answer. ``answered``: the devices that did answer.
    - ``rules``: the ids of the rules that were applied.
    - ``since``: True if counters were compared with those of an earlier capture.
    - ``counts``: the numbers of expected and seen objects on each device, by subject: a kind of state, such as ports.
    - ``systems``: the operating system that each switch runs.
    - ``not_asked``: by operating system, the subjects that no query asks for, with the reason. They are not expected.
    - ``only_counted``: the number of routes that were not compared one by one, because the tables are large.
    - ``colors``: the path marks (communities and AIGP) of example prefixes on each spine (``sessions.color_table``).
      The table has no rows if the fabric has no path colors.
    """

    JSON = (
        "good",
        "devices=#devices",
        "answered=#answered",
        "silent",
        "since",
        "rules",
        "subjects=subject_rows",
        "path_colors",
        "unseen=unseen_rows",
        "not_asked",
        "only_counted",
        "servers_not_asked",
        "findings",
        "punch_list=tasks",
    )

    network: Network
    findings: list[Finding]
    devices: tuple[str, ...]
    answered: frozenset[str]
    rules: tuple[str, ...]
    since: bool
    counts: list[SubjectCount]
    systems: dict[str, str]
    not_asked: dict[str, dict[str, str]]
    only_counted: int = 0
    colors: Table = field(default_factory=lambda: Table((), ()))

    @property
    def subjects(self) -> Table:
        """The table of subjects (kinds of state, such as ports): how many objects were expected, right, wrong and not seen."""
        return summary(self.counts)

    @property
    def path_colors(self) -> list[dict[str, object]]:
        """The rows of ``colors``, for JSON."""
        return self.colors.to_json()

    @property
    def subject_rows(self) -> list[dict[str, object]]:
        """The rows of ``subjects``, for JSON."""
        return self.subjects.to_json()

    @property
    def unseen_rows(self) -> list[SubjectCount]:
        """The counts of those subjects (kinds of state) of which some objects were not seen, for JSON."""
        return [row for row in self.counts if row.not_seen]

    @property
    def totals(self) -> dict[str, int]:
        """The numbers of expected, right, wrong and unseen objects in total, of devices, and of devices that answered."""
        totals = {
            key: sum(getattr(row, key) for row in self.counts) for key in ("expected", "right", "wrong", "not_seen")
        }
        return totals | {"devices": len(self.devices), "devices_answered": len(self.answered)}

    @property
    def seen(self) -> str:
        """A phrase such as ``90 of 96 expected states seen``, with the numbers of routes only counted and of servers not queried."""
        expected = sum(row.expected for row in self.counts)
        missing = sum(row.not_seen for row in self.counts)
        by_number = (
            f", {counted(self.only_counted, 'route')} by number only (`--all-routes`)" if self.only_counted else ""
        )
        unasked = self.servers_not_asked
        servers = f", {counted(unasked, 'server')} not asked (`--servers`)" if unasked else ""
        return f"{expected - missing:,} of {counted(expected, 'expected state')} seen{by_number}{servers}"

    @property
    def servers_not_asked(self) -> int:
        """The number of servers that are present in the design and were not queried."""
        known = self.network.absent.union(self.devices)
        return sum(server.name not in known for server in self.network.servers)

    @property
    def good(self) -> bool:
        """True if no finding is an error. Objects that a device does not show are an error, too.

        Objects of the subjects (kinds of state) in ``Criteria.allow_unseen`` are excepted.
        """
        return all(finding.severity != "error" for finding in self.findings)

    @property
    def tasks(self) -> list[Task]:
        """The punch list: the tasks of a technician, sorted by rack and port."""
        return punch_list(self.network, self.findings)

    @property
    def task_table(self) -> Table:
        """The punch list as a table with checkboxes, rack by rack. It has no rack column if no task has a rack."""
        tasks = self.tasks
        racks = (Column("Rack", key="rack"),) if any(task.rack for task in tasks) else ()
        rows = [
            (
                Cell(False, "[ ]", markup="☐"),
                *((task.rack,) if racks else ()),
                *(task.device, task.port, task.do, task.because),
            )
            for task in tasks
        ]
        return Table((TASK_COLUMNS[0], *racks, *TASK_COLUMNS[1:]), rows)

    @property
    def table(self) -> Table:
        """The table of findings, one per row."""
        from railweave.outputs.report.living import findings_table

        return findings_table(self.findings)

    def to_html(self) -> str:
        """Return a page that marks the faults on a drawing of the network."""
        from railweave.outputs.report.living import living_html

        return living_html(
            self.network,
            self.findings,
            self.task_table,
            (self.subjects, self.colors),
            len(self.devices),
            len(self.answered),
        )

    def to_junit(self) -> str:
        """Return JUnit XML with one test case for each device and rule. Errors and warnings fail a case.

        A case is skipped if its findings follow from a cause reported elsewhere, or if nothing that the rule is about was seen.
        """
        by_case: dict[tuple[str, str], list[Finding]] = {}
        for finding in self.findings:
            by_case.setdefault((finding.where.partition(" ")[0], finding.id), []).append(finding)
        devices = list(dict.fromkeys([*self.devices, *(device for device, _ in by_case)]))
        return document(
            suites(
                self.network.name,
                (
                    suite(
                        device,
                        (
                            _case(device, rule, by_case.get((device, rule), []), self._unseen_why(device, rule))
                            for rule in self.rules
                        ),
                    )
                    for device in devices
                ),
            )
        )

    def _unseen_why(self, device: str, rule: str) -> str:
        """Return the reason why a rule could not be applied to a device; empty if it was applied to at least one object."""
        if device not in self.answered:
            return "" if rule == SILENT.id else "the device did not answer"
        return self._blind.get((device, rule), "")

    @cached_property
    def _blind(self) -> dict[tuple[str, str], str]:
        """The reasons why rules could not be applied, by device and rule: the device did not show the values that the rule compares."""
        why = {
            (row.device, rule.id): f"not seen: {SUBJECTS[row.subject].text}"
            for row in self.counts
            if row.not_seen == row.expected
            for rule in SUBJECTS[row.subject].rules
        }
        for device in self.answered:
            for subject, reason in self.not_asked.get(self.systems.get(device, ""), {}).items():
                why |= {(device, rule.id): f"not asked: {reason}" for rule in SUBJECTS[subject].rules}
        return why

    @property
    def silent(self) -> list[str]:
        """The devices that should have answered but did not."""
        return [device for device in self.devices if device not in self.answered]


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """The criteria of a check.

    - ``before``: an earlier capture, to compare counters with.
    - ``only``: ids of the rules to apply; empty applies all.
    - ``all_routes``: True to compare every route. False compares only example routes and the number of routes if a table is large
      (``analysis.expect.prefixes.whole_tables``).
    - ``allow_unseen``: the names of subjects (kinds of state, such as ``ports``) that devices need not show.
    - ``line``: a function that takes fields of the fabric file in order of preference, and returns the first field that the file has, with
      its line.
    """

    before: Capture | None = None
    only: Sequence[str] = ()
    all_routes: bool = False
    allow_unseen: Sequence[str] = ()
    line: Callable[[Sequence[Field]], FieldSource] = lambda _: FieldSource()


USUAL = Criteria()
"""The criteria of a check without options."""


def check(
    network: Network,
    capture: Capture,
    criteria: Criteria = USUAL,
    *,
    configs: Mapping[str, DeviceConfig] | None = None,
    devices: Collection[str] | None = None,
    visible: Visibility = EVERYTHING,
    progress: Callable[[str], None],
) -> CheckResult:
    """Compare the states of devices in a capture with the design. Devices that ``status:`` marks absent are left out.

    Servers are expected to answer only if they were queried.

    - ``configs``: the configurations that switches run, if not the designed ones.
    - ``devices``: the devices to compare; None compares all.
    - ``progress``: a function that is called with a phrase at each step, such as ``reading the capture``.
    - ``visible``: the states that the network can show. A lab, for example, has no port speeds.

    Raises ``InputError`` if an id in ``only`` or a name in ``allow_unseen`` is unknown, or if the capture contains none of the network's
    devices.
    """
    before = criteria.before
    rules = _rules(criteria.only, since=before is not None)
    _check_subjects(criteria.allow_unseen)
    progress("reading the capture")
    configs = configs or {switch.name: device_config(network, switch.name) for switch in network.switches}
    systems = {name: config.nos for name, config in configs.items()}
    states = {name: visible.switch(state) for name, state in read(network, capture, systems).items()}
    progress("working out what must hold")
    routes = ControlPlane(configs.values(), network.absent).routes()
    wanted = {
        name: expected(network, config, routes, all_routes=criteria.all_routes or asks_tables(network, config))
        for name, config in configs.items()
        if name not in network.absent and (devices is None or name in devices)
    }
    hosts = {name: visible.server(host) for name, host in read_hosts(capture, _servers(network)).items()}
    asked = [name for name in _servers(network) if name in hosts or name in capture.meta.devices]
    answered = {*states, *hosts}
    here = {name: configs[name] for name in wanted}
    running = captured_configurations(capture, here)
    earlier = captured_configurations(before, here) if before is not None else {}
    checks, moved = compared_configurations(running, earlier, here)
    living = NetworkStates(
        network,
        wanted,
        states,
        {name: visible.switch(state) for name, state in read(network, before, systems).items()}
        if before is not None
        else {},
        {name: why for name in (*wanted, *asked) if name not in answered and (why := _why(capture, name))},
        {name: dict(entry.failed) for name, entry in capture.meta.devices.items() if name in answered and entry.failed},
        {
            name: state_questions(network, configs[name], tables=criteria.all_routes or None)
            for name in wanted
            if name in states
        },
        {name: expected_host(network, name) for name in asked},
        hosts,
        read_hosts(before, _servers(network)) if before is not None else {},
        checks,
        moved,
        rerouted_by(configs, checks, routes, network.absent),
        {
            name: configuration_parts(configuration_questions(network, configs[name]), running.get(name, ()))
            for name in wanted
            if name in states
        },
    )
    devices_compared = (*wanted, *asked)
    progress(f"comparing {counted(len(devices_compared), 'device')}")
    left_out = not_asked(sorted({*systems.values()}), visible)
    findings, rows = compared(living, left_out, criteria.allow_unseen, criteria.line)
    findings += _unknown(network, capture)
    return CheckResult(
        network,
        [finding for finding in findings if finding.id in rules],
        devices_compared,
        frozenset(answered.intersection(devices_compared)),
        rules,
        before is not None,
        rows,
        systems,
        {nos: subjects for nos, subjects in left_out.items() if nos and subjects},
        sum(
            sum((each.route_counts or {}).values()) - len(each.routes)
            for each, _ in living.pairs()
            if each.route_counts
        ),
        color_table(living),
    )


def _check_subjects(names: Sequence[str]) -> None:
    """Raise ``InputError`` if a name is not the name of a subject (a kind of state, such as ``ports``)."""
    fix = f"subjects: {', '.join(SUBJECTS)}"
    problems = [
        Problem(Option("--allow-unseen", name), "there is no such subject", fix)
        for name in names
        if name not in SUBJECTS
    ]
    if problems:
        raise InputError(problems)


def state_questions(network: Network, config: DeviceConfig, *, tables: bool | None = None) -> tuple[Question, ...]:
    """Return the queries to a switch about its state, without those about its configuration.

    ``tables`` is True to query whole routing tables, False not to; None decides by their size (``collect.plan.asks_tables``).
    """
    asked = questions(network, config, tables=tables)
    return tuple(question for question in asked if not question.of_configuration)


def configuration_questions(network: Network, config: DeviceConfig) -> list[str]:
    """Return the names of the queries that together read a switch's running configuration."""
    return [question.name for question in questions(network, config) if question.of_configuration]


def _servers(network: Network) -> list[str]:
    """Return the names of the servers that are not marked absent."""
    return [server.name for server in network.servers if server.name not in network.absent]


def read(network: Network, capture: Capture, systems: Mapping[str, str] | None = None) -> dict[str, DeviceState]:
    """Return the state of every switch, by name. Switches without a readable answer about their state are left out.

    ``systems`` has the operating system of each switch; by default, the designed systems. Raises ``InputError`` if the
    capture contains neither an answer of a switch or server, nor a record that a device was queried.
    """
    states = read_states(capture, systems or {switch.name: switch.nos for switch in network.switches})
    states = {name: state for name, state in states.items() if _said_something(state)}
    known = [device.name for device in (*network.switches, *network.servers)]
    answered = any(HOST.name in capture.answers.get(server.name, {}) for server in network.servers)
    if not states and not answered and not any(name in capture.meta.devices for name in known):
        message = "it has no answer of any switch of this network about its state"
        fix = "collect them: `railweave collect FABRIC -o CAPTURE`; what to ask by hand: `railweave collect FABRIC --questions`"
        raise InputError([Problem(FileLine(str(capture.folder)), message, fix)])
    return states


def _said_something(state: DeviceState) -> bool:
    """Return True if at least one of a device's answers about its state could be read.

    A capture with only configurations has no such answer.
    """
    about = {"device", "system", "answered", "notes"}
    return bool(state.notes) or any(
        getattr(state, field.name) is not None for field in fields(state) if field.name not in about
    )


def _why(capture: Capture, device: str) -> str:
    """Return the reason why a device has no state; empty if the capture gives no reason."""
    asked = capture.meta.devices.get(device)
    if asked is not None:
        return asked.error or next((f"{name}: {why}" for name, why in asked.failed.items()), "")
    if capture.meta.devices:
        return NOT_ASKED
    return "the capture has its configuration alone" if device in capture.devices else "the capture has nothing of it"


def _unknown(network: Network, capture: Capture) -> Iterator[Finding]:
    known = {device.name for device in (*network.switches, *network.servers)}
    for name in capture.devices:
        if name not in known:
            yield UNKNOWN.finding(name, f"the design has no device {name}", file=str(capture.folder))


def _rules(only: Sequence[str], *, since: bool) -> tuple[str, ...]:
    """Return the ids of the rules to apply, in the order of their modules. Raises ``InputError`` for an unknown id.

    ``only`` has the ids to keep; empty keeps all. Rules that compare counters need an earlier capture, so they are included only if
    ``since`` is True.
    """
    rules = {id_: rule for id_, rule in rules_of("railweave.live.check").items() if rule.applies == "living"}
    unknown = [rule_id for rule_id in only if rule_id not in rules]
    if unknown:
        fix = "ids are those of docs/findings.md, under `Running network`"
        raise InputError([Problem(Option("--only", rule_id), "there is no such finding", fix) for rule_id in unknown])
    counted = set[str]() if since else {rule.id for rule in (*ORDER, RETRANSMITTED) if rule not in STATES}
    return tuple(id_ for id_ in rules if (not only or id_ in only) and id_ not in counted)


def _case(device: str, rule: str, findings: list[Finding], unseen: str) -> ET.Element:
    case = ET.Element("testcase", classname=device, name=rule)
    bad = [finding for finding in findings if finding.severity != "info"]
    if bad:
        failure = ET.SubElement(case, "failure", type=bad[0].severity, message=bad[0].what)
        failure.text = "\n".join(_text(finding) for finding in bad)
    elif findings:
        ET.SubElement(case, "skipped", message=f"{findings[0].what}; {findings[0].why}")
    elif unseen:
        ET.SubElement(case, "skipped", message=unseen)
    return case


def _text(finding: Finding) -> str:
    place = f" ({finding.place})" if finding.place else ""
    return f"{finding.where}: {finding.what}{place}\n    {finding.why}\n    -> {finding.fix}"
