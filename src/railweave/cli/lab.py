"""``railweave lab``: the designed network on real routing daemons."""

from __future__ import annotations

import contextlib
from enum import StrEnum
from pathlib import Path

import typer

from railweave.cli.options import DEVICE, HARDWARE, JSON, QUIET, RUNNING
from railweave.cli.output import done, print_json, progress, waiting
from railweave.counting import counted
from railweave.errors import InputError, Option, Problem

app = typer.Typer(no_args_is_help=True, help="Run the designed network on routing daemons here, test it and break it.")

FABRIC = typer.Argument(..., help="Fabric file or build folder.")


@app.command(short_help="Bring up the network as FRR routers in network namespaces.")
def up(
    fabric: Path = FABRIC,
    part: str = typer.Option("", "--slice", help="A part: rails=1-2,stripes=2,spines=4,servers=1-8; N is the first N."),
    design_timers: bool = typer.Option(
        False,
        "--design-timers",
        help="Keep the designed timers of BFD and router advertisements; by default the lab has timers of its own, in seconds.",
    ),
    running: Path | None = RUNNING,
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
    from railweave.catalog import in_force
    from railweave.drift.emulated import emulated
    from railweave.lab import life
    from railweave.lab.overlay import Overlay
    from railweave.network.status import absent_sentence

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
        record = made.record
        took = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in made.seconds.items())
        typer.echo(
            f"{record.network}: {counted(made.routers, 'router')} (FRR {record.frr_version}), "
            f"{counted(made.servers, 'server')}, {counted(made.links, 'link')} up in {sum(made.seconds.values()):.1f} s ({took})"
        )
        timers = record.timers()
        typer.echo(f"timers: {f'the lab has its own: {timers.sentence()}' if timers else 'as designed'}")
        typer.echo(f"look around: ip netns exec {record.lab}-{record.devices[0]} ip -6 route")
        for line in made.unsettled[:10]:
            typer.echo(f"not settled: {line}")
        if not made.addresses:
            typer.echo("not settled: servers lack designed addresses; `railweave lab test` names them")
    if made.unsettled or not made.addresses:
        raise typer.Exit(1)


