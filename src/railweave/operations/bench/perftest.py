"""Results of perftest (``ib_write_bw``, ib_read_lat and similar programs) as Python objects, and the reader of its JSON output.

Rates are in 10^9 bit/s, whatever unit perftest printed. The option ``--out_json`` writes the JSON file. Sources:
linux-rdma/perftest, perftest_parameters.c and perftest_parameters.h.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from railweave.operations.bench.lines import Line, Note, Notes, counted, measured

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


GBPS_OF_MIBPS = (1 << 20) * 8 / 1e9
"""Conversion factor from 2^20 byte/s to 10^9 bit/s. Perftest calls the former ``MB/sec``, and since 2024 ``MiB/sec``."""

Verb = Literal["write", "read", "send", "atomic", ""]
Kind = Literal["bandwidth", "latency", ""]
Half = Literal["local", "remote"]
"""The end of a test that measured a row, in a bidirectional test with ``--report-both``, which prints the results of both ends."""


@dataclass(frozen=True, slots=True)
class PerftestRow:
    """A row of results, for one message size. A value that the test did not measure is None, even if the test printed 0.00.

    - ``bandwidth_gbps``: the sum of both directions in a bidirectional test.
    - ``iterations``: the total of all queue pairs; None if the test ran for a fixed duration.
    - Latencies of reads and atomics are a whole round trip. All other latencies are half a round trip.
    - ``half``: if set, the row has the results of one end only, and is not a result of the whole test.
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


def row_of(line: int, values: Mapping[str, float | int | None], half: Half | None = None) -> PerftestRow:
    """Return a row of results from ``values``, which are by field name. A missing ``size_bytes`` becomes 0.

    ``half`` is the end that measured the row; None for both ends. A peak of 0 becomes None: tests with a duration (-D) or without
    peak measurement (-N) print 0.00.
    """

    def whole(name: str) -> int | None:
        given = values.get(name)
        return None if given is None else int(given)

    return PerftestRow(
        line,
        whole("size_bytes") or 0,
        iterations=whole("iterations"),
        bandwidth_gbps=values.get("bandwidth_gbps"),
        bandwidth_peak_gbps=values.get("bandwidth_peak_gbps") or None,
        message_rate_mpps=values.get("message_rate_mpps"),
        latency_min_us=values.get("latency_min_us"),
        latency_max_us=values.get("latency_max_us"),
        latency_typical_us=values.get("latency_typical_us"),
        latency_avg_us=values.get("latency_avg_us"),
        latency_p99_us=values.get("latency_p99_us"),
        latency_p999_us=values.get("latency_p999_us"),
        transactions_per_s=values.get("transactions_per_s"),
        cpu_percent=values.get("cpu_percent"),
        service_level=whole("service_level"),
        half=half,
    )


@dataclass(frozen=True, slots=True)
class PerftestFailure:
    """The reason why a test ended early. ``status`` is the status of the completion (12 means that no retry was answered).

    ``syndrome`` is the vendor's error code.
    """

    line: int
    what: str
    status: int | None = None
    syndrome: int | None = None


@dataclass(frozen=True, slots=True)
class Perftest:
    """A test of perftest.

    - ``settings``: (name, text) pairs of the header, as printed.
    - ``memory``: ``gpu`` if the output or the command shows buffers in GPU memory, otherwise ``host``.
    - ``local_gid``, ``remote_gid``: the GIDs as IP addresses; a mapped IPv4 address is given as IPv4.
    - ``command``: the command line of the test, if the text contains it.
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
        """Return the text of a setting: the first of ``names`` that the header contains. If it contains none of them, the text is empty."""
        settings = dict(self.settings)
        return next((settings[name] for name in names if name in settings), "")

    def number(self, *names: str) -> int | None:
        """Return the number with which a setting begins, or None. The setting is the first of ``names`` that the header contains.

        For example, ``4096[B]`` gives 4096.
        """
        digits = re.match(r"[0-9]{1,18}", self.setting(*names))
        return int(digits[0]) if digits else None

    @property
    def device(self) -> str:
        """The name of the RDMA device."""
        return self.setting("Device")

    @property
    def queue_pairs(self) -> int | None:
        """The number of sending queue pairs, or None if unknown."""
        return self.number("Number of qps", "Number_of_qps")

    @property
    def mtu_bytes(self) -> int | None:
        """The path MTU, which is the payload of a packet in bytes. None if the output does not show it."""
        return self.number("Mtu")

    @property
    def gid_index(self) -> int | None:
        """The index of the GID in the device's table; None if the output does not show it."""
        return self.number("GID index", "GID_index")


