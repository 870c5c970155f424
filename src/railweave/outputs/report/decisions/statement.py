"""The types in which decisions are passed to the report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """A small table of a decision. ``emphasis`` has the indexes of highlighted rows. They are notes if ``noted`` is True, otherwise faults."""

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
