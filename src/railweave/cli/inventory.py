"""``railweave inventory``: facts about the delivered hardware."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from railweave.api.site_verbs import ServerInventory
from railweave.api.verbs import FillInventory
from railweave.cli.command import command
from railweave.cli.output import print_json, telling, waiting
from railweave.counting import counted

if TYPE_CHECKING:
    from railweave.live.check.learnt import FilledInventory

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
    _show(result, write=options.write, rows=options.capture is None, as_json=as_json)


@app.command("from-netbox", short_help="Fill in serial numbers and MAC addresses of NetBox.")
@command(ServerInventory)
def from_netbox(options: ServerInventory, *, as_json: bool, quiet: bool) -> None:
    """Fill in NAME.inventory.csv from a NetBox server: serial numbers, MAC addresses and names of interfaces.

    A device of NetBox is used if it has the name of a device of the fabric file, or else its rack position and role. Values that the inventory
    has stay: the command reports different values of NetBox. Without --write, it only shows the changes, and exits 1 if there are any. The
    API token is in the environment variable NETBOX_TOKEN.
    """
    from railweave.api.exporting import netbox_inventory

    with telling(quiet=quiet or as_json) as progress:
        result = netbox_inventory.of(replace(options, progress=progress))
    _show(result, write=options.write, rows=False, as_json=as_json)


@app.command("from-nautobot", short_help="Fill in serial numbers and MAC addresses of Nautobot.")
@command(ServerInventory)
def from_nautobot(options: ServerInventory, *, as_json: bool, quiet: bool) -> None:
    """Fill in NAME.inventory.csv from a Nautobot server, as from-netbox does from NetBox. The token is in NAUTOBOT_TOKEN."""
    from railweave.api.exporting import nautobot_inventory

    with telling(quiet=quiet or as_json) as progress:
        result = nautobot_inventory.of(replace(options, progress=progress))
    _show(result, write=options.write, rows=False, as_json=as_json)


def _show(result: FilledInventory, *, write: bool, rows: bool, as_json: bool) -> None:
    """Print how an inventory changes. ``rows`` is True if only empty rows are added."""
    if as_json:
        print_json({**result.to_json(), "written": write and result.differs})
    else:
        for line in result.difference():
            typer.echo(line)
        for note in result.notes:
            typer.echo(f"note: {note}")
        cells = counted(len(result.cells), "row") if rows else counted(sum(map(len, result.cells.values())), "cell")
        typer.echo(
            f"{result.file}: "
            + (f"{cells} {'written' if write else 'to write (--write)'}" if result.differs else "nothing new")
        )
    if result.differs and not write:
        raise typer.Exit(1)
