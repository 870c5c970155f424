"""Comparison of two networks: devices, servers, cables, and every rendered statement."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from railweave.counting import counted
from railweave.json_values import JsonObject
from railweave.model.catalog import catalog
from railweave.model.config.compare import Change, compare
from railweave.model.config.tree import Command, ConfigTree, Step
from railweave.model.device.build import device_config
from railweave.model.device.host import host_configs
from railweave.model.findings.registry import Rule
from railweave.outputs.rendering import host
from railweave.outputs.rendering.host.cluster import cluster_files
from railweave.outputs.rendering.network import EMULATION, targets
from railweave.outputs.report.bom import bill
from railweave.pages.table import Table, columns
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.model.device.host_model import HostConfig
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.network.devices import Cable, End
    from railweave.model.network.model import Network

    Attributes = Mapping[str, str]
    Changes = dict[str, tuple[str, str]]
    """The old and the new value of each attribute that differs, by attribute name. A missing value is empty."""


class CableWork(NamedTuple):
    """A cable that a technician must touch: both ends before and after, as ``DEVICE:PORT``, and the labels of the new cable.

    A ``place`` is a rack and unit. The actions are:

    - ``lay`` and ``remove``: the cable is in only one of the networks.
    - ``move``: an end moves to a different port, or the device at an end moves to a different rack. The length is unchanged.
    - ``replace``: the cable needs a different length.
    - ``optics``: the cable stays, and its optics or speed change.
    """

    action: str
    old_a: str
    old_a_place: str
    old_a_optic: str
    old_b: str
    old_b_place: str
    old_b_optic: str
    old_length_m: str
    old_speed_gbps: str
    new_a: str
    new_a_place: str
    new_a_optic: str
    new_b: str
    new_b_place: str
    new_b_optic: str
    new_length_m: str
    new_speed_gbps: str
    label_a: str = ""
    label_b: str = ""


class BillChange(NamedTuple):
    """A line of the bill of materials whose count differs between the two networks."""

    kind: str
    name: str
    before: int
    after: int


def attributes(network: Network) -> dict[str, Attributes]:
    """Return the attributes of each cable by cable name, such as its length and optics. Cables to external routers are included."""
    by_cable = {cable.name: _attributes(network, cable) for cable in network.cables}
    for fabric, _, router, link in network.external_links():
        at = {**_place(network, link.leaf, "a_"), **_place(network, router.name, "b_")}
        by_cable[f"{link.leaf}:{link.port}--{router.name}"] = {
            "kind": "external",
            "fabric": fabric.name,
            "speed_gbps": str(link.speed_gbps),
            **at,
        }
    return by_cable


def _attributes(network: Network, cable: Cable) -> Attributes:
    color = "" if cable.color is None else network.fabric(cable.fabric).color_name(cable.color)
    return {
        "kind": cable.kind,
        "fabric": cable.fabric,
        "speed_gbps": str(cable.speed_gbps),
        "length_m": f"{cable.length_m:g}",
        "length_is": "measured" if cable.measured else "planned",
        "delay_us": _text(cable.delay_us),
        "color": color,
        "prefix_length": _text(cable.prefix_length),
        **_end(network, "a", cable.a),
        **_end(network, "b", cable.b),
    }


def _end(network: Network, side: str, end: End) -> dict[str, str]:
    values = {
        "optic": end.optic,
        "lanes": end.lanes,
        "address": end.address,
        "physical": end.physical,
        "channel": end.channel,
    }
    return {
        **{f"{side}_{key}": _text(value) for key, value in values.items()},
        **_place(network, end.device, f"{side}_"),
    }


def _text(value: str | int | None) -> str:
    return "" if value is None else str(value)


def _place(network: Network, device: str, before: str = "") -> dict[str, str]:
    place = network.positions.get(device)
    return {f"{before}rack": place.rack if place else "", f"{before}unit": str(place.unit) if place else ""}


def differing(old: Attributes, new: Attributes) -> Changes:
    """Return the attributes that differ, each with (old value, new value). A missing value is empty."""
    keys = dict.fromkeys((*old, *new))
    return {key: (was, now) for key in keys if (was := old.get(key, "")) != (now := new.get(key, ""))}


def device_changes(old: Network, new: Network) -> dict[str, Changes]:
    """Return the changes of each device that is in both ``old`` and ``new``: rack, unit and serial number; for switches also model and release."""
    before, after = _devices(old), _devices(new)
    by_device = {name: differing(was, after[name]) for name, was in before.items() if name in after}
    return {name: changes for name, changes in by_device.items() if changes}


def _devices(network: Network) -> dict[str, Attributes]:
    by_device: dict[str, Attributes] = {
        switch.name: {"model": switch.model, "release": switch.release, "serial": switch.serial}
        for switch in network.switches
    }
    by_device |= {server.name: {"serial": server.serial} for server in network.servers}
    return {name: {**own_attributes, **_place(network, name)} for name, own_attributes in by_device.items()}


def bill_changes(old: Network, new: Network) -> tuple[BillChange, ...]:
    """Return the lines of the bill of materials whose counts differ between ``old`` and ``new``, by kind and name."""
    before, after = ({(line.kind, line.name): line.count for line in bill(network)} for network in (old, new))
    return tuple(
        BillChange(*key, before.get(key, 0), after.get(key, 0))
        for key in dict.fromkeys((*before, *after))
        if before.get(key, 0) != after.get(key, 0)
    )


def cable_work(old: Network, new: Network) -> Iterator[CableWork]:
    """Yield the technician's tasks that turn ``old`` into ``new``: first for the cables of ``old``, in their order, then for new cables."""
    before, after = ({cable.name: cable for cable in network.cables} for network in (old, new))
    added = {
        (end.device, end.port): new_cable
        for new_cable in after.values()
        if new_cable.name not in before
        for end in (new_cable.a, new_cable.b)
    }
    moved: set[str] = set()
    for name, cable in before.items():
        other = after.get(name)
        if other is None:
            ends = (added.get((end.device, end.port)) for end in (cable.a, cable.b))
            other = next((end for end in ends if end is not None and end.name not in moved), None)
            moved |= {other.name} if other else set()
        action = _action(old, new, cable, other)
        if action:
            yield CableWork(action, *_sides(old, cable), *_sides(new, other), *(other.labels if other else ()))
    for name, cable in after.items():
        if name not in before and name not in moved:
            yield CableWork("lay", *_sides(old, None), *_sides(new, cable), *cable.labels)


