"""``railweave verify``: find mistakes in a design and its device files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from railweave.api.options import Opt
from railweave.api.verbs import ForPipelines, Verify
from railweave.cli.command import command
from railweave.cli.output import print_findings, print_json, refusing, tally, telling, write_findings
from railweave.counting import counted


@dataclass(frozen=True, kw_only=True)
class VerifyShown(Verify, ForPipelines):
    """Options of ``railweave verify``."""

    all_: Annotated[bool, Opt("Also print findings of severity info. Default: only errors and warnings.")] = False


@command(VerifyShown)
def verify(options: VerifyShown, *, as_json: bool, quiet: bool) -> None:
    """Check a design and its device files for mistakes, and report them as findings. Third-party validators that are installed, such as vtysh of FRR, also check the files. Exits 1 if a finding is an error."""
    from railweave.api import verify as run

    with refusing(options, source=options.source, as_json=as_json), telling(quiet=quiet or as_json) as say:
        result = run.of(replace(options, progress=say))
    counts = {
        "checks": len(result.checks),
        "validators": sum(validator.ran for validator in result.validators),
        "validators_skipped": sum(not validator.ran for validator in result.validators),
    }
    write_findings(
        options, result.findings, source=options.source, exit_code=int(not result.good), counts=counts, as_json=as_json
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
        print_findings(result.findings, least=("error", "warning", "info") if options.all_ else ("error", "warning"))
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
