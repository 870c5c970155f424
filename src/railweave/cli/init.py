"""``railweave init``: create a fabric file from an example or for a number of GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.api.start_verbs import Init
from railweave.cli.command import command
from railweave.cli.init_questions import answered, asks, by_default, confirm
from railweave.cli.output import print_findings, print_json, waiting
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from railweave.outputs.folder.starting import StartedFabric

LIST = "list"
"""The word that lists names: after ``--example`` the names of the examples, after ``--nic`` the names of the models."""


@command(Init)
def init(options: Init, *, as_json: bool, quiet: bool) -> None:
    """Write a new fabric file (the YAML file that describes a network): a copy of an example (--example), or a network sized for a number of GPUs (--gpus).

    On a terminal, without these two options, `init` asks for servers, models, load balancing and a name. Each question has
    a default.

    Next to the fabric file, `init` writes fabric.schema.json, with which editors validate and complete the file, and an
    inventory (list of hardware) to fill in.

    With --gpus, the output compares the chosen topology with its alternatives: switches, optics, cables, spare ports,
    cost of growth, limits reached. The output also lists the findings (mistakes and risks) that `railweave build` will
    report. Exits 1 if a finding is an error.
    """
    if options.nic == LIST:
        _models(options, as_json=as_json)
        return
    asking = asks(options, silent=as_json or quiet)
    if asking:
        options = answered(options)
    elif options.yes and options.gpus is None and options.example is None:
        options = by_default(options)
    if (options.example is None) == (options.gpus is None):
        raise InputError(
            [
                Problem(
                    Option("init"),
                    "nothing to start from",
                    "give --example NAME or --gpus NUMBER, one of them; on a terminal, `init` without both asks",
                )
            ]
        )
    if options.folder is None and options.example != LIST:
        fix = "name the folder to create: `railweave init FOLDER ...`"
        raise InputError([Problem(Option("init"), "there is no folder for the files", fix)])
    if options.example is not None:
        _example(Path(options.folder or ""), options.example, as_json=as_json, quiet=quiet or as_json)
        return
    from railweave.api.starting import confirmed_by, init_sized

    if asking:
        started = confirmed_by(options, confirm)
    else:
        with waiting(f"sizing, designing and checking a fabric for {options.gpus} GPUs", quiet=quiet or as_json):
            started = init_sized.of(options)
    for line in started.notes if started.predicted or not as_json else ():
        typer.echo(line, err=as_json)
    if as_json:
        print_json(started.to_json())
    else:
        _print(started)
    if not started.good:
        raise typer.Exit(1)


def _models(options: Init, *, as_json: bool) -> None:
    """Print the models that --nic accepts."""
    from railweave.api import init_choices

    catalog = init_choices.known(options.hardware)
    if as_json:
        print_json(
            [dict(zip(("server", "gpus", "nics"), row, strict=True)) for row in init_choices.sized_servers(catalog)]
        )
        return
    for line in init_choices.servers(catalog):
        typer.echo(line)


def _example(folder: Path, example: str, *, as_json: bool, quiet: bool) -> None:
    from railweave.examples import example_names

    if example == LIST:
        if as_json:
            print_json(example_names())
        for name in [] if as_json else example_names():
            typer.echo(name)
        return
    from railweave.api.starting import init_example

    with waiting(f"designing {example} for its inventory", quiet=quiet):
        written = init_example(example, folder)
    if as_json:
        print_json({"wrote": str(written[0]), "files": [str(path) for path in written]})
        return
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"next: railweave build {written[0]} -o {folder / 'out'}")


def _print(started: StartedFabric) -> None:
    for line in started.lines():
        typer.echo(line)
    if started.findings:
        typer.echo("build will report:")
        print_findings(started.findings)
    path = started.written[0]
    typer.echo(f"next: railweave build {path} -o {path.parent / 'out'}")