@app.command(short_help="Show a lab, or every lab on this machine.")
def status(
    fabric: Path | None = typer.Argument(None, help="Fabric file or build folder; all labs where absent."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Show which parts of a lab are up, or of all labs on this machine. Exits 1 where there is none."""
    from railweave.lab.status import labs

    with waiting("looking at labs", quiet=quiet or as_json):
        found = labs(fabric)
    if as_json:
        print_json([one.to_json() for one in found])
    for one in [] if as_json else found:
        typer.echo(
            f"{one.lab}: {one.stage}, of {one.fabric or 'an unknown file'}"
            + (f", slice {one.slice}" if one.slice else "")
        )
        typer.echo(
            f"    {counted(one.namespaces, 'namespace')}, {counted(one.processes, 'process', 'processes')}, {one.memory_mb} MB, "
            f"{one.cpu_s:.0f} s of processor time; {one.frr}"
        )
        typer.echo(f"    timers: {one.timers}")
        if one.missing:
            typer.echo(f"    namespaces that are gone: {', '.join(one.missing)}")
    if not found:
        if not as_json:
            typer.echo("no lab here")
        raise typer.Exit(1)


@app.command(short_help="Take a lab down.")
def down(fabric: Path = FABRIC, as_json: bool = JSON, quiet: bool = QUIET) -> None:
    """Take a lab down, also one that came up in part: its processes, namespaces and links, and nothing else."""
    from dataclasses import asdict

    from railweave.lab import life

    with waiting("taking the lab down", quiet=quiet or as_json):
        gone = life.down(fabric)
    if as_json:
        print_json(asdict(gone))
        return
    if gone.namespaces or gone.processes or gone.folder:
        typer.echo(f"gone: {counted(gone.processes, 'process', 'processes')}, {counted(gone.namespaces, 'namespace')}")
    else:
        typer.echo("there was nothing")
    for one in gone.strangers:
        typer.echo(
            f"process {one} is not the lab's and was left alone; its namespace stays, without a name, until it ends"
        )


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
    from railweave.cli.lab_output import print_outcomes, print_sweep
    from railweave.lab import assertions, life
    from railweave.lab.faults.sweep import sweep as run_sweep
    from railweave.lab.junit import junit as as_junit
    from railweave.lab.state import locked
    from railweave.writing import write_file

    life.need_root("test", fabric)
    known = [one.id for one in assertions.every()]
    for name in only:
        if name not in known:
            raise InputError(
                [Problem(Option("--only"), f"there is no assertion {name!r}", f"they are {', '.join(known)}")]
            )
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
        about = [one for one in outcomes if one.applies or not one.passed]
        passed = sum(one.passed for one in about)
        typer.echo(f"{passed} of {counted(len(about), 'assertion')} passed on {record.network}{_parts(record.slice)}")
        if overlay := record.timers():
            typer.echo(f"with the lab's own timers: {overlay.sentence()}")
    if not good:
        raise typer.Exit(1)


def _parts(text: str) -> str:
    return f", slice {text}" if text else ""


@app.command(short_help="Break links or devices, and measure what is lost.")
def fault(
    fabric: Path = FABRIC,
    scenario: Path | None = typer.Option(None, help="Scenario file, whose faults happen at their times."),
    one: list[str] = typer.Option(
        [], "--fault", help='A fault: "link-down link=A--B for=2s"; several come one after another.'
    ),
    all_single: bool = typer.Option(
        False, "--all-single", help="Each link, NIC and switch down, and every other kind at a leaf and a spine."
    ),
    page: Path | None = typer.Option(None, help="Write what was measured as an HTML page, too."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Break things and measure: packets lost, time to switch, time to return, and whether queue pairs kept a path.

    Exits 1 where a queue pair that should keep a path did not, or something did not come back.
    """
    from railweave.cli.lab_output import print_measured
    from railweave.design.fault_targets import fault_targets
    from railweave.errors import FileLine
    from railweave.intent.scenario import read_scenario
    from railweave.lab import life
    from railweave.lab.faults import matrix
    from railweave.lab.faults.page import faults_html
    from railweave.lab.faults.scenario import play
    from railweave.lab.state import locked
    from railweave.writing import write_file

    life.need_root("fault", fabric)
    if (scenario is not None) + bool(one) + all_single != 1:
        raise InputError(
            [Problem(Option("lab fault"), "what to break?", "give one of --scenario, --fault and --all-single")]
        )
    record, lab = life.attach(fabric)
    with lab, locked(record.lab, "fault"):
        if scenario is not None:
            file = read_scenario(scenario, "lab")
            if not file.scenario.faults:
                raise InputError(
                    [
                        Problem(
                            FileLine(str(scenario)),
                            "it has no faults",
                            "the lab takes a scenario's faults, and no traffic",
                        )
                    ]
                )
            targets = fault_targets(lab.plan.network, file)
            if file.scenario.traffic and not as_json:
                typer.echo(
                    "the lab takes the scenario's faults; its traffic and its times to reroute are for `railweave sim`"
                )
        else:
            targets = matrix.targets(lab, matrix.every_single(lab) if all_single else map(matrix.written, one))
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
        print_measured(measured)
        if overlay := record.timers():
            typer.echo(f"with the lab's own timers: {overlay.sentence()}")
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
    from railweave.lab import fib as tables
    from railweave.lab import life
    from railweave.routing.fib_file import write_fibs

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
        devices = counted(len(found.routes.fibs), "router")
        typer.echo(f"{counted(entries, 'entry', 'entries')} of {devices} in {out}, {len(different):,} unlike `routes`")
        for one in different[:10]:
            typer.echo(f"    {one}")
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
    from railweave.catalog import in_force
    from railweave.lab import slicing
    from railweave.lab.containerlab import images_of, topology
    from railweave.network.status import present
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
