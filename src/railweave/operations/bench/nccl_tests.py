"""Results of nccl-tests and rccl-tests as Python objects, and the reader of their JSON output (``-J``).

Times are microseconds per operation. Bandwidths are 10^9 byte/s, printed by the tests as ``GB/s``.

Sources: NVIDIA/nccl-tests ``src/common.cu`` and ``src/util.cu``, doc/PERFORMANCE.md; ROCm/rccl-tests, now in ROCm/rocm-systems.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from railweave.errors import InputError, Option, Problem
from railweave.operations.bench.lines import Note, Notes, count, counted, measured, words
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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
    "all_to_all_v": "all-to-all-v",
    "sendrecv": "send-recv",
    "send_recv": "send-recv",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "hypercube": "hypercube",
}
"""The name of each operation in ``railweave sim --collective``, by the name that tests and their output files use."""

_PROGRAM = re.compile(
    r"(?:^|[^A-Za-z0-9])(" + "|".join(sorted(OPERATIONS, key=len, reverse=True)) + r")(?:_bias)?_perf\b"
)
_FILE = re.compile(r"(" + "|".join(sorted(OPERATIONS, key=len, reverse=True)) + r")", re.IGNORECASE)

_ENOUGH_DIGITS = 0.5
"""The smallest sum of algorithm bandwidths, in GB/s, that suffices to compute the factor of the bus bandwidth.

The tests print two decimals, which are too few below this sum.
"""
_NEAR = 0.05
"""The largest relative deviation of a computed bus-bandwidth factor from the factor of an operation.

The factor of an all-reduce is twice that of a reduce-scatter, so they are not confused.
"""

KEPT = re.compile(
    r"(?:NCCL|RCCL|UCX|OMPI_MCA|HSA|HIP|ROCR|GPU_MAX|CUDA_VISIBLE|CUDA_DEVICE|RAILWEAVE|SLURM_NNODES|SLURM_NTASKS)\w*"
)
"""The environment variables to keep. nccl-tests writes the whole environment into its JSON, including passwords."""
_SECRET = re.compile(r"SECRET|TOKEN|PASSW|KEY(?!S?_)", re.IGNORECASE)


def operation_of(text: str) -> str:
    """Return the operation of a test program from its name or command line; empty if the text names no test program."""
    match = _PROGRAM.search(text)
    return OPERATIONS[match[1].lower()] if match else ""


def operation_of_file(name: str) -> str:
    """Return the operation that a file name contains; empty if it contains none."""
    match = _FILE.search(name.rpartition("/")[2].replace("-", "_"))
    return OPERATIONS[match[1].lower()] if match else ""


def operation_of_rows(rows: Sequence[NcclTestsRow], ranks: int | None) -> str:
    """Return the operation that the columns of a table determine; empty if several operations print such a table.

    A table with a reduction and without a root is of an all-reduce or a reduce-scatter. Their bus bandwidths are 2(n-1)/n and
    (n-1)/n times the algorithm bandwidth, for n ranks (doc/PERFORMANCE.md).
    """
    if ranks is None or ranks < 2 or any(not row.redop for row in rows):
        return ""
    roots = {row.root for row in rows}
    if roots and None not in roots and -1 not in roots:
        return "reduce"
    if roots != {-1}:
        return ""
    algbw, busbw = 0.0, 0.0
    for place in (place for row in rows for place in (row.out_of_place, row.in_place)):
        if place is not None and place.algbw_gbytes_per_s and place.busbw_gbytes_per_s:
            algbw += place.algbw_gbytes_per_s
            busbw += place.busbw_gbytes_per_s
    if algbw < _ENOUGH_DIGITS:
        return ""
    ratio = busbw / algbw
    share = (ranks - 1) / ranks
    factors = {"all-reduce": 2 * share, "reduce-scatter": share}
    return next((name for name, factor in factors.items() if abs(ratio / factor - 1) < _NEAR), "")


def operation_named(name: str | None) -> str:
    """Return the operation for a user's name of it, such as ``alltoall`` or ``all_reduce_perf``; empty for None.

    Raises ``InputError`` if no operation has this name.
    """
    if name is None:
        return ""
    plain = name.strip().lower().replace("-", "_").removesuffix("_perf")
    if plain not in OPERATIONS:
        raise InputError(
            [
                Problem(
                    Option("--operation"),
                    f"{name} is no operation",
                    f"give one of {', '.join(sorted({*OPERATIONS.values()}))}",
                )
            ]
        )
    return OPERATIONS[plain]


def kept(name: str) -> bool:
    """Return True if an environment variable may be stored: it belongs to the communication libraries and is not a secret."""
    return KEPT.fullmatch(name) is not None and _SECRET.search(name) is None


@dataclass(frozen=True, slots=True)
class PlaceTimes:
    """The in-place or the out-of-place results of a row. None means that the test did not measure or print a result.

    - ``wrong``: the number of wrong values. None if the test did not check the data (-c 0). Up to nccl-tests 2.12, the tests print
      ``largest_error`` instead.
    - ``event_us``: the time measured with HIP events.
    - ``fastest_us``, ``slowest_us`` and ``p99_us`` come from the option ``-I``; ``variation_percent`` is the deviation
      divided by the mean.
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
    """A row of a result table, for one message size.

    - ``size_bytes``: the size in the table; for an all-gather, the total that a rank receives.
    - ``root``: -1 if the operation has no root.
    - ``others``: columns that this reader does not interpret, with their values. They distinguish rows.
    """

    line: int
    size_bytes: int
    count: int | None = None
    type: str = ""
    redop: str = ""
    root: int | None = None
    out_of_place: PlaceTimes | None = None
    in_place: PlaceTimes | None = None
    algorithm: str = ""
    protocol: str = ""
    channels: int | None = None
    timestamp: str = ""
    others: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank and its GPU, as listed by the test. ``group`` is the rank's group under NCCL_TESTS_SPLIT."""

    rank: int
    group: int
    pid: int
    host: str
    device: int
    pci: str
    gpu: str


