"""``railweave deploy replace``: the plan of what follows from hardware that was replaced."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.deploy_output import planned
from railweave.cli.options import HARDWARE, JSON, QUIET
from railweave.cli.output import telling


def replace(
    fabric: Path = typer.Argument(..., help="Fabric file."),
    what: str = typer.Argument(..., help="A switch, a server, or a NIC as SERVER:NIC, as the inventory names it."),
    serial: str = typer.Option("", "--serial", help="Serial number of the new one."),
    mac: str = typer.Option("", "--mac", help="MAC address of the new NIC, as a0:88:c2:3b:50:66."),
    output: Path = typer.Option(
        ..., "--output", "-o", help="File of the plan. It holds configuration: only you can read it."
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
    """Write the plan of all that follows from a replaced switch, server or NIC: inventory, addresses, labels, configurations, files of servers.

    Nothing is changed; `deploy apply` writes the inventory and changes the devices. Exits 1 where the plan is refused.
    """
    from railweave.api.replacing import deploy_replace

    with telling(quiet=quiet or as_json) as say:
        found = deploy_replace(
            fabric, what, serial=serial, mac=mac, lab=lab, access=access, hardware=hardware, progress=say
        )
    planned(found, output, lab=lab, access=access, as_json=as_json)
