"""``railweave hardware``: the models that designs are made of, with their sources."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.output import HARDWARE, JSON, QUIET, print_json

if TYPE_CHECKING:
    from railweave.model.catalog.hardware_files import OwnHardware
    from railweave.model.catalog.models import Catalog

app = typer.Typer(no_args_is_help=True, help="List switches, NICs, servers and optics, your own among them.")

FABRIC = typer.Option(None, "--fabric", help="A fabric file whose `hardware:` is listed too.")


@app.command("list", short_help="List models with what each of them is.")
def list_(
    section: str | None = typer.Argument(None, help="switches, nics, servers or optics; all where it is left out."),
    hardware: Path | None = HARDWARE,
    fabric: Path | None = FABRIC,
    as_json: bool = JSON,
    quiet: bool = QUIET,  # noqa: ARG001 - as every verb; it takes no time
) -> None:
    """List models: name, what it is, and whether the package or which file describes it."""
    from dataclasses import asdict

    from railweave.errors import Argument, InputError, Problem
    from railweave.model.catalog.words import SECTIONS, rows

    if section is not None and section not in SECTIONS:
        fix = f"sections are {', '.join(SECTIONS)}"
        raise InputError([Problem(Argument("hardware list"), f"there is no section {section!r}", fix)])
    known, own = _known(hardware, fabric)
    wanted = [one for one in rows(known, own.places) if section in {None, one.section}]
    if as_json:
        print_json([asdict(one) for one in wanted])
        return
    width = max((len(one.name) for one in wanted), default=0)
    before = ""
    for one in wanted:
        if one.section != before:
            typer.echo(f"{one.section}:")
            before = one.section
        origin = "" if one.origin == "package" else f"  [{one.origin}]"
        typer.echo(f"  {one.name:{width}}  {one.description}{origin}")


@app.command(short_help="Show one model as a hardware file, with its sources.")
def show(
    model: str = typer.Argument(..., help="Name of a model, as `hardware list` has it."),
    hardware: Path | None = HARDWARE,
    fabric: Path | None = FABRIC,
    as_json: bool = JSON,
    quiet: bool = QUIET,  # noqa: ARG001 - as every verb; it takes no time
) -> None:
    """Show one model with the source of each value, as a hardware file would have it."""
    from railweave.errors import Argument, InputError, Problem
    from railweave.model.catalog.words import found, text, to_json

    known, own = _known(hardware, fabric)
    sections = found(known, model)
    if not sections:
        fix = "`railweave hardware list` names them; docs/hardware.md says how to add one"
        raise InputError([Problem(Argument("hardware show"), f"there is no model {model!r}", fix)])
    if as_json:
        print_json({section: {model: to_json(known, section, model)} for section in sections})
        return
    for section in sections:
        typer.echo(text(known, section, model, own.places))


def _known(hardware: Path | None, fabric: Path | None) -> tuple[Catalog, OwnHardware]:
    from railweave.model.catalog import packaged
    from railweave.model.catalog.hardware_files import own_hardware
    from railweave.model.intent.reading.document import read_document

    own = own_hardware(hardware, None if fabric is None else read_document(fabric))
    return packaged().with_hardware(own.hardware), own
