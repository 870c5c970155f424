"""The checks of a running network, applied to the latest streamed and queried states."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.analysis.checks.devices import saved
from railweave.analysis.expect import expected
from railweave.analysis.expect.hosts import expected_host
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.live.check.check import configuration_questions, state_questions
from railweave.live.check.counting import COLUMNS, compared, not_asked, summary
from railweave.live.check.flapping import Flapping
from railweave.live.check.identity import MOVED, NOT_ASKED, SILENT, changed_lines, rerouted_by
from railweave.live.check.living import EVERYTHING, Deviation, NetworkStates, Visibility, asked_by
from railweave.live.check.subjects import SERVER, SUBJECTS
from railweave.live.collect.plan import asks_tables
from railweave.live.reach.failure import cause
from railweave.model.findings.registry import Rule
from railweave.model.intent.reading.source import FieldSource
from railweave.model.state.device_state import DeviceState
from railweave.operations.watch import storms
from railweave.operations.watch.grey.search import GreyFailures
from railweave.operations.watch.measured import state_of
from railweave.pages.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from railweave.analysis.checks.devices import DeviceCheck
    from railweave.live.check.counting import SubjectCount
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.intent.reading.source import Field
    from railweave.model.network.model import Network
    from railweave.model.state.host_state import HostState
    from railweave.operations.watch.collector import WatchedDevice
    from railweave.operations.watch.stream import Round

_OF_SERVERS = {subject.name for subject in SERVER}
BEHIND_S = 5.0
"""The largest clock difference in seconds that the transit time of notifications can explain."""

CLOCK = Rule(
    "clock-differs",
    "warning",
    "living",
    "The clock of a device differs from that of the machine that watches it.",
    why="events of different devices cannot be put in order, and valid certificates may be rejected",
    fix="check the time servers of both; `railweave check` reports whether the device is synchronized",
    asked=("management.ntp",),
)
NOT_COMPARED = Rule(
    "not-compared",
    "error",
    "living",
    "The state that devices report could not be compared with the design.",
    why="until this is fixed, the state of the network is unknown",
    fix=(
        "report a bug of railweave, with a capture (`railweave collect`); `railweave check` on this capture names "
        "the device"
    ),
    asked=("role.nos",),
)


@dataclass(frozen=True, slots=True)
class NetworkSnapshot:
    """The known state of the network at one time.

    - ``silent``: the devices that do not answer, with the reason.
    - ``unanswered``: for each device, the queries that it did not answer, with the reason.
    - ``pauses``: received PFC frames per second, by device and port.
    - ``behind``: the seconds by which the clock of each device is behind this machine's.
    - ``configurations``: the running configuration of each device, by query, without secrets.
    """

    time: float
    states: Mapping[str, DeviceState]
    silent: Mapping[str, str]
    unanswered: Mapping[str, Mapping[str, str]]
    pauses: Mapping[tuple[str, str], float]
    behind: Mapping[str, float]
    hosts: Mapping[str, HostState] = field(default_factory=dict[str, "HostState"])
    configurations: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, "Mapping[str, str]"])


def look(
    devices: Iterable[WatchedDevice], rates: Mapping[str, Round], now: float, *, late: bool = False
) -> NetworkSnapshot:
    """Return the known state of the devices at the time ``now``. Never raises an error. ``rates`` has the last numbers of each device.

    A device from which neither an answer nor an error has come yet is left out; with ``late`` it is silent.
    """
    states: dict[str, DeviceState] = {}
    silent: dict[str, str] = {}
    unanswered: dict[str, Mapping[str, str]] = {}
    behind: dict[str, float] = {}
    pauses: dict[tuple[str, str], float] = {}
    hosts: dict[str, HostState] = {}
    configurations: dict[str, Mapping[str, str]] = {}
    for device in devices:
        if not device.reached.up:
            if device.reached.tries or late:
                silent[device.name] = device.reached.why
            continue
        if device.system:
            base = device.asked or DeviceState(device.name, device.system)
            try:
                states[device.name] = state_of(base, device.stream.last()) if device.streams else base
            except Exception as error:  # noqa: BLE001 - whatever one device says, the others are looked at
                silent[device.name] = f"the answer cannot be read: {cause(error)}"
                continue
            if device.configuration:
                configurations[device.name] = device.configuration
        elif device.host is not None:
            hosts[device.name] = device.host
        if (device.asked or device.host) is not None and device.sources[-1].reached.refused:
            unanswered[device.name] = dict(device.sources[-1].reached.refused)
        if mute := [each.reached for each in device.others if each.reached.tries and not each.reached.up]:
            unanswered[device.name] = {**unanswered.get(device.name, {}), "snmp": mute[0].why}
        if device.streams and device.stream.behind_s is not None:
            behind[device.name] = device.stream.behind_s
        if device.name in rates:
            for port, rate in _paused(device, rates[device.name]):
                at = device.name, port
                pauses[at] = max(pauses.get(at, 0.0), rate)
    return NetworkSnapshot(now, states, silent, unanswered, pauses, behind, hosts, configurations)


def _paused(device: WatchedDevice, rates: Round) -> Iterator[tuple[str, float]]:
    wanted = set(device.stream.layout.of_metric("pfc_received"))
    if wanted:
        for place, rate in zip(map(int, rates.places), map(float, rates.numbers), strict=True):
            if place in wanted and rate > 0:
                yield device.stream.layout.series[place].port, rate


class Validator:
    """The checks of a network, with its expected state, which is computed once.

    - ``window_s``: the time in seconds over which counters are compared.
    - ``configs``: the configurations that the switches run.
    - ``visible``: the kinds of state that the devices can show.
    - ``line``: a function that takes fields of the fabric file. It returns the first of them that the file has, with the line number.
    - ``devices``: the devices to compare; None means all.
    - ``servers``: the servers that are watched.
    """

    def __init__(
        self,
        network: Network,
        configs: Mapping[str, DeviceConfig],
        *,
        window_s: float,
        devices: Collection[str] | None = None,
        servers: Collection[str] = (),
        visible: Visibility = EVERYTHING,
        line: Callable[[Sequence[Field]], FieldSource] = lambda _: FieldSource(),
    ) -> None:
        self.network = network
        self.routes = ControlPlane(configs.values(), network.absent).routes()
        self.expected = {
            name: expected(network, config, self.routes, all_routes=asks_tables(network, config))
            for name, config in configs.items()
            if name not in network.absent and (devices is None or name in devices)
        }
        self.servers = {name: expected_host(network, name) for name in servers if name not in network.absent}
        self._window_s = window_s
        self._visible = visible
        self._not_asked = not_asked(sorted({configs[name].nos for name in self.expected}), visible)
        self._unasked = self._reasons()
        self._questions = {name: state_questions(network, configs[name]) for name in self.expected}
        self._parts = {name: configuration_questions(network, configs[name]) for name in self.expected}
        self._line = line
        self.seen = self._table(())
        """The table of subjects from the last comparison: how many objects of each subject were expected, right, wrong and not seen.

        A subject that is not asked has the reason in the last column.
        """
        self.grey = GreyFailures(network, self.expected, window_s)
        """The search for grey failures; ``grey.counts`` has the numbers of ports that were compared and not compared."""
        self._earlier: deque[NetworkSnapshot] = deque()
        self._flapping = Flapping()
        self._commits: dict[str, float] = {}
        self._configs = configs
        self._running: dict[str, Mapping[str, str]] = {}
        """The running configuration of each device as it was first read, or as it was after the device's last deploy."""
        self._checks: dict[str, tuple[Mapping[str, str], DeviceCheck]] = {}
        """For each device, the last running configuration that was compared with the design, and the result of the comparison."""
        self._rerouted: tuple[dict[str, DeviceCheck], Callable[[str, str], bool] | None] | None = None
        """The configurations that differ from the design, and the result of ``rerouted_by`` for them. Computing it takes seconds."""

    def findings(self, now: NetworkSnapshot, *, deployed: Collection[str] = ()) -> list[Finding]:
        """Return the findings about the state ``now``, with the most severe first. Never raises an error.

        ``deployed`` has the devices that ``deploy`` is working on, or was until recently. A device whose answers cannot
        be compared counts as not answering.
        """
        try:
            return self._compared(now, deployed)
        except Exception as error:  # noqa: BLE001 - whatever one device says, the others are compared
            why = cause(error)
        self._earlier.clear()
        odd = {name: why for name in (*now.states, *now.hosts) if (why := self._odd(now, name))}
        rest = replace(
            now,
            states={name: state for name, state in now.states.items() if name not in odd},
            hosts={name: host for name, host in now.hosts.items() if name not in odd},
            silent={**now.silent, **odd},
        )
        self._earlier.clear()
        self.seen = self._table(())
        try:
            return self._compared(rest, deployed)
        except Exception as error:  # noqa: BLE001 - the watch goes on, and says that it sees nothing
            return [NOT_COMPARED.finding(self.network.name, f"nothing could be compared: {cause(error)}, after {why}")]

    def _odd(self, now: NetworkSnapshot, name: str) -> str:
        """Return the reason why a device's state in ``now`` cannot be compared with the design; empty if it can be compared."""
        states = {name: now.states[name]} if name in now.states else {}
        hosts = {name: now.hosts[name]} if name in now.hosts else {}
        try:
            self._compared(NetworkSnapshot(now.time, states, {}, {}, {}, {}, hosts), ())
        except Exception as error:  # noqa: BLE001 - that is what is asked
            return f"its state cannot be compared with the design: {cause(error)}"
        finally:
            self._earlier.clear()
        return ""

    def _compared(self, now: NetworkSnapshot, deployed: Collection[str]) -> list[Finding]:
        states = {name: self._visible.switch(state) for name, state in now.states.items() if name in self.expected}
        while len(self._earlier) > 1 and self._earlier[1].time <= now.time - self._window_s:
            self._earlier.popleft()
        before: Mapping[str, DeviceState] = self._earlier[0].states if self._earlier else {}
        hosts_before: Mapping[str, HostState] = self._earlier[0].hosts if self._earlier else {}
        hosts = {name: self._visible.server(host) for name, host in now.hosts.items() if name in self.servers}
        # What belongs to whom follows from all devices. Those that were not tried yet are in the design, and are no finding.
        untried = [name for name in (*self.expected, *self.servers) if not self._tried(now, name)]
        whole = {
            name: texts
            for name, texts in now.configurations.items()
            if name in states and all(part in texts for part in self._parts[name])
        }
        checks = {name: self._check(name, texts) for name, texts in whole.items()}
        living = NetworkStates(
            self.network,
            self.expected,
            states,
            {name: self._visible.switch(state) for name, state in before.items() if name in states},
            {name: why for name, why in now.silent.items() if name in self.expected or name in self.servers}
            | dict.fromkeys(untried, NOT_ASKED),
            {name: dict(reasons) for name, reasons in now.unanswered.items()},
            {name: self._questions[name] for name in states},
            self.servers,
            hosts,
            {name: host for name, host in hosts_before.items() if name in hosts},
            checks,
            {name: lines for name, texts in whole.items() if (lines := self._changed(name, texts, deployed))},
            self._rerouted_by(checks),
            {name: {part: part in now.configurations.get(name, ()) for part in self._parts[name]} for name in states},
        )
        self._earlier.append(now)
        more = [
            *storms.seen(self.expected, now.pauses),
            *self.grey.seen(now.time, states),
            *self._clocks(now),
            *self._moved(now, deployed),
        ]
        flaps = list(self._flapping.seen(now.time, living.expected, states))
        findings, rows = compared(living, self._not_asked, line=self._line, more=flaps)
        self.seen = self._table(rows)
        asked = [each for each in findings if each.id != SILENT.id or each.where not in untried]
        return [*asked, *(self._finding(living, seen) for seen in more)]

    @staticmethod
    def _tried(now: NetworkSnapshot, name: str) -> bool:
        return name in now.states or name in now.hosts or name in now.silent

    def _reasons(self) -> dict[str, str]:
        """Return the subjects that are not asked on some or all watched devices, each with the reason."""
        systems = [nos for nos in self._not_asked if nos]
        reasons: dict[str, dict[str, list[str]]] = {}
        for nos in systems:
            for subject, why in self._not_asked[nos].items():
                reasons.setdefault(subject, {}).setdefault(why, []).append(nos)
        unasked = {
            subject: "; ".join(why if of == systems else f"{', '.join(of)}: {why}" for why, of in whys.items())
            for subject, whys in reasons.items()
        }
        if not self.servers and self.network.servers:
            unasked |= dict.fromkeys(
                _OF_SERVERS, "servers are not asked: access.yaml has no login for them, or --no-servers"
            )
        return unasked

    def _table(self, rows: Iterable[SubjectCount]) -> Table:
        """Return the table of subjects with the counts ``rows``. A subject that is not asked is in it, with the reason."""
        counted = {str(row[0]): row for row in summary(rows).rows}
        nothing = (0,) * (len(COLUMNS) - 1)
        return Table(
            (*COLUMNS, Column("Not asked", key="not_asked")),
            [
                (*counted.get(name, (name, *nothing)), self._unasked.get(name, ""))
                for name in SUBJECTS
                if name in counted or name in self._unasked
            ],
        )

    def _rerouted_by(self, checks: Mapping[str, DeviceCheck]) -> Callable[[str, str], bool] | None:
        """Return the result of ``rerouted_by`` for the running configurations. It is computed only if a configuration has changed.

        Without it, every wrong route would count as a consequence of any statement that differs, and be no alarm.
        """
        different = {name: check for name, check in checks.items() if check.findings}
        if self._rerouted is None or different != self._rerouted[0]:
            self._rerouted = different, rerouted_by(self._configs, checks, self.routes, self.network.absent)
        return self._rerouted[1]

    def _finding(self, living: NetworkStates, seen: Deviation) -> Finding:
        file, line, field = self._line(asked_by(living, seen))
        return seen.rule.finding(seen.where, seen.what, file=file, line=line, field=field)

    def _clocks(self, now: NetworkSnapshot) -> Iterator[Deviation]:
        for name, behind in now.behind.items():
            if abs(behind) > BEHIND_S and name in self.expected:
                way = "behind" if behind > 0 else "ahead"
                clock = self.expected[name].clock
                description = f"its clock is {abs(behind):,.0f} s {way}"
                yield Deviation(CLOCK, name, description, clock.because if clock else ())

    def _check(self, name: str, texts: Mapping[str, str]) -> DeviceCheck:
        """Return the differences between a device's running configuration and the design. They are computed only if a text has changed."""
        known = self._checks.get(name)
        if known is None or known[0] != texts:
            known = texts, saved({name: self._configs[name]}, {name: dict(texts)})[name]
            self._checks[name] = known
        return known[1]

    def _changed(self, name: str, texts: Mapping[str, str], deployed: Collection[str]) -> tuple[str, ...]:
        """Return the lines of a device's running configuration that changed since it was first seen, or since its last deploy.

        A configuration that becomes the designed one was repaired: it is the new reference. ``deployed`` has the devices that a deploy is changing: their present configuration becomes the reference.
        """
        first = self._running.get(name)
        repaired = first is not None and first != texts and not self._check(name, texts).findings
        if first is None or name in deployed or (repaired and self._differs(name, first)):
            self._running[name] = texts
        return changed_lines("".join(self._running[name].values()), "".join(texts.values()))

    def _differs(self, name: str, texts: Mapping[str, str]) -> bool:
        return bool(saved({name: self._configs[name]}, {name: dict(texts)}, why=False)[name].findings)

    def _moved(self, now: NetworkSnapshot, deployed: Collection[str]) -> Iterator[Deviation]:
        """Yield a deviation for each commit in ``now`` that was not made by a deploy. Only devices whose configuration is not read are examined.

        ``deployed`` has the devices that a deploy is changing: their present commit becomes the reference.
        """
        for name, state in now.states.items():
            commit = state.commit
            if commit is None or commit.time is None or name not in self.expected:
                continue
            known = self._commits.setdefault(name, commit.time)
            if name in deployed:
                self._commits[name] = commit.time
            elif commit.time != known and name not in now.configurations:
                who = f" by {commit.user}" if commit.user else ""
                yield Deviation(MOVED, name, f"its configuration was changed{who}, and no deploy did it")
