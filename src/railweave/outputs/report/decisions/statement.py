"""The form in which the report presents a decision."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """A small table of a decision. ``emphasis`` holds the indexes of rows to highlight: as faults or, if ``noted``, as notes."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    emphasis: tuple[int, ...] = ()
    noted: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision: the choice (``chosen``), the reason (``why``), and the facts and tables behind it."""

    title: str
    chosen: str
    why: str
    facts: tuple[tuple[str, str], ...] = ()
    grids: tuple[Grid, ...] = ()
