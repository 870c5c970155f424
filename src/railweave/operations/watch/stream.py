"""The stream of updates from one device, collected into rounds of numbers.

An arriving update is only stored. A round ends when its time has passed, or when a series appears in it a second
time. Then all its values are decoded at once. So no number is lost, even if the device's interval differs from ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.live.reach.gnmi_messages import message
from railweave.model.state.telemetry import Elements, Series, number_of
from railweave.operations.watch.layout import IGNORED, Layout
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


_WIDTH = 11
"""The length of an encoded number: one byte for the kind, and up to ten for the varint."""
_INT, _UINT, _BOOL, _DOUBLE, _FLOAT = 0x10, 0x18, 0x20, 0x71, 0x35
_JSON = (0x52, 0x5A)
JSON_BEGINS = b"\x52\x5a"


def holds_table(value: bytes) -> bool:
    """Return True if an encoded value is a JSON object or list, False if it is a single number or word."""
    return value[:1] in (b"\x52", b"\x5a") and value[1:].lstrip(b"\x00") != b"" and json_text(value)[:1] in (b"{", b"[")


def json_text(value: bytes) -> bytes:
    """Return the JSON text of an encoded JSON value, without leading blanks."""
    place = 1
    while place < len(value) and value[place] & 0x80:
        place += 1
    return value[place + 1 :].lstrip()


def numbers(
    metrics: Sequence[str], values: Sequence[bytes | float | str]
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Decode values. Return two arrays: the values as 64-bit integers, and the values as floats.

    For a value that is not a number, the integer is 0 and the float is NaN. ``metrics`` has the metric of each value.
    """
    counts = np.zeros(len(values), np.uint64)
    floats = np.full(len(values), np.nan)
    wide = [value if isinstance(value, bytes) and len(value) <= _WIDTH else b"" for value in values]
    data = np.frombuffer(b"".join([encoded.ljust(_WIDTH, b"\0") for encoded in wide]), np.uint8).reshape(-1, _WIDTH)
    kinds = data[:, 0]
    varints = (kinds == _UINT) | (kinds == _INT) | (kinds == _BOOL)
    if varints.any():
        body = data[varints, 1:].astype(np.uint64)
        read = np.zeros(len(body), np.uint64)
        for place in range(_WIDTH - 1):
            read |= (body[:, place] & np.uint64(0x7F)) << np.uint64(7 * place)
        counts[varints] = read
        signed = kinds[varints] == _INT
        floats[varints] = np.where(signed, read.astype(np.int64), read).astype(np.float64) if signed.any() else read
    doubles = (kinds == _DOUBLE) & np.array([len(encoded) == 9 for encoded in wide], np.bool_)
    if doubles.any():
        floats[doubles] = np.ascontiguousarray(data[doubles, 1:9]).view("<f8").ravel()
    for place in map(int, np.flatnonzero(~(varints | doubles))):
        number = _number(metrics[place], values[place])
        if number is not None and isfinite(number):
            floats[place] = number
            counts[place] = min(max(int(number), 0), (1 << 64) - 1)
    floats[~np.isfinite(floats)] = np.nan
    return counts, floats


def _number(metric: str, value: bytes | float | str) -> float | None:
    """Decode a value of ``metric`` that is not a varint: a word, JSON, or a decimal.

    Return None if the value is not a number or does not fit in 64 bits. Integers stay integers.
    """
    if isinstance(value, bytes):
        if value[:1] in (b"\x52", b"\x5a"):
            body = json_text(value).strip().strip(b'"')
            try:
                return _within(int(body))
            except ValueError:
                return number_of(metric, body.decode("utf-8", "replace"))
        return _of_message(metric, value)
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int):
        return _within(value)
    return (
        value
        if isinstance(value, float) and value == value and abs(value) != float("inf")
        else number_of(metric, str(value))
    )


def _within(value: int) -> int | None:
    return value if -(1 << 63) <= value < 1 << 64 else None


