"""How ``railweave lab`` prints what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from railweave.counting import counted
from railweave.lab.faults.page import HEADER, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.lab.assertions import Outcome
    from railweave.lab.faults.measure import Measured
    from railweave.lab.faults.sweep import Swept


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """A line for each assertion, and what failed below it."""
    width = max((len(one.id) for one in outcomes), default=0)
    for one in outcomes:
        word = "failed" if not one.passed else "passed" if one.applies else "none"
        color = {"failed": "red", "passed": "green", "none": "blue"}[word]
        typer.echo(f"{typer.style(f'{word:6}', fg=color)} {one.id:{width}}  {one.evidence}  ({one.seconds:.1f} s)")
        for line in one.failures:
            typer.echo(f"       {line}")
        if one.failed > len(one.failures):
            typer.echo(f"       and {one.failed - len(one.failures):,} more")


def print_sweep(swept: Sequence[Swept]) -> None:
    """What the sweep found: each link that failed, and the times of the others."""
    for one in swept:
        if not one.passed:
            typer.echo(f"{typer.style('failed', fg='red')} with {one.link} down")
            for line in one.failures:
                typer.echo(f"       {line}")
    good = [one for one in swept if one.settled_s is not None and one.returned_s is not None]
    entries = sum(one.entries for one in good)
    typer.echo(
        f"sweep: {len(good)} of {counted(len(swept), 'link')} down one by one, {counted(entries, 'entry', 'entries')} equal to "
        "`routes`"
    )
    if good:
        settled = sorted(one.settled_s or 0 for one in good)
        returned = sorted(one.returned_s or 0 for one in good)
        typer.echo(
            f"       settled after {settled[len(settled) // 2]:.2f} s (median), {settled[-1]:.2f} s at most; as before "
            f"{returned[len(returned) // 2]:.2f} s after the link's return, {returned[-1]:.2f} s at most"
        )


def print_measured(measured: Sequence[Measured]) -> None:
    """What was measured, as a table."""
    table = [HEADER[:-1], *(row[:-1] for row in rows(measured))]
    widths = [max(len(row[place]) for row in table) for place in range(len(HEADER) - 1)]
    for number, row in enumerate(table):
        line = "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        remark = rows(measured[number - 1 : number])[0][-1] if number else ""
        typer.echo(f"{line}  {remark}".rstrip())
    good = sum(one.passed for one in measured)
    typer.echo(
        f"{good} of {counted(len(measured), 'fault')} went as designed: what should keep a path did, and all came back"
    )