def work_csv(work: Sequence[CableWork]) -> str:
    """Return the technician's tasks as CSV with a header line. ``CableWork`` has the columns."""
    return Table(columns(*CableWork._fields), work).as_csv()


def _action(old: Network, new: Network, cable: Cable, other: Cable | None) -> str:
    """Return the action that turns ``cable`` of ``old`` into ``other`` of ``new``, such as ``move``; empty if no one needs to touch the cable.

    ``other`` is None if the new network has no such cable.
    """
    if other is None:
        return "remove"
    if cable.length_m != other.length_m:
        return "replace"
    stands = all(old.positions.get(end.device) == new.positions.get(end.device) for end in (cable.a, cable.b))
    if cable.name != other.name or not stands:
        return "move"
    alike = cable.speed_gbps == other.speed_gbps and (cable.a.optic, cable.b.optic) == (other.a.optic, other.b.optic)
    return "" if alike else "optics"


def _sides(network: Network, cable: Cable | None) -> tuple[str, str, str, str, str, str, str, str]:
    """Return a flat tuple of eight texts about a cable; all are empty if there is no cable.

    The texts are: end ``a``, its rack and unit, and its optic; the same three for end ``b``; the length in metres; the speed in Gb/s.
    """
    if cable is None:
        return ("", "", "", "", "", "", "", "")
    ends: list[tuple[str, str, str]] = []
    for end in (cable.a, cable.b):
        place = network.positions.get(end.device)
        ends.append((f"{end.device}:{end.port}", f"{place.rack} {place.unit}" if place else "", end.optic))
    return (*ends[0], *ends[1], f"{cable.length_m:g}", str(cable.speed_gbps))


