"""``railweave schema``: print the JSON Schema of the fabric file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from railweave.api.options import Opt
from railweave.cli.command import command
from railweave.cli.output import print_json
from railweave.errors import InputError, Option, Problem


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Options of ``railweave schema``."""

    markdown: Annotated[bool, Opt("Print the reference of all fields as Markdown, instead of the JSON Schema.")] = False


@command(Schema)
def schema(options: Schema, *, as_json: bool, quiet: bool) -> None:  # noqa: ARG001 - as every verb; it takes no time
    """Print the JSON Schema of the fabric file, with which editors validate and complete the file. The output is JSON even without --json."""
    from railweave.api.starting import fabric_reference, fabric_schema

    if options.markdown and as_json:
        raise InputError([Problem(Option("--markdown"), "it is not JSON", "leave out --json or --markdown")])
    if options.markdown:
        typer.echo(fabric_reference(), nl=False)
    else:
        print_json(fabric_schema())
