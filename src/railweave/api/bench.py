"""Benchmarks: plan runs, keep results in a store, compare them, find what went wrong, and report."""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.sources import network_of
from railweave.api.verbs import BenchCompare, BenchImport, BenchPlan, BenchReport, BenchTriage
from railweave.errors import Argument, FileLine, InputError, Problem, SpecError
from railweave.model.catalog import in_force
from railweave.model.network.model import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.operations.bench.beside import Row
    from railweave.operations.bench.comparing.predicting import Foretold
    from railweave.operations.bench.comparing.reported import Compared, Reported
    from railweave.operations.bench.nccl_log import NcclLog
    from railweave.operations.bench.plan import Plan
    from railweave.operations.bench.read import Read
    from railweave.operations.bench.triage.triage import Triaged
    from railweave.operations.store.records import Run


@verb(BenchPlan)
def bench_plan(options: BenchPlan) -> Plan:
    """The runs of perftest and nccl-tests that prove a network, and what each should give (docs/bench.md). ``Plan.to_json`` is the file's text.

    - ``parts``: of the suite; all where none is named.
    - ``progress``: called now and then with what is going on.

    Predictions run in parallel processes. Raises ``InputError`` for an argument that cannot be, and as ``load`` does.
    """
    from railweave.operations.bench.planning.making import plan
    from railweave.prediction.simulation.job import job_network

    whole = options.network()
    network = job_network(whole, options.fabric)
    with in_force(network.catalog):
        return plan(
            network,
            options.suite,
            fabric=whole.name if isinstance(options.source, Network) else str(options.source),
            design_digest=hashlib.sha256(whole.to_json()).hexdigest(),
            hosts=options.hosts,
            memory=options.memory,
            parts=options.parts,
            predict=options.predict,
            progress=options.progress,
        )


@verb(BenchReport)
def bench_report(options: BenchReport) -> Reported:
    """The content of a store, as ``railweave bench report`` shows it; ``operations.bench.page.bench_html`` makes the page of it.

    - ``progress``: called with a few words on what is being done.

    Raises ``SpecError`` where there is no store, ``InputError`` for a run that it has not, and as ``load`` does.
    """
    from railweave.operations.bench.comparing.located import runs_of
    from railweave.operations.bench.comparing.reported import reported

    _allowed(options.tolerance)
    runs = runs_of(str(options.store))
    before = None if options.baseline is None else runs_of(str(options.baseline), str(options.store))
    more, accounts, notes = _of_network(runs, options.fabric, options.device, options.hardware, options.progress)
    return reported(
        str(options.store), runs, before, tolerance=options.tolerance, more=more, accounts=accounts, notes=notes
    )


@verb(BenchCompare)
def bench_compare(options: BenchCompare) -> Compared:
    """Runs beside earlier ones (``a`` before, ``b`` now), or beside what was predicted of them: a verdict for each row.

    - ``fabric``, ``tolerance``, ``device``, ``hardware``, ``progress``: see ``bench_report``. With ``fabric`` rows have the simulator's
      account of what holds them back.

    ``good`` of the result is False where a row is worse than allowed, or failed. Raises as ``bench_report`` does, and ``InputError`` where
    neither or both of ``b`` and ``predicted`` are given.
    """
    from railweave.operations.bench.comparing.located import runs_of
    from railweave.operations.bench.comparing.reported import compare_predicted, compare_runs

    _allowed(options.tolerance)
    if options.predicted == (options.b is not None):
        fix = "give two stores or runs, or one and --predicted"
        raise InputError([Problem(Argument("B"), "there must be one of B and --predicted", fix)])
    before = runs_of(str(options.a))
    now = before if options.b is None else runs_of(str(options.b), str(options.a))
    more, accounts, notes = _of_network(now, options.fabric, options.device, options.hardware, options.progress)
    if options.b is None:
        return compare_predicted(now, options.tolerance, more, accounts, notes)
    if more and options.fabric is not None:
        more = (
            _of_network(before, options.fabric, options.device, options.hardware, options.progress, predict=False)[0]
            | more
        )
    return compare_runs(before, now, options.tolerance, more, accounts)


def _allowed(tolerance: float | None) -> None:
    if tolerance is not None and not 0 <= tolerance < 1:
        what = f"a tolerance of {tolerance:g}"
        raise InputError([Problem(Argument("tolerance"), what, "give a part from 0 to below 1, as 0.05")])


