"""Searches for better values of a fabric file's fields, and the evaluators that measure them."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.running_verbs import TuneByRule, TuneDiagnose, TuneRun
from railweave.errors import InputError, Option, OutputError, Problem
from railweave.outputs.folder.sources import load, path_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from railweave.live.site.site import Site
    from railweave.model.intent.scenario import Setting
    from railweave.model.intent.study import Study
    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import Plan as BenchPlan
    from railweave.operations.store.records import Run
    from railweave.operations.tune.by_rule import Derived, RuleResult
    from railweave.operations.tune.diagnosing import Diagnosis, Rehearsal
    from railweave.operations.tune.distributed import RayEvaluator
    from railweave.operations.tune.hardware import HardwareEvaluator, NetworkAccess
    from railweave.operations.tune.measuring import RefusedCombination, Sample
    from railweave.operations.tune.result import Result
    from railweave.operations.tune.run import Outcome
    from railweave.operations.tune.simulated import ParallelSimulator, Task


DATABASE, RUNS = "study.db", "runs.db"
"""The databases in a study's folder: the state of the search, and the benchmark runs."""


def one_by_one(study: Study) -> Study:
    """Return a study for hardware, in which trials run one at a time, so that each is based on all earlier ones.

    A batch size in the study file takes precedence.
    """
    if "batch" in study.search.model_fields_set:
        return study
    return study.model_copy(update={"search": study.search.model_copy(update={"batch": 1})})


def evaluated(
    study: Study,
    task: Task,
    folder: Path,
    way: NetworkAccess,
    simulator: Callable[[], ParallelSimulator | RayEvaluator],
    progress: Callable[[str], None],
) -> Outcome:
    """Run a study with the evaluator that it selects. The evaluator is closed at the end, even after an error."""
    from railweave.operations.tune.hardware import HardwareEvaluator
    from railweave.operations.tune.run import digest_of, run_study

    opened: list[ParallelSimulator | RayEvaluator | HardwareEvaluator] = []

    def network() -> HardwareEvaluator:
        made = HardwareEvaluator(task, way)
        opened.append(made)
        return made

    try:
        if study.evaluator == "bench":
            evaluator = network()
        else:
            if (
                study.evaluator == "both"
            ):  # what would be in the way is told before the search, and an interrupted trial is taken back
                network().close()
                opened.clear()
            evaluator = simulator()
            opened.append(evaluator)
        confirm = network if study.evaluator == "both" else None
        outcome = run_study(
            study, task.space, evaluator, folder / DATABASE, digest_of(task.study), progress=progress, hardware=confirm
        )
    except BaseException:
        for opened_evaluator in opened:
            try:
                opened_evaluator.close()
            except OutputError as error:  # what ended the study is told by what is raised
                progress(str(error))
        raise
    for opened_evaluator in opened:
        opened_evaluator.close()
    return outcome


def simulator_of(task: Task, workers: int | None, ray: str | None) -> ParallelSimulator | RayEvaluator:
    """Return the simulator, on this machine or in a Ray cluster."""
    from railweave.operations.tune.distributed import RayEvaluator
    from railweave.operations.tune.simulated import ParallelSimulator

    return ParallelSimulator(task, workers or os.cpu_count() or 1) if ray is None else RayEvaluator(task, workers, ray)


def way_of(
    task: Task,
    folder: Path,
    access: Path | str | None,
    lab: bool,
    secrets: Path | str | None,
    progress: Callable[[str], None],
) -> NetworkAccess:
    """Return the access to the hardware of a network, and the functions that measure it."""
    from railweave.api.bench import bench_run
    from railweave.api.sites import site_of
    from railweave.operations.bench.running.pair import RANKS
    from railweave.operations.tune.hardware import NetworkAccess
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


JOURNAL, RESULT, PATCH = "journal.jsonl", "result.json", "fabric.patch"
"""The files of a study in its folder."""


def folder_of(study: Path) -> Path:
    """Return the default folder of a study's files: ``NAME.tune`` next to ``NAME.yaml``."""
    return study.with_name(f"{study.stem}.tune")


