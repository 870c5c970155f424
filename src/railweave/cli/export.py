"""``railweave export``: a design in the files of other tools."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.output import DEVICE, HARDWARE, JSON, QUIET, print_json, waiting
from railweave.counting import counted

app = typer.Typer(no_args_is_help=True, help="Write a design in the files of other tools.")


@app.callback()
def root() -> None:
    """Write a design in the files of other tools."""


@app.command(short_help="Scrape configuration, rules, dashboards, and one for gnmic.")
def prometheus(
    fabric: Path = typer.Argument(..., help="Fabric file or build folder."),
    output: Path = typer.Option(..., "--output", "-o", help="Folder for the files."),
    watch: str = typer.Option("127.0.0.1:8484", "--watch", help="Where `railweave watch` listens."),
    alertmanager: str | None = typer.Option(None, "--alertmanager", help="Where Alertmanager listens, as HOST:9093."),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write what Prometheus and Grafana need for this network: scraping, recording rules, alert rules that compare with the design, dashboards.

    gnmic.yaml is for those who run gnmic in place of `railweave watch`; its metrics have other names than the rules read.
    """
    from railweave.api import load
    from railweave.operations.exports.prometheus import prometheus as exported
    from railweave.writing import write_below

    with waiting(f"reading and designing {fabric}", quiet=quiet or as_json):
        files = exported(load(fabric, device=device, hardware=hardware), watch=watch, alertmanager=alertmanager)
    write_below(output, files)
    if as_json:
        print_json({"folder": str(output), "files": sorted(files)})
    else:
        typer.echo(f"{output}: {counted(len(files), 'file')}: {', '.join(files)}")
