"""What a campaign breaks, turn by turn: faults that overlap in the scenario are one turn, and how long each lasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.operations.deploy.campaign.broken import BY_CONFIGURATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.fault_targets import FaultTarget

PS_PER_S = 10**12


@dataclass(frozen=True)
class Turn:
    """Faults that happen together, for so many seconds: those of the scenario, but never less than a switch and its sessions take."""

    targets: tuple[FaultTarget, ...]
    seconds: float

    @property
    def name(self) -> str:
        """What is broken, for people."""
        return " + ".join(f"{one.fault.kind} {aimed(one)}" for one in self.targets)

    @property
    def commands(self) -> tuple[FaultTarget, ...]:
        """Those that are commands, not configuration."""
        return tuple(one for one in self.targets if one.fault.kind not in BY_CONFIGURATION)


def aimed(target: FaultTarget) -> str:
    """What a fault is aimed at."""
    fault = target.fault
    words = [one for one in (fault.link, fault.nic, fault.device, fault.daemon) if one]
    return " ".join(words) + (f" to {fault.neighbor}" if fault.neighbor else "")


def turns(targets: Sequence[FaultTarget], least_s: float) -> list[Turn]:
    """Faults by when they begin. One without an end of its own ends before the next begins."""
    groups: list[list[FaultTarget]] = []
    until = -1
    for one in sorted(targets, key=lambda target: target.fault.at):
        if groups and one.fault.at < until:
            groups[-1].append(one)
        else:
            groups.append([one])
            until = -1
        until = max(until, one.fault.end_ps or -1)
    return [Turn(tuple(group), max(least_s, _seconds(group))) for group in groups]


def _seconds(group: Sequence[FaultTarget]) -> float:
    return max(((one.fault.end_ps or one.fault.at) - one.fault.at) / PS_PER_S for one in group)