TITLE = re.compile(
    r"^\s*(RDMA_Write_imm|RDMA_Write|RDMA_Read|Send_imm|Send|Atomic)\s(?:[\w ]*\s)?(BW|Latency)\b[\w ]*\bTest\s*$"
)
"""A pattern of the first line of a test's output."""
COMMAND = re.compile(r"(?:^|[\s/])(?:ib|raw_ethernet)_(write|read|send|atomic)_(bw|lat)\b")
"""A pattern of a command line that starts a test."""
GPU = re.compile(r"--use_(?:cuda|rocm|musa|neuron|hl)\b|--use_\w+_dmabuf|--use_cuda_bus_id")
"""A pattern of the options that place the buffers in GPU memory."""


def verb_of(name: str) -> Verb:
    """Return the verb that a perftest name contains, such as ``RDMA_Write_imm``, ``Send`` or ``write``; empty if it contains none."""
    verbs: tuple[Verb, ...] = ("write", "read", "send", "atomic")
    for verb in verbs:
        if verb in name.lower():
            return verb
    return ""


_TOKEN = re.compile(r'"?([A-Za-z][\w.*]*)"?\s*:\s*("[^"]*"|\{|[^\s,{}"]+)|([{}])')
_KEYS = {
    "MsgSize": "size_bytes",
    "n_iterations": "iterations",
    "sl": "service_level",
    "BW_peak": "bandwidth_peak_gbps",
    "BW_average": "bandwidth_gbps",
    "bw_avg": "bandwidth_gbps",
    "MsgRate": "message_rate_mpps",
    "msgRate_avg": "message_rate_mpps",
    "t_min": "latency_min_us",
    "t_max": "latency_max_us",
    "t_typical": "latency_typical_us",
    "t_avg": "latency_avg_us",
    "avg_lat": "latency_avg_us",
    "percentile_99": "latency_p99_us",
    "percentile_99.9": "latency_p999_us",
    "tps_average": "transactions_per_s",
    "CPU_util": "cpu_percent",
}
_WHOLE = {"size_bytes", "iterations", "service_level"}
_UNREAD = {"t_stdev", "stdev", "test_info", "results"}
"""The keys of the JSON file that are ignored: those of objects that are read separately, and the standard deviation.

Perftest computes the deviation from whole microseconds (print_report_lat), so it is often 0 and wrong.
"""
_HALVES: dict[str, Half | None] = {"results": None, "results_local": "local", "results_remote": "remote"}
"""The JSON objects with results, and the end to which each belongs (``--report-both``)."""


@dataclass
class _Document:
    """The contents of one test in a JSON file, each value as (line, name, text).

    ``settings`` holds the object ``test_info``. ``results`` holds the objects with results, by the object's name. Known results outside
    all objects are treated as part of the object ``results``.
    """

    settings: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    results: dict[str, list[tuple[int, str, str]]] = field(default_factory=dict[str, list[tuple[int, str, str]]])

    @property
    def has_info(self) -> bool:
        """True if the file contains the object ``test_info`` of this test."""
        return any(name == "test" for _, name, _ in self.settings)


def read_perftest_json(lines: Sequence[Line], notes: Notes, *, gbits: bool | None = None) -> list[Perftest]:
    """Return the tests in a JSON file, which may hold several documents one after another. Never raises an error.

    ``notes`` collects what cannot be read. ``gbits`` is True if the test ran with ``--report_gbits``, which determines the unit of
    rates. If ``gbits`` is None, the unit is derived from the message rate. Without a message rate, the bandwidth is left out with
    a note.
    """
    documents = [document for document in _documents(lines, notes) if document.results]
    if not documents and lines:
        notes.add(lines[0].number, "no results of perftest")
    tests = (_test(document, notes, gbits) for document in documents)
    return [test for test in tests if test.rows]