@dataclass(frozen=True, slots=True)
class NcclTests:
    """A run of a test.

    - ``cpu_time``: True if the times are processor times (-C 1).
    - ``average_busbw_gbytes_per_s``: the mean over all sizes, in-place and out-of-place. It is meaningless without the range
      of sizes. ``average_is_enough``: True if the test printed OK after it, False for FAILED, and None for neither.
    - ``concluded``: True if the output shows that the test ran to its end. ``failures``: (line, message) of each failure.
    - ``settings``: the settings in the header (``minBytes``, ``iters``); ``variables``: the environment variables that were
      kept.
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
        """The servers without duplicates, in the order of their ranks."""
        return tuple(dict.fromkeys(rank.host for rank in self.ranks))


def version_of(code: int) -> str:
    """Return a library's version from its number ``code``: 23007 is 2.30.7; 2708 is 2.7.8 (NCCL up to 2.8). Return "" for 0 or less."""
    major, minor = (1000, 100) if code < 10_000 else (10_000, 100)
    return f"{code // major}.{code % major // minor}.{code % minor}" if code > 0 else ""


_KNOWN = {"size", "count", "type", "redop", "root", "actual_iterations", "experiment_name"}


def read_nccl_tests_json(text: str, notes: Notes) -> list[NcclTests]:
    """Return a list that contains the run in a JSON file. Never raises an error; ``notes`` collects what cannot be read.

    If the text is not JSON, for example because the test was killed, add a note and return an empty list.
    """
    try:
        document = parse_json(text)
    except ValueError as error:
        notes.add(getattr(error, "lineno", 0), f"not JSON, as of a test that did not end: {error}")
        return []
    if not isinstance(document, dict):
        notes.add(1, "no object")
        return []
    return [_run(cast("dict[str, Any]", document), notes)]


