"""The checks of a running network, applied to the latest streamed and queried states."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.analysis.checks.devices import saved
from railweave.analysis.expect import expected
from railweave.analysis.expect.hosts import expected_host
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.live.check.check import state_questions
from railweave.live.check.counting import compared, not_asked, summary
from railweave.live.check.flapping import Flapping
from railweave.live.check.identity import MOVED, changed_lines
from railweave.live.check.living import EVERYTHING, Deviation, NetworkStates, Visibility, asked_by
from railweave.live.collect.plan import asks_tables
from railweave.live.reach.failure import cause
from railweave.model.findings.registry import Rule
from railweave.model.intent.reading.source import FieldSource
from railweave.model.state.device_state import DeviceState
from railweave.model.state.question import CONFIGURATION
from railweave.operations.watch import storms
from railweave.operations.watch.grey.search import GreyFailures
from railweave.operations.watch.measured import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from railweave.analysis.checks.devices import DeviceCheck
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.intent.reading.source import Field
    from railweave.model.network.model import Network
    from railweave.model.state.host_state import HostState
    from railweave.operations.watch.collector import WatchedDevice
    from railweave.operations.watch.stream import Round

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
        self._not_asked = {
            nos: subjects | {"configurations": "they are asked for less often"}
            for nos, subjects in not_asked({config.nos for config in configs.values()}, visible).items()
        }
        self._questions = {name: state_questions(network, configs[name]) for name in self.expected}
        self._line = line
        self.seen = summary(())
        """The table of subjects from the last comparison: how many objects of each subject were expected, right, wrong and not seen."""
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
        self.seen = summary(())
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
        known = {name for name in self.expected if name in states or name in now.silent}
        living = NetworkStates(
            self.network,
            {name: expectation for name, expectation in self.expected.items() if name in known},
            states,
            {name: self._visible.switch(state) for name, state in before.items() if name in states},
            {name: why for name, why in now.silent.items() if name in self.expected or name in self.servers},
            {name: dict(reasons) for name, reasons in now.unanswered.items()},
            {name: self._questions[name] for name in states},
            {name: server for name, server in self.servers.items() if name in hosts or name in now.silent},
            hosts,
            {name: host for name, host in hosts_before.items() if name in hosts},
            {name: self._check(name, texts) for name, texts in now.configurations.items() if name in states},
            {
                name: lines
                for name, texts in now.configurations.items()
                if name in states and (lines := self._changed(name, texts, deployed))
            },
            configuration_parts={name: {CONFIGURATION: True} for name in now.configurations if name in states},
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
        self.seen = summary(rows)
        return [*findings, *(self._finding(living, seen) for seen in more)]

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

        ``deployed`` has the devices that a deploy is changing: their present configuration becomes the reference.
        """
        if name in deployed or name not in self._running:
            self._running[name] = texts
        return changed_lines("".join(self._running[name].values()), "".join(texts.values()))

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
