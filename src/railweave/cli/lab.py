"""``railweave lab``: run the designed network with real routing daemons."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import typer

from railweave.api.site_verbs import LabAccess, LabDown, LabExport, LabFault, LabFib, LabStatus, LabTest, LabUp
from railweave.cli.command import command
from railweave.cli.output import done, print_json, telling, waiting
from railweave.counting import counted
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.live.lab.faults.sweep import LinkOutage
    from railweave.live.lab.proof import Proof

app = typer.Typer(
    no_args_is_help=True,
    help="Run the designed network on this machine as FRR routers, test it, and inject faults. As a user, you run labs in a user namespace. "
    "Root is needed for `lab access` and LLDP, to download FRR, to raise neighbor tables that are too small, and if the kernel refuses user namespaces.",
)


@app.command(short_help="Start the network as FRR routers in network namespaces.")
@command(LabUp)
def up(options: LabUp, *, as_json: bool, quiet: bool) -> None:
    """Start a lab of the network on this machine: each switch runs as an FRR router, each server as a host, in a network namespace of its own. Exits 1 if routes do not converge."""
    from railweave.api.labs import lab_up

    def announce(message: str) -> None:
        done(quiet=quiet or as_json)
        typer.echo(message, err=True)

    with telling(quiet=quiet or as_json) as say:
        made = lab_up.of(replace(options, progress=say, announce=announce))
    if as_json:
        print_json(asdict(made))
    else:
        typer.echo(made.to_text())
    if not made.settled:
        raise typer.Exit(1)


@app.command(short_help="Show a lab, or every lab on this machine.")
@command(LabStatus)
def status(options: LabStatus, *, as_json: bool, quiet: bool) -> None:
    """Show the state of a lab, or of all labs on this machine. Exits 1 if no lab exists."""
    from railweave.api.labs import lab_status

    with waiting("looking at labs", quiet=quiet or as_json):
        labs = lab_status.of(options)
    if as_json:
        print_json([lab.to_json() for lab in labs])
    else:
        typer.echo("\n".join(lab.to_text() for lab in labs) or "no lab here")
    if not labs:
        raise typer.Exit(1)


@app.command(short_help="Stop and remove a lab.")
@command(LabDown)
def down(options: LabDown, *, as_json: bool, quiet: bool) -> None:
    """Remove a lab: its processes, namespaces and links, and nothing else. A lab whose start failed can be removed too."""
    from railweave.api.labs import lab_down

    with waiting("taking the lab down", quiet=quiet or as_json):
        gone = lab_down.of(options)
    if as_json:
        print_json(asdict(gone))
    else:
        typer.echo(gone.to_text())


@app.command(short_help="Test that a lab behaves as designed.")
@command(LabTest)
def test(options: LabTest, *, as_json: bool, quiet: bool) -> None:
    """Test a running lab against assertions (statements about the design that must hold), for example that BGP sessions are up and that forwarding tables are as computed from the design. Each result is shown with its evidence. Exits 1 if an assertion fails."""
    from railweave.api.labs import lab_test

    with telling(quiet=quiet or as_json) as say:
        proof = lab_test.of(replace(options, progress=say))
    if as_json:
        print_json(proof.to_json())
    else:
        _print_proof(proof)
    if not proof.good:
        raise typer.Exit(1)


def _print_proof(proof: Proof) -> None:
    """Print a line per assertion with its failures, the links of a sweep, and the number of passed assertions that apply."""
    colors = {"failed": "red", "passed": "green", "none": "blue"}
    for outcome, row in zip(proof.outcomes, proof.table.to_text(head=False), strict=True):
        verdict = row.partition(" ")[0]
        typer.echo(typer.style(verdict, fg=colors[verdict]) + row.removeprefix(verdict))
        for line in outcome.failures:
            typer.echo(f"       {line}")
        if outcome.failed > len(outcome.failures):
            typer.echo(f"       and {outcome.failed - len(outcome.failures):,} more")
    if proof.swept:
        _print_sweep(proof.swept)
    record = proof.record
    about = [outcome for outcome in proof.outcomes if outcome.applies or not outcome.passed]
    part = f", slice {record.slice}" if record.slice else ""
    passed = sum(outcome.passed for outcome in about)
    typer.echo(f"{passed} of {counted(len(about), 'assertion')} passed on {record.network}{part}")
    for line in record.timers_lines():
        typer.echo(line)


def _print_sweep(swept: Sequence[LinkOutage]) -> None:
    """Print the results of a sweep: each link that failed, and the times of the others."""
    for result in swept:
        if not result.passed:
            typer.echo(f"{typer.style('failed', fg='red')} with {result.link} down")
            for line in result.failures:
                typer.echo(f"       {line}")
    good = [result for result in swept if result.settled_s is not None and result.returned_s is not None]
    entries = sum(result.entries for result in good)
    typer.echo(
        f"sweep: {len(good)} of {counted(len(swept), 'link')} down one by one, {counted(entries, 'entry', 'entries')} equal to "
        "`routes`"
    )
    if good:
        settled = sorted(result.settled_s or 0 for result in good)
        returned = sorted(result.returned_s or 0 for result in good)
        typer.echo(
            f"       settled after {settled[len(settled) // 2]:.2f} s (median), {settled[-1]:.2f} s at most; as before "
            f"{returned[len(returned) // 2]:.2f} s after the link's return, {returned[-1]:.2f} s at most"
        )


@app.command()
@command(LabFault)
def fault(options: LabFault, *, as_json: bool, quiet: bool) -> None:
    """Inject faults into a running lab, and measure their effect.

    The result shows the number of lost packets, the time until traffic takes other paths and until it returns, and
    whether every queue pair kept a path. Exits 1 in three cases: a queue pair (RDMA connection) had no path although the design has
    another path for it; packets were still lost at the end of the fault; a part of the network did not recover.
    """
    from railweave.api.labs import lab_fault

    with telling(quiet=quiet or as_json) as say:
        result = lab_fault.of(replace(options, progress=say, announce=silent if as_json else typer.echo))
    if as_json:
        print_json(result.to_json())
    else:
        typer.echo(result.to_text())
    if not result.good:
        raise typer.Exit(1)


@app.command(short_help="Write the forwarding tables of a running lab into a file.")
@command(LabFib)
def fib(options: LabFib, *, as_json: bool, quiet: bool) -> None:
    """Write the forwarding tables that the kernels of a running lab use into a file, for `railweave sim --fib`. Exits 1 if these tables differ from those computed from the design."""
    from railweave.api.labs import lab_fib

    with waiting("reading forwarding tables", quiet=quiet or as_json):
        tables = lab_fib.of(options)
    if as_json:
        print_json(tables.to_json())
    else:
        typer.echo(tables.to_text())
    if tables.differences:
        raise typer.Exit(1)


@app.command(short_help="Write the network as a topology for containerlab.")
@command(LabExport)
def export(options: LabExport, *, as_json: bool, quiet: bool) -> None:
    """Write the network as a topology file for containerlab, which starts the switches from images of the vendors' operating systems. The command needs neither root rights nor a running lab."""
    from railweave.api.labs import lab_export

    with waiting(f"writing {options.fabric} as {options.form.value} has it", quiet=quiet or as_json):
        exported = lab_export.of(options)
    if as_json:
        print_json({"network": exported.name, "out": str(options.out), "files": list(exported.files)})
        return
    number = counted(len(exported.files), "file")
    typer.echo(f"{number} in {options.out}; next: containerlab deploy -t {options.out}/{exported.name}.clab.yml")


@app.command(short_help="Make the devices of a lab reachable by SSH.")
@command(LabAccess)
def access(options: LabAccess, *, as_json: bool, quiet: bool) -> None:
    """Make the switches and servers of a running lab reachable by SSH: start an SSH server for each device on the loopback address of this machine. The command prints the path of the file access.yaml, which has the ports and the key. Needs root."""
    del quiet  # it says nothing while it works
    from railweave.api.labs import lab_access

    path = lab_access.of(options)
    if as_json:
        print_json({"access": str(path)})
    else:
        typer.echo(path)
