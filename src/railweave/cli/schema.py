"""``railweave schema``."""

from __future__ import annotations

import typer

from railweave.cli.output import print_json


def schema(
    markdown: bool = typer.Option(False, "--markdown", help="Print the field-by-field reference instead."),
) -> None:
    """Print the JSON Schema of the fabric file, for editors."""
    from railweave.intent.reference import fabric_reference, fabric_schema

    if markdown:
        typer.echo(fabric_reference(), nl=False)
    else:
        print_json(fabric_schema())
