"""Outputs of OSU micro-benchmarks, ucx_perftest, TransferBench and nvbandwidth, in the forms of their versions."""

from __future__ import annotations

import json

import pytest

from railweave.operations.bench.read import read
from railweave.operations.bench.runs import runs_of
from railweave.operations.bench.triage.triage import triage

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


STYLES = ("borders", "plain", "csv")


def laid_out(style: str, *rows: str) -> str:
    """A table as TransferBench prints it: rows of cells between bars, each column as wide as its widest cell, cells at its right."""
    cells = [[f" {cell.strip()} ".replace("  ", " ") for cell in row.split("|")] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    bar = {"borders": "│", "plain": " ", "csv": ","}[style]
    lines = [bar.join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) + bar for row in cells]
    if style == "borders":
        lines[1:1] = ["┼".join("-" * width for width in widths) + "┤"]
    return "\n".join(lines) + "\n"


def preset(body: str) -> list[tuple[float, str]]:
    """The numbers of a preset in 10^9 byte/s, each with its labels; nothing of the text may remain unknown."""
    [run] = runs_of(read(f"TransferBench v1.66.02\n======\n[Common]\nNUM_ITERATIONS  = 10 : x\n\n{body}", "x"), "", "")
    assert (run.tool, run.notes) == ("TransferBench", ())
    return [(round(sample.value / 8, 3), ", ".join(text for _, text in sample.labels)) for sample in run.samples]


@pytest.mark.parametrize("style", STYLES)
def test_transferbench_rings_of_nics(style: str) -> None:
    table = laid_out(
        style,
        "||GPU 00||GPU 01|",
        "||NIC 00|NIC 01|NIC 02|TOTAL",
        "Rank|Name|mlx5_0|mlx5_1|mlx5_2|(GB/s)",
        "0|node-a|48.10|47.90|24.05|120.05",
        "1|77|48.20|47.80|48.15|144.15",
        "|MIN (GB/s)|48.10|47.80|24.05|120.05",
    )
    numbers_ = preset(
        f"NIC Rings benchmark\n=====\n1 queue pairs per NIC.  67108864 bytes per Transfer.  All numbers are GB/s\n\n{table}"
    )
    assert numbers_[2:4] == [(24.05, "Rank 0 node-a, GPU 01 NIC 02 mlx5_2"), (120.05, "Rank 0 node-a, TOTAL")]
    assert numbers_[4] == (48.2, "Rank 1 77, GPU 00 NIC 00 mlx5_0")
    assert numbers_[8:10] == [(48.1, "MIN (GB/s), GPU 00 NIC 00 mlx5_0"), (47.8, "MIN (GB/s), GPU 00 NIC 01 mlx5_1")]
    assert len(numbers_) == 12


@pytest.mark.parametrize("style", STYLES)
def test_transferbench_all_nics_to_all(style: str) -> None:
    table = laid_out(
        style,
        "Mem Device|||Rank 00||Rank 01|||",
        "|||GPU 00|GPU 04|GPU 00|GPU 04||",
        "||SRC+EXE\\DST|rdma0|rdma1|rdma0|rdma1|STotal|Actual",
        "Rank 00|GPU 00|rdma0|N/A|1.25|2.25|3.25|6.75|3.75",
        "|GPU 04|rdma1|4.25|N/A|5.25|6.25|15.75|12.75",
        "Rank 01|GPU 00|rdma0|7.25|8.25|N/A|9.25|24.75|21.75",
        "||RTotal|11.50|9.50|7.50|18.75|47.25|38.25",
    )
    numbers_ = preset(
        f"NIC All-To-All benchmark\n=====\n[1024 bytes per Transfer]\n--- NIC AllToAll Plane 00 Group 00 (4 NICs) ---\n{table}"
    )
    assert numbers_[:5] == [
        (1.25, "Rank 00 GPU 00 rdma0, Rank 00 GPU 04 rdma1"),
        (2.25, "Rank 00 GPU 00 rdma0, Rank 01 GPU 00 rdma0"),
        (3.25, "Rank 00 GPU 00 rdma0, Rank 01 GPU 04 rdma1"),
        (6.75, "Rank 00 GPU 00 rdma0, STotal"),
        (3.75, "Rank 00 GPU 00 rdma0, Actual"),
    ]
    assert numbers_[6] == (5.25, "Rank 00 GPU 04 rdma1, Rank 01 GPU 00 rdma0")
    assert numbers_[12] == (9.25, "Rank 01 GPU 00 rdma0, Rank 01 GPU 04 rdma1")
    assert numbers_[-2:] == [(47.25, "RTotal, STotal"), (38.25, "RTotal, Actual")]


