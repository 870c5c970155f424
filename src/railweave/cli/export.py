"""``railweave export``: write a design as files for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from railweave.api.options import Opt
from railweave.api.verbs import DEVICE, FABRIC, HARDWARE
from railweave.cli.command import command
from railweave.cli.output import print_json, waiting
from railweave.counting import counted

app = typer.Typer(no_args_is_help=True, help="Write a design as files for other tools.")


@app.callback()
def root() -> None:
    """Write a design as files for other tools."""


@dataclass(frozen=True, kw_only=True)
class Prometheus:
    """Options of ``railweave export prometheus``."""

    fabric: Annotated[Path, FABRIC]
    output: Annotated[
        Path, Opt("Folder to write the files into; existing files with the same names are replaced.", letter="-o")
    ]
    watch: Annotated[
        str,
        Opt("Address and port of `railweave watch` (its option --listen), from which Prometheus reads the metrics."),
    ] = "127.0.0.1:8484"
    alertmanager: Annotated[
        str | None,
        Opt(
            "Address and port of Alertmanager, for example HOST:9093. Default: no Alertmanager in the Prometheus configuration."
        ),
    ] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | None, HARDWARE] = None


@app.command(short_help="Write files for Prometheus, Grafana and gnmic.")
@command(Prometheus)
def prometheus(options: Prometheus, *, as_json: bool, quiet: bool) -> None:
    """Write files for Prometheus and Grafana: scrape configuration, recording rules, alert rules based on the design, and dashboards.

    The metrics come from `railweave watch`. For sites that run gnmic instead, the file gnmic.yaml configures gnmic; the rules do not work
    with gnmic, because its metrics have different names.
    """
    from railweave.api import load
    from railweave.operations.exports.prometheus import prometheus as exported
    from railweave.writing import write_below

    with waiting(f"reading and designing {options.fabric}", quiet=quiet or as_json):
        files = exported(
            load(options.fabric, device=options.device, hardware=options.hardware),
            watch=options.watch,
            alertmanager=options.alertmanager,
        )
    write_below(options.output, files)
    if as_json:
        print_json({"folder": str(options.output), "files": sorted(files)})
    else:
        typer.echo(f"{options.output}: {counted(len(files), 'file')}: {', '.join(files)}")
