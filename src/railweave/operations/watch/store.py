"""The store of samples and anomalies in one SQLite file. A row of samples is a block: all numbers of one device at one time.

Each step is a transaction with a write-ahead log. If the process is killed, only the samples since the last step are
lost. Numbers over longer times are computed from the numbers in the file, never from memory, so a kill does not affect
them.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import zlib
from dataclasses import asdict, dataclass
from time import time
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.errors import OutputError
from railweave.json_values import JsonObject
from railweave.model.findings import Finding
from railweave.model.state.telemetry import METRICS, Sample, Series
from railweave.operations.watch.anomalies import Anomaly
from railweave.operations.watch.silences import Note, Silence
from railweave.reading import make_file, parse_json

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from railweave.operations.watch.layout import Layout
    from railweave.operations.watch.stream import Round


def packed(series: NDArray[np.uint32], numbers: NDArray[np.float32]) -> bytes:
    """Return a compressed block of series and their numbers. ``series`` are ids in the store, unique and ascending."""
    steps = np.diff(series, prepend=np.uint32(0)).astype("<u4")
    columns = [array.view(np.uint8).reshape(-1, 4).T.tobytes() for array in (steps, numbers.astype("<f4"))]
    return zlib.compress(b"".join(columns), 1)


def unpacked(data: bytes) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Return (series ids, numbers) of a block ``data`` that ``packed`` wrote."""
    raw = np.frombuffer(zlib.decompress(data), np.uint8)
    steps, numbers = (
        np.ascontiguousarray(half.reshape(4, -1).T) for half in (raw[: len(raw) // 2], raw[len(raw) // 2 :])
    )
    return np.cumsum(steps.view("<u4").ravel(), dtype=np.uint32), numbers.view("<f4").ravel()


@dataclass(frozen=True, slots=True)
class Tier:
    """A resolution in which the store keeps numbers.

    - ``step_s``: the seconds that each number covers; 0 means that each number is kept as received.
    - ``kept_s``: the seconds after which the numbers are deleted.
    """

    step_s: int
    kept_s: int


TIERS = (Tier(0, 15 * 60), Tier(60, 6 * 3600), Tier(300, 48 * 3600))

MEAN, MOST, LEAST = 0, 1, 2
FOLDS = {"mean": MEAN, "max": MOST, "min": LEAST}


def folded(
    blocks: Iterable[bytes], folds: NDArray[np.int8], sparse: NDArray[np.bool_]
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Combine several blocks of one device into one. Return (series ids, their numbers).

    ``folds`` has, by series id, the operation: mean, maximum or minimum. ``sparse`` has, by series id, True if zeros of
    the series are not stored. Such a series is treated as zero in blocks that lack it.
    """
    read = [unpacked(block) for block in blocks]
    series, place = np.unique(np.concatenate([block_series for block_series, _ in read]), return_inverse=True)
    values = np.concatenate([block_numbers for _, block_numbers in read]).astype(np.float64)
    times = np.bincount(place)
    of = folds[series]
    mean = np.bincount(place, values) / np.where(sparse[series], len(read), times)
    most = np.full(len(series), -np.inf)
    np.maximum.at(most, place, values)
    least = np.full(len(series), np.inf)
    np.minimum.at(least, place, values)
    return series, np.select([of == MEAN, of == MOST], [mean, most], least).astype(np.float32)


APPLICATION = 0x72775741
"""The ``application_id`` in the file's header that marks the file as a store of samples: the letters rwWA."""
VERSION = 2
_TABLES = """
CREATE TABLE device (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE series (id INTEGER PRIMARY KEY, metric TEXT NOT NULL, port TEXT NOT NULL, part TEXT NOT NULL, UNIQUE (metric, port, part));
CREATE TABLE block (tier INTEGER NOT NULL, device INTEGER NOT NULL, time REAL NOT NULL, data BLOB NOT NULL);
CREATE INDEX block_at ON block (tier, time, device);
CREATE TABLE folded (tier INTEGER PRIMARY KEY, until REAL NOT NULL);
"""
_LOG = """
CREATE TABLE anomaly (number INTEGER PRIMARY KEY, closed REAL, value TEXT NOT NULL);
CREATE TABLE event (id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, change TEXT NOT NULL, number INTEGER NOT NULL, value TEXT NOT NULL);
CREATE INDEX event_at ON event (time);
CREATE TABLE silence (number INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE sent (receiver TEXT PRIMARY KEY, event INTEGER NOT NULL);
"""
"""The tables of version 2: anomalies as they are now, each of their changes, silences, and the last change that each receiver has."""
KEPT_S = 90 * 86400.0
"""The seconds for which closed anomalies and their changes are kept: 90 days."""


@dataclass(frozen=True, slots=True)
class Event(JsonObject):
    """A change of an anomaly: its id (ascending), its time in seconds since 1970, the change, and the anomaly after it."""

    JSON = ("event=id", "time", "change", "*anomaly")

    id: int
    time: float
    change: str
    anomaly: Anomaly


def _silence(text: str) -> Silence:
    value: dict[str, Any] = parse_json(text)
    devices: tuple[str, ...] = tuple(value.pop("devices"))
    return Silence(devices=devices, **value)


def _anomaly(text: str) -> Anomaly:
    value: dict[str, Any] = parse_json(text)
    note = value.pop("acknowledged", None)
    finding = Finding(**value.pop("finding"))
    return Anomaly(finding=finding, acknowledged=None if note is None else Note(**note), **value)


class Store:
    """The store of samples and anomalies in the file at a path. A missing file is created. Raises ``OutputError`` if the file cannot be used."""

    def __init__(self, path: Path, most_bytes: int | None = None) -> None:
        """Open the store. If its file grows beyond ``most_bytes``, the oldest samples of each resolution are deleted; None means no limit."""
        self.path = path
        self._most_bytes = most_bytes
        with self._refusing():
            make_file(path, 0o600)
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
            self._lock = threading.Lock()  # steps are written beside the loop that serves pages
            self._begin()
            self._devices: dict[str, int] = dict(self._db.execute("SELECT name, id FROM device").fetchall())
            rows = self._db.execute("SELECT metric, port, part, id FROM series").fetchall()
        self._series = {Series(metric, port, part): number for metric, port, part, number in rows}
        self._names = {number: series for series, number in self._series.items()}
        self._numbers: dict[int, NDArray[np.uint32]] = {}
        self._folds = np.zeros(0, np.int8)
        self._sparse = np.zeros(0, np.bool_)
        self._learn_folds()

    def _begin(self) -> None:
        (mark,) = self._db.execute("PRAGMA application_id").fetchone()
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and mark != APPLICATION:
            raise OutputError(f"{self.path} is not a store of samples but another database; nothing was changed")
        if not tables:
            self._db.execute(f"PRAGMA application_id={APPLICATION}")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.executescript(f"BEGIN;{_TABLES}{_LOG}PRAGMA user_version={VERSION};COMMIT;")
        ((version,),) = self._db.execute("PRAGMA user_version").fetchall()
        if version == 1:
            self._db.executescript(f"BEGIN;{_LOG}PRAGMA user_version={VERSION};COMMIT;")
            version = VERSION
        if version != VERSION:
            raise OutputError(
                f"{self.path} was written by another version of railweave; give another file, or delete this one"
            )
        self._db.execute(
            "PRAGMA synchronous=NORMAL"
        )  # a process that is killed loses nothing by it, only a machine that is
        self._db.execute("PRAGMA journal_size_limit=67108864")

    @contextlib.contextmanager
    def _refusing(self) -> Generator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise OutputError(f"{self.path} cannot be used as a store of samples: {reason or error}") from None

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        with self._lock, self._refusing():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def write(self, rounds: Iterable[tuple[Layout, Round]], now: float | None = None) -> int:
        """Write rounds (each the numbers of one device at one time), and return the number of samples written.

        Also combine the blocks of ended time steps into the next coarser resolution, and delete old blocks. ``now`` is the time in
        seconds since 1970; None means the present.
        """
        kept = 0
        now = time() if now is None else now
        with self._transaction():
            for layout, device_round in rounds:
                series = self._numbers_of(layout)[device_round.places]
                left = ~np.isnan(device_round.numbers) & ~(self._sparse[series] & (device_round.numbers == 0))
                order = np.argsort(series[left])
                data = packed(series[left][order], device_round.numbers[left][order].astype(np.float32))
                self._insert(0, self._device(device_round.device), device_round.time, data)
                kept += int(left.sum())
            for tier in range(1, len(TIERS)):
                self._fold(tier, now)
            for tier, resolution in enumerate(TIERS):
                self._db.execute("DELETE FROM block WHERE tier = ? AND time < ?", (tier, now - resolution.kept_s))
            self._shrink()
        return kept

    def _shrink(self) -> None:
        """Delete the oldest tenth of each resolution's samples if the used part of the file is beyond the limit."""
        if self._most_bytes is None:
            return
        pages, free, size = (self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size"))  # fmt: skip
        if (pages - free) * size <= 0.9 * self._most_bytes:
            return
        for tier in range(len(TIERS)):
            first, last = self._db.execute("SELECT min(time), max(time) FROM block WHERE tier = ?", (tier,)).fetchone()
            if first is not None:
                until = first + (last - first) / 10
                self._db.execute("DELETE FROM block WHERE tier = ? AND time <= ?", (tier, until))

    def _insert(self, tier: int, device: int, at: float, data: bytes) -> None:
        self._db.execute("INSERT INTO block VALUES (?, ?, ?, ?)", (tier, device, at, data))

    def _fold(self, tier: int, now: float) -> None:
        """Combine blocks of the next finer resolution into blocks of the resolution with index ``tier``, for all time steps that have ended.

        ``now`` is the time in seconds since 1970.
        """
        step = TIERS[tier].step_s
        row = self._db.execute("SELECT until FROM folded WHERE tier = ?", (tier,)).fetchone()
        if row is None:
            first = self._db.execute("SELECT min(time) FROM block WHERE tier = ?", (tier - 1,)).fetchone()[0]
            if first is None:
                return
            row = (first // step * step,)
        begin, end = max(row[0], now // step * step - TIERS[tier - 1].kept_s), now // step * step
        if row[0] >= end:
            return
        query = "SELECT time, device, data FROM block WHERE tier = ? AND time >= ? AND time < ? ORDER BY time"
        groups: dict[tuple[int, float], list[bytes]] = {}
        for at, device, data in self._db.execute(query, (tier - 1, begin, end)):
            groups.setdefault((device, at // step * step), []).append(data)
        for (device, at), blocks in groups.items():
            self._insert(tier, device, at, packed(*folded(blocks, self._folds, self._sparse)))
        self._db.execute("INSERT OR REPLACE INTO folded VALUES (?, ?)", (tier, end))

    def _device(self, name: str) -> int:
        if name not in self._devices:
            self._devices[name] = self._db.execute(
                "INSERT INTO device (name) VALUES (?) RETURNING id", (name,)
            ).fetchone()[0]
        return self._devices[name]

    def _numbers_of(self, layout: Layout) -> NDArray[np.uint32]:
        """Return the ids of a layout's series in this file. The array has the order of the layout."""
        known = self._numbers.get(id(layout), np.zeros(0, np.uint32))
        if len(known) < len(layout):
            for series in layout.series[len(known) :]:
                self._number(series)
            self._numbers[id(layout)] = known = np.array([self._series[series] for series in layout.series], np.uint32)
        if len(self._folds) <= max(self._names, default=0):
            self._learn_folds()
        return known

    def _learn_folds(self) -> None:
        size = max(self._names, default=0) + 1
        self._folds, self._sparse = np.zeros(size, np.int8), np.zeros(size, np.bool_)
        for number, series in self._names.items():
            metric = METRICS.get(series.metric)
            if metric is not None:
                self._folds[number], self._sparse[number] = FOLDS[metric.fold], metric.sparse

    def _number(self, series: Series) -> None:
        if series not in self._series:
            values = (series.metric, series.port, series.index)
            query = "INSERT INTO series (metric, port, part) VALUES (?, ?, ?) RETURNING id"
            self._series[series] = number = self._db.execute(query, values).fetchone()[0]
            self._names[number] = series

    def samples(
        self, device: str, *, since: float, until: float, metrics: Sequence[str] = (), port: str | None = None
    ) -> list[Sample]:
        """Return the samples of a device from ``since`` until ``until``, in time order. Times are seconds since 1970.

        The store keeps finer numbers for a shorter time. The samples have the finest resolution that is still kept for the time ``since``.
        Only series of one of ``metrics`` (empty means all) and of ``port`` (None means all) are returned.
        """
        number = self._devices.get(device)
        if number is None:
            return []
        wanted = {
            series_number: series
            for series_number, series in list(self._names.items())  # steps are written beside this
            if (not metrics or series.metric in metrics) and (port is None or series.port == port)
        }
        picked = np.array(sorted(wanted), np.uint32)
        oldest = time() if not self._devices else self._newest()
        tier = next(
            (place for place, resolution in enumerate(TIERS) if since >= oldest - resolution.kept_s), len(TIERS) - 1
        )
        query = "SELECT time, data FROM block WHERE tier = ? AND time >= ? AND time <= ? AND device = ? ORDER BY time"
        samples: list[Sample] = []
        with self._lock, self._refusing():
            for at, data in self._db.execute(query, (tier, since, until, number)):
                series, numbers = unpacked(data)
                mine = np.isin(series, picked, assume_unique=True)
                samples += [
                    Sample(device, wanted[int(series_number)], at, float(value))
                    for series_number, value in zip(series[mine], numbers[mine], strict=True)
                ]
        return samples

    def _newest(self) -> float:
        with self._lock, self._refusing():
            row = self._db.execute("SELECT max(time) FROM block WHERE tier = 0").fetchone()
        return row[0] or 0.0

    def keep(self, changes: Iterable[tuple[str, Anomaly]], at: float) -> list[Event]:
        """Write changed anomalies, each as it is now, and return their changes as events. ``at`` is the time in seconds since 1970."""
        events: list[Event] = []
        with self._transaction():
            for change, anomaly in changes:
                value = json.dumps(asdict(anomaly))
                self._db.execute(
                    "INSERT OR REPLACE INTO anomaly VALUES (?, ?, ?)", (anomaly.number, anomaly.closed, value)
                )
                query = "INSERT INTO event (time, change, number, value) VALUES (?, ?, ?, ?) RETURNING id"
                (number,) = self._db.execute(query, (at, change, anomaly.number, value)).fetchone()
                events.append(Event(number, at, change, anomaly))
            self._db.execute("DELETE FROM event WHERE time < ?", (at - KEPT_S,))
            self._db.execute("DELETE FROM anomaly WHERE closed < ?", (at - KEPT_S,))
        return events

    def refresh(self, anomalies: Iterable[Anomaly]) -> None:
        """Write open anomalies as they are now, for example when they were last seen, without an event."""
        rows = [(anomaly.number, anomaly.closed, json.dumps(asdict(anomaly))) for anomaly in anomalies]
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO anomaly VALUES (?, ?, ?)", rows)

    def anomalies(self, most_closed: int) -> list[Anomaly]:
        """Return the open anomalies, and the last ``most_closed`` closed ones, latest last."""
        query = "SELECT value FROM anomaly WHERE closed IS NULL"
        closed = "SELECT value FROM anomaly WHERE closed IS NOT NULL ORDER BY closed DESC LIMIT ?"
        with self._lock, self._refusing():
            over = self._db.execute(closed, (most_closed,)).fetchall()
            rows = [*reversed(over), *self._db.execute(query).fetchall()]
        return [_anomaly(value) for (value,) in rows]

    def events(self, since: float, until: float, *, after: int = 0, number: int = 0, most: int = 5000) -> list[Event]:
        """Return the changes of anomalies from ``since`` until ``until`` (seconds since 1970), oldest first.

        Only events with an id above ``after`` are returned, only those of the anomaly ``number`` (0 means all), and at most the ``most``
        newest.
        """
        query = (
            "SELECT id, time, change, value FROM event WHERE time >= ? AND time <= ? AND id > ? AND ? IN (0, number) "
            "ORDER BY id DESC LIMIT ?"
        )
        with self._lock, self._refusing():
            rows = self._db.execute(query, (since, until, after, number, most)).fetchall()
        return [Event(number, at, change, _anomaly(value)) for number, at, change, value in reversed(rows)]

    def silences(self) -> list[Silence]:
        """Return all silences."""
        with self._lock, self._refusing():
            rows = self._db.execute("SELECT value FROM silence ORDER BY number").fetchall()
        return [_silence(text) for (text,) in rows]

    def keep_silence(self, silence: Silence) -> None:
        """Write a silence."""
        value = json.dumps(asdict(silence))
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO silence VALUES (?, ?)", (silence.number, value))

    def sent(self, receiver: str) -> int | None:
        """Return the id of the last event that a receiver has, or None if it has none yet."""
        with self._lock, self._refusing():
            row = self._db.execute("SELECT event FROM sent WHERE receiver = ?", (receiver,)).fetchone()
        return row[0] if row else None

    def keep_sent(self, receiver: str, event: int) -> None:
        """Write the id of the last event that a receiver has."""
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO sent VALUES (?, ?)", (receiver, event))

    @property
    def bytes(self) -> int:
        """The size of the file and its write-ahead log, in bytes."""
        return sum(
            file.stat().st_size for file in (self.path, self.path.with_name(f"{self.path.name}-wal")) if file.exists()
        )

    def close(self) -> None:
        """Close the store."""
        self._db.close()
