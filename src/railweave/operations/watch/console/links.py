"""Cables with what they carry: each from whichever of its ends is watched, and summed up by path color, stripe and device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.model.network.model import Network
    from railweave.operations.watch.console.ports import Ports

NOWHERE = -1
LEVELS = (0.01, 0.2, 0.4, 0.6, 0.8)
"""Loads from which a link is drawn one step wider."""


@dataclass(frozen=True, slots=True)
class Group:
    """Links that are shown as one. ``key`` is how a page names them; ``color`` is the path color's ``Color.index``, None where it has none."""

    key: str
    fabric: str
    color: int | None
    places: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Load:
    """Of a group: how much of its bandwidth is used on the average and at most (0 to 1), what it carries in bit/s, and the link that carries most."""

    mean: float
    most: float
    carried: float
    busiest: int


class Links:
    """``up`` and ``down`` are bit/s of each cable by its place in the network, towards its upper end and back; NaN where neither end says it."""

    def __init__(self, network: Network, ports: Ports) -> None:
        self._ports = ports
        self.network = network
        cables = network.cables
        self.places = places = {cable.name: place for place, cable in enumerate(cables)}
        self.rows = np.full(
            (len(cables), 2), NOWHERE, np.intp
        )  # a port of a lab has another name: its link says whose it is
        for row, port in enumerate(ports.ports):
            place = places.get(port.link)
            if place is not None:
                self.rows[place, 0 if cables[place].a.device == port.device else 1] = row
        self.speed = np.array([cable.speed_gbps * 1e9 for cable in cables])
        self.up = np.full(len(cables), np.nan)
        self.down = np.full(len(cables), np.nan)
        self.colors = _by_color(network)
        self.bundles = _by_stripe(network)
        self.downlinks = [
            Group(f"servers/{one.name}", one.name, None, np.array(found, np.intp))
            for one in network.fabrics
            if (found := [n for n, c in enumerate(cables) if c.kind == "server" and c.fabric == one.name])
        ]

    def read(self) -> None:
        """Take what the table of ports has now."""
        lower, upper = self.rows[:, 0], self.rows[:, 1]
        sent, received = self._ports.numbers["sent"], self._ports.numbers["received"]
        self.up = 8 * np.where(np.isnan(_at(sent, lower)), _at(received, upper), _at(sent, lower))
        self.down = 8 * np.where(np.isnan(_at(received, lower)), _at(sent, upper), _at(received, lower))

    @cached_property
    def by_leaf(self) -> Mapping[tuple[str, str, int], list[int]]:
        """The places of a leaf's cables by its name and their kind; those to servers by rail, the others under 0."""
        rail = {(server.name, nic.name): nic.rail for server in self.network.servers for nic in server.nics}
        found: dict[tuple[str, str, int], list[int]] = {}
        for place, one in enumerate(self.network.cables):
            leaf = one.b.device if one.kind == "server" else one.a.device
            number = rail.get((one.a.device, one.a.port), 0) if one.kind == "server" else 0
            found.setdefault((leaf, one.kind, number), []).append(place)
        return found

    @property
    def load(self) -> NDArray[np.float64]:
        """How much of each cable's bandwidth is used, by the busier of its directions."""
        return np.fmax(self.up, self.down) / self.speed

    def of(self, group: Group, load: NDArray[np.float64] | None = None) -> Load | None:
        """What a group carries; None where nothing of it is known. ``load`` is that of all cables, where it is at hand."""
        own = (self.load if load is None else load)[group.places]
        known = np.flatnonzero(~np.isnan(own))
        if not len(known):
            return None
        here = group.places[known]
        carried = float(np.nansum(self.up[here]) + np.nansum(self.down[here]))
        busiest = int(here[np.argmax(own[known])])
        used = carried / float(2 * self.speed[here].sum())
        return Load(used, float(own[known].max()), carried, busiest)


def level(load: float) -> str:
    """The CSS class of a load: ``l0`` (nothing) to ``l5`` (most of it); ``unknown`` for NaN."""
    return "unknown" if load != load else f"l{sum(load >= one for one in LEVELS)}"


def _at(numbers: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.float64]:
    if not len(numbers):
        return np.full(len(rows), np.nan)
    return np.where(rows == NOWHERE, np.nan, numbers[rows])


def _by_color(network: Network) -> list[Group]:
    """The links between switches of each fabric by path color; those without one together."""
    found: dict[tuple[str, int | None], list[int]] = {}
    for place, cable in enumerate(network.cables):
        if cable.kind == "fabric":
            found.setdefault((cable.fabric, cable.color), []).append(place)
    numbers = _numbers(network)
    return [
        Group(f"color/{fabric}/{_named(numbers, fabric, color)}", fabric, color, _array(places))
        for (fabric, color), places in sorted(found.items(), key=lambda one: (one[0][0], one[0][1] or 1 << 30))
    ]


def _by_stripe(network: Network) -> list[Group]:
    """The uplinks of each stripe, in all and by path color: what the blocks of the picture of a large fabric are joined by."""
    stripes = {one.name: one.stripe for one in network.switches if one.role == "leaf"}
    found: dict[tuple[str, str, int | None, bool], list[int]] = {}
    for place, cable in enumerate(network.cables):
        if cable.kind == "fabric" and cable.a.device in stripes:
            stripe = stripes[cable.a.device]
            found.setdefault((cable.fabric, stripe, None, True), []).append(place)
            if cable.color is not None:
                found.setdefault((cable.fabric, stripe, cable.color, False), []).append(place)
    numbers = _numbers(network)
    return [
        Group(
            f"bundle/{fabric}/{stripe}/{'all' if whole else _named(numbers, fabric, color)}",
            fabric,
            color,
            _array(places),
        )
        for (fabric, stripe, color, whole), places in found.items()
    ]


def _numbers(network: Network) -> Mapping[tuple[str, int | None], int]:
    """The number of a path color (that of its community) by its fabric and place in a prefix."""
    return {(fabric.name, color.index): color.number for fabric in network.fabrics for color in fabric.colors}


def _named(numbers: Mapping[tuple[str, int | None], int], fabric: str, color: int | None) -> str:
    return "none" if color is None else str(numbers[fabric, color])


def _array(places: Sequence[int]) -> NDArray[np.intp]:
    return np.array(places, np.intp)
