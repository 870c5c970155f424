"""Drift: the differences of each device's configuration from the design, and their effects on the network."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.devices import DeviceCheck, Texts, attributed, saved
from railweave.analysis.checks.differs import EXTRA
from railweave.analysis.checks.located import NOT_CAPTURED
from railweave.analysis.checks.subject import Subject
from railweave.analysis.drift.field_kinds import NOTHING, kind_of
from railweave.analysis.routing.table import LOCAL, UNREACHABLE, Routes
from railweave.counting import counted
from railweave.errors import UnsettledError, unknown_switches
from railweave.json_values import JsonObject
from railweave.model.findings import by_severity
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.analysis.checks.causes import Cause
    from railweave.model.device.fields import FieldDifference
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.network.model import Network


@dataclass(frozen=True)
class Effects(JsonObject):
    """The effects of all differences on the network.

    - ``lost``: prefixes that switches should reach but do not, each with these switches.
    - ``moved``: prefixes that switches reach over other links or other leaves than designed, each with these switches.
    - ``gained``: prefixes that switches reach but should not, each with these switches.
    - ``colors``: the path colors of the affected server prefixes.
    - ``classes``: traffic classes whose settings or buffers differ, each with the affected switches.
    - ``tenants``: tenants whose VRFs differ, each with the affected switches.
    - ``unsettled``: the reason why routes were not computed; empty if they were computed.
    """

    lost: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    moved: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    gained: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    colors: tuple[str, ...] = ()
    classes: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    tenants: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    unsettled: str = ""

    def __bool__(self) -> bool:
        return any((self.lost, self.moved, self.gained, self.colors, self.classes, self.tenants, self.unsettled))

    def lines(self) -> list[str]:
        """Return one sentence for each kind of effect."""
        sentences = [
            _of_prefixes("cannot be reached from switches that should reach them", self.lost),
            _of_prefixes("go by other links than designed", self.moved),
            _of_prefixes("are reached from switches that should not reach them", self.gained),
            f"path colors touched: {', '.join(self.colors)}" if self.colors else "",
            _of_names("traffic classes treated otherwise", self.classes),
            _of_names("tenants whose VRFs differ", self.tenants),
            self.unsettled,
        ]
        return [sentence for sentence in sentences if sentence]


def effects(
    network: Network,
    designed: Routes,
    running: Routes,
    differences: Mapping[str, Iterable[FieldDifference]],
    configs: Mapping[str, DeviceConfig],
) -> Effects:
    """Return the effects of the differences between designed and running configurations.

    ``differences`` are the differing fields by switch; ``configs`` are the designed configurations.
    """
    lost: dict[str, list[str]] = {}
    moved: dict[str, list[str]] = {}
    gained: dict[str, list[str]] = {}
    prefixes = list(dict.fromkeys([*designed.prefixes, *running.prefixes]))
    known: dict[frozenset[str], int] = {}
    sides = [_Side(routes, prefixes, known) for routes in (designed, running)]
    for device in designed.fibs:
        before, after = (side.of(device) for side in sides)
        for at in np.flatnonzero(before != after).tolist():
            kind = lost if after[at] == UNREACHABLE else gained if before[at] == UNREACHABLE else moved
            kind.setdefault(prefixes[at], []).append(device)
    for device, vrf in dict.fromkeys([*designed.shared.exits, *running.shared.exits]):
        before, after = (side.shared.exits.get((device, vrf), {}) for side in (designed, running))
        for prefix in dict.fromkeys([*before, *after]):
            was, now = (side.shared.leaves(device, vrf, prefix) for side in (designed, running))
            if set(was) != set(now):
                kind = lost if not now else gained if not was else moved
                kind.setdefault(prefix, []).append(device)
    for key in dict.fromkeys([*designed.holds, *running.holds]):
        before, after = (side.held(key) for side in sides)
        for at in np.flatnonzero(before != after).tolist():
            kind = lost if before[at] else gained
            if key[0] not in kind.get(prefixes[at], ()):
                kind.setdefault(prefixes[at], []).append(key[0])
    touched = {*lost, *moved, *gained}
    names: dict[str, str] = {
        subnet.routed_by: network.fabric(segment.fabric).color_name(subnet.color)
        for segment in network.segments
        for subnet in segment.subnets
        if subnet.color is not None
    }
    classes: dict[str, dict[str, None]] = {}
    tenants: dict[str, dict[str, None]] = {}
    for device, field_differences in differences.items():
        for difference in field_differences:
            if kind_of(difference.field) == NOTHING:
                continue
            for name in _classes(difference, configs[device]):
                classes.setdefault(name, {})[device] = None
            for name in _tenants(difference, configs[device]):
                tenants.setdefault(name, {})[device] = None
    return Effects(
        lost=_frozen(lost),
        moved=_frozen(moved),
        gained=_frozen(gained),
        colors=tuple(sorted({names[prefix] for prefix in touched if prefix in names})),
        classes=_frozen(classes),
        tenants=_frozen(tenants),
    )


class _Side:
    """The routes of one side of a comparison: of the design or of the running network.

    Each set of next-hop links has a number. Equal sets have the same number on both sides.
    """

    def __init__(self, routes: Routes, prefixes: Sequence[str], known: dict[frozenset[str], int]) -> None:
        self._routes = routes
        self._places = np.array([routes.index.get(prefix, -1) for prefix in prefixes], dtype=np.int64)
        numbers = [known.setdefault(frozenset(group), len(known)) for group in routes.groups]
        self._numbers = np.array([*numbers, LOCAL, UNREACHABLE], dtype=np.int64)  # by ids: -2 and -1 are the last two

    def of(self, device: str) -> NDArray[np.int64]:
        """Return, for each prefix, the number that identifies the switch's set of next-hop links.

        It is ``UNREACHABLE`` if the switch has no route.
        """
        if device not in self._routes.fibs:
            return np.full(len(self._places), UNREACHABLE, dtype=np.int64)
        groups = np.append(self._routes.fibs[device].group, UNREACHABLE)  # place -1 is the last
        return self._numbers[groups[self._places]]

    def held(self, key: tuple[str, str]) -> NDArray[np.bool_]:
        """Return a mask of the prefixes that a VRF holds. ``key`` is (switch, VRF)."""
        mask = self._routes.holds.get(key)
        if mask is None:
            return np.zeros(len(self._places), dtype=np.bool_)
        return np.append(mask, False)[self._places]


def _classes(difference: FieldDifference, config: DeviceConfig) -> list[str]:
    """Return the traffic classes that a difference affects: the class with the differing field, or all lossless classes.

    A difference in PFC or buffers affects all lossless classes. Return an empty list if the field is not about QoS. ``config`` is
    the designed configuration.
    """
    if difference.place[0] != "qos" or config.qos is None:
        return []
    if len(difference.place) > 2 and difference.field.startswith(("qos.classes", "qos.marking")):
        return [difference.place[2]]
    return [name for name, traffic_class in config.qos.classes.items() if traffic_class.lossless]


def _tenants(difference: FieldDifference, config: DeviceConfig) -> list[str]:
    """Return the tenants that a difference affects: the tenant of the differing VRF, or all tenants if the overlay differs."""
    top, *names = difference.place
    if top == "vrfs" and names:
        return names[:1]
    return [vrf.name for vrf in config.vrfs] if top in {"overlay", "mac_vrf", "vrfs"} else []


def _frozen(by_name: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(devices) for name, devices in by_name.items()}


def _of_prefixes(description: str, by_prefix: Mapping[str, tuple[str, ...]]) -> str:
    if not by_prefix:
        return ""
    devices = {device for there in by_prefix.values() for device in there}
    names = ", ".join(list(by_prefix)[:3]) + (", …" if len(by_prefix) > 3 else "")
    return f"{counted(len(by_prefix), 'prefix', 'prefixes')} {description}, seen from {counted(len(devices), 'switch', 'switches')}: {names}"


def _of_names(description: str, by_name: Mapping[str, tuple[str, ...]]) -> str:
    words = [f"{name} on {counted(len(there), 'switch', 'switches')}" for name, there in by_name.items()]
    return f"{description}: {', '.join(words)}" if words else ""


@dataclass(frozen=True)
class DeviceDrift:
    """The differences of a device from the design.

    ``stands`` is the comparison of its configuration with the design (``analysis.checks.devices``). ``own_words`` holds patterns of
    values that only this device has, such as its AS number, each with a placeholder. Statements of several devices that differ only in
    such values are shown together.
    """

    device: str
    system: str
    stands: DeviceCheck
    own_words: tuple[tuple[re.Pattern[str], str], ...] = ()

    def alike(self, statement: str) -> str:
        """Return a statement with placeholders in place of the device's own values."""
        for value, placeholder in self.own_words:
            statement = value.sub(placeholder, statement)
        return statement

    @property
    def different(self) -> list[tuple[Cause, Finding]]:
        """The statements that differ from the design, each with its finding, except the additional statements in ``own_statements``."""
        return [(cause, finding) for cause, finding in self.stands.causes if finding.id != EXTRA.id]

    @property
    def own_statements(self) -> list[Cause]:
        """The additional statements of the device whose effect railweave does not know.

        They set no field of ``DeviceConfig``, and create no login.
        """
        return [cause for cause, finding in self.stands.causes if finding.id == EXTRA.id]

    def to_json(self) -> dict[str, object]:
        """Return the device's differences as a JSON object, as in the list ``devices`` of `railweave drift --json`."""
        return {
            "device": self.device,
            "system": self.system,
            "different": [
                {
                    "id": finding.id,
                    "file": finding.file,
                    "line": finding.line,
                    "designed": cause.designed,
                    "running": cause.found,
                    "fields": [asdict(difference) for difference in cause.fields],
                }
                for cause, finding in self.stands.causes
            ],
            "unreadable": [finding.to_json() for finding in self.stands.unreadable],
            "not_compared": list(self.stands.not_compared),
        }


