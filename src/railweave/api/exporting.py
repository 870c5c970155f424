"""Files for other tools: schedulers, Kubernetes, inventories and monitoring (docs/export.md)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.site_verbs import EXPORTS, ExportFiles, ExportPrometheus
from railweave.errors import Argument, InputError, Problem
from railweave.operations.exports.sarif import sarif, workflow_commands
from railweave.outputs.folder.sources import load
from railweave.writing import write_asked, write_below

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.api.verbs import ForPipelines
    from railweave.model.findings import Finding


@verb(ExportFiles)
def export(options: ExportFiles) -> Sequence[str]:
    """Write the files of a target into a folder, and return their names.

    ``target`` is the tool that reads the files, for example ``slurm``.

    Raises ``InputError`` if the target would refuse a name of the network, ``OutputError`` if a file cannot be written, and the
    errors of ``load``.
    """
    if options.target not in EXPORTS:
        description = f"there is no target {options.target!r}"
        raise InputError([Problem(Argument("target"), description, f"targets are {', '.join(EXPORTS)}")])
    module = import_module(f"railweave.operations.exports.{options.target}")
    files: dict[str, str] = module.files(options.network())
    write_below(Path(options.output), files)
    return list(files)


@verb(ExportPrometheus)
def export_prometheus(options: ExportPrometheus) -> Sequence[str]:
    """Write files for Prometheus, Grafana and gnmic into a folder, and return their names.

    Raises ``OutputError`` if a file cannot be written, and the errors of ``load``.
    """
    from railweave.operations.exports.prometheus import prometheus

    network = load(options.fabric, device=options.device, hardware=options.hardware)
    files = prometheus(network, watch=options.watch, alertmanager=options.alertmanager)
    write_below(Path(options.output), files)
    return list(files)


def findings_for_pipelines(
    options: ForPipelines, findings: Sequence[Finding], *, source: str, good: bool, counts: Mapping[str, int]
) -> list[str]:
    """Write findings as a SARIF file if ``options`` name one, and return the lines of GitHub's annotations if ``options`` ask for them.

    The other parameters are those of ``sarif``. Raises ``OutputError`` if the file cannot be written.
    """
    write_asked(options.sarif, lambda: sarif(findings, source=source, good=good, counts=counts))
    return workflow_commands(findings, source=source) if options.github else []
