"""Processes beside this one, which never hear of Ctrl-C and are gone with what they are needed for."""

from __future__ import annotations

import contextlib
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


@contextlib.contextmanager
def processes(workers: int) -> Generator[ProcessPoolExecutor]:
    """A pool for as long as a ``with`` lasts. Where that ends by an error or an interrupt, the processes end at once, whatever they are at."""
    others = set(active_children())
    pool = started(workers)
    try:
        yield pool
    except BaseException:
        for one in set(active_children()) - others:
            one.kill()  # it has nothing to clean up
        raise
    finally:
        # Once, and waiting: after a shutdown that does not wait, nobody joins the pool's thread, which the interpreter's end then meets at its own end.
        pool.shutdown(wait=True, cancel_futures=True)


def started(workers: int, begin: Callable[[], None] | None = None) -> ProcessPoolExecutor:
    """A pool whose processes have begun, each with ``begin``; whoever has it shuts it down."""
    # started afresh: a fork would take over threads that numpy may have begun
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=begin)
    with _without_interrupts():  # the pool starts one for each task while none is idle
        for _ in range(workers):
            pool.submit(_nothing)
    return pool


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