LOAD = "load the designed statements: `railweave deploy plan FABRIC --live -o plan.json`, then `railweave deploy apply plan.json`"
"""The remedy of a difference: change the device, because the design is right and the fabric file needs no change."""

AGAIN = "save the configurations that cannot be read again: `railweave collect FABRIC -o CAPTURE`, or by hand (docs/collect.md)"
"""The remedy if a configuration cannot be read. A deployment would not change the saved file."""

SHOWN_DEVICES = 4
"""The number of devices that a printed line names; further devices are only counted."""


@dataclass(frozen=True)
class DifferentStatement:
    """A statement that differs from the design in the same way on several devices.

    - ``system``: the operating system of the devices. ``id``: the ID of the finding.
    - ``kind``: ``add``, ``remove``, ``replace`` or ``move``: the difference from the design.
    - ``designed`` and ``running``: the statement in the design and on the devices; empty if absent. Placeholders such as AS
      replace values that only one device has.
    - ``what``: the problem, if the file cannot be read.
    - ``places``: (device, file, line) of each occurrence.
    """

    system: str
    id: str
    kind: str
    designed: str
    running: str
    what: str
    places: tuple[tuple[str, str, int], ...]

    def to_json(self) -> dict[str, object]:
        """Return the statement with its devices as a JSON object."""
        devices = [{"device": device, "file": file, "line": line} for device, file, line in self.places]
        return {
            "system": self.system,
            "id": self.id,
            "designed": self.designed,
            "running": self.running,
            "devices": devices,
        }

    def lines(self) -> list[str]:
        """Return the designed and the running statement as printed lines, without the devices."""
        if self.what:
            return [f"    {self.what}"]
        if self.kind == "move":
            return [f"    moved     {self.running}"]
        designed = [f"    designed  {self.designed}"] if self.designed else []
        return designed + ([f"    running   {self.running}"] if self.running else [])


