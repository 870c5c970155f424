"""Conversion of saved configurations to ``DeviceConfig``, the system-independent form.

Each device's operating system is identified, and unknown statements are listed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import FileLine, InputError, Problem, RenderError
from railweave.host.port_names import announced, by_names
from railweave.model.catalog import catalog
from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.config.gate import Gate
from railweave.model.device.balancing import BalancingConfig
from railweave.model.device.management import Management
from railweave.model.device.model import DeviceConfig
from railweave.model.state.host_state import lldp
from railweave.model.state.protocols import LldpNeighbor
from railweave.model.state.values import Answers
from railweave.reading import json_of, read_text
from railweave.systems import system, systems
from railweave.systems.reading import read_state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from railweave.analysis.adopt.wiring import Lldp
    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.reading import Reading, ReadStatement
    from railweave.model.state.capture import Capture

_NEIGHBORS = "lldp-neighbors"
"""The name of the query for LLDP neighbors, the same on every system."""

GOOD = 80
"""The percentage of understood statements that is enough to identify a configuration's operating system.

The systems of the devices read before are tried first. The first that understands this percentage is chosen.
"""


@dataclass(frozen=True)
class DeviceReading:
    """A device's configuration as read. ``folder`` is the device's subfolder in the folder of saved configurations.

    ``texts`` holds the contents of its files by file name, and ``paths`` their paths.
    """

    folder: str
    nos: str
    reading: Reading
    texts: dict[str, str]
    paths: dict[str, Path]

    @property
    def name(self) -> str:
        """The name in the device's configuration, or its folder name if the configuration has none."""
        return self.reading.config.name or self.folder

    @property
    def not_understood(self) -> tuple[ReadStatement, ...]:
        """The statements that the reader did not understand."""
        return self.reading.not_understood

    def trees(self) -> dict[str, ConfigTree]:
        """Return the device's configuration as one tree of statements per file, by the file names that its system uses."""
        reader = system(self.nos).reader
        assert reader is not None  # noqa: S101 - it has read them
        return {file: reader.parsed(file, text) for file, text in by_file(self.nos, self.texts).items()}


def read_devices(capture: Capture) -> list[DeviceReading]:
    """Return the configuration of every device in a folder of saved configurations (``capture``), without secrets.

    Each configuration is read as the operating system that understands most of its statements. Raises ``InputError``, with
    file and line, if no system can read a configuration, and if the folder has none.
    """
    devices: list[DeviceReading] = []
    likely: list[str] = []
    gate = Gate()
    for device in capture.devices:
        reading = _read(capture, device, likely, gate)
        if reading is not None:
            likely = [reading.nos, *(nos for nos in likely if nos != reading.nos)]
            devices.append(reading)
    if not devices:
        fix = "the folder should contain DEVICE/configuration.txt for each device, or DEVICE.txt"
        raise InputError([Problem(FileLine(str(capture.folder)), "the folder has no configuration of a device", fix)])
    return devices


def _read(capture: Capture, device: str, likely: Sequence[str], gate: Gate) -> DeviceReading | None:
    best: tuple[int, DeviceReading] | None = None
    wrong: list[tuple[bool, int, Problem]] = []
    empty: list[Path] = []
    for nos in (*likely, *(other for other in systems() if other not in likely)):
        reader = system(nos).reader
        if reader is None:
            continue
        paths = capture.configurations(device, _files(nos)) or _any(capture, device)
        texts = {path.name: gate.text(device, text) for path, text in paths.items() if text.strip()}
        if not texts:
            empty += paths
            continue
        try:
            reading = reader.read(texts)
        except RenderError as error:
            path = next(iter(paths))
            problem = Problem(FileLine(str(path), error.line or 1), f"it cannot be read: {error.what}", "save it again")
            wrong.append((_has_form(nos, path.name, texts.get(path.name, "")), error.line or 1, problem))
            continue
        known = sum(statement.kind == "understood" for statement in reading.statements)
        if not known:
            path = next(iter(paths))
            nothing = Problem(
                FileLine(str(path), 1),
                "no system's reader understands any of its statements",
                "save the switch's running configuration in this file",
            )
            wrong.append((_has_form(nos, path.name, texts.get(path.name, "")), 0, nothing))
        candidate = DeviceReading(device, nos, reading, texts, {path.name: path for path in paths})
        if (
            nos in likely
            and known
            and 100 * (len(reading.statements) - len(candidate.not_understood)) >= GOOD * len(reading.statements)
        ):
            return candidate
        if known and (best is None or known > best[0]):
            best = (known, candidate)
    if best is None and wrong:  # as the system says it whose form the text has, or that reads most of it
        raise InputError([max(wrong, key=lambda refusal: refusal[:2])[2]])
    if best is None and empty:
        raise InputError([Problem(FileLine(str(empty[0]), 1), "it is empty", "save it again, or remove it")])
    return best[1] if best else None


def _has_form(nos: str, name: str, text: str) -> bool:
    """Return True if a file can belong to an operating system: the system uses this file name, or both use JSON."""
    is_json = text.lstrip()[:1] in {"{", "["}
    return name in _files(nos) or (is_json and any(file.endswith(".json") for file in _files(nos)))


def _any(capture: Capture, device: str) -> dict[Path, str]:
    """Return the contents of all files in a device's folder that may be a configuration, by path."""
    names = tuple(
        name for name in capture.saved.get(device, {}) if name not in {"meta.json", "lldp.json", "config.json"}
    )
    return capture.configurations(device, names)


