"""``railweave drift``."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.output import DEVICE, HARDWARE, JSON, QUIET, print_findings, print_json, telling, waiting
from railweave.counting import counted


def drift(
    fabric: Path = typer.Argument(..., help="Fabric file or build folder."),
    capture: Path = typer.Argument(
        ..., help="Folder of configurations saved from switches (DEVICE/configuration.txt)."
    ),
    only: list[str] = typer.Option([], "--only", help="Compare this switch alone; may be repeated."),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    adopt: bool = typer.Option(
        False,
        "--adopt",
        help="Write statements that switches have beyond the design into FABRIC: those of all of a role under its `extra:`, "
        "others under `overrides:`.",
    ),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Compare the saved configurations of switches with the design, and say what each difference does to traffic.

    Exits 0 where nothing differs, 1 where something does or the capture lacks a switch of the design: of that one nothing is known.
    """
    from railweave.api import drift as compare
    from railweave.api import load

    with waiting(f"reading and designing {fabric}", quiet=quiet or as_json):
        network = load(fabric, device=device, hardware=hardware)
    with telling(quiet=quiet or as_json) as say:
        found = compare(network, capture, only=only, progress=say)
    adopted: list[str] = []
    if adopt:
        from railweave.analysis.drift.adopt import adopt_into

        adopted = adopt_into(fabric, network, found)
    if as_json:
        print_json({**found.to_json(), "adopted": adopted})
    else:
        for line in found.lines():
            typer.echo(line)
        if found.findings:
            typer.echo("what the checks say of the running network, and not of the designed one:")
            print_findings(found.findings)
        for line in adopted:
            typer.echo(line if line.startswith("not adopted") else f"adopted: {line}")
        differ = sum(bool(one.stands.findings) for one in found.devices)
        typer.echo(
            f"{counted(found.compared, 'switch', 'switches')} compared: "
            + (f"{differ} {'differs' if differ == 1 else 'differ'} from the design" if differ else "no difference")
        )
    if not found.proven:
        raise typer.Exit(1)
