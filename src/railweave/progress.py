"""The progress function that ignores all messages. It is the default of progress parameters."""

from __future__ import annotations


def silent(_: object) -> None:
    """Ignore a progress message."""
