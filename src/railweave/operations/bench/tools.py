"""Readers of the output of four benchmarks: OSU micro-benchmarks (MPI), ``ucx_perftest``, TransferBench and nvbandwidth.

Bandwidths are stored in 10^9 bit/s, whatever unit was printed. Sources: OSU micro-benchmarks, ``c/util/osu_util.c`` (``MB/s`` is 10^6
byte/s); openucx/ucx, ``src/tools/perf/perftest.c`` (``MB/s`` is 2^20 byte/s); ROCm/TransferBench, ``src/client``; NVIDIA/nvbandwidth,
``output.cpp`` (both print 10^9 byte/s as ``GB/s``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from railweave.operations.bench.lines import Line, Notes, counted, measured, number, whole, words
from railweave.operations.bench.perftest import GBPS_OF_MIBPS
from railweave.operations.bench.table import Measurement
from railweave.operations.bench.transferbench import Matrix
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A run of OSU micro-benchmarks, ``ucx_perftest``, TransferBench or nvbandwidth.

    - ``tool``: ``osu``, ``ucx_perftest``, ``TransferBench`` or ``nvbandwidth``.
    - ``settings``: the values in the header, such as the version and the memory of the buffers.
    - ``failures``: the line (0: unknown) and the text of each error.
    """

    file: str
    line: int
    tool: str
    operation: str
    settings: tuple[tuple[str, str], ...]
    measurements: tuple[Measurement, ...]
    failures: tuple[tuple[int, str], ...] = ()


@dataclass
class _Run:
    line: int
    tool: str
    operation: str = ""
    settings: dict[str, str] = field(default_factory=dict[str, str])
    measurements: list[Measurement] = field(default_factory=list[Measurement])
    failures: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    columns: tuple[tuple[str, float], ...] = ()
    names: tuple[str, ...] = ()
    size: int | None = None
    ended: bool = False
    matrix: Matrix = field(default_factory=Matrix)

    def add(self, line: int, quantity: str, value: float | None, size: int | None = None, **labels: str) -> None:
        """Add a number with its quantity and labels to the run. Nothing is added if ``value`` is None."""
        if value is not None:
            given = tuple((name.replace("_", " "), text) for name, text in labels.items() if text)
            self.measurements.append(Measurement(line, self.operation, size, "", quantity, value, given))

    def whole(self, file: str) -> ToolRun:
        return ToolRun(
            file,
            self.line,
            self.tool,
            self.operation,
            tuple(self.settings.items()),
            tuple(self.measurements),
            tuple(self.failures),
        )


_OSU = re.compile(r"^#\s*OSU (?P<kind>[\w/+. -]{2,60}?)(?: Test)?(?: v|\s*\(Version )(?P<version>[\d.]+)\)?\s*$")
_OSU_COMMAND = re.compile(r"(?:^|[\s/])osu_(?:bw|bibw|latency|mbw_mr|[a-z_]+)(?:\s|$)")
_UCX = re.compile(r"^\s*\+-{8,}\+-{8,}\+-|^\s*\|\s*(?:API|Test):\s|(?:^|[\s/])ucx_perftest\s")
_TRANSFERBENCH = re.compile(
    r"^\s*TransferBench v[\w.]+|^EnvVar,Value,Description,\(TransferBench|^Test#,Transfer#,|^\s*Test \d{1,6}:\s*$|^GPU-\w+ .*(?:All-To-All|Rings|Scaling).* benchmark"
    r"|^NIC (?:Rings|All-To-All) benchmark|^(?:Uni|Bi)directional copy peak bandwidth GB/s"
)
_NVBANDWIDTH = re.compile(
    r"^\s*nvbandwidth Version: *v?(?P<version>[\w.]+)|^\s*Running \w*(?:memcpy|latency|local_copy)\w*\.\s*$"
)
TOOLS: Mapping[str, re.Pattern[str]] = {
    "osu": re.compile(
        f"{_OSU.pattern}|{_OSU_COMMAND.pattern}".replace("(?P<kind>", "(?:").replace("(?P<version>", "(?:")
    ),
    "ucx_perftest": _UCX,
    "TransferBench": _TRANSFERBENCH,
    "nvbandwidth": _NVBANDWIDTH,
}
"""By tool, the pattern of the line that begins its output."""


def tool_of(text: str) -> str:
    """Return the tool whose output begins with this line; empty if no tool's output does."""
    return next((tool for tool, begins in TOOLS.items() if begins.search(text)), "")


