"""Drift: what devices have against what is designed, per device and in the network as a whole."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.devices import saved
from railweave.analysis.checks.differs import EXTRA
from railweave.analysis.checks.subject import Subject
from railweave.analysis.drift.effects import Effects, effects
from railweave.counting import counted
from railweave.errors import UnsettledError, unknown_switches
from railweave.model.findings import by_severity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from railweave.analysis.checks.causes import Cause
    from railweave.analysis.checks.devices import Stands, Texts
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.network.model import Network


@dataclass(frozen=True)
class DeviceDrift:
    """What one device has otherwise: how its texts stand (``analysis.checks.devices``)."""

    device: str
    system: str
    stands: Stands

    @property
    def different(self) -> list[tuple[Cause, Finding]]:
        """Statements that are not as designed, with what is wrong, but for its own."""
        return [(cause, finding) for cause, finding in self.stands.causes if finding.id != EXTRA.id]

    @property
    def own(self) -> list[Cause]:
        """Statements that only the device has and that change nothing that is read."""
        return [cause for cause, finding in self.stands.causes if finding.id == EXTRA.id]

    def to_json(self) -> dict[str, object]:
        """The difference as the documented JSON object."""
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
                    "fields": [asdict(one) for one in cause.fields],
                }
                for cause, finding in self.stands.causes
            ],
            "unreadable": [one.to_json() for one in self.stands.unreadable],
            "not_compared": list(self.stands.not_compared),
        }


@dataclass(frozen=True)
class Drift:
    """What running configurations have otherwise than designed ones.

    ``devices`` are those that differ, ``missing`` those of which nothing was captured, ``unknown`` those that are not in the design.
    ``findings`` are what the checks say of the running network and did not say of the designed one.
    """

    devices: tuple[DeviceDrift, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    compared: int
    effects: Effects
    findings: tuple[Finding, ...]

    @property
    def equal(self) -> bool:
        """Whether nothing differs on any device that was compared."""
        return not any(one.stands.findings for one in self.devices)

    @property
    def proven(self) -> bool:
        """Whether every switch was compared and none differs: of one that is missing nothing is known."""
        return self.equal and not self.missing

    @property
    def own(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Statements that only devices have, each once: (system, statement) to the devices."""
        found: dict[tuple[str, str], list[str]] = {}
        for device in self.devices:
            for cause in device.own:
                found.setdefault((device.system, cause.found), []).append(device.device)
        return {statement: tuple(devices) for statement, devices in found.items()}

    def to_json(self) -> dict[str, object]:
        """The whole as the documented JSON object."""
        return {
            "equal": self.equal,
            "compared": self.compared,
            "devices": [one.to_json() for one in self.devices],
            "only_on_devices": [
                {"system": system, "statement": statement, "devices": list(devices)}
                for (system, statement), devices in self.own.items()
            ],
            "missing": list(self.missing),
            "unknown": list(self.unknown),
            "effects": self.effects.to_json(),
            "findings": [one.to_json() for one in self.findings],
        }

    def lines(self) -> list[str]:
        """The whole as text: device by device, then what only devices have, then what it does."""
        text: list[str] = []
        for device in self.devices:
            shown, unreadable = device.different, device.stands.unreadable
            if shown or unreadable:
                text.append(f"{device.device}: {counted(len(shown) + len(unreadable), 'difference')}")
            text += [f"  {one.file}:{one.line}  {one.id}: {one.what}" for one in unreadable]
            for cause, finding in shown:
                text.append(f"  {finding.file}:{finding.line}  {finding.id}")
                if cause.kind == "move":
                    text.append(f"    moved     {cause.found}")
                    continue
                text += [f"    designed  {cause.designed}"] if cause.designed else []
                text += [f"    running   {cause.found}"] if cause.found else []
        for (_, statement), devices in self.own.items():
            where = devices[0] if len(devices) == 1 else f"{devices[0]} and {len(devices) - 1} more"
            text.append(f"only on devices, kept: {statement} ({where})")
        secrets = sum(len(one.stands.not_compared) for one in self.devices)
        text += (
            [f"not compared: {counted(secrets, 'secret')}, which devices show redacted or hashed"] if secrets else []
        )
        text += [f"not captured: {', '.join(self.missing)}"] if self.missing else []
        text += [f"not in the design: {', '.join(self.unknown)}"] if self.unknown else []
        text += [f"what it does: {line}" for line in self.effects.lines()]
        return text


def drift(
    network: Network,
    running: Mapping[str, Texts],
    *,
    configs: dict[str, DeviceConfig] | None = None,
    only: Collection[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Drift:
    """What devices have otherwise than designed. ``running`` has the texts of each device's configuration by their path.

    ``configs`` are the designed configurations of the network's switches, where those of a lab stand for them. ``only``: these switches alone.
    Raises ``InputError`` where one of those is none.
    """
    designed = Subject.of(network) if configs is None else Subject(network, configs)
    if unknown := [name for name in only if name not in designed.configs]:
        raise unknown_switches(unknown)
    chosen = [name for name in designed.configs if not only or name in only]
    running = {name: texts for name, texts in running.items() if not only or name in only}
    captured = {name for name in chosen if running.get(name)}
    progress(f"reading the configurations of {counted(len(captured), 'switch', 'switches')}")
    found = saved(designed.configs, running)
    devices = [
        DeviceDrift(name, designed.configs[name].nos, one)
        for name, one in found.items()
        if one.findings or one.not_compared
    ]
    what, said = Effects(), ()
    if any(one.stands.causes for one in devices):
        progress("working out what it does")
        stated = {name: one.config for name, one in found.items() if one.config}
        subject = Subject(network, designed.configs | stated)
        fields = {one.device: [field for cause, _ in one.stands.causes for field in cause.fields] for one in devices}
        running_routes, unsettled = designed.routes, ""
        try:
            running_routes = subject.routes
        except UnsettledError as error:
            unsettled = str(error)
        what = replace(effects(network, designed.routes, running_routes, fields, designed.configs), unsettled=unsettled)
        before = set(run_checks(designed, slow=False))
        said = tuple(by_severity([one for one in run_checks(subject, slow=False) if one not in before]))
    return Drift(
        tuple(devices),
        tuple(name for name in chosen if name not in captured and name not in network.absent),
        tuple(name for name in running if name not in designed.configs),
        len(captured),
        what,
        said,
    )
