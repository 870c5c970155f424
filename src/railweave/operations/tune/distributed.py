"""The simulator on many machines: the workers of a Ray cluster run a batch of trials, and results return in request order.

Ray decides where and when a trial runs, but this does not affect its result. So a study gives the same result on any
number of workers.
"""

from __future__ import annotations

import importlib
import logging
import socket
from typing import TYPE_CHECKING, Any

from railweave.errors import InputError, Option, Problem
from railweave.operations.tune.simulated import InProcessSimulator, Task, placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.tune.measuring import RefusedCombination, Sample, TrialRequest

CONNECT_S = 10
"""Seconds to wait for the head of a cluster to answer."""
LOCAL = "local"
"""The value to give as the cluster's address for workers on this machine, which Ray starts and stops."""


class RayEvaluator:
    """The simulator in ``workers`` processes of a Ray cluster, one core each. None: as many as the cluster has cores.

    ``address`` is the address of the cluster (``auto``, ``HOST:PORT``, ``ray://HOST:PORT``), or ``local``. Every
    machine needs the same railweave version, and the files of the study at the same path. Raises ``InputError`` if
    Ray is not installed, or no cluster answers.
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
        """Return the result of each requested trial, in order.

        Raises ``InputError`` for a goal that cannot be run, at the line of the study file.
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
        raise InputError([Problem(Option("--ray", address), "this is no address of a cluster", fix)])
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, OverflowError) as error:
        message = f"nobody listens there: {error}"
        raise InputError(
            [Problem(Option("--ray", address), message, "`ray status` on its head says whether it is up")]
        ) from None


class _Worker:
    """The simulator in a worker process of the cluster."""

    def __init__(self, task: Task) -> None:
        self._here = InProcessSimulator(task)

    def measure(self, wanted: TrialRequest) -> Sample | RefusedCombination | InputError:
        """Return the result of a trial, or the ``InputError`` of its goal as a value, because Ray would wrap a raised error in its own."""
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
