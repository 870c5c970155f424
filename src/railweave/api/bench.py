"""Benchmarks: planning and running them, storing and comparing results, finding faults, and reports."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.running_verbs import (
    BenchCheck,
    BenchCompare,
    BenchExport,
    BenchImport,
    BenchPlan,
    BenchReport,
    BenchRun,
    BenchShow,
    BenchTriage,
)
from railweave.errors import Argument, InputError, Option, Problem
from railweave.model.catalog import in_force
from railweave.model.network.model import Network
from railweave.outputs.folder.sources import network_of, path_of
from railweave.writing import write_file

if TYPE_CHECKING:
    from railweave.operations.bench.comparing.expected import NumberCheck
    from railweave.operations.bench.comparing.reported import BenchComparison, StoreReport
    from railweave.operations.bench.plan import Plan
    from railweave.operations.bench.running.plan_runs import RunSummary
    from railweave.operations.bench.runs import ImportResult
    from railweave.operations.bench.triage.triage import TriageResult
    from railweave.operations.store.export import StoredRuns


@verb(BenchRun)
def bench_run(options: BenchRun) -> RunSummary:
    """Carry out a plan, and store the result of each run as soon as the run ends (docs/bench.md).

    - ``fabric``: the planned network, if it is not at the path in the plan.
    - ``meanwhile``: a function that runs alongside the benchmarks, in the same event loop. If it fails, all runs stop
      and its error is raised.

    A run that fails, is refused or exceeds its time limit is also stored as a result. Raises:

    - ``InputError`` for an invalid argument, or if the design has changed since the plan was made;
    - ``SpecError`` if a file cannot be read;
    - ``OutputError`` if a result cannot be stored.
    """
    from railweave.operations.bench.plan import Plan, read_plan
    from railweave.operations.bench.running import plan_runs
    from railweave.operations.bench.running.carrying import RunOptions
    from railweave.operations.bench.running.pair import RANKS, Launch
    from railweave.operations.bench.running.shells import HERE

    launch = Launch(options.launcher)  # an invalid value is refused before anything is read
    given = options.plan if isinstance(options.plan, Plan) else read_plan(options.plan)
    network = plan_runs.planned_network(given, options.fabric, options.device, options.hardware)
    outputs = plan_runs.outputs_of(options.plan, options.store, options.outputs)
    with in_force(network.catalog):
        scripts = plan_runs.scripts_of(network, path_of(options.mpi_script))
        environment = plan_runs.environment_of(network, given, options.fabric)
    on = options.launch_on
    if on == "here" or (on is None and options.launcher == "srun"):
        on = HERE
    launch = replace(
        launch,
        on=on,
        scripts=scripts,
        ranks=options.ranks or RANKS,
        folder=options.nccl_tests,
        options=tuple(options.srun_options),
    )
    return plan_runs.run_plan(
        plan_runs.PlanRun(
            given, network, options.store, outputs, environment, options.only, options.again, options.failed
        ),
        RunOptions(launch, options.perftest, options.at_once, options.timeout_s),
        path_of(options.access),
        dry_run=options.dry_run,
        host_check=options.host_check,
        sudo=options.sudo,
        meanwhile=options.meanwhile,
        say=options.progress,
    )


@verb(BenchPlan)
def bench_plan(options: BenchPlan) -> Plan:
    """Plan the perftest and nccl-tests runs that prove a network, each with its expected result (docs/bench.md).

    - ``parts``: the parts of the suite to plan. Default: all.
    - ``progress``: a function that is called with a short description of the current activity.

    ``Plan.to_json`` returns the text of the plan file. Predictions run in parallel processes. Raises ``InputError`` for
    an invalid argument, and the errors of ``load``.
    """
    from railweave.operations.bench.planning.making import plan
    from railweave.operations.bench.planning.places import check_memory
    from railweave.prediction.simulation.job import job_network

    check_memory(options.memory, ())  # an unknown value is refused before anything is read
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
    """Return the content of a store of benchmark runs. Its method ``to_html`` returns the page of ``railweave bench report``.

    - ``progress``: a function that is called with a short description of the current activity.

    Raises ``SpecError`` if there is no store, ``InputError`` for an unknown run, and the errors of ``load``.
    """
    from railweave.operations.bench.comparing.reported import check_tolerance, of_network, reported
    from railweave.operations.store.store import runs_of

    check_tolerance(options.tolerance)
    runs = runs_of(str(options.store))
    before = None if options.baseline is None else runs_of(str(options.baseline), str(options.store))
    network = _ran_on(options)
    more, accounts, notes = of_network(runs, network, options.progress)
    return reported(
        str(options.store), runs, before, tolerance=options.tolerance, more=more, accounts=accounts, notes=notes
    )


@verb(BenchCompare)
def bench_compare(options: BenchCompare) -> BenchComparison:
    """Compare the runs in ``b`` with the earlier runs in ``a`` or, if ``predicted`` is given, the runs in ``a`` with their predictions.

    Each row of the result has a verdict.

    - ``fabric``, ``tolerance``, ``device``, ``hardware``, ``progress``: see ``bench_report``. With ``fabric``, each row has the
      simulator's explanation of the bottleneck.

    ``good`` of the result is False if a row failed or is worse than allowed. Raises ``InputError`` if neither or both
    of ``b`` and ``predicted`` are given, and the errors of ``bench_report``.
    """
    from railweave.operations.bench.comparing import reported as reports
    from railweave.operations.store.store import runs_of

    reports.check_tolerance(options.tolerance)
    if options.predicted == (options.b is not None):
        fix = "give two stores or runs, or one and --predicted"
        raise InputError([Problem(Argument("B"), "there must be one of B and --predicted", fix)])
    before = runs_of(str(options.a))
    now = before if options.b is None else runs_of(str(options.b), str(options.a))
    network = _ran_on(options)
    more, accounts, notes = reports.of_network(now, network, options.progress)
    if options.b is None:
        return reports.compare_predicted(now, options.tolerance, more, accounts, notes)
    if more:
        more = reports.of_network(before, network, options.progress, predict=False)[0] | more
    return reports.compare_runs(before, now, options.tolerance, more, accounts, notes)


def _ran_on(options: BenchReport | BenchCompare | BenchImport | BenchTriage) -> Network | None:
    """Return the network on which the benchmarks ran, or None if the options do not give a fabric."""
    return None if options.fabric is None else network_of(options.fabric, options.device, options.hardware)


@verb(BenchImport)
def bench_import(options: BenchImport) -> ImportResult:
    """Read output files of benchmarks, and add their runs to a store. After an error, no run is added.

    docs/bench.md lists the formats. A file that was read before adds nothing. Raises ``SpecError`` if a file cannot be read
    or is not a benchmark output, ``InputError`` if ``operation`` is not a collective operation, and ``OutputError`` if the
    store cannot be written.
    """
    from railweave.operations.bench.runs import import_files

    network = _ran_on(options)
    source = network.name if network is not None and isinstance(options.fabric, Network) else str(options.fabric)
    return import_files(options.files, options.store, network, source, gbits=options.gbits, operation=options.operation)


@verb(BenchTriage)
def bench_triage(options: BenchTriage) -> list[TriageResult]:
    """Search outputs of runs for faults: plugin, GIDs, GPUDirect, interfaces, affinity, retries and more.

    Returns, for each file, its content and its findings. Each finding has the line that shows it. Files of one job are
    compared with each other. All files of a folder are read. Raises ``SpecError`` if a file cannot be read.
    """
    from railweave.operations.bench.runs import output_files, output_text
    from railweave.operations.bench.triage.triage import design_of, triage_job

    texts = [(output_text(file), str(file)) for file, _ in output_files(options.files)]
    return triage_job(texts, design_of(_ran_on(options)))


@verb(BenchCheck)
def bench_check(options: BenchCheck) -> NumberCheck:
    """Compare results in benchmark outputs with the results that the given servers should reach, without a fabric file.

    ``good`` of the result is False if a number is outside the expected range, if a run failed, or if a number cannot be
    predicted. Raises ``SpecError`` if a file cannot be read or is not benchmark output, and ``InputError`` if no
    network of such servers can be designed or ``nvlink`` is out of range.
    """
    from railweave.operations.bench.comparing.expected import AssumedServers, number_check, with_gpu_link
    from railweave.operations.bench.runs import runs_of_files
    from railweave.outputs.folder.starting import of_servers

    if options.nvlink is not None and not 0 < options.nvlink < 1e6:
        problem = Problem(
            Option("--nvlink"), f"a link of {options.nvlink:g} GB/s", "give GB/s for each direction, as 450"
        )
        raise InputError([problem])
    runs, notes = runs_of_files(options.files, options.operation)
    nics = options.gpus if options.nics is None else options.nics

    def network(servers: int) -> Network:
        designed = of_servers(servers, options.gpus, nics, options.nic, path_of(options.hardware))
        return designed if options.nvlink is None else with_gpu_link(designed, options.nvlink)

    return number_check(runs, AssumedServers(options.gpus, network), notes)


@verb(BenchShow)
def bench_show(options: BenchShow) -> StoredRuns:
    """Return the runs of a store, with every number, the settings, the versions and the failures. Raises ``SpecError`` if there is no store."""
    from railweave.operations.store.export import stored_runs

    return stored_runs(options.store, options.run)


@verb(BenchExport)
def bench_export(options: BenchExport) -> StoredRuns:
    """Write the runs of a store into a file, and return them.

    A CSV file has a line for each measured number; a JSON file has all data of each run. Raises ``InputError`` if the file name
    ends neither in .csv nor in .json, and ``SpecError`` if there is no store.
    """
    from railweave.operations.store.export import FORMS, stored_runs

    file = Path(options.output)
    if file.suffix not in FORMS:
        raise InputError([Problem(Option("--output"), f"{file} ends in neither .csv nor .json", "name it so")])
    stored = stored_runs(options.store, options.run)
    write_file(file, stored.written(file))
    return stored
