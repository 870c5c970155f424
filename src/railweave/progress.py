"""The progress function that ignores all messages, which is the default of parameters for progress."""

from __future__ import annotations


def silent(_: object) -> None:
    """Ignore a progress message."""
