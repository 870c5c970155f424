"""The default of ``progress`` parameters: a function that ignores all messages."""

from __future__ import annotations


def silent(_: object) -> None:
    """Ignore a progress message."""