def _run(document: dict[str, Any], notes: Notes) -> NcclTests:
    args = [words(argument) for argument in _list(document.get("args"))]
    config = _dict(document.get("config"))
    ranks = tuple(_ranks(config))
    bounds, average = _dict(document.get("out_of_bounds")), _dict(document.get("average_bus_bandwidth"))
    variables = tuple(_variables(document.get("env")))
    rccl = "rccl" in " ".join(args).lower() or any(name.startswith("RCCL") for name, _ in variables)
    library: Literal["NCCL", "RCCL"] = "RCCL" if rccl else "NCCL"
    rows = tuple(_rows(document, notes))
    cpu = any("cpu_time" in _dict(_dict(result).get("out_of_place")) for result in _list(document.get("results")))
    return NcclTests(
        file=notes.file,
        line=1,
        operation=(operation_of(args[0]) if args else "") or operation_of_file(notes.file),
        library=library,
        tests_version="",
        library_version=version_of(count(document.get("nccl_version")) or 0),
        cpu_time=cpu,
        settings=tuple((key, str(value)) for key, value in config.items() if isinstance(value, str | int | float)),
        ranks=ranks,
        rank_count=len(ranks) or None,
        node_count=len({rank.host for rank in ranks}) or None,
        rows=rows,
        out_of_bounds=counted(bounds.get("count"), "out of bounds values", 0, notes),
        average_busbw_gbytes_per_s=_number(average.get("bandwidth"), "average bus bandwidth", notes),
        average_is_enough={"true": True, "false": False}.get(str(average.get("okay")).lower()),
        concluded="end_time" in document,
        failures=tuple((0, words(error)[:300]) for error in _list(document.get("errors")) if words(error).strip()),
        variables=variables,
        began=words(document.get("start_time")),
        command=" ".join(args)[:2000],
    )


def _rows(document: dict[str, Any], notes: Notes) -> Iterator[NcclTestsRow]:
    for place, result in enumerate(_list(document.get("results")), 1):
        row = _dict(result)
        size = count(row.get("size"))
        if size is None or size < 0:
            notes.add(0, f"result {place} has no size")
            continue
        redop = words(row.get("redop"))
        yield NcclTestsRow(
            0,
            size,
            count=count(row.get("count")),
            type=words(row.get("type")),
            redop="" if redop == "none" else redop,
            root=count(row.get("root")),
            out_of_place=_measured(row, "out_of_place", f"result {place}", notes),
            in_place=_measured(row, "in_place", f"result {place}", notes),
            others=tuple((name, str(value)) for name, value in row.items() if name not in _KNOWN and _plain(value)),
        )


def _plain(given: object) -> bool:
    return isinstance(given, str | int | float) and bool(str(given))


def _number(given: object, name: str, notes: Notes) -> float | None:
    """Return a measured number from JSON (``given``). Return None for ``nan`` and ``N/A``, which the tests print for unmeasured values.

    ``name`` is its key. If the value is negative, too large or not a number, add a note to ``notes`` and return None.
    """
    return None if given in ("nan", "-nan", "N/A") else measured(given, name, 0, notes)


def _measured(row: dict[str, Any], place: str, where: str, notes: Notes) -> PlaceTimes | None:
    def read(section: dict[str, Any], *names: str) -> float | None:
        name = next((name for name in names if name in section), "")
        return _number(section.get(name), f"{where}: {place} {name}", notes)

    given, each = row.get(place), _dict(row.get(f"{place}_per_iter"))
    if not isinstance(given, dict):
        return None
    measurement = cast("dict[str, Any]", given)
    return PlaceTimes(
        time_us=read(measurement, "time", "cpu_time"),
        algbw_gbytes_per_s=read(measurement, "alg_bw"),
        busbw_gbytes_per_s=read(measurement, "bus_bw"),
        wrong=read(measurement, "nwrong"),
        event_us=read(measurement, "hip_event_time"),
        fastest_us=read(each, "min_us"),
        slowest_us=read(each, "max_us"),
        p99_us=read(each, "p99_us"),
        variation_percent=read(each, "cv_pct"),
    )


def _ranks(config: dict[str, Any]) -> Iterator[Rank]:
    for device in map(_dict, _list(config.get("devices"))):
        rank = count(device.get("rank"))
        if rank is not None:
            yield Rank(
                rank,
                count(device.get("group")) or 0,
                count(device.get("pid")) or 0,
                words(device.get("hostname")),
                count(device.get("device")) or 0,
                words(device.get("device_hex")),
                words(device.get("device_info")),
            )


def _variables(given: object) -> Iterator[tuple[str, str]]:
    pairs = (
        [f"{key}={value}" for key, value in cast("dict[str, Any]", given).items()]
        if isinstance(given, dict)
        else map(words, _list(given))
    )
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if equals and kept(name):
            yield name, text


def _dict(given: object) -> dict[str, Any]:
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


def _list(given: object) -> list[Any]:
    return cast("list[Any]", given) if isinstance(given, list) else []
