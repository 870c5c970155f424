"""Rendering on every core: devices are independent of each other, and a large network has thousands.

Workers are forks, so they have the network without its being sent to them; only the texts travel back.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Result = TypeVar("Result")

LEAST = 128
"""Devices from which on forks pay: below, starting them takes longer than what they save."""

_function: Callable[[str], Any] | None = None
"""What the workers of the pool being started are to do; a fork finds it here."""


def spread(function: Callable[[str], Result], names: Sequence[str]) -> list[Result]:
    """``function`` of every name, in order; on several cores where there are such and enough names."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    if cores < 2 or len(names) < LEAST or multiprocessing.current_process().daemon:
        return [function(name) for name in names]
    global _function  # noqa: PLW0603 - see above
    _function = function
    try:
        with multiprocessing.get_context("fork").Pool(min(cores, 8)) as pool:
            return pool.map(_call, names, chunksize=max(1, len(names) // (8 * cores)))
    finally:
        _function = None


def _call(name: str) -> Any:  # noqa: ANN401 - what the function gives
    assert _function is not None  # noqa: S101 - set before the fork
    return _function(name)