def read_tool(tool: str, lines: Sequence[Line], notes: Notes) -> list[ToolRun]:
    """Return the runs in lines that one tool has printed. Never raises an error. ``tool`` is a key of ``TOOLS``.

    Lines that cannot be read are added to ``notes``.
    """
    runs: list[_Run] = []
    take = _READERS[tool]
    for line in lines:
        if line.text.strip() and not take(runs, line, notes):
            notes.add(line.number, "not understood", line.text)
    for run in runs:
        if run.operation not in {"", "transfer"} and not run.measurements and not run.failures:
            run.failures.append((run.line, f"{run.operation} printed no result"))
    return [run.whole(notes.file) for run in runs if run.measurements or run.failures]


_OSU_OPERATIONS = {
    "bandwidth": "mpi bandwidth",
    "bi-directional bandwidth": "mpi bidirectional bandwidth",
    "latency": "mpi latency",
    "multiple bandwidth / message rate": "multiple bandwidth",
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "allgatherv": "all-gather-v",
    "alltoall": "all-to-all",
    "all-to-all": "all-to-all",
    "alltoallv": "all-to-all-v",
    "all-to-allv": "all-to-all-v",
    "bcast": "broadcast",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "reduce_scatter": "reduce-scatter",
    "gather": "gather",
    "scatter": "scatter",
    "barrier": "barrier",
}
_KNOWN = re.compile(r"^\s*#|^\s*(?:mpirun|mpiexec|srun)\s|^\[?.{0,80}(?:WARN|INFO)\b|^\s*$|^\s*[=\-+*|┬┼┴─]{3,}")


def _osu_operation(kind: str) -> tuple[str, str]:
    """Return (operation, memory) from ``kind``, a title such as ``MPI-CUDA Allreduce Latency``. The memory is ``gpu`` or empty."""
    match = re.match(r"(MPI|[NRX]CCL)(?:-(CUDA|ROCM|OPENACC))?\s+(.*)$", kind.strip(), re.IGNORECASE)
    library, memory = (match[1].lower(), "gpu" if match[2] else "") if match else ("mpi", "")
    name = re.sub(r"\s+(?:test|with.*)$", "", (match[3] if match else kind).strip().lower())
    way = re.match(r"(?:non-blocking|neighborhood|persistent) ", name)
    name = name.removeprefix(way[0] if way else "").replace(" personalized exchange", "")
    operation = _OSU_OPERATIONS.get(name) or _OSU_OPERATIONS.get(name.removesuffix(" latency")) or name
    return (way[0] if way else "") + re.sub("^mpi ", f"{library} ", operation), memory


def _osu(runs: list[_Run], line: Line, notes: Notes) -> bool:
    text = line.text.strip()
    if title := _OSU.match(text):
        runs.append(_Run(line.number, "osu"))
        runs[-1].operation, memory = _osu_operation(title["kind"])
        runs[-1].settings |= {"version": title["version"], "test": title["kind"].strip()}
        runs[-1].settings |= {"memory": memory} if memory else {}
        return True
    if not runs:
        return True  # a command line before the title
    run = runs[-1]
    if text.startswith("#"):
        if re.search(r"\bSize\b|\bLatency\b|MB/s|\bOverall\(us\)", text):
            run.columns = tuple(_osu_columns(run, text.lstrip("# ")))
        elif pairs := re.search(r"\[ pairs: (\d+) \]", text):
            run.settings["pairs"] = pairs[1]
        return True
    cells = text.split()
    if not run.columns or not cells[0].replace(".", "", 1).isdigit():
        return _KNOWN.match(line.text) is not None
    sized = run.columns[0][0] == "size"
    size = whole(cells[0]) if sized else None
    if (sized and (size is None or size < 0)) or len(cells) > len(run.columns):
        notes.add(line.number, f"{len(cells)} values under {len(run.columns)} columns", text)
        return True
    if "fail" in map(str.lower, cells):
        run.failures.append((line.number, f"the data of {size} bytes are wrong: the validation failed"))
    for (quantity, factor), cell in zip(run.columns[sized:], cells[sized:], strict=False):
        if quantity:
            value = measured(cell, quantity, line.number, notes)
            run.add(line.number, quantity, None if value is None else value * factor, size)
    return True


