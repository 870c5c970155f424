"""What differences of configuration do: to routes, to path colors, to classes of traffic, to tenants."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from railweave.analysis.routing.table import LOCAL, UNREACHABLE
from railweave.counting import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.fields import FieldDifference
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


@dataclass(frozen=True)
class Effects:
    """What is otherwise in the network as a whole.

    ``lost`` are prefixes that switches cannot reach that should: by prefix, the switches. ``moved`` likewise those that are sent to other
    links than designed, ``gained`` those that are reached and should not be. ``colors`` are the path colors of servers' prefixes among
    them. ``classes`` are traffic classes whose treatment differs, ``tenants`` those whose VRFs differ, each with the switches where that is so.
    ``unsettled`` says why routes were not worked out; empty: they were.
    """

    lost: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    moved: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    gained: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    colors: tuple[str, ...] = ()
    classes: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    tenants: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    unsettled: str = ""

    def __bool__(self) -> bool:
        return any((self.lost, self.moved, self.gained, self.colors, self.classes, self.tenants, self.unsettled))

    def to_json(self) -> dict[str, object]:
        """The effects as the documented JSON object."""
        return asdict(self)

    def lines(self) -> list[str]:
        """One sentence for each kind of effect."""
        found = [
            _of_prefixes("cannot be reached from switches that should reach them", self.lost),
            _of_prefixes("go by other links than designed", self.moved),
            _of_prefixes("are reached from switches that should not reach them", self.gained),
            f"path colors touched: {', '.join(self.colors)}" if self.colors else "",
            _of_names("traffic classes treated otherwise", self.classes),
            _of_names("tenants whose VRFs differ", self.tenants),
            self.unsettled,
        ]
        return [one for one in found if one]


def effects(
    network: Network,
    designed: Routes,
    running: Routes,
    differences: Mapping[str, Iterable[FieldDifference]],
    configs: Mapping[str, DeviceConfig],
) -> Effects:
    """What running routes and configurations do otherwise than designed ones; ``differences`` by switch, ``configs`` designed."""
    lost: dict[str, list[str]] = {}
    moved: dict[str, list[str]] = {}
    gained: dict[str, list[str]] = {}
    prefixes = list(dict.fromkeys([*designed.prefixes, *running.prefixes]))
    known: dict[frozenset[str], int] = {}
    sides = [_Side(routes, prefixes, known) for routes in (designed, running)]
    for device in designed.fibs:
        before, after = (side.of(device) for side in sides)
        for at in np.flatnonzero(before != after).tolist():
            kind = lost if after[at] == UNREACHABLE else gained if before[at] == UNREACHABLE else moved
            kind.setdefault(prefixes[at], []).append(device)
    for device, vrf in dict.fromkeys([*designed.shared.exits, *running.shared.exits]):
        before, after = (side.shared.exits.get((device, vrf), {}) for side in (designed, running))
        for prefix in dict.fromkeys([*before, *after]):
            was, now = (side.shared.leaves(device, vrf, prefix) for side in (designed, running))
            if set(was) != set(now):
                kind = lost if not now else gained if not was else moved
                kind.setdefault(prefix, []).append(device)
    touched = {*lost, *moved, *gained}
    names: dict[str, str] = {
        subnet.routed_by: network.fabric(segment.fabric).color_name(subnet.color)
        for segment in network.segments
        for subnet in segment.subnets
        if subnet.color is not None
    }
    classes: dict[str, dict[str, None]] = {}
    tenants: dict[str, dict[str, None]] = {}
    for device, found in differences.items():
        for one in found:
            for name in _classes(one, configs[device]):
                classes.setdefault(name, {})[device] = None
            for name in _tenants(one, configs[device]):
                tenants.setdefault(name, {})[device] = None
    return Effects(
        lost=_frozen(lost),
        moved=_frozen(moved),
        gained=_frozen(gained),
        colors=tuple(sorted({names[prefix] for prefix in touched if prefix in names})),
        classes=_frozen(classes),
        tenants=_frozen(tenants),
    )


class _Side:
    """Routes of one side as numbers that mean the same on both: of each set of links, in whatever order it is listed."""

    def __init__(self, routes: Routes, prefixes: Sequence[str], known: dict[frozenset[str], int]) -> None:
        self._routes = routes
        self._places = np.array([routes.index.get(one, -1) for one in prefixes], dtype=np.int64)
        numbers = [known.setdefault(frozenset(one), len(known)) for one in routes.groups]
        self._numbers = np.array([*numbers, LOCAL, UNREACHABLE], dtype=np.int64)  # by ids: -2 and -1 are the last two

    def of(self, device: str) -> NDArray[np.int64]:
        """Where a switch sends each prefix; ``UNREACHABLE`` too where it does not know it."""
        if device not in self._routes.fibs:
            return np.full(len(self._places), UNREACHABLE, dtype=np.int64)
        groups = np.append(self._routes.fibs[device].group, UNREACHABLE)  # place -1 is the last
        return self._numbers[groups[self._places]]


def _classes(difference: FieldDifference, config: DeviceConfig) -> list[str]:
    """The traffic classes that a difference is about: its own, or all lossless ones where it is about PFC or buffers."""
    if difference.place[0] != "qos" or config.qos is None:
        return []
    if len(difference.place) > 2 and difference.field.startswith(("qos.classes", "qos.marking")):
        return [difference.place[2]]
    return [name for name, one in config.qos.classes.items() if one.lossless]


def _tenants(difference: FieldDifference, config: DeviceConfig) -> list[str]:
    """The tenants that a difference is about: its own, or all where it is about what tunnels stand on."""
    top, *names = difference.place
    if top == "vrfs" and names:
        return names[:1]
    return [one.name for one in config.vrfs] if top in {"overlay", "mac_vrf", "vrfs"} else []


def _frozen(found: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(devices) for name, devices in found.items()}


def _of_prefixes(what: str, found: Mapping[str, tuple[str, ...]]) -> str:
    if not found:
        return ""
    devices = {device for there in found.values() for device in there}
    names = ", ".join(list(found)[:3]) + (", …" if len(found) > 3 else "")
    return f"{counted(len(found), 'prefix', 'prefixes')} {what}, seen from {counted(len(devices), 'switch', 'switches')}: {names}"


def _of_names(what: str, found: Mapping[str, tuple[str, ...]]) -> str:
    words = [f"{name} on {counted(len(there), 'switch', 'switches')}" for name, there in found.items()]
    return f"{what}: {', '.join(words)}" if words else ""
