"""The checks of IS-IS, in the words of an operating system."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from railweave.counting import counted
from railweave.runbook.check import Check

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig


class IsisWords(NamedTuple):
    """Show commands of adjacencies and of BFD, the loopback's name, and how an interface is called, of its {port}."""

    commands: tuple[str, ...]
    bfd: str
    loopback: str
    interface: str = "{port}"


def isis_checks(config: DeviceConfig, words: IsisWords) -> list[Check]:
    """Adjacencies, and BFD where it runs; none without IS-IS."""
    found = config.isis
    if found is None:
        return []
    rows = tuple((words.interface.format(port=port.interface), port.peer, port.metric) for port in found.ports)
    points = (
        f"{counted(len(rows), 'adjacency', 'adjacencies')}, level 2, all up",
        f"network entity title {found.net}; {counted(len(found.passive), 'server port')} and {words.loopback} passive",
    )
    made = [Check("IS-IS adjacencies", words.commands, points, ("Interface", "Neighbor", "Metric"), rows)]
    if found.bfd:
        timers = f"{found.bfd.minimum_interval} ms x {found.bfd.multiplier}, down after {found.bfd.detection_ms():,} ms"
        made.append(Check("BFD", (words.bfd,), (f"{counted(len(rows), 'session')} up", timers)))
    return made
