"""Processes beside this one: they never hear of Ctrl-C, and are gone with what they are needed for."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Future

LOOK_S = 1.0
"""How long a wait for processes is at most: a signal that comes just before one is heard when it ends."""


Result = TypeVar("Result")


def end_with_parent() -> None:
    """End this process as soon as the one that started it is gone, also by SIGKILL, which leaves it no moment to say so.

    The parent holds one end of a pipe, as ``multiprocessing`` has it for each process; the operating system closes it.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)  # nobody is there to clean up for, or to be told

    threading.Thread(target=wait, name="parent", daemon=True).start()


class Pool(ProcessPoolExecutor):
    """A pool whose processes are started at once, each with ``begin``; whoever has it ends it."""

    def __init__(self, workers: int, begin: Callable[[], None] | None = None) -> None:
        self._context = _Context()
        # started afresh: a fork would take over threads that numpy may have begun
        super().__init__(workers, mp_context=self._context, initializer=begin)
        try:
            for _ in range(workers):  # the pool starts one for each task while none is idle
                self.submit(_nothing)
        except BaseException:
            self.end(at_once=True)
            raise

    def end(self, *, at_once: bool = False) -> None:
        """Wait for what the processes are at, and end them; or end them whatever they are at. What they have not begun is given up."""
        if at_once:
            for one in self._context.started:
                one.kill()  # it has nothing to clean up
        # Once, and waiting: after a shutdown that does not wait, nobody joins the pool's thread, which the interpreter's end then meets at its own end.
        self.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def processes(workers: int, begin: Callable[[], None] | None = None) -> Generator[Pool]:
    """A pool for as long as a ``with`` lasts. Where that ends by an error or an interrupt, the processes end at once, whatever they are at."""
    pool = Pool(workers, begin)
    try:
        yield pool
    except BaseException:
        pool.end(at_once=True)
        raise
    pool.end()


def finished(tasks: Iterable[Future[Result]]) -> Iterator[Future[Result]]:
    """Tasks of a pool as they end, with a look at signals now and then: ``as_completed`` can miss one."""
    left = set(tasks)
    while left:
        ended, left = wait(left, LOOK_S, FIRST_COMPLETED)
        yield from ended


class _Worker(SpawnProcess):
    """A process of a pool."""

    def start(self) -> None:
        with _without_interrupts():
            super().start()

    def run(self) -> None:
        end_with_parent()
        super().run()


class _Context(SpawnContext):
    """Where a pool has its processes from; it keeps those that were started."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[_Worker] = []

    def Process(self, *arguments: Any, **more: Any) -> _Worker:  # pyright: ignore[reportIncompatibleVariableOverride]  # noqa: ANN401, N802 - as the pool calls it
        """A process of the pool that is about to be started."""
        one = _Worker(*arguments, **more)
        self.started.append(one)
        return one


@contextlib.contextmanager
def _without_interrupts() -> Generator[None]:
    """Ctrl-C is for this process: those that it starts meanwhile never hear of it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _nothing() -> None:
    """What a process of a pool is started for."""