@pytest.mark.parametrize("style", STYLES)
def test_transferbench_pairs_of_nics(style: str) -> None:
    table = laid_out(
        style,
        "SRC+EXE\\DST|||Rank 00||Rank 01|",
        "|NIC Device||rdma0|rdma1|rdma0|rdma1",
        "||Mem Device|GPU 00|GPU 04|GPU 00|GPU 04",
        "Rank 00|rdma0|GPU 00|40.00|40.01|40.10|40.11",
        "|rdma1|GPU 04|41.00|41.01|41.10|41.11",
    )
    best = laid_out(
        style,
        "Fastest Bandwidth (GB/s)|Src|Dst|Slowest Bandwidth (GB/s)|Src|Dst",
        "41.11|R00:rdma1|R01:rdma1|40.00|R00:rdma0|R00:rdma0",
    )
    title = "Unidirectional copy peak bandwidth GB/s (NIC RDMA Using Nearest Device)\n"
    numbers_ = preset(f"{title}{table}Summary of top 10 fastest/slowest connection\n{best}")
    assert numbers_[3:5] == [
        (40.11, "Rank 00 rdma0 GPU 00, Rank 01 rdma1 GPU 04"),
        (41.0, "Rank 00 rdma1 GPU 04, Rank 00 rdma0 GPU 00"),
    ]
    assert len(numbers_) == 8
    lines = laid_out(
        style,
        "SRC Rank|SRC NIC|SRC MEM|DST Rank|DST NIC|DST MEM|bw (GB/s)",
        "Rank 00|rdma0|GPU 00|Rank 01|rdma1|GPU 04|45.50",
    )
    assert preset(title + lines) == [(45.5, "Rank 00 rdma0 GPU 00, Rank 01 rdma1 GPU 04")]


@pytest.mark.parametrize("style", STYLES)
def test_transferbench_pairs_of_gpus_in_both_directions(style: str) -> None:
    table = laid_out(
        style,
        "SRC\\DST||Rank 00||Rank 01",
        "|Mem Device|GPU 00|GPU 01|GPU 00",
        "Rank 00|GPU 00 ->|N/A|50.00|51.00",
        "|GPU 00 <->|N/A|99.00|98.00",
        "||||",
        "|GPU 01 ->|50.50|N/A|51.50",
    )
    numbers_ = preset(
        f"Bytes Per Direction 1024\nBidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)\n{table}"
    )
    assert numbers_ == [
        (50.0, "Rank 00 GPU 00, Rank 00 GPU 01, ->"),
        (51.0, "Rank 00 GPU 00, Rank 01 GPU 00, ->"),
        (99.0, "Rank 00 GPU 00, Rank 00 GPU 01, <->"),
        (98.0, "Rank 00 GPU 00, Rank 01 GPU 00, <->"),
        (50.5, "Rank 00 GPU 01, Rank 00 GPU 00, ->"),
        (51.5, "Rank 00 GPU 01, Rank 01 GPU 00, ->"),
    ]