def _osu_columns(run: _Run, head: str) -> Iterator[tuple[str, float]]:
    """Yield (quantity, conversion factor) for each column of the header ``head``. The quantity is empty for a column to ignore."""
    collective = not run.operation.endswith(("latency", "bandwidth"))
    for column in re.split(r"\s{2,}|\t|(?<=\)) ?(?=[A-Z])|(?<=^Size) ", head.strip()):
        name = column.strip().lower()
        if name == "size":
            yield "size", 1
        elif "mb/s" in name:
            yield "bandwidth_gbps", 8e-3
        elif "messages/s" in name:
            yield "message_rate_mpps", 1e-6
        elif "latency" in name and not name.startswith(("min", "max", "p")):
            yield "time_us" if collective else "latency_avg_us", 1
        elif name.startswith(("overall", "pure comm")):  # non-blocking: with computing, and without
            yield "time_us" if name.startswith("overall") else "communication_us", 1
        elif name.startswith("min"):
            yield "fastest_us" if collective else "latency_min_us", 1
        elif name.startswith("max"):
            yield "slowest_us" if collective else "latency_max_us", 1
        elif name.startswith("p99"):
            yield "latency_p99_us", 1
        else:
            yield "", 1


_UCX_NAMED = re.compile(r"^\s*\|\s*([A-Z][\w ]{1,30}):\s+(.*?)\s*\|\s*$")
_UCX_ROW = re.compile(r"^\s*(Final:|\[thread \d+\])?\s*([\d']+(?:\s+[\d.']+){3,8})\s*$")
_UCX_OPERATION = re.compile(r"-t\s+(\w+)")


def _ucx(runs: list[_Run], line: Line, notes: Notes) -> bool:
    text = line.text
    command = re.search(r"(?:^|[\s/])ucx_perftest\s", text)
    if command or not runs or (runs[-1].ended and _UCX.search(text)):
        runs.append(_Run(line.number, "ucx_perftest"))
    run = runs[-1]
    if command:
        option, size = _UCX_OPERATION.search(text), re.search(r"-s\s+(\d{1,18})\b", text)
        run.operation = option[1] if option else ""
        run.size = int(size[1]) if size else run.size
        run.settings["command"] = text.strip()[:1000]
        return True
    if named := _UCX_NAMED.match(text):
        name, value = named[1].strip(), named[2].strip()
        if name == "Test":
            run.operation = value
        elif name == "Message size":
            run.size = whole(value)
        else:
            run.settings[name.lower()] = value
        return True
    if "overhead (usec)" in text or "latency (usec)" in text:
        run.settings["times"] = "overhead" if "overhead" in text else "latency"
        return True
    row = _UCX_ROW.match(text)
    if row is None:
        if re.search(r"\bUCX\s+(?:ERROR|FATAL)\b", text):
            run.failures.append((line.number, text.strip()[:300]))
            return True
        return _KNOWN.match(text) is not None or "|" in text or "aiting for conn" in text or "ccepted conn" in text
    cells = [cell.replace("'", "") for cell in row[2].split()]
    if row[1] and not row[1].startswith("Final"):
        run.ended = True
        return True  # progress
    if len(cells) not in {4, 8}:
        notes.add(line.number, f"{len(cells)} values under 8 columns", text)
        return True
    if run.measurements and not row[1]:
        run.measurements.clear()  # up to UCX 1.10 lines of progress have no name: the last one is the result
    run.ended = True
    overall = (3, 5, 7) if len(cells) == 8 else (1, 2, 3)
    time, rate, messages = (measured(cells[place], "overall", line.number, notes) for place in overall)
    counted(cells[0], "# iterations", line.number, notes)
    operation = run.operation or ("latency" if run.settings.get("times") == "latency" else "bandwidth")
    run.operation = f"ucx {operation}" if not operation.startswith("ucx ") else operation
    latency = run.settings.get("times") == "latency" and not re.search(r"bandwidth|_bw", run.operation)
    run.add(line.number, "latency_avg_us" if latency else "overhead_us", time, run.size)
    run.add(line.number, "bandwidth_gbps", None if rate is None else rate * GBPS_OF_MIBPS, run.size)
    run.add(line.number, "message_rate_mpps", None if messages is None else messages / 1e6, run.size)
    return True


