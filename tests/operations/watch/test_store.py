"""The store: what is written is read, longer times are made of shorter ones, a kill loses one step, and it does not grow for ever."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.errors import OutputError
from railweave.model.state.telemetry import Series
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.store import TIERS, Store, packed, unpacked
from railweave.operations.watch.stream import Round

NOW = 1_800_000_000.0
PORT = "et-0/0/1:0"
SERIES = (
    Series("in_octets", PORT),
    Series("port_up", PORT),
    Series("queue_peak", PORT, "3"),
    Series("queue_dropped", PORT, "3"),
)


def layout() -> Layout:
    made = Layout(lambda _: None)
    for one in SERIES:
        made.place(one)
    return made


def rounds(made: Layout, at: float, *numbers: float, device: str = "a-leaf") -> list[tuple[Layout, Round]]:
    return [(made, Round(device, at, np.arange(len(numbers)), np.array(numbers, np.float64)))]


@given(st.dictionaries(st.integers(0, 2**32 - 1), st.floats(width=32, allow_nan=False), max_size=40))
def test_blocks_are_read_as_they_were_written(values: dict[int, float]) -> None:
    series, numbers = np.array(sorted(values), np.uint32), np.array([values[one] for one in sorted(values)], np.float32)
    read = unpacked(packed(series, numbers))
    assert read[0].tolist() == series.tolist()
    assert read[1].tolist() == numbers.tolist()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    store, made = Store(tmp_path / "samples"), layout()
    assert store.write(rounds(made, NOW, 5e9, 1, 0, float("nan")), NOW) == 2, (
        "no queue that is zero, nothing that is no number"
    )
    store.write(rounds(made, NOW + 10, 6e9, 0, 4096, 2), NOW + 10)
    found = store.samples("a-leaf", since=NOW, until=NOW + 10)
    assert [(one.time - NOW, one.series, one.number) for one in found] == [
        (0, SERIES[0], 5e9),
        (0, SERIES[1], 1),
        (10, SERIES[0], 6e9),
        (10, SERIES[1], 0),
        (10, SERIES[2], 4096),
        (10, SERIES[3], 2),
    ]
    assert [one.number for one in store.samples("a-leaf", since=NOW, until=NOW + 10, metrics=["in_octets"])] == [
        5e9,
        6e9,
    ]
    assert store.samples("a-leaf", since=NOW, until=NOW + 10, port="another") == []
    assert store.samples("never heard of", since=NOW, until=NOW + 10) == []
    store.close()
    again = Store(tmp_path / "samples")
    assert again.samples("a-leaf", since=NOW, until=NOW + 10) == found
    again.close()


def test_longer_times_are_made_of_shorter_ones(tmp_path: Path) -> None:
    """A rate is the mean, a state the worst, a peak the most; a queue that is not there was zero."""
    store, made = Store(tmp_path / "samples"), layout()
    for number in range(90):  # 15 minutes
        store.write(
            rounds(made, NOW + 10 * number, 100 + number % 6, number % 6 > 0, number % 6, 3 * (number % 6 == 0)),
            NOW + 10 * number,
        )
    store.write([], NOW + 900)
    found = store.samples("a-leaf", since=NOW - 3600, until=NOW + 59)
    assert {(one.series, one.number) for one in found} == {
        (SERIES[0], 102.5),
        (SERIES[1], 0),
        (SERIES[2], 5),
        (SERIES[3], 0.5),
    }
    assert {one.time for one in found} == {NOW}
    day = store.samples("a-leaf", since=NOW - 24 * 3600, until=NOW + 900)
    assert [(one.time - NOW, one.number) for one in day if one.series == SERIES[0]] == [
        (0, 102.5),
        (300, 102.5),
        (600, 102.5),
    ]
    store.close()


def test_longer_times_are_made_also_after_an_end_in_between(tmp_path: Path) -> None:
    made = layout()
    for number in range(13):
        store = Store(tmp_path / "samples")  # anew for each step
        store.write(rounds(made, NOW + 10 * number, 100 + number), NOW + 10 * number)
        store.close()
    store = Store(tmp_path / "samples")
    store.write([], NOW + 130)
    found = store.samples("a-leaf", since=NOW - 3600, until=NOW + 119)
    assert [one.number for one in found] == [102.5, 108.5]
    store.close()


def test_two_days_are_kept_and_no_more(tmp_path: Path) -> None:
    store, made = Store(tmp_path / "samples"), layout()
    sizes = []
    for hour in range(54):
        for number in range(12):
            at = NOW + 3600 * hour + 300 * number
            store.write(rounds(made, at, 1.0 * number, 1, 1, 1), at)
        sizes.append(store.bytes)
    rows = (
        sqlite3.connect(tmp_path / "samples")
        .execute("SELECT tier, count(*), min(time) FROM block GROUP BY tier")
        .fetchall()
    )
    last = NOW + 3600 * 54 - 300
    assert [tier for tier, _, _ in rows] == [0, 1, 2]
    for tier, count, oldest in rows:
        assert oldest >= last - TIERS[tier].kept_s - TIERS[tier].step_s
        assert count <= TIERS[tier].kept_s / 300 + 1
    assert sizes[-1] == sizes[-5], "what is dropped makes room for what comes"
    store.close()


WRITER = """
import sys
from pathlib import Path
from tests.operations.watch.test_store import NOW, layout, rounds
from railweave.operations.watch.store import Store
store, made = Store(Path(sys.argv[1])), layout()
for number in range(100000):
    store.write(rounds(made, NOW + 10 * number, 1.0 + number), NOW + 10 * number)
    print(number, flush=True)
"""


def test_a_kill_loses_no_step_that_was_written(tmp_path: Path) -> None:
    for kill_at in (1, 25):
        path = tmp_path / f"samples-{kill_at}"
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            written = -1
            while written < kill_at:
                written = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            written = max([written, *(int(line) for line in process.stdout.read().split() if line.isdecimal())])
        store = Store(path)
        times = {one.time for one in store.samples("a-leaf", since=NOW, until=NOW + 10 * 100000)}
        assert {NOW + 10 * number for number in range(max(0, written - 80), written + 1)} <= times
        store.write(rounds(layout(), NOW + 1e6, 1), NOW + 1e6)
        store.close()


def test_another_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE mine (x)").connection.close()
    with pytest.raises(OutputError, match="not a store of samples but another database"):
        Store(other)
    (tmp_path / "text").write_text("not a database at all, but long enough to be taken for one" * 20)
    with pytest.raises(OutputError, match="cannot be used"):
        Store(tmp_path / "text")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="cannot be used"):
        Store(tmp_path / "link")
