"""The layout of one kind of device: the index of each series in the device's arrays, and a cache from encoded paths to indexes.

Switches with the same operating system use the same port names and share a layout. So 100,000 series of 192 switches
need only a few thousand paths in memory, and a few arrays per switch. The index of a series is called its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from railweave.live.reach.gnmi_messages import read_path
from railweave.model.state.telemetry import METRICS, Elements, Series

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


IGNORED = -1
"""The index that stands for a path whose values are ignored."""
MOST = 1 << 17
"""The largest number of series of a layout, and the largest number of paths.

Further series and paths are ignored, because a faulty device could send new names without end.
"""
_KEYS = ("name", "interface-id", "index", "neighbor-address", "queue-number", "priority", "id")
"""The JSON leaves that identify the entries of a list."""

Node = dict[str, "int | Node"]


class Layout:
    """The series of one kind of device, in the order in which they first appeared.

    ``places`` has the place of each series, which is its index in the device's arrays.
    """

    def __init__(self, read: Callable[[Elements], Series | None]) -> None:
        self.series: list[Series] = []
        self.places: dict[Series, int] = {}
        self._read = read
        self._below: dict[Elements, dict[bytes, int]] = {}
        self._owners: dict[int, Elements] = {}
        self._containers: dict[int, tuple[Elements, Node]] = {}
        self._paths = 0
        self._by_metric: dict[str, list[int]] = {}
        self._counters = np.zeros(0, np.bool_)
        self._scales = np.ones(0)

    def __len__(self) -> int:
        return len(self.series)

    def below(self, elements: Elements) -> dict[bytes, int]:
        """Return the places (array indexes) of the encoded paths below the prefix ``elements``. ``learn`` adds paths to this mapping."""
        return self._below.setdefault(elements, {})

    def place(self, series: Series) -> int:
        """Return the place (array index) of a series. A new series is first added to the layout.

        Return ``IGNORED`` if there are too many series, or if the metric is unknown.
        """
        place = self.places.get(series)
        if place is None:
            if len(self.series) >= MOST or series.metric not in METRICS:
                return IGNORED
            place = self.places[series] = len(self.series)
            self.series.append(series)
            self._by_metric.setdefault(series.metric, []).append(place)
        return place

    def of_metric(self, metric: str) -> list[int]:
        """Return the places (array indexes) of a metric's series, in ascending order."""
        return self._by_metric.get(metric, [])

    def learn(self, prefix: Elements, path: bytes, *, container: bool) -> int:
        """Decode a new path, add it to the cache, and return its place (the array index of its series).

        ``container`` is True if the path leads to a JSON table. The returned place is then a number below ``IGNORED``,
        for use with ``leaves``.
        """
        if self._paths >= MOST:
            return IGNORED
        self._paths += 1
        try:
            elements = prefix + read_path(path)[2]
        except ValueError:
            place = IGNORED
        else:
            if container:
                place = IGNORED - 1 - len(self._containers)
                self._containers[place] = (elements, {})
            else:
                place = self._place_of(elements)
        self.below(prefix)[path] = place
        return place

    def _place_of(self, elements: Elements) -> int:
        """Return the place (array index) of the series that a path leads to. ``elements`` are the path's elements.

        If several paths lead to the same series, only the first has a place, because the others would repeat its numbers. Return
        ``IGNORED`` for the others, and for a path that leads to no series.
        """
        series = self._read(elements)
        if series is None:
            return IGNORED
        place = self.place(series)
        return place if self._owners.setdefault(place, elements) == elements else IGNORED

    def under(self, elements: Elements) -> list[int]:
        """Return the places (array indexes) of the series whose paths begin with ``elements``.

        An element without keys matches every entry of its list. This function is used when a device deletes a path.
        """
        return [place for place, owner in self._owners.items() if _begins(owner, elements)]

    def leaves(self, container: int, value: object) -> list[tuple[int, object]]:
        """Return (place, value) for each leaf of a JSON table. The place is the array index of the leaf's series.

        ``container`` is the number that ``learn`` returned.
        """
        elements, node = self._containers[container]
        leaves: list[tuple[int, object]] = []
        self._walk(elements, node, value, leaves)
        return leaves

    def _walk(self, elements: Elements, node: Node, value: object, leaves: list[tuple[int, object]]) -> None:
        if not isinstance(value, dict):
            return
        for key, below in cast("dict[str, object]", value).items():
            if isinstance(below, list):
                for entry in cast("list[object]", below):
                    if not isinstance(entry, dict):
                        continue
                    row = cast("dict[str, object]", entry)
                    by = next((key_name for key_name in _KEYS if isinstance(row.get(key_name), str | int)), None)
                    if by is not None:
                        identifier = str(row[by])
                        self._enter(elements, node, f"{key}[{identifier}]", (key, ((by, identifier),)), row, leaves)
            elif isinstance(below, dict):
                self._enter(elements, node, key, (key, ()), cast("dict[str, object]", below), leaves)
            else:
                place = node.get(key)
                if not isinstance(place, int):
                    if self._paths >= MOST:
                        continue
                    self._paths += 1
                    place = node[key] = self._place_of((*elements, (key, ())))
                if place != IGNORED:
                    leaves.append((place, below))

    def _enter(
        self,
        elements: Elements,
        node: Node,
        key: str,
        element: tuple[str, tuple[tuple[str, str], ...]],
        value: object,
        leaves: list[tuple[int, object]],
    ) -> None:
        below = node.get(key)
        if not isinstance(below, dict):
            if self._paths >= MOST:
                return
            self._paths += 1
            below = node[key] = {}
        self._walk((*elements, element), below, value, leaves)

    @property
    def counters(self) -> NDArray[np.bool_]:
        """An array that is True at the place (index) of each series that is a counter."""
        self._extend()
        return self._counters

    @property
    def scales(self) -> NDArray[np.float64]:
        """An array with the factor by which the numbers of each series are multiplied, by the place (index) of the series."""
        self._extend()
        return self._scales

    def _extend(self) -> None:
        if len(self._counters) < len(self.series):
            new = [METRICS[series.metric] for series in self.series[len(self._counters) :]]
            self._counters = np.append(self._counters, [metric.kind == "counter" for metric in new])
            self._scales = np.append(self._scales, [metric.scale for metric in new])


def _begins(path: Elements, start: Elements) -> bool:
    return len(path) >= len(start) and all(
        name == other and set(wanted) <= set(keys) for (name, keys), (other, wanted) in zip(path, start, strict=False)
    )