_TB_ROW = re.compile(
    r"^\s*(Executor: *(?:Rank +\d+ +)?\w+ +\d+(?:\.\d+)?|Transfer +\d+|Aggregate \(CPU\))\s*[|│,]?\s*([\d.]+) *GB/s\s*[|│,]?"
    r"\s*([\d.]+) *ms\s*[|│,]?\s*(\d+) *bytes\s*[|│,]?\s*(.*)$"
)
_TB_CSV_ROW = re.compile(r"^(\d+),(\d+|ALL),(\d+),([^,]*),([^,]*),([^,]*),[^,]*,([\d.]+),[\d.]+(?:,.*)?$")
"""The pattern of a row below ``Test#,Transfer#,NumBytes,Src,Exe,Dst,CUs,BW(GB/s),Time(ms)``, the header of releases up to 2025."""
_TB_TEST = re.compile(r"^\s*Test (\d{1,6}):\s*$")
_TB_ERROR = re.compile(r"^\s*(?:\[ERROR\]|ERROR:)")
_TB_PRESETS = tuple(
    (preset, re.compile(pattern))
    for preset, pattern in (
        ("a2asweep", r"GPU-\w+ All-To-All Sweep benchmark"),
        ("poda2a", r"GPU-\w+ IntraPod All-To-All benchmark"),
        ("a2a_n", r"GPU-RDMA All-To-All benchmark"),
        ("a2a", r"GPU-\w+ All-To-All benchmark"),
        ("nica2a", r"NIC All-To-All benchmark"),
        ("nicrings", r"NIC Rings benchmark"),
        ("rings", r"GPU-\w+ Rings benchmark"),
        ("scaling", r"GPU-\w+ Scaling benchmark"),
        ("schmoo", r"Bytes to transfer:.* Local GPU:.* Remote GPU:"),
        ("one2all", r"Executing \(\S+ -> \w+ -> \S+\)"),
        ("nicp2p", r"Unidirectional copy peak bandwidth GB/s \(NIC"),
        ("p2p unidirectional", r"Unidirectional copy peak bandwidth"),
        ("p2p bidirectional", r"Bidirectional copy peak bandwidth"),
        ("hbm", r"Testing on at least \d+ bytes"),
        ("healthcheck", r"Testing (?:HBM|unidirectional|bidirectional|all-to-all) "),
        ("", r"Summary of top \d+ fastest/slowest"),
    )
)
"""The presets of TransferBench, each with the pattern of the first line of its results.

The last pattern has an empty preset. It matches the first line of a summary, which repeats numbers of the table before it.
"""
_TB_SIZE = re.compile(
    r"(?:Copying |\[|\(|at least |  )(\d{1,18}) bytes|Bytes (?:Per Direction[ ,]|to transfer: )(\d{1,18})"
)
_TB_TOTAL = re.compile(r"^((?:Average|Aggregate|Highest) .{1,80}?):?\s{1,20}([\d.]+) GB/s$")
_TB_CRITERIA = re.compile(
    r"^\s*(GPU \d+)(?: to (GPU \d+))?:[ :]*(?:Measured:? *)?([\d.]+)(?: GB/s +Criteria: *([\d.]+) GB/s| Limit +([\d.]+))\s*$"
)
_TB_SUBSET = re.compile(r"\(([^\s()]{1,80} \w{1,20} [^\s()]{1,80})\)")


def _tb_rate(run: _Run, line: Line, value: str, name: str, notes: Notes, size: int | None, **labels: str) -> None:
    """Add a rate that TransferBench prints in GB/s. If ``value`` is not a number, add a note with ``name``, the printed unit or column."""
    rate = measured(value, name, line.number, notes)
    run.add(line.number, "bandwidth_gbps", None if rate is None else rate * 8, size, **labels)


def _tb_value(run: _Run, line: Line, labels: tuple[str, str, str], value: str, notes: Notes) -> None:
    row, column, way = labels
    if value != "N/A" and not column.startswith(("#SE", "Blocksize", "Unroll", "EBytes")):
        rate = value.partition("(")[0]
        _tb_rate(run, line, rate, f"{row} {column}", notes, run.size, row=row, column=column, way=way)


def _transferbench(runs: list[_Run], line: Line, notes: Notes) -> bool:
    text = line.text.rstrip()
    title = re.search(r"^\s*TransferBench v([\w.]+)|\(TransferBench (?:Client )?v([\w.]+)", text)
    if title or not runs:
        runs.append(_Run(line.number, "TransferBench", "transfer"))
    run = runs[-1]
    if title:
        run.settings["version"] = title[1] or title[2]
        return True
    if size := _TB_SIZE.search(text):
        run.size = int(size[1] or size[2])
    preset = next((preset for preset, begins in _TB_PRESETS if begins.match(text)), None)
    if preset is not None:
        run.operation, run.matrix = preset or run.operation, Matrix(repeats=not preset)
        run.names = (re.sub(r"^Testing |[ .]*(?:PASS|FAIL.*)?$", "", text),) if preset == "healthcheck" else run.names
        return True
    if test := _TB_TEST.match(text):
        run.names = (test[1],)
    elif _TB_ERROR.match(text):
        run.failures.append((line.number, text.strip()[:300]))
    elif setting := re.match(r"^\s*([A-Z][A-Z0-9_]{2,40})\s*[=,]\s*([^\s,]+)", text):
        run.settings.setdefault(setting[1], setting[2])
    elif not (_tb_numbers(run, line, text, notes) or _TB_OTHER.search(text)):
        cells = run.matrix.read(line.text)
        if cells is None:
            return _KNOWN.match(text) is not None or not run.measurements
        if isinstance(cells, str):
            notes.add(line.number, cells, text)
            return True
        for row, column, way, value in cells:
            _tb_value(run, line, (row, column, way), value, notes)
    return True


