"""One check of a runbook."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """A thing to look at: the ``commands`` to type, and what must be seen, as points and as a table."""

    title: str
    commands: tuple[str, ...]
    points: tuple[str, ...]
    header: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
