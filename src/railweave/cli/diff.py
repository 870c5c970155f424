"""``railweave diff``: show the changes between two fabric files or builds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from railweave.api.options import Opt
from railweave.api.verbs import Diff, ForPipelines
from railweave.cli.command import command
from railweave.cli.output import print_json, refusing, waiting, write_findings

if TYPE_CHECKING:
    from railweave.outputs.folder.differences import NetworkDiff


class Form(StrEnum):
    """The format in which a diff is printed."""

    text = "text"
    junos_set = "junos-set"
    eos = "eos"
    frr = "frr"
    dell_sonic = "dell-sonic"
    sonic_patch = "sonic-patch"
    cables = "cables"


@dataclass(frozen=True, kw_only=True)
class DiffShown(Diff, ForPipelines):
    """Options of ``railweave diff``."""

    form: Annotated[
        Form,
        Opt(
            "Form of the output. text: all changes, for a person to read. junos-set, eos, frr, dell-sonic: commands for each device of that system. sonic-patch: a JSON patch (RFC 6902) for each SONiC device. cables: a CSV list of the cables to lay, remove, move or replace.",
            name="--as",
            metavar="FORM",
        ),
    ] = Form.text


@command(DiffShown)
def diff(options: DiffShown, *, as_json: bool, quiet: bool) -> None:
    """Show the changes from OLD to NEW, device by device. OLD and NEW are fabric files or build folders. Exits 0 if nothing differs, 1 if something does, and 2 on wrong input."""
    from railweave.api import diff as compare

    form = options.form
    with (
        refusing(options, source=options.new, as_json=as_json or form is not Form.text),
        waiting(f"comparing {options.old} with {options.new}", quiet=quiet or as_json),
    ):
        difference = compare.of(options)
    changes = difference.as_findings()
    write_findings(
        options,
        changes,
        source=options.new,
        exit_code=int(not difference.equal),
        counts={"changes": len(changes)},
        as_json=as_json or form is not Form.text,
    )
    if as_json:
        print_json(difference.to_json())
    elif form is Form.sonic_patch:
        patches = difference.patches("sonic", "config_db.json")
        print_json(patches)
        for line in difference.not_as_patches("sonic", "config_db.json") or [_nothing(difference, form)] * (
            not patches
        ):
            typer.echo(line, err=True)
    else:
        lines = _lines(difference, form)
        for line in lines:
            typer.echo(line)
        if not lines:
            typer.echo(_nothing(difference, form), err=form is not Form.text)
    if not difference.equal:
        raise typer.Exit(1)


def _nothing(difference: NetworkDiff, form: Form) -> str:
    """Explain why the output is empty."""
    if difference.equal:
        return "no difference"
    if form is Form.cables:
        return "nothing to print as cables: no cable, optic or device with cables moves"
    others = sorted({name for device in difference.devices for name in device.systems if name})
    runs = f": the switches that change run {', '.join(others)}" if others else ": no switch changes"
    return f"nothing to print as {form.value}{runs}"


def _lines(difference: NetworkDiff, form: Form) -> list[str]:
    if form is Form.text:
        return difference.lines()
    if form is Form.cables:
        return difference.cable_lines()
    return (
        difference.junos_lines() if form is Form.junos_set else difference.command_lines(form.value.replace("-", "_"))
    )
