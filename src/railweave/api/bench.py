"""Benchmarks: planning and running them, storing and comparing results, finding faults, and reports."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import ipaddress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.api.options import verb
from railweave.api.running_verbs import BenchCompare, BenchImport, BenchPlan, BenchReport, BenchRun, BenchTriage
from railweave.errors import Argument, FileLine, InputError, Option, Problem, SpecError
from railweave.model.catalog import in_force
from railweave.model.network.model import Network
from railweave.outputs.folder.sources import network_of, path_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from railweave.live.collect.access_file import AccessFile
    from railweave.live.fleet.running import Answer
    from railweave.operations.bench.beside import Row
    from railweave.operations.bench.comparing.predicting import RunPrediction
    from railweave.operations.bench.comparing.reported import BenchComparison, StoreReport
    from railweave.operations.bench.nccl_log import NcclLog
    from railweave.operations.bench.plan import Plan, PlannedRun
    from railweave.operations.bench.read import ParsedText
    from railweave.operations.bench.running.summary import RunSummary
    from railweave.operations.bench.triage.triage import TriageResult
    from railweave.operations.store.records import Environment, Run


END_S = 20
"""The seconds that launchers get to exit after their runs have been stopped."""


@verb(BenchRun)
def bench_run(options: BenchRun) -> RunSummary:
    """Carry out a plan, and store the result of each run as soon as it ends (docs/bench.md).

    - ``fabric``: the planned network, if it is not at the path in the plan.
    - ``meanwhile``: a function that runs alongside the benchmarks, in the same event loop. If it fails, all runs stop and its error is raised.

    A run that fails, is refused or does not end is also a result. Raises ``InputError`` for an invalid argument, or if the design has
    changed since the plan was made; ``SpecError`` if a file cannot be read; ``OutputError`` if a result cannot be stored.
    """
    from railweave.live.collect.access_file import read_access
    from railweave.operations.bench.plan import Plan, read_plan
    from railweave.operations.bench.running.carrying import ResultWriter, RunOptions, carried_out, hosts_of, waiting
    from railweave.operations.bench.running.pair import RANKS, Launch
    from railweave.operations.bench.running.shells import HERE, Shells
    from railweave.operations.bench.running.summary import RunSummary, chosen, command
    from railweave.operations.store.store import opened

    say = options.progress
    given = options.plan if isinstance(options.plan, Plan) else read_plan(options.plan)
    network = _designed(given, options.fabric, options.device, options.hardware)
    place = _outputs(options.plan, options.store, options.outputs)
    with in_force(network.catalog):
        scripts = _scripts(network, path_of(options.mpi_script))
        environment = _environment(network, given, options.fabric)
    on = options.launch_on
    if on == "here" or (on is None and options.launcher == "srun"):
        on = HERE
    launch = Launch(
        options.launcher, on, scripts, options.ranks or RANKS, options.nccl_tests, tuple(options.srun_options)
    )
    # A store that is not there yet is not made for a look at what would be done.
    looked = _had(options.store, given.digest, place, make=not options.dry_run)
    todo = chosen(given, looked, only=options.only, again=options.again, failed=options.failed)
    commands = tuple((run.name, command(run, launch, options.perftest)) for run in todo.runs)
    notes = tuple(waiting(todo.runs, options.at_once))
    if options.dry_run or not todo.runs:
        return RunSummary(given.digest, str(options.store), todo, commands=commands, notes=notes)
    ways = read_access(path_of(options.access))
    names = list(dict.fromkeys(host for run in todo.runs for host in hosts_of(run)))
    names += [host for host in [launch.on] if host and host not in names]
    targets = {name: ways.target(name, "server", "", name, ("ssh",)) for name in names}
    checked = _checked(network, ways, names, sudo=options.sudo, say=say) if options.host_check else {}
    count = [0]

    def done(run: PlannedRun, kept: Run) -> None:
        count[0] += 1
        say(f"{run.name}: {'failed' if kept.failures else 'done'} ({count[0]:,} of {len(todo.runs):,})")

    with opened(options.store, make=True) as there:
        keeper = ResultWriter(there, given.digest, place)
        work = carried_out(
            todo.runs,
            keeper,
            Shells(targets, ways.access.attempts),
            RunOptions(launch, options.perftest, options.at_once, options.timeout_s),
            environment,
            checked=checked,
            done=done,
        )
        kept = asyncio.run(work if options.meanwhile is None else _meanwhile(work, options.meanwhile))
        return RunSummary(given.digest, there.where, todo, tuple(kept), commands, notes)


async def _meanwhile(work: Coroutine[Any, Any, list[Run]], meanwhile: Callable[[], Awaitable[None]]) -> list[Run]:
    """Carry out runs while another task runs: the task is ended with the runs, and an error of the task ends the runs."""

    async def watch() -> None:
        await meanwhile()

    runs, beside = asyncio.create_task(work), asyncio.create_task(watch())
    try:
        await asyncio.wait({runs, beside}, return_when=asyncio.FIRST_COMPLETED)
        if beside.done() and not runs.done():
            beside.result()
        return await runs
    finally:
        for task in (runs, beside):
            task.cancel()
        # Who waits for this may have a network to take back: a launcher that does not end is not waited for.
        ended, _ = await asyncio.wait({runs, beside}, timeout=END_S)
        for task in ended:
            if not task.cancelled():
                task.exception()


def _designed(
    plan: Plan, fabric: Network | Path | str | None, device: Sequence[str], hardware: Path | str | None
) -> Network:
    """Return the planned network. Raises ``InputError`` if its design has changed since the plan was made."""
    source = plan.fabric if fabric is None else fabric
    if not isinstance(source, Network) and not Path(source).exists():
        message = "there is no such fabric file, which the plan is of"
        raise InputError([Problem(Option("--fabric", str(source)), message, "name it by --fabric")])
    network = network_of(source, device, hardware)
    if hashlib.sha256(network.to_json()).hexdigest() != plan.design_digest:
        name = network.name if isinstance(source, Network) else str(source)
        message = "it is designed otherwise than when the plan was made"
        raise InputError([Problem(FileLine(name), message, "plan again: `railweave bench plan`")])
    return network


def _outputs(plan: Plan | Path | str, store: Path | str, outputs: Path | str | None) -> Path:
    """Return the folder for the output of programs."""
    if outputs is not None:
        return Path(outputs)
    if not str(store).startswith(("postgresql://", "postgres://")):
        return Path(f"{store}.outputs")
    return Path(f"{plan}.outputs") if isinstance(plan, Path | str) else Path("bench.outputs")


def _had(store: Path | str, digest: str, place: Path, *, make: bool) -> dict[str, bool]:
    """Return the plan's runs that the store has, by name. A missing file has no runs; ``make`` creates missing tables of a database."""
    from railweave.operations.bench.running.carrying import ResultWriter
    from railweave.operations.store.store import opened

    database = str(store).startswith(("postgresql://", "postgres://"))
    if not database and not Path(store).exists():
        return {}
    with opened(store, make=make and database) as there:
        return ResultWriter(there, digest, place).had()


