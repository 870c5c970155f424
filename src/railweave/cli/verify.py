"""``railweave verify``."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.output import DEVICE, HARDWARE, JSON, QUIET, RUNNING, print_findings, print_json, tally, telling
from railweave.counting import counted


def verify(
    fabric: Path = typer.Argument(..., help="Fabric file or build folder."),
    yang: Path | None = typer.Option(
        None, envvar="RAILWEAVE_YANG", help="Folder of published Junos YANG models (conf-with-extensions)."
    ),
    frr_root: Path | None = typer.Option(
        None,
        envvar="RAILWEAVE_FRR_ROOT",
        help="Root folder with FRR in it (`make validators`), where vtysh is not installed.",
    ),
    netplan_root: Path | None = typer.Option(
        None,
        envvar="RAILWEAVE_NETPLAN_ROOT",
        help="Root folder with netplan in it (`make validators`), where it is not installed.",
    ),
    sonic_yang: Path | None = typer.Option(
        None,
        envvar="RAILWEAVE_SONIC_YANG",
        help="Folder of published SONiC YANG models (src/sonic-yang-models of sonic-buildimage), one folder for each branch in it (202505, master), or one set.",
    ),
    every: bool = typer.Option(
        False,
        "--every",
        help="Have validators read every file; by default, of more than 64 files they read one of each kind and a sample.",
    ),
    running: Path | None = RUNNING,
    design_only: bool = typer.Option(
        False, "--design-only", help="Check only the design of a build folder, not its files."
    ),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    all_: bool = typer.Option(False, "--all", help="Print notes too."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Look for mistakes in a network and in its files, and have programs of others read these files. Exits 1 where a finding is an error."""
    from railweave.api import verify as run

    with telling(quiet=quiet or as_json) as say:
        result = run(
            fabric,
            device=device,
            hardware=hardware,
            yang=yang,
            frr_root=frr_root,
            netplan_root=netplan_root,
            sonic_yang=sonic_yang,
            every=every,
            running=running,
            design_only=design_only,
            progress=say,
        )
    if as_json:
        print_json(
            {
                "good": result.good,
                "checks": result.checks,
                "validators": [
                    {"name": j.name, "ran": j.ran, "validated": j.validated, "reason": j.reason}
                    for j in result.validators
                ],
                "findings": [finding.to_json() for finding in result.findings],
            }
        )
    else:
        print_findings(result.findings, least=("error", "warning", "info") if all_ else ("error", "warning"))
        for validator in result.validators:
            typer.echo(
                f"validator {validator.name}: "
                + (
                    f"{counted(validator.validated, 'file')}, {validator.reason}"
                    if validator.ran
                    else f"skipped: {validator.reason}"
                )
            )
        typer.echo(f"{len(result.checks)} checks: {tally(result.findings)}")
    if not result.good:
        raise typer.Exit(1)
