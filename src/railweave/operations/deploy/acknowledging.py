"""Comparison of a newly booted device with the design and the inventory, before it gets its configuration.

The device's host name, model and serial number are compared, and its cables as LLDP shows them at either end. A device
that matches is entered in the journal; ``deploy plan`` refuses to configure a new device that is not in the journal.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.analysis.expect.device import ports
from railweave.errors import Argument, InputError, Option, Problem
from railweave.json_values import JsonObject
from railweave.live.check.cabling import seen_cables
from railweave.live.check.counting import not_asked
from railweave.live.check.identity import MODEL, same_model
from railweave.live.check.living import some
from railweave.live.check.ports import of_port, short
from railweave.model.catalog import in_force
from railweave.operations.deploy import journal
from railweave.operations.deploy.recovery import states

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from railweave.live.check.cabling import SeenCables
    from railweave.live.check.ports import End
    from railweave.live.site.site import Site
    from railweave.model.device.expected import Port
    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.operations.deploy.planning import RunningFabric

HOST_NAME, MODELS, SERIAL, CABLES, SERVER_CABLES = "host-name", "model", "serial-number", "cables", "server-cables"
SUBJECTS = (HOST_NAME, MODELS, SERIAL, CABLES, SERVER_CABLES)
"""The properties that are compared, under their names for ``--allow-unseen``.

