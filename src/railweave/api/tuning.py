"""Searches for better values of a fabric file's fields, and rules that derive such values."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.running_verbs import TuneByRule, TuneDiagnose, TuneRun
from railweave.errors import InputError, Option, OutputError, Problem
from railweave.outputs.folder.sources import load, path_of
from railweave.reading import file_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from railweave.live.site.site import Site
    from railweave.model.intent.scenario import Setting
    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import Plan as BenchPlan
    from railweave.operations.store.records import Run
    from railweave.operations.tune.by_rule import RuleResult
    from railweave.operations.tune.diagnosing import Diagnosis, Rehearsal
    from railweave.operations.tune.hardware import NetworkAccess
    from railweave.operations.tune.measuring import RefusedCombination, Sample
    from railweave.operations.tune.result import Result
    from railweave.operations.tune.simulated import Task


def way_of(
    task: Task,
    folder: Path,
    access: Path | str | None,
    lab: bool,
    secrets: Path | str | None,
    progress: Callable[[str], None],
) -> NetworkAccess:
    """Return the access for a study's trials (measurements with changed values): its network's devices, a benchmark function, and secrets.

    ``folder`` is the study's output folder, to which benchmark results are written.
    """
    from railweave.api.bench import bench_run
    from railweave.api.sites import site_of
    from railweave.operations.bench.running.pair import RANKS
    from railweave.operations.tune.hardware import NetworkAccess
    from railweave.operations.tune.studying import RUNS
    from railweave.outputs.folder.rendering import read_secrets

    how, fabric = task.study.study.bench, task.study.fabric

    def site(network: Network) -> Site:
        return site_of(fabric, network, lab=lab, access=access)

    def runs(network: Network, plan: BenchPlan, meanwhile: Callable[[], Awaitable[None]] | None) -> Sequence[Run]:
        return bench_run(
            plan,
            folder / RUNS,
            fabric=network,
            access=access,
            again=True,
            launcher=how.launcher,
            launch_on=how.launch_on,
            ranks=how.ranks or RANKS,
            mpi_script=task.study.mpi_script,
            srun_options=how.srun_options,
            nccl_tests=how.nccl_tests,
            host_check=False,
            meanwhile=meanwhile,
            progress=progress,
        ).runs

    return NetworkAccess(site, runs, read_secrets(path_of(secrets)), progress)


@verb(TuneRun)
def tune_run(options: TuneRun) -> Result:
    """Search for better values of a fabric file's fields, or continue a search (docs/predict.md).

    The study file decides where trials are measured: in the simulator, on the network itself (each trial is undone), or in
    both.

    Writes ``result.json``, ``journal.jsonl``, ``report.html`` and ``fabric.patch``, which is empty if there is no
    proposal. Raises:

    - ``InputError`` for invalid input, with lines of the study file;
    - ``OutputError`` if a file cannot be written;
    - ``StoppedError`` if the search is interrupted;
    - the errors of ``deploy_apply`` if a trial could not be undone.
    """
    from railweave.model.intent.reading.source import read_source
    from railweave.model.intent.study import read_study
    from railweave.operations.tune.scoring import as_measured
    from railweave.operations.tune.simulated import Task
    from railweave.operations.tune.space import space_of
    from railweave.operations.tune.studying import folder_of, one_by_one, simulator_of, study_in

    path = Path(options.study)
    file = read_study(path)
    load(
        file.fabric, device=options.device, hardware=options.hardware
    )  # if a file cannot be built, the error has the file's own lines
    source = read_source(file.fabric)
    task = Task(
        file, space_of(file, source.document, source.spec), source, path_of(options.hardware), tuple(options.device)
    )
    asked = file.study
    if options.trials is not None:
        asked = asked.model_copy(update={"search": asked.search.model_copy(update={"trials": options.trials})})
    folder = folder_of(path) if options.output is None else Path(options.output)
    return study_in(
        folder,
        one_by_one(as_measured(asked)) if asked.evaluator == "bench" else asked,
        task,
        lambda: way_of(task, folder, options.access, options.lab, options.secrets, options.progress),
        lambda: simulator_of(task, options.workers, options.ray),
        fresh=options.fresh,
        take=options.take,
        apply=options.apply,
        progress=options.progress,
    )


@verb(TuneByRule)
def tune_headroom(options: TuneByRule) -> RuleResult:
    """Return PFC headroom, ingress thresholds and XON offsets that rules derive from a design, with each calculation (docs/predict.md).

    Raises the errors of ``load``, and ``OutputError`` if ``apply`` cannot write the fabric file.
    """
    from railweave.operations.tune.by_rule import by_rule, headroom

    network = load(Path(options.fabric), device=options.device, hardware=options.hardware)
    return by_rule(network, Path(options.fabric), headroom, apply=options.apply)


@verb(TuneByRule)
def tune_watchdog(options: TuneByRule) -> RuleResult:
    """Return detection and recovery times of the PFC watchdog that a rule derives from a design, with each calculation (docs/predict.md).

    Arguments and errors are those of ``tune_headroom``.
    """
    from railweave.operations.tune.by_rule import by_rule, watchdog

    network = load(Path(options.fabric), device=options.device, hardware=options.hardware)
    return by_rule(network, Path(options.fabric), watchdog, apply=options.apply)


REHEARSED_SEEDS = 3


@verb(TuneDiagnose)
def tune_diagnose(options: TuneDiagnose) -> Diagnosis:
    """Return a patch for the buffer or ECN field that counters suggest to change (docs/predict.md).

    The counters are those that increased between two captures. ``good`` of the result is False if there is a symptom, or if a
    counter was not seen and ``allow_unseen`` does not name its kind. Raises ``InputError`` if a capture is not of this network
    or if ``capture`` is older than ``since``, and ``OutputError`` if the fabric file cannot be written.
    """
    from railweave.api.living import check
    from railweave.live.check.counting import NOT_SEEN
    from railweave.live.check.identity import SILENT
    from railweave.live.check.subjects import SUBJECTS
    from railweave.model.intent.reading.source import read_source
    from railweave.model.state.capture import read_capture
    from railweave.operations.tune.diagnosing import (
        COUNTED,
        ORDER,
        diagnosed,
        not_seen,
        rehearsal,
        step_of,
        symptoms,
    )
    from railweave.operations.tune.patch import read_plain
    from railweave.prediction.collectives.program import size_of
    from railweave.writing import write_file

    path = Path(options.fabric)
    size = options.size if isinstance(options.size, int) else size_of(options.size)
    later, earlier = (read_capture(Path(capture)).meta.taken for capture in (options.capture, options.since))
    if later is not None and earlier is not None and later < earlier:
        message = f"{options.capture} was taken before {options.since}"
        raise InputError(
            [
                Problem(
                    Option("--since", str(options.since)),
                    message,
                    "give the later capture first, and the earlier one by --since",
                )
            ]
        )
    network = load(path, device=options.device, hardware=options.hardware)
    options.progress("comparing counters")
    rules = [rule.id for rule in ORDER]
    compared = check(
        path,
        options.capture,
        since=options.since,
        only=[*rules, NOT_SEEN.id, SILENT.id],
        allow_unseen=[*(name for name in SUBJECTS if not name.startswith(COUNTED)), *options.allow_unseen],
        device=options.device,
        hardware=options.hardware,
    )
    findings = compared.findings
    source = read_source(path)
    text = file_text(source.path)
    seen = symptoms(network, read_plain(text, str(source.path)), findings, slow_jobs=options.slow_jobs)
    step = step_of(seen)
    stage = (
        rehearsal(network, step.fabric, options.tenant, options.servers)
        if options.rehearse and step is not None
        else None
    )
    description = (
        "" if stage is None else f"{options.collective} of {size:,} bytes on {stage.to_text()}, {REHEARSED_SEEDS} seeds"
    )

    def run(on: Rehearsal, values: dict[tuple[str, ...], Setting]) -> list[Sample] | RefusedCombination:
        from railweave.model.catalog import in_force
        from railweave.model.intent.study import TunedCollective
        from railweave.operations.tune.measuring import RefusedCombination, designed
        from railweave.operations.tune.simulated import of_collective
        from railweave.prediction.simulation.job import job_network

        options.progress(f"rehearsing {'the step' if values else 'the values of the file'}")
        made = designed(source, values, options.device, path_of(options.hardware))
        if isinstance(made, RefusedCombination):
            return made
        asked = TunedCollective.model_validate(
            {
                "collective": options.collective,
                "size": size,
                "hosts": ",".join(on.servers),
                "tenant": on.tenant or None,
            }
        )
        with in_force(made.catalog):
            part = job_network(made, on.fabric)
            return [of_collective(part, asked, {"seed": seed}) for seed in range(1, REHEARSED_SEEDS + 1)]

    result = replace(
        diagnosed(source.path, text, seen, None if stage is None else partial(run, stage), description),
        subjects=tuple(row for row in compared.counts if row.subject.startswith(COUNTED)),
        unseen=not_seen(compared),
    )
    if options.apply and result.recommended:
        if file_text(source.path) != text:
            raise OutputError(f"{source.path} has changed since it was read; nothing was written to it")
        write_file(source.path, result.amended)
    return result
