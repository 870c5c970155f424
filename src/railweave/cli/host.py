"""``railweave host``: everything after the word is for the room's own parser, which also runs without this package."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand


class Verbatim(TyperCommand):
    """A command that leaves its words as they are, ``--`` and ``--help`` included."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context, of which typer's release decides where it is
        """Parse nothing."""
        ctx.args = args
        return args


def host(ctx: typer.Context) -> None:
    """On a GPU server: routing tables and rules, RDMA GIDs, job environment."""
    from railweave.host.commands import main

    raise typer.Exit(main(ctx.args))
