"""``railweave drift``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from railweave.api.options import Opt
from railweave.api.verbs import DriftOptions
from railweave.cli.command import command
from railweave.cli.output import print_findings, print_json, telling, waiting
from railweave.counting import counted


@dataclass(frozen=True, kw_only=True)
class DriftShown(DriftOptions):
    """Options of ``railweave drift``."""

    adopt: Annotated[
        bool,
        Opt(
            "Change the fabric file: add the statements that switches have and the design lacks. A statement of all switches of a role goes under `extra:` of the role, "
            "any other under `overrides:`."
        ),
    ] = False


@command(DriftShown)
def drift(options: DriftShown, *, as_json: bool, quiet: bool) -> None:
    """Compare the saved configurations of switches with the design, and report how each difference affects traffic.

    Exits 0 if nothing differs. Exits 1 if something differs, or if the capture lacks a switch of the design, whose state is then unknown.
    """
    from railweave.api import drift as compare

    with waiting(f"reading and designing {options.source}", quiet=quiet or as_json):
        network = options.network()
    with telling(quiet=quiet or as_json) as say:
        comparison = compare.of(replace(options, source=network, device=(), hardware=None, progress=say))
    adopted: list[str] = []
    if options.adopt:
        from railweave.analysis.drift.adopt import adopt_into

        adopted = adopt_into(Path(str(options.source)), network, comparison)
    if as_json:
        print_json({**comparison.to_json(), "adopted": adopted})
    else:
        for line in comparison.lines():
            typer.echo(line)
        if comparison.findings:
            typer.echo("what the checks say of the running network, and not of the designed one:")
            print_findings(comparison.findings)
        for line in adopted:
            typer.echo(line if line.startswith("not adopted") else f"adopted: {line}")
        differ = sum(bool(device.stands.findings) for device in comparison.devices)
        typer.echo(
            f"{counted(comparison.compared, 'switch', 'switches')} compared: "
            + (f"{differ} {'differs' if differ == 1 else 'differ'} from the design" if differ else "no difference")
        )
    if not comparison.proven:
        raise typer.Exit(1)
