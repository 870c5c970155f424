"""``railweave host``: all arguments are passed to the parser in ``railweave.host``, which also runs without this package."""

from __future__ import annotations

import typer


def host(ctx: typer.Context) -> None:
    """Configure and check a GPU server: routing tables and rules, RDMA GIDs, job environment."""
    from railweave.host.commands import main

    raise typer.Exit(main(ctx.args))