@dataclass(frozen=True)
class Drift:
    """The differences between running and designed configurations.

    - ``devices``: the devices that differ.
    - ``missing``: the switches without a captured configuration.
    - ``unknown``: the captured devices that are not in the design.
    - ``compared``: the number of devices that were compared.
    - ``findings``: findings that checks report on the running network but not on the designed network. Their fix is to
      load the design.
    - ``adopted``: sentences about the statements that were written to the fabric file, and about those that were not.
    """

    devices: tuple[DeviceDrift, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    compared: int
    effects: Effects
    findings: tuple[Finding, ...]
    adopted: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """True if nothing differs on any device that was compared."""
        return not any(device.stands.findings for device in self.devices)

    @property
    def wrong(self) -> int:
        """The number of switches that differ from the design."""
        return sum(bool(device.stands.findings) for device in self.devices)

    @property
    def unreadable(self) -> int:
        """The number of switches in ``wrong`` whose only fault is a text that cannot be read."""
        return sum(bool(device.stands.unreadable) and not device.stands.causes for device in self.devices)

    @property
    def proven(self) -> bool:
        """True if every switch was compared and none differs.

        It is False if a switch is missing, because its state is unknown.
        """
        return self.equal and not self.missing

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of expected switches, and of those that are right, wrong and not seen."""
        wrong, not_seen = self.wrong, len(self.missing)
        expected = self.compared + not_seen
        return {"expected": expected, "right": self.compared - wrong, "wrong": wrong, "not_seen": not_seen}

    @property
    def all_findings(self) -> list[Finding]:
        """All findings, for pipelines: each difference at its line, each switch that was not captured, and ``findings``."""
        different = [finding for device in self.devices for finding in device.stands.findings]
        why, fix = "the switch was not compared", "capture it with `railweave collect`, or leave it out with --only"
        unseen = [NOT_CAPTURED.finding(device, severity="error", why=why, fix=fix) for device in self.missing]
        return by_severity([*different, *unseen, *self.findings])

    @property
    def statements(self) -> list[DifferentStatement]:
        """The statements that differ or cannot be read, each with its devices. Statements on the most devices come first."""
        places: dict[tuple[str, ...], list[tuple[str, str, int]]] = {}
        written: dict[tuple[str, ...], dict[tuple[str, str], None]] = {}
        for device in self.devices:
            for finding in device.stands.unreadable:
                key = (device.system, finding.id, "", "", "", finding.what)
                places.setdefault(key, []).append((device.device, finding.file, finding.line))
            for cause, finding in device.different:
                key = (
                    device.system,
                    finding.id,
                    cause.kind,
                    device.alike(cause.designed),
                    device.alike(cause.found),
                    "",
                )
                places.setdefault(key, []).append((device.device, finding.file, finding.line))
                written.setdefault(key, {})[cause.designed, cause.found] = None
        statements: list[DifferentStatement] = []
        for key, devices in places.items():
            system, id_, kind, *alike, unread = key
            texts = list(written.get(key, ()))
            designed, running = texts[0] if len(texts) == 1 else alike
            statements.append(DifferentStatement(system, id_, kind, designed, running, unread, tuple(devices)))
        return sorted(statements, key=lambda statement: -len(statement.places))

    @property
    def own_statements(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The devices that have an additional statement whose effect railweave does not know, by (system, statement)."""
        devices_of: dict[tuple[str, str], list[str]] = {}
        for device in self.devices:
            for cause in device.own_statements:
                devices_of.setdefault((device.system, cause.found), []).append(device.device)
        return {statement: tuple(devices) for statement, devices in devices_of.items()}

    def to_json(self) -> dict[str, object]:
        """Return the drift as the JSON object that `railweave drift --json` prints, without ``adopted``."""
        return {
            "equal": self.equal,
            "good": self.proven,
            **self.counts,
            "compared": self.compared,
            "devices": [device.to_json() for device in self.devices],
            "statements": [statement.to_json() for statement in self.statements],
            "only_on_devices": [
                {"system": system, "statement": statement, "devices": list(devices)}
                for (system, statement), devices in self.own_statements.items()
            ],
            "missing": list(self.missing),
            "unknown": list(self.unknown),
            "effects": self.effects.to_json(),
            "findings": [finding.to_json() for finding in self.findings],
        }

    def lines(self) -> list[str]:
        """Return the drift as printed lines.

        Statements that differ on several devices come first. Then come the differences of single devices, the remedy, and the effects.
        """
        text: list[str] = []
        statements, of_device = self.statements, dict[str, list[DifferentStatement]]()
        for statement in statements:
            devices = list(dict.fromkeys(device for device, _, _ in statement.places))
            if len(devices) == 1:
                of_device.setdefault(devices[0], []).append(statement)
                continue
            _, file, line = statement.places[0]
            named = f"{', '.join(devices[:SHOWN_DEVICES])}{', …' * (len(devices) > SHOWN_DEVICES)}"
            text.append(
                f"{statement.id} on {counted(len(devices), 'switch', 'switches')}: {named} (first: {file}:{line})"
            )
            text += statement.lines()
        for device, different in of_device.items():
            places = [(place, statement) for statement in different for place in statement.places]
            compared = sum(not statement.what for statement in different)
            text.append(f"{device}: {counted(len(places), 'difference') if compared else 'not compared'}")
            for (_, file, line), statement in sorted(places, key=lambda entry: entry[0]):
                text.append(f"  {file}:{line}  {statement.id}")
                text += statement.lines()
        text += [f"-> {LOAD}"] if any(not statement.what for statement in statements) else []
        text += [f"-> {AGAIN}"] if any(statement.what for statement in statements) else []
        for (_, statement), devices in self.own_statements.items():
            where = devices[0] if len(devices) == 1 else f"{devices[0]} and {len(devices) - 1} more"
            text.append(f"only on devices, kept: {statement} ({where})")
        secrets = sum(len(device.stands.not_compared) for device in self.devices)
        text += (
            [f"not compared: {counted(secrets, 'secret')}, which devices show redacted or hashed"] if secrets else []
        )
        text += [f"not captured: {', '.join(self.missing)}"] if self.missing else []
        text += [f"not in the design: {', '.join(self.unknown)}"] if self.unknown else []
        text += [f"what it does: {line}" for line in self.effects.lines()]
        return text


def _own_words(config: DeviceConfig) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return patterns of the values that only one device has (name, AS number, router ID), each with its placeholder."""
    bgp = config.bgp
    values = [(config.name, "NAME"), *([(str(bgp.asn), "AS"), (str(bgp.router_id), "ROUTER-ID")] if bgp else [])]
    return tuple((re.compile(rf"(?<![\w.:-]){re.escape(value)}(?![\w.:-])"), word) for value, word in values)


def drift(
    network: Network,
    running: Mapping[str, Texts],
    *,
    configs: dict[str, DeviceConfig] | None = None,
    only: Collection[str] = (),
    progress: Callable[[str], None] = silent,
) -> Drift:
    """Return the differences of devices from the design. ``running`` holds each device's configuration files by path.

    If ``configs`` is given, it replaces the network's designed configurations, for example in a lab. If ``only`` is not empty, only
    the switches that it names are compared. Raises ``InputError`` if a name in ``only`` is not a switch.
    """
    designed = Subject.of(network) if configs is None else Subject(network, configs)
    if unknown := [name for name in only if name not in designed.configs]:
        raise unknown_switches(unknown)
    chosen = [name for name in designed.configs if not only or name in only]
    running = {name: texts for name, texts in running.items() if not only or name in only}
    captured = {name for name in chosen if running.get(name)}
    progress(f"reading the configurations of {counted(len(captured), 'switch', 'switches')}")
    states = saved(designed.configs, running)
    devices = [
        DeviceDrift(name, designed.configs[name].nos, state, _own_words(designed.configs[name]))
        for name, state in states.items()
        if state.findings or state.not_compared
    ]
    impact, new_findings = Effects(), ()
    if any(device.stands.causes for device in devices):
        progress("working out what it does")
        stated = {name: state.config for name, state in states.items() if state.config}
        subject = Subject(network, designed.configs | stated)
        fields = {
            device.device: [field for cause, _ in device.stands.causes for field in cause.fields] for device in devices
        }
        running_routes, unsettled = designed.routes, ""
        try:
            running_routes = subject.routes
        except UnsettledError as error:
            unsettled = str(error)
        impact = replace(
            effects(network, designed.routes, running_routes, fields, designed.configs), unsettled=unsettled
        )
        before = set(run_checks(designed, slow=False))
        new_findings = tuple(
            by_severity(
                attributed(
                    (
                        replace(finding, fix=f"the design does not have this fault: {LOAD}")
                        for finding in run_checks(subject, slow=False)
                        if finding not in before
                    ),
                    states,
                )
            )
        )
    return Drift(
        tuple(devices),
        tuple(name for name in chosen if name not in captured and name not in network.absent),
        tuple(name for name in running if name not in designed.configs),
        len(captured),
        impact,
        new_findings,
    )
