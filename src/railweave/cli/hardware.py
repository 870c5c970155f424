"""``railweave hardware``: the hardware models that designs use, with their sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave.api.options import Argument, Opt
from railweave.api.verbs import CSV, HARDWARE
from railweave.cli.command import command
from railweave.cli.output import print_json, write_csv

if TYPE_CHECKING:
    from railweave.model.catalog.hardware_files import OwnHardware
    from railweave.model.catalog.models import Catalog

app = typer.Typer(
    no_args_is_help=True,
    help="List the models of switches, NICs, servers and optics that designs can use, including your own.",
)


@dataclass(frozen=True, kw_only=True)
class HardwareList:
    """Options of ``railweave hardware list``."""

    section: Annotated[
        str | None, Argument("Kind of models to list: switches, nics, servers or optics; default: all kinds.")
    ] = None
    hardware: Annotated[Path | None, HARDWARE] = None
    fabric: Annotated[Path | None, Opt("Fabric file; also list the models that its section `hardware:` describes.")] = (
        None
    )
    csv: Annotated[Path | None, CSV] = None


@app.command("list", short_help="List models and their descriptions.")
@command(HardwareList)
def list_(options: HardwareList, *, as_json: bool, quiet: bool) -> None:  # noqa: ARG001 - as every verb; it takes no time
    """List hardware models: name, description, and origin (the package, or the file that describes the model)."""
    from dataclasses import asdict

    from railweave.errors import Argument, InputError, Problem
    from railweave.model.catalog.words import SECTIONS, rows
    from railweave.pages.table import Table, columns

    if options.section is not None and options.section not in SECTIONS:
        fix = f"sections are {', '.join(SECTIONS)}"
        raise InputError([Problem(Argument("hardware list"), f"there is no section {options.section!r}", fix)])
    known, local_hardware = _known(options.hardware, options.fabric)
    wanted = [row for row in rows(known, local_hardware.places) if options.section in {None, row.section}]
    models = [(row.section, row.name, row.origin, row.description) for row in wanted]
    table = Table(columns("section", "name", "origin", "description"), models)
    write_csv(options.csv, table)
    if as_json:
        print_json([asdict(row) for row in wanted])
        return
    for line in table.to_text():
        typer.echo(line)


@dataclass(frozen=True, kw_only=True)
class HardwareShow:
    """Options of ``railweave hardware show``."""

    model: Annotated[str, Argument("Model name, as listed by `hardware list`.")]
    hardware: Annotated[Path | None, HARDWARE] = None
    fabric: Annotated[Path | None, Opt("Fabric file; also find models that its section `hardware:` describes.")] = None


@app.command(short_help="Show one model as a hardware file, with its sources.")
@command(HardwareShow)
def show(options: HardwareShow, *, as_json: bool, quiet: bool) -> None:  # noqa: ARG001 - as every verb; it takes no time
    """Show one model in the form of a hardware file, with the source of each value."""
    from railweave.errors import Argument, InputError, Problem
    from railweave.model.catalog.words import sections_of, text, to_json

    known, local_hardware = _known(options.hardware, options.fabric)
    sections = sections_of(known, options.model)
    if not sections:
        fix = "`railweave hardware list` names them; docs/hardware.md says how to add one"
        raise InputError([Problem(Argument("hardware show"), f"there is no model {options.model!r}", fix)])
    if as_json:
        print_json({section: {options.model: to_json(known, section, options.model)} for section in sections})
        return
    for section in sections:
        typer.echo(text(known, section, options.model, local_hardware.places))


def _known(hardware: Path | None, fabric: Path | None) -> tuple[Catalog, OwnHardware]:
    from railweave.model.catalog import packaged
    from railweave.model.catalog.hardware_files import own_hardware
    from railweave.model.intent.reading.document import read_document

    local_hardware = own_hardware(hardware, None if fabric is None else read_document(fabric))
    return packaged().with_hardware(local_hardware.hardware), local_hardware
