"""``railweave check``: compare the running network with its design."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from railweave.api.options import Opt
from railweave.api.verbs import CSV, Check, ForPipelines
from railweave.cli.command import command
from railweave.cli.output import print_findings, print_json, refusing, tally, telling, write_csv, write_findings
from railweave.counting import counted


@dataclass(frozen=True, kw_only=True)
class CheckShown(Check, ForPipelines):
    """Options of ``railweave check``."""

    junit: Annotated[
        Path | None, Opt("Also write a JUnit file (XML) with a test case for each device and rule.", metavar="FILE")
    ] = None
    html: Annotated[
        Path | None, Opt("Also write a page (.html) that marks the faults on a drawing of the network.", metavar="FILE")
    ] = None
    csv: Annotated[Path | None, CSV] = None
    all_: Annotated[
        bool,
        Opt(
            "Also print findings of severity info, and findings that another finding explains. Default: only errors and warnings."
        ),
    ] = False


@command(CheckShown)
def check(options: CheckShown, *, as_json: bool, quiet: bool) -> None:
    """Compare the state that the devices of a running network report with the design. The state is read from a folder (CAPTURE), from the devices (--live) or from a lab (--lab). Each difference is reported as a finding. Exits 1 if a finding is an error."""
    from railweave.api import check as run
    from railweave.writing import write_asked

    with refusing(options, source=options.source, as_json=as_json), telling(quiet=quiet or as_json) as say:
        result = run.of(replace(options, progress=say))
    write_asked(options.junit, result.to_junit)
    write_asked(options.html, result.to_html)
    write_csv(options.csv, result)
    write_findings(
        options,
        result.findings,
        source=options.source,
        exit_code=int(not result.good),
        counts=result.totals,
        as_json=as_json,
    )
    if as_json:
        print_json(result.to_json())
    else:
        print_findings(result.findings, least=("error", "warning", "info") if options.all_ else ("error", "warning"))
        if tasks := result.task_table.to_text("  "):
            typer.echo("\n".join(["punch list:", *tasks]))
        if result.unseen_rows:
            typer.echo("\n".join(["seen of what is expected:", *result.subjects.to_text("  ")]))
        answered = f"{len(result.answered)} of {counted(len(result.devices), 'device')} answered"
        typer.echo(f"{answered}, {result.seen}: {tally(result.findings)}")
        for nos, subjects in result.not_asked.items():
            if options.all_:
                typer.echo(f"not asked on {nos}: {', '.join(subjects)}")
    if not result.good:
        raise typer.Exit(1)
