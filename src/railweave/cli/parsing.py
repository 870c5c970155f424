"""Commands that are parsed or explained in a way of their own."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class Verbatim(TyperCommand):
    """A command that leaves its words as they are, ``--`` and ``--help`` included."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context, of which typer's release decides where it is
        """Parse nothing."""
        ctx.args = args
        return args


class Sectioned(TyperCommand):
    """A command whose help has its options in sections, by their ``rich_help_panel``."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - likewise
        """Write the sections in the order in which they first occur."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if param.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(param, "rich_help_panel", None) or usual, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
