"""Series from Python: the numbers that railweave sim writes as CSV, as arrays."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from railweave._sim import PacketEngine, command
from tests.leaf_spine import HOSTS, LEAVES, SPINES, arguments, flow_file

EVERY = 10_000_000
SET = {"buffer": "300KB", "ecn": "20KB..100KB@50%"}
"""So little of a buffer that senders are paused and packets marked."""

NAMES = [f"h{host}" for host in range(LEAVES * HOSTS)]
NAMES += [f"leaf{leaf}" for leaf in range(LEAVES)] + [f"spine{spine}" for spine in range(SPINES)]
PORTS = [1] * (LEAVES * HOSTS) + [HOSTS + SPINES] * LEAVES + [LEAVES] * SPINES


def engine(every: int = EVERY, **wanted: Any) -> PacketEngine:
    made = PacketEngine(**arguments(parameters=SET))
    made.sample_every(every, **wanted)
    return made


def files(folder: Path, *options: str) -> list[list[dict[str, str]]]:
    """What the command writes of ports, queues and flows."""
    names = [folder / f"{name}.csv" for name in ("ports", "queues", "flows")]
    (folder / "in.csv").write_text(flow_file())
    words = ["--topology", f"leaf-spine:leaves={LEAVES},spines={SPINES},hosts={HOSTS}", "--flows", folder / "in.csv"]
    for option, name in zip(("--series", "--queue-series", "--flow-series"), names, strict=True):
        words += [option, name]
    for name, value in SET.items():
        words += ["--set", f"{name}={value}"]
    assert command("test", [str(word) for word in (*words, *options, "--output", folder / "out.txt")]) in {0, 1}
    return [
        [row for row in csv.DictReader(name.read_text().splitlines()) if not row["time_us"].startswith("#")]
        for name in names
    ]


def place(row: dict[str, str]) -> int:
    """The port of a row, counted over all nodes."""
    return sum(PORTS[: NAMES.index(row["node"])]) + int(row["port"])


def same(column: np.ndarray, texts: list[str], unit: float = 1, decimals: int | None = None) -> None:
    """The command writes times as they are, other fractions rounded."""
    found = (column / unit).tolist() if unit != 1 or decimals else column.tolist()
    if decimals:
        assert [f"{value:.{decimals}f}" for value in found] == texts
    else:
        assert found == [float(text) for text in texts]


@pytest.mark.parametrize(("options", "until"), [((), 10**9), (("--until", "33.3us"), 33_300_000)])
def test_the_same_as_the_files(tmp_path: Path, options: tuple[str, ...], until: int) -> None:
    ports, queues, flows = files(tmp_path, *options)
    running = engine()
    running.run(until)
    series = running.series()
    assert series["end_ps"] == until
    assert set(series) == {"end_ps", "ports", "queues", "queue_pairs"}

    found = series["ports"]
    assert {len(column) for column in found.values()} == {len(ports)}
    same(found["time_ps"], [row["time_us"] for row in ports], 1e6)
    assert found["port"].tolist() == [place(row) for row in ports]
    for name in ("tx_bytes", "queued_bytes", "ecn_ce_packets", "dropped_packets", "pfc_tx", "pfc_rx"):
        same(found[name], [row[name] for row in ports])
    same(found["utilisation"], [row["utilisation"] for row in ports], 1, 6)
    same(found["paused_ps"], [row["paused_us"] for row in ports], 1e6)
    for name in ("tx_bytes", "utilisation", "queued_bytes", "ecn_ce_packets", "pfc_tx", "pfc_rx", "paused_ps"):
        assert found[name].sum() > 0, name

    found = series["queues"]
    assert {len(column) for column in found.values()} == {len(queues)}
    same(found["time_ps"], [row["time_us"] for row in queues], 1e6)
    assert found["port"].tolist() == [place(row) for row in queues]
    same(found["class"], [row["class"] for row in queues])
    same(found["queued_bytes"], [row["queued_bytes"] for row in queues])
    assert len(queues) > 5

    found = series["queue_pairs"]
    assert {len(column) for column in found.values()} == {len(flows)}
    same(found["time_ps"], [row["time_us"] for row in flows], 1e6)
    same(found["queue_pair"], [row["flow"] for row in flows])
    same(found["delivered_bytes"], [row["delivered_bytes"] for row in flows])
    same(found["rate_mbps"], [row["rate_gbps"] for row in flows], 1e3, 6)
    assert set(found["queue_pair"].tolist()) == {0, 1, 2, 3}


def test_the_columns_have_the_types_that_the_stub_says() -> None:
    running = engine()
    running.run(10**9)
    series = running.series()
    types = {
        "ports": {"port": np.uint32, "utilisation": np.float64},
        "queues": {"port": np.uint32, "class": np.uint8},
        "queue_pairs": {"queue_pair": np.uint32, "rate_mbps": np.float64},
    }
    for name, own in types.items():
        for column, values in series[name].items():
            assert values.dtype == own.get(column, np.uint64), (name, column)
            assert values.flags.c_contiguous
            assert values.flags.writeable
            assert not values.flags.owndata, "the engine's memory, not a copy of it"


def test_where_a_run_is_cut_changes_nothing() -> None:
    whole, cut = engine(), engine()
    whole.run(10**10)
    last = int(whole.arrivals().max())
    for moment in (0, 1, EVERY, EVERY, 33_333_333, last - 1, last, last + 2_500_000, 10**9, 10**10):
        cut.run(moment)
    assert cut.counters() == whole.counters()
    one, other = whole.series(), cut.series()
    for name in ("ports", "queues", "queue_pairs"):
        for column, values in one[name].items():
            assert (values == other[name][column]).all(), (name, column)
    assert (one["ports"]["time_ps"] % EVERY == 0).all()
    assert last < one["ports"]["time_ps"].max() < last + 2 * EVERY, "nothing is collected when nothing happens"


def test_collecting_changes_nothing() -> None:
    plain, sampled = PacketEngine(**arguments(parameters=SET)), engine(1_234_567)
    plain.run(10**10)
    sampled.run(10**10)
    assert sampled.counters() == plain.counters()
    assert (sampled.arrivals() == plain.arrivals()).all()


def test_series_are_handed_out_once() -> None:
    """Together the parts are the whole: in each call the last interval ends where the run stands."""
    running = engine()
    parts = []
    for moment in (25_000_000, 25_000_000, 60_000_000, 10**10):
        running.run(moment)
        parts.append(running.series())
        assert parts[-1]["end_ps"] == moment
    assert parts[0]["ports"]["time_ps"].max() == 25_000_000
    assert {len(values) for values in parts[1]["ports"].values()} == {0}
    assert parts[2]["ports"]["time_ps"].min() == 30_000_000
    sent = sum(part["ports"]["tx_bytes"].sum() for part in parts)
    assert sent == running.port_counters()["tx_bytes"].sum()
    delivered = np.zeros(4, np.uint64)
    for part in parts:
        np.add.at(delivered, part["queue_pairs"]["queue_pair"], part["queue_pairs"]["delivered_bytes"])
    assert delivered.tolist() == [3_000_000, 1_000_000, 2_000_000, 100_001]


def test_a_choice_of_series_and_ports() -> None:
    leaf1 = LEAVES * HOSTS + HOSTS + SPINES
    of = np.array([leaf1 + 1, leaf1, leaf1 + 1], np.uint32)
    running = engine(of_ports=of, queue_pairs=False)
    running.run(10**9)
    series = running.series()
    assert set(series) == {"end_ps", "ports", "queues"}
    assert set(series["ports"]["port"].tolist()) <= {leaf1, leaf1 + 1}
    assert set(series["queues"]["port"].tolist()) == {leaf1 + 1}, "the port of host 5, to which three send"
    rows = list(zip(series["ports"]["time_ps"].tolist(), series["ports"]["port"].tolist(), strict=True))
    assert rows == sorted(set(rows)), "a port that is named twice is there once"
    everything = engine()
    everything.run(10**9)
    ports = everything.series()["ports"]
    chosen = np.isin(ports["port"], of)
    assert (ports["tx_bytes"][chosen] == series["ports"]["tx_bytes"]).all()


def test_said_again() -> None:
    running = engine()
    running.sample_every(EVERY, ports=False, queues=False)
    running.run(10**9)
    assert set(running.series()) == {"end_ps", "queue_pairs"}


def test_wrong_use() -> None:
    plain = PacketEngine(**arguments())
    with pytest.raises(ValueError, match=r"^series: nothing is collected: call sample_every before the first run$"):
        plain.series()
    with pytest.raises(ValueError, match=r"^every_ps: 999 is not within 1000 and 1000000000000000$"):
        plain.sample_every(999)
    with pytest.raises(ValueError, match=r"^of_ports: row 1: it is 24, and there are 24 ports$"):
        plain.sample_every(EVERY, of_ports=np.array([0, 24], np.uint32))
    plain.run(0)
    with pytest.raises(ValueError, match=r"^sample_every: the engine ran already: say what to collect before$"):
        plain.sample_every(EVERY)
