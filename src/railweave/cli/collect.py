"""``railweave collect``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.output import DEVICE, HARDWARE, QUIET, print_json, telling
from railweave.counting import counted

if TYPE_CHECKING:
    from railweave.live.collect.collect import Collected


def collect(
    fabric: Path = typer.Argument(..., help="Fabric file or build folder."),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder for the capture; an earlier one is replaced."
    ),
    access: Path | None = typer.Option(
        None, "--access", help="How devices are reached: access.yaml (docs/collect.md)."
    ),
    only: list[str] = typer.Option([], "--only", help="Ask this switch or server alone; may be repeated."),
    servers: bool = typer.Option(False, "--servers", help="Ask servers too."),
    all_routes: bool = typer.Option(
        False, "--all-routes", help="Ask for whole tables of routes, not only for examples."
    ),
    redact: bool = typer.Option(
        True, "--redact/--no-redact", help="Take keys, hashes and communities out of what is written."
    ),
    lab: bool = typer.Option(False, "--lab", help="Ask the devices of the lab of this file, which is up. Needs root."),
    questions: bool = typer.Option(
        False, "--questions", help="Print the questions for each device, to ask them by hand, and contact no device."
    ),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON, and an error as JSON too."),
    quiet: bool = QUIET,
) -> None:
    """Ask every switch for its configuration and its state, and write the answers into a folder, a capture. Nothing is changed on any device.

    Exits 0 where every device answered everything, 1 where one did not.
    """
    from railweave.api import collect as ask
    from railweave.api import load, questions_of
    from railweave.errors import InputError, Option, Problem

    if questions:
        asked = questions_of(
            load(fabric, device=device, hardware=hardware), only=only, servers=servers, tables=all_routes
        )
        if as_json:
            print_json(
                {name: [{"file": one.file, "asked": dict(one.asked)} for one in found] for name, found in asked.items()}
            )
            return
        for name, found in asked.items():
            typer.echo(f"{name}:")
            width = max((len(one.file) for one in found), default=0)
            for one in found:
                typer.echo(f"  {one.file:{width}}  {one.words()}")
        return
    if output is None:
        fix = "name the folder for the answers: -o CAPTURE"
        raise InputError([Problem(Option("--output"), "it is missing", fix)])
    with telling(quiet=quiet or as_json) as say:
        result = ask(
            fabric if lab else load(fabric, device=device, hardware=hardware),
            output,
            access=access,
            only=only,
            servers=servers,
            tables=all_routes,
            redact=redact,
            lab=lab,
            progress=say,
        )
    if as_json:
        print_json(result.to_json())
    else:
        _print(result)
    if not result.complete:
        raise typer.Exit(1)


def _print(result: Collected) -> None:
    for one in result.outcomes:
        if one.status == "answered":
            continue
        typer.echo(
            f"{one.device}: {one.status}: {one.answered} of {one.asked} answered"
            + (f": {one.error}" if one.error else "")
        )
        for name, why in one.failed.items():
            typer.echo(f"  {name}: {why}")
    whole = sum(one.status == "answered" for one in result.outcomes)
    typer.echo(f"{result.folder}: {whole} of {counted(len(result.outcomes), 'device')} answered everything")
