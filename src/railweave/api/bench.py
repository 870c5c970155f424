"""Benchmarks: plan runs, keep results in a store, compare them, find what went wrong, and report."""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.sources import network_of
from railweave.errors import Argument, FileLine, InputError, Problem, SpecError
from railweave.model.catalog import in_force
from railweave.model.network.model import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.operations.bench.beside import Row
    from railweave.operations.bench.comparing.predicting import Foretold
    from railweave.operations.bench.comparing.reported import Compared, Reported
    from railweave.operations.bench.nccl_log import NcclLog
    from railweave.operations.bench.plan import Memory, Plan
    from railweave.operations.bench.read import Read
    from railweave.operations.bench.triage.triage import Triaged
    from railweave.operations.store.records import Run


def bench_plan(
    source: Network | Path | str,
    suite: str = "quick",
    *,
    hosts: str | None = None,
    memory: Memory | None = None,
    fabric: str | None = None,
    parts: Sequence[str] = (),
    predict: bool = True,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """The runs of perftest and nccl-tests that prove a network, and what each should give (docs/bench.md). ``Plan.to_json`` is the file's text.

    - ``suite``: quick, acceptance, knobs, table12, table1.3 or fifty-km.
    - ``hosts``: the servers that take part, in the order of their ranks, as of ``simulate``; all where it is left out.
    - ``memory``: where perftest's buffers lie, host, cuda or rocm; in GPUs beside the NICs where it is left out and there are any.
    - ``fabric``: the fabric that is proved, where there are several; that of the GPUs' own NICs where it is left out.
    - ``parts``: of the suite; all where none is named.
    - ``predict``: whether to predict, which takes most of the time.
    - ``device``, ``hardware``: see ``load``.
    - ``progress``: called now and then with what is going on.

    Predictions run in parallel processes. Raises ``InputError`` for an argument that cannot be, and as ``load`` does.
    """
    from railweave.operations.bench.planning.making import plan
    from railweave.prediction.simulation.job import job_network

    whole = network_of(source, device, hardware)
    network = job_network(whole, fabric)
    with in_force(network.catalog):
        return plan(
            network,
            suite,
            fabric=whole.name if isinstance(source, Network) else str(source),
            design_digest=hashlib.sha256(whole.to_json()).hexdigest(),
            hosts=hosts,
            memory=memory,
            parts=parts,
            predict=predict,
            progress=progress,
        )


def bench_report(
    store: Path | str,
    *,
    baseline: Path | str | None = None,
    fabric: Network | Path | str | None = None,
    tolerance: float | None = None,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Reported:
    """The content of a store, as ``railweave bench report`` shows it; ``operations.bench.page.bench_html`` makes the page of it.

    - ``store``: a file or a ``postgresql://`` address; ``STORE#RUN`` for the runs whose id begins so.
    - ``baseline``: another store, or a run of this one, that regressions are looked for against.
    - ``fabric``: the network that runs were on: pairs are found in it by their GIDs, and collectives of which nothing was predicted are predicted.
    - ``tolerance``: part by which a number may be worse; None: beside a prediction what the plan of the run allows, else 0.05.
    - ``device``, ``hardware``: see ``load``.
    - ``progress``: called with a few words on what is being done.

    Raises ``SpecError`` where there is no store, ``InputError`` for a run that it has not, and as ``load`` does.
    """
    from railweave.operations.bench.comparing.located import runs_of
    from railweave.operations.bench.comparing.reported import reported

    _allowed(tolerance)
    runs = runs_of(str(store))
    before = None if baseline is None else runs_of(str(baseline), str(store))
    more, accounts, notes = _of_network(runs, fabric, device, hardware, progress)
    return reported(str(store), runs, before, tolerance=tolerance, more=more, accounts=accounts, notes=notes)


def bench_compare(
    a: Path | str,
    b: Path | str | None = None,
    *,
    predicted: bool = False,
    fabric: Network | Path | str | None = None,
    tolerance: float | None = None,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Compared:
    """Runs beside earlier ones (``a`` before, ``b`` now), or beside what was predicted of them: a verdict for each row.

    - ``a``, ``b``: stores, or ``STORE#RUN`` for the runs whose id begins so; ``b`` may be a run of the store of ``a``.
    - ``predicted``: compare ``a`` with its predictions; ``b`` is left out.
    - ``fabric``, ``tolerance``, ``device``, ``hardware``, ``progress``: see ``bench_report``. With ``fabric`` rows have the simulator's
      account of what holds them back.

    ``good`` of the result is False where a row is worse than allowed, or failed. Raises as ``bench_report`` does, and ``InputError`` where
    neither or both of ``b`` and ``predicted`` are given.
    """
    from railweave.operations.bench.comparing.located import runs_of
    from railweave.operations.bench.comparing.reported import compare_predicted, compare_runs

    _allowed(tolerance)
    if predicted == (b is not None):
        fix = "give two stores or runs, or one and --predicted"
        raise InputError([Problem(Argument("B"), "there must be one of B and --predicted", fix)])
    before = runs_of(str(a))
    now = before if b is None else runs_of(str(b), str(a))
    more, accounts, notes = _of_network(now, fabric, device, hardware, progress)
    if b is None:
        return compare_predicted(now, tolerance, more, accounts, notes)
    if more and fabric is not None:
        more = _of_network(before, fabric, device, hardware, progress, predict=False)[0] | more
    return compare_runs(before, now, tolerance, more, accounts)


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


def bench_import(
    files: Sequence[Path | str],
    store: Path | str,
    *,
    fabric: Network | Path | str | None = None,
    gbits: bool | None = None,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> Imported:
    """Read outputs of benchmarks (docs/bench.md has the forms) and keep their runs, all or none.

    - ``store``: a file, made where it is not there, or a ``postgresql://`` address.
    - ``fabric``: the network that they ran on: its name and the digest of its design are kept with each run, and logs of NCCL are laid
      beside what predictions assume.
    - ``gbits``: whether perftest's JSON was written with ``--report_gbits``; None: its message rate decides.
    - ``device``, ``hardware``: see ``load``.

    A file that is read again adds nothing. Raises ``SpecError`` where a file cannot be read or is no output of a benchmark, and nothing is
    kept then; ``OutputError`` where the store cannot be written.
    """
    from railweave.operations.bench.read import read
    from railweave.operations.bench.runs import runs_of
    from railweave.operations.store.records import Environment
    from railweave.operations.store.store import opened

    network = None if fabric is None else network_of(fabric, device, hardware)
    environment = Environment()
    if network is not None:
        name = network.name if isinstance(fabric, Network) else str(fabric)
        environment = Environment(fabric=name, design_digest=hashlib.sha256(network.to_json()).hexdigest())
    kept = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    found: list[Read] = []
    runs: list[Run] = []
    beside: dict[str, tuple[Row, ...]] = {}
    for file in files:
        text, path = _text(file), str(Path(file).absolute())
        one = read(text, path, gbits=gbits)
        if one.empty:
            what = one.notes[0].what if one.notes else "the file is empty"
            raise SpecError([Problem(FileLine(str(file)), what, "docs/bench.md says what is read")])
        found.append(one)
        runs += runs_of(one, hashlib.sha256(text.encode(errors="replace")).hexdigest(), kept, environment)
        if network is not None and one.log is not None and (rows := _beside(one.log, network)):
            beside[path] = rows
    with opened(store, make=True) as opened_store:
        new = opened_store.add(runs)
    return Imported(tuple(found), tuple(new), len(runs) - len(new), beside)


def bench_triage(
    files: Sequence[Path | str],
    *,
    fabric: Network | Path | str | None = None,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> list[Triaged]:
    """Look through outputs of runs for what went wrong: plugin, GIDs, GPUDirect, interfaces, affinity, retries and more.

    - ``fabric``: the network that they ran on: its addresses tell a wrong GID.
    - ``device``, ``hardware``: see ``load``.

    Gives for each file what was read and its findings, each with the line that shows it. Raises ``SpecError`` where a file cannot be read.
    """
    from railweave.operations.bench.triage.triage import triage

    network = None if fabric is None else network_of(fabric, device, hardware)
    there = frozenset(
        ipaddress.ip_interface(f"{one.address}/{one.prefix_length}").network
        for server in (network.servers if network is not None else ())
        for nic in server.nics
        for one in nic.addresses
    )
    return [triage(_text(file), str(file), there) for file in files]


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
