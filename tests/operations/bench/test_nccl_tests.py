"""What nccl-tests and rccl-tests print and write, from 2.8 on: every value of the fixtures."""

from __future__ import annotations

import pytest

from railweave.operations.bench.nccl_tests import version_of
from railweave.operations.bench.read import read
from tests.operations.bench.said import nccl_tests, numbers, said, text_of

GIB = 1 << 30
TESTS = {
    # name: operation, library, version of the tests, of the library, ranks, rows, last size, out of place, in place, average
    "nccl-tests-2.8-all-gather_perf.txt": (
        *("all-gather", "NCCL", "", "", 8, 3, 4 << 20),
        *((96.4, 43.51, 38.07, None), (95.8, 43.78, 38.31, None), 28.4411),
    ),
    "nccl-tests-2.9-all_reduce.txt": (
        *("all-reduce", "NCCL", "", "", 16, 2, 64 << 20),
        *((1180.4, 56.85, 106.6, None), (1176.9, 57.02, 106.92, None), 53.3201),
    ),
    "nccl-tests-2.9-broadcast.txt": (
        *("broadcast", "NCCL", "", "", 8, 1, 32 << 20),
        *((265.1, 126.57, 126.57, None), (262.8, 127.68, 127.68, None), 127.122),
    ),
    "nccl-tests-2.13-reduce_scatter_perf.txt": (
        *("reduce-scatter", "NCCL", "", "", 16, 4, GIB),
        *((3390.1, 316.73, 296.93, 0), (3388.2, 316.91, 297.1, 0), 265.407),
    ),
    "nccl-tests-2.16-alltoall-unchecked.txt": (
        *("all-to-all", "NCCL", "", "", 32, 6, GIB),
        *((24102, 44.55, 43.16, None), (24055, 44.64, 43.24, None), 16.4431),
    ),
    "nccl-tests-2.17-timestamps.txt": (
        *("all-reduce", "NCCL", "2.17.6", "2.28.7", 16, 2, 8 * GIB),
        *((42015, 204.45, 383.34, 0), (41990, 204.57, 383.57, 0), 377.881),
    ),
    "nccl-tests-2.18-cputime-memory.txt": (
        *("all-gather", "NCCL", "2.18.2", "2.29.1", 16, 1, GIB),
        *((18.4, 58355.53, 54708.31, 0), (18.1, 59323, 55615, 0), 55161.2),
    ),
    "nccl-tests-2.19-iterations.txt": (
        *("all-reduce", "NCCL", "2.19.6", "2.30.7", 16, 1, GIB),
        *((5388.6, 199.26, 373.62, 0), (5379.9, 199.58, 374.22, 0), 373.908),
    ),
    "nccl-tests-2.19-groups-wrong.txt": (
        *("send-recv", "NCCL", "2.19.3", "2.30.5", 4, 2, 128 << 20),
        *((2760.1, 48.63, 48.63, 3), (2755.4, 48.71, 48.71, 3), 48.2901),
    ),
    "nccl-tests-2.17-all_reduce.json": (
        *("all-reduce", "NCCL", "", "2.28.7", 4, 1, GIB),
        *((5600.25, 191.73, 287.6, 0), (5580.5, 192.41, 288.61, 0), 288.1),
    ),
    "nccl-tests-2.19-iterations.json": (
        *("all-to-all", "NCCL", "", "2.28.7", 4, 2, GIB),
        *((22.5, 47721.8, 35791.4, None), (22.4, 47934.9, 35951.2, None), 35871.3),
    ),
    "rccl-tests-2024-all_reduce_perf.txt": (
        *("all-reduce", "RCCL", "develop:7272012", "", 16, 3, GIB),
        *((5711.3, 188.0, 352.51, 0), (5702.6, 188.29, 353.04, 0), 177.14),
    ),
    "rccl-tests-2025-algorithms.txt": (
        *("all-reduce", "RCCL", "2.17.8-rocm-7.1.0:1a2b3c4", "2.27.7", 16, 2, GIB),
        *((5688.3, 188.76, 353.93, 0), (5680.1, 189.04, 354.44, 0), 229.402),
    ),
    "rccl-tests-reporter.json": (
        *("all-to-all", "RCCL", "", "", 16, 1, 256 << 20),
        *((5120.5, 52.42, 49.15, None), (5140.75, 52.22, 48.95, None), None),
    ),
}


