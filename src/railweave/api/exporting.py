"""Files for other tools: schedulers, Kubernetes, inventories and monitoring (docs/export.md)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.site_verbs import EXPORTS, ExportFiles, ExportPrometheus
from railweave.errors import Argument, InputError, Problem
from railweave.outputs.folder.sources import load
from railweave.writing import write_below

if TYPE_CHECKING:
    from collections.abc import Sequence


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