if TYPE_CHECKING:
    Hosts = tuple[dict[str, HostConfig], dict[str, HostConfig]]
    """The configuration of every server, old and new."""


@dataclass(frozen=True)
class FileChange:
    """The change of one file of a switch. ``commands`` turn the old file into the new one: they are lines, or operations of a JSON patch."""

    system: str
    file: str
    commands: tuple[Command, ...]
    inverse: tuple[Command, ...]
    """The commands that reverse the change."""
    disrupts: tuple[dict[str, str], ...]
    """The statements that disrupt traffic, each with the keys ``statement``, ``what`` (what it disrupts), ``why`` and ``source``."""
    refused: tuple[dict[str, str], ...] = ()
    """The statements that the system does not accept as commands, with the keys ``statement``, ``why``, ``instead`` (alternative), ``source``."""


@dataclass(frozen=True)
class DeviceDiff:
    """The changes of one switch.

    - ``change``: ``changed``, ``new`` or ``gone``.
    - ``junos``: the commands for Junos. ``removed``, ``added``: the lines of other systems, by system.
    - ``changes``: every changed file. It is set only for a switch that keeps its operating system; other switches get whole
      files.
    """

    device: str
    change: str
    junos: tuple[str, ...] = ()
    removed: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    added: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    changes: tuple[FileChange, ...] = ()
    systems: tuple[str, str] = ("", "")
    """The operating systems before and after the change. An entry is empty if the switch does not exist at that time."""

    @property
    def reason(self) -> str:
        """The reason why commands cannot change the old configuration into the new one; empty if they can."""
        before, after = self.systems
        if self.change == "new":
            return f"{self.device} is new: it takes its whole configuration, which `railweave build` writes"
        if self.change == "gone":
            return f"{self.device} is gone: nothing is typed on it"
        if before != after:
            return (
                f"{self.device} goes from {before} to {after}: it takes its whole configuration, "
                "which `railweave build` writes"
            )
        return ""


CHANGED = Rule(
    "design-change",
    "warning",
    "design",
    "a part of the network differs between two designs",
    why="the change is what `railweave diff` compares",
    fix="if the change is meant, nothing is to be done",
)


