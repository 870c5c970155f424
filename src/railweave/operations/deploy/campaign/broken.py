"""Faults as configuration: what a switch runs while a link, a NIC, a session or itself is broken on purpose.

A port that is shut and a session that is not configured are changes like any other: they are committed with the timer of ``deploy`` on the
switch, and taken back by it if nobody else does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from railweave.design.fault_targets import FaultTarget
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network

BY_CONFIGURATION = frozenset({"link-down", "nic-down", "device-down", "bgp-session-down", "bgp-down"})
"""Kinds of faults that are a change of configuration; the others of a campaign are commands (``device-reboot``, ``daemon-kill``)."""


def broken(
    network: Network, configs: Mapping[str, DeviceConfig], targets: Sequence[FaultTarget]
) -> dict[str, DeviceConfig]:
    """The configurations of the switches that change for faults which happen together; none for those that are commands."""
    found: dict[str, DeviceConfig] = {}
    for name, links in shut(network, configs, targets).items():
        if not by_command(configs[name]):
            found[name] = without_ports(configs[name], links)

    def now(name: str) -> DeviceConfig:
        return found.get(name, configs[name])

    for target in targets:
        fault = target.fault
        if fault.kind in {"bgp-session-down", "bgp-down"}:
            device = fault.device or ""
            found[device] = without_sessions(now(device), target.links, overlay=fault.kind == "bgp-down")
    return found


def shut(
    network: Network, configs: Mapping[str, DeviceConfig], targets: Sequence[FaultTarget]
) -> dict[str, tuple[str, ...]]:
    """The links that faults break, by the switch at which each is shut."""
    found: dict[str, tuple[str, ...]] = {}
    for target in targets:
        kind, device = target.fault.kind, target.fault.device or ""
        links = links_of(network, target)
        if kind == "device-down" and device in configs:
            own = {device: links}
        elif kind in {"link-down", "nic-down", "device-down"}:
            own = _ends(network, configs, links)
        else:
            own = {}
        for name, some in own.items():
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), *some)))
    return found


def ports_by_command(
    network: Network, configs: Mapping[str, DeviceConfig], targets: Sequence[FaultTarget]
) -> dict[str, tuple[str, ...]]:
    """The ports that are shut by a command, by switch: where the system's own configuration would not bring them back as they were."""
    return {
        name: tuple(one.name for one in configs[name].interfaces if one.link in links)
        for name, links in shut(network, configs, targets).items()
        if by_command(configs[name])
    }


def by_command(config: DeviceConfig) -> bool:
    """Whether the ports of a switch are shut by a command."""
    outage = system(config.nos).outage
    return outage is not None and outage.PORTS


def links_of(network: Network, target: FaultTarget) -> tuple[str, ...]:
    """The links that carry nothing while a fault lasts, by what it is aimed at."""
    device = target.fault.device
    if target.links or device is None:
        return target.links
    return tuple(one.name for one in network.cables_of(device))


def _ends(network: Network, configs: Mapping[str, DeviceConfig], links: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Links by the switch at which each is shut: the upper end, that of servers at their leaf."""
    found: dict[str, list[str]] = {}
    for cable in network.cables:
        if cable.name in links:
            end = next(one for one in (cable.b.device, cable.a.device) if one in configs)
            found.setdefault(end, []).append(cable.name)
    return {name: tuple(own) for name, own in found.items()}


def without_ports(config: DeviceConfig, links: Collection[str]) -> DeviceConfig:
    """The configuration with the ports of some links shut."""
    ports = tuple(replace(one, enabled=False) if one.link in links else one for one in config.interfaces)
    return replace(config, interfaces=ports)


def without_sessions(config: DeviceConfig, links: Collection[str], *, overlay: bool) -> DeviceConfig:
    """The configuration without the BGP sessions of some links; of the ``overlay`` too."""
    if config.bgp is not None:
        groups = tuple(
            replace(group, sessions=tuple(one for one in group.sessions if one.link not in links))
            for group in config.bgp.groups
        )
        config = replace(config, bgp=replace(config.bgp, groups=groups))
    if overlay and config.overlay is not None:
        config = replace(config, overlay=replace(config.overlay, neighbors=()))
    return config
