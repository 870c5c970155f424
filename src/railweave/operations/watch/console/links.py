"""The load of ports and cables, and sums by path color, stripe and device. The load of a cable is read at whichever end is watched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.analysis.expect import Expected
    from railweave.model.device.expected import Port
    from railweave.model.network.model import Network
    from railweave.operations.watch.collector import WatchedDevice
    from railweave.operations.watch.layout import Layout
    from railweave.operations.watch.stream import Stream


COLUMNS: Mapping[str, tuple[str, ...]] = {
    "received": ("in_octets",),
    "sent": ("out_octets",),
    "paused": ("pfc_received",),
    "pauses": ("pfc_sent",),
    "drops": ("queue_dropped", "out_discards", "in_discards", "in_resource", "group_dropped"),
    "marks": ("ecn_marked", "queue_marked"),
    "errors": ("in_errors", "in_crc", "out_errors"),
    "queue": ("queue_peak",),
    "up": ("port_up",),
}
"""The columns of the table of ports, and the metrics from which each is computed.

If a column has several metrics, the largest value is used, because a dropped packet may be counted for its queue and
for its port. Numbers by queue or priority are added up. ``queue`` and ``up`` are the latest numbers; all others are
rates per second. Byte counters are in bytes/s.
"""
LAST = frozenset({"queue", "up"})


class Ports:
    """The table of the network's ports, with their current numbers.

    - ``rows``: the row of each port, by device and port name.
    - ``numbers``: for each column, a number for each row; NaN if unknown.
    """

    def __init__(self, expected: Mapping[str, Expected], devices: Mapping[str, WatchedDevice]) -> None:
        self.ports: list[Port] = []
        self.slices: dict[str, slice] = {}
        self._readers: dict[str, _Reader] = {}
        shared: dict[int, _Places] = {}
        for name, expectation in expected.items():
            if name not in devices:
                continue
            first = len(self.ports)
            self.ports += expectation.ports
            self.slices[name] = slice(first, len(self.ports))
            stream = devices[name].stream
            places = shared.setdefault(id(stream.layout), _Places(stream.layout))
            self._readers[name] = _Reader(stream, places, [port.name for port in expectation.ports])
        self.rows = {(port.device, port.name): row for row, port in enumerate(self.ports)}
        self.numbers: dict[str, NDArray[np.float64]] = {column: np.full(len(self.ports), np.nan) for column in COLUMNS}

    def read(self) -> None:
        """Update the table with the current numbers of all streams."""
        for name, reader in self._readers.items():
            place = self.slices[name]
            for column, values in reader.read().items():
                self.numbers[column][place] = values

    def of(self, device: str, port: str) -> dict[str, float]:
        """Return the numbers of one port by column. All are NaN if the port is not in the table."""
        row = self.rows.get((device, port))
        return {column: float("nan") if row is None else float(values[row]) for column, values in self.numbers.items()}


class _Places:
    """The series of a device that the table of ports shows.

    ``metrics`` has, by metric, two arrays of equal length: the indexes of these series in the device's layout, and the numbers of their
    ports.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.ports: dict[str, int] = {}
        self.metrics: dict[str, tuple[NDArray[np.intp], NDArray[np.intp]]] = {}
        self._known = 0

    def learn(self) -> int:
        """Read the layout again if it has new series. Return the number of series in the layout.

        If the number is greater than before, the caller knows that there are new series.
        """
        if self._known < len(self.layout):
            self._known = len(self.layout)
            for metric in {metric_name for those in COLUMNS.values() for metric_name in those}:
                places = self.layout.of_metric(metric)
                names = [self.layout.series[place].port for place in places]
                numbers = [self.ports.setdefault(_base(name), len(self.ports)) for name in names]
                self.metrics[metric] = np.array(places, np.intp), np.array(numbers, np.intp)
        return self._known


class _Part(NamedTuple):
    """The series of one metric on a device's ports. A place is the index of a series in the device's layout.

    - ``places``, ``rows``: the place of each series, and its row in the table of ports.
    - ``alone``: True if every row has at most one series.
    - ``last``: the largest value in ``places``.
    """

    places: NDArray[np.intp]
    rows: NDArray[np.intp]
    alone: bool
    last: int


def _part(places: NDArray[np.intp], rows: NDArray[np.intp]) -> _Part:
    mine = rows >= 0
    places, rows = places[mine], rows[mine]
    return _Part(places, rows, len(np.unique(rows)) == len(rows), int(places.max()) if len(places) else 0)


