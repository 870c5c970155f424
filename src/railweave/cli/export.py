"""``railweave export``: write a design as files for other tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import typer

from railweave.api.site_verbs import EXPORTS, ExportFiles, ExportNautobot, ExportNetbox, ExportPrometheus
from railweave.cli.command import command
from railweave.cli.output import print_json, telling, waiting
from railweave.counting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from railweave.operations.exports.inventories.sync import Synced

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

    export_to.__doc__ = f"Write files for {about} (docs/export/{name}.md)"
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


_LISTED = 8
"""The number of files, and of changes of one kind, that are listed; --json lists all."""


@app.command(short_help="NetBox: sites, racks, devices, interfaces, cables, addresses.")
@command(ExportNetbox)
def netbox(options: ExportNetbox, *, as_json: bool, quiet: bool) -> None:
    """Create the design's objects on a NetBox server (--url), or write files that its import pages read (-o).

    The objects are: sites, racks, device types, devices, interfaces, cables, VLANs, VRFs, prefixes, addresses and AS numbers. With --url,
    the command shows the objects to create and to change, and exits 1 if there are any; --apply carries the changes out. Nothing is deleted.
    Objects without the tag of railweave are not changed. The API token is in the environment variable NETBOX_TOKEN (docs/export/netbox.md).
    """
    from railweave.api.exporting import export_netbox

    with telling(quiet=quiet or as_json) as progress:
        result = export_netbox.of(replace(options, progress=progress))
    if not hasattr(result, "changes"):
        _show(str(options.output), cast("Sequence[str]", result), as_json=as_json)
        return
    _show_synced(cast("Synced", result), as_json=as_json)


@app.command(short_help="Nautobot: the same objects, except AS numbers.")
@command(ExportNautobot)
def nautobot(options: ExportNautobot, *, as_json: bool, quiet: bool) -> None:
    """Create the design's objects on a Nautobot server: those of export netbox, except AS numbers.

    The command shows the objects to create and to change, and exits 1 if there are any; --apply carries the changes out. Nothing is deleted.
    The API token is in the environment variable NAUTOBOT_TOKEN (docs/export/nautobot.md).
    """
    from railweave.api.exporting import export_nautobot

    with telling(quiet=quiet or as_json) as progress:
        result = export_nautobot.of(replace(options, progress=progress))
    _show_synced(result, as_json=as_json)


def _show_synced(synced: Synced, *, as_json: bool) -> None:
    if as_json:
        print_json(synced.to_json())
    else:
        _show_changes(synced)
    if synced.differs and not synced.applied:
        raise typer.Exit(1)


def _show_changes(synced: Synced) -> None:
    listed: dict[tuple[str, str], int] = {}
    for change in synced.changes:
        key = (change.kind, change.action)
        listed[key] = listed.get(key, 0) + 1
        if listed[key] <= _LISTED:
            typer.echo(str(change))
        elif listed[key] == _LISTED + 1:
            count = sum((other.kind, other.action) == key for other in synced.changes)
            typer.echo(f"  … and {count - _LISTED} more of kind {change.kind} to {change.action} (--json lists all)")
    for note in synced.notes:
        typer.echo(f"note: {note}")
    words = ("created", "changed") if synced.applied else ("to create", "to change")
    for kind, row in synced.counts().items():
        typer.echo(
            f"{kind}: {row['create']} {words[0]}, {row['update']} {words[1]}, {row['equal']} equal{_stays(row['different'])}"
        )
    last = "nothing to do" if not synced.differs else "done" if synced.applied else "carry the changes out with --apply"
    if different := synced.different.total():
        last += f"; {counted(different, 'object')} left different from the design, named above (--adopt changes them)"
    typer.echo(f"{synced.url} ({synced.product.name} {synced.version}): {last}")


def _stays(different: int) -> str:
    return f", {different} different and left as they are" if different else ""


def _show(folder: Path | str, files: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print_json({"folder": str(folder), "files": sorted(files)})
    else:
        more = f" and {len(files) - _LISTED:,} more (--json lists all)" if len(files) > 2 * _LISTED else ""
        shown = files[:_LISTED] if more else files
        typer.echo(f"{folder}: {counted(len(files), 'file')}: {', '.join(shown)}{more}")
