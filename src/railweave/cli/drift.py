"""``railweave drift``: show how saved configurations differ from the design."""

from __future__ import annotations

from dataclasses import dataclass, replace

import typer

from railweave.api.verbs import DriftOptions, ForPipelines
from railweave.cli.command import command
from railweave.cli.output import print_findings, print_json, refusing, telling, waiting, write_findings
from railweave.counting import counted


@dataclass(frozen=True, kw_only=True)
class DriftShown(DriftOptions, ForPipelines):
    """Options of ``railweave drift``."""


@command(DriftShown)
def drift(options: DriftShown, *, as_json: bool, quiet: bool) -> None:
    """Compare the saved configurations of switches with the design, and report how each difference affects traffic.

    Exits 0 if nothing differs. Exits 1 if something differs, or if CAPTURE lacks a switch of the design.
    """
    from railweave.api import drift as compare

    with (
        refusing(options, source=options.source, as_json=as_json),
        waiting(f"reading and designing {options.source}", quiet=quiet or as_json),
        telling(quiet=quiet or as_json) as say,
    ):
        comparison = compare.of(replace(options, progress=say))
    write_findings(
        options,
        comparison.all_findings,
        source=options.source,
        exit_code=int(not comparison.proven),
        counts=comparison.counts,
        as_json=as_json,
    )
    if as_json:
        print_json({**comparison.to_json(), "adopted": comparison.adopted})
    else:
        for line in comparison.lines():
            typer.echo(line)
        if comparison.findings:
            typer.echo("what the checks say of the running network, and not of the designed one:")
            print_findings(comparison.findings)
        for line in comparison.adopted:
            typer.echo(line if line.startswith("not adopted") else f"adopted: {line}")
        unreadable, missing = comparison.unreadable, len(comparison.missing)
        differ = comparison.wrong - unreadable
        typer.echo(
            f"{counted(comparison.compared - unreadable, 'switch', 'switches')} compared: "
            + (f"{differ} {'differs' if differ == 1 else 'differ'} from the design" if differ else "no difference")
            + (f"; {counted(unreadable, 'switch', 'switches')} not readable" if unreadable else "")
            + (f"; {counted(missing, 'switch', 'switches')} not seen" if missing else "")
        )
    if not comparison.proven:
        raise typer.Exit(1)
