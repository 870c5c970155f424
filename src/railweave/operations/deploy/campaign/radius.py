"""How far a turn of a campaign reaches: which switches it touches, and what of the network would be gone meanwhile."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.errors import InputError, Option, Problem
from railweave.operations.deploy.campaign.broken import broken, links_of, ports_by_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.design.fault_targets import FaultTarget
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.operations.deploy.campaign.turns import Turn


@dataclass(frozen=True)
class Radius:
    """What may be touched at once: ``most`` switches, or those of ``names`` alone."""

    most: int | None = None
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str, network: Network) -> Radius:
        """As it is written: a number, or names with commas between. Raises ``InputError``."""
        if text.isdecimal() and int(text):
            return cls(most=int(text))
        names = {one.strip() for one in text.split(",")}
        there = {one.name for one in network.switches}
        if unknown := sorted(names - there):
            fix = "give a number of switches, or names of cabling.csv with commas between"
            what = f"{unknown[0]!r} is neither a number nor a switch"
            raise InputError([Problem(Option("--blast-radius"), what, fix)])
        return cls(names=frozenset(names))

    def beyond(self, touched: Sequence[str]) -> str:
        """Why a turn that touches these switches reaches too far; empty where it does not."""
        if self.most is not None and len(touched) > self.most:
            return f"it touches {counted(len(touched), 'switch', 'switches')} ({', '.join(touched[:3])}), and the blast radius is {self.most}"
        if self.names and (others := [one for one in touched if one not in self.names]):
            return f"it touches {', '.join(others[:3])}, outside the blast radius"
        return ""


def touched(network: Network, configs: Mapping[str, DeviceConfig], turn: Turn) -> tuple[str, ...]:
    """The switches that a turn changes, restarts, or takes a process from."""
    by_command = [one.fault.device or "" for one in turn.commands]
    ports = ports_by_command(network, configs, turn.targets)
    return tuple(dict.fromkeys([*broken(network, configs, turn.targets), *ports, *by_command]))


def down(configs: Mapping[str, DeviceConfig], network: Network, target: FaultTarget) -> tuple[str, ...] | None:
    """The links and devices without which routing settles while a fault lasts; None where that is not known.

    Where BGP restarts gracefully (RFC 4724) nothing is gone when its process ends.
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
    """The lines of ``status:`` that would say the same as a turn does."""
    found: list[str] = []
    for one in turn.targets:
        gone = down(configs, network, one)
        found += [one.fault.device or ""] if gone is None else gone
    return list(dict.fromkeys(found))


def unforced(lost: Sequence[str], force: Sequence[str]) -> list[str]:
    """What would be gone and is not named by any word of ``--force``."""
    words = [re.compile(rf"(?<![\w-]){re.escape(one)}(?![\w-])") for one in force]
    return [line for line in lost if not any(word.search(line) for word in words)]
