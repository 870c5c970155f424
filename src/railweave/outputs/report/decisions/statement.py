"""The types in which functions that explain decisions pass them to the report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """A small table of a decision.

    ``emphasis`` has the indexes of highlighted rows. ``noted`` is True if these rows are only worth noting, and False if they show a fault.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    emphasis: tuple[int, ...] = ()
    noted: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision: the choice (``chosen``), the reason (``why``), further facts as (title, text), and tables (``grids``)."""

    title: str
    chosen: str
    why: str
    facts: tuple[tuple[str, str], ...] = ()
    grids: tuple[Grid, ...] = ()
