"""Import of benchmark outputs: parsed text becomes runs for the store.

NCCL logs are also compared with the values that railweave's model of NCCL assumes.
"""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import io
import sys
import zlib
from collections import Counter
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import FileLine, Problem, SpecError
from railweave.model.catalog import in_force
from railweave.operations.bench.gpu_nics import described, gpu_nics, nics_of
from railweave.operations.bench.inspector import TOOL, communicators
from railweave.operations.bench.nccl_tests import operation_named
from railweave.operations.bench.read import read
from railweave.operations.bench.triage.frameworks import dump_text
from railweave.operations.store.records import GPUS, Environment, Run, Sample, pairs
from railweave.operations.store.store import opened
from railweave.prediction.collectives.channels import COLLECTIVES, Collective, channel_count
from railweave.prediction.collectives.nccl import LISTS, NUMBERS, NcclError, Parameters, parameters
from railweave.prediction.collectives.tuning import choose
from railweave.reading import open_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.bench.gpu_nics import GpuNics
    from railweave.operations.bench.inspector import Communicator, InspectorRecord
    from railweave.operations.bench.mllog import Training
    from railweave.operations.bench.nccl_log import NcclLog
    from railweave.operations.bench.nccl_tests import NcclTests, PlaceTimes
    from railweave.operations.bench.perftest import Perftest, PerftestRow
    from railweave.operations.bench.read import ParsedText
    from railweave.operations.bench.table import Measurement, Table
    from railweave.operations.bench.tools import ToolRun
    from railweave.prediction.collectives.job import Job


def variables_of(log: NcclLog) -> dict[str, str]:
    """Return the NCCL environment variables that the log reports, by name."""
    return dict(log.variables)


def versions_of(log: NcclLog) -> dict[str, str]:
    """Return the version of the log's library (such as NCCL) by its name; empty if the log states none.

    If ranks had different versions, the versions are separated by commas.
    """
    return {log.library: ", ".join(text for _, text in log.versions)} if log.library and log.versions else {}


def facts_of(log: NcclLog) -> tuple[tuple[str, str], ...]:
    """Return (name, text) for each fact in an NCCL log, such as ``channels`` or ``ring 0``. Facts that the log lacks are left out."""
    net = [channel for channel in log.channels if channel.transport == "NET"]
    transports = Counter(
        f"{channel.transport}/{channel.through}{'/GDRDMA' if channel.gdr else ''}"
        for channel in log.channels
        if channel.direction != "receive"
    )
    choices = Counter(f"{choice.collective} {choice.algorithm}/{choice.protocol}".strip() for choice in log.choices)
    counts = max(log.counts, key=lambda count: count.collective, default=None)
    facts = {
        "network": ", ".join(sorted({network.text for network in log.networks})),
        "bootstrap": ", ".join(sorted({interface.name for interface in log.bootstrap})),
        "servers": "" if log.nodes is None else str(log.nodes),
        "order of servers": " ".join(log.hosts),
        "RDMA devices": " ".join(dict.fromkeys(device.name for device in log.devices)),
        "channels": "" if counts is None else str(counts.collective),
        "point-to-point channels": ""
        if counts is None
        else f"{counts.point_to_point}, {counts.per_peer} for each peer",
        "connections": ", ".join(f"{number} {name}" for name, number in sorted(transports.items())),
        "GPUDirect RDMA": ""
        if not net
        else "all"
        if all(channel.gdr for channel in net)
        else "some"
        if any(channel.gdr for channel in net)
        else "none",
        "over another GPU's NIC (PXN)": str(sum(channel.proxy is not None for channel in net) or ""),
        "ring 0": " ".join(map(str, log.ring_of(0))),
        "algorithms": ", ".join(f"{name} x{number}" for name, number in sorted(choices.items())),
        "GIDs": " ".join(dict.fromkeys(queue_pair.gid for queue_pair in log.queue_pairs if queue_pair.gid)),
        "colors": " ".join(map(str, sorted({plugin_path.color for plugin_path in log.plugin_paths}))),
    }
    return tuple((name, text) for name, text in facts.items() if text)


