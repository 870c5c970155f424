"""``railweave inventory``: facts about the delivered hardware."""

from __future__ import annotations

import typer

from railweave.api.verbs import FillInventory
from railweave.cli.command import command
from railweave.cli.output import print_json, waiting
from railweave.counting import counted

app = typer.Typer(no_args_is_help=True, help="Fill in NAME.inventory.csv, the list of delivered hardware.")


@app.callback()
def root() -> None:
    """Fill in NAME.inventory.csv, the list of delivered hardware."""


@app.command(short_help="Fill in serial numbers, MAC addresses and modules.")
@command(FillInventory)
def fill(options: FillInventory, *, as_json: bool, quiet: bool) -> None:
    """Fill in NAME.inventory.csv, the list of delivered hardware, from the device reports that `railweave collect` saved.

    The command fills in serial numbers, MAC addresses, names of interfaces and RDMA devices, optical modules and cable lengths. Without --write, the
    command only shows the changes, and exits 1 if there are any.

    Without CAPTURE, the command adds an empty row for each switch, server and NIC that the inventory lacks. Fill these rows in by hand.
    """
    from railweave.api import fill_inventory

    with waiting(f"reading and designing {options.fabric}", quiet=quiet or as_json):
        result = fill_inventory.of(options)
    if as_json:
        print_json({**result.to_json(), "written": options.write and result.differs})
    else:
        for line in result.difference():
            typer.echo(line)
        for note in result.notes:
            typer.echo(f"note: {note}")
        rows = options.capture is None
        cells = counted(len(result.cells), "row") if rows else counted(sum(map(len, result.cells.values())), "cell")
        typer.echo(
            f"{result.file}: "
            + (f"{cells} {'written' if options.write else 'to write (--write)'}" if result.differs else "nothing new")
        )
    if result.differs and not options.write:
        raise typer.Exit(1)
