"""Records of NCCL Inspector: one operation of one rank per record, as JSON lines or in Prometheus' text form.

Sources: NVIDIA/nccl 2.29.7 and 2.30.7, plugins/profiler/inspector (inspector_json.cc, inspector_prom.cc, inspector.cc). RCCL
builds the same plugin. Forks of 2.30 (hatanp/nccl) name the communicator, rank and exact size in Prometheus' form, too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, cast

from railweave.operations.bench.lines import LARGEST, count, measured, words
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.operations.bench.lines import Notes

TOOL = "nccl-inspector"
VERSIONS = ("v4.0",)
"""The values of ``inspector_output_format_version`` whose fields are known."""
_VERBOSE = {"event_trace_sn", "event_trace_ts"}
KNOWN = {
    "": {"header", "metadata", "coll_perf", "p2p_perf"},
    "header": {"id", "comm_name", "rank", "n_ranks", "nnodes"},
    "metadata": {
        *("inspector_output_format_version", "git_rev", "rec_mechanism", "dump_timestamp_us", "hostname", "pid"),
    },
    "coll_perf": {
        *("coll", "coll_sn", "coll_msg_size_bytes", "coll_exec_time_us", "coll_timing_source"),
        *("coll_algobw_gbs", "coll_busbw_gbs", *_VERBOSE),
    },
    "p2p_perf": {
        *("p2p", "p2p_sn", "p2p_peer", "p2p_msg_size_bytes", "p2p_exec_time_us", "p2p_timing_source"),
        *("p2p_algobw_gbs", "p2p_busbw_gbs", *_VERBOSE),
    },
}
"""The fields of a record that this reader knows, by the object that has them."""
NAMES = {
    "AllReduce": "all-reduce",
    "AllGather": "all-gather",
    "ReduceScatter": "reduce-scatter",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
    "AlltoAll": "all-to-all",
    "AllToAll": "all-to-all",
    "SendRecv": "send-recv",
    "Send": "send",
    "Recv": "receive",
}
"""The names of operations in railweave, by the Inspector's."""
POINT_TO_POINT = {"send", "receive"}
"""The operations of one rank with another, which are not predicted."""
OF_A_RANK = {"all-gather", "reduce-scatter"}
"""The collectives whose size is that of one rank's part in the Inspector. nccl-tests and railweave give the size of all parts."""


@dataclass(frozen=True, slots=True)
class InspectorRecord:
    """An operation of a rank; in Prometheus' form, the mean over the operations of a GPU.

    - ``communicator``: the hash of the communicator; its name in Prometheus' form of 2.30.
    - ``rank``, ``pid``: the rank in the communicator and its process; None if the form does not have them.
    - ``gpu``: the CUDA device of Prometheus' form (3 for GPU3); None in JSON.
    - ``operation``: as in ``railweave sim``, or the Inspector's word if the operation has no name there.
    - ``number``: the number of the operation in its communicator, or None. ``peer``: the other rank of a send or receive.
    - ``size_bytes``: the size as nccl-tests prints it; None in Prometheus' form of 2.30, which has a range: ``size_range``.
    - ``source``: where the time comes from: kernel_gpu (the GPU's clock), kernel_cpu or collective_cpu.
    - ``busbw``: the bus bandwidth in 10^9 byte/s; None if the Inspector does not compute it for the operation.
    - ``written_us``: the time at which the record was written, in microseconds of the epoch; None if unknown.
    - ``job``: the job of Slurm; empty if unknown.
    """

    file: str
    line: int
    communicator: str
    name: str
    ranks: int
    nodes: int
    host: str
    rank: int | None
    pid: int | None
    gpu: int | None
    operation: str
    number: int | None
    peer: int | None
    size_bytes: int | None
    size_range: str
    time_us: float | None
    source: str
    busbw: float | None
    written_us: int | None = None
    job: str = ""


