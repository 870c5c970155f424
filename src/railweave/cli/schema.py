"""``railweave schema``: print the JSON Schema of the fabric file, or of what a verb prints with ``--json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from railweave.api.options import Argument, Opt
from railweave.cli.command import command
from railweave.cli.output import print_json
from railweave.errors import InputError, Option, Problem


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Options of ``railweave schema``."""

    words: Annotated[
        Sequence[str],
        Argument(
            "The word output and a verb, for example `output deploy plan`: the schema of what the verb prints with --json. `output` without a verb lists the verbs. Default: the schema of the fabric file."
        ),
    ] = ()
    markdown: Annotated[bool, Opt("Print the reference of all fields as Markdown, instead of the JSON Schema.")] = False


@command(Schema)
def schema(options: Schema, *, as_json: bool, quiet: bool) -> None:  # noqa: ARG001 - as every verb; it takes no time
    """Print the JSON Schema of the fabric file, with which editors validate and complete the file; or of the JSON output of a verb. The output is JSON even without --json."""
    from railweave.api.starting import fabric_reference, fabric_schema

    if options.words:
        _of_output(options)
        return
    if options.markdown and as_json:
        raise InputError([Problem(Option("--markdown"), "it is not JSON", "leave out --json or --markdown")])
    if options.markdown:
        typer.echo(fabric_reference(), nl=False)
    else:
        print_json(fabric_schema())


def _of_output(options: Schema) -> None:
    """Print the schema of a verb's output, or the verbs that have one."""
    from railweave.api.output_schemas import output_schema, verbs_with_output

    first, *verb = options.words
    if first != "output":
        raise InputError([Problem(Option("schema"), f"{first!r} is not known", "write `railweave schema output VERB`")])
    if options.markdown:
        raise InputError([Problem(Option("--markdown"), "only the fabric file has a reference", "leave it out")])
    print_json(output_schema(" ".join(verb)) if verb else verbs_with_output())
