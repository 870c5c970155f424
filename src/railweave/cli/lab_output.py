"""Output of ``railweave lab``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from railweave.counting import counted
from railweave.live.lab.faults.page import faults_table
from railweave.pages.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from railweave.analysis.routing.table import Routes
    from railweave.live.lab.assertions import Outcome
    from railweave.live.lab.faults.measure import FaultMeasurement
    from railweave.live.lab.faults.sweep import LinkOutage
    from railweave.live.lab.fib import Difference
    from railweave.live.lab.life import LabRemoval, LabStart
    from railweave.live.lab.state import Record
    from railweave.live.lab.status import Status


def print_up(made: LabStart) -> None:
    """Print the size of a lab, the time to bring it up, and the devices that did not converge."""
    record, timers = made.record, made.record.timers()
    took = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in made.seconds.items())
    typer.echo(
        f"{record.network}: {counted(made.routers, 'router')} (FRR {record.frr_version}), "
        f"{counted(made.servers, 'server')}, {counted(made.links, 'link')} up in {sum(made.seconds.values()):.1f} s ({took})"
    )
    typer.echo(f"timers: {f'the lab has its own: {timers.sentence()}' if timers else 'as designed'}")
    typer.echo(f"look around: ip netns exec {record.lab}-{record.devices[0]} ip -6 route")
    for line in made.unsettled[:10]:
        typer.echo(f"not settled: {line}")
    if not made.addresses:
        typer.echo("not settled: servers lack designed addresses; `railweave lab test` names them")


def print_labs(labs: Sequence[Status]) -> None:
    """Print the labs of this machine."""
    for lab in labs:
        part = f", slice {lab.slice}" if lab.slice else ""
        typer.echo(f"{lab.lab}: {lab.stage}, of {lab.fabric or 'an unknown file'}{part}")
        typer.echo(
            f"    {counted(lab.namespaces, 'namespace')}, {counted(lab.processes, 'process', 'processes')}, {lab.memory_mb} MB, "
            f"{lab.cpu_s:.0f} s of processor time; {lab.frr}"
        )
        typer.echo(f"    timers: {lab.timers}")
        if lab.missing:
            typer.echo(f"    namespaces that are gone: {', '.join(lab.missing)}")
    if not labs:
        typer.echo("no lab here")


def print_gone(gone: LabRemoval) -> None:
    """Print the removed parts of a lab, and the parts that belong to other users."""
    if gone.namespaces or gone.processes or gone.folder:
        typer.echo(f"gone: {counted(gone.processes, 'process', 'processes')}, {counted(gone.namespaces, 'namespace')}")
    else:
        typer.echo("there was nothing")
    for stranger in gone.strangers:
        typer.echo(
            f"process {stranger} is not the lab's and was left alone; its namespace stays, without a name, until it ends"
        )


def print_fib(routes: Routes, file: Path, different: Sequence[Difference]) -> None:
    """Print the number of entries written, and those that differ from `routes`."""
    entries = len(routes.fibs) * len(routes.prefixes)
    devices = counted(len(routes.fibs), "router")
    typer.echo(f"{counted(entries, 'entry', 'entries')} of {devices} in {file}, {len(different):,} unlike `routes`")
    for difference in different[:10]:
        typer.echo(f"    {difference}")


def outcomes_table(outcomes: Sequence[Outcome]) -> Table:
    """Return the table of assertions, one row each."""
    heads = (Column("verdict"), Column("assertion", key="id"), Column("took", "number", "seconds"), Column("evidence"))
    return Table(
        heads,
        [
            (
                "failed" if not outcome.passed else "passed" if outcome.applies else "none",
                outcome.id,
                Cell(outcome.seconds, f"{outcome.seconds:.1f} s"),
                outcome.evidence,
            )
            for outcome in outcomes
        ],
    )


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print one line per assertion, followed by its failures."""
    colors = {"failed": "red", "passed": "green", "none": "blue"}
    lines = outcomes_table(outcomes).to_text(head=False)
    for outcome, row in zip(outcomes, lines, strict=True):
        verdict = row.partition(" ")[0]
        typer.echo(typer.style(verdict, fg=colors[verdict]) + row.removeprefix(verdict))
        for line in outcome.failures:
            typer.echo(f"       {line}")
        if outcome.failed > len(outcome.failures):
            typer.echo(f"       and {outcome.failed - len(outcome.failures):,} more")


def print_sweep(swept: Sequence[LinkOutage]) -> None:
    """Print the results of a sweep: each link that failed, and the times of the others."""
    for result in swept:
        if not result.passed:
            typer.echo(f"{typer.style('failed', fg='red')} with {result.link} down")
            for line in result.failures:
                typer.echo(f"       {line}")
    good = [result for result in swept if result.settled_s is not None and result.returned_s is not None]
    entries = sum(result.entries for result in good)
    typer.echo(
        f"sweep: {len(good)} of {counted(len(swept), 'link')} down one by one, {counted(entries, 'entry', 'entries')} equal to "
        "`routes`"
    )
    if good:
        settled = sorted(result.settled_s or 0 for result in good)
        returned = sorted(result.returned_s or 0 for result in good)
        typer.echo(
            f"       settled after {settled[len(settled) // 2]:.2f} s (median), {settled[-1]:.2f} s at most; as before "
            f"{returned[len(returned) // 2]:.2f} s after the link's return, {returned[-1]:.2f} s at most"
        )


def print_verdict(record: Record, outcomes: Sequence[Outcome]) -> None:
    """Print the number of passed assertions, out of those that apply."""
    about = [outcome for outcome in outcomes if outcome.applies or not outcome.passed]
    passed = sum(outcome.passed for outcome in about)
    part = f", slice {record.slice}" if record.slice else ""
    typer.echo(f"{passed} of {counted(len(about), 'assertion')} passed on {record.network}{part}")
    _print_timers(record)


def _print_timers(record: Record) -> None:
    if overlay := record.timers():
        typer.echo(f"with the lab's own timers: {overlay.sentence()}")


def print_measured(record: Record, measured: Sequence[FaultMeasurement]) -> None:
    """Print the measurements as a table."""
    for line in faults_table(measured).to_text():
        typer.echo(line)
    good = sum(measurement.passed for measurement in measured)
    typer.echo(
        f"{good} of {counted(len(measured), 'fault')} went as designed: what should keep a path did, and all came back"
    )
    _print_timers(record)