def runs_of(read: ParsedText, digest: str, kept: str, environment: Environment | None = None) -> list[Run]:
    """Return the runs for the store from the parsed text ``read``.

    The facts in an NCCL log are added to each nccl-tests run of the same text. If there is no such run, the log becomes
    a run without samples.

    - ``digest``: the SHA-256 digest of the text; ``kept``: the time of storage (ISO 8601).
    - ``environment``: further known facts, such as the design.
    """
    given = environment or Environment()
    runs = [_perftest(perftest, read, digest, kept, given) for perftest in read.perftests]
    runs += [_nccl_tests(nccl_test, read, digest, kept, given) for nccl_test in read.nccl_tests]
    runs += [_training(training, read, digest, kept, given) for training in read.trainings]
    runs += [_tool(run, read, digest, kept, given) for run in read.tools]
    if read.table is not None:
        runs.append(_table(read.table, read, digest, kept, given))
    if read.log is not None and not read.nccl_tests:
        title = f"log of {' '.join(filter(None, (read.log.library, *(text for _, text in read.log.versions[:1]))))}"
        log = Run(
            tool="nccl-log",
            title=title,
            file=read.file,
            file_digest=digest,
            line=1,
            began="",
            kept=kept,
            hosts=read.log.hosts,
            ranks=max((rank.ranks for rank in read.log.ranks), default=None),
            facts=facts_of(read.log),
            failures=tuple(_failures(read.log)),
            notes=tuple(map(str, read.notes)),
            environment=_with_log(given, read),
        )
        runs.append(log)
    return runs


def inspector_runs(
    records: Iterable[InspectorRecord],
    kept: str,
    environment: Environment | None = None,
    design: GpuNics | None = None,
    notes: Sequence[str] = (),
) -> list[Run]:
    """Return a run for each communicator in the Inspector's records of all files of a job.

    - ``kept``, ``environment``: as in ``runs_of``. ``notes``: the notes of the files.
    - ``design``: the NICs of the design; None without one. With it, a run has the rails, planes, NICs and links as facts.
    """
    given = list(records)
    of_job = communicators(given)
    nics = nics_of(of_job, design) if design is not None else [()] * len(of_job)
    return [
        _communicator(communicator, described(of_gpus), kept, environment or Environment(), notes)
        for communicator, of_gpus in zip(of_job, nics, strict=True)
    ]


def _communicator(
    communicator: Communicator,
    facts: tuple[tuple[str, str], ...],
    kept: str,
    environment: Environment,
    notes: Sequence[str],
) -> Run:
    rails = dict(facts).get("rails", "")
    whose = {"communicator": communicator.name or communicator.id, "rail": rails if rails.isdigit() else ""}
    samples: list[Sample] = []
    for row in communicator.measured:
        texts = whose | {"size": row.size_range, "peer": "" if row.peer is None else str(row.peer)}
        labels = tuple((name, text) for name, text in texts.items() if text)
        for quantity, value in (("time_us", row.time_us), ("busbw_gbytes_per_s", row.busbw)):
            if value is not None:
                samples.append(Sample(row.operation, row.size_bytes, "", quantity, value, row.line, labels))
    settings = {
        "communicator": communicator.id,
        "name": communicator.name,
        "nodes": str(communicator.nodes or ""),
        "job": communicator.job,
    }
    seen = max((row.seen for row in communicator.measured), default=0)
    settings["ranks with records"] = str(seen)
    content = repr((communicator, samples)).encode()
    return Run(
        tool=TOOL,
        title=communicator.title,
        file=communicator.files[0],
        file_digest=hashlib.sha256(content).hexdigest(),
        line=communicator.line,
        began=_iso(communicator.began_ms),
        kept=kept,
        hosts=communicator.hosts,
        ranks=communicator.ranks or None,
        settings=tuple((name, text) for name, text in settings.items() if text),
        facts=facts,
        notes=tuple(notes),
        environment=environment,
        samples=tuple(samples),
    )


def _failures(log: NcclLog) -> Iterator[str]:
    for completion in log.failed:
        yield f"line {completion.line}: {completion.description}"
    for call in log.calls:
        yield f"line {call.line}: {call.text}"


def _with_log(given: Environment, read: ParsedText, more: tuple[tuple[str, str], ...] = ()) -> Environment:
    log = read.log
    variables = dict(given.variables) | dict(more) | (variables_of(log) if log else {})
    versions = dict(given.versions) | (versions_of(log) if log else {})
    loaded = (
        next(
            (
                f"{plugin.name} {plugin.version}".strip()
                for plugin in log.plugins
                if plugin.loaded and plugin.kind == "NET"
            ),
            "",
        )
        if log
        else ""
    )
    return replace(given, versions=pairs(versions), variables=pairs(variables), plugin=given.plugin or loaded)