_IS_JSON = re.compile(r'\s*\{\s*"header"\s*:.{0,2000}?"(?:coll_perf|p2p_perf)"\s*:', re.DOTALL)
_SAMPLE = re.compile(r"^(nccl_\w{1,80})\{([^}]{0,4000})\} (\S{1,40})(?: \d{1,19})?\s*$")
_LABEL = re.compile(r'(\w{1,60})="((?:[^"\\]|\\.){0,300})"')
_RANGE_END = re.compile(r"(?:^|-)([0-9]{1,9}(?:\.[0-9]{1,2})?)([KMGT]?)B$")
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
"""The powers of two of the units of a size range."""
_METRICS = {
    "nccl_bus_bandwidth_gbs": "busbw",
    "nccl_p2p_bus_bandwidth_gbs": "busbw",
    "nccl_collective_exec_time_microseconds": "time_us",
    "nccl_p2p_exec_time_microseconds": "time_us",
}
_OTHER_METRIC = re.compile(
    r"nccl_algorithm_bandwidth_gbs|nccl_(?:collective|p2p)_(?:count|exec_time_(?:sum|min|max|p50|p95|p99)_microseconds"
    r"|slow_event_exec_time_microseconds)"
)
"""Metrics that say nothing more about bandwidth: that of the algorithm (2.29), counts and other times of the same operations."""
_RENAMED = {"hostname": "node", "gpu_device_id": "gpu", "rank": "comm_rank"}
"""The labels of 2.29 that have another name in later releases."""
_LABELS = {
    *("version", "slurm_job", "slurm_job_id", "world_rank", "local_rank", "node", "gpu", "timestamp", "timing_source"),
    *("comm_id", "comm_name", "comm_rank", "n_nodes", "nranks", "peer"),
    *("collective", "p2p_operation", "coll_sn", "message_size", "message_size_bytes", "algo_proto"),
}


def is_inspector_json(text: str) -> bool:
    """Return whether a text is the Inspector's JSON lines."""
    return _IS_JSON.match(text) is not None


def is_inspector_prometheus(text: str) -> bool:
    """Return whether a text begins with metrics of the Inspector."""
    lines = [line for line in text[:20_000].splitlines() if line.strip() and not line.startswith("#")]
    metric = lines[0].partition("{")[0] if lines else ""
    return metric in _METRICS or _OTHER_METRIC.fullmatch(metric) is not None


