"""``railweave export``: write a design as files for other tools."""

from __future__ import annotations

import typer

from railweave.api.site_verbs import ExportPrometheus
from railweave.cli.command import command
from railweave.cli.output import print_json, waiting
from railweave.counting import counted

app = typer.Typer(no_args_is_help=True, help="Write a design as files for other tools.")


@app.callback()
def root() -> None:
    """Write a design as files for other tools."""


@app.command(short_help="Write files for Prometheus, Grafana and gnmic.")
@command(ExportPrometheus)
def prometheus(options: ExportPrometheus, *, as_json: bool, quiet: bool) -> None:
    """Write files for Prometheus and Grafana: scrape configuration, recording rules, alert rules based on the design, and dashboards.

    The metrics come from `railweave watch`. For sites that run gnmic instead, the file gnmic.yaml configures gnmic; the rules do not work
    with gnmic, because its metrics have different names.
    """
    from railweave.api.watching import export_prometheus

    with waiting(f"reading and designing {options.fabric}", quiet=quiet or as_json):
        files = export_prometheus.of(options)
    if as_json:
        print_json({"folder": str(options.output), "files": sorted(files)})
    else:
        typer.echo(f"{options.output}: {counted(len(files), 'file')}: {', '.join(files)}")
