"""SIGINT and SIGTERM while routes change: noticed between steps, never in the middle of one."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Callable

from .failure import InterruptedRunError

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def by_exception() -> None:
    """From now on both signals end the program as Ctrl-C does: with KeyboardInterrupt."""
    for one in _SIGNALS:
        signal.signal(one, signal.default_int_handler)


@contextmanager
def held() -> Generator[Callable[[], None], None, None]:
    """Hold both signals back; gives a function that raises InterruptedRunError if one came."""
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    def check() -> None:
        if came:
            raise InterruptedRunError(f"interrupted by {signal.Signals(came[0]).name}")

    before = [signal.signal(one, note) for one in _SIGNALS]
    try:
        yield check
    finally:
        for one, handler in zip(_SIGNALS, before):
            signal.signal(one, handler)