def read_inspector_json(text: str, notes: Notes) -> list[InspectorRecord]:
    """Return the records of JSON lines. Lines, fields and versions that are not known are noted. Never raises an error."""
    records: list[InspectorRecord] = []
    unknown: dict[str, tuple[int, int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            given = _object(parse_json(line))
        except ValueError:
            given = {}
        record = _record(given, notes.file, number)
        if record is None:
            notes.add(number, "not understood", line)
            continue
        records.append(record)
        version = words(_object(given.get("metadata")).get("inspector_output_format_version"))
        strange = [*_strange(given), *([f"format version {version}"] if version not in {"", *VERSIONS} else [])]
        for sentence in strange:
            first, often = unknown.get(sentence, (number, 0))
            unknown[sentence] = first, often + 1
    for sentence, (first, often) in unknown.items():
        notes.add(first, f"{sentence} is not known ({often} records); fields with known names were read")
    return records


def _strange(given: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"field {name}" for name in given if name not in KNOWN[""])
    for part, known in KNOWN.items():
        yield from (f"field {part}.{name}" for name in _object(given.get(part)) if part and name not in known)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _named(name: str) -> str:
    """Return a name; empty if the program gave none, which the Inspector writes as ``unknown``."""
    return "" if name == "unknown" else name


def _record(given: Mapping[str, Any], file: str, line: int) -> InspectorRecord | None:
    header, metadata = _object(given.get("header")), _object(given.get("metadata"))
    kind = "coll" if "coll_perf" in given else "p2p"
    performance = _object(given.get(f"{kind}_perf"))
    rank, ranks = count(header.get("rank")), count(header.get("n_ranks"))
    if rank is None or not performance:
        return None
    word = words(performance.get(kind))
    operation = NAMES.get(word, word)
    size = count(performance.get(f"{kind}_msg_size_bytes"))
    if size is not None and ranks and operation in OF_A_RANK:
        size *= ranks

    def number(name: str) -> float | None:
        value = performance.get(f"{kind}_{name}")
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        return float(value) if 0 <= value <= LARGEST else None

    return InspectorRecord(
        file,
        line,
        words(header.get("id")),
        _named(words(header.get("comm_name"))),
        ranks or 0,
        count(header.get("nnodes")) or 0,
        words(metadata.get("hostname")),
        rank,
        count(metadata.get("pid")),
        None,
        operation,
        count(performance.get(f"{kind}_sn")),
        count(performance.get("p2p_peer")),
        size,
        "",
        number("exec_time_us"),
        words(performance.get(f"{kind}_timing_source")),
        number("busbw_gbs") or None,  # 0: the Inspector has no formula for the operation (inspectorComputeOpBw)
        count(metadata.get("dump_timestamp_us")),
    )


def read_inspector_prometheus(text: str, notes: Notes) -> list[InspectorRecord]:
    """Return the records of Prometheus' text form. Lines, metrics and labels that are not known are noted. Never raises an error."""
    values: dict[tuple[tuple[str, str], ...], dict[str, tuple[float | None, int]]] = {}
    strange: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _SAMPLE.match(line)
        if match is not None and _OTHER_METRIC.fullmatch(match[1]):
            continue
        if match is None or match[1] not in _METRICS:
            notes.add(number, "not understood", line)
            continue
        labels = {_RENAMED.get(label[1], label[1]): label[2] for label in _LABEL.finditer(match[2])}
        for name in labels.keys() - _LABELS:
            strange.setdefault(f"label {name}", number)
        value = measured(match[3], match[1], number, notes)
        values.setdefault(tuple(sorted(labels.items())), {})[_METRICS[match[1]]] = value, number
    for sentence, number in strange.items():
        notes.add(number, f"{sentence} is not known; labels with known names were read")
    records = [_sample(dict(labels), given, notes.file) for labels, given in values.items()]
    if nameless := [record for record in records if not _can_be_grouped(record)]:
        notes.add(
            nameless[0].line,
            f"the communicators of {len(nameless)} records have no name and are of several servers: they cannot be told apart, "
            "and were not compared",
        )
    return records


def _can_be_grouped(record: InspectorRecord) -> bool:
    """Return whether the communicator of a record is known, or at least its only server.

    Prometheus' form writes all communicators without a name as ``unknown``, and has no hash.
    """
    return record.rank is not None or bool(record.name) or record.nodes == 1


def _sample(labels: Mapping[str, str], given: Mapping[str, tuple[float | None, int]], file: str) -> InspectorRecord:
    word = labels.get("collective", labels.get("p2p_operation", ""))
    operation = NAMES.get(word, word)
    gpu = re.fullmatch(r"GPU(\d{1,4})", labels.get("gpu", ""))
    name, ranks = labels.get("comm_name", ""), count(labels.get("nranks")) or 0
    size = count(labels.get("message_size_bytes"))
    if size is not None and operation in OF_A_RANK:
        size *= ranks
    return InspectorRecord(
        file,
        min(line for _, line in given.values()),
        _named(labels.get("comm_id", "")) or name,
        _named(name),
        ranks,
        count(labels.get("n_nodes")) or 0,
        labels.get("node", ""),
        count(labels.get("comm_rank")),
        None,
        int(gpu[1]) if gpu else None,
        operation,
        count(labels.get("coll_sn")),
        count(labels.get("peer")),
        size,
        labels.get("message_size", "") if size is None else "",
        given.get("time_us", (None, 0))[0],
        labels.get("timing_source", ""),
        given.get("busbw", (None, 0))[0] or None,
        job=_named(labels.get("slurm_job_id", "")),
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """The operations of a communicator with the same name and size.

    - ``operations``: their number. ``seen``: the ranks whose records were read, at most.
    - ``time_us``: the median of the operations' times. The time of an operation is the shortest of its ranks: the others' times
      include that they waited for the last rank.
    - ``busbw``: the bus bandwidth in that time, or None. ``file``, ``line``: the place of a record.
    """

    operation: str
    size_bytes: int | None
    size_range: str
    peer: int | None
    operations: int
    seen: int
    time_us: float | None
    busbw: float | None
    file: str
    line: int

    def at_most(self, ranks: int) -> int | None:
        """Return the size in bytes, or the end of its range; None if unknown. ``ranks`` is the number of ranks of the communicator."""
        return at_most(self.operation, self.size_bytes, self.size_range, ranks)


def at_most(operation: str, size_bytes: int | None, size_range: str, ranks: int) -> int | None:
    """Return the size of an operation in bytes, or the end of its range; None if unknown. ``ranks`` is the number of its ranks."""
    end = _RANGE_END.search(size_range)
    if size_bytes is not None or end is None:
        return size_bytes
    size = int(float(end[1]) * (1 << _UNITS[end[2]]))
    return size * ranks if operation in OF_A_RANK else size


@dataclass(frozen=True, slots=True)
class Communicator:
    """The records of a communicator.

    - ``hosts``: the servers in the order of ranks; empty if records of some servers are missing.
    - ``places``: the ranks that were seen: (host, rank, pid, GPU). ``files``: the files with records.
    - ``began_ms``: the time of the first record, in milliseconds of the epoch; None if unknown.
    - ``job``: the job of Slurm; empty if unknown.
    """

    id: str
    name: str
    ranks: int
    nodes: int
    hosts: tuple[str, ...]
    places: tuple[tuple[str, int | None, int | None, int | None], ...]
    measured: tuple[Measured, ...]
    files: tuple[str, ...]
    line: int
    began_ms: int | None
    job: str = ""

    @property
    def title(self) -> str:
        """A phrase that names the communicator, by its name or else its hash."""
        return f"communicator {self.name or self.id or 'without a name'} of {self.ranks} ranks"


def communicators(records: Iterable[InspectorRecord]) -> list[Communicator]:
    """Return the communicators in records of all files of a job.

    In Prometheus' form, the communicators without a name on one server count as one communicator. Those of several servers are
    left out.
    """
    gathered = Gathered()
    for record in records:
        gathered.add(record)
    return gathered.communicators()


@dataclass(slots=True)
class _Operation:
    """An operation of a communicator: its shortest time, its highest bandwidth, and a bit for each rank that was seen."""

    time_us: float | None = None
    busbw: float | None = None
    seen: int = 0


@dataclass(slots=True)
class _Kind:
    """The operations of a communicator with the same name and size, by number, and the place of the first record."""

    file: str
    line: int
    operations: dict[int | None, _Operation] = field(default_factory=dict[int | None, _Operation])


@dataclass(slots=True)
class _Ranks:
    """A communicator that is being gathered: a number for each rank's place, and its kinds of operations."""

    line: int
    name: str = ""
    began_us: int | None = None
    places: dict[tuple[str, int | None, int | None, int | None], int] = field(
        default_factory=dict[tuple[str, int | None, int | None, int | None], int]
    )
    kinds: dict[tuple[str, int | None, str, int | None], _Kind] = field(
        default_factory=dict[tuple[str, int | None, str, int | None], _Kind]
    )
    files: dict[str, None] = field(default_factory=dict[str, None])


Identity = tuple[str, int, int, str]
"""The properties that distinguish communicators: the hash or name, the numbers of ranks and servers, and the job."""


class Gathered:
    """Communicators, gathered from records that are added one by one.

    ``operations`` and ``kinds`` limit the operations of a kind, and the kinds of a communicator, that are kept: the last ones.
    None keeps all. With ``whole``, only operations that all ranks recorded are measured: without the records of some ranks,
    the shortest time is not known.
    """

    def __init__(self, operations: int | None = None, kinds: int | None = None, *, whole: bool = False) -> None:
        self._operations = operations
        self._kinds = kinds
        self._whole = whole
        self._all: dict[Identity, _Ranks] = {}

    def __len__(self) -> int:
        return len(self._all)

    def add(self, record: InspectorRecord, *, measured: bool = True) -> Identity | None:
        """Add a record, and return the identity of its communicator; None if it cannot be told. Without ``measured``, only its rank is kept."""
        if not _can_be_grouped(record):
            return None
        nameless = record.rank is None and not record.name
        identity = f"without a name on {record.host}" if nameless else record.communicator
        key = identity, record.ranks, record.nodes, record.job
        ranks = self._all.get(key)
        if ranks is None:
            ranks = self._all[key] = _Ranks(record.line)
        ranks.name = ranks.name or record.name
        if record.written_us:
            ranks.began_us = min(ranks.began_us or record.written_us, record.written_us)
        ranks.files.setdefault(record.file)
        place = ranks.places.setdefault((record.host, record.rank, record.pid, record.gpu), len(ranks.places))
        if measured:
            self._measure(ranks, record, place)
        return key

    def _measure(self, ranks: _Ranks, record: InspectorRecord, place: int) -> None:
        key = record.operation, record.size_bytes, record.size_range, record.peer
        kind = ranks.kinds.get(key)
        if kind is None:
            kind = ranks.kinds[key] = _Kind(record.file, record.line)
            if self._kinds is not None and len(ranks.kinds) > self._kinds:
                del ranks.kinds[next(iter(ranks.kinds))]
        elif self._kinds is not None:  # the last that was seen is kept longest
            ranks.kinds[key] = ranks.kinds.pop(key)
        operation = kind.operations.get(record.number)
        if operation is None:
            if self._operations is not None and len(kind.operations) >= self._operations:
                oldest = min(kind.operations, key=lambda number: number or 0)
                if (record.number or 0) < (oldest or 0):
                    return  # files of ranks are read one after the other: this operation was left out before
                del kind.operations[oldest]
            operation = kind.operations[record.number] = _Operation()
        operation.seen |= 1 << place
        if record.time_us:
            operation.time_us = min(operation.time_us or record.time_us, record.time_us)
        if record.busbw:
            operation.busbw = max(operation.busbw or record.busbw, record.busbw)

    def forget(self, identity: Identity) -> None:
        """Leave out a communicator."""
        self._all.pop(identity, None)

    def communicators(self) -> list[Communicator]:
        """Return the communicators, in the order of their first records."""
        return [self._communicator(key, ranks) for key, ranks in self._all.items()]

    def _communicator(self, key: Identity, known: _Ranks) -> Communicator:
        identity, ranks, nodes, job = key
        places = sorted(known.places, key=lambda place: place[1] if place[1] is not None else 0)
        hosts = tuple(dict.fromkeys(host for host, *_ in places if host))
        return Communicator(
            identity,
            known.name,
            ranks,
            nodes,
            hosts if len(hosts) == nodes else (),
            tuple(places),
            tuple(self._measured(kind, ranks, rows) for kind, rows in known.kinds.items()),
            tuple(known.files),
            known.line,
            None if known.began_us is None else known.began_us // 1000,
            job,
        )

    def _measured(self, kind: tuple[str, int | None, str, int | None], ranks: int, rows: _Kind) -> Measured:
        of_all = rows.operations.values()
        chosen = [each for each in of_all if each.seen.bit_count() >= ranks] if self._whole else of_all
        times = [each.time_us for each in chosen if each.time_us]
        rates = [each.busbw for each in chosen if each.busbw]
        return Measured(
            *kind,
            len(rows.operations),
            max(each.seen.bit_count() for each in of_all),
            median(times) if times else None,
            median(rates) if rates else None,
            rows.file,
            rows.line,
        )


def gpus_of_processes(given: Iterable[Communicator], gpus: Mapping[str, int]) -> dict[tuple[str, int], int]:
    """Return the index of the GPU of each process, by (host in lowercase, pid).

    It is the position of the process among the ranks of its server, in a communicator that has a rank for each GPU of
    the server. ``gpus`` has the number of GPUs of each server, by its name in lowercase. Processes for which there is
    no such communicator are left out.
    """
    known: dict[tuple[str, int], int] = {}
    for communicator in sorted(given, key=lambda communicator: -communicator.ranks):
        by_host: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for host, rank, pid, _ in communicator.places:
            if rank is not None and pid is not None:
                by_host[host.lower().partition(".")[0]].append((rank, pid))
        for host, ranks in by_host.items():
            if len(ranks) == gpus.get(host):
                for place, (_, pid) in enumerate(sorted(ranks)):
                    known.setdefault((host, pid), place)
    return known
