"""The default function for parameters that receive progress messages."""

from __future__ import annotations


def silent(_: object) -> None:
    """Ignore a progress message."""
