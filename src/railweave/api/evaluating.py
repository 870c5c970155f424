"""Who measures a study: the simulator, here or in a cluster, or the network with its benchmarks; each let go of at the end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from railweave.api.sources import path_of
from railweave.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from railweave.live.site.site import Site
    from railweave.model.intent.study import Study
    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import Plan as BenchPlan
    from railweave.operations.store.records import Run
    from railweave.operations.tune.distributed import OnRay
    from railweave.operations.tune.hardware import Measured, Way
    from railweave.operations.tune.run import Outcome
    from railweave.operations.tune.simulated import Simulated, Task

DATABASE, RUNS = "study.db", "runs.db"
"""Files in a study's folder: what the search knows, and the benchmarks that were run."""


def one_by_one(study: Study) -> Study:
    """On hardware trials are made one after another: each is proposed from all before it, unless the file has a batch of its own."""
    if "batch" in study.search.model_fields_set:
        return study
    return study.model_copy(update={"search": study.search.model_copy(update={"batch": 1})})


def evaluated(
    study: Study,
    task: Task,
    folder: Path,
    way: Way,
    simulator: Callable[[], Simulated | OnRay],
    progress: Callable[[str], None],
) -> Outcome:
    """A study by the evaluator that it asks for, which is let go of at the end, however that comes."""
    from railweave.operations.tune.hardware import Measured
    from railweave.operations.tune.run import digest_of, run_study

    opened: list[Simulated | OnRay | Measured] = []

    def network() -> Measured:
        made = Measured(task, way)
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
        found = run_study(
            study, task.space, evaluator, folder / DATABASE, digest_of(task.study), progress=progress, hardware=confirm
        )
    except BaseException:
        for one in opened:
            try:
                one.close()
            except OutputError as error:  # what ended the study is told by what is raised
                progress(str(error))
        raise
    for one in opened:
        one.close()
    return found


def simulator_of(task: Task, workers: int | None, ray: str | None) -> Simulated | OnRay:
    """The simulator, here or in a cluster."""
    from railweave.operations.tune.distributed import OnRay
    from railweave.operations.tune.simulated import Simulated

    return Simulated(task, workers or os.cpu_count() or 1) if ray is None else OnRay(task, workers, ray)


def way_of(
    task: Task,
    folder: Path,
    access: Path | str | None,
    lab: bool,
    secrets: Path | str | None,
    progress: Callable[[str], None],
) -> Way:
    """How hardware is reached and measured."""
    from railweave.api.bench_run import bench_run
    from railweave.api.sites import site_of
    from railweave.operations.bench.running.pair import RANKS
    from railweave.operations.bench.running.shells import HERE
    from railweave.operations.tune.hardware import Way
    from railweave.outputs.folder.secrets_file import read_secrets

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
            launch_on=HERE if how.launch_on == "here" else how.launch_on,
            ranks=how.ranks or RANKS,
            mpi_script=task.study.mpi_script,
            srun_options=how.srun_options,
            nccl_tests=how.nccl_tests,
            host_check=False,
            meanwhile=meanwhile,
            progress=progress,
        ).runs

    return Way(site, runs, read_secrets(path_of(secrets)), progress)