@pytest.mark.parametrize("name", TESTS)
def test_values(name: str) -> None:
    operation, library, version, of_library, ranks, rows, size, out, inside, average = TESTS[name]
    test = nccl_tests(name)
    assert (test.operation, test.library, test.tests_version, test.library_version) == (
        operation,
        library,
        version,
        of_library,
    )
    assert (test.rank_count, len(test.rows), test.rows[-1].size_bytes) == (ranks, rows, size)
    assert (numbers(test.rows[-1].out_of_place), numbers(test.rows[-1].in_place)) == (out, inside)
    assert test.average_busbw_gbytes_per_s == average
    assert test.concluded
    assert test.cpu_time == (name in {"nccl-tests-2.18-cputime-memory.txt", "nccl-tests-2.19-iterations.json"})


def test_columns_that_come_and_go() -> None:
    row = nccl_tests("nccl-tests-2.9-all_reduce.txt").rows[-1]
    assert (row.redop, row.root, row.type) == ("sum", None, "float")
    assert row.out_of_place is not None
    assert row.out_of_place.largest_error == 2e-07
    row = nccl_tests("nccl-tests-2.9-broadcast.txt").rows[0]
    assert (row.redop, row.root) == ("", 0)
    row = nccl_tests("nccl-tests-2.17-timestamps.txt").rows[0]
    assert (row.timestamp, row.root) == ("2026-03-02 10:11:12", -1)
    algorithms = [
        (row.algorithm, row.protocol, row.channels, row.type)
        for row in nccl_tests("rccl-tests-2025-algorithms.txt").rows
    ]
    assert algorithms == [("TREE", "SIMPLE", 32, "bfloat16"), ("RING", "SIMPLE", 64, "bfloat16")]


@pytest.mark.parametrize("name", ["nccl-tests-2.19-iterations.txt", "nccl-tests-2.19-iterations.json"])
def test_iterations(name: str) -> None:
    found = nccl_tests(name).rows[-1].out_of_place
    assert found is not None
    each = (found.fastest_us, found.slowest_us, found.p99_us, found.variation_percent)
    assert each == ((5301.2, 5904.8, 5890.1, 1.92) if name.endswith("txt") else (21.9, 24.0, 24.0, 1.78))


def test_one_place_alone() -> None:
    inside = nccl_tests("rccl-tests-2024-in-place-all_reduce_perf.txt").rows[0]
    assert inside.out_of_place is None
    assert numbers(inside.in_place) == (1544.2, 173.83, 304.21, None)
    outside = nccl_tests("rccl-tests-2026-event-times.txt").rows[0]
    assert outside.in_place is None
    assert numbers(outside.out_of_place) == (210.44, 318.9, 279.04, 0)
    assert outside.out_of_place is not None
    assert outside.out_of_place.event_us == 204.1


def test_ranks_and_settings() -> None:
    test = nccl_tests("nccl-tests-2.19-groups-wrong.txt")
    assert [(one.rank, one.group, one.host, one.device, one.pci, one.gpu) for one in test.ranks] == [
        (0, 0, "gpu-17", 0, "0000:18:00", "NVIDIA H200"),
        (0, 1, "gpu-17", 1, "0000:2a:00", "NVIDIA H200"),
        (1, 0, "gpu-18", 0, "0000:18:00", "NVIDIA H200"),
        (1, 1, "gpu-18", 1, "0000:2a:00", "NVIDIA H200"),
    ]
    assert (test.out_of_bounds, test.average_is_enough, test.hosts) == (6, False, ("gpu-17", "gpu-18"))
    assert dict(test.settings) == {
        "nThread": "1",
        "nGpus": "1",
        "minBytes": "67108864",
        "maxBytes": "134217728",
        "step": "2(factor)",
        "warmup iters": "5",
        "iters": "20",
        "agg iters": "1",
        "validation": "1",
        "graph": "0",
        "unalign": "0",
    }
    old = nccl_tests("nccl-tests-2.8-all-gather_perf.txt")
    assert (old.ranks[7].pci, old.ranks[7].pid, old.node_count) == ("0xdf", 70218, 1)
    memory = dict(nccl_tests("nccl-tests-2.18-cputime-memory.txt").settings)["GPU memory usage"]
    assert memory == "Baseline 521 MB | Init 1.25 GB | Coll 96.0 MB | Total  1.85 GB"


def test_of_an_environment_only_what_is_no_secret_is_kept() -> None:
    test = nccl_tests("nccl-tests-2.17-all_reduce.json")
    assert test.variables == (("NCCL_IB_HCA", "mlx5"), ("NCCL_IB_QPS_PER_CONNECTION", "4"))
    assert test.began == "2026-05-04 08:30:01"
    assert nccl_tests("nccl-tests-2.19-iterations.json").variables == (("NCCL_DEBUG", "INFO"),)


