"""A command whose words are read by someone else."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class Verbatim(TyperCommand):
    """A command that leaves its words as they are, ``--`` and ``--help`` included."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context, of which typer's release decides where it is
        """Parse nothing."""
        ctx.args = args
        return args
