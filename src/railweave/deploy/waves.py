"""In which order devices are changed, and how much of the network each wave puts at risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.counting import counted
from railweave.routing.table import UNREACHABLE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from railweave.deploy.changes import DeviceChange
    from railweave.network.devices import Switch
    from railweave.network.model import Network
    from railweave.routing.control_plane import ControlPlane

_ROLES = ("super-spine", "dci", "spine", "leaf")
"""The order of roles: what leaves open sessions to stands before them."""


@dataclass(frozen=True)
class Wave:
    """Devices that are changed together. ``why`` says what they have in common, ``risks`` what is gone while those that reset are out.

    ``refused`` says why it is more of the network than may be at risk.
    """

    devices: tuple[str, ...]
    why: str
    risks: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Its form in a plan's file."""
        return {
            "devices": list(self.devices),
            "why": self.why,
            "risks": list(self.risks),
            "refused": list(self.refused),
        }

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Wave:
        """The other way."""
        return cls(tuple(found["devices"]), found["why"], tuple(found["risks"]), tuple(found["refused"]))


@dataclass(frozen=True)
class Risk:
    """What is out while some devices are: the least share of its uplinks that a leaf keeps, the share of NICs without their leaf.

    ``lost`` are (switch, prefix) pairs that cannot be reached by routing and could before.
    """

    uplinks: float
    worst: str
    nics: float
    cut: int
    lost: int

    @property
    def unavailable(self) -> float:
        """The larger of what a leaf loses of its uplinks and the share of NICs that are cut off."""
        return max(1 - self.uplinks, self.nics)

    def lines(self) -> list[str]:
        """What a person should know."""
        found: list[str] = []
        if self.uplinks < 1:
            found.append(f"{self.worst} keeps {self.uplinks:.0%} of its uplink capacity")
        if self.cut:
            found.append(f"{counted(self.cut, 'NIC')} ({self.nics:.0%} of all) cannot be reached")
        if self.lost:
            found.append(f"{counted(self.lost, 'route')} of other leaves are gone meanwhile")
        return found


def waves(
    network: Network, control: ControlPlane, changes: Mapping[str, DeviceChange], *, most: float, canary: bool = True
) -> tuple[Wave, ...]:
    """Changed devices in waves: one alone first, then those of one plane, path color or rail, never more at risk than ``most`` (0 to 1).

    A device is counted as out while its wave is carried out where its change disrupts anything. One that alone is more than ``most``
    makes a wave of its own, which is refused.
    """
    disrupted = {name for name, one in changes.items() if one.disrupts}
    found: list[Wave] = []
    for why, names in _groups(network, changes):
        left = list(names)
        if canary and not found and len(changes) > 1:
            first = left.pop(0)
            found.append(_wave(network, control, (first,), "one device alone first", disrupted, most))
        together: list[str] = []
        for name in left:
            if together and _risk(network, control, disrupted.intersection((*together, name))).unavailable > most:
                found.append(_wave(network, control, tuple(together), why, disrupted, most))
                together = []
            together.append(name)
        if together:
            found.append(_wave(network, control, tuple(together), why, disrupted, most))
    return tuple(found)


def _groups(network: Network, changes: Mapping[str, DeviceChange]) -> Iterator[tuple[str, list[str]]]:
    groups: dict[tuple[int, str], list[str]] = {}
    for switch in network.switches:
        if switch.name in changes:
            groups.setdefault((_ROLES.index(switch.role), _common(network, switch)), []).append(switch.name)
    for (_, why), names in sorted(groups.items(), key=lambda group: group[0][0]):
        yield why, names


def _common(network: Network, switch: Switch) -> str:
    """What a switch is changed together with."""
    where = f"{switch.fabric}, {switch.role}s"
    if switch.role == "leaf":
        rails = f" of rail {switch.rails[0]}" if len(switch.rails) == 1 else ""
        return f"{where}{rails}{f' of {switch.stripe}' if switch.stripe else ''}"
    if switch.plane:
        return f"{where} of plane {switch.plane}"
    colors = {cable.color for cable in network.cables_of(switch.name) if cable.kind == "fabric"} - {None}
    if len(colors) == 1:
        return f"{where} of path color {network.fabric(switch.fabric).color_name(colors.pop())}"
    return f"{where}{f' of {switch.pod}' if switch.pod else ''}"


def _wave(
    network: Network, control: ControlPlane, names: tuple[str, ...], why: str, disrupted: set[str], most: float
) -> Wave:
    out = disrupted.intersection(names)
    risk = _risk(network, control, out, routes=True)
    refused = (
        (f"{risk.unavailable:.0%} of it would be out at once, and --max-unavailable is {most:.0%}",)
        if risk.unavailable > most
        else ()
    )
    return Wave(names, why, tuple(risk.lines()) if out else ("nothing is disrupted",), refused)


def _risk(network: Network, control: ControlPlane, out: Collection[str], *, routes: bool = False) -> Risk:
    """What is gone while ``out`` are; ``routes``: by routing too, which takes longer."""
    every: dict[str, float] = {}
    alive: dict[str, float] = {}
    nics = cut = 0
    for cable in network.cables:
        if cable.name in network.absent:
            continue
        if cable.kind == "server":
            nics += 1
            cut += cable.b.device in out
        elif cable.a.device not in out:
            every[cable.a.device] = every.get(cable.a.device, 0) + cable.speed_gbps
            alive[cable.a.device] = alive.get(cable.a.device, 0) + (cable.b.device not in out) * cable.speed_gbps
    worst = min(every, key=lambda name: alive[name] / every[name], default="")
    lost = 0
    if routes and out:
        before, after = control.routes(), control.routes(out)
        for device, fib in after.fibs.items():
            lost += int(((fib.group == UNREACHABLE) & (before.fibs[device].group != UNREACHABLE)).sum())
    return Risk(alive[worst] / every[worst] if worst else 1.0, worst, cut / nics if nics else 0.0, cut, lost)
