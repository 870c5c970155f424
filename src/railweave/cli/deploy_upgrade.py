"""``railweave deploy upgrade``: the plan that installs another release on switches."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.deploy_output import planned
from railweave.cli.options import HARDWARE, JSON, QUIET
from railweave.cli.output import telling


def upgrade(
    fabric: Path = typer.Argument(..., help="Fabric file."),
    release: str = typer.Option(..., "--release", help="The release that must run afterwards, as 25.4R1."),
    image: str = typer.Option(
        "",
        "--image",
        help="A file of this machine, which is copied to each switch, or a URL that the switches reach; with --lab another FRRouting's root folder.",
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", help="File of the plan. It holds configuration: only you can read it."
    ),
    only: list[str] = typer.Option([], "--only", help="This switch alone; may be repeated."),
    batch: int = typer.Option(1, "--batch", min=1, help="Switches that are out together, at most."),
    max_unavailable: float = typer.Option(
        0.5, "--max-unavailable", min=0, max=1, help="Share of the network (0 to 1) that a batch may take out."
    ),
    force: bool = typer.Option(
        False, "--force", help="Though a path color, a plane, a tenant or a NIC is gone meanwhile; the plan says which."
    ),
    lab: bool = typer.Option(
        False, "--lab", help="The devices of the lab of this fabric file, which is up; needs root."
    ),
    access: Path | None = typer.Option(
        None, "--access", help="How switches are reached: access.yaml (docs/collect.md)."
    ),
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write the plan that installs a release on switches, ordered by redundancy; nothing is changed. `deploy apply` carries it out.

    For each batch it drains, waits until nothing flows, installs, restarts, waits, compares release, sessions and routes with what was before, and undrains. It stops at the first switch that does not come back as it was. Exits 1 where the plan is refused.
    """
    from railweave.api.upgrading import deploy_upgrade

    with telling(quiet=quiet or as_json) as say:
        found = deploy_upgrade(
            fabric,
            release,
            image=image,
            only=only,
            batch=batch,
            max_unavailable=max_unavailable,
            force=force,
            lab=lab,
            access=access,
            hardware=hardware,
            progress=say,
        )
    planned(found, output, lab=lab, access=access, as_json=as_json)