def _perftest(test: Perftest, read: ParsedText, digest: str, kept: str, given: Environment) -> Run:
    both = "bidirectional " if test.bidirectional else ""
    operation = f"{test.verb} {both}{test.kind}".strip()
    settings = dict(test.settings) | {"memory": test.memory, "command": test.command}
    settings |= {"local GID": test.local_gid, "remote GID": test.remote_gid}
    return Run(
        tool="perftest",
        title=f"{operation or 'perftest'} on {test.device or 'a device that is not named'}",
        file=read.file,
        file_digest=digest,
        line=test.line,
        began="",
        kept=kept,
        settings=tuple((name, text) for name, text in settings.items() if text),
        failures=tuple(f"line {failure.line}: {failure.what}" for failure in test.failures),
        notes=tuple(map(str, read.notes)),
        environment=given,
        samples=tuple(sample for row in test.rows for sample in _perftest_row(operation, row)),
    )


def _perftest_row(operation: str, row: PerftestRow) -> Iterator[Sample]:
    for field in fields(row):
        given = getattr(row, field.name)
        if field.name not in {"line", "size_bytes", "service_level", "half"} and given is not None:
            level = () if row.service_level is None else (("service level", str(row.service_level)),)
            yield Sample(
                f"{operation}, {row.half} half" if row.half else operation,
                row.size_bytes,
                "",
                field.name,
                float(given),
                row.line,
                level,
            )


def _nccl_tests(test: NcclTests, read: ParsedText, digest: str, kept: str, given: Environment) -> Run:
    tool = "rccl-tests" if test.library == "RCCL" else "nccl-tests"
    versions = {f"{test.library} (library)": test.library_version, tool: test.tests_version}
    environment = _with_log(given, read, test.variables)
    settings = dict(test.settings) | {"command": test.command, "times": "of the processor" if test.cpu_time else ""}
    failures = [f"line {line}: {reason}" if line else reason for line, reason in test.failures]
    if test.out_of_bounds:
        failures.append(f"{test.out_of_bounds} values were wrong")
    if test.average_is_enough is False:
        failures.append("the average bus bandwidth was below NCCL_TESTS_MIN_BW")
    if not test.concluded:
        failures.append("the test did not come to its end")
    if read.tableless:
        failures.append("no row of its table was read")
    average = test.average_busbw_gbytes_per_s
    means = (
        [Sample(test.operation, None, "", "average_busbw_gbytes_per_s", average, test.line)]
        if average is not None
        else []
    )
    return Run(
        tool=tool,
        title=f"{test.operation or 'an operation that is not named'}"
        + (f" on {test.rank_count} GPUs" if test.rank_count else ""),
        file=read.file,
        file_digest=digest,
        line=test.line,
        began=test.began,
        kept=kept,
        hosts=test.hosts or (read.log.hosts if read.log else ()),
        ranks=test.rank_count,
        settings=tuple((name, text) for name, text in settings.items() if text),
        facts=(*_gpus(test), *(facts_of(read.log) if read.log else ())),
        failures=tuple(failures),
        notes=tuple(map(str, read.notes)),
        environment=replace(
            environment,
            versions=pairs(dict(environment.versions) | {name: text for name, text in versions.items() if text}),
        ),
        samples=tuple(_nccl_samples(test)) + tuple(means),
    )


def _gpus(test: NcclTests) -> tuple[tuple[str, str], ...]:
    """Return one (name, text) pair for ``Run.facts`` with the GPU names that the ranks printed; empty if they printed none."""
    names = sorted({rank.gpu for rank in test.ranks if rank.gpu})
    return ((GPUS, ", ".join(names)),) if names else ()


def _nccl_samples(test: NcclTests) -> Iterator[Sample]:
    for row in test.rows:
        labels = {"type": row.type, "redop": row.redop, "algorithm": row.algorithm, "protocol": row.protocol}
        labels |= {"channels": "" if row.channels is None else str(row.channels), "timestamp": row.timestamp}
        if row.root is not None and row.root >= 0:
            labels["root"] = str(row.root)
        label_pairs = tuple((name, text) for name, text in (dict(row.others) | labels).items() if text)
        places: tuple[tuple[str, PlaceTimes | None], ...] = (
            ("out-of-place", row.out_of_place),
            ("in-place", row.in_place),
        )
        for place, measured in places:
            for field in fields(measured) if measured is not None else ():
                given = getattr(measured, field.name)
                if given is not None:
                    yield Sample(test.operation, row.size_bytes, place, field.name, float(given), row.line, label_pairs)


