"""``railweave build``: design a network and write all of its files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from railweave.api.verbs import Build
from railweave.cli.command import command
from railweave.cli.output import print_findings, print_json, tally, telling
from railweave.counting import counted


@command(Build)
def build(options: Build, *, as_json: bool, quiet: bool) -> None:
    """Design a network from its fabric file, and write a report and the configuration of every switch and server into a folder.

    The folder gets report.html, cabling.csv, addresses.csv, topology.svg, design.json, findings.json, a runbook (instructions for installation) for each
    switch, and the configuration files of every device under devices/ and hosts/.

    NAME.lock is written next to the fabric file. This lock file records the ports, addresses and AS numbers that the build has assigned, so that devices keep them in later builds (docs/day-two.md#change-the-design-diff-lock-status). Mistakes and risks in the design are reported as findings. Exits 1 if a finding is an error; the files are written even then.
    """
    from railweave.api import build as run

    out = Path(options.out)
    with telling(quiet=quiet or as_json) as say:
        built = run.of(replace(options, progress=say))
    findings = built.findings
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
