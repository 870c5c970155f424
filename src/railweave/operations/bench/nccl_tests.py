"""What nccl-tests and rccl-tests measure, as values.

Times are those of one operation in microseconds; bandwidths in 10^9 byte/s, as they are printed (``GB/s``). Sources: NVIDIA/nccl-tests
``src/common.cu`` and ``src/util.cu``, doc/PERFORMANCE.md; ROCm/rccl-tests, now in ROCm/rocm-systems.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from railweave.operations.bench.lines import Note

OPERATIONS = {
    "all_reduce": "all-reduce",
    "allreduce": "all-reduce",
    "all_gather": "all-gather",
    "allgather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "reducescatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "all_to_all": "all-to-all",
    "alltoallv": "all-to-all-v",
    "sendrecv": "send-recv",
    "send_recv": "send-recv",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "hypercube": "hypercube",
}
"""Operations as ``railweave sim --collective`` calls them, by the names that tests and their output files have."""

_PROGRAM = re.compile(
    r"(?:^|[^A-Za-z0-9])(" + "|".join(sorted(OPERATIONS, key=len, reverse=True)) + r")(?:_bias)?_perf\b"
)
_FILE = re.compile(r"(" + "|".join(sorted(OPERATIONS, key=len, reverse=True)) + r")", re.IGNORECASE)

KEPT = re.compile(
    r"(?:NCCL|RCCL|UCX|OMPI_MCA|HSA|HIP|ROCR|GPU_MAX|CUDA_VISIBLE|CUDA_DEVICE|RAILWEAVE|SLURM_NNODES|SLURM_NTASKS)\w*"
)
"""Variables of an environment that are kept. nccl-tests writes the whole environment into its JSON, passwords with it."""
_SECRET = re.compile(r"SECRET|TOKEN|PASSW|KEY(?!S?_)", re.IGNORECASE)


def operation_of(text: str) -> str:
    """The operation of a program's name or a command that runs it; empty where there is none."""
    found = _PROGRAM.search(text)
    return OPERATIONS[found[1].lower()] if found else ""


def operation_of_file(name: str) -> str:
    """The operation that a file's name speaks of; empty where it speaks of none."""
    found = _FILE.search(name.rpartition("/")[2].replace("-", "_"))
    return OPERATIONS[found[1].lower()] if found else ""


def kept(name: str) -> bool:
    """Whether a variable of the environment may be kept: it is of the communication libraries, and no secret."""
    return KEPT.fullmatch(name) is not None and _SECRET.search(name) is None


@dataclass(frozen=True, slots=True)
class Measured:
    """One row's times in one place. What was not measured or not printed is None; ``wrong`` is None where data was not checked (-c 0).

    ``largest_error`` stood in the place of ``wrong`` up to nccl-tests 2.12. ``event_us`` is the time by events of HIP. The fastest
    iteration and those beside it are those of ``-I``; ``variation_percent`` is deviation by mean.
    """

    time_us: float | None = None
    algbw_gbytes_per_s: float | None = None
    busbw_gbytes_per_s: float | None = None
    wrong: float | None = None
    largest_error: float | None = None
    event_us: float | None = None
    fastest_us: float | None = None
    slowest_us: float | None = None
    p99_us: float | None = None
    variation_percent: float | None = None


@dataclass(frozen=True, slots=True)
class NcclTestsRow:
    """One size. ``size_bytes`` is that of the table, of an all-gather what a rank receives in all. A root of -1 is none.

    ``others`` are columns that are not known here, with their values: they tell rows apart.
    """

    line: int
    size_bytes: int
    count: int | None = None
    type: str = ""
    redop: str = ""
    root: int | None = None
    out_of_place: Measured | None = None
    in_place: Measured | None = None
    algorithm: str = ""
    protocol: str = ""
    channels: int | None = None
    timestamp: str = ""
    others: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank and its GPU, as the test lists them. ``group`` is that of NCCL_TESTS_SPLIT."""

    rank: int
    group: int
    pid: int
    host: str
    device: int
    pci: str
    gpu: str


@dataclass(frozen=True, slots=True)
class NcclTests:
    """One run of a test. ``cpu_time``: times are those of the processor (-C 1).

    ``average_busbw_gbytes_per_s`` is the mean over all sizes and both places: it says nothing without the range of sizes.
    ``concluded``: the test came to its end. ``settings`` are those of the header (``minBytes``, ``iters``), ``variables`` the kept ones.
    """

    file: str
    line: int
    operation: str
    library: Literal["NCCL", "RCCL", ""]
    tests_version: str
    library_version: str
    cpu_time: bool
    settings: tuple[tuple[str, str], ...]
    ranks: tuple[Rank, ...]
    rank_count: int | None
    node_count: int | None
    rows: tuple[NcclTestsRow, ...]
    out_of_bounds: int | None
    average_busbw_gbytes_per_s: float | None
    average_is_enough: bool | None
    concluded: bool
    failures: tuple[tuple[int, str], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    began: str = ""
    command: str = ""
    notes: tuple[Note, ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The servers, each once, in the order of their ranks."""
        return tuple(dict.fromkeys(one.host for one in self.ranks))


def version_of(code: int) -> str:
    """A library's version from its number: 23007 is 2.30.7, 2708 is 2.7.8 (NCCL up to 2.8)."""
    major, minor = (1000, 100) if code < 10_000 else (10_000, 100)
    return f"{code // major}.{code % major // minor}.{code % minor}" if code > 0 else ""
