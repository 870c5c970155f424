"""``railweave fleet``: the GPU servers of a network, many at once."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.options import DEVICE, HARDWARE, JSON, QUIET
from railweave.cli.output import print_json, telling

app = typer.Typer(
    no_args_is_help=True, help="Check the GPU servers of a network, many at once. Nothing is changed on them."
)


@app.callback()
def _fleet() -> None:
    """Check the GPU servers of a network, many at once. Nothing is changed on them."""


@app.command(short_help="Run `host check` on every server.")
def check(
    fabric: Path = typer.Argument(..., help="Fabric file or build folder."),
    hosts: str | None = typer.Option(None, "--hosts", help="Servers to look at, as H100-[01-04]; all where absent."),
    access: Path | None = typer.Option(
        None, "--access", help="How servers are reached: access.yaml (docs/collect.md)."
    ),
    only: list[str] = typer.Option(
        [], "--only", help="This check, or all of a subject (docs/checks.md); may be repeated."
    ),
    sudo: bool = typer.Option(False, "--sudo", help="Run as root by `sudo -n`, which must ask for no password."),
    at_once: int = typer.Option(32, "--at-once", min=1, max=512, help="How many servers are looked at together."),
    junit: Path | None = typer.Option(None, "--junit", help="Write a JUnit file: a suite for each server."),
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
    from railweave.writing import write_file

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
    if junit is not None:
        write_file(junit, found.to_junit())
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(found.to_text())
    if not found.good:
        raise typer.Exit(1)
