"""``railweave collect``: save the configuration and state of every switch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from railweave.api.options import Opt
from railweave.api.verbs import Collect
from railweave.cli.command import command
from railweave.cli.output import print_json, telling
from railweave.counting import counted

if TYPE_CHECKING:
    from railweave.live.collect.collect import CollectResult


@dataclass(frozen=True, kw_only=True)
class CollectShown(Collect):
    """Options of ``railweave collect``."""

    questions: Annotated[
        bool, Opt("Only print the queries for each device, so that you can run them by hand. No device is contacted.")
    ] = False


@command(CollectShown)
def collect(options: CollectShown, *, as_json: bool, quiet: bool) -> None:
    """Read the configuration and state of every switch, and save them in a folder, called a capture. No device is changed.

    Exits 0 if every device answered every query, 1 if not, and 2 on wrong input.
    """
    from railweave.api import collect as ask
    from railweave.api import questions_of
    from railweave.pages.table import Table, columns

    if options.questions:
        asked = questions_of(
            options.network(),
            only=options.only,
            servers=options.servers,
            tables=options.tables or None,
        )
        if as_json:
            print_json(
                {
                    name: [{"file": question.file, "asked": dict(question.asked)} for question in questions]
                    for name, questions in asked.items()
                }
            )
            return
        for name, questions in asked.items():
            typer.echo(f"{name}:")
            rows = [(question.file, question.words()) for question in questions]
            for line in Table(columns("file", "asked"), rows).to_text("  ", head=False):
                typer.echo(line)
        return
    with telling(quiet=quiet or as_json) as say:
        result = ask.of(replace(options, progress=say))
    if as_json:
        print_json(result.to_json())
    else:
        _print(result)
    if not result.complete:
        raise typer.Exit(1)


def _print(result: CollectResult) -> None:
    for outcome in result.outcomes:
        if outcome.status == "answered":
            continue
        typer.echo(
            f"{outcome.device}: {outcome.status}: {outcome.answered} of {outcome.asked} answered"
            + (f": {outcome.error}" if outcome.error else "")
        )
        for name, why in outcome.failed.items():
            typer.echo(f"  {name}: {why}")
    whole = sum(outcome.status == "answered" for outcome in result.outcomes)
    typer.echo(f"{result.folder}: {whole} of {counted(len(result.outcomes), 'device')} answered everything")
