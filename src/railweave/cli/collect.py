"""``railweave collect``."""

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
    from railweave.live.collect.collect import Collected


@dataclass(frozen=True, kw_only=True)
class CollectShown(Collect):
    """Options of ``railweave collect``."""

    questions: Annotated[bool, Opt("Print the queries for each device, to run them by hand; contacts no device.")] = (
        False
    )


@command(CollectShown)
def collect(options: CollectShown, *, as_json: bool, quiet: bool) -> None:
    """Ask every switch for its configuration and its state, and write the answers into a folder, a capture. Nothing is changed on any device.

    Exits 0 where every device answered everything, 1 where one did not.
    """
    from railweave.api import collect as ask
    from railweave.api import questions_of

    if options.questions:
        asked = questions_of(
            options.network(),
            only=options.only,
            servers=options.servers,
            tables=options.tables,
        )
        if as_json:
            print_json(
                {name: [{"file": one.file, "asked": dict(one.asked)} for one in found] for name, found in asked.items()}
            )
            return
        for name, found in asked.items():
            typer.echo(f"{name}:")
            width = max((len(one.file) for one in found), default=0)
            for one in found:
                typer.echo(f"  {one.file:{width}}  {one.words()}")
        return
    with telling(quiet=quiet or as_json) as say:
        result = ask.of(replace(options, progress=say))
    if as_json:
        print_json(result.to_json())
    else:
        _print(result)
    if not result.complete:
        raise typer.Exit(1)


def _print(result: Collected) -> None:
    for one in result.outcomes:
        if one.status == "answered":
            continue
        typer.echo(
            f"{one.device}: {one.status}: {one.answered} of {one.asked} answered"
            + (f": {one.error}" if one.error else "")
        )
        for name, why in one.failed.items():
            typer.echo(f"  {name}: {why}")
    whole = sum(outcome.status == "answered" for outcome in result.outcomes)
    typer.echo(f"{result.folder}: {whole} of {counted(len(result.outcomes), 'device')} answered everything")
