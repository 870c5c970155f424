"""The run of studies with their files. The module selects the evaluator, runs the search, and writes the results into the study's folder."""

from __future__ import annotations

import importlib
import json
import logging
import os
import socket
from typing import TYPE_CHECKING, Any

from railweave.errors import InputError, Option, OutputError, Problem
from railweave.operations.tune.hardware import HardwareEvaluator
from railweave.operations.tune.page import tuning_html
from railweave.operations.tune.result import PAGE, PATCH, result_of
from railweave.operations.tune.run import digest_of, run_study
from railweave.operations.tune.simulated import InProcessSimulator, ParallelSimulator, Task, placed
from railweave.outputs.folder.write import locked
from railweave.reading import file_text
from railweave.writing import write_below, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from railweave.model.intent.study import Study
    from railweave.operations.tune.hardware import NetworkAccess
    from railweave.operations.tune.measuring import RefusedCombination, Sample, TrialRequest
    from railweave.operations.tune.result import Result
    from railweave.operations.tune.run import Outcome


CONNECT_S = 10
"""The seconds to wait for an answer from the head node of a Ray cluster."""
LOCAL = "local"
"""The address that makes Ray start and stop workers on this machine."""


class RayEvaluator:
    """The simulator in ``workers`` processes of a Ray cluster, one core each. If ``workers`` is None, there is a process for each core of the cluster.

    ``address`` is the address of the cluster (``auto``, ``HOST:PORT``, ``ray://HOST:PORT``), or ``local``. Every
    machine needs the same railweave version, and the files of the study at the same path. Raises ``InputError`` if Ray
    is not installed, or no cluster answers.
    """

    def __init__(self, task: Task, workers: int | None, address: str) -> None:
        self._ray = _ray()
        self._task = task
        if address not in {LOCAL, "auto"}:
            _answers(address)
        quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
        try:
            if address == LOCAL:
                self._ray.init(num_cpus=workers, include_dashboard=False, **quiet)
            else:
                self._ray.init(address=address, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as error:
            fix = f"`ray status` says which there is; `{LOCAL}` starts one on this machine"
            raise InputError([Problem(Option("--ray", address), f"there is no such cluster: {error}", fix)]) from None
        count = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        made = self._ray.remote(num_cpus=1)(_Worker)
        known = self._ray.put(task)
        self._workers = [made.remote(known) for _ in range(count)]

    def measure(self, wanted: Sequence[TrialRequest]) -> list[Sample | RefusedCombination]:
        """Return the result of each trial in ``wanted``, in order.

        Raises ``InputError``, with the line of the study file, if the study's collectives or jobs cannot be run.
        """
        by_place: dict[int, Any] = {}
        left = list(enumerate(wanted))[::-1]
        free = list(self._workers)
        running: dict[Any, tuple[int, Any]] = {}
        while left or running:
            while left and free:
                place, request = left.pop()
                worker = free.pop()
                running[worker.measure.remote(request)] = (place, worker)
            (done,), _ = self._ray.wait(list(running), num_returns=1)
            place, worker = running.pop(done)
            by_place[place] = self._ray.get(done)
            free.append(worker)
        answers: list[Any] = [by_place[place] for place in range(len(wanted))]
        for answer in answers:
            if isinstance(answer, InputError):
                raise InputError(placed(self._task.study, answer))
        return answers

    def close(self) -> None:
        """Stop the workers, and disconnect from the cluster."""
        for worker in self._workers:
            self._ray.kill(worker)
        self._ray.shutdown()


def _answers(address: str) -> None:
    """Raise ``InputError`` if no process listens at an address, because Ray itself would retry for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    fix = "auto, HOST:PORT, ray://HOST:PORT, or local"
    if not host or not port.isdecimal():
        raise InputError([Problem(Option("--ray", address), "this is not the address of a cluster", fix)])
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, OverflowError) as error:
        message = f"no cluster answers there: {error}"
        raise InputError(
            [Problem(Option("--ray", address), message, "`ray status` on its head says whether it is up")]
        ) from None


class _Worker:
    """The simulator in a worker process of the cluster."""

    def __init__(self, task: Task) -> None:
        self._here = InProcessSimulator(task)

    def measure(self, wanted: TrialRequest) -> Sample | RefusedCombination | InputError:
        """Return the result of the trial ``wanted``.

        An ``InputError`` is returned and not raised, because Ray would wrap a raised error in an error of its own.
        """
        try:
            return self._here.measure(wanted)
        except InputError as error:
            return error


def _ray() -> Any:  # noqa: ANN401 - the module
    try:
        return importlib.import_module("ray")
    except ImportError:
        message = "needs Ray, which is not installed"
        raise InputError([Problem(Option("--ray"), message, "pip install 'railweave[ray]'")]) from None


DATABASE, RUNS = "study.db", "runs.db"
"""The databases in a study's folder: the state of the search, and the benchmark runs."""


def one_by_one(study: Study) -> Study:
    """Return ``study`` with a batch size of 1, for hardware: each proposal then uses the results of all earlier trials.

    If the study file sets a batch size, return the study unchanged.
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
    """Run a study with the evaluator that it selects (simulator or hardware), and return its outcome.

    - ``task``: the input of the simulator. ``folder``: the folder of the study's files.
    - ``way``: the functions with which the study reaches the network.
    - ``simulator``: a function that starts the simulator.

    The evaluator is closed at the end, even after an error.
    """
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
    """Return the simulator: on this machine or, if ``ray`` is an address, in a Ray cluster.

    ``task`` is the input of its processes. ``workers`` is their number; None means one for each core.
    """
    return ParallelSimulator(task, workers or os.cpu_count() or 1) if ray is None else RayEvaluator(task, workers, ray)


JOURNAL, RESULT = "journal.jsonl", "result.json"
"""The names of two files in a study's folder: all trials, and the result."""


def folder_of(study: Path) -> Path:
    """Return the default folder of a study's files: ``NAME.tune`` next to ``NAME.yaml``."""
    return study.with_name(f"{study.stem}.tune")


def study_in(
    folder: Path,
    study: Study,
    task: Task,
    way: Callable[[], NetworkAccess],
    simulator: Callable[[], ParallelSimulator | RayEvaluator],
    *,
    fresh: bool,
    take: int | None,
    apply: bool,
    progress: Callable[[str], None],
) -> Result:
    """Run a study and write its files into a folder. With ``apply``, write the proposed values into the fabric file.

    - ``task``: the input of the simulator. ``simulator``: a function that starts it.
    - ``way``: a function that returns the access to the network.
    - ``fresh``: True to discard earlier trials.
    - ``take``: the number of the trial whose values are proposed; None means the best trial.

    Raises ``InputError`` if there is no such trial, and ``OutputError`` if a file cannot be written.
    """
    fabric = task.study.fabric
    text = file_text(fabric)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}") from error
    with locked(folder):
        if fresh:
            for end in ("", "-wal", "-shm"):
                (folder / f"{DATABASE}{end}").unlink(missing_ok=True)
        outcome = evaluated(study, task, folder, way(), simulator, progress)
        values = None
        if take is not None:
            if take not in outcome.scores:
                whole = f"trials that were measured with every seed are {', '.join(map(str, outcome.scores)):.200}"
                raise InputError([Problem(Option("--take"), f"there is no such trial {take}", whole)])
            values = outcome.values(take)
        result = result_of(outcome, fabric, text, values, folder)
        files = {RESULT: json.dumps(result.to_json(), indent=1) + "\n", JOURNAL: result.journal(), PATCH: result.patch}
        files[PAGE] = tuning_html(result)
        write_below(folder, files)
        if apply and result.patch:
            if file_text(fabric) != text:
                raise OutputError(
                    f"{fabric} has changed since the study began, so nothing was written to it; the patch is in {folder / PATCH}"
                )
            write_file(fabric, result.amended)
    return result
