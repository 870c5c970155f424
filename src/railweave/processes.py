"""Worker processes. They ignore Ctrl-C, and they end together with the process that started them."""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import reduction, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

LOOK_S = 1.0
"""The longest single wait for processes, in seconds. A signal that arrives just before a wait is handled within this time."""


Result = TypeVar("Result")


def end_with_parent() -> None:
    """Make this process end as soon as its parent process ends, even if the parent is killed (SIGKILL) and cannot end its children.

    The parent holds one end of a pipe that ``multiprocessing`` opens for each process. The operating system closes this
    end when the parent ends.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)  # nobody is there to clean up for, or to be told

    threading.Thread(target=wait, name="parent", daemon=True).start()


class Pool(ProcessPoolExecutor):
    """A process pool that starts its processes immediately. Each process first calls ``begin``. The owner must end the pool."""

    def __init__(self, workers: int, begin: Callable[[], None] | None = None) -> None:
        self._context = _Context()
        # started afresh: a fork would take over threads that numpy may have begun
        super().__init__(workers, mp_context=self._context, initializer=begin)
        try:
            for _ in range(workers):  # the pool starts one for each task while none is idle
                self.submit(_nothing)
        except BaseException:
            self.end_at_once()
            raise

    def submit(self, *arguments: Any, **more: Any) -> Future[Any]:  # noqa: ANN401 - as the pool's own
        """Submit a task and return its future.

        A signal that arrives during the call is handled after the call, so that no lock stays held.
        """
        with uninterrupted():
            return super().submit(*arguments, **more)

    def end(self) -> None:
        """Wait for the tasks in progress, then end the processes. Tasks that have not started are cancelled."""
        # Once, and waiting: after a shutdown that does not wait, nobody joins the pool's thread, which the interpreter's end then meets at its own end.
        self.shutdown(wait=True, cancel_futures=True)

    def end_at_once(self) -> None:
        """Kill the processes immediately, even if they are running tasks."""
        with uninterrupted():
            for worker in self._context.made:
                if worker.pid is not None:  # it was started
                    worker.kill()  # it has nothing to clean up
            self.end()


@contextlib.contextmanager
def processes(workers: int, begin: Callable[[], None] | None = None) -> Generator[Pool]:
    """Provide a pool of ``workers`` processes inside a ``with`` statement. Each process first calls ``begin``.

    If an error or interrupt ends the statement, the processes are killed.
    """
    pool = Pool(workers, begin)
    try:
        yield pool
    except BaseException:
        pool.end_at_once()
        raise
    pool.end()


def finished(tasks: Iterable[Future[Result]]) -> Iterator[Future[Result]]:
    """Yield the tasks of a pool as they finish.

    The function of the standard library for this (as_completed) can leave a task locked if a signal arrives during the wait.
    """
    ended: SimpleQueue[Future[Result]] = SimpleQueue()
    left = 0
    with uninterrupted():
        for task in tasks:
            task.add_done_callback(ended.put)
            left += 1
    while left:
        with contextlib.suppress(Empty):
            yield ended.get(timeout=LOOK_S)
            left -= 1


@contextlib.contextmanager
def shared(value: Result) -> Generator[SharedValue[Result]]:
    """Provide a large value to the worker processes that start inside a ``with`` statement.

    The value is written once, to a file without a name, which all these processes read.
    """
    with tempfile.TemporaryFile() as file:
        pickle.dump(value, file, pickle.HIGHEST_PROTOCOL)
        file.flush()
        yield SharedValue(file)


class SharedValue(Generic[Result]):
    """A value for the worker processes of a pool. Each process receives it when it starts, as an argument of ``begin``."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __getstate__(self) -> object:
        return reduction.DupFd(self._file.fileno())

    def __setstate__(self, file: Any) -> None:  # noqa: ANN401 - it has no name
        self._file = os.fdopen(file.detach(), "rb")

    def value(self) -> Result:
        """Return the shared value, in a process that received it."""
        with self._file:
            size = os.fstat(self._file.fileno()).st_size
            # all processes share where they read
            written = mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_READ)
            return pickle.loads(written)  # noqa: S301 - what our own parent wrote, into a file that nobody else has


class _Worker(SpawnProcess):
    """A process of a pool."""

    def start(self) -> None:
        resource_tracker.ensure_running()  # else it is started with the first process, and unblocks the signal
        with uninterrupted():  # a start that is interrupted leaves a process that nobody knows
            # Ctrl-C is for the parent: the process inherits that
            before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            try:
                super().start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def run(self) -> None:
        end_with_parent()
        super().run()


class _Context(SpawnContext):
    """The multiprocessing context of a pool, which records the processes that it creates."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[_Worker] = []

    def Process(self, *arguments: Any, **more: Any) -> _Worker:  # pyright: ignore[reportIncompatibleVariableOverride]  # noqa: ANN401, N802 - as the pool calls it
        """Return a new process of the pool, not yet started."""
        worker = _Worker(*arguments, **more)
        self.made.append(worker)
        return worker


@contextlib.contextmanager
def uninterrupted() -> Generator[None]:
    """Delay the handling of Ctrl-C and SIGTERM until a ``with`` statement ends. Only the main thread handles signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        signal_number: signal.signal(signal_number, lambda number, _: came.append(number)) for signal_number in _SIGNALS
    }
    try:
        yield
    finally:
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)
        for number in came[:1]:
            signal.raise_signal(number)


def _nothing() -> None:
    """Do nothing. The pool gives this task to each process at the beginning, because it starts a process only when there is a task."""