def _of_network(
    runs: Sequence[Run],
    fabric: Network | Path | str | None,
    device: Sequence[str],
    hardware: Path | str | None,
    progress: Callable[[str], None] | None,
    *,
    predict: bool = True,
) -> tuple[dict[str, dict[str, str]], dict[str, Foretold], list[str]]:
    """Where runs took place, what is predicted of them, and why some are not."""
    if fabric is None:
        return {}, {}, []
    from railweave.operations.bench.comparing.located import located
    from railweave.operations.bench.comparing.predicting import foretold

    network = network_of(fabric, device, hardware)
    with in_force(network.catalog):
        more = located(runs, network)
        accounts, notes = foretold(runs, network, progress) if predict else ({}, [])
    return more, accounts, notes


MOST_BYTES = 512 << 20
"""Of a file: a log of 4,096 ranks with every subsystem takes 300 MB."""


@dataclass(frozen=True)
class Imported:
    """What was read of each file, the runs that are new in the store, how many were there before, and of logs what they say beside the model."""

    files: tuple[Read, ...]
    runs: tuple[Run, ...]
    known: int
    beside: dict[str, tuple[Row, ...]]


@verb(BenchImport)
def bench_import(options: BenchImport) -> Imported:
    """Read outputs of benchmarks (docs/bench.md has the forms) and keep their runs, all or none.

    A file that is read again adds nothing. Raises ``SpecError`` where a file cannot be read or is no output of a benchmark, and nothing is
    kept then; ``OutputError`` where the store cannot be written.
    """
    from railweave.operations.bench.read import read
    from railweave.operations.bench.runs import runs_of
    from railweave.operations.store.records import Environment
    from railweave.operations.store.store import opened

    network = None if options.fabric is None else network_of(options.fabric, options.device, options.hardware)
    environment = Environment()
    if network is not None:
        name = network.name if isinstance(options.fabric, Network) else str(options.fabric)
        environment = Environment(fabric=name, design_digest=hashlib.sha256(network.to_json()).hexdigest())
    kept = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    found: list[Read] = []
    runs: list[Run] = []
    beside: dict[str, tuple[Row, ...]] = {}
    for file in options.files:
        text, path = _text(file), str(Path(file).absolute())
        one = read(text, path, gbits=options.gbits)
        if one.empty:
            what = one.notes[0].what if one.notes else "the file is empty"
            raise SpecError([Problem(FileLine(str(file)), what, "docs/bench.md says what is read")])
        found.append(one)
        runs += runs_of(one, hashlib.sha256(text.encode(errors="replace")).hexdigest(), kept, environment)
        if network is not None and one.log is not None and (rows := _beside(one.log, network)):
            beside[path] = rows
    with opened(options.store, make=True) as opened_store:
        new = opened_store.add(runs)
    return Imported(tuple(found), tuple(new), len(runs) - len(new), beside)


@verb(BenchTriage)
def bench_triage(options: BenchTriage) -> list[Triaged]:
    """Look through outputs of runs for what went wrong: plugin, GIDs, GPUDirect, interfaces, affinity, retries and more.

    Gives for each file what was read and its findings, each with the line that shows it. Raises ``SpecError`` where a file cannot be read.
    """
    from railweave.operations.bench.triage.triage import triage

    network = None if options.fabric is None else network_of(options.fabric, options.device, options.hardware)
    there = frozenset(
        ipaddress.ip_interface(f"{one.address}/{one.prefix_length}").network
        for server in (network.servers if network is not None else ())
        for nic in server.nics
        for one in nic.addresses
    )
    return [triage(_text(file), str(file), there) for file in options.files]


def _text(file: Path | str) -> str:
    """The text of an output. Bytes that are no UTF-8 are replaced: a log may hold anything."""
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise SpecError([Problem(FileLine(str(file)), f"cannot be read: {error.strerror}")]) from None
    if len(data) > MOST_BYTES:
        what = f"larger than {MOST_BYTES >> 20} MiB, the most that is read"
        raise SpecError([Problem(FileLine(str(file)), what, "give the log of one rank for each server")])
    return data.decode("utf-8", "replace")


def _beside(log: NcclLog, network: Network) -> tuple[Row, ...]:
    """A log beside the model, where its servers are those of the network by name."""
    from railweave.operations.bench.beside import laid_beside
    from railweave.prediction.simulation.conditions import bed_of

    names = {server.name.lower(): server.name for server in network.servers}
    hosts = [names.get(host.lower().partition(".")[0]) for host in log.hosts]
    order = [host for host in hosts if host is not None]
    if not order or len(order) < len(hosts):
        return ()
    with in_force(network.catalog):
        return laid_beside(log, bed_of(network, order=",".join(order)).job)
