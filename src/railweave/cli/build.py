"""``railweave build``."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.output import DEVICE, HARDWARE, JSON, PRICES, QUIET, print_findings, print_json, tally, telling
from railweave.counting import counted


def build(
    fabric: Path = typer.Argument(
        ..., help="Fabric file (NAME.yaml); NAME.inventory.csv and NAME.lock beside it are used."
    ),
    out: Path = typer.Option(..., "--out", "-o", help="Folder to write; replaced as a whole or not at all."),
    secrets: Path | None = typer.Option(
        None, help="YAML file of NAME: value that replaces secret:NAME in device files."
    ),
    compact: bool = typer.Option(
        False, "--compact", help="Free the slots of names that are gone, for new names to use."
    ),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    prices: Path | None = PRICES,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Design a network from its fabric file and write everything about it into a folder.

    The folder gets report.html, cabling.csv, addresses.csv, topology.svg, design.json, findings.json, a runbook for each
    switch, and the configuration files of every device under devices/ and hosts/. NAME.lock is then written beside the
    fabric file. Exits 1 where a finding is an error.
    """
    from railweave.model.findings import by_severity
    from railweave.outputs.folder.steps import build as run

    with telling(quiet=quiet or as_json) as say:
        built = run(
            fabric,
            out,
            secrets=secrets,
            compact=compact,
            device=device,
            hardware=hardware,
            prices=prices,
            progress=say,
        )
    findings = by_severity(built.findings)
    if as_json:
        print_json(
            {
                "network": built.network.name,
                "out": str(out),
                "files": built.files,
                "changed": built.changed,
                "switches": len(built.network.switches),
                "servers": len(built.network.servers),
                "cables": len(built.network.cables),
                "findings": [finding.to_json() for finding in findings],
            }
        )
    else:
        network = built.network
        typer.echo(
            f"{network.name}: {counted(len(network.switches), 'switch', 'switches')}, "
            f"{counted(len(network.servers), 'server')}, {counted(len(network.cables), 'cable')}; "
            f"{counted(built.files, 'file')} in {out}, {len(built.changed)} changed"
        )
        print_findings(findings, least=("error", "warning"))
        typer.echo(f"{tally(findings)}: see {out / 'report.html'}")
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)
