"""``railweave deploy campaign``: inject the faults of a scenario file, and compare their effect with the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from railweave.api.options import Argument, Opt
from railweave.api.running_verbs import ACCESS, FABRIC_FILE
from railweave.api.verbs import HARDWARE
from railweave.cli.command import command
from railweave.cli.output import print_json, telling

_HELP_DIGEST = "Digest of the campaign, as shown by a run without --digest; confirms that you have read the campaign. Without --digest or --yes, no fault is injected."


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """Options of ``railweave deploy campaign``."""

    fabric: Annotated[Path, FABRIC_FILE]
    scenario: Annotated[Path, Argument("Scenario file; its faults happen one after another.")]
    access: Annotated[Path | None, ACCESS] = None
    rehearse: Annotated[
        bool,
        Opt(
            "Inject the faults into the running lab of FABRIC, and compare the effects with those that `lab fault` measures. Needs root."
        ),
    ] = False
    blast_radius: Annotated[
        str, Opt("Largest number of switches affected at once, or the names of the allowed switches (A,B).")
    ] = "1"
    force: Annotated[
        Sequence[str], Opt("Path color, plane, tenant, NIC or switch that the campaign may cut off; may be repeated.")
    ] = ()
    hold: Annotated[
        float, Opt("Shortest duration of each turn (a fault, or faults that overlap), in seconds.", least=1)
    ] = 20.0
    restore_within: Annotated[
        int,
        Opt("Rollback timer: seconds after the fault ends before the switch reverts on its own.", least=30, most=3600),
    ] = 120
    settle: Annotated[float, Opt("Seconds to wait for the network to recover.", least=0)] = 120.0
    lab_results: Annotated[
        Path | None,
        Opt("File with the output of `lab fault --scenario SCENARIO --json`; it fills the column `lab` of the result."),
    ] = None
    digest: Annotated[str, Opt(_HELP_DIGEST)] = ""
    yes: Annotated[bool, Opt("Inject the faults without a digest.")] = False
    hardware: Annotated[Path | None, HARDWARE] = None


@command(Campaign)
def campaign(options: Campaign, *, as_json: bool, quiet: bool) -> None:
    """Inject the faults of a scenario file into a running network and measure their effect. Each switch restores itself by rollback timer.

    Run the command without --digest first: it shows the changes, losses and prediction of each turn, and injects nothing. Ctrl-C restores the
    network at once. Exits 1 if the campaign is refused, or if the network does not return to its earlier state.
    """
    from railweave.api.deploying import campaign_plan, campaign_run, rehearsed
    from railweave.api.deploying import lab_results as read_results
    from railweave.operations.deploy.campaign.carrying import Limits, turn_table

    measured = read_results(options.lab_results)
    with telling(quiet=quiet or as_json) as say:
        plan = campaign_plan(
            options.fabric,
            options.scenario,
            lab=options.rehearse,
            access=options.access,
            blast_radius=options.blast_radius,
            force=options.force,
            hold=options.hold,
            hardware=options.hardware,
            progress=say,
        )
    if options.digest and options.digest != plan.digest:
        raise typer.BadParameter(f"the digest of this campaign is {plan.digest}", param_hint="--digest")
    if plan.refused or not (options.digest or options.yes):
        if as_json:
            print_json(plan.to_json())
        else:
            for line in plan.lines():
                typer.echo(line)
            if not plan.refused:
                typer.echo(f"nothing was broken; to break it: the same command with --digest {plan.digest}")
        raise typer.Exit(1 if plan.refused else 0)
    with telling(quiet=quiet or as_json) as say:
        if options.rehearse and not measured:
            say("lab fault")
            measured = rehearsed(options.fabric, options.scenario)
        results = campaign_run(
            options.fabric,
            plan,
            lab=options.rehearse,
            access=options.access,
            limits=Limits(options.restore_within, options.settle),
            hardware=options.hardware,
            progress=say,
        )
    good = all(result.good for result in results) and len(results) == len(plan.turns)
    if as_json:
        print_json({"good": good, "job": plan.job, "turns": [result.to_json() for result in results], "lab": measured})
    else:
        for row in turn_table(results, measured).to_text():
            typer.echo(row)
    if not good:
        raise typer.Exit(1)