def _training(run: Training, read: ParsedText, digest: str, kept: str, given: Environment) -> Run:
    samples = [
        Sample("training step", None, "", "step_time_s", step.seconds, step.line, _at("at", step.at))
        for step in run.steps
    ]
    samples += [
        Sample("training block", None, "", "block_time_s", block.seconds, block.line, _at("samples", block.samples))
        for block in run.blocks
    ]
    for quantity, number in (("time_to_train_s", run.seconds_to_train), ("throughput_per_s", run.throughput)):
        if number is not None:
            samples.append(Sample("training", None, "", quantity, number, run.line))
    samples += [Sample("training", None, "", "accuracy", number, line) for line, number in run.accuracies]
    failures = (
        () if run.status in {"success", ""} and run.ended_ms is not None else (run.status or "the run has no end",)
    )
    return Run(
        tool="mllog",
        title=f"training of {run.benchmark or 'a model that is not named'}",
        file=read.file,
        file_digest=digest,
        line=run.line,
        began=_iso(run.began_ms),
        kept=kept,
        settings=run.settings,
        failures=failures,
        notes=tuple(map(str, read.notes)),
        environment=given,
        samples=tuple(samples),
    )


def _at(name: str, number: int | None) -> tuple[tuple[str, str], ...]:
    return () if number is None else ((name, str(number)),)