def _tb_numbers(run: _Run, line: Line, text: str, notes: Notes) -> bool:
    """Add the numbers of a TransferBench line that names each of its numbers to ``run``. Return False for any other line.

    Numbers that cannot be read are added to ``notes``.
    """
    test = run.names[0] if run.names else ""
    if row := _TB_ROW.match(text):
        host = re.search(r"\(sum\) \[(\S+)\]", row[5])
        labels = {"test": test, "part": " ".join(row[1].split()), "way": row[5].rstrip(" ,") if "->" in row[5] else ""}
        labels["host"] = host[1] if host else ""
        _tb_rate(run, line, row[2], "GB/s", notes, whole(row[4]), **labels)
    elif row := _TB_CSV_ROW.match(text):
        part = "total" if row[2] == "ALL" else f"Transfer {row[2]}"
        way = "" if {row[4], row[5]} == {"ALL"} else " -> ".join(row.group(4, 5, 6))
        _tb_rate(run, line, row[7], "GB/s", notes, whole(row[3]), test=row[1], part=part, way=way)
    elif total := _TB_TOTAL.match(text):
        _tb_rate(run, line, total[2], total[1], notes, run.size, total=" ".join(total[1].split()))
    elif device := _TB_CRITERIA.match(text):
        part = f"{device[1]} to {device[2]}" if device[2] else device[1]
        rate, limit = number(device[3]), number(device[4] or device[5])
        if rate is not None and limit is not None:
            run.add(line.number, "bandwidth_gbps", rate * 8, test=test, part=part)
            if rate < limit:
                reason = f"{test}, {part}: {rate:g} GB/s, at least {limit:g} expected"
                run.failures.append((line.number, reason))
    elif text.endswith(")") and (parts := _TB_SUBSET.findall(text)):
        numbers = re.split(r"[\s,]+", text.partition(" (")[0].strip(" ,"))
        if len(numbers) != len(parts) + 2 or numbers[-2] != str(len(parts)):
            return False
        for part, value in zip(parts, numbers[:-2], strict=True):
            _tb_value(run, line, (f"{len(parts)} at once", part, ""), value, notes)
    else:
        return False
    return True


_TB_OTHER = re.compile(
    r"Time\s*=|bytes|====|^\s*(?:BlockSize|Unroll|NumSubExec)\s*:|\bIter \d+|StandardDev|# Iters Run|PASS|FAIL|^Test#,|^Sweep |^[\s│,]*$|^\s*[└┌├-]"
)


_NV_RUNNING = re.compile(r"^\s*[Rr]unning (\w+)\.?\s*$")
_NV_WHAT = re.compile(
    r"\b(CPU|GPU|Device|Host)\s*\(row\).*?\b(CPU|GPU|Device|Host)\s*\(column\).*\((GB/s|ns)\)", re.IGNORECASE
)
_NV_ONE = re.compile(r"\((GB/s|ns)\)\s*$")
_NV_SUM = re.compile(r"^\s*SUM (\w+) +([\d.eE+-]+)")
_NV_SIZE = re.compile(r"^\s*(?:\w+ )?[Bb]uffer ?[Ss]ize\W+(\d+)")