def test_a_reporter_s_cycles_are_runs() -> None:
    found = said("rccl-tests-reporter.csv").nccl_tests
    assert [(one.operation, one.rank_count, one.node_count) for one in found] == [("all-reduce", 32, 4)] * 2
    assert [numbers(one.rows[0].in_place) for one in found] == [(5888.1, 182.36, 353.32, 0), (5891.7, 182.25, 353.1, 0)]
    old = nccl_tests("rccl-tests-reporter-lines.json")
    assert [(row.line, row.size_bytes, numbers(row.out_of_place)) for row in old.rows] == [
        (1, 1 << 20, (24.1, 43.51, 43.51, 0)),
        (3, 2 << 20, (30.2, 69.44, 69.44, 0)),
    ]
    assert old.rows[1].in_place is None


def test_a_run_that_did_not_end() -> None:
    found = said("nccl-tests-2.17-timeout-srun.txt")
    [test] = found.nccl_tests
    assert not test.concluded
    assert [line for line, _ in test.failures] == [28, 29, 30]
    assert [str(note) for note in found.notes] == [
        "nccl-tests-2.17-timeout-srun.txt:31: not understood: srun: error: h100-02: task 8: Exited with exit code 3"
    ]
    killed = said("nccl-tests-2.19-killed.json")
    assert killed.empty
    assert killed.notes[0].what.startswith("not JSON, as of a test that did not end")


def test_two_tests_and_a_log_in_one_text() -> None:
    found = said("job-two-tests-with-log.txt")
    first, second = found.nccl_tests
    assert (first.operation, second.operation) == ("all-reduce", "all-gather")
    assert numbers(first.rows[0].out_of_place) == (5601.2, 47.92, 47.92, 0)
    assert numbers(second.rows[0].in_place) == (2816.1, 95.32, 47.66, 0)
    assert (first.line, second.line) == (1, 36)  # the command that runs both is the first's
    assert found.log is not None
    assert (found.log.hosts, len(found.log.channels)) == (("h100-01", "h100-02"), 4)


def test_blank_halves_and_blank_names() -> None:
    head = "\n".join(text_of("nccl-tests-2.19-groups-wrong.txt").split("\n")[8:13])
    rows = "     1048576   524288  half  sum  -1                                   22.5   46.60   46.60       0\n"
    rows += "     1048576   524288  half          22.5   46.60   46.60       0    22.4   46.70   46.70       0\n"
    one, two = read(f"{head}\n{rows}", "sendrecv_perf.txt").nccl_tests[0].rows
    assert (one.out_of_place, numbers(one.in_place)) == (None, (22.5, 46.6, 46.6, 0))
    assert (two.redop, two.root, numbers(two.out_of_place)) == ("", None, (22.5, 46.6, 46.6, 0))


def test_what_is_odd_is_noted() -> None:
    text = text_of("nccl-tests-2.13-reduce_scatter_perf.txt").replace("  601.2", "  601.2 x")
    text = text.replace("     sum ", "    none ")  # such tables are of several operations
    assert [str(note) for note in read(text, "f").notes] == [
        "f:24: 14 values under 13 columns: 134217728       2097152     float    none      -1    601.2 x  223.25  209.30      0    600.1  223.66  209.68      0",
        "f:1: the output does not name its operation (a version before 2.17 and no command): give it by --operation",
    ]


def test_operation_of_an_unnamed_table() -> None:
    """A reduction without a root has two factors of the bus bandwidth: its ranks tell an all-reduce from a reduce-scatter."""
    text = text_of("nccl-tests-2.13-reduce_scatter_perf.txt")
    assert read(text, "f").nccl_tests[0].operation == "reduce-scatter"
    assert not read(text, "f").notes
    assert read(text, "all_gather.txt").nccl_tests[0].operation == "all-gather"  # the name of the file comes first
    two = "\n".join(text.split("\n")[20:23])  # the header of the table
    row = "     1048576   262144  float   sum   {}   22.5   46.60   46.60       0    22.4   46.70   46.70       0\n"
    devices = "".join(f"#  Rank {n} Group 0 Pid {n + 7} on node-1 device {n} [0x1b] NVIDIA H100\n" for n in range(2))
    for root, ranks, operation in (("-1", devices, "all-reduce"), ("0", devices, "reduce"), ("-1", "", "")):
        assert read(f"{ranks}{two}\n{row.format(root)}", "f").nccl_tests[-1].operation == operation


@pytest.mark.parametrize(("code", "version"), [(23007, "2.30.7"), (2708, "2.7.8"), (20805, "2.8.5"), (0, "")])
def test_versions(code: int, version: str) -> None:
    assert version_of(code) == version