def _iso(time_ms: int | None) -> str:
    try:
        return "" if time_ms is None else dt.datetime.fromtimestamp(time_ms / 1e3, dt.UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return ""


def _tool(run: ToolRun, read: ParsedText, digest: str, kept: str, given: Environment) -> Run:
    return Run(
        tool=run.tool,
        title=run.operation or run.tool,
        file=read.file,
        file_digest=digest,
        line=run.line,
        began="",
        kept=kept,
        settings=run.settings,
        failures=tuple(f"line {line}: {reason}" if line else reason for line, reason in run.failures),
        notes=tuple(map(str, read.notes)),
        environment=given,
        samples=_samples(run.measurements),
    )


def _samples(measurements: Sequence[Measurement]) -> tuple[Sample, ...]:
    return tuple(
        Sample(
            measurement.operation,
            measurement.size_bytes,
            measurement.place,
            measurement.quantity,
            measurement.value,
            measurement.line,
            measurement.labels,
        )
        for measurement in measurements
    )


def _table(table: Table, read: ParsedText, digest: str, kept: str, given: Environment) -> Run:
    samples = _samples(table.measurements)
    return Run(
        tool="table",
        title=f"{len(samples)} numbers of a table",
        file=read.file,
        file_digest=digest,
        line=1,
        began="",
        kept=kept,
        notes=tuple(map(str, read.notes)),
        environment=given,
        samples=samples,
    )


@dataclass(frozen=True, slots=True)
class Row:
    """A fact about a job, such as its number of channels: its value in the NCCL log, and the value that the model of NCCL assumes."""

    what: str
    logged: str
    assumed: str

    @property
    def same(self) -> bool:
        """True if the log shows the value that the model assumes."""
        return self.logged == self.assumed


def parameters_of(log: NcclLog, job: Job) -> Parameters:
    """Return the parameters of railweave's model of NCCL for a job, set from the NCCL variables in the log.

    Variables that the model does not have, and values that it rejects, are ignored.
    """
    known = {name: text for name, text in log.variables if name in NUMBERS or name in LISTS}
    while known:
        try:
            return parameters(known, job.library)
        except NcclError as error:
            wrong = {name for problem in error.problems for name in known if name in f"{problem.place} {problem.what}"}
            known = {name: text for name, text in known.items() if wrong and name not in wrong}
    return parameters({}, job.library)


def laid_beside(log: NcclLog, job: Job, nccl: Parameters | None = None) -> tuple[Row, ...]:
    """Compare a log with railweave's model of NCCL: return a row for each fact in the log, with the value that the model assumes for ``job``.

    ``nccl`` has the model's parameters; None means the parameters that the log reports.
    """
    return tuple(_rows(log, job, nccl or parameters_of(log, job)))


def _rows(log: NcclLog, job: Job, nccl: Parameters) -> Iterator[Row]:
    names = job.machines
    channels = channel_count(job, nccl)
    if log.library:
        yield Row("library", log.library, job.library)
    if log.ranks:
        yield Row("ranks", str(max(rank.ranks for rank in log.ranks)), str(job.ranks))
    if log.nodes is not None:
        yield Row("servers", str(log.nodes), str(len(job.servers)))
    if len(log.hosts) > 1:
        yield Row("order of servers", " ".join(log.hosts), " ".join(names))
    if log.networks:
        through = {network.text for network in log.networks}
        yield Row("network", "sockets" if "Socket" in through else "RDMA", "RDMA")
    if log.counts:
        yield Row("channels", str(max(count.collective for count in log.counts)), str(channels))
    net = [channel for channel in log.channels if channel.transport == "NET"]
    if net:
        direct = sum(channel.gdr for channel in net)
        yield Row("GPUDirect RDMA", "all" if direct == len(net) else "some" if direct else "none", "all")
        if nccl["NCCL_PXN_DISABLE"]:
            yield Row(
                "over another GPU's NIC (PXN)",
                "yes" if any(channel.proxy is not None for channel in net) else "no",
                "no",
            )
    yield from _ring(log, job)
    yield from _choices(log, job, nccl, channels)


def _ring(log: NcclLog, job: Job) -> Iterator[Row]:
    """Yield a row that compares the order of servers in ring 0 with the order of ranks, which the model assumes.

    Yield nothing if the log does not show the whole ring, or if the job has one server.
    """
    ring, each = log.ring_of(0), job.gpus_per_server
    if len(ring) == job.ranks and len(job.servers) > 1:
        order: list[int] = []
        for rank in ring:
            if not order or order[-1] != rank // each:
                order.append(rank // each)
        yield Row("ring 0, by server", " ".join(map(str, order)), " ".join(map(str, range(len(job.servers)))))


def _choices(log: NcclLog, job: Job, nccl: Parameters, channels: int) -> Iterator[Row]:
    by_name: dict[str, Collective] = {name.replace("-", ""): name for name in COLLECTIVES}
    seen: set[tuple[str, int]] = set()
    for choice in log.choices:
        collective = by_name.get(choice.collective.lower())
        if collective is None or (collective, choice.size_bytes) in seen or choice.size_bytes < 1:
            continue
        seen.add((collective, choice.size_bytes))
        assumed = choose(job, nccl, collective, choice.size_bytes, channels)
        yield Row(
            f"{collective} of {choice.size_bytes} bytes",
            f"{choice.algorithm} {choice.protocol}",
            f"{assumed.algorithm} {assumed.protocol}",
        )


_GZIP = b"\x1f\x8b"
"""The first bytes of a gzip file (RFC 1952)."""
MOST_BYTES = 512 << 20
"""The largest size of a file, in bytes. A log of 4,096 ranks with every subsystem has 300 MB."""


@dataclass(frozen=True)
class ImportResult:
    """The result of an import of benchmark outputs.

    - ``files``: the parsed text of each file.
    - ``runs``: the runs that were added to the store. ``known``: the number of runs that were already in the store.
    - ``beside``: by file, the comparison of its NCCL log with railweave's model of NCCL.
    """

    files: tuple[ParsedText, ...]
    runs: tuple[Run, ...]
    known: int
    beside: dict[str, tuple[Row, ...]]

    @property
    def good(self) -> bool:
        """True unless a file has the header of nccl-tests and no row of a table was read."""
        return not any(file.tableless for file in self.files)


def import_files(
    files: Sequence[Path | str],
    store: Path | str,
    network: Network | None,
    source: Path | str,
    *,
    gbits: bool | None,
    operation: str | None = None,
) -> ImportResult:
    """Read benchmark outputs, and store either all of their runs or none.

    All files in a folder are read. For files in a folder that are not benchmark output, only a note is added.

    ``source`` is the name of the network that was benchmarked. ``network`` is the network to compare logs with, or
    None. ``gbits`` and ``operation`` are explained at ``read``. Raises ``SpecError`` if a file cannot be read or is not
    a benchmark output, and ``InputError`` if there is no such operation.
    """
    environment, named = Environment(), operation_named(operation)
    if network is not None:
        digest = hashlib.sha256(network.to_json()).hexdigest()
        environment = Environment(fabric=str(source), design_digest=digest)
    kept = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    outputs: list[ParsedText] = []
    runs: list[Run] = []
    beside: dict[str, tuple[Row, ...]] = {}
    for file, of_folder in output_files(files):
        text, path = output_text(file), STANDARD_INPUT if str(file) == STANDARD_INPUT else str(Path(file).absolute())
        output = read(text, path, gbits=gbits, operation=named)
        if output.empty and of_folder:
            outputs.append(output)
            continue
        if output.empty:
            message = output.notes[0].what if output.notes else "the file is empty"
            raise SpecError([Problem(FileLine(str(file)), message, "docs/bench.md says what is read")])
        outputs.append(output)
        runs += runs_of(output, hashlib.sha256(text.encode(errors="replace")).hexdigest(), kept, environment)
        if network is not None and output.log is not None and (rows := _beside(output.log, network)):
            beside[path] = rows
    runs += inspector_runs(
        (record for output in outputs for record in output.inspector),
        kept,
        environment,
        None if network is None else gpu_nics(network),
        [str(note) for output in outputs if output.inspector for note in output.notes],
    )
    with opened(store, make=True) as opened_store:
        new = opened_store.add(runs)
    return ImportResult(tuple(outputs), tuple(new), len(runs) - len(new), beside)


def runs_of_files(files: Sequence[Path | str], operation: str | None = None) -> tuple[list[Run], list[str]]:
    """Return (the runs in outputs, notes), without storing the runs.

    Raises ``SpecError`` if a file cannot be read or is not a benchmark output, and ``InputError`` if there is no such operation.
    """
    named = operation_named(operation)
    runs: list[Run] = []
    records: list[InspectorRecord] = []
    notes: list[str] = []
    for file, of_folder in output_files(files):
        output = read(output_text(file), str(file), operation=named)
        notes += map(str, output.notes)
        if output.empty and not of_folder:
            raise SpecError(
                [Problem(FileLine(str(file)), output.notes[0].what if output.notes else "the file is empty")]
            )
        runs += runs_of(output, "", "")
        records += output.inspector
    return [*runs, *inspector_runs(records, "")], notes


STANDARD_INPUT = "-"
"""The name that stands for standard input in place of a file."""


def output_files(files: Sequence[Path | str]) -> Iterator[tuple[Path | str, bool]]:
    """Yield (file, True if it was found in a folder). Folders are searched recursively, without files that begin with a dot.

    Raises ``SpecError`` if a folder has no files.
    """
    for given in files:
        folder = Path(given)
        if not folder.is_dir():
            yield given, False
            continue
        inside = sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
        if not inside:
            raise SpecError([Problem(FileLine(str(given)), "the folder has no files", "give a folder of outputs")])
        yield from ((file, True) for file in inside)


def output_text(file: Path | str) -> str:
    """Return the text of an output. Raise SpecError if the file cannot be read or is too large.

    ``-`` is standard input. A file compressed by gzip is decompressed, whatever its name is. Bytes that are not UTF-8 are
    replaced, because a log may contain anything. A dump of PyTorch's flight recorder, which is binary, is converted to JSON.
    """
    try:
        if str(file) == STANDARD_INPUT:
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with open_file(file) as stream:
                data = stream.read(MOST_BYTES + 1)
        if data.startswith(_GZIP):
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MOST_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        fix = "compress the log again once it is complete; `zcat FILE | railweave bench triage -` reads the part before the damage"
        raise SpecError([Problem(FileLine(str(file)), f"cannot be decompressed: {error}", fix)]) from None
    except OSError as error:
        raise SpecError([Problem(FileLine(str(file)), f"cannot be read: {error.strerror}")]) from None
    if len(data) > MOST_BYTES:
        message = f"larger than {MOST_BYTES >> 20} MiB, the most that is read"
        raise SpecError([Problem(FileLine(str(file)), message, "give the log of one rank for each server")])
    return dump_text(data) or data.decode("utf-8", "replace")


def _beside(log: NcclLog, network: Network) -> tuple[Row, ...]:
    """Compare a log with railweave's model of NCCL. Return a row for each fact in the log; empty if the network lacks a server of the log."""
    from railweave.prediction.simulation.conditions import bed_of

    names = {server.name.lower(): server.name for server in network.servers}
    hosts = [names.get(host.lower().partition(".")[0]) for host in log.hosts]
    order = [host for host in hosts if host is not None]
    if not order or len(order) < len(hosts):
        return ()
    with in_force(network.catalog):
        return laid_beside(log, bed_of(network, order=",".join(order)).job)
