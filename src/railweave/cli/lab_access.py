"""``railweave lab access``: a lab's devices reached as real ones are."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.options import JSON, QUIET
from railweave.cli.output import print_json

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
