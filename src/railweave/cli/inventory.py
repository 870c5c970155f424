"""``railweave inventory``: facts about hardware that is there."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.output import DEVICE, HARDWARE, JSON, QUIET, print_json, waiting
from railweave.counting import counted

app = typer.Typer(no_args_is_help=True, help="Keep the inventory of hardware that was delivered.")


@app.callback()
def root() -> None:
    """Keep the inventory of hardware that was delivered."""


@app.command(short_help="Fill in serial numbers, MAC addresses, names, modules and lengths.")
def fill(
    fabric: Path = typer.Argument(..., help="Fabric file; NAME.inventory.csv beside it is filled."),
    capture: Path = typer.Argument(..., help="Folder that `railweave collect` wrote."),
    write: bool = typer.Option(False, "--write", help="Write the file; without it the difference is only shown."),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Fill NAME.inventory.csv from a capture: serial numbers, MAC addresses, names of interfaces and RDMA devices, modules, lengths of cables. Exits 1 where it differs and was not written."""
    from railweave.api import fill_inventory

    with waiting(f"reading and designing {fabric}", quiet=quiet or as_json):
        found = fill_inventory(fabric, capture, write=write, device=device, hardware=hardware)
    if as_json:
        print_json({**found.to_json(), "written": write and found.differs})
    else:
        for line in found.difference():
            typer.echo(line)
        for note in found.notes:
            typer.echo(f"note: {note}")
        cells = counted(sum(map(len, found.cells.values())), "cell")
        typer.echo(
            f"{found.file}: "
            + (f"{cells} {'written' if write else 'to write (--write)'}" if found.differs else "nothing new")
        )
    if found.differs and not write:
        raise typer.Exit(1)
