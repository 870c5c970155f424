"""The impact of a campaign's turns: faults as configuration changes, the switches that a turn touches, and the losses during the turn."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.errors import InputError, Option, Problem
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from railweave.design.fault_targets import FaultTarget
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


BY_CONFIGURATION = frozenset({"link-down", "nic-down", "device-down", "bgp-session-down", "bgp-down"})
"""Kinds of faults that are made by a configuration change. The other kinds are commands (``device-reboot``, ``daemon-kill``)."""


def broken(
    network: Network, configs: Mapping[str, DeviceConfig], targets: Sequence[FaultTarget]
) -> dict[str, DeviceConfig]:
    """Return the changed switch configurations for simultaneous faults. Faults that are made by commands change none."""
    changed: dict[str, DeviceConfig] = {}
    for name, links in shut(network, configs, targets).items():
        if not by_command(configs[name]):
            changed[name] = without_ports(configs[name], links)

    def now(name: str) -> DeviceConfig:
        return changed.get(name, configs[name])

    for target in targets:
        fault = target.fault
        if fault.kind in {"bgp-session-down", "bgp-down"}:
            device = fault.device or ""
            changed[device] = without_sessions(now(device), target.links, overlay=fault.kind == "bgp-down")
    return changed


def shut(
    network: Network, configs: Mapping[str, DeviceConfig], targets: Sequence[FaultTarget]
) -> dict[str, tuple[str, ...]]:
    """Return the links that the faults break, by the switch whose port to shut."""
    by_switch: dict[str, tuple[str, ...]] = {}
    for target in targets:
        kind, device = target.fault.kind, target.fault.device or ""
        links = links_of(network, target)
        if kind == "device-down" and device in configs:
            switch_links = {device: links}
        elif kind in {"link-down", "nic-down", "device-down"}:
            switch_links = _ends(network, configs, links)
        else:
            switch_links = {}
        for name, some in switch_links.items():
            by_switch[name] = tuple(dict.fromkeys((*by_switch.get(name, ()), *some)))
    return by_switch


def ports_by_command(
    network: Network, configs: Mapping[str, DeviceConfig], targets: Sequence[FaultTarget]
) -> dict[str, tuple[str, ...]]:
    """Return, by switch, the ports to shut by a command. On these systems a configuration change would not restore the ports as they were."""
    return {
        name: tuple(interface.name for interface in configs[name].interfaces if interface.link in links)
        for name, links in shut(network, configs, targets).items()
        if by_command(configs[name])
    }


def by_command(config: DeviceConfig) -> bool:
    """Return whether the ports of a switch are shut by a command."""
    outage = system(config.nos).outage
    return outage is not None and outage.PORTS


def links_of(network: Network, target: FaultTarget) -> tuple[str, ...]:
    """Return the links that carry no traffic during a fault."""
    device = target.fault.device
    if target.links or device is None:
        return target.links
    return tuple(cable.name for cable in network.cables_of(device))


def _ends(network: Network, configs: Mapping[str, DeviceConfig], links: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the links by the switch whose port to shut: the upper end, or the leaf for server links."""
    by_switch: dict[str, list[str]] = {}
    for cable in network.cables:
        if cable.name in links:
            end = next(device for device in (cable.b.device, cable.a.device) if device in configs)
            by_switch.setdefault(end, []).append(cable.name)
    return {name: tuple(cable_names) for name, cable_names in by_switch.items()}


def without_ports(config: DeviceConfig, links: Collection[str]) -> DeviceConfig:
    """Return the configuration with the ports of some links shut."""
    ports = tuple(
        replace(interface, enabled=False) if interface.link in links else interface for interface in config.interfaces
    )
    return replace(config, interfaces=ports)


def without_sessions(config: DeviceConfig, links: Collection[str], *, overlay: bool) -> DeviceConfig:
    """Return the configuration without the BGP sessions on some links. ``overlay``: remove all sessions of the overlay too."""
    if config.bgp is not None:
        groups = tuple(
            replace(group, sessions=tuple(session for session in group.sessions if session.link not in links))
            for group in config.bgp.groups
        )
        config = replace(config, bgp=replace(config.bgp, groups=groups))
    if overlay and config.overlay is not None:
        config = replace(config, overlay=replace(config.overlay, neighbors=()))
    return config


PS_PER_S = 10**12


