"""Counts in words."""

from __future__ import annotations


def several(role: str) -> str:
    """The plural of a role of switches: ``leaves``, ``spines``."""
    return "leaves" if role == "leaf" else f"{role}s"


def counted(count: int, singular: str, plural: str = "") -> str:
    """A count with its noun: ``1 leaf``, ``8,192 GPUs``."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"
