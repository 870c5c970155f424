"""``railweave schema``."""

from __future__ import annotations

import typer

from railweave.cli.output import JSON, QUIET, print_json
from railweave.errors import InputError, Option, Problem


def schema(
    markdown: bool = typer.Option(False, "--markdown", help="Print the field-by-field reference instead."),
    as_json: bool = JSON,
    quiet: bool = QUIET,  # noqa: ARG001 - every verb has it; nothing here takes long
) -> None:
    """Print the JSON Schema of the fabric file, for editors. It is JSON with and without --json."""
    from railweave.model.intent.reference import fabric_reference, fabric_schema

    if markdown and as_json:
        raise InputError([Problem(Option("--markdown"), "it is not JSON", "leave out --json or --markdown")])
    if markdown:
        typer.echo(fabric_reference(), nl=False)
    else:
        print_json(fabric_schema())