@dataclass(frozen=True)
class Turn:
    """Faults that happen together, and their duration in seconds: the scenario's, but at least what a switch and its sessions need."""

    targets: tuple[FaultTarget, ...]
    seconds: float

    @property
    def name(self) -> str:
        """The kinds and targets of the faults, as text."""
        return " + ".join(f"{target.fault.kind} {aimed(target)}" for target in self.targets)

    @property
    def commands(self) -> tuple[FaultTarget, ...]:
        """The faults that are commands, not configuration."""
        return tuple(target for target in self.targets if target.fault.kind not in BY_CONFIGURATION)


def aimed(target: FaultTarget) -> str:
    """Return the target of a fault, as text."""
    fault = target.fault
    words = [word for word in (fault.link, fault.nic, fault.device, fault.daemon) if word]
    return " ".join(words) + (f" to {fault.neighbor}" if fault.neighbor else "")


def turns(targets: Sequence[FaultTarget], least_s: float) -> list[Turn]:
    """Group faults into turns by start time. A fault without an end ends before the next one begins."""
    groups: list[list[FaultTarget]] = []
    until = -1
    for target in sorted(targets, key=lambda target: target.fault.at):
        if groups and target.fault.at < until:
            groups[-1].append(target)
        else:
            groups.append([target])
            until = -1
        until = max(until, target.fault.end_ps or -1)
    return [Turn(tuple(group), max(least_s, _seconds(group))) for group in groups]


def _seconds(group: Sequence[FaultTarget]) -> float:
    return max(((target.fault.end_ps or target.fault.at) - target.fault.at) / PS_PER_S for target in group)


@dataclass(frozen=True)
class Radius:
    """The blast radius: the largest number of switches a turn may touch (``most``), or the only switches it may touch (``names``)."""

    most: int | None = None
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str, network: Network) -> Radius:
        """Read a radius from text: a number, or names separated by commas. Raises ``InputError``."""
        if text.isdecimal() and int(text):
            return cls(most=int(text))
        names = {word.strip() for word in text.split(",")}
        there = {switch.name for switch in network.switches}
        if unknown := sorted(names - there):
            fix = "give a number of switches, or names of cabling.csv with commas between"
            description = f"{unknown[0]!r} is neither a number nor a switch"
            raise InputError([Problem(Option("--blast-radius"), description, fix)])
        return cls(names=frozenset(names))

    def beyond(self, touched: Sequence[str]) -> str:
        """Return why a turn that touches these switches exceeds the radius; empty if it does not."""
        if self.most is not None and len(touched) > self.most:
            return f"it touches {counted(len(touched), 'switch', 'switches')} ({', '.join(touched[:3])}), and the blast radius is {self.most}"
        if self.names and (others := [switch for switch in touched if switch not in self.names]):
            return f"it touches {', '.join(others[:3])}, outside the blast radius"
        return ""


def touched(network: Network, configs: Mapping[str, DeviceConfig], turn: Turn) -> tuple[str, ...]:
    """Return the switches that a turn changes or restarts, or on which it ends a process."""
    by_command = [command.fault.device or "" for command in turn.commands]
    ports = ports_by_command(network, configs, turn.targets)
    return tuple(dict.fromkeys([*broken(network, configs, turn.targets), *ports, *by_command]))


def down(configs: Mapping[str, DeviceConfig], network: Network, target: FaultTarget) -> tuple[str, ...] | None:
    """Return the links and devices that are unusable during a fault, after routing has converged; None if unknown.

    If BGP restarts gracefully (RFC 4724), the end of its process makes nothing unusable.
    """
    fault = target.fault
    device = fault.device or ""
    if fault.kind == "daemon-kill":
        bgp = configs[device].bgp
        if fault.daemon != "bgpd":
            return None
        return () if bgp and bgp.graceful_restart else (device,)
    if fault.kind == "device-reboot" or (fault.kind == "device-down" and device in configs):
        return (device,)
    return links_of(network, target)


def patterns(configs: Mapping[str, DeviceConfig], network: Network, turn: Turn) -> list[str]:
    """Return the lines of ``status:`` that have the same effect as a turn."""
    lines: list[str] = []
    for target in turn.targets:
        gone = down(configs, network, target)
        lines += [target.fault.device or ""] if gone is None else gone
    return list(dict.fromkeys(lines))


def unforced(lost: Sequence[str], force: Sequence[str]) -> list[str]:
    """Return the losses that no name in ``--force`` covers."""
    words = [re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])") for name in force]
    return [line for line in lost if not any(word.search(line) for word in words)]
