"""Counts with nouns, and plurals, for messages."""

from __future__ import annotations


def several(role: str) -> str:
    """Return the plural of a switch role, such as ``leaves`` or ``spines``."""
    return "leaves" if role == "leaf" else f"{role}s"


def counted(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun, such as ``1 leaf`` or ``8,192 GPUs``. An empty ``plural`` means the singular with an "s"."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"