def _of_message(metric: str, value: bytes) -> float | None:
    from google.protobuf.message import DecodeError

    try:
        read = message("TypedValue").FromString(value)
    except DecodeError:
        return None
    match read.WhichOneof("held"):
        case "string_val" | "ascii_val" as kind:
            return number_of(metric, getattr(read, kind))
        case "decimal_val":
            return read.decimal_val.digits / 10 ** min(read.decimal_val.precision, 18)
        case "float_val" | "double_val" as kind:
            return float(getattr(read, kind))
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Round:
    """The numbers of one device at one time.

    - ``time``: the time when the round ended on this machine, in seconds since 1970.
    - ``places``: the index of each series in the device's layout (``layout.Layout``).
    - ``numbers``: a number for each place; for counters, the increase per second. NaN if a counter is new or has
      decreased.
    """

    device: str
    time: float
    places: NDArray[np.intp]
    numbers: NDArray[np.float64]


class Stream:
    """The numbers of one device.

    ``counts`` (integers) and ``numbers`` (floats) both have the last value of each series, by its index in the device's layout. In
    ``numbers``, a value is NaN if no number has arrived yet.
    """

    def __init__(self, device: str, layout: Layout) -> None:
        self.device = device
        self.layout = layout
        self.updates = 0
        """The number of updates received, including ignored ones."""
        self.unread = 0
        self.behind_s: float | None = None
        """The seconds by which the device's clock is behind this machine's, from the newest notification of the last round.

        Older notifications do not count, because they may report old changes with old times.
        """
        self.counts = np.zeros(0, np.uint64)
        self.numbers = np.zeros(0)
        self.times = np.zeros(0, np.int64)
        self._values: list[bytes | float | str | None] = []
        self._stamps: list[int] = []
        self._prefixes: dict[bytes, tuple[Elements, dict[bytes, int]]] = {}
        self._done: list[Round] = []
        self._newest = 0
        self._newest_at = 0.0

    def take(self, notification: Any, now: float) -> None:  # noqa: ANN401 - a RawNotification of protobuf
        """Store the updates of a notification, to be decoded at the end of the round. ``now`` is the time of arrival.

        Only new paths and JSON tables are decoded here.
        """
        stamp: int = notification.timestamp
        if stamp > self._newest:
            self._newest, self._newest_at = stamp, now
        prefix: bytes = notification.prefix
        known = self._prefixes.get(prefix)
        if known is None:
            known = self._new_prefix(prefix)
        elements, places = known
        for path in notification.delete:
            self._gone(elements, path, now)
        values, stamps = self._values, self._stamps
        updates = notification.update
        self.updates += len(updates)
        for update in updates:
            path: bytes = update.path
            value: bytes = update.val
            place = places.get(path)
            if place is None:
                place = self.layout.learn(elements, path, container=holds_table(value))
            if place < 0:
                if place < IGNORED:
                    self._table(place, value, stamp, now)
                else:
                    self.unread += 1
                continue
            if place >= len(values):
                self._grow()
            elif values[place] is not None:
                self.end_round(now)
            values[place] = value
            stamps[place] = stamp

    def _new_prefix(self, prefix: bytes) -> tuple[Elements, dict[bytes, int]]:
        from railweave.live.reach.gnmi_messages import read_path

        try:
            elements = read_path(prefix)[2]
        except ValueError:
            elements = ()
        entry = elements, self.layout.below(elements)
        if len(self._prefixes) < 1 << 12:
            self._prefixes[prefix] = entry
        return entry

    def _gone(self, prefix: Elements, path: bytes, now: float) -> None:
        """Discard the numbers of a path that the device has deleted. The round ends before, at the time ``now``."""
        from railweave.live.reach.gnmi_messages import read_path

        try:
            places = self.layout.under(prefix + read_path(path)[2])
        except ValueError:
            return
        self.end_round(now)  # what came before it in this round is older
        for place in places:
            if place < len(self.numbers):
                self.numbers[place] = np.nan

    def _table(self, container: int, value: bytes, stamp: int, now: float) -> None:
        try:
            leaves = self.layout.leaves(container, parse_json(json_text(value).decode("utf-8", "replace")))
        except (ValueError, RecursionError):
            self.unread += 1
            return
        for place, leaf in leaves:
            if isinstance(leaf, int | float | str):
                self._put(place, leaf, stamp, now)

    def offer(self, samples: Iterable[tuple[Series, float]], stamp: int, now: float) -> None:
        """Store numbers that did not arrive by gNMI, such as those from answers to queries.

        ``samples`` has the number of each series. ``stamp`` is their time in ns since 1970, and ``now`` the time of arrival in seconds.
        """
        for series, number in samples:
            place = self.layout.place(series)
            if place != IGNORED:
                self.updates += 1
                self._put(place, number, stamp, now)

    def _put(self, place: int, value: float | str, stamp: int, now: float) -> None:
        if place >= len(self._values):
            self._grow()
        elif self._values[place] is not None:
            self.end_round(now)
        self._values[place] = value
        self._stamps[place] = stamp

    def _grow(self) -> None:
        more = max(len(self.layout), 64) - len(self._values)
        self._values += [None] * more
        self._stamps += [0] * more

    def end_round(self, now: float) -> None:
        """Decode all updates that arrived since the last round, and store them as a new round with the time ``now`` for ``rounds`` to return."""
        fresh = [place for place, value in enumerate(self._values) if value is not None]
        if not fresh:
            return
        if self._newest:
            self.behind_s, self._newest = self._newest_at - self._newest / 1e9, 0
        values = [value for value in self._values if value is not None]
        places = np.array(fresh, np.intp)
        stamps = np.array([self._stamps[place] for place in fresh], np.int64)
        for place in fresh:
            self._values[place] = None
        series = self.layout.series
        counts, floats = numbers([series[place].metric for place in fresh], values)
        self._extend(len(self.layout))
        floats *= self.layout.scales[places]
        counters = self.layout.counters[places]
        elapsed = (stamps - self.times[places]) / 1e9
        rose = (counts - self.counts[places]).astype(np.float64)
        usable = (self.times[places] > 0) & (elapsed > 0) & (counts >= self.counts[places]) & ~np.isnan(floats)
        rates = np.full(len(fresh), np.nan)
        np.divide(rose, elapsed, out=rates, where=usable)
        self.counts[places] = counts
        self.numbers[places] = floats
        self.times[places] = stamps
        self._done.append(Round(self.device, now, places, np.where(counters, rates, floats)))

    def _extend(self, size: int) -> None:
        more = size - len(self.numbers)
        if more > 0:
            self.counts = np.append(self.counts, np.zeros(more, np.uint64))
            self.numbers = np.append(self.numbers, np.full(more, np.nan))
            self.times = np.append(self.times, np.zeros(more, np.int64))

    def rounds(self, now: float) -> list[Round]:
        """End the current round at the time ``now``. Return all rounds since the last call."""
        self.end_round(now)
        done, self._done = self._done, []
        return done

    def last(self) -> dict[Series, float]:
        """Return the last number of every series. For counters, this is the count, not the rate."""
        whole = self.layout.counters
        return {
            series: int(self.counts[place]) if whole[place] else float(self.numbers[place])
            for place, series in enumerate(self.layout.series[: len(self.numbers)])
            if self.numbers[place] == self.numbers[place]
        }

    def forget(self) -> None:
        """Discard the last numbers, because a device that does not answer may have changed."""
        self.numbers[:] = np.nan

    def drop(self) -> None:
        """Discard the last numbers and all updates that are not decoded yet. The caller does so if a device's data cannot be read."""
        self._values, self._stamps, self._done = [], [], []
        self.forget()
