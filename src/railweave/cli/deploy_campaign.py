"""``railweave deploy campaign``: inject the faults of a scenario file, and compare their effect with the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from railweave.api.options import Argument, Opt
from railweave.api.running_verbs import FABRIC_FILE
from railweave.api.verbs import ACCESS, HARDWARE
from railweave.cli.command import command
from railweave.cli.output import print_json, telling

_HELP_DIGEST = "Digest (checksum) of the campaign, as printed without --digest. It confirms that you have read the campaign. Without --digest or --yes, no fault is injected."


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """Options of ``railweave deploy campaign``."""

    fabric: Annotated[Path, FABRIC_FILE]
    scenario: Annotated[
        Path,
        Argument(
            "Scenario file with the faults (docs/simulation-files.md). Faults that overlap in time in the file form one turn."
        ),
    ]
    access: Annotated[Path | None, ACCESS] = None
    rehearse: Annotated[
        bool,
        Opt(
            "Inject the faults into the lab that `railweave lab up` started for FABRIC, instead of the real network, and compare the result with the measurements of `railweave lab fault`. Needs root."
        ),
    ] = False
    blast_radius: Annotated[
        str,
        Opt(
            "Largest number of switches that a turn may affect, or the names of the switches that may be affected (A,B). railweave refuses a campaign that affects more or other switches.",
            metavar="NUMBER|SWITCHES",
        ),
    ] = "1"
    force: Annotated[
        Sequence[str],
        Opt(
            "Name of a path color (group of uplinks, by destination address), plane (the switches of one port of every NIC), tenant, NIC or switch that may lose all its paths during a turn. Default: railweave refuses a campaign in which one of these would. May be repeated.",
            metavar="NAME",
        ),
    ] = ()
    hold: Annotated[float, Opt("Shortest duration of each turn, in seconds.", least=1, metavar="SECONDS")] = 20.0
    restore_within: Annotated[
        int,
        Opt(
            "Rollback timer: if railweave has not removed a fault, the switch removes it on its own this many seconds after the planned end.",
            least=30,
            most=3600,
            metavar="SECONDS",
        ),
    ] = 120
    settle: Annotated[
        float,
        Opt(
            "Longest time to wait, after each turn, until the network has recovered, in seconds.",
            least=0,
            metavar="SECONDS",
        ),
    ] = 120.0
    lab_results: Annotated[
        Path | None,
        Opt(
            "File with the output of `railweave lab fault --scenario SCENARIO --json`. The result shows its measurements in the column lab. Default: this column is filled only with --rehearse.",
            metavar="FILE",
        ),
    ] = None
    digest: Annotated[str, Opt(_HELP_DIGEST, metavar="DIGEST")] = ""
    yes: Annotated[bool, Opt("Inject the faults without --digest.")] = False
    hardware: Annotated[Path | None, HARDWARE] = None


@command(Campaign)
def campaign(options: Campaign, *, as_json: bool, quiet: bool) -> None:
    """Inject the faults of a scenario file into a running network, and measure their effect.

    The faults are injected in turns: a turn is one fault, or several at the same time; each turn ends before the next begins. First run the command without --digest: it injects nothing, and shows for each turn the changes, the lost paths and the predicted effect. If railweave fails during a turn, a rollback timer on each switch restores its configuration and ports. If the fault was a restart of a switch or the end of a process, the switch recovers without help. Ctrl-C removes the present faults at once.

    Exits 1 if railweave refuses the campaign (see --blast-radius, --force), or if the network does not return to its earlier state.
    """
    from railweave.api.deploying import Limits, campaign_plan, campaign_run, lab_results, rehearsed

    measured = lab_results(options.lab_results)
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
        for row in plan.table(results, measured).to_text():
            typer.echo(row)
    if not good:
        raise typer.Exit(1)
