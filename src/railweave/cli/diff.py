"""``railweave diff``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import typer

from railweave.cli.options import DEVICE
from railweave.cli.output import print_json


class Form(StrEnum):
    """How a diff is printed."""

    text = "text"
    junos_set = "junos-set"


def diff(
    old: Path = typer.Argument(..., help="Fabric file or build folder."),
    new: Path = typer.Argument(
        ...,
        help="Fabric file or build folder; a file is designed with OLD's lock, and its inventory where it has none.",
    ),
    form: Form = typer.Option(Form.text, "--as", help="text, or junos-set: delete and set lines per device."),
    device: list[str] = DEVICE,
    as_json: bool = typer.Option(False, "--json", help="Print the difference as JSON."),
) -> None:
    """Show what changes, per device, between two fabric files or builds. Exits 0 where nothing does, 1 where something does."""
    from railweave.api import diff as compare

    found = compare(old, new, device=device)
    if as_json:
        print_json(found.to_json())
    else:
        for line in found.junos_lines() if form is Form.junos_set else found.lines():
            typer.echo(line)
        if found.equal and form is Form.text:
            typer.echo("no difference")
    if not found.equal:
        raise typer.Exit(1)