class _Reader:
    """A reader of the numbers of one device's ports from its stream."""

    def __init__(self, stream: Stream, places: _Places, ports: Sequence[str]) -> None:
        self._stream, self._places = stream, places
        self._at = {_base(name): row for row, name in enumerate(ports)}
        self._size = len(ports)
        self._learnt = 0
        self._parts: dict[str, _Part] = {}
        self._counts = np.zeros(0, np.uint64)
        self._times = np.zeros(0, np.int64)
        self._rates = np.zeros(0)

    def read(self) -> dict[str, NDArray[np.float64]]:
        """Return the numbers of the device's ports: for each column, one number per port."""
        learnt = self._places.learn()
        if learnt != self._learnt:
            self._learnt = learnt
            rows = np.array([self._at.get(name, -1) for name in self._places.ports], np.intp)
            self._parts = {
                metric: _part(places, rows[ports]) for metric, (places, ports) in self._places.metrics.items()
            }
        self._measure()
        return {column: self._column(column, metrics) for column, metrics in COLUMNS.items()}

    def _measure(self) -> None:
        """Update the rates: for each counter with a newer sample, its increase divided by the time between samples."""
        stream = self._stream
        more = len(stream.times) - len(self._times)
        if more:
            self._counts = np.append(self._counts, np.zeros(more, np.uint64))
            self._times = np.append(self._times, np.zeros(more, np.int64))
            self._rates = np.append(self._rates, np.full(more, np.nan))
        newer = stream.times > self._times
        if newer.any():
            rose = newer & (self._times > 0) & (stream.counts >= self._counts)
            self._rates[newer] = np.nan
            elapsed = (stream.times - self._times) / 1e9
            np.divide((stream.counts - self._counts).astype(np.float64), elapsed, out=self._rates, where=rose)
            np.copyto(self._counts, stream.counts)
            np.copyto(self._times, stream.times)
        self._rates[np.isnan(stream.numbers)] = np.nan

    def _column(self, column: str, metrics: Sequence[str]) -> NDArray[np.float64]:
        values = self._stream.numbers if column in LAST else self._rates
        numbers = np.full(self._size, np.nan)
        for metric in metrics:
            part = self._parts.get(metric)
            if part is None or not len(part.places):
                continue
            places, rows = part.places, part.rows
            if part.last >= len(values):  # the layout has learnt them from another device
                there = places < len(values)
                places, rows = places[there], rows[there]
            part_values = values[places]
            if part.alone:
                numbers[rows] = np.fmax(numbers[rows], part_values)
            else:
                numbers = np.fmax(numbers, _folded(rows, part_values, self._size, most=column in LAST))
        return numbers


def _folded(rows: NDArray[np.intp], values: NDArray[np.float64], size: int, *, most: bool) -> NDArray[np.float64]:
    """Return one value per row of the table of ports, from the ``values`` of series whose rows are ``rows``.

    The value of a row is the largest of its series' values if ``most`` is True, otherwise their sum. It is NaN if no series of the row has
    a value. ``size`` is the number of rows.
    """
    known = ~np.isnan(values)
    if most:
        highest = np.full(size, -np.inf)
        np.maximum.at(highest, rows[known], values[known])
        return np.where(np.isinf(highest), np.nan, highest)
    total = np.bincount(rows, np.where(known, values, 0.0), minlength=size)
    return np.where(np.bincount(rows[known], minlength=size) > 0, total, np.nan)


def _base(name: str) -> str:
    """Return a port name without the unit ``.0`` that some systems append."""
    return name.removesuffix(".0")