@dataclass(frozen=True)
class NetworkDiff(JsonObject):
    """The changes between two networks; empty if they are the same.

    ``servers`` has the changed lines by server. ``cables_removed`` and ``cables_added`` have the names of cables.
    """

    JSON = (
        "equal",
        "devices",
        "servers",
        "cables_removed",
        "cables_added",
        "shared",
        "cables_changed",
        "devices_changed",
        "bill",
        "cable_work",
    )

    devices: tuple[DeviceDiff, ...]
    servers: dict[str, tuple[str, ...]]
    cables_removed: tuple[str, ...]
    cables_added: tuple[str, ...]
    shared: dict[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    """The changed lines of the files that all servers share, by file name."""
    cables_changed: dict[str, Changes] = field(default_factory=dict[str, "Changes"])
    """The changed attributes of each cable that is in both networks, as (old, new), for example length, optics and racks."""
    devices_changed: dict[str, Changes] = field(default_factory=dict[str, "Changes"])
    """The changed attributes of each device that is in both networks: rack, unit and serial number; for switches also model and release."""
    bill: tuple[BillChange, ...] = ()
    """The lines of the bill of materials whose counts differ."""
    cable_work: tuple[CableWork, ...] = ()
    """The technician's tasks: each cable to lay, remove, move or replace, or whose optics change."""

    @property
    def equal(self) -> bool:
        """True if nothing changes."""
        cables = self.cables_removed or self.cables_added or self.cables_changed
        return not (self.devices or self.servers or self.shared or cables or self.devices_changed or self.bill)

    def as_findings(self) -> list[Finding]:
        """Return a finding of severity warning for each change, so that a CI pipeline can read the changes like the findings of checks.

        The changes are those of switches, servers, files that all servers share, cables and the bill of materials.
        """
        changes = [(device.device, f"the switch is {device.change}") for device in self.devices]
        for name, lines in (*self.servers.items(), *self.shared.items()):
            changes.append((name, f"{counted(len(lines), 'line')} changed: {'; '.join(lines)}"))
        for name, attributes in (*self.devices_changed.items(), *self.cables_changed.items()):
            changes.append((name, f"changed: {_changed(attributes)}"))
        changes += [(cable, "the cable is new") for cable in self.cables_added]
        changes += [(cable, "the cable is gone") for cable in self.cables_removed]
        for line in self.bill:
            changes.append((f"{line.kind} {line.name}", f"the count changes from {line.before} to {line.after}"))
        return [CHANGED.finding(where, description) for where, description in changes]

    def lines(self) -> list[str]:
        """Return the differences as text: a summary, then a block for each device."""
        counts = {
            kind: sum(1 for device in self.devices if device.change == kind) for kind in ("changed", "new", "gone")
        }
        parts = [f"{counted(number, 'switch', 'switches')} {kind}" for kind, number in counts.items() if number]
        parts += [f"{counted(len(self.servers), 'server', 'servers')} changed"] if self.servers else []
        places = len(self.devices_changed)
        parts += [f"{counted(places, 'device')} with another place or model"] if places else []
        cables = (("more", self.cables_added), ("fewer", self.cables_removed), ("changed", self.cables_changed))
        parts += [f"{counted(len(names), 'cable', 'cables')} {word}" for word, names in cables if names]
        work = Counter(task.action for task in self.cable_work)
        parts += [f"cables to touch: {', '.join(f'{count:,} {name}' for name, count in work.items())}"] if work else []
        lines: list[str] = [] if self.equal else ["; ".join(parts)]
        for device in self.devices:
            lines.append(f"{device.device}: {device.change}")
            lines += [f"  {line}" for line in device.junos]
            if not device.junos:
                for target in sorted({*device.removed, *device.added}):
                    lines += [f"  - {line}" for line in device.removed.get(target, ())]
                    lines += [f"  + {line}" for line in device.added.get(target, ())]
        for server, changes in self.servers.items():
            lines.append(f"{server}:")
            lines += [f"  {line}" for line in changes]
        for file, changes in self.shared.items():
            lines.append(f"hosts/{file}:")
            lines += [f"  {line}" for line in changes]
        lines += [f"- cable {name}" for name in self.cables_removed]
        lines += [f"+ cable {name}" for name in self.cables_added]
        lines += [
            f"~ device {name}: {_changed(changed_fields)}" for name, changed_fields in self.devices_changed.items()
        ]
        lines += [f"~ cable {name}: {_changed(changed_fields)}" for name, changed_fields in self.cables_changed.items()]
        lines += [f"~ bill: {change.kind} {change.name}: {change.before:,} -> {change.after:,}" for change in self.bill]
        return lines

    def cable_lines(self) -> list[str]:
        """Return the technician's tasks as CSV with a header line. The result is empty if no cable needs to be touched."""
        return work_csv(self.cable_work).splitlines() if self.cable_work else []

    def junos_lines(self) -> list[str]:
        """Return the changes as Junos commands. A comment with the device's name precedes the commands of each device.

        A device without commands has a comment with the reason.
        """
        lines: list[str] = []
        for device in self.devices:
            if device.junos:
                lines += [f"# {device.device}", *device.junos]
            elif device.reason and any(
                catalog().systems[system_name].set_form for system_name in device.systems if system_name
            ):
                lines.append(f"# {device.reason}")
        return lines

    def command_lines(self, system: str) -> list[str]:
        """Return the commands that change the switches of one operating system, ``system``, such as ``eos``.

        A comment with the name of the switch precedes the commands of each switch. ``frr`` also selects the file ``frr.conf`` of SONiC
        switches, and the configurations with which the lab runs switches of other systems. If commands cannot change a switch, the switch
        has a comment with the reason instead (see ``DeviceDiff.reason``).
        """
        lines: list[str] = []
        for device in self.devices:
            wanted = [
                change for change in device.changes if system in {change.system, change.file.removesuffix(".conf")}
            ]
            commands = [str(line) for file_change in wanted for line in file_change.commands]
            lines += [f"! {device.device}", *commands] if commands else []
            if not commands and device.reason and (system in device.systems or system == EMULATION):
                lines.append(f"! {device.reason}")
        return lines

    def patches(self, system: str, file: str) -> dict[str, list[Command]]:
        """Return the patches of one file of an operating system, by device."""
        return {
            device.device: list(change.commands)
            for device in self.devices
            for change in device.changes
            if (change.system, change.file) == (system, file)
        }

    def not_as_patches(self, system: str, file: str) -> list[str]:
        """Return notes about changes that the patches of a file do not include.

        They are about statements that the system rejects, changes of other files, and switches without a patch.
        """
        notes: list[str] = []
        for device in self.devices:
            changes = [change for change in device.changes if change.system == system]
            for file_change in changes:
                if file_change.file != file:
                    notes.append(
                        f"{device.device}: {file_change.file} changes too: `--as {file_change.file.removesuffix('.conf')}` has it"
                    )
                notes += _refused_lines(device.device, file_change)
            if system in device.systems and device.reason:
                notes.append(device.reason)
        return notes


def _changed(differences: Changes) -> str:
    return ", ".join(f"{key} {was or 'none'} -> {now or 'none'}" for key, (was, now) in differences.items())


def _refused_lines(device: str, change: FileChange) -> list[str]:
    """Return lines about the statements of a switch's ``change`` that its system rejects; empty if there are none.

    Each line has a reason, the first statement with this reason, and the number of further ones. The last line has the alternative.
    """
    by_why: dict[str, list[str]] = {}
    for refusal in change.refused:
        by_why.setdefault(refusal["why"], []).append(refusal["statement"])
    lines = [
        f"{device}: {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {why}"
        for why, names in by_why.items()
    ]
    return [*lines, f"{device}: the patch is refused as a whole: {change.refused[0]['instead']}"] if lines else []


def diff(old: Network, new: Network) -> NetworkDiff:
    """Return the changes that turn ``old`` into ``new``."""
    before, after = {s.name for s in old.switches}, {s.name for s in new.switches}
    devices = [
        device
        for name in (*(s.name for s in old.switches), *(s.name for s in new.switches if s.name not in before))
        if (device := _device(old if name in before else None, new if name in after else None, name)) is not None
    ]
    hosts = host_configs(old), host_configs(new)
    was, now = attributes(old), attributes(new)
    same = {
        name: changes
        for name, old_attributes in was.items()
        if name in now and (changes := differing(old_attributes, now[name]))
    }
    return NetworkDiff(
        tuple(devices),
        _servers(old, new, hosts),
        tuple(name for name in was if name not in now),
        tuple(name for name in now if name not in was),
        _shared_files(old, new),
        same,
        device_changes(old, new),
        bill_changes(old, new),
        tuple(cable_work(old, new)),
    )


def _device(old: Network | None, new: Network | None, name: str) -> DeviceDiff | None:
    configs: dict[str, list[DeviceConfig | None]] = {}
    for side, network in enumerate((old, new)):
        if network is not None:
            for target in targets(network.switch(name)):
                configs.setdefault(target, [None, None])[side] = device_config(network, name, target)
    commands: tuple[str, ...] = ()
    removed: dict[str, tuple[str, ...]] = {}
    added: dict[str, tuple[str, ...]] = {}
    changes: list[FileChange] = []
    for target, (before, after) in configs.items():
        if before == after:
            continue
        if before is not None and after is not None:
            changes += _file_changes(target, before, after)
        if catalog().systems[target].set_form:
            if before is None and after is not None:
                commands = tuple(line for tree in system(target).trees(after).values() for line in _whole(tree))
            continue
        lines = [system(target).lines(config) if config else [] for config in (before, after)]
        gone, come = _minus(lines[0], lines[1]), _minus(lines[1], lines[0])
        removed |= {target: gone} if gone else {}
        added |= {target: come} if come else {}
    commands += tuple(
        str(line) for change in changes if catalog().systems[change.system].set_form for line in change.commands
    )
    change = "new" if old is None else "gone" if new is None else "changed"
    if new is None:  # its configuration is of no use to anyone
        removed = {}
    if change == "changed" and not (commands or removed or added or changes):
        return None
    systems = (old.switch(name).nos if old else "", new.switch(name).nos if new else "")
    return DeviceDiff(name, change, commands, removed, added, tuple(changes), systems)


def _file_changes(target: str, before: DeviceConfig, after: DeviceConfig) -> list[FileChange]:
    old, new = system(target).trees(before), system(target).trees(after)
    changes = {file: compare(old[file], tree) for file, tree in new.items()}
    return [
        FileChange(
            target,
            file,
            tuple(change.commands),
            tuple(change.inverse.commands),
            _disrupts(change),
            tuple(
                {
                    "statement": refusal.step.path,
                    "why": refusal.why,
                    "instead": refusal.instead,
                    "source": refusal.source,
                }
                for refusal in change.refused
            ),
        )
        for file, change in changes.items()
        if change
    ]


def _whole(tree: ConfigTree) -> list[str]:
    """Return the commands that create all statements of a configuration tree on a device that has none of them."""
    steps = [Step("add", (), node, (at,)) for at, node in enumerate(tree.nodes)]
    return [str(line) for line in tree.commands(steps)]


def _disrupts(change: Change) -> tuple[dict[str, str], ...]:
    return tuple(
        {"statement": step.path, "what": row.what, "why": row.why, "source": row.source}
        for step, row in change.disrupts
    )


def _minus(lines: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    known = set(other)
    return tuple(line for line in lines if line not in known)


def _servers(old: Network, new: Network, hosts: Hosts) -> dict[str, tuple[str, ...]]:
    """Return, by server name, the lines that differ between ``old`` and ``new``. Servers without differences are left out.

    The lines are about the server's NICs, addresses, cabling and files.
    """
    shapes = [
        {server.name: _server_lines(network, server.name) for server in network.servers} for network in (old, new)
    ]
    result: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys((*shapes[0], *shapes[1])):
        before, after = shapes[0].get(name, []), shapes[1].get(name, [])
        changes = [f"- {line}" for line in _minus(before, after)] + [f"+ {line}" for line in _minus(after, before)]
        if before and after:
            changes += _host_files(hosts[0][name], hosts[1][name])
        if changes:
            result[name] = tuple(changes)
    return result


def _shared_files(old: Network, new: Network) -> dict[str, tuple[str, ...]]:
    """Return the lines that differ between ``old`` and ``new`` in each file that all servers share, by file name."""
    before, after = cluster_files(old), cluster_files(new)
    result: dict[str, tuple[str, ...]] = {}
    for file in dict.fromkeys((*before, *after)):
        was, now = before.get(file, "").splitlines(), after.get(file, "").splitlines()
        if was != now:
            lines = (*(f"- {line}" for line in _minus(was, now)), *(f"+ {line}" for line in _minus(now, was)))
            result[file] = lines or ("lines change places",)
    return result


def _host_files(config: HostConfig, other: HostConfig) -> list[str]:
    """Return the changed lines of a server's files. ``host.json`` is left out, because it repeats the content of the other files."""
    if config == other:
        return []
    before, after = host.files(config), host.files(other)
    lines: list[str] = []
    for file in dict.fromkeys((*before, *after)):
        was, now = before.get(file, "").splitlines(), after.get(file, "").splitlines()
        if was != now:
            lines.append(f"{file} changes")
            if file != "host.json":
                lines += [f"- {file}: {line.strip()}" for line in _minus(was, now)]
                lines += [f"+ {file}: {line.strip()}" for line in _minus(now, was)]
    return lines


def _server_lines(network: Network, name: str) -> list[str]:
    server = network.server(name)
    lines = [f"model {server.model}"]
    for nic in server.nics:
        lines.append(f"{nic.name} mac {nic.mac} netdev {nic.netdev} rdma {nic.rdma}")
        lines.append(f"{nic.name} on {nic.leaf} {nic.leaf_port}" + (f" vlan {nic.vlan}" if nic.vlan else ""))
        fabric = network.fabric(nic.fabric)
        lines += [
            f"{nic.name} {fabric.color_name(address.color)} {address.address}/{address.prefix_length}"
            for address in nic.addresses
        ]
    return lines
