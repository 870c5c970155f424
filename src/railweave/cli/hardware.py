"""``railweave hardware``: the hardware models that designs use, with their sources."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from railweave.api.start_verbs import HardwareList, HardwareShow
from railweave.api.verbs import CSV
from railweave.cli.command import command
from railweave.cli.output import print_json

app = typer.Typer(
    no_args_is_help=True,
    help="List the models of switches, NICs, servers and optics that designs can use, including your own.",
)


@dataclass(frozen=True, kw_only=True)
class HardwareListShown(HardwareList):
    """Options of ``railweave hardware list``."""

    csv: Annotated[Path | None, CSV] = None


@app.command("list", short_help="List models and their descriptions.")
@command(HardwareListShown)
def list_(options: HardwareListShown, *, as_json: bool, quiet: bool) -> None:  # noqa: ARG001 - as every verb; it takes no time
    """List hardware models: name, description, and origin (railweave, or your file that describes the model)."""
    from railweave.api.starting import hardware_list
    from railweave.pages.table import Table, columns
    from railweave.writing import write_asked

    models = hardware_list.of(options)
    rows = [(row.section, row.name, row.origin, row.description) for row in models]
    table = Table(columns("section", "name", "origin", "description"), rows)
    write_asked(options.csv, table.as_csv)
    if as_json:
        print_json([asdict(row) for row in models])
        return
    for line in table.to_text():
        typer.echo(line)


@app.command(short_help="Show one model as a hardware file, with its sources.")
@command(HardwareShow)
def show(options: HardwareShow, *, as_json: bool, quiet: bool) -> None:  # noqa: ARG001 - as every verb; it takes no time
    """Show one model as YAML, as in a hardware file (docs/hardware.md), with the source of each value."""
    from railweave.api.starting import hardware_show

    models = hardware_show.of(options)
    if as_json:
        print_json({model.section: {options.model: model.values} for model in models})
        return
    for model in models:
        typer.echo(model.text)
