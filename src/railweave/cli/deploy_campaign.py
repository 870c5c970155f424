"""``railweave deploy campaign``: break on purpose what a scenario file says, and lay what that does beside the prediction."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.output import HARDWARE, JSON, QUIET, print_json, telling

_HELP_DIGEST = (
    "The campaign's digest, as it shows it: that you have read it. Without it, and without --yes, nothing is broken."
)


def campaign(
    fabric: Path = typer.Argument(..., help="Fabric file."),
    scenario: Path = typer.Argument(..., help="Scenario file, whose faults happen one after another."),
    access: Path | None = typer.Option(
        None, "--access", help="How switches are reached: access.yaml (docs/collect.md)."
    ),
    rehearse: bool = typer.Option(
        False, "--rehearse", help="In the lab of this fabric file, which is up, beside `lab fault`; needs root."
    ),
    blast_radius: str = typer.Option(
        "1", "--blast-radius", help="How many switches may be touched at once; or the names of those that may, A,B."
    ),
    force: list[str] = typer.Option(
        [], "--force", help="Path color, plane, tenant, NIC or switch that may be gone meanwhile; may be repeated."
    ),
    hold: float = typer.Option(20.0, "--hold", min=1, help="Seconds that each turn lasts at least."),
    restore_within: int = typer.Option(
        120, "--restore-within", min=30, max=3600, help="Seconds after its end in which a switch restores itself."
    ),
    settle: float = typer.Option(120.0, "--settle", min=0, help="Seconds that the network may take to be as before."),
    lab_results: Path | None = typer.Option(
        None, "--lab-results", help="What `lab fault --scenario SCENARIO --json` printed: the column `lab`."
    ),
    digest: str = typer.Option("", "--digest", help=_HELP_DIGEST),
    yes: bool = typer.Option(False, "--yes", help="Break it without its digest."),
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Break on a running network what a scenario file says, with a timer on each switch that restores it, and measure what that does.

    First without --digest: it shows what each turn changes, what would be gone, what is predicted, and breaks nothing. Ctrl-C restores at
    once. Exits 1 where it is refused, or the network is not as before afterwards.
    """
    from railweave.api.deploying import campaign_plan, campaign_run, rehearsed
    from railweave.api.deploying import lab_results as read_results
    from railweave.operations.deploy.campaign.carrying import HEAD, Limits, rows

    measured = read_results(lab_results)
    with telling(quiet=quiet or as_json) as say:
        found = campaign_plan(
            fabric,
            scenario,
            lab=rehearse,
            access=access,
            blast_radius=blast_radius,
            force=force,
            hold=hold,
            hardware=hardware,
            progress=say,
        )
    if digest and digest != found.digest:
        raise typer.BadParameter(f"the digest of this campaign is {found.digest}", param_hint="--digest")
    if found.refused or not (digest or yes):
        if as_json:
            print_json(found.to_json())
        else:
            for line in found.lines():
                typer.echo(line)
            if not found.refused:
                typer.echo(f"nothing was broken; to break it: the same command with --digest {found.digest}")
        raise typer.Exit(1 if found.refused else 0)
    with telling(quiet=quiet or as_json) as say:
        if rehearse and not measured:
            say("lab fault")
            measured = rehearsed(fabric, scenario)
        results = campaign_run(
            fabric,
            found,
            lab=rehearse,
            access=access,
            limits=Limits(restore_within, settle),
            hardware=hardware,
            progress=say,
        )
    good = all(one.good for one in results) and len(results) == len(found.turns)
    if as_json:
        print_json({"good": good, "job": found.job, "turns": [one.to_json() for one in results], "lab": measured})
    else:
        for row in (HEAD, *rows(results, measured)):
            typer.echo(" | ".join(row))
    if not good:
        raise typer.Exit(1)