def _nvbandwidth(runs: list[_Run], line: Line, notes: Notes) -> bool:
    text = line.text
    version = re.match(r"^\s*nvbandwidth Version: *v?([\w.]+)", text)
    if version or not runs:
        runs.append(_Run(line.number, "nvbandwidth"))
    run = runs[-1]
    if version:
        run.settings["version"] = version[1]
        return True
    if running := _NV_RUNNING.match(text):
        run.operation, run.names, run.columns = running[1], (), ()
        return True
    if unit := _NV_WHAT.search(text) or _NV_ONE.search(text):
        run.names = (unit[1], unit[2]) if unit.re is _NV_WHAT else ("device", "device")
        run.columns = (_nv_quantity(unit[unit.re.groups]),)
        run.settings.pop("columns", None)
        return True
    if total := _NV_SUM.match(text):
        value = measured(total[2], "SUM", line.number, notes)
        quantity, factor = run.columns[0] if run.columns else _nv_quantity("GB/s")
        run.add(line.number, quantity, None if value is None else value * factor, total="sum")
        return True
    cells = text.split()
    if run.columns and all(re.fullmatch(r"[\d.eE+]+|N/A", cell) for cell in cells):
        heads = run.settings.get("columns", "").split()
        if not heads or (all(cell.isdigit() for cell in cells) and len(cells) != len(heads) + 1):
            run.settings["columns"] = text.strip()
            return True
        if len(cells) != len(heads) + 1:
            notes.add(line.number, f"{len(cells)} values under {len(heads) + 1} columns", text)
            return True
        for head, cell in zip(heads, cells[1:], strict=True):
            if cell != "N/A":
                _nv_cell(run, line.number, (cells[0], head), measured(cell, run.operation, line.number, notes))
        return True
    if re.match(r"^\s*\[?(?:ERROR|Error|(?:CUDA|NVML)_ERROR|cudaError)", text):
        run.failures.append((line.number, text.strip()[:300]))
        return True
    return _KNOWN.match(text) is not None or bool(
        re.match(
            r"^\s*(?:CUDA|Driver|Device \d+|Built from|NOTE|COEFFICIENT|Additional|MPI|Process|WAIVED|Test|multinode|Number)\b",
            text,
        )
        or not run.measurements
        or re.search(r"WAIVED|waived|system-specific|may not", text)
    )


def _nv_quantity(unit: str) -> tuple[str, float]:
    return ("latency_avg_us", 1e-3) if unit == "ns" else ("bandwidth_gbps", 8.0)


def _nv_cell(run: _Run, line: int, places: tuple[str, str], value: float | None) -> None:
    quantity, factor = run.columns[0]
    row, column = (f"{kind} {place}" for kind, place in zip(run.names, places, strict=True))
    run.add(line, quantity, None if value is None else value * factor, row=row, column=column)


def read_nvbandwidth_json(text: str, notes: Notes) -> list[ToolRun]:
    """Return the run in the output of ``nvbandwidth -j``. Never raises an error. Numbers that cannot be read are added to ``notes``."""
    try:
        document = parse_json(text)
    except ValueError as error:
        notes.add(0, f"not JSON, as of a test that did not end: {error}")
        return []
    outer = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    given = outer.get("nvbandwidth")
    if not isinstance(given, dict):
        notes.add(0, "no object named nvbandwidth")
        return []
    content = cast("dict[str, Any]", given)
    run = _Run(1, "nvbandwidth")
    run.settings = {
        name.lower(): str(value) for name, value in content.items() if isinstance(value, str | int) and str(value)
    }
    tests = content.get("testcases")
    for test in cast("list[Any]", tests) if isinstance(tests, list) else []:
        case = cast("dict[str, Any]", test) if isinstance(test, dict) else {}
        run.operation = words(case.get("name"))
        described = words(case.get("bandwidth_description")).strip()
        unit = _NV_WHAT.search(described) or _NV_ONE.search(described)
        run.names = (unit[1], unit[2]) if unit and unit.re is _NV_WHAT else ("device", "device")
        run.columns = (_nv_quantity(unit[unit.re.groups] if unit else "GB/s"),)
        status = words(case.get("status"))
        if status and status.lower() not in {"passed", "waived"}:
            run.failures.append((0, f"{run.operation}: {status}"))
        matrix = case.get("bandwidth_matrix")
        for row, cells in enumerate(cast("list[Any]", matrix) if isinstance(matrix, list) else []):
            for column, cell in enumerate(cast("list[Any]", cells) if isinstance(cells, list) else []):
                if str(cell) != "N/A":
                    value = measured(cell, run.operation, 0, notes)
                    _nv_cell(run, 0, (str(row), str(column)), value)
    return [run.whole(notes.file)] if run.measurements or run.failures else []


_READERS: Mapping[str, Callable[[list[_Run], Line, Notes], bool]] = {
    "osu": _osu,
    "ucx_perftest": _ucx,
    "TransferBench": _transferbench,
    "nvbandwidth": _nvbandwidth,
}
