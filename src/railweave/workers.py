"""Parallel work on all cores for many devices, such as rendering.

Devices are independent of each other, and a large network has thousands. Workers are forks, so they already have the data of the network,
and only the resulting texts are returned. Each worker ends when no device names are left. The worker leaves its results in a file in memory
that it shares with the parent. Workers and parent need no threads, so such work can be nested, and a worker never waits for a different
process.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from railweave.processes import LOOK_S, end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from multiprocessing.process import BaseProcess
    from multiprocessing.sharedctypes import Synchronized

Result = TypeVar("Result")

LEAST = 128
"""The minimum number of devices for which forks are used.

With fewer devices, starting the forks takes longer than the time saved.
"""

MOST_WORKERS = 8


def spread(function: Callable[[str], Result], names: Sequence[str]) -> list[Result]:
    """Return the results of ``function`` for every name, in order.

    Several cores are used if there are at least ``LEAST`` names.
    """
    with spreading(function, names) as results:
        return results()


@contextlib.contextmanager
def spreading(function: Callable[[str], Result], names: Sequence[str]) -> Generator[Callable[[], list[Result]]]:
    """Run ``function`` on all names in the background of a ``with`` statement.

    Yields a function that waits for the results and returns them in the order of the names. Workers see all data as it was when
    they started. If no workers can be used, the yielded function calls ``function`` itself. The last name is processed before the
    workers start, so that they inherit the imports and caches.
    """
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    forked = multiprocessing.current_process().daemon
    threaded = (
        threading.current_thread() is not threading.main_thread()
    )  # what it holds, a fork would wait for at its end
    if cores < 2 or len(names) < LEAST or forked or threaded:
        yield lambda: [function(name) for name in names]
        return
    *others, last = names
    at_last = function(last)
    context = multiprocessing.get_context("fork")
    taken = context.Value("l", 0)
    step = max(1, len(others) // (8 * cores))
    workers: list[tuple[BaseProcess, BinaryIO]] = []
    try:
        for _ in range(min(cores, MOST_WORKERS)):
            file = os.fdopen(os.memfd_create("railweave"), "w+b")
            workers.append(
                (context.Process(target=_work, args=(function, others, step, taken, file), daemon=True), file)
            )
            workers[-1][0].start()
        yield lambda: [*_gathered(workers, len(others)), at_last]
    finally:
        for process, file in workers:
            if process.is_alive():
                process.kill()  # it has nothing to clean up
            if process.pid is not None:
                process.join()
            file.close()


def _work(
    function: Callable[[str], object], names: Sequence[str], step: int, taken: Synchronized[int], file: BinaryIO
) -> None:
    """Take batches of ``step`` names until no names are left, and call ``function`` for each name.

    Write a dictionary to ``file``: the result of each name, by its index in ``names``. If ``function`` raises an exception, write the
    exception instead. ``taken`` counts the names that all workers have taken.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent()
    results: dict[int, object] = {}
    try:
        while True:
            with taken.get_lock():
                first = taken.value
                taken.value = first + step
            if first >= len(names):
                break
            results.update({place: function(names[place]) for place in range(first, min(first + step, len(names)))})
        pickle.dump(results, file, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again where results are asked for
        file.seek(0)
        file.truncate()
        pickle.dump(error, file)
    file.flush()


def _gathered(workers: Sequence[tuple[BaseProcess, BinaryIO]], count: int) -> list[Any]:
    """Return the results of all workers, in the order of the names. Raise the exception of a worker that failed.

    Each worker is (process, file with its results). ``count`` is the number of names.
    """
    results: dict[int, Any] = {}
    for process, file in workers:
        while process.is_alive():
            process.join(LOOK_S)
        if process.exitcode:
            raise RuntimeError(f"a worker ended with status {process.exitcode}")
        file.seek(0)
        part: object = pickle.load(file)  # noqa: S301 - what our own fork wrote, into memory of ours
        if isinstance(part, Exception):
            raise part
        results |= cast("dict[int, Any]", part)
    return [results[place] for place in range(count)]
