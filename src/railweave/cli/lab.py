"""``railweave lab``: run the designed network with real routing daemons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from railweave.api.options import Argument, Opt
from railweave.api.verbs import CSV, DEVICE, FABRIC, HARDWARE, RUNNING
from railweave.cli.command import command
from railweave.cli.output import print_json, telling, waiting, write_csv
from railweave.counting import counted
from railweave.errors import InputError, Option, Problem


@dataclass(frozen=True, kw_only=True)
class Access:
    """Options of ``railweave lab access``."""

    fabric: Annotated[Path, FABRIC]


@command(Access)
def access(options: Access, *, as_json: bool, quiet: bool) -> None:
    """Start an SSH server on the loopback address of this machine for every switch and server of a running lab. The command prints the path of an access.yaml with their ports and key. Needs root."""
    del quiet  # it says nothing while it works
    from railweave.live.lab import life, logins

    life.need_root("access", options.fabric)
    with life.attach(options.fabric)[1] as lab:
        path = logins.listen(lab)
    if as_json:
        print_json({"access": str(path)})
    else:
        typer.echo(path)


app = typer.Typer(
    no_args_is_help=True, help="Run the designed network on this machine as FRR routers, test it, and inject faults."
)


@dataclass(frozen=True, kw_only=True)
class Up:
    """Options of ``railweave lab up``."""

    fabric: Annotated[Path, FABRIC]
    part: Annotated[
        str,
        Opt(
            "Part of the network to start, for example rails=1-2,stripes=2,spines=4,servers=1-8. A range A-B takes items A to B, a number N the first N. Default: the whole network.",
            name="--slice",
        ),
    ] = ""
    design_timers: Annotated[
        bool,
        Opt(
            "Use the designed timers of BFD and router advertisements. Default: timers of the lab: 100 ms for BFD (longer in a lab with more than 128 links between switches), 4 s for router advertisements."
        ),
    ] = False
    running: Annotated[Path | None, RUNNING] = None
    room_for: Annotated[
        Path | None,
        Opt(
            "Fabric file of a larger network, to which `deploy` can later expand the lab. All its devices and cables are created; those that FABRIC lacks stay unconfigured. Default: only the devices of FABRIC."
        ),
    ] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | None, HARDWARE] = None
    frr_root: Annotated[
        Path | None,
        Opt(
            "Root folder of a file tree with FRR, as `make validators` creates it. Default: the tree of `make validators` in this checkout, else a cached tree (downloaded if needed), else FRR installed on this machine.",
            envvar="RAILWEAVE_FRR_ROOT",
        ),
    ] = None


@app.command(short_help="Start the network as FRR routers in network namespaces.")
@command(Up)
def up(options: Up, *, as_json: bool, quiet: bool) -> None:
    """Start a lab of the network on this machine: every switch as an FRR router, every server as a host, each in a network namespace. Needs root. Exits 1 if routes do not converge."""
    from dataclasses import asdict

    from railweave.api import load
    from railweave.api import running as saved
    from railweave.cli.lab_output import print_up
    from railweave.live.lab import life
    from railweave.live.lab.emulated import emulated
    from railweave.live.lab.overlay import Overlay
    from railweave.model.catalog import in_force
    from railweave.model.network.status import absent_sentence

    life.need_root("up", options.fabric)
    overlay = None if options.design_timers else Overlay()
    with waiting(f"reading and designing {options.fabric}", quiet=quiet or as_json):
        network = load(options.fabric, device=options.device, hardware=options.hardware)
    configs, as_designed = (
        emulated(network, saved(network, options.running)) if options.running is not None else (None, [])
    )
    if sentence := absent_sentence(network):
        as_designed = [sentence, *as_designed]
    for line in as_designed:
        typer.echo(line, err=True)
    with telling(quiet=quiet or as_json) as say, in_force(network.catalog):
        made = life.up(
            options.fabric,
            network,
            configs=configs,
            room_for=load(options.room_for, device=options.device, hardware=options.hardware)
            if options.room_for is not None
            else None,
            part=options.part,
            overlay=overlay,
            frr_root=options.frr_root,
            progress=say,
            announce=lambda text: typer.echo(text, err=True),
        )
    if as_json:
        print_json(asdict(made))
    else:
        print_up(made)
    if made.unsettled or not made.addresses:
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class Status:
    """Options of ``railweave lab status``."""

    fabric: Annotated[
        Path | None,
        Argument("Fabric file or build folder that the lab was started from. Default: all labs on this machine."),
    ] = None


@app.command(short_help="Show a lab, or every lab on this machine.")
@command(Status)
def status(options: Status, *, as_json: bool, quiet: bool) -> None:
    """Show the state of a lab, or of all labs on this machine. Exits 1 if no lab exists."""
    from railweave.cli.lab_output import print_labs
    from railweave.live.lab.status import labs

    with waiting("looking at labs", quiet=quiet or as_json):
        statuses = labs(options.fabric)
    if as_json:
        print_json([lab.to_json() for lab in statuses])
    else:
        print_labs(statuses)
    if not statuses:
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class Down:
    """Options of ``railweave lab down``."""

    fabric: Annotated[
        Path,
        Argument(
            "Fabric file or build folder that the lab was started from (the file may have been deleted), or the name of the lab, as `lab status` shows it."
        ),
    ]


@app.command(short_help="Stop and remove a lab.")
@command(Down)
def down(options: Down, *, as_json: bool, quiet: bool) -> None:
    """Remove a lab: its processes, namespaces and links, and nothing else. A lab whose start failed can be removed too. Needs root."""
    from dataclasses import asdict

    from railweave.cli.lab_output import print_gone
    from railweave.live.lab import life

    with waiting("taking the lab down", quiet=quiet or as_json):
        gone = life.down(options.fabric)
    if as_json:
        print_json(asdict(gone))
    else:
        print_gone(gone)


@dataclass(frozen=True, kw_only=True)
class Prove:
    """Options of ``railweave lab test``."""

    fabric: Annotated[Path, FABRIC]
    only: Annotated[
        Sequence[str],
        Opt(
            "Run only the assertion with this id, as the output without --only shows it. Default: all assertions. May be repeated."
        ),
    ] = ()
    sweep: Annotated[
        bool,
        Opt(
            "Also take down each link, one at a time, and compare the forwarding tables of the routers with the computed ones."
        ),
    ] = False
    retry_for: Annotated[float, Opt("Time for which a failed assertion is tried again, in seconds.", least=0)] = 15.0
    junit: Annotated[Path | None, Opt("Also write the results of the assertions as a JUnit file (XML).")] = None


@app.command("test", short_help="Test that the lab behaves as designed.")
@command(Prove)
def prove(options: Prove, *, as_json: bool, quiet: bool) -> None:
    """Test assertions about a running lab, for example that BGP sessions are up and that forwarding tables are as computed. Each result is shown with its evidence. Needs root. Exits 1 if an assertion fails."""
    from railweave.cli.lab_output import print_outcomes, print_sweep, print_verdict
    from railweave.live.lab import assertions, life
    from railweave.live.lab.faults.sweep import sweep as run_sweep
    from railweave.live.lab.state import locked
    from railweave.live.lab.status import junit as as_junit
    from railweave.writing import write_file

    life.need_root("test", options.fabric)
    assertions.check_known(options.only)
    record, lab = life.attach(options.fabric)
    with lab, locked(record.lab, "test"), telling(quiet=quiet or as_json) as say:
        outcomes = assertions.run(lab, only=options.only, retry_s=options.retry_for, progress=say)
        swept = run_sweep(lab, say) if options.sweep else []
    if options.junit is not None:
        write_file(options.junit, as_junit(f"railweave lab {record.network}", outcomes))
    good = all(outcome.passed for outcome in outcomes) and all(result.passed for result in swept)
    if as_json:
        print_json(
            {
                "network": record.network,
                "slice": record.slice,
                "timers": record.overlay,
                "good": good,
                "assertions": [outcome.to_json() for outcome in outcomes],
                "sweep": [result.to_json() for result in swept],
            }
        )
    else:
        print_outcomes(outcomes)
        if swept:
            print_sweep(swept)
        print_verdict(record, outcomes)
    if not good:
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Options of ``railweave lab fault``."""

    fabric: Annotated[Path, FABRIC]
    scenario: Annotated[
        Path | None,
        Opt(
            "Scenario file (docs/scenario-file.md); each fault is injected at its time in the file. Exactly one of --scenario, --fault and --all-single is required."
        ),
    ] = None
    faults: Annotated[
        Sequence[str],
        Opt(
            'Fault to inject, in the words of a scenario file, for example "link-down link=A--B for=2s". May be repeated; the faults are injected one after another.',
            name="--fault",
        ),
    ] = ()
    all_single: Annotated[
        bool,
        Opt(
            "Take down each link, NIC, switch and plane (fabric of one NIC port), one at a time. Each other kind of fault is injected once, at a leaf, a spine or a link between them."
        ),
    ] = False
    html: Annotated[Path | None, Opt("Also write the measurements as a page (.html).")] = None
    csv: Annotated[Path | None, CSV] = None


