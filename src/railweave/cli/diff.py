"""``railweave diff``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.options import DEVICE
from railweave.cli.output import print_json

if TYPE_CHECKING:
    from railweave.outputs.differences import NetworkDiff


class Form(StrEnum):
    """How a diff is printed."""

    text = "text"
    junos_set = "junos-set"
    eos = "eos"
    frr = "frr"
    dell_sonic = "dell-sonic"
    sonic_patch = "sonic-patch"


def diff(
    old: Path = typer.Argument(..., help="Fabric file or build folder."),
    new: Path = typer.Argument(
        ...,
        help="Fabric file or build folder; a file is designed with OLD's lock, and its inventory where it has none.",
    ),
    form: Form = typer.Option(
        Form.text,
        "--as",
        help="text; the commands per device: junos-set, eos, frr, dell-sonic; or sonic-patch: a JSON patch (RFC 6902) per device.",
    ),
    device: list[str] = DEVICE,
    as_json: bool = typer.Option(False, "--json", help="Print the difference as JSON."),
) -> None:
    """Show what changes, per device, between two fabric files or builds. Exits 0 where nothing does, 1 where something does."""
    from railweave.api import diff as compare

    found = compare(old, new, device=device)
    if as_json:
        print_json(found.to_json())
    elif form is Form.sonic_patch:
        print_json(found.patches("sonic", "config_db.json"))
    else:
        for line in _lines(found, form):
            typer.echo(line)
        if found.equal and form is Form.text:
            typer.echo("no difference")
    if not found.equal:
        raise typer.Exit(1)


def _lines(found: NetworkDiff, form: Form) -> list[str]:
    if form is Form.text:
        return found.lines()
    return found.junos_lines() if form is Form.junos_set else found.command_lines(form.value.replace("-", "_"))
