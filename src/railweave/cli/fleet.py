"""``railweave fleet``: check many GPU servers of a network at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave.api.options import Opt
from railweave.api.verbs import CSV, FleetCheck, FleetMesh
from railweave.cli.command import command
from railweave.cli.output import print_json, telling, write_csv

if TYPE_CHECKING:
    from railweave.live.fleet.checked import FleetCheckResult
    from railweave.live.fleet.meshed import MeshResult

app = typer.Typer(
    no_args_is_help=True,
    help="Check all GPU servers of a network over SSH, many at the same time. The servers are not changed.",
)


@app.callback()
def _fleet() -> None:
    """Check all GPU servers of a network over SSH, many at the same time. The servers are not changed."""


@dataclass(frozen=True, kw_only=True)
class FleetCheckShown(FleetCheck):
    """Options of ``railweave fleet check``."""

    junit: Annotated[
        Path | None, Opt("Also write a JUnit file (XML) with a test suite for each server.", metavar="FILE")
    ] = None
    html: Annotated[Path | None, Opt("Also write the result as a page (.html).", metavar="FILE")] = None
    csv: Annotated[Path | None, CSV] = None


@app.command(short_help="Run `host check` on every server.")
@command(FleetCheckShown)
def check(options: FleetCheckShown, *, as_json: bool, quiet: bool) -> None:
    """Run the checks of `railweave host check` on every server over SSH.

    The output lists each failed check with the servers on which it failed. If a check failed only at one leaf, on one
    rail (the NICs of the same position in all servers) or on one server, the output names that part. With --generic, no design is needed: `railweave fleet check
    --generic H100-[01-16]` runs every check that works without a design, and compares servers of the same kind with each
    other.

    railweave copies the check program to a temporary folder on each server, and removes the folder afterwards; nothing
    else on a server is changed. Exits 0 if every server answered and all checks passed, 1 if not, and 2 on wrong input.
    """
    from railweave.api import fleet_check

    with telling(quiet=quiet or as_json) as say:
        result = fleet_check.of(replace(options, progress=say))
    _show(result, options, as_json=as_json)


@dataclass(frozen=True, kw_only=True)
class FleetMeshShown(FleetMesh):
    """Options of ``railweave fleet mesh``."""

    junit: Annotated[
        Path | None, Opt("Also write a JUnit file (XML) with a test suite for each server.", metavar="FILE")
    ] = None
    html: Annotated[Path | None, Opt("Also write the result as a page (.html).", metavar="FILE")] = None
    csv: Annotated[Path | None, CSV] = None


@app.command(short_help="Send test packets between servers, to find faulty links.")
@command(FleetMeshShown)
def mesh(options: FleetMeshShown, *, as_json: bool, quiet: bool) -> None:
    """Send test packets between the NICs of a network, to find links and switches that do not carry them.

    Every NIC sends at most 16 packets of the designed MTU, called probes, to other NICs of its rail (the NICs of the same
    position in all servers), on the same leaf and on other leaves. The probes of all NICs together cross every leaf,
    every spine and every path color (group of uplinks, by destination address). In a network without path
    colors, switches choose the spine of each probe by hash, so some spines may get no probe.

    If probes fail, the output names the devices and links that all failed probes cross. No server is
    changed. Exits 0 if every server answered and every packet came back, else 1.
    """
    from railweave.api import fleet_mesh

    with telling(quiet=quiet or as_json) as say:
        result = fleet_mesh.of(replace(options, progress=say))
    _show(result, options, as_json=as_json)


def _show(result: FleetCheckResult | MeshResult, options: FleetCheckShown | FleetMeshShown, *, as_json: bool) -> None:
    from railweave.writing import write_asked

    write_asked(options.junit, result.to_junit)
    write_asked(options.html, result.to_html)
    write_csv(options.csv, result)
    if as_json:
        print_json(result.to_json())
    else:
        typer.echo(result.to_text())
    if not result.good:
        raise typer.Exit(1)