def _documents(lines: Sequence[Line], notes: Notes) -> list[_Document]:
    """Return the contents of each test in order. A repeated ``test_info``, or a repeated object of results, begins a new test.

    ``notes`` collects the objects of results that railweave does not know.
    """
    documents = [_Document()]
    inside: list[str] = []  # names of the objects that are open, the innermost last
    for line in lines:
        for name, text, brace in _TOKEN.findall(line.text):
            if brace == "}":
                inside = inside[:-1]
            elif brace:
                inside.append("")
            elif text == "{":
                inside.append(name)
                if name in documents[-1].results or (
                    name == "test_info" and (documents[-1].has_info or documents[-1].results)
                ):
                    documents.append(_Document())
                if name.startswith("results") and name not in _HALVES:
                    notes.add(line.number, f"results are left out: what {name!r} has is not known")
            else:
                if name == "test" and documents[-1].has_info:
                    documents.append(_Document())
                where = next((parent for parent in reversed(inside) if parent), "")
                pair = line.number, name, text.strip('"')
                if name not in _KEYS:
                    documents[-1].settings.append(pair)
                elif where in _HALVES or not where.startswith("results"):
                    documents[-1].results.setdefault(where if where in _HALVES else "results", []).append(pair)
    return documents


def _test(document: _Document, notes: Notes, gbits: bool | None) -> Perftest:
    settings: dict[str, str] = {}
    for _, name, text in document.settings:
        if name not in _UNREAD:
            settings.setdefault(name, text)
    title = settings.pop("test", "")
    rows = [_row(_HALVES[name], pairs, notes, gbits) for name, pairs in document.results.items()]
    first = min(line for pairs in (document.settings, *document.results.values()) for line, *_ in pairs)
    keys = {_KEYS[name] for pairs in document.results.values() for _, name, _ in pairs}
    latency = any(key.startswith(("latency", "transactions")) for key in keys)
    return Perftest(
        file=notes.file,
        line=first,
        verb=verb_of(title),
        kind="latency" if latency or title.upper().endswith("LAT") else "bandwidth",
        bidirectional="bidirectional" in title.lower(),
        memory="gpu" if _on_gpu(settings.items()) else "host",
        settings=tuple(settings.items()),
        local_gid="",
        remote_gid="",
        command="",
        rows=tuple(row for row in rows if row is not None),
        failures=(),
    )


def _row(
    half: Half | None, pairs: Sequence[tuple[int, str, str]], notes: Notes, gbits: bool | None
) -> PerftestRow | None:
    values: dict[str, float | int | None] = {}
    for line, name, text in pairs:
        key = _KEYS[name]
        values[key] = (counted if key in _WHOLE else measured)(text, name, line, notes)
    last = pairs[-1][0]
    if values.get("size_bytes") is None:
        notes.add(last, "a result without MsgSize")
        return None
    _in_gbps(values, notes, last, gbits)
    return row_of(last, values, half)


def _on_gpu(settings: Iterable[tuple[str, str]]) -> bool:
    return any(
        name in {"cuda_device", "musa_device"}
        or (name.startswith("Use_") and name.endswith("_memory") and text == "ON")
        for name, text in settings
    )


def _in_gbps(values: dict[str, float | int | None], notes: Notes, line: int, gbits: bool | None) -> None:
    """Convert the bandwidths in ``values`` to 10^9 bit/s.

    ``gbits`` is True if they are already in 10^9 bit/s, and False if they are in 2^20 byte/s. If ``gbits`` is None, the unit is
    derived from the message rate. Without a message rate, the bandwidths become None, and a note is added.
    """
    bandwidth, size, rate = values.get("bandwidth_gbps"), values.get("size_bytes"), values.get("message_rate_mpps")
    if not bandwidth:
        return
    if gbits is None and size and size >= 1 and rate and rate >= 1e-7:
        in_gbps, in_mibps = rate * size * 8 / 1e3, rate * 1e6 * size / (1 << 20)
        gbits = abs(bandwidth / in_gbps - 1) < abs(bandwidth / in_mibps - 1)
    for key in ("bandwidth_gbps", "bandwidth_peak_gbps"):
        given = values.get(key)
        if given and gbits is None:
            notes.add(line, "a bandwidth whose unit nothing tells: say whether --report_gbits was given", str(given))
            values[key] = None
        elif given and not gbits:
            values[key] = given * GBPS_OF_MIBPS
