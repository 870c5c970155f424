"""``railweave export``: write a design as files for other tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from railweave.api.site_verbs import EXPORTS, ExportFiles, ExportPrometheus
from railweave.cli.command import command
from railweave.cli.output import print_json, waiting
from railweave.counting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

app = typer.Typer(no_args_is_help=True, help="Write a design as files for other tools.")


@app.callback()
def root() -> None:
    """Write a design as files for other tools."""


def _register(name: str, about: str) -> None:
    """Add the command of one target. ``about`` names the target's files."""

    def export_to(options: ExportFiles, *, as_json: bool, quiet: bool) -> None:
        from railweave.api.exporting import export

        with waiting(f"reading and designing {options.source}", quiet=quiet or as_json):
            files = export.of(replace(options, target=name))
        _show(options.output, files, as_json=as_json)

    export_to.__doc__ = f"Write files for {about} (docs/export.md)"
    app.command(name, short_help=about)(command(ExportFiles)(export_to))


for _name, _about in EXPORTS.items():
    _register(_name, _about)


@app.command(short_help="Prometheus, Grafana and gnmic: scrape configuration, rules, dashboards.")
@command(ExportPrometheus)
def prometheus(options: ExportPrometheus, *, as_json: bool, quiet: bool) -> None:
    """Write files for Prometheus and Grafana: scrape configuration, recording rules, alert rules based on the design, and dashboards.

    The metrics come from `railweave watch`. For sites that run gnmic instead, the file gnmic.yaml configures gnmic; the rules do not work
    with gnmic, because its metrics have different names.
    """
    from railweave.api.exporting import export_prometheus

    with waiting(f"reading and designing {options.fabric}", quiet=quiet or as_json):
        files = export_prometheus.of(options)
    _show(options.output, files, as_json=as_json)


def _show(folder: Path | str, files: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print_json({"folder": str(folder), "files": sorted(files)})
    else:
        typer.echo(f"{folder}: {counted(len(files), 'file')}: {', '.join(files)}")
