"""What perftest prints and writes, by version and option: every value of the fixtures."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from railweave.operations.bench.lines import gid_address, raw_gid
from railweave.operations.bench.perftest import PerftestFailure, PerftestRow
from railweave.operations.bench.read import read
from tests.operations.bench.said import perftest, text_of

MIB = (1 << 20) * 8 / 1e9


def values(row: PerftestRow) -> dict[str, float]:
    """What a row has, by the names of its fields."""
    return {name: found for name, found in asdict(row).items() if found is not None and name != "line"}


BANDWIDTH = {
    # name: verb, bidirectional, memory, device, queue pairs, GIDs, last row
    "perftest-write-bw-4.5-mb.txt": (
        "write",
        False,
        "host",
        "mlx5_2",
        1,
        ("10.20.1.11", "10.20.1.12"),
        (65536, 5000, 11640.55 * MIB, 11650.21 * MIB, 0.186249),
    ),
    "perftest-write-bw-all-sizes-gbits.txt": (
        "write",
        False,
        "host",
        "mlx5_4",
        1,
        ("10.10.5.1", "10.10.5.3"),
        (8388608, 5000, 391.4, 392.97, 0.005832),
    ),
    "perftest-write-bw-bidirectional-rocm.txt": (
        "write",
        True,
        "gpu",
        "bnxt_re0",
        4,
        ("10.30.1.1", "10.30.1.2"),
        (8388608, 20000, 770.93, 771.06, 0.011488),
    ),
    "perftest-write-bw-duration-mib.txt": (
        "write",
        False,
        "host",
        "mlx5_0",
        8,
        ("192.168.5.10", "192.168.5.11"),
        (1048576, 1862400, 46520.31 * MIB, None, 0.04652),
    ),
    "perftest-read-bw-cuda.txt": (
        "read",
        False,
        "gpu",
        "mlx5_6",
        2,
        ("10.10.7.1", "10.10.7.2"),
        (8388608, 2000, 389.17, None, 0.005799),
    ),
    "perftest-send-bw-server.txt": (
        "send",
        False,
        "host",
        "mlx5_1",
        1,
        ("10.10.2.4", "10.10.2.3"),
        (65536, 1000, 196.83, None, 0.375423),
    ),
    "perftest-write-bw-per-port.txt": (
        "write",
        False,
        "host",
        "mlx5_0",
        2,
        ("10.10.1.1", "10.10.1.2"),
        (65536, 10000, 197.31, 197.42, 0.376339),
    ),
    "perftest-write-bw-rdma-cm-ipv6.txt": (
        "write",
        False,
        "host",
        "mlx5_1",
        1,
        ("fc00:1:1:1:ba3f:d2ff:fe01:2", "fc00:2:1:1:ba3f:d2ff:fe03:4"),
        (65536, 5000, 391.6, 391.77, 0.746918),
    ),
    "perftest-json-gbits.json": (
        "write",
        False,
        "gpu",
        "mlx5_0",
        4,
        ("", ""),
        (8388608, 20000, 391.72, 391.95, 0.005837),
    ),
    "perftest-json-4.5.json": ("write", False, "host", "mlx5_1", 1, ("", ""), (65536, 5000, 97.58, 97.61, 0.186119)),
}


@pytest.mark.parametrize("name", BANDWIDTH)
def test_bandwidth(name: str) -> None:
    verb, both, memory, device, pairs, gids, (size, iterations, average, peak, rate) = BANDWIDTH[name]
    test = perftest(name)
    assert (test.verb, test.kind, test.bidirectional, test.memory) == (verb, "bandwidth", both, memory)
    assert (test.device, test.queue_pairs, test.mtu_bytes) == (device, pairs, 4096)
    assert (test.local_gid, test.remote_gid) == gids
    row = test.rows[-1]
    assert (row.size_bytes, row.iterations, row.message_rate_mpps) == (size, iterations, rate)
    assert row.bandwidth_gbps == pytest.approx(average, abs=0.005)
    assert row.bandwidth_peak_gbps == (None if peak is None else pytest.approx(peak, abs=0.005))
    assert test.failures == ()


def test_all_sizes_and_the_command() -> None:
    test = perftest("perftest-write-bw-all-sizes-gbits.txt")
    assert [row.size_bytes for row in test.rows] == [2**power for power in range(1, 24)]
    assert test.rows[0].bandwidth_gbps == 0.0832  # six decimals below 0.1
    assert test.command == "ib_write_bw -d mlx5_4 -x 3 -a -F --report_gbits h100-03"
    assert test.rows[0].line < test.rows[1].line


def test_both_directions_are_one_sum() -> None:
    test = perftest("perftest-write-bw-bidirectional-rocm.txt")
    assert [row.bandwidth_gbps for row in test.rows] == [0.0897, 752.42, 770.93]


def test_settings_of_the_header_are_kept_by_name() -> None:
    test = perftest("perftest-write-bw-rdma-cm-ipv6.txt")
    assert test.setting("Using Enhanced Reorder") == "OFF"
    assert test.setting("Lock-free") == "OFF"
    assert test.setting("CQE Poll Batch") == "16"
    assert (test.setting("Data ex. method"), test.setting("TOS")) == ("rdma_cm", "106")
    assert perftest("perftest-read-bw-cuda.txt").setting("Outstand reads") == "16"
    assert perftest("perftest-write-lat-numa.txt").setting("NUMA node") == "1"
    assert perftest("perftest-json-4.5.json").gid_index == 5


LATENCY = {
    "perftest-send-lat.txt": ("send", [(2, 1000, 3.11, 9.87, 3.19, 3.22, 3.91, 7.03)]),
    "perftest-write-lat-numa.txt": (
        "write",
        [(2, 1000, 1.42, 4.05, 1.47, 1.48, 1.66, 2.91), (4096, 1000, 2.31, 5.77, 2.38, 2.4, 2.71, 4.12)],
    ),
    "perftest-json-lat.json": ("write", [(2, 1000, 1.44, 5.12, 1.49, 1.5, 1.7, 3.05)]),
}


@pytest.mark.parametrize("name", LATENCY)
def test_latency(name: str) -> None:
    verb, rows = LATENCY[name]
    test = perftest(name)
    assert (test.verb, test.kind) == (verb, "latency")
    names = (
        "size_bytes",
        "iterations",
        *(f"latency_{one}_us" for one in ("min", "max", "typical", "avg", "p99", "p999")),
    )
    assert [values(row) for row in test.rows] == [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("name", "iterations", "average", "rate"),
    [
        ("perftest-read-lat-duration.txt", 3120455, 2.56, 389871.25),
        ("perftest-json-lat-duration.json", 3915002, 2.55, 391500.2),
    ],
)
def test_latency_for_a_duration(name: str, iterations: int, average: float, rate: float) -> None:
    test = perftest(name)
    assert (test.verb, test.kind) == ("read", "latency")
    assert values(test.rows[0]) == {
        "size_bytes": 64,
        "iterations": iterations,
        "latency_avg_us": average,
        "transactions_per_s": rate,
    }


@pytest.mark.parametrize(
    ("name", "bandwidth", "percent"),
    [("perftest-write-bw-cpu-util.txt", 390.02, 4.17), ("perftest-json-mib.json", 46590.12 * MIB, 3.2)],
)
def test_processor_time(name: str, bandwidth: float, percent: float) -> None:
    row = perftest(name).rows[0]
    assert (row.bandwidth_gbps, row.cpu_percent) == (pytest.approx(bandwidth), percent)


def test_failures() -> None:
    [old] = perftest("perftest-status-12.txt").failures[:1]
    assert (old.status, old.syndrome) == (12, 0xA)
    new = perftest("perftest-status-12-named.txt")
    assert new.failures[0] == PerftestFailure(37, "transport retry counter exceeded", 12, 0x81)
    assert new.failures[1].what.startswith("Failed to complete")
    wrong = perftest("perftest-link-local-gid.txt")
    assert (wrong.local_gid, wrong.gid_index, wrong.rows) == ("fe80::a288:c2ff:fe12:3456", 1, ())


def test_the_unit_of_json_may_be_told_and_is_left_out_where_nothing_tells_it() -> None:
    text = text_of("perftest-json-gbits.json").replace("0.005837", "0.000000")
    [unknown] = read(text, "x").perftests
    assert unknown.rows[0].bandwidth_gbps is None
    assert [note.what for note in read(text, "x").notes] == [
        "a bandwidth whose unit nothing tells: say whether --report_gbits was given"
    ] * 2
    for gbits, expected in ((True, 391.72), (False, 391.72 * MIB)):
        [told] = read(text, "x", gbits=gbits).perftests
        assert told.rows[0].bandwidth_gbps == pytest.approx(expected)


def test_a_row_that_does_not_fit_is_noted_with_its_line() -> None:
    text = text_of("perftest-write-bw-4.5-mb.txt").replace("0.186249", "")
    found = read(text, "out.txt")
    assert found.perftests[0].rows == ()
    assert [str(note) for note in found.notes] == [
        "out.txt:23: 4 values under 5 columns: 65536      5000             11650.21            11640.55"
    ]


def test_gids() -> None:
    assert gid_address("00:00:00:00:00:00:00:00:00:00:255:255:10:77:01:02") == "10.77.1.2"
    assert gid_address("fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:01") == "fe80::1"
    assert gid_address("1:2:3") == gid_address("00:" * 15 + "300") == ""
    assert raw_gid("0", "2010A0AFFFF0000") == "10.10.1.2"
