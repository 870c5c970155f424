"""The form of a decision as the report states it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """A small table of a decision; ``emphasis`` are the places of rows that need attention, as wrong or as ``noted``."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    emphasis: tuple[int, ...] = ()
    noted: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision: what was ``chosen``, ``why``, and the facts and tables behind it."""

    title: str
    chosen: str
    why: str
    facts: tuple[tuple[str, str], ...] = ()
    grids: tuple[Grid, ...] = ()
