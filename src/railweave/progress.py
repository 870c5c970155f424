"""The default of parameters that receive lines of progress."""

from __future__ import annotations


def silent(_: str) -> None:
    """Ignore a line of progress."""