def by_file(nos: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the configurations of a device by the file names that its system uses. ``texts`` holds them by the saved name.

    A file with an unknown name is taken as the system's JSON file or line-based file, according to its content. If a device
    prints a file in several parts, the parts are joined.
    """
    files = _files(nos)
    made = {name: text for name, text in texts.items() if name in files}
    documents = [file for file in files if file.endswith(".json")]
    lines = [file for file in files if not file.endswith(".json")]
    for name, text in texts.items():
        if name not in made:
            kind = documents if documents and text.lstrip().startswith("{") else lines or documents
            made[kind[-1]] = made.get(kind[-1], "") + text
    return made


@lru_cache(maxsize=32)
def _files(nos: str) -> tuple[str, ...]:
    """Return the names of a system's configuration files."""
    return tuple(system(nos).trees(_bare(nos)))


def _bare(nos: str) -> DeviceConfig:
    """Return the configuration of an unconfigured switch with this operating system."""
    return DeviceConfig(
        name="switch",
        role="leaf",
        model=next(name for name, switch_model in catalog().switches.items() if nos in switch_model.systems),
        nos=nos,
        release=catalog().systems[nos].release,
        management=Management(),
        management_address=InterfaceAddress("192.0.2.1/24"),
        management_gateway=Address("192.0.2.254"),
        loopback=Prefix("192.0.2.2/32"),
        splits=(),
        interfaces=(),
        gateways=(),
        bgp=None,
        qos=None,
        balancing=BalancingConfig("ecmp", ()),
        extra="",
    )


def read_lldp(capture: Capture, devices: Sequence[DeviceReading]) -> Lldp:
    """Return the LLDP neighbor of each port as (device, port), by device and port, with names as in the configurations.

    The source is the device's ``lldp.json``: ``{"PORT": {"device": NAME, "port": PORT}}``, or the output of lldpd. Without this file,
    the captured output of the query ``lldp-neighbors`` is read. Raises ``InputError`` if ``lldp.json`` has neither form.
    """
    ports = {device.name.partition(".")[0].lower(): (device.name, _ports(device)) for device in devices}
    neighbors: Lldp = {}
    for device in devices:
        path = capture.saved.get(device.folder, {}).get("lldp.json")
        answer = {name: text for name, text in capture.texts(device.folder).items() if name == _NEIGHBORS}
        if path is not None:
            heard = _neighbors(path, read_text(path))
        else:
            heard = read_state(device.folder, device.nos, answer).neighbors or {}
        neighbors[device.name] = {
            port: _end(ports, announcement[0]) for port, announcement in heard.items() if announcement
        }
    return {name: heard for name, heard in neighbors.items() if heard}


def _ports(device: DeviceReading) -> dict[str, str]:
    """Return a map of every name of a device's ports (name, alias, description) to the port's name in the configuration."""
    aliases = device.reading.port_aliases
    return by_names(
        {
            interface.name: (interface.name, aliases.get(interface.name, ""), interface.description)
            for interface in device.reading.config.interfaces
        }
    )


def _end(devices: Mapping[str, tuple[str, Mapping[str, str]]], neighbor: LldpNeighbor) -> tuple[str, str]:
    """Return a neighbor as (device, port), with the names in its configuration if it was captured, otherwise as LLDP announced them.

    ``devices`` maps each announced device name to (its name in the configuration, its ports by announced name). If the
    announced port is a MAC address, the port description is used instead.
    """
    name, ports = devices.get((neighbor.system or "").partition(".")[0].lower(), (neighbor.system or "", {}))
    clear, port = announced(ports, neighbor.port, neighbor.port_kind, neighbor.port_description)
    spoken = neighbor.port if clear else neighbor.port_description or neighbor.port
    return name, port or spoken or ""


def _neighbors(path: Path, text: str) -> Mapping[str, tuple[LldpNeighbor, ...]]:
    """Return the neighbors by port from the text of ``lldp.json``. Raises ``InputError`` if it has an unknown form."""
    content: Any = json_of(text, path, fix="save it again")
    ports = cast("dict[str, Any]", content) if isinstance(content, dict) else {"": content}
    if ports.keys() == {"lldp"}:
        try:
            return lldp(Answers("", {_NEIGHBORS: text}).tree(_NEIGHBORS)) or {}
        except Exception as error:
            description = f"the output of lldpd cannot be read: {type(error).__name__}"
            fix = "save what `lldpcli -f json show neighbors` prints"
            raise InputError([Problem(FileLine(str(path)), description, fix)]) from error
    read: dict[str, tuple[LldpNeighbor, ...]] = {}
    for port, heard in ports.items():
        far = cast("dict[str, Any]", heard) if isinstance(heard, dict) else {}
        if not {"device", "port"} <= far.keys():
            message = f"a neighbor has the wrong form: {_start(cast('object', heard))}"
            fix = 'write {"et-0/0/0": {"device": "spine1", "port": "et-0/0/1"}}, or save what `lldpcli -f json show neighbors` prints'
            raise InputError([Problem(FileLine(str(path)), message, fix)])
        read[str(port)] = (LldpNeighbor(str(far["device"]), str(far["port"])),)
    return read


def _start(value: object) -> str:
    """Return the beginning of a JSON value as text. A value that is nested too deeply is described."""
    try:
        return json.dumps(value)[:60]
    except RecursionError:
        return "nested too deeply"
