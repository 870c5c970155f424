"""``railweave sim``: everything after the word is for the engine's own parser, which also runs without Python."""

from __future__ import annotations

import typer


def sim(ctx: typer.Context) -> None:
    """Run flows through the packet engine."""
    from railweave._sim import command

    raise typer.Exit(command("railweave sim", ctx.args))
