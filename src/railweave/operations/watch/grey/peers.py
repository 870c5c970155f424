"""The ports of a network by their kind, and medians over ports of a kind.

The kind of a port is its fabric, its role and the role at the other end, its speed and its module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.live.check.ports import of_port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.analysis.expect import Expected
    from railweave.model.device.expected import Port
    from railweave.model.network.model import Network

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Places = NDArray[np.intp]

LEAST_PEERS = 5
"""The fewest other ports of a kind for a verdict. With fewer, a median and its spread say little."""
SPREADS = 4.5 * 1.4826
"""The least distance to the median, in median absolute deviations (``medians``): 4.5 standard deviations of a normal distribution.

So chance makes one finding in 25 networks of 12,288 healthy ports.
"""
LEAST_PATHS = 3
"""The fewest other equal paths for a verdict."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A port with an unusual number.

    - ``place``: the place of the port in ``PortKinds.ports``.
    - ``rank``: the place among the comparisons of its rule. If several apply, the lowest is reported.
    - ``excess``: the distance from the limit, to find the worse end of a cable.
    - ``text``: what is unusual. ``number``: the part of the text with the port's own number.
    """

    place: int
    rank: int
    excess: float
    text: str
    number: str


class PortKinds:
    """The ports of a network with a cable in the design, device by device, and the groups in which they are comparable.

    - ``slices``: the places of each device's ports. ``device``: the number of each port's device in ``slices``.
    - ``speed``: bits per second. ``kind``: the number of each port's kind.
    - ``paths``: the number of each port's group of equal paths; -1 for a port without such a group.
    """

    def __init__(self, network: Network, expected: Mapping[str, Expected]) -> None:
        self.ports: list[Port] = []
        self.slices: dict[str, slice] = {}
        for name, each in expected.items():
            if cabled := each.cabled:
                self.slices[name] = slice(len(self.ports), len(self.ports) + len(cabled))
                self.ports += cabled
        sizes = [part.stop - part.start for part in self.slices.values()]
        self.device: Places = np.repeat(np.arange(len(sizes), dtype=np.intp), sizes)
        self.speed: Numbers = np.array([port.speed_gbps * 1e9 for port in self.ports], np.float64)
        roles = {switch.name: (switch.fabric, switch.role) for switch in network.switches}
        numbers: dict[tuple[str, ...], int] = {}
        kinds: list[int] = []
        self._names: list[str] = []
        for port in self.ports:
            fabric, role = roles[port.device]
            name = f"{role}-{roles.get(port.peer, ('', 'server'))[1]} ports of {port.speed_gbps}G"
            kinds.append(numbers.setdefault((fabric, name, port.optic), len(numbers)))
            self._names.append(name)
        self.kind: Places = np.array(kinds, np.intp)
        self.paths = _equal_paths(expected, self.slices, self.ports)

    def peers(self, place: int, values: Numbers, compared: Flags) -> tuple[float, str]:
        """Return the median of ``values`` of the other compared ports of a port's kind, and text that names these ports with their number."""
        others = compared & (self.kind == self.kind[place])
        others[place] = False
        return float(np.median(values[others])), f"the median of {int(others.sum()):,} other {self._names[place]}"


def _equal_paths(expected: Mapping[str, Expected], slices: Mapping[str, slice], ports: Sequence[Port]) -> Places:
    """Return a group number for each port: ports of a device with equal numbers are next hops of the same routes. -1: of no such group.

    Designs that send colors or rails over different ports have different groups for these ports.
    """
    paths: Places = np.full(len(ports), -1, np.intp)
    groups = 0
    for device, part in slices.items():
        users: dict[str, list[int]] = {}
        for number, route in enumerate(expected[device].routes):
            for name in route.ports:
                users.setdefault(name, []).append(number)
        together: dict[tuple[object, ...], list[int]] = {}
        for place in range(part.start, part.stop):
            port = ports[place]
            if of := of_port(users, port.name):
                together.setdefault((port.speed_gbps, port.optic, *of), []).append(place)
        for places in together.values():
            if len(places) > LEAST_PATHS:
                paths[places] = groups
                groups += 1
    return paths


def medians(values: Numbers, groups: Places) -> tuple[Numbers, Numbers, Places]:
    """Return, for each place, the median of its group, the median absolute deviation, and the number of other values in the group.

    NaN and the group -1 are left out. The deviation of few values may be too small by chance, so it is increased by the
    factor 1 + 3.5 / sqrt(number of values): three standard errors of the deviation.
    """
    used = np.isfinite(values) & (groups >= 0)
    size = int(groups.max(initial=-1)) + 1
    numbers = np.bincount(groups[used], minlength=size)
    median = np.append(_median_of_each(values[used], groups[used], numbers), np.nan)
    spread = _median_of_each(np.abs(values - median[groups])[used], groups[used], numbers)
    spread = np.append(spread * (1 + 3.5 / np.sqrt(numbers)), np.nan)
    return median[groups], spread[groups], np.append(numbers, 0)[groups] - used


def _median_of_each(values: Numbers, groups: Places, numbers: Places) -> Numbers:
    if not len(values):
        return np.full(len(numbers), np.nan)
    ordered = values[np.lexsort((values, groups))]
    starts = np.cumsum(numbers) - numbers
    low, high = (np.minimum(starts + half, len(values) - 1) for half in ((numbers - 1) // 2, numbers // 2))
    return np.where(numbers > 0, (ordered[low] + ordered[high]) / 2, np.nan)


def shown(number: float) -> str:
    """Return a number with three digits or all digits before the point, without an exponent."""
    return f"{number:,.0f}" if number >= 100 or not number else f"{number:.1f}" if number >= 1 else f"{number:.3f}"
