"""A pause of the garbage collector while long-lived objects are created."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextlib.contextmanager
def uncollected() -> Generator[None]:
    """Disable the garbage collector inside a ``with`` statement, and restore its former state afterwards.

    A design creates a million objects that stay in memory. To scan them for garbage would take a tenth of the design's time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