P2P = """\
Bytes Per Direction 67108864
Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
 SRC+EXE\\DST    CPU 00       GPU 00    GPU 01
  CPU 00  ->     25.50        26.50    1800.00
  CPU 00  sd      0.01         0.01      0.01

  GPU 00  ->     25.25           N/A     47.25
                           CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU
Averages (During UniDir):       N/A     26.50     25.25     47.25
"""
A2A = """\
GPU-GFX All-To-All benchmark:
==========================
- Copying 67108864 bytes between directly connected pairs of GPUs using 8 CUs (2 Transfers)

Summary: [67108864 bytes per Transfer]
==========================================================
SRC\\DST  GPU 00     GPU 01     NIC(04 QP)    STotal      Actual
GPU 00      N/A      47.100     40.500       87.600     81.000
GPU 01   48.100         N/A     40.500       88.600     81.000

RTotal   48.100     47.100     81.000      176.200     81.000     81.500

Average   bandwidth (GPU Timed):   44.050 GB/s
"""
SCHMOO = """\
Bytes to transfer: 67108864 Local GPU: 0 Remote GPU: 1
       | Local Read  | Local Write | Local Copy  | Remote Read | Remote Write| Remote Copy |
  #CUs |G00->G00->N00|N00->G00->G00|G00->G00->G00|G01->G00->N00|N00->G00->G01|G00->G00->G01|
|------|-------------|-------------|-------------|-------------|-------------|-------------|
     1        10.250        11.250        12.250        13.250        14.250        15.250
"""
SCALING = """\
GPU-GFX Scaling benchmark:
==========================
- Copying 67108864 bytes from GPU 0 to other devices

NumCUs   CPU00       GPU00       GPU01
   1     7.25       20.25        6.25
 Best    7.25(  1)  20.25(  1)   6.25(  1)
"""
ONE2ALL = """\
Executing (G0 -> G0 -> G*)
   GPU 1     GPU 2
--------------------------
                47.250   1 4 (G0 G0 G2)
    45.250      45.750    2 4 (G0 G0 G1) (G0 G0 G2)
"""
RINGS = """\
GPU-GFX Rings benchmark:
[67108864 bytes per Transfer] [GFX:8] [MemType:default GPU] [NIC QueuePairs:1] [#Ranks:1]
┌--------------------┬--------------------┐
│Ring00 Ring00 Ring00│Ring01 Ring01 Ring01│
│Device GFX BW NIC BW│Device GFX BW NIC BW│
│     0  45.25  40.25│     2  45.50  40.50│
│   MIN  45.25  40.25│   MIN  45.50  40.50│
"""
SWEEP = """\
GPU-GFX All-To-All Sweep benchmark (67108864 bytes, local=no). All values are CPU-Timed GB/s
 BlkS   UnR    SE 004   SE 008
  256     1    101.25   120.25
Highest CPU-timed bandwidth found:  120.25 GB/s
          BlockSize  :     256
"""
HBM = """\
Testing on at least 1073741824 bytes (24 configs per GPU): ........
  Rank   GPU   MaxBw (GB/s)   AvgBw (GB/s)   MinBw (GB/s)
     0     1       4810.00        4700.00        4600.00
"""
RANKS = """\
Test 1:
 Executor: Rank 1 NIC 02 │  47.250 GB/s │   1.425 ms │    67108864 bytes │  47.250 GB/s (sum) [node-b]
Transfer 0               │  47.250 GB/s │   1.425 ms │    67108864 bytes │ R1G2 -> R1N2.2:1 -> R0G2
Sweep Test limit reached
"""
CSV = """\
Test#,Transfer#,NumBytes,Src,Exe,Dst,CUs,BW(GB/s),Time(ms),SrcAddr,DstAddr
1,0,67108864,G0,G00,G1,8,48.125,1.395,0x7f1,0x7f2
1,ALL,67108864,ALL,ALL,ALL,ALL,48.000,1.495,ALL,ALL
"""


@pytest.mark.parametrize(
    ("text", "some", "number_"),
    [
        (P2P, {0: (25.5, "CPU 00, CPU 00, ->"), 4: (47.25, "GPU 00, GPU 01, ->"), 5: (26.5, "Averages (During UniDir), CPU->GPU")}, 8),
        (A2A, {0: (47.1, "GPU 00, GPU 01"), 1: (40.5, "GPU 00, NIC(04 QP)"), 13: (81.5, "RTotal, largest Actual"), 14: (44.05, "Average bandwidth (GPU Timed)")}, 15),
        (SCHMOO, {0: (10.25, "#CUs 1, Local Read"), 5: (15.25, "#CUs 1, Remote Copy")}, 6),
        (SCALING, {2: (6.25, "NumCUs 1, GPU01"), 3: (7.25, "Best, CPU00")}, 6),
        (ONE2ALL, {0: (47.25, "1 at once, G0 G0 G2"), 2: (45.75, "2 at once, G0 G0 G2")}, 3),
        (RINGS, {1: (40.25, "0, Ring00 NIC"), 2: (45.5, "2, Ring01 GFX"), 4: (45.25, "MIN, Ring00 GFX")}, 8),
        (SWEEP, {1: (120.25, "BlkS 256 UnR 1, SE 008"), 2: (120.25, "Highest CPU-timed bandwidth found")}, 3),
        (HBM, {1: (4700.0, "Rank 0 GPU 1, AvgBw (GB/s)")}, 3),
        (RANKS, {0: (47.25, "1, Executor: Rank 1 NIC 02, node-b"), 1: (47.25, "1, Transfer 0, R1G2 -> R1N2.2:1 -> R0G2")}, 2),
        (CSV, {0: (48.125, "1, Transfer 0, G0 -> G00 -> G1"), 1: (48.0, "1, total")}, 2),
    ],
)  # fmt: skip
def test_transferbench_presets(text: str, some: dict[int, tuple[float, str]], number_: int) -> None:
    numbers_ = preset(text)
    assert {place: numbers_[place] for place in some} == some
    assert len(numbers_) == number_