``cables`` are cables to switches, and ``server-cables`` are cables to servers.
"""
_FIELDS = {MODELS: "models", SERIAL: "serial-numbers"}
"""By compared property, its key in the table in which an operating system gives reasons for values that it does not report."""


@dataclass(frozen=True)
class Difference(JsonObject):
    """A difference between a device and the design or the inventory.

    ``subject`` is the compared property, such as the model. ``what`` describes both sides, and ``fix`` the remedy.
    """

    subject: str
    what: str
    fix: str


@dataclass(frozen=True)
class Unseen(JsonObject):
    """A part of a device, such as the cable of a port, that could not be compared with the design.

    ``subject`` is the compared property, such as ``cables``. ``what`` is the name of the part, and ``why`` the reason.
    """

    subject: str
    what: str
    why: str


@dataclass(frozen=True)
class ComparedDevice(JsonObject):
    """The result of comparing a device with the design and the inventory. A subject is a compared property, such as its model or its cables.

    - ``serial``: the serial number that the device reports; empty if it reports none.
    - ``right``: by subject, the number of matches (for example, of correct cables).
    - ``allowed``: the subjects that may stay unseen.
    """

    device: str
    serial: str
    right: Mapping[str, int]
    differences: tuple[Difference, ...]
    unseen: tuple[Unseen, ...]
    allowed: frozenset[str] = frozenset()

    JSON = ("device", "good", "serial", "subjects", "differences", "unseen", "refused")

    @property
    def good(self) -> bool:
        """True if everything was seen and matches. Subjects in ``allowed`` need not be seen."""
        return not self.refused

    @property
    def refused(self) -> list[str]:
        """The reasons why the device is not acknowledged, each with its remedy."""
        reasons = [f"{each.what}: {each.fix}" for each in self.differences]
        missing = dict.fromkeys(each.subject for each in self.unseen if each.subject not in self.allowed)
        return reasons + [
            f"{subject} not seen: {some(f'{each.what} ({each.why})' for each in self.unseen if each.subject == subject)}"
            for subject in missing
        ]

    @property
    def subjects(self) -> list[dict[str, str | int]]:
        """For each subject (a compared property), the numbers of right, wrong and unseen parts, for JSON."""
        rows = [
            {
                "subject": subject,
                "right": self.right.get(subject, 0),
                "wrong": sum(each.subject == subject for each in self.differences),
                "not_seen": sum(each.subject == subject for each in self.unseen),
            }
            for subject in SUBJECTS
        ]
        return [row for row in rows if row["right"] or row["wrong"] or row["not_seen"]]


def acknowledge(fabric: RunningFabric, names: Sequence[str], allow_unseen: Sequence[str]) -> list[ComparedDevice]:
    """Compare switches with the design and the inventory, and return the comparisons. Switches that match are entered in the journal.

    ``allow_unseen`` has the subjects (``SUBJECTS``, for example ``cables``) that a switch need not report. Raises
    ``InputError`` if a name or a subject is unknown, and ``OutputError`` if the journal cannot be written.
    """
    if unknown := [name for name in allow_unseen if name not in SUBJECTS]:
        fix = f"subjects: {', '.join(SUBJECTS)}"
        raise InputError([Problem(Option("--allow-unseen", name), "there is no such subject", fix) for name in unknown])
    network = fabric.network()
    with in_force(network.catalog):
        site = fabric.site_of(network)
        _check_names(network, site, names)
        near = {
            end.device for name in names for cable in site.network.cables_of(name) for end in (cable.a, cable.b)
        } & site.asked.keys()
        fabric.say(f"asking {', '.join(names)}, and the switches at the other ends of their cables")
        reported, silent = asyncio.run(states(site, sorted(near | set(names)), attempts=site.attempts))
        reported = {name: site.visible.switch(state) for name, state in reported.items()}
        comparison = _Comparison(site, reported, silent)
        compared = [replace(comparison.device(name), allowed=frozenset(allow_unseen)) for name in names]
    good = [each for each in compared if each.good]
    if good:
        with journal.at_work(fabric.path) as rows:
            for each in good:
                rows.acknowledge(each.device, network.switch(each.device).serial, [part.what for part in each.unseen])
    return compared


def acknowledged(fabric: Path, network: Network) -> frozenset[str]:
    """Return the switches that are acknowledged in the journal with the serial number that the inventory has for them now."""
    with journal.opened(fabric) as rows:
        serials = {each.device: each.serial for each in rows.acknowledgements()}
    return frozenset(switch.name for switch in network.switches if serials.get(switch.name) == switch.serial)


def _check_names(network: Network, site: Site, names: Sequence[str]) -> None:
    switches = {switch.name for switch in network.switches}
    problems: list[Problem] = []
    for name in names:
        if name not in switches:
            fix = "name switches as cabling.csv has them"
            problems.append(Problem(Argument("what"), f"the network has no switch {name!r}", fix))
        elif name in site.network.absent:
            fix = "take its line out of `status:` once it is cabled and has booted"
            problems.append(Problem(Argument("what"), f"{name} is planned or failed in the fabric file", fix))
    if problems:
        raise InputError(problems)


class _Comparison:
    """The comparison of devices with the design, from the reported states of the devices and their neighbors."""

    def __init__(self, site: Site, reported: Mapping[str, DeviceState], silent: Mapping[str, str]) -> None:
        self._site, self._network = site, site.network
        self._reported, self._silent = reported, silent
        down = site.network.absent
        self._wanted: dict[End, Port] = {
            (port.device, port.name): port
            for config in site.configs.values()
            for port in ports(site.network, config, down)
            if port.kind != "external"
        }
        self._cables = seen_cables(site.network, self._wanted, reported, {})
        self._not_shown = not_asked({switch.nos for switch in site.network.switches}, site.visible)

    def device(self, name: str) -> ComparedDevice:
        """Return the comparison of one device with the design and the inventory."""
        state = self._reported.get(name)
        if state is None:
            why = f"{name} did not answer: {self._silent.get(name, 'no answer')}"
            return ComparedDevice(name, "", {}, (), tuple(Unseen(each, each, why) for each in SUBJECTS[:4]))
        right: dict[str, int] = {}
        differences: list[Difference] = []
        unseen: list[Unseen] = []
        for part in (*self._identity(name, state), *self._cabling(name, self._cables)):
            if isinstance(part, Difference):
                differences.append(part)
            elif isinstance(part, Unseen):
                unseen.append(part)
            else:
                right[part] = right.get(part, 0) + 1
        serial = (state.identity.serial if state.identity else None) or ""
        return ComparedDevice(name, serial, right, tuple(differences), tuple(unseen))

    def _identity(self, name: str, state: DeviceState) -> Iterator[str | Difference | Unseen]:
        """Yield three results: for the host name, the model and the serial number of a device.

        A result is the name of the property if the property matches. Otherwise it is a ``Difference``, or an ``Unseen`` if the device does
        not report the property.
        """
        designed, identity = self._network.switch(name), state.identity
        host_name, model, serial = (
            (identity.host_name, identity.model, identity.serial) if identity else (None, None, None)
        )
        reasons = self._not_shown.get(state.system, {})
        if not host_name:
            yield Unseen(HOST_NAME, "host name", "the device does not report it")
        elif short(host_name) != short(name):
            fix = f"find out which device answers at {self._site.asked[name].target.way.address}, and boot it again as {name}"
            yield Difference(HOST_NAME, f"{name} reports the host name {host_name}, the design has {name}", fix)
        else:
            yield HOST_NAME
        if not model:
            yield Unseen(MODELS, "model", reasons.get(_FIELDS[MODELS], "the device does not report it"))
        elif not same_model(model, designed.model):
            yield Difference(MODELS, f"{name} is a {model}, the design has a {designed.model}", MODEL.fix)
        else:
            yield MODELS
        if not serial:
            yield Unseen(SERIAL, "serial number", reasons.get(_FIELDS[SERIAL], "the device does not report it"))
        elif serial != designed.serial:
            yield self._serial(name, serial, designed.serial)
        else:
            yield SERIAL

    def _serial(self, name: str, serial: str, wanted: str) -> Difference:
        owner = next((other.name for other in self._network.switches if other.serial == serial), "")
        has = f"the inventory has {wanted}" if wanted else f"the inventory has no serial number of {name}"
        if owner:
            has = f"{has}, and {serial} is that of {owner}"
            fix = f"exchange the two devices, or the serial numbers of {name} and {owner} in the inventory, and boot both again"
        elif wanted:
            fix = f"if this device is to be {name}, `railweave deploy replace FABRIC {name} --serial {serial}` writes it into the inventory"
        else:
            fix = f"if this device is to be {name}, write {serial} into the column `serial` of the inventory (`railweave inventory fill`)"
        return Difference(SERIAL, f"{name} has serial number {serial}, {has}", fix)

    def _cabling(self, name: str, cables: SeenCables) -> Iterator[str | Difference | Unseen]:
        """Yield a result for each cable of a device.

        The result is ``cables`` or ``server-cables`` if LLDP shows the designed connection at either end. Otherwise it is a
        ``Difference`` or an ``Unseen``.
        """
        ports_here = {end: port for end, port in self._wanted.items() if end[0] == name}
        elsewhere = {end: there for end, there in cables.wrong.items() if end[0] == name}
        elsewhere |= {there: end for end, there in cables.wrong.items() if there[0] == name}
        right = {end for end in ports_here if end in cables.right or cables.ends[end] in cables.right}
        if other := self._place_of(ports_here, elsewhere, right):
            first = next(iter(elsewhere))
            place = (
                f"{name} is cabled in the place of {other}: each of the {len(elsewhere)} cables that LLDP shows belongs to "
                f"{other}, for example {first[1]} to {' '.join(elsewhere[first])}, the design has {_far(ports_here[first])}"
            )
            fix = f"exchange {name} and {other}, or their serial numbers in the inventory, and boot both again"
            yield Difference(CABLES, place, fix)
            return
        reported: set[End] = set()
        for ends, deviation in cables.misplaced():
            mine = {end for end in ends if end[0] == name} | {
                cables.ends[end] for end in ends if cables.ends.get(end, ("", ""))[0] == name
            }
            if mine:
                reported |= mine
                fix = deviation.fix or deviation.rule.fix
                subject = (
                    CABLES
                    if any(ports_here[end].kind == "fabric" for end in mine & ports_here.keys())
                    else SERVER_CABLES
                )
                yield Difference(subject, f"{deviation.device}: {deviation.what}", fix)
        for end, port in ports_here.items():
            subject = CABLES if port.kind == "fabric" else SERVER_CABLES
            if end in right:
                yield subject
            elif end not in reported:
                yield Unseen(subject, f"{port.name} to {_far(port)}", self._dark(port))

    def _place_of(self, ports_here: Collection[End], elsewhere: Mapping[End, End], right: Collection[End]) -> str:
        """Return the other switch whose place the compared switch probably took by mistake; empty if there is none.

        - ``ports_here``: the ports of the compared switch that should have a cable.
        - ``elsewhere``: by port, the far end that LLDP shows, if it is not the designed one.
        - ``right``: the ports whose cables match the design. If any port's cable does, the result is empty.
        """
        if len(elsewhere) < 2 or right or not elsewhere.keys() <= set(ports_here):
            return ""
        by_device: dict[str, dict[str, End]] = {}
        for (device, port), there in self._cables.ends.items():
            by_device.setdefault(device, {})[port] = there
        shown = {port: there for (_, port), there in elsewhere.items()}
        return next((device for device, ends in by_device.items() if shown.items() <= ends.items()), "")

    def _dark(self, port: Port) -> str:
        """Return the reason why the cable of a port was not seen, such as ``the port is down``."""
        state = self._reported[port.device]
        interface = of_port(state.interfaces or {}, port.said_as)
        if interface is not None and interface.oper_up is False:
            return "the port is down"
        if port.peer in self._silent:
            return f"no LLDP neighbor is received, and {port.peer} did not answer: {self._silent[port.peer]}"
        unclear = [
            end for end in ((port.device, port.name), (port.peer, port.peer_port)) if end in self._cables.unclear
        ]
        if unclear:
            return f"the LLDP neighbor of {' '.join(unclear[0])} does not say which port it is"
        return "no LLDP neighbor is received at either end"


def _far(port: Port) -> str:
    return f"{port.peer} {port.peer_port}"
