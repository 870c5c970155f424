"""What perftest measures (``ib_write_bw``, ``ib_read_lat`` and their like), as values.

Rates are in 10^9 bit/s whatever was printed. Sources: linux-rdma/perftest, ``perftest_parameters.c`` and ``.h``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.operations.bench.lines import Note

GBPS_OF_MIBPS = (1 << 20) * 8 / 1e9
"""10^9 bit/s of one 2^20 byte/s, which perftest calls ``MB/sec``, since 2024 ``MiB/sec``."""

Verb = Literal["write", "read", "send", "atomic", ""]
Kind = Literal["bandwidth", "latency", ""]
Half = Literal["local", "remote"]
"""The end whose results a row has, of a bidirectional test with ``--report-both``."""


@dataclass(frozen=True, slots=True)
class PerftestRow:
    """One size. What a test does not measure, or prints as 0.00 because it did not, is None.

    ``bandwidth_gbps`` of a bidirectional test is the sum of both directions. ``iterations`` are those of all queue pairs together,
    where the test was not for a duration. Latencies are half a round trip, of reads and atomics a whole one. A row of one ``half`` is no row
    of the test: it has what one end alone measured.
    """

    line: int
    size_bytes: int
    iterations: int | None = None
    bandwidth_gbps: float | None = None
    bandwidth_peak_gbps: float | None = None
    message_rate_mpps: float | None = None
    latency_min_us: float | None = None
    latency_max_us: float | None = None
    latency_typical_us: float | None = None
    latency_avg_us: float | None = None
    latency_p99_us: float | None = None
    latency_p999_us: float | None = None
    transactions_per_s: float | None = None
    cpu_percent: float | None = None
    service_level: int | None = None
    half: Half | None = None


def row_of(line: int, found: Mapping[str, float | int | None], half: Half | None = None) -> PerftestRow:
    """A row from its values by the names of its fields; ``size_bytes`` must be there.

    A peak of 0 is None: tests for a duration (-D), and those that measure none (-N), print 0.00.
    """

    def whole(name: str) -> int | None:
        given = found.get(name)
        return None if given is None else int(given)

    return PerftestRow(
        line,
        whole("size_bytes") or 0,
        iterations=whole("iterations"),
        bandwidth_gbps=found.get("bandwidth_gbps"),
        bandwidth_peak_gbps=found.get("bandwidth_peak_gbps") or None,
        message_rate_mpps=found.get("message_rate_mpps"),
        latency_min_us=found.get("latency_min_us"),
        latency_max_us=found.get("latency_max_us"),
        latency_typical_us=found.get("latency_typical_us"),
        latency_avg_us=found.get("latency_avg_us"),
        latency_p99_us=found.get("latency_p99_us"),
        latency_p999_us=found.get("latency_p999_us"),
        transactions_per_s=found.get("transactions_per_s"),
        cpu_percent=found.get("cpu_percent"),
        service_level=whole("service_level"),
        half=half,
    )


@dataclass(frozen=True, slots=True)
class PerftestFailure:
    """Why a test ended. ``status`` is that of the completion (12: no answer to all retries), ``syndrome`` the vendor's."""

    line: int
    what: str
    status: int | None = None
    syndrome: int | None = None


@dataclass(frozen=True, slots=True)
class Perftest:
    """One test. ``settings`` are the pairs of its header as they were printed.

    ``memory`` is ``gpu`` where the output or the command says so, else ``host``. GIDs are addresses: an IPv4 address stands for
    itself. ``command`` is the line that started it where the text has that.
    """

    file: str
    line: int
    verb: Verb
    kind: Kind
    bidirectional: bool
    memory: Literal["host", "gpu"]
    settings: tuple[tuple[str, str], ...]
    local_gid: str
    remote_gid: str
    command: str
    rows: tuple[PerftestRow, ...]
    failures: tuple[PerftestFailure, ...]
    notes: tuple[Note, ...] = ()

    def setting(self, *names: str) -> str:
        """The first of these settings that is there; empty where none is."""
        found = dict(self.settings)
        return next((found[name] for name in names if name in found), "")

    def number(self, *names: str) -> int | None:
        """The same as a whole number: ``4096[B]`` is 4096."""
        digits = re.match(r"[0-9]{1,18}", self.setting(*names))
        return int(digits[0]) if digits else None

    @property
    def device(self) -> str:
        """The RDMA device."""
        return self.setting("Device")

    @property
    def queue_pairs(self) -> int | None:
        """How many queue pairs sent."""
        return self.number("Number of qps", "Number_of_qps")

    @property
    def mtu_bytes(self) -> int | None:
        """The MTU of the path, payload of one packet."""
        return self.number("Mtu")

    @property
    def gid_index(self) -> int | None:
        """The place of the GID in the device's table."""
        return self.number("GID index", "GID_index")


TITLE = re.compile(
    r"^\s*(RDMA_Write_imm|RDMA_Write|RDMA_Read|Send_imm|Send|Atomic)\s(?:[\w ]*\s)?(BW|Latency)\b[\w ]*\bTest\s*$"
)
"""The line that begins the output of a test."""
COMMAND = re.compile(r"(?:^|[\s/])(?:ib|raw_ethernet)_(write|read|send|atomic)_(bw|lat)\b")
"""A line that starts one."""
GPU = re.compile(r"--use_(?:cuda|rocm|musa|neuron|hl)\b|--use_\w+_dmabuf|--use_cuda_bus_id")
"""Options that put the buffers into the memory of a GPU."""


def verb_of(name: str) -> Verb:
    """The verb of a name as perftest has it: ``RDMA_Write_imm``, ``Send``, ``write``."""
    verbs: tuple[Verb, ...] = ("write", "read", "send", "atomic")
    for verb in verbs:
        if verb in name.lower():
            return verb
    return ""
