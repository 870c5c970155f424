"""Plans: the changes of devices, in waves, with risks and reasons for a refusal, and the consequences of replaced hardware.

A plan is shown, saved, and applied unchanged.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.counting import counted
from railweave.errors import Argument, FileLine, InputError, Option, Problem, SpecError
from railweave.json_values import JsonObject
from railweave.model.config.secret_words import REFERENCE
from railweave.operations.deploy.changes import DeviceChange
from railweave.operations.deploy.waves import Wave
from railweave.pages.table import Column, Table
from railweave.reading import file_text, parse_json
from railweave.systems.installation import Image

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.model.network.model import Network


@dataclass(frozen=True)
class Drain(JsonObject):
    """The drain or undrain in a plan.

    - ``back``: True for an undrain.
    - ``before``, ``after``: texts of the fabric file, in which ``status:`` changes.
    - ``names``: the lines of ``status:`` that are added or, with ``back``, removed.
    - ``ports``: the ports, by switch, that carry no traffic after the drain.
    - ``lines``: sentences about the capacity that remains and the losses.
    - ``refused``: the reasons why the drain cannot be carried out.
    """

    names: tuple[str, ...]
    back: bool
    before: str
    after: str
    ports: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    lines: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def other_way(self) -> Drain:
        """Return the drain that reverses this drain."""
        return Drain(self.names, not self.back, self.after, self.before)

    @classmethod
    def of_json(cls, document: Mapping[str, Any]) -> Drain:
        """Return the drain from the JSON object of a plan file. Raises ``KeyError`` or ``TypeError`` if the object is invalid."""
        return cls(
            tuple(document["names"]),
            bool(document["back"]),
            str(document["before"]),
            str(document["after"]),
            {name: tuple(ports) for name, ports in document["ports"].items()},
            tuple(document["lines"]),
            tuple(document["refused"]),
        )


@dataclass(frozen=True)
class Upgrade(JsonObject):
    """The upgrade in a plan. It installs ``image`` on the switches in the plan's waves.

    - ``system``: the operating system that all these switches run.
    - ``versions``: for each switch to upgrade, its release when the plan was made; empty if it is unknown.
    - ``drained``: the devices that were already drained; they stay drained.
    - ``force``: True to drain even if a drain would otherwise be refused.
    - ``commands``: the commands that are run on every switch, in order.
    - ``lines``: the notes for the operator.
    - ``refused``: the reasons why the upgrade cannot be applied.
    """

    image: Image
    system: str
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    drained: tuple[str, ...] = ()
    force: bool = False
    commands: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @classmethod
    def of_json(cls, fields: Mapping[str, Any]) -> Upgrade:
        """Return the upgrade from ``fields``, its JSON object in a plan file. Raises ``KeyError`` or ``TypeError`` if the object is invalid."""
        return cls(
            Image(**fields["image"]),
            str(fields["system"]),
            dict(fields["versions"]),
            tuple(fields["drained"]),
            bool(fields["force"]),
            tuple(fields["commands"]),
            tuple(fields["lines"]),
            tuple(fields["refused"]),
        )


@dataclass(frozen=True)
class Replacement(JsonObject):
    """The replacement of hardware in a plan.

    - ``what``: the switch, server or ``SERVER:NIC`` that was replaced.
    - ``file``: the path of the inventory. ``before``, ``after``: the inventory's texts before and after the plan.
    - ``lines``: the consequences of the replacement; ``refused``: the reasons why the plan cannot be applied.
    """

    what: str
    file: str
    before: str
    after: str
    lines: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @classmethod
    def of_json(cls, document: Mapping[str, Any]) -> Replacement:
        """Return the replacement from the JSON object of a plan file. Raises ``KeyError`` or ``TypeError`` if the object is invalid."""
        return cls(
            str(document["what"]),
            str(document["file"]),
            str(document["before"]),
            str(document["after"]),
            tuple(document["lines"]),
            tuple(document["refused"]),
        )

    def other_way(self) -> Replacement:
        """Return the replacement that reverses this replacement."""
        return Replacement(self.what, self.file, self.after, self.before)


def part(network: Network, word: str) -> tuple[str, str]:
    """Return (device, interface) for ``word``: a switch, a server, or ``SERVER:NIC``. Raises ``InputError`` for an unknown name.

    The interface is empty for a switch or server. Device and interface have the names that the inventory uses.
    """
    device, colon, interface = word.partition(":")
    if not colon and word in {node.name for node in (*network.switches, *network.servers)}:
        return word, ""
    for server in network.servers:
        if server.name == device and interface in {nic.name for nic in server.nics}:
            return device, interface
    fix = "name a switch, a server, or SERVER:NIC, as cabling.csv has them"
    raise InputError([Problem(Argument("what"), f"there is no switch, server or NIC {word!r}", fix)])


def cells(network: Network, word: str, serial: str, mac: str) -> dict[tuple[str, str], dict[str, str]]:
    """Return the new cells of the inventory: by (device, interface), then by column.

    ``word`` is the switch, server or ``SERVER:NIC`` that was replaced. Raises ``InputError`` if the replaced part needs a serial number
    or MAC address that is not given, or cannot have the given MAC address.
    """
    key = part(network, word)
    if mac and not key[1]:
        fix = "name the NIC: SERVER:NIC"
        raise InputError([Problem(Option("--mac", mac), f"{word} has no MAC address in the inventory", fix)])
    if not mac and (key[1] or not serial):
        description = f"{word} was replaced, and {'the MAC address' if key[1] else 'the serial number'} of the new one is not given"
        raise InputError([Problem(Argument("what"), description, "give --mac" if key[1] else "give --serial")])
    given = {"mac": mac.lower().replace("-", ":"), "serial": serial}
    return {key: {column: value for column, value in given.items() if value}}


def differences(old: str, new: str, file: str, context: int = 0) -> Iterator[str]:
    """Yield the differences between the texts ``old`` and ``new`` as a unified diff with ``context`` lines around each; nothing if they are equal."""
    yield from difflib.unified_diff(old.splitlines(), new.splitlines(), file, file, lineterm="", n=context)


def follows(before: Network, after: Network, word: str) -> Iterator[str]:
    """Yield lines about how new hardware changes each file of a build, and about the cables to plug in.

    The files are the tables of cables and addresses, switch configurations and server files. ``before`` and ``after`` are the networks
    with the old and the new hardware. ``word`` is the switch, server or ``SERVER:NIC`` that was replaced.
    """
    from railweave.outputs.folder.differences import diff
    from railweave.outputs.rendering.tables import tables_of

    device, _ = part(before, word)
    for name, of in (tables_of(before) | tables_of(after)).items():
        yield from differences(of(before), of(after), name)
    changes = diff(before, after)
    yield from changes.lines()
    if not (changes.devices or changes.servers or changes.shared):
        yield "no configuration of a switch and no file of a server changes"
    mine = [cable for cable in after.cables_of(device) if word in {device, f"{device}:{cable.a.port}"}]
    for cable in mine:
        a, b = cable.a, cable.b
        yield f"cable to plug in as before: {a.device} {a.port} -- {b.device} {b.port}"


def text_of(path: Path) -> str:
    """Return the text of a file; empty if it does not exist."""
    return file_text(path) if path.exists() else ""


FORM = 2


@dataclass(frozen=True)
class Plan:
    """A plan: changes of a network's devices, ordered into waves. A plan is shown, saved, and applied unchanged.

    - ``fabric``: the path of the fabric file; ``design``: the digest of its design; ``made``: the time of planning (ISO
      8601).
    - ``live``: True if the plan is based on the devices' own texts, including secrets. Only such a plan can be applied.
    - ``silent``: devices that are not in the plan because their state is unknown, with the reason.
    - ``back_to``: the revision that the plan rolls back; None for other plans.
    - ``drain``: the parts that the plan takes out of service or returns; None if the plan is neither a drain nor an undrain.
    - ``upgrade``: the release that the plan installs, if the plan is an upgrade. Such a plan changes no configuration.
    - ``replacement``: the change of the inventory, if hardware was replaced.
    - ``trial``: the name of the trial, a change that is always rolled back (``operations.deploy.trial``); empty for
      other plans.
    - ``conflicts``: a line for each device that is also under maintenance or changed by a different plan. The plan can
      be applied all the same.
    - ``blocked_by``: reasons to refuse the plan because of other revisions.
    - ``outside``: by operating system, the settings that its configuration does not contain. The plan neither compares
      nor changes these settings.
    """

    fabric: str
    design: str
    made: str
    live: bool
    devices: tuple[DeviceChange, ...]
    waves: tuple[Wave, ...]
    silent: dict[str, str]
    back_to: int | None = None
    drain: Drain | None = None
    upgrade: Upgrade | None = None
    replacement: Replacement | None = None
    trial: str = ""
    outside: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    conflicts: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The digest of the plan's content. The operator passes it to `apply` to confirm this exact plan."""
        return hashlib.sha256(json.dumps(self._body(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def changed(self) -> dict[str, DeviceChange]:
        """The changes of the devices that change, by device name."""
        return {device.device: device for device in self.devices if device}

    @property
    def refused(self) -> list[str]:
        """The reasons why the plan cannot be applied; empty if it can."""
        reasons = [f"{device.device}: {why}" for device in self.devices for why in device.refused]
        reasons += [f"wave {number}: {why}" for number, wave in enumerate(self.waves, 1) for why in wave.refused]
        reasons += self.drain.refused if self.drain else ()
        reasons += self.upgrade.refused if self.upgrade else ()
        reasons += self.replacement.refused if self.replacement else ()
        reasons += self.blocked_by
        if not self.devices and self.drain is None and self.upgrade is None and self.replacement is None:
            reasons.append("no switch answered")
        if not self.live and (self.changed or not self.devices):  # where nothing changes there is nothing to refuse
            reasons.append("it was made from a capture, which has no secrets: make it from the devices (--live, --lab)")
        return reasons

    @property
    def secrets(self) -> list[str]:
        """The names of secrets whose values are needed to apply the plan."""
        texts = [str(line) for device in self.devices for lines in device.commands.values() for line in lines]
        return sorted({name for text in texts for name in REFERENCE.findall(text)})

    def _body(self) -> dict[str, Any]:
        return {
            "form": FORM,
            "fabric": self.fabric,
            "design": self.design,
            "made": self.made,
            "live": self.live,
            "devices": {  # without empty ``pending``: plans of earlier releases keep their digest
                device.device: {key: value for key, value in device.to_json().items() if key != "pending" or value}
                for device in self.devices
            },
            "waves": [wave.to_json() for wave in self.waves],
            "silent": self.silent,
            "back_to": self.back_to,
            **({} if self.drain is None else {"drain": self.drain.to_json()}),
            **({} if self.upgrade is None else {"upgrade": self.upgrade.to_json()}),
            **({} if self.replacement is None else {"replacement": self.replacement.to_json()}),
            **({"trial": self.trial} if self.trial else {}),
            **({"conflicts": list(self.conflicts)} if self.conflicts else {}),
            **({"blocked_by": list(self.blocked_by)} if self.blocked_by else {}),
            **({"outside": {nos: list(subjects) for nos, subjects in self.outside.items()}} if self.outside else {}),
        }

    def to_json(self) -> dict[str, Any]:
        """Return the plan as the JSON object that a plan file contains."""
        return {**self._body(), "digest": self.digest, "refused": self.refused}

    def _in_order(self) -> list[tuple[int, DeviceChange]]:
        """Return (number of its wave, change) for each device that changes, in the order of waves. The number is 0 if the device is in no wave."""
        waves = {name: number for number, wave in enumerate(self.waves, 1) for name in wave.devices}
        return sorted(((waves.get(name, 0), change) for name, change in self.changed.items()), key=lambda pair: pair[0])

    def _table(self) -> Table:
        """Return the table of the devices that change, in the order of waves."""
        heads = (
            Column("wave", "number"),
            Column("device"),
            Column("system"),
            *(Column(title, "number") for title in ("removed", "added", "changed")),
            Column("disrupts"),
        )
        rows = [
            (
                number,
                change.device,
                change.system,
                *(sum(line.startswith(sign) for line in change.shown) for sign in "-+~"),
                ", ".join(dict.fromkeys(row.what for row in change.disrupts)) or None,
            )
            for number, change in self._in_order()
        ]
        return Table(heads, rows)

    def lines(self) -> list[str]:
        """Return the plan as text lines: a table of devices, the waves with their risk, then each device with its changes."""
        if self.upgrade:
            text = list(self.upgrade.lines)
        elif self.replacement:
            replacement = self.replacement
            text = [
                *differences(replacement.before, replacement.after, Path(replacement.file).name),
                *replacement.lines,
            ]
            text += [] if self.changed else ["no device is changed by this plan"]
        elif self.drain:
            changes = differences(self.drain.before, self.drain.after, Path(self.fabric).name, 2)
            text = [*changes, *self.drain.lines]
            text += [] if self.changed else ["no switch changes"]
        elif not self.changed:
            same = self.devices and not any(change.refused for change in self.devices)
            text = ["nothing to change: every device that answered runs its design"] if same else []
        else:
            text = []
        if self.changed:
            text += [f"{counted(len(self.changed), 'device')} in {counted(len(self.waves), 'wave')}"]
            text += self._table().to_text("  ")
        for number, wave in enumerate(self.waves, 1):
            text.append(f"wave {number}: {', '.join(wave.devices)}  ({wave.why})")
            text += [f"    {line}" for line in wave.risks]
        for _, change in self._in_order():
            text.append(f"{change.device} ({change.system})")
            text += [f"  {line}" for line in change.shown]
            text += [
                f"  disrupts {row.what}: {row.why}, by `{row.statement}` ({row.source})" for row in change.disrupts
            ]
        for change in self.devices:
            text += [f"{change.device} keeps its own: {line}" for line in change.kept]
            text += [f"{change.device} pending, not in this plan: {line}" for line in change.pending]
        refusals = "\n".join(self.refused)  # a drain is refused for a device without an answer, and names it
        text += [
            f"left out: {name}: {why}" for name, why in self.silent.items() if f"{name} did not answer" not in refusals
        ]
        text += [
            f"not in this plan: on {nos}, {', '.join(subjects)}. Its configuration does not hold them: set them by hand, then `railweave check`"
            for nos, subjects in self.outside.items()
        ]
        text += [f"conflict: {line}" for line in self.conflicts]
        text += [f"refused: {line}" for line in self.refused]
        if self.secrets:
            text.append(f"apply needs --secrets with {', '.join(self.secrets)}")
        return [*text, f"digest {self.digest}"]


def plan_of(document: Any) -> Plan:  # noqa: ANN401 - JSON
    """Return the plan from the JSON object of its file. Raises ``KeyError``, ``TypeError`` or ``AttributeError`` if it is invalid."""
    return Plan(
        document["fabric"],
        document["design"],
        document["made"],
        document["live"],
        tuple(DeviceChange.of_json(name, change) for name, change in document["devices"].items()),
        tuple(Wave.of_json(wave) for wave in document["waves"]),
        dict(document["silent"]),
        document["back_to"],
        Drain.of_json(document["drain"]) if "drain" in document else None,
        Upgrade.of_json(document["upgrade"]) if "upgrade" in document else None,
        Replacement.of_json(document["replacement"]) if "replacement" in document else None,
        document.get("trial", ""),
        {nos: tuple(subjects) for nos, subjects in document.get("outside", {}).items()},
        tuple(document.get("conflicts", ())),
        tuple(document.get("blocked_by", ())),
    )


def read_plan(path: Path) -> Plan:
    """Read a plan from its file. Raises ``SpecError`` if the file is not a plan, or was modified after planning."""

    def wrong(description: str) -> SpecError:
        fix = "make it again: railweave deploy plan FABRIC --live -o PLAN"
        return SpecError([Problem(FileLine(str(path)), description, fix)])

    try:
        document: Any = parse_json(file_text(path))
        if document["form"] != FORM:
            raise wrong(f"the plan has format {document['form']}, and this railweave reads format {FORM}")
        plan = plan_of(document)
        given = document["digest"]
    except OSError as error:
        raise wrong(f"it cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise wrong("it is not a plan") from None
    if plan.digest != given:
        raise wrong("it was modified after it was made")
    return plan
