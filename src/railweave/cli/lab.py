"""``railweave lab``: the designed network on real routing daemons."""

from __future__ import annotations

import contextlib
from enum import StrEnum
from pathlib import Path

import typer

from railweave.cli.output import DEVICE, HARDWARE, JSON, QUIET, RUNNING, done, print_json, progress, waiting
from railweave.counting import counted
from railweave.errors import InputError, Option, Problem

FABRIC = typer.Argument(..., help="Fabric file or build folder.")


def access(fabric: Path = FABRIC, as_json: bool = JSON, quiet: bool = QUIET) -> None:
    """Let every switch and server of the lab be logged in to by SSH, on loopback, and print the path of the access.yaml that reaches them."""
    del quiet  # it says nothing while it works
    from railweave.live.lab import life, logins

    life.need_root("access", fabric)
    with life.attach(fabric)[1] as lab:
        path = logins.listen(lab)
    if as_json:
        print_json({"access": str(path)})
    else:
        typer.echo(path)


app = typer.Typer(no_args_is_help=True, help="Run the designed network on routing daemons here, test it and break it.")

LAB = typer.Argument(
    ..., help="Fabric file or build folder, also one that is gone; or the lab's name, as `lab status` shows it."
)


@app.command(short_help="Bring up the network as FRR routers in network namespaces.")
def up(
    fabric: Path = FABRIC,
    part: str = typer.Option("", "--slice", help="A part: rails=1-2,stripes=2,servers=1-8; a number N is the first N."),
    design_timers: bool = typer.Option(
        False,
        "--design-timers",
        help="Keep the designed timers of BFD and router advertisements; by default the lab has timers of its own, in seconds.",
    ),
    running: Path | None = RUNNING,
    room_for: Path | None = typer.Option(
        None,
        "--room-for",
        help="Fabric file of a larger network: all its machines and cables are made, those that FABRIC lacks unconfigured, so that `deploy` can bring it on.",
    ),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    frr_root: Path | None = typer.Option(
        None, envvar="RAILWEAVE_FRR_ROOT", help="Root folder with FRR in it (`make validators`)."
    ),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Bring up every switch as FRR and every server as a host, in network namespaces. Exits 1 where routes do not settle."""
    from dataclasses import asdict

    from railweave.api import load
    from railweave.api import running as saved
    from railweave.cli.lab_output import print_up
    from railweave.live.lab import life
    from railweave.live.lab.emulated import emulated
    from railweave.live.lab.overlay import Overlay
    from railweave.model.catalog import in_force
    from railweave.model.network.status import absent_sentence

    life.need_root("up", fabric)
    overlay = None if design_timers else Overlay()
    with waiting(f"reading and designing {fabric}", quiet=quiet or as_json):
        network = load(fabric, device=device, hardware=hardware)
    configs, as_designed = emulated(network, saved(network, running)) if running is not None else (None, [])
    if said := absent_sentence(network):
        as_designed = [said, *as_designed]
    for line in as_designed:
        typer.echo(line, err=True)
    try:
        with in_force(network.catalog):
            made = life.up(
                fabric,
                network,
                configs=configs,
                room_for=load(room_for, device=device, hardware=hardware) if room_for is not None else None,
                part=part,
                overlay=overlay,
                frr_root=frr_root,
                progress=progress(quiet=quiet or as_json),
                announce=lambda text: typer.echo(text, err=True),
            )
    finally:
        done(quiet=quiet or as_json)
    if as_json:
        print_json(asdict(made))
    else:
        print_up(made)
    if made.unsettled or not made.addresses:
        raise typer.Exit(1)


@app.command(short_help="Show a lab, or every lab on this machine.")
def status(
    fabric: Path | None = typer.Argument(None, help="Fabric file or build folder; all labs where absent."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Show which parts of a lab are up, or of all labs on this machine. Exits 1 where there is none."""
    from railweave.cli.lab_output import print_labs
    from railweave.live.lab.status import labs

    with waiting("looking at labs", quiet=quiet or as_json):
        found = labs(fabric)
    if as_json:
        print_json([one.to_json() for one in found])
    else:
        print_labs(found)
    if not found:
        raise typer.Exit(1)


@app.command(short_help="Take a lab down.")
def down(fabric: Path = LAB, as_json: bool = JSON, quiet: bool = QUIET) -> None:
    """Take a lab down, also one that came up in part: its processes, namespaces and links, and nothing else."""
    from dataclasses import asdict

    from railweave.cli.lab_output import print_gone
    from railweave.live.lab import life

    with waiting("taking the lab down", quiet=quiet or as_json):
        gone = life.down(fabric)
    if as_json:
        print_json(asdict(gone))
    else:
        print_gone(gone)


@app.command("test", short_help="Prove that the lab behaves as designed.")
def prove(
    fabric: Path = FABRIC,
    only: list[str] = typer.Option([], help="An assertion by its id; may be repeated."),
    sweep: bool = typer.Option(False, "--sweep", help="Also compare forwarding tables with each single link down."),
    patience: float = typer.Option(15.0, min=0, help="Seconds for which an assertion that fails is looked at again."),
    junit: Path | None = typer.Option(None, help="Write the assertions as JUnit XML, too."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Prove that the lab behaves as designed: each assertion with its evidence. Exits 1 where one fails."""
    from railweave.cli.lab_output import print_outcomes, print_sweep, print_verdict
    from railweave.live.lab import assertions, life
    from railweave.live.lab.faults.sweep import sweep as run_sweep
    from railweave.live.lab.state import locked
    from railweave.live.lab.status import junit as as_junit
    from railweave.writing import write_file

    life.need_root("test", fabric)
    assertions.check_known(only)
    record, lab = life.attach(fabric)
    say = progress(quiet=quiet or as_json)
    with lab, locked(record.lab, "test"):
        try:
            outcomes = assertions.run(lab, only=only, patience_s=patience, progress=say)
            swept = run_sweep(lab, say) if sweep else []
        finally:
            done(quiet=quiet or as_json)
    if junit is not None:
        write_file(junit, as_junit(f"railweave lab {record.network}", outcomes))
    good = all(one.passed for one in outcomes) and all(one.passed for one in swept)
    if as_json:
        print_json(
            {
                "network": record.network,
                "slice": record.slice,
                "timers": record.overlay,
                "good": good,
                "assertions": [one.to_json() for one in outcomes],
                "sweep": [one.to_json() for one in swept],
            }
        )
    else:
        print_outcomes(outcomes)
        if swept:
            print_sweep(swept)
        print_verdict(record, outcomes)
    if not good:
        raise typer.Exit(1)


@app.command()
def fault(
    fabric: Path = FABRIC,
    scenario: Path | None = typer.Option(None, help="Scenario file, whose faults happen at their times."),
    one: list[str] = typer.Option(
        [], "--fault", help='A fault: "link-down link=A--B for=2s"; several come one after another.'
    ),
    all_single: bool = typer.Option(
        False, "--all-single", help="Each link, NIC, switch and plane down, and every other kind at a leaf and a spine."
    ),
    page: Path | None = typer.Option(None, help="Write what was measured as an HTML page, too."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Break things in a lab, and measure what that does.

    The result says how many packets were lost, how long the switch to another path and back took, and whether every queue pair kept a
    path. Exits 1 where a queue pair that should keep a path did not, or something did not come back.
    """
    from railweave.cli.lab_output import print_measured
    from railweave.live.lab import life
    from railweave.live.lab.faults.page import faults_html
    from railweave.live.lab.faults.scenario import of_file, play
    from railweave.live.lab.faults.sweep import of_words
    from railweave.live.lab.state import locked
    from railweave.writing import write_file

    life.need_root("fault", fabric)
    if (scenario is not None) + bool(one) + all_single != 1:
        raise InputError(
            [Problem(Option("lab fault"), "what to break?", "give one of --scenario, --fault and --all-single")]
        )
    record, lab = life.attach(fabric)
    with lab, locked(record.lab, "fault"):
        targets = (
            of_file(lab, scenario, announce=lambda text: None if as_json else typer.echo(text))
            if scenario is not None
            else of_words(lab, one, every=all_single)
        )
        try:
            # Those of a scenario have their times; others come one after another.
            turns = [targets] if scenario is not None else [[target] for target in targets]
            say = progress(quiet=quiet or as_json)
            measured = [found for turn in turns for found in play(lab, turn, say)]
        finally:
            done(quiet=quiet or as_json)
    if page is not None:
        write_file(page, faults_html(record, measured))
    good = all(one.passed for one in measured)
    if as_json:
        print_json(
            {
                "network": record.network,
                "slice": record.slice,
                "timers": record.overlay,
                "good": good,
                "faults": [one.to_json() for one in measured],
            }
        )
    else:
        print_measured(record, measured)
    if not good:
        raise typer.Exit(1)


@app.command(short_help="Write the forwarding tables of the kernels.")
def fib(
    fabric: Path = FABRIC,
    out: Path = typer.Option(..., "--out", "-o", help="File to write, for `railweave sim --fib`."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write the kernels' forwarding tables as the arrays of `routes`. Exits 1 where they differ from what `routes` computes."""
    from railweave.analysis.routing.fib_file import write_fibs
    from railweave.cli.lab_output import print_fib
    from railweave.live.lab import fib as tables
    from railweave.live.lab import life

    life.need_root("fib", fabric)
    with waiting("reading forwarding tables", quiet=quiet or as_json), contextlib.ExitStack() as stack:
        lab = stack.enter_context(life.attach(fabric)[1])
        expected = lab.control_plane.routes()
        found = tables.read(lab, expected)
    write_fibs(found.routes, out)
    different = tables.differences(expected, found)
    entries = len(found.routes.fibs) * len(found.routes.prefixes)
    if as_json:
        print_json({"file": str(out), "entries": entries, "differences": [str(one) for one in different]})
    else:
        print_fib(found.routes, out, different)
    if different:
        raise typer.Exit(1)


class Form(StrEnum):
    """What a lab is written for."""

    containerlab = "containerlab"


@app.command(short_help="Write the network as a topology for vendor images.")
def export(
    form: Form = typer.Argument(..., help="containerlab."),
    fabric: Path = FABRIC,
    out: Path = typer.Option(..., "--out", "-o", help="Folder to write into."),
    part: str = typer.Option("", "--slice", help="A part, as for `lab up`."),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    image: list[str] = typer.Option([], help="KIND=IMAGE instead of the one meant; KIND `server` for servers."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write the network as a topology for vendor images; needs neither root nor a lab."""
    from railweave.api import load
    from railweave.live.lab import slicing
    from railweave.live.lab.containerlab import images_of, topology
    from railweave.model.catalog import in_force
    from railweave.model.network.status import present
    from railweave.writing import write_below

    with waiting(f"writing {fabric} as {form.value} has it", quiet=quiet or as_json):
        network = present(load(fabric, device=device, hardware=hardware))
        network = slicing.sliced(network, slicing.parse(part)) if part else network
        with in_force(network.catalog):
            files = {Form.containerlab: topology}[form](network, images_of(image))
        write_below(out, files)
    if as_json:
        print_json({"network": network.name, "out": str(out), "files": list(files)})
        return
    typer.echo(f"{counted(len(files), 'file')} in {out}; next: containerlab deploy -t {out / network.name}.clab.yml")


app.command(short_help="Let the lab's devices be reached by SSH.")(access)