@app.command()
@command(Fault)
def fault(options: Fault, *, as_json: bool, quiet: bool) -> None:
    """Inject faults into a running lab, and measure their effect. Needs root.

    The result shows the number of lost packets, the time until traffic takes other paths and until it returns, and whether every queue pair
    kept a path. Exits 1 if a queue pair lost a path that it should have kept, or if a part of the network did not recover.
    """
    from railweave.cli.lab_output import print_measured
    from railweave.live.lab import life
    from railweave.live.lab.faults.page import faults_html, faults_table
    from railweave.live.lab.faults.scenario import injected
    from railweave.writing import write_file

    life.need_root("fault", options.fabric)
    if (options.scenario is not None) + bool(options.faults) + options.all_single != 1:
        raise InputError(
            [Problem(Option("lab fault"), "what to break?", "give one of --scenario, --fault and --all-single")]
        )
    with telling(quiet=quiet or as_json) as say:
        record, measured = injected(
            options.fabric,
            options.scenario,
            options.faults,
            every=options.all_single,
            announce=lambda text: None if as_json else typer.echo(text),
            progress=say,
        )
    if options.html is not None:
        write_file(options.html, faults_html(record, measured))
    write_csv(options.csv, faults_table(measured))
    good = all(measurement.passed for measurement in measured)
    if as_json:
        print_json(
            {
                "network": record.network,
                "slice": record.slice,
                "timers": record.overlay,
                "good": good,
                "faults": [measurement.to_json() for measurement in measured],
            }
        )
    else:
        print_measured(record, measured)
    if not good:
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class Fib:
    """Options of ``railweave lab fib``."""

    fabric: Annotated[Path, FABRIC]
    out: Annotated[Path, Opt("File to write; `railweave sim --fib` reads it.", letter="-o")]