NOWHERE = -1
LEVELS = (0.01, 0.2, 0.4, 0.6, 0.8)
"""The loads (0 to 1) at each of which a link is drawn one step wider."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of links that a page shows as a single link.

    - ``key``: the name of the group in a page.
    - ``color``: the ``Color.index`` of its path color, or None if it has no color.
    - ``places``: the indexes of its cables in ``Network.cables``.
    """

    key: str
    fabric: str
    color: int | None
    places: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a group of links.

    - ``mean``, ``most``: the average and the largest load of a cable: the share of its bandwidth in use (0 to 1).
    - ``carried``: the traffic in bit/s, both directions together.
    - ``busiest``: the index in ``Network.cables`` of the cable with the highest load.
    """

    mean: float
    most: float
    carried: float
    busiest: int


class Links:
    """The traffic of every cable, by the cable's index in the network.

    ``up`` and ``down`` are in bit/s, towards the upper end of the cable and back. They are NaN if neither end reports
    a number.
    """

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
            Group(f"servers/{fabric.name}", fabric.name, None, np.array(downlinks, np.intp))
            for fabric in network.fabrics
            if (downlinks := [n for n, c in enumerate(cables) if c.kind == "server" and c.fabric == fabric.name])
        ]

    def read(self) -> None:
        """Update the traffic of cables from the table of ports."""
        lower, upper = self.rows[:, 0], self.rows[:, 1]
        sent, received = self._ports.numbers["sent"], self._ports.numbers["received"]
        self.up = 8 * np.where(np.isnan(_at(sent, lower)), _at(received, upper), _at(sent, lower))
        self.down = 8 * np.where(np.isnan(_at(received, lower)), _at(sent, upper), _at(received, lower))

    @cached_property
    def by_leaf(self) -> Mapping[tuple[str, str, int], list[int]]:
        """The indexes of the cables of each leaf, by (leaf, cable kind, rail). The rail is 0 for cables that do not go to servers."""
        rail = {(server.name, nic.name): nic.rail for server in self.network.servers for nic in server.nics}
        places: dict[tuple[str, str, int], list[int]] = {}
        for place, cable in enumerate(self.network.cables):
            leaf = cable.b.device if cable.kind == "server" else cable.a.device
            number = rail.get((cable.a.device, cable.a.port), 0) if cable.kind == "server" else 0
            places.setdefault((leaf, cable.kind, number), []).append(place)
        return places

    @property
    def load(self) -> NDArray[np.float64]:
        """The fraction of each cable's bandwidth that is in use (0 to 1), in its busier direction."""
        return np.fmax(self.up, self.down) / self.speed

    def of(self, group: Group, load: NDArray[np.float64] | None = None) -> Load | None:
        """Return the load of a group, or None if no number is known. ``load`` is the load of all cables, if it is already computed."""
        loads = (self.load if load is None else load)[group.places]
        known = np.flatnonzero(~np.isnan(loads))
        if not len(known):
            return None
        here = group.places[known]
        carried = float(np.nansum(self.up[here]) + np.nansum(self.down[here]))
        busiest = int(here[np.argmax(loads[known])])
        used = carried / float(2 * self.speed[here].sum())
        return Load(used, float(loads[known].max()), carried, busiest)


def level(load: float) -> str:
    """Return the CSS class of a load: ``l0`` (almost nothing) to ``l5`` (80 % or more), or ``unknown`` for NaN."""
    return "unknown" if load != load else f"l{sum(load >= threshold for threshold in LEVELS)}"


def _at(numbers: NDArray[np.float64], rows: NDArray[np.intp]) -> NDArray[np.float64]:
    if not len(numbers):
        return np.full(len(rows), np.nan)
    return np.where(rows == NOWHERE, np.nan, numbers[rows])


def _by_color(network: Network) -> list[Group]:
    """Return the links between switches, grouped by fabric and path color. Links without a color form one group."""
    groups: dict[tuple[str, int | None], list[int]] = {}
    for place, cable in enumerate(network.cables):
        if cable.kind == "fabric":
            groups.setdefault((cable.fabric, cable.color), []).append(place)
    numbers = _numbers(network)
    return [
        Group(f"color/{fabric}/{_named(numbers, fabric, color)}", fabric, color, _array(places))
        for (fabric, color), places in sorted(groups.items(), key=lambda pair: (pair[0][0], pair[0][1] or 1 << 30))
    ]


def _by_stripe(network: Network) -> list[Group]:
    """Return groups of uplinks for each stripe (the servers on the same leaves): a group of all uplinks, and a group for each path color.

    The picture of a large fabric draws these groups between its blocks, which are the stripes and the spines.
    """
    stripes = {switch.name: switch.stripe for switch in network.switches if switch.role == "leaf"}
    groups: dict[tuple[str, str, int | None, bool], list[int]] = {}
    for place, cable in enumerate(network.cables):
        if cable.kind == "fabric" and cable.a.device in stripes:
            stripe = stripes[cable.a.device]
            groups.setdefault((cable.fabric, stripe, None, True), []).append(place)
            if cable.color is not None:
                groups.setdefault((cable.fabric, stripe, cable.color, False), []).append(place)
    numbers = _numbers(network)
    return [
        Group(
            f"bundle/{fabric}/{stripe}/{'all' if whole else _named(numbers, fabric, color)}",
            fabric,
            color,
            _array(places),
        )
        for (fabric, stripe, color, whole), places in groups.items()
    ]


def _numbers(network: Network) -> Mapping[tuple[str, int | None], int]:
    """Return ``Color.number`` of each path color, by fabric name and ``Color.index``."""
    return {(fabric.name, color.index): color.number for fabric in network.fabrics for color in fabric.colors}


def _named(numbers: Mapping[tuple[str, int | None], int], fabric: str, color: int | None) -> str:
    return "none" if color is None else str(numbers[fabric, color])


def _array(places: Sequence[int]) -> NDArray[np.intp]:
    return np.array(places, np.intp)
