"""Outputs of OSU micro-benchmarks, ucx_perftest, TransferBench and nvbandwidth, in the forms of their versions."""

from __future__ import annotations

import json

import pytest

from railweave.operations.bench.read import read
from railweave.operations.bench.runs import runs_of

OSU_BW = """\
$ mpirun -np 2 osu_bw
# OSU MPI Bandwidth Test v5.8
# Size      Bandwidth (MB/s)
1                       3.50
4194304             24000.00
"""
OSU_OLD = """\
# OSU MPI Bandwidth Test (Version 2.0)
# Size Bandwidth (MB/s)
1 3.500000
4194304 24000.000000
"""
OSU_FULL = """\

# OSU MPI-CUDA Allreduce Latency Test v7.0
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
1048576               101.50            100.25            103.75         100
16777216              900.00            890.00            910.00         100
"""
OSU_PAIRS = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v6.2
# [ pairs: 8 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
65536               98000.00        1495361.33
"""
UCX = """\
+--------------+--------------+------------------------------+---------------------+-----------------------+
|              |              |       overhead (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
[thread 0]               500     40.000    41.000    41.000    23000.00   23000.00        2400        2400
Final:                  1000     40.000    41.500    42.000    22500.00   22888.18        2350        2400
"""
UCX_OLD = """\
ucx_perftest node-b -t tag_lat -s 8
+--------------+-----------------------------+---------------------+-----------------------+
|              |       latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+---------+---------+---------+----------+----------+-----------+-----------+
| # iterations | typical | average | overall |  average |  overall |   average |   overall |
+--------------+---------+---------+---------+----------+----------+-----------+-----------+
        500000     0.950     0.960     0.965        7.90       7.90      520000      520000
       1000000     0.940     0.950     0.955        8.00       7.99      530000      525000
"""
TRANSFERBENCH = """\
TransferBench v1.62.00
===============================================================
NUM_ITERATIONS       =           10 : Running 10 timed iteration(s)
## two transfers
Test 1:
 Executor: GPU 00 |  300.500 GB/s |    1.489 ms |    469762048 bytes | 326.317 GB/s (sum)
     Transfer 00  |   47.250 GB/s |    1.426 ms |     67108864 bytes | F0 -> G000:008 -> F1
 Aggregate (CPU)  |  295.000 GB/s |    1.500 ms |    469762048 bytes | Overhead: 0.111 ms
"""
NVBANDWIDTH = """\
nvbandwidth Version: v0.8
Built from Git version: v0.8

CUDA Runtime Version: 12080
CUDA Driver Version: 12080
Driver Version: 570.10

Device 0: NVIDIA H100 (00000000:1b:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.25     54.75

SUM host_to_device_memcpy_ce 110.00

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    264.50
 1    262.25       N/A

SUM device_to_device_memcpy_read_ce 526.75
"""


def numbers(text: str) -> tuple[str, list[tuple[str, int | None, str, float]], tuple[str, ...]]:
    """The tool, its numbers, and what was not understood."""
    parsed = read(text, "out.txt")
    run = runs_of(parsed, "", "")[0]
    return (
        run.tool,
        [(sample.operation, sample.size_bytes, sample.quantity, sample.value) for sample in run.samples],
        run.notes,
    )


@pytest.mark.parametrize("text", [OSU_BW, OSU_OLD])
def test_osu_bandwidth_is_in_millions_of_bytes(text: str) -> None:
    assert numbers(text) == (
        "osu",
        [
            ("mpi bandwidth", 1, "bandwidth_gbps", pytest.approx(0.028)),
            ("mpi bandwidth", 4194304, "bandwidth_gbps", 192.0),
        ],
        (),
    )


def test_osu_collectives_have_the_names_of_nccl_tests() -> None:
    tool, samples, notes = numbers(OSU_FULL)
    assert (tool, notes) == ("osu", ())
    assert samples[:3] == [
        ("all-reduce", 1048576, "time_us", 101.5),
        ("all-reduce", 1048576, "fastest_us", 100.25),
        ("all-reduce", 1048576, "slowest_us", 103.75),
    ]
    assert ("memory", "gpu") in runs_of(read(OSU_FULL, "x"), "", "")[0].settings
    assert numbers(OSU_PAIRS)[1] == [
        ("multiple bandwidth", 65536, "bandwidth_gbps", 784.0),
        ("multiple bandwidth", 65536, "message_rate_mpps", pytest.approx(1.49536133)),
    ]


def test_ucx_has_its_final_line_in_powers_of_two() -> None:
    tool, samples, notes = numbers(UCX)
    assert (tool, notes) == ("ucx_perftest", ())
    assert samples == [
        ("ucx bandwidth", None, "overhead_us", 42.0),
        ("ucx bandwidth", None, "bandwidth_gbps", pytest.approx(192.0, rel=1e-6)),
        ("ucx bandwidth", None, "message_rate_mpps", pytest.approx(0.0024)),
    ]
    assert numbers(UCX_OLD)[1][0] == ("ucx tag_lat", 8, "latency_avg_us", 0.955)
    assert len(numbers(UCX_OLD)[1]) == 3


@pytest.mark.parametrize("bar", ["|", "│", " "])
def test_transferbench_has_executors_and_transfers(bar: str) -> None:
    tool, samples, notes = numbers(TRANSFERBENCH.replace("|", bar))
    assert (tool, notes) == ("TransferBench", ())
    assert [(size, value) for _, size, _, value in samples] == [
        (469762048, 2404.0),
        (67108864, 378.0),
        (469762048, 2360.0),
    ]
    labels = [dict(sample.labels) for sample in runs_of(read(TRANSFERBENCH, "x"), "", "")[0].samples]
    assert labels[1] == {"test": "1", "part": "Transfer 00", "way": "F0 -> G000:008 -> F1"}


def test_nvbandwidth_has_each_pair() -> None:
    tool, samples, notes = numbers(NVBANDWIDTH)
    assert (tool, notes) == ("nvbandwidth", ())
    assert [value for *_, value in samples] == [442.0, 438.0, 880.0, 2116.0, 2098.0, 4214.0]
    labels = [dict(sample.labels) for sample in runs_of(read(NVBANDWIDTH, "x"), "", "")[0].samples]
    assert labels[0] == {"row": "CPU 0", "column": "GPU 0"}
    assert labels[3] == {"row": "GPU 0", "column": "GPU 1"}


def test_nvbandwidth_json() -> None:
    case = {
        "name": "host_to_device_memcpy_ce",
        "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s) ",
        "bandwidth_matrix": [["55.25", "N/A"]],
        "status": "Passed",
    }
    broken = {"name": "device_to_device_memcpy_read_ce", "status": "Error", "bandwidth_matrix": []}
    text = json.dumps({"nvbandwidth": {"git_version": "v0.8", "testcases": [case, broken]}})
    run = runs_of(read(text, "x.json"), "", "")[0]
    assert [(sample.quantity, sample.value, dict(sample.labels)) for sample in run.samples] == [
        ("bandwidth_gbps", 442.0, {"row": "CPU 0", "column": "GPU 0"})
    ]
    assert run.failures == ("device_to_device_memcpy_read_ce: Error",)


@pytest.mark.parametrize("text", [OSU_BW, OSU_FULL, UCX, UCX_OLD, TRANSFERBENCH, NVBANDWIDTH])
def test_prefixes_leave_the_numbers(text: str) -> None:
    for prefix in ("[1,0]<stdout>:", "2026-11-01T08:15:00.123456789Z ", "0: ", "gpu-8: ", "worker-0  | "):
        prefixed = "\n".join(prefix + line for line in text.rstrip("\n").split("\n"))
        assert read(prefixed, "out.txt").tools, prefix
        assert numbers(prefixed) == numbers(text), prefix


ONE_RANK = """\
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid {pid} on {host} device  0 [0x1b] NVIDIA H100
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1     5.10  205.60    0.00      0     1.10  953.25    0.00      0
     2097152        524288     float     sum      -1     6.20  338.25    0.00      0     1.20 1747.63    0.00      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0
#
"""


@pytest.mark.parametrize("label", ["", "{rank}: ", "[1,{rank}]<stdout>:"])
@pytest.mark.parametrize("mixed", [False, True])
def test_a_build_without_mpi_is_recognized(label: str, *, mixed: bool) -> None:
    """Each process prints a whole table of one rank: one after another, or line by line."""
    tables = [
        [label.format(rank=rank) + line for line in ONE_RANK.format(pid=100 + rank, host=f"gpu-{rank}").splitlines()]
        for rank in range(3)
    ]
    lines = (
        [line for lines in zip(*tables, strict=True) for line in lines]
        if mixed
        else [line for table in tables for line in table]
    )
    runs = runs_of(read("\n".join(lines), "all_reduce.txt"), "", "")
    assert all(run.ranks == 1 for run in runs)
    assert all("3 processes measured each for itself" in run.failures[0] for run in runs)
    assert {sample.size_bytes for run in runs for sample in run.samples if sample.size_bytes} == {1048576, 2097152}


def test_a_test_of_one_process_is_no_build_without_mpi() -> None:
    two = ONE_RANK.format(pid=7, host="gpu-1")
    assert [run.failures for run in runs_of(read(two + two, "all_reduce.txt"), "", "")] == [(), ()]


def test_rccl_tests_csv_of_versions_without_a_cycle() -> None:
    text = "name,gpus,size,type,redop,inPlace,time,algBw,busBw,#wrong\nAllGather,4,1024,float,none,0,10.5,0.1,0.075,0\n"
    run = runs_of(read(text, "out.csv"), "", "")[0]
    assert (run.tool, run.ranks, len(run.samples)) == ("rccl-tests", 4, 4)
    assert run.samples[0].operation == "all-gather"
