"""``railweave deploy drain`` and ``undrain``: plans that take a part of a network out of use, and back."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.deploy_output import planned
from railweave.cli.options import HARDWARE, JSON, QUIET
from railweave.cli.output import telling

_FABRIC = typer.Argument(..., help="Fabric file.")
_WHAT = typer.Argument(
    ...,
    help="A switch, a server, a link as A--B or SERVER:NIC, as in cabling.csv; or a path color. May be several.",
    metavar="WHAT...",
)
_OUTPUT = typer.Option(..., "--output", "-o", help="File of the plan. It holds configuration: only you can read it.")
_LAB = typer.Option(False, "--lab", help="The devices of the lab of this fabric file, which is up; needs root.")
_ACCESS = typer.Option(None, "--access", help="How switches are reached: access.yaml (docs/collect.md).")


def drain(
    fabric: Path = _FABRIC,
    what: list[str] = _WHAT,
    output: Path = _OUTPUT,
    force: bool = typer.Option(
        False, "--force", help="Though a path color, a plane, a tenant or a NIC would be gone; the plan says which."
    ),
    lab: bool = _LAB,
    access: Path | None = _ACCESS,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write the plan that takes something out of use by routing; `deploy apply` carries it out, and waits until it carries nothing.

    It says what is left, and changes `status:` of the fabric file when it is applied. Exits 1 where the plan is refused.
    """
    from railweave.api.draining import deploy_drain

    with telling(quiet=quiet or as_json) as say:
        found = deploy_drain(fabric, what, lab=lab, access=access, force=force, hardware=hardware, progress=say)
    planned(found, output, lab=lab, access=access, as_json=as_json)


def undrain(
    fabric: Path = _FABRIC,
    what: list[str] = _WHAT,
    output: Path = _OUTPUT,
    lab: bool = _LAB,
    access: Path | None = _ACCESS,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write the plan that brings back into use what was drained; `deploy apply` carries it out."""
    from railweave.api.draining import deploy_undrain

    with telling(quiet=quiet or as_json) as say:
        found = deploy_undrain(fabric, what, lab=lab, access=access, hardware=hardware, progress=say)
    planned(found, output, lab=lab, access=access, as_json=as_json)