HEALTH = """\
TransferBench v1.66.02
Testing HBM performance [READ]             ........PASS
Testing unidirectional host to device copy ........FAIL (1 test(s))
 GPU 03: Measured:  24.10 GB/s      Criteria:  48.50 GB/s
Testing all-to-all XGMI copies             ........FAIL (1 test(s))
 GPU 00 to GPU 05:  20.10 GB/s      Criteria:  43.65 GB/s
"""


def test_failures_of_tools_are_found_by_triage() -> None:
    [run] = runs_of(read(HEALTH, "x"), "", "")
    assert len(run.failures) == 2
    refused = "TransferBench v1.66.02\n[ERROR] No proper GPU device can be found for transfer R0N1 - R1N1\n"
    nvlink = NVBANDWIDTH + "[CUDA_ERROR_NOT_PERMITTED] operation not permitted in expression cuMemcpyAsync()\n"
    for text, line, excerpt in (
        (HEALTH, 4, "GPU 03: 24.1 GB/s, at least 48.5"),
        (refused, 2, "No proper GPU"),
        (nvlink, 24, "NOT_PERMITTED"),
    ):
        findings = [diagnosis.finding for diagnosis in triage(text, "x").diagnoses]
        assert {(finding.id, finding.severity) for finding in findings} == {("run-ended-early", "error")}
        assert findings[0].line == line
        assert excerpt in findings[0].what


@pytest.mark.parametrize(
    "text",
    [
        "# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n",
        "nvbandwidth Version: v0.8\nRunning host_to_device_memcpy_ce.\n",
        "ucx_perftest node-b -t tag_bw\n+--------------+--------------+---+\n| Test:         tag bandwidth |\n",
        "TransferBench v1.66\nNIC Rings benchmark\n====\n",
    ],
)
def test_a_tool_without_a_result_has_failed(text: str) -> None:
    [run] = runs_of(read(text, "x"), "", "")
    assert run.failures[0].endswith("printed no result")
    assert [diagnosis.finding.id for diagnosis in triage(text, "x").diagnoses] == ["run-ended-early"]


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


@pytest.mark.parametrize(
    ("title", "columns", "cells", "expected"),
    [
        ("MPI Non-blocking Allreduce Latency", "Size  Overall(us)  Compute(us)  Pure Comm.(us)  Overlap(%)", "4 12.5 6.0 6.25 10.0", [("non-blocking all-reduce", 4, "time_us", 12.5), ("non-blocking all-reduce", 4, "communication_us", 6.25)]),
        ("MPI-ROCM All-to-All Personalized Exchange Latency", "Size  Avg Latency(us)", "1 30.25", [("all-to-all", 1, "time_us", 30.25)]),
        ("NCCL-CUDA Bandwidth", "Size  Bandwidth (MB/s)", "1 125.0", [("nccl bandwidth", 1, "bandwidth_gbps", 1.0)]),
        ("MPI_Put Latency", "Size  Latency (us)", "1 2.5", [("mpi_put latency", 1, "latency_avg_us", 2.5)]),
        ("MPI-CUDA Latency", "Size  Avg Latency(us)  Validation", "1 2.5 Pass", [("mpi latency", 1, "latency_avg_us", 2.5)]),
        ("MPI Persistent Bandwidth", "Size  Bandwidth (MB/s)", "1 125.0", [("persistent mpi bandwidth", 1, "bandwidth_gbps", 1.0)]),
    ],
)  # fmt: skip
def test_more_titles_of_osu(title: str, columns: str, cells: str, expected: list[tuple[str, int, str, float]]) -> None:
    text = f"# OSU {title} Test v7.4\n# Datatype: MPI_CHAR.\n# {columns}\n{cells}\n"
    assert numbers(text) == ("osu", expected, ())
    [run] = runs_of(read(text.replace("Pass", "Fail"), "x"), "", "")
    assert run.failures == (("line 4: the data of 1 bytes are wrong: the validation failed",) if "Pass" in text else ())


@pytest.mark.parametrize(
    "text", [OSU_BW, OSU_FULL, UCX, UCX_OLD, TRANSFERBENCH, HEALTH, "TransferBench v1.66\n" + A2A, NVBANDWIDTH]
)
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
