"""``railweave check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.output import DEVICE, HARDWARE, JSON, QUIET, print_findings, print_json, tally, telling
from railweave.counting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.live.check.check import Task


def check(
    fabric: Path = typer.Argument(..., help="Fabric file or build folder."),
    capture: Path | None = typer.Argument(
        None, help="Folder that `railweave collect` wrote; left out with --live and --lab."
    ),
    live: bool = typer.Option(False, "--live", help="Ask the devices now, as `railweave collect` does."),
    access: Path | None = typer.Option(
        None, "--access", help="With --live, how devices are reached: access.yaml (docs/collect.md)."
    ),
    ask: list[str] = typer.Option([], "--ask", help="With --live, ask this device alone; may be repeated."),
    servers: bool = typer.Option(False, "--servers", help="With --live, ask servers too."),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="With --live, keep what devices said in this folder, as a capture."
    ),
    redact: bool = typer.Option(
        True, "--redact/--no-redact", help="With --live, take keys, hashes and communities out of what is kept."
    ),
    lab: bool = typer.Option(False, "--lab", help="Ask the routers of the lab of this file, which is up. Needs root."),
    since: Path | None = typer.Option(
        None, "--since", help="An earlier capture, to see by how much counters have risen since then."
    ),
    only: list[str] = typer.Option([], "--only", help="Keep findings of this id alone; may be repeated."),
    all_routes: bool = typer.Option(
        False, "--all-routes", help="Compare every route that the capture has, not only examples."
    ),
    junit: Path | None = typer.Option(None, "--junit", help="Write a JUnit file: a test case per device and rule."),
    html: Path | None = typer.Option(None, "--html", help="Write a page that marks what is wrong on the topology."),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    all_: bool = typer.Option(False, "--all", help="Print notes too, and findings that another finding explains."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Compare the state of a running network, as its devices reported it, with the design. Exits 1 where a finding is an error."""
    from railweave.api import check as run
    from railweave.writing import write_file

    with telling(quiet=quiet or as_json) as say:
        result = run(
            fabric,
            capture,
            live=live,
            access=access,
            ask=ask,
            servers=servers,
            output=output,
            redact=redact,
            lab=lab,
            since=since,
            only=only,
            all_routes=all_routes,
            device=device,
            hardware=hardware,
            progress=say,
        )
    if junit is not None:
        from railweave.live.check.check import junit as document

        write_file(junit, document(result))
    if html is not None:
        from railweave.outputs.report.living import living_html

        rows = [(one.rack, one.device, one.port, one.do, one.because) for one in result.tasks]
        write_file(html, living_html(result.network, result.findings, rows, len(result.devices), len(result.answered)))
    if as_json:
        print_json(result.to_json())
    else:
        print_findings(result.findings, least=("error", "warning", "info") if all_ else ("error", "warning"))
        _print_tasks(result.tasks)
        answered = f"{len(result.answered)} of {counted(len(result.devices), 'device')} answered"
        typer.echo(f"{answered}: {tally(result.findings)}")
    if not result.good:
        raise typer.Exit(1)


def _print_tasks(tasks: Sequence[Task]) -> None:
    """The punch list, rack by rack."""
    if not tasks:
        return
    typer.echo("punch list, by rack:")
    rack = None
    devices = max(len(one.device) for one in tasks)
    ports = max(len(one.port) for one in tasks)
    for one in tasks:
        if one.rack != rack:
            rack = one.rack
            if rack:
                typer.echo(f"  rack {rack}")
        typer.echo(f"  [ ] {one.device:{devices}}  {one.port:{ports}}  {one.do}")
