"""``railweave paths``: show the links that each queue pair crosses."""

from __future__ import annotations

import typer

from railweave.api.verbs import Connection
from railweave.cli.command import command
from railweave.cli.output import print_json, waiting


@command(Connection)
def paths(options: Connection, *, as_json: bool, quiet: bool) -> None:
    """Show the path of each queue pair (RDMA connection) between two NICs: its GIDs (RDMA addresses), and each link with the share of packets that cross it. Exits 1 if a queue pair has no path."""
    from railweave.api import connection

    with waiting(f"reading and designing {options.source}, and working out routes", quiet=quiet or as_json):
        result = connection.of(options)
    if as_json:
        print_json(result.to_json())
    else:
        typer.echo(result.to_text())
    if not result.complete:
        raise typer.Exit(1)
