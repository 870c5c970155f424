"""``railweave diff``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.output import HARDWARE, JSON, QUIET, print_json, waiting

if TYPE_CHECKING:
    from railweave.outputs.folder.differences import NetworkDiff


class Form(StrEnum):
    """How a diff is printed."""

    text = "text"
    junos_set = "junos-set"
    eos = "eos"
    frr = "frr"
    dell_sonic = "dell-sonic"
    sonic_patch = "sonic-patch"
    cables = "cables"


def diff(
    old: Path = typer.Argument(..., help="Fabric file or build folder."),
    new: Path = typer.Argument(
        ...,
        help="Fabric file or build folder; a file is designed with OLD's lock, and its inventory where it has none.",
    ),
    form: Form = typer.Option(
        Form.text,
        "--as",
        help="text; the commands per device: junos-set, eos, frr, dell-sonic; sonic-patch: a JSON patch (RFC 6902) per device; or cables: a CSV list of the cables to lay, remove, move or replace.",
    ),
    device: list[str] = typer.Option(
        [], "--device", help="Other switches for both files, as for `build`: shows the change on those switches."
    ),
    old_device: list[str] = typer.Option([], "--old-device", help="Other switches for OLD alone."),
    new_device: list[str] = typer.Option(
        [], "--new-device", help="Other switches for NEW alone, which may then be the same file as OLD."
    ),
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Show what changes, per device, between two fabric files or builds. Exits 0 where nothing does, 1 where something does."""
    from railweave.api import diff as compare

    with waiting(f"comparing {old} with {new}", quiet=quiet or as_json):
        found = compare(old, new, device=device, old_device=old_device, new_device=new_device, hardware=hardware)
    if as_json:
        print_json(found.to_json())
    elif form is Form.sonic_patch:
        patches = found.patches("sonic", "config_db.json")
        print_json(patches)
        for line in found.not_as_patches("sonic", "config_db.json") or [_nothing(found, form)] * (not patches):
            typer.echo(line, err=True)
    else:
        lines = _lines(found, form)
        for line in lines:
            typer.echo(line)
        if not lines:
            typer.echo(_nothing(found, form), err=form is not Form.text)
    if not found.equal:
        raise typer.Exit(1)


def _nothing(found: NetworkDiff, form: Form) -> str:
    """Why there is nothing to print."""
    if found.equal:
        return "no difference"
    if form is Form.cables:
        return "nothing to print as cables: no cable, optic or device with cables moves"
    others = sorted({name for device in found.devices for name in device.systems if name})
    runs = f": the switches that change run {', '.join(others)}" if others else ": no switch changes"
    return f"nothing to print as {form.value}{runs}"


def _lines(found: NetworkDiff, form: Form) -> list[str]:
    if form is Form.text:
        return found.lines()
    if form is Form.cables:
        return found.cable_lines()
    return found.junos_lines() if form is Form.junos_set else found.command_lines(form.value.replace("-", "_"))