@app.command(short_help="Write the forwarding tables of the kernels.")
@command(Fib)
def fib(options: Fib, *, as_json: bool, quiet: bool) -> None:
    """Write the forwarding tables that the kernels of a running lab use into a file, for `railweave sim --fib`. Needs root. Exits 1 if they differ from the computed tables."""
    from railweave.cli.lab_output import print_fib
    from railweave.live.lab import fib as tables
    from railweave.live.lab import life

    life.need_root("fib", options.fabric)
    with waiting("reading forwarding tables", quiet=quiet or as_json), life.attach(options.fabric)[1] as lab:
        routes, different = tables.write(lab, options.out)
    entries = len(routes.fibs) * len(routes.prefixes)
    if as_json:
        print_json(
            {"file": str(options.out), "entries": entries, "differences": [str(difference) for difference in different]}
        )
    else:
        print_fib(routes, options.out, different)
    if different:
        raise typer.Exit(1)


class Form(StrEnum):
    """The form of an exported lab."""

    containerlab = "containerlab"


@dataclass(frozen=True, kw_only=True)
class Export:
    """Options of ``railweave lab export``."""

    form: Annotated[Form, Argument("Format of the topology; the only format is containerlab.")]
    fabric: Annotated[Path, FABRIC]
    out: Annotated[Path, Opt("Folder to write the topology file and the configurations into.", letter="-o")]
    part: Annotated[
        str,
        Opt(
            "Part of the network, for example rails=1-2,stripes=2,spines=4,servers=1-8. A range A-B takes items A to B, a number N the first N. Default: the whole network.",
            name="--slice",
        ),
    ] = ""
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | None, HARDWARE] = None
    image: Annotated[
        Sequence[str],
        Opt(
            "Container image to use instead of the default: KIND=IMAGE. KIND is linux (FRR), juniper_vjunosevolved (Junos) or server. May be repeated."
        ),
    ] = ()


@app.command(short_help="Write the network as a topology for containerlab.")
@command(Export)
def export(options: Export, *, as_json: bool, quiet: bool) -> None:
    """Write the network as a topology that containerlab starts with images of the vendors' operating systems. The command needs no root rights and no running lab."""
    from railweave.api import load
    from railweave.live.lab.containerlab import exported
    from railweave.writing import write_below

    with waiting(f"writing {options.fabric} as {options.form.value} has it", quiet=quiet or as_json):
        network = load(options.fabric, device=options.device, hardware=options.hardware)
        files = exported(network, options.part, options.image)
        write_below(options.out, files)
    if as_json:
        print_json({"network": network.name, "out": str(options.out), "files": list(files)})
        return
    typer.echo(
        f"{counted(len(files), 'file')} in {options.out}; next: containerlab deploy -t {options.out / network.name}.clab.yml"
    )


app.command(short_help="Make the lab's devices reachable by SSH.")(access)