def _scripts(network: Network, own_script: Path | None) -> dict[str, str]:
    """Return ``mpirun.sh`` by server: the script that ``build`` writes, or the user's own file."""
    from railweave.outputs.rendering.host.cluster import cluster_files

    files = cluster_files(network)
    scripts: dict[str, str] = {}
    for name, text in files.items():
        if name.startswith("hostfile"):
            script = name.replace("hostfile.", "mpirun-") if name != "hostfile" else "mpirun"
            hosts = [line.split()[0] for line in text.splitlines() if line and not line.startswith("#")]
            scripts |= dict.fromkeys(hosts, files[f"{script}.sh"])
    if own_script is None:
        return scripts
    try:
        return dict.fromkeys(scripts, own_script.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError([Problem(Option("--mpi-script", str(own_script)), f"cannot be read: {reason}")]) from None


def _environment(network: Network, plan: Plan, fabric: Network | Path | str | None) -> Environment:
    """Return the facts common to all runs: the design, the job variables, the plugin and the last revision of the switches."""
    from railweave.model.device.host import host_config
    from railweave.operations.deploy.journal import opened
    from railweave.operations.store.records import Environment, pairs

    variables: dict[str, str] = {}
    for server in network.servers:
        if server.name not in network.absent:
            config = host_config(network, server.name)
            jobs = [config.job, *(job for _, job in config.tenant_jobs)]
            variables = {variable.name: variable.value for job in jobs[:1] for variable in job if not variable.resolve}
            break
    environment = Environment(
        variables=pairs(variables),
        plugin=variables.get("NCCL_NET_PLUGIN", ""),
        fabric=plan.fabric,
        design_digest=plan.design_digest,
    )
    path = Path(plan.fabric if fabric is None or isinstance(fabric, Network) else fabric)
    if not path.is_file():
        return environment
    with opened(path) as journal:
        revisions = [revision for revision in journal.revisions() if revision.state == "done"]
    return replace(environment, switch_revision=f"{revisions[0].number} {revisions[0].label}" if revisions else "")


def _checked(
    network: Network, ways: AccessFile, names: Sequence[str], *, sudo: bool, say: Callable[[str], None]
) -> dict[str, object]:
    """Return the result of `railweave host check` on each server: the count of each verdict and the faults, or the reason for no answer."""
    from railweave.live.fleet.running import Task, check
    from railweave.model.device.host import host_config
    from railweave.outputs.rendering.host.host_json import host_json

    there = [name for name in names if name in {server.name for server in network.servers}]
    with in_force(network.catalog):
        texts = {name: host_json(host_config(network, name)) for name in there}
    tasks = [Task(ways.target(name, "server", "", name, ("ssh",)), text) for name, text in texts.items()]

    def done(answer: Answer) -> None:
        say(f"{answer.server}: {'no answer' if answer.error else 'checked'}")

    return {answer.server: _summed(answer) for answer in check(tasks, sudo=sudo, done=done)}


def _summed(answer: Answer) -> object:
    from collections import Counter

    if answer.error:
        return {"error": answer.error}
    bad = [
        f"{verdict.verdict}: {verdict.check} {verdict.of}: {verdict.seen}"
        for verdict in answer.verdicts
        if verdict.verdict in {"failed", "warning"}
    ]
    return {**Counter(verdict.verdict for verdict in answer.verdicts), "not well": bad}


@verb(BenchPlan)
def bench_plan(options: BenchPlan) -> Plan:
    """Plan the perftest and nccl-tests runs that prove a network, each with its expected result (docs/bench.md).

    - ``parts``: the parts of the suite to plan; default: all.
    - ``progress``: called now and then with the current activity.

    ``Plan.to_json`` returns the text of the plan file. Predictions run in parallel processes. Raises ``InputError`` for an invalid
    argument, and as ``load`` does.
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
def bench_report(options: BenchReport) -> StoreReport:
    """Return the content of a store, as ``railweave bench report`` shows it. ``operations.bench.page.bench_html`` makes a page of it.

    - ``progress``: called with a short description of the current activity.

    Raises ``SpecError`` if there is no store, ``InputError`` for an unknown run, and as ``load`` does.
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
def bench_compare(options: BenchCompare) -> BenchComparison:
    """Compare runs with earlier ones (``a`` before, ``b`` now), or with their predictions. Each row gets a verdict.

    - ``fabric``, ``tolerance``, ``device``, ``hardware``, ``progress``: see ``bench_report``. With ``fabric``, each row has the
      simulator's explanation of the bottleneck.

    ``good`` of the result is False if a row failed or is worse than allowed. Raises as ``bench_report`` does, and ``InputError`` if
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
        message = f"a tolerance of {tolerance:g}"
        raise InputError([Problem(Argument("tolerance"), message, "give a part from 0 to below 1, as 0.05")])


def _of_network(
    runs: Sequence[Run],
    fabric: Network | Path | str | None,
    device: Sequence[str],
    hardware: Path | str | None,
    progress: Callable[[str], None],
    *,
    predict: bool = True,
) -> tuple[dict[str, dict[str, str]], dict[str, RunPrediction], list[str]]:
    """Return the locations of runs, their predictions, and notes on runs that have no prediction."""
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
"""The largest size of a file, in bytes. A log of 4,096 ranks with every subsystem has 300 MB."""


@dataclass(frozen=True)
class ImportResult:
    """The result of an import.

    - ``files``: the content of each file.
    - ``runs``: the new runs.
    - ``known``: the number of runs that were already stored.
    - ``beside``: the comparison of logs with the model.
    """

    files: tuple[ParsedText, ...]
    runs: tuple[Run, ...]
    known: int
    beside: dict[str, tuple[Row, ...]]


@verb(BenchImport)
def bench_import(options: BenchImport) -> ImportResult:
    """Read benchmark outputs (docs/bench.md lists the forms) and store their runs, all or none.

    A file that was read before adds nothing. Raises ``SpecError`` if a file cannot be read or is not a benchmark output; nothing is stored
    in this case. Raises ``OutputError`` if the store cannot be written.
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
    outputs: list[ParsedText] = []
    runs: list[Run] = []
    beside: dict[str, tuple[Row, ...]] = {}
    for file in options.files:
        text, path = _text(file), str(Path(file).absolute())
        output = read(text, path, gbits=options.gbits)
        if output.empty:
            message = output.notes[0].what if output.notes else "the file is empty"
            raise SpecError([Problem(FileLine(str(file)), message, "docs/bench.md says what is read")])
        outputs.append(output)
        runs += runs_of(output, hashlib.sha256(text.encode(errors="replace")).hexdigest(), kept, environment)
        if network is not None and output.log is not None and (rows := _beside(output.log, network)):
            beside[path] = rows
    with opened(options.store, make=True) as opened_store:
        new = opened_store.add(runs)
    return ImportResult(tuple(outputs), tuple(new), len(runs) - len(new), beside)


@verb(BenchTriage)
def bench_triage(options: BenchTriage) -> list[TriageResult]:
    """Search outputs of runs for faults: plugin, GIDs, GPUDirect, interfaces, affinity, retries and more.

    Returns, for each file, its content and its findings, each with the line that shows it. Raises ``SpecError`` if a file cannot be read.
    """
    from railweave.operations.bench.triage.triage import triage

    network = None if options.fabric is None else network_of(options.fabric, options.device, options.hardware)
    there = frozenset(
        ipaddress.ip_interface(f"{address.address}/{address.prefix_length}").network
        for server in (network.servers if network is not None else ())
        for nic in server.nics
        for address in nic.addresses
    )
    return [triage(_text(file), str(file), there) for file in options.files]


def _text(file: Path | str) -> str:
    """Return the text of an output. Bytes that are not UTF-8 are replaced, because a log may contain anything."""
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise SpecError([Problem(FileLine(str(file)), f"cannot be read: {error.strerror}")]) from None
    if len(data) > MOST_BYTES:
        message = f"larger than {MOST_BYTES >> 20} MiB, the most that is read"
        raise SpecError([Problem(FileLine(str(file)), message, "give the log of one rank for each server")])
    return data.decode("utf-8", "replace")


def _beside(log: NcclLog, network: Network) -> tuple[Row, ...]:
    """Return the comparison of a log with the model, or nothing if the log names servers that the network lacks."""
    from railweave.operations.bench.beside import laid_beside
    from railweave.prediction.simulation.conditions import bed_of

    names = {server.name.lower(): server.name for server in network.servers}
    hosts = [names.get(host.lower().partition(".")[0]) for host in log.hosts]
    order = [host for host in hosts if host is not None]
    if not order or len(order) < len(hosts):
        return ()
    with in_force(network.catalog):
        return laid_beside(log, bed_of(network, order=",".join(order)).job)