@verb(TuneRun)
def tune_run(options: TuneRun) -> Result:
    """Search for better values of a fabric file's fields, or continue a search (docs/tune.md).

    The study selects the evaluator: the simulator, the network itself (each trial is undone), or both.

    Writes ``result.json``, ``journal.jsonl`` and ``fabric.patch``, which is empty if there is no proposal. Raises ``InputError`` for invalid
    input, with lines of the study file; ``OutputError``; ``StoppedError`` if the search is interrupted; and the errors of deploy if a trial
    could not be undone.
    """
    import json

    from railweave.model.intent.reading.source import read_source
    from railweave.model.intent.study import read_study
    from railweave.operations.tune.result import result_of
    from railweave.operations.tune.scoring import as_measured
    from railweave.operations.tune.simulated import Task
    from railweave.operations.tune.space import space_of
    from railweave.outputs.folder.write import held
    from railweave.writing import write_below, write_file

    path = Path(options.study)
    file = read_study(path)
    load(
        file.fabric, device=options.device, hardware=options.hardware
    )  # a file that cannot be built is an error at its own lines
    source = read_source(file.fabric)
    space = space_of(file, source.document, source.spec)
    asked = file.study
    if options.trials is not None:
        asked = asked.model_copy(update={"search": asked.search.model_copy(update={"trials": options.trials})})
    folder = folder_of(path) if options.output is None else Path(options.output)
    if asked.evaluator == "bench":
        asked = one_by_one(as_measured(asked))
    text = file.fabric.read_text(encoding="utf-8")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}") from error
    with held(folder):
        if options.fresh:
            for end in ("", "-wal", "-shm"):
                (folder / f"{DATABASE}{end}").unlink(missing_ok=True)
        task = Task(file, space, source, path_of(options.hardware), tuple(options.device))
        way = way_of(task, folder, options.access, options.lab, options.secrets, options.progress)
        outcome = evaluated(
            asked, task, folder, way, lambda: simulator_of(task, options.workers, options.ray), options.progress
        )
        values = None
        if options.take is not None:
            if options.take not in outcome.scores:
                whole = f"trials that were measured with every seed are {', '.join(map(str, outcome.scores)):.200}"
                raise InputError([Problem(Option("--take"), f"there is no such trial {options.take}", whole)])
            values = outcome.values(options.take)
        result = result_of(outcome, file.fabric, text, values)
        write_below(
            folder,
            {
                RESULT: json.dumps(result.to_json(), indent=1) + "\n",
                JOURNAL: result.journal(),
                PATCH: result.patch,
            },
        )
        if options.apply and result.patch:
            if file.fabric.read_text(encoding="utf-8") != text:
                raise OutputError(
                    f"{file.fabric} was changed meanwhile; nothing was written to it, {folder / PATCH} has the patch"
                )
            write_file(file.fabric, result.amended)
    return result


@verb(TuneByRule)
def tune_headroom(options: TuneByRule) -> RuleResult:
    """Return PFC headroom, ingress thresholds and XON offsets derived from a design by rule, with the arithmetic (docs/tune.md).

    Raises ``InputError`` and ``SpecError`` as ``load`` does, and ``OutputError`` if the file cannot be written.
    """
    from railweave.operations.tune.by_rule import headroom

    return _by_rule(
        Path(options.fabric), headroom, apply=options.apply, device=options.device, hardware=options.hardware
    )


@verb(TuneByRule)
def tune_watchdog(options: TuneByRule) -> RuleResult:
    """Return detection and recovery times of the PFC watchdog derived from a design by rule, with the arithmetic (docs/tune.md).

    Arguments and errors are those of ``tune_headroom``.
    """
    from railweave.operations.tune.by_rule import watchdog

    return _by_rule(
        Path(options.fabric), watchdog, apply=options.apply, device=options.device, hardware=options.hardware
    )


def _by_rule(
    fabric: Path,
    rule: Callable[[Network], list[Derived]],
    *,
    apply: bool,
    device: Sequence[str],
    hardware: Path | str | None,
) -> RuleResult:
    from railweave.model.intent.reading.source import read_source
    from railweave.operations.tune.by_rule import ruled
    from railweave.operations.tune.patch import read_plain
    from railweave.writing import write_file

    network = load(fabric, device=device, hardware=hardware)
    source = read_source(fabric).path
    text = source.read_text(encoding="utf-8")
    result = ruled(source, read_plain(text, str(source)), text, rule(network))
    if apply and result.patch:
        if source.read_text(encoding="utf-8") != text:
            raise OutputError(f"{source} was changed meanwhile; nothing was written to it")
        write_file(source, result.amended)
    return result


REHEARSED_SEEDS = 3


@verb(TuneDiagnose)
def tune_diagnose(options: TuneDiagnose) -> Diagnosis:
    """Return the next step for buffers and ECN, as a patch, derived from counters that rose between two captures (docs/tune.md).

    Raises ``InputError`` if a capture is not of this network or the later capture is given first, and ``OutputError``.
    """
    from railweave.api.living import check
    from railweave.model.intent.reading.source import read_source
    from railweave.model.state.capture import read_capture
    from railweave.operations.tune.diagnosing import ORDER, diagnosed, rehearsal, step_of, symptoms
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
    findings = check(
        path, options.capture, since=options.since, only=rules, device=options.device, hardware=options.hardware
    ).findings
    source = read_source(path)
    text = source.path.read_text(encoding="utf-8")
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

    result = diagnosed(source.path, text, seen, None if stage is None else partial(run, stage), description)
    if options.apply and result.recommended:
        if source.path.read_text(encoding="utf-8") != text:
            raise OutputError(f"{source.path} was changed meanwhile; nothing was written to it")
        write_file(source.path, result.amended)
    return result
