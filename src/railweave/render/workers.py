"""Rendering on every core: devices are independent of each other, and a large network has thousands.

Workers are forks, so they have the network without its being sent to them; only the texts travel back.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

Result = TypeVar("Result")

LEAST = 128
"""Devices from which on forks pay: below, starting them takes longer than what they save."""

_function: Callable[[str], Any] | None = None
"""What the workers of the pool being started are to do; a fork finds it here."""


def spread(function: Callable[[str], Result], names: Sequence[str]) -> list[Result]:
    """``function`` of every name, in order; on several cores where there are such and enough names."""
    with spreading(function, names) as results:
        return results()


@contextlib.contextmanager
def spreading(function: Callable[[str], Result], names: Sequence[str]) -> Generator[Callable[[], list[Result]]]:
    """The same beside what the caller does meanwhile; what is given waits for the results.

    Workers see everything as it is on entering. Where there are none, the work is done when the results are asked for.
    """
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    if cores < 2 or len(names) < LEAST or multiprocessing.current_process().daemon:
        yield lambda: [function(name) for name in names]
        return
    global _function  # noqa: PLW0603 - see above
    before, _function = _function, function
    try:
        with multiprocessing.get_context("fork").Pool(min(cores, 8)) as pool:
            yield pool.map_async(_call, names, chunksize=max(1, len(names) // (8 * cores))).get
    finally:
        _function = before


def _call(name: str) -> Any:  # noqa: ANN401 - what the function gives
    assert _function is not None  # noqa: S101 - set before the fork
    return _function(name)
