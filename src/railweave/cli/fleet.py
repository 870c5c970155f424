"""``railweave fleet``: the GPU servers of a network, many at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.output import DEVICE, HARDWARE, JSON, QUIET, print_json, telling

if TYPE_CHECKING:
    from railweave.live.fleet.checked import Checked
    from railweave.live.fleet.meshed import Meshed

app = typer.Typer(
    no_args_is_help=True, help="Check the GPU servers of a network, many at once. Nothing is changed on them."
)


@app.callback()
def _fleet() -> None:
    """Check the GPU servers of a network, many at once. Nothing is changed on them."""


FABRIC = typer.Argument(..., help="Fabric file or build folder.")
ACCESS = typer.Option(None, "--access", help="How servers are reached: access.yaml (docs/collect.md).")
SUDO = typer.Option(False, "--sudo", help="Run as root by `sudo -n`, which must ask for no password.")
JUNIT = typer.Option(None, "--junit", help="Write a JUnit file: a suite for each server.")
HTML = typer.Option(None, "--html", help="Write a page that loads nothing from elsewhere.")


@app.command(short_help="Run `host check` on every server.")
def check(
    fabric: Path = FABRIC,
    hosts: str | None = typer.Option(None, "--hosts", help="Servers to look at, as H100-[01-04]; all where absent."),
    access: Path | None = ACCESS,
    only: list[str] = typer.Option(
        [], "--only", help="This check, or all of a subject (docs/checks.md); may be repeated."
    ),
    sudo: bool = SUDO,
    at_once: int = typer.Option(32, "--at-once", min=1, max=512, help="How many servers are looked at together."),
    junit: Path | None = JUNIT,
    html: Path | None = HTML,
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Copy `railweave host` to every server over SSH, run its checks there, and show what failed, where, and what failures share.

    It is copied to a temporary folder, which is removed; nothing else on a server is touched. Exits 0 where every server answered and
    nothing failed, else 1.
    """
    from railweave.api import fleet_check

    with telling(quiet=quiet or as_json) as say:
        found = fleet_check(
            fabric,
            hosts=hosts,
            access=access,
            only=only,
            sudo=sudo,
            at_once=at_once,
            device=device,
            hardware=hardware,
            progress=say,
        )
    _show(found, junit, html, as_json=as_json)


@app.command(short_help="Send packets between servers on every path color.")
def mesh(
    fabric: Path = FABRIC,
    hosts: str | None = typer.Option(None, "--hosts", help="Servers that send, as H100-[01-04]; all where absent."),
    access: Path | None = ACCESS,
    sudo: bool = SUDO,
    at_once: int = typer.Option(64, "--at-once", min=1, max=512, help="How many servers send together."),
    junit: Path | None = JUNIT,
    html: Path | None = HTML,
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Have every NIC send packets of the designed MTU to NICs of its rail, on its leaf and across, on every path color.

    At most 16 probes a NIC cover every leaf, spine and color. Where probes fail, the output names what all of them cross. Nothing on a server is
    changed. Exits 0 where every server answered and every packet came back, else 1.
    """
    from railweave.api import fleet_mesh

    with telling(quiet=quiet or as_json) as say:
        found = fleet_mesh(
            fabric,
            hosts=hosts,
            access=access,
            sudo=sudo,
            at_once=at_once,
            device=device,
            hardware=hardware,
            progress=say,
        )
    _show(found, junit, html, as_json=as_json)


def _show(found: Checked | Meshed, junit: Path | None, html: Path | None, *, as_json: bool) -> None:
    from railweave.live.fleet.page import page
    from railweave.writing import write_file

    if junit is not None:
        write_file(junit, found.to_junit())
    if html is not None:
        write_file(html, page(found))
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(found.to_text())
    if not found.good:
        raise typer.Exit(1)
