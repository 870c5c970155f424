"""Files for other tools: schedulers, Kubernetes, inventories and monitoring (docs/export.md)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.site_verbs import (
    EXPORTS,
    ExportFiles,
    ExportNautobot,
    ExportNetbox,
    ExportPrometheus,
    ServerInventory,
)
from railweave.errors import Argument, InputError, Option, Problem
from railweave.operations.exports.folder import write_export
from railweave.operations.exports.sarif import of_input, sarif, workflow_commands
from railweave.outputs.folder.sources import load
from railweave.writing import write_asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.api.verbs import ForPipelines
    from railweave.live.check.learnt import FilledInventory
    from railweave.model.findings import Finding
    from railweave.operations.exports.inventories.objects import Product
    from railweave.operations.exports.inventories.sync import Synced

__all__ = [
    "export",
    "export_nautobot",
    "export_netbox",
    "export_prometheus",
    "findings_for_pipelines",
    "nautobot_inventory",
    "netbox_inventory",
    "of_input",
]


@verb(ExportFiles)
def export(options: ExportFiles) -> Sequence[str]:
    """Write the files of a target into a folder, and return their names.

    ``target`` is the tool that reads the files, for example ``slurm``.

    Raises ``InputError`` if the target would refuse a name of the network, ``OutputError`` if a file cannot be written, and the
    errors of ``load``.
    """
    if options.target not in EXPORTS:
        message = f"there is no target {options.target!r}"
        raise InputError([Problem(Argument("target"), message, f"targets are {', '.join(EXPORTS)}")])
    module = import_module(f"railweave.operations.exports.{options.target}")
    files: dict[str, str] = module.files(options.network())
    write_export(Path(options.output), options.target, files)
    return list(files)


@verb(ExportPrometheus)
def export_prometheus(options: ExportPrometheus) -> Sequence[str]:
    """Write files for Prometheus, Grafana and gnmic into a folder, and return their names.

    Raises ``OutputError`` if a file cannot be written, and the errors of ``load``.
    """
    from railweave.operations.exports.prometheus import prometheus

    network = load(options.fabric, device=options.device, hardware=options.hardware)
    files = prometheus(network, watch=options.watch, alertmanager=options.alertmanager)
    write_export(Path(options.output), "prometheus", files)
    return list(files)


def findings_for_pipelines(
    options: ForPipelines, findings: Sequence[Finding], *, source: str, exit_code: int, counts: Mapping[str, int]
) -> list[str]:
    """Write findings as a SARIF file if ``options`` name one, and return the lines of GitHub's annotations if ``options`` ask for them.

    The other parameters are those of ``sarif``. Raises ``OutputError`` if the file cannot be written.
    """
    write_asked(options.sarif, lambda: sarif(findings, source=source, exit_code=exit_code, counts=counts))
    return workflow_commands(findings, source=source) if options.github else []


@verb(ExportNetbox)
def export_netbox(options: ExportNetbox) -> Synced | Sequence[str]:
    """Write files that NetBox's pages import, or compare a NetBox server with the design and make it equal.

    - ``progress``: a function that is called with a short description of the current activity.

    Returns the names of the files with ``output``, and else the changes: with ``apply`` those that were carried out, otherwise
    those that are needed. Nothing is deleted, and objects without the tag are not changed unless ``adopt`` is given.

    Raises ``InputError`` for wrong options, for a missing token, or if NetBox would refuse a name of the network. Raises ``ServerError``
    if a request fails, ``OutputError`` if a file cannot be written, and the errors of ``load``.
    """
    from railweave.operations.exports.inventories.netbox import NETBOX

    if (options.output is None) == (options.url is None):
        fix = "give --output FOLDER for files, or --url URL for a server"
        raise InputError([Problem(Option("--output"), "exactly one of --output and --url is required", fix)])
    if options.output is not None and (options.apply or options.adopt):
        fix = "leave them out, or give --url in place of --output"
        raise InputError([Problem(Option("--apply"), "--apply and --adopt need a server", fix)])
    if options.url is None:
        from railweave.operations.exports.inventories.forms import files

        network = options.network()
        texts = files(network, NETBOX.items(network, site=options.site, tag=options.tag))
        write_export(Path(str(options.output)), "netbox", texts)
        return list(texts)
    return _synced(NETBOX, options, options.url)


@verb(ExportNautobot)
def export_nautobot(options: ExportNautobot) -> Synced:
    """Compare a Nautobot server with the design, and make it equal.

    - ``progress``: a function that is called with a short description of the current activity.

    Returns the changes: with ``apply`` those that were carried out, otherwise those that are needed. Nothing is deleted, and objects
    without the tag are not changed unless ``adopt`` is given.

    Raises ``InputError`` for wrong options, for a missing token, or if Nautobot would refuse a name of the network. Raises ``ServerError``
    if a request fails, and the errors of ``load``.
    """
    from railweave.operations.exports.inventories.nautobot import NAUTOBOT

    return _synced(NAUTOBOT, options, options.url)


def _synced(product: Product, options: ExportNetbox | ExportNautobot, url: str) -> Synced:
    from railweave.operations.exports.inventories.client import Client, token_of
    from railweave.operations.exports.inventories.sync import export_to

    with Client(product, url, token_of(product, options.token_file), options.ca) as client:
        options.progress(f"reading and designing {options.source}")
        wanted = product.items(options.network(), site=options.site, tag=options.tag)
        return export_to(client, wanted, apply=options.apply, adopt=options.adopt, progress=options.progress)


@verb(ServerInventory)
def netbox_inventory(options: ServerInventory) -> FilledInventory:
    """Return the inventory of a fabric file, filled in with values of a NetBox server.

    The values are serial numbers, MAC addresses and names of interfaces. A value that the inventory has stays; a different value on the
    server is in ``notes``. ``difference()`` of the result returns the changes as text.

    Raises ``InputError`` for a missing token, ``ServerError`` if a request fails, ``OutputError`` if the file cannot be written, and the
    errors of ``load``.
    """
    from railweave.operations.exports.inventories.netbox import NETBOX

    return _learned(NETBOX, options)


@verb(ServerInventory)
def nautobot_inventory(options: ServerInventory) -> FilledInventory:
    """Return the inventory of a fabric file, filled in with values of a Nautobot server: see ``netbox_inventory``."""
    from railweave.operations.exports.inventories.nautobot import NAUTOBOT

    return _learned(NAUTOBOT, options)


def _learned(product: Product, options: ServerInventory) -> FilledInventory:
    from railweave.live.check.learnt import filled_with, inventory_of
    from railweave.model.intent.inventory import read_inventory
    from railweave.operations.exports.inventories.client import Client, token_of
    from railweave.operations.exports.inventories.learning import learn
    from railweave.writing import write_file

    with Client(product, options.url, token_of(product, options.token_file), options.ca) as client:
        file = inventory_of(Path(options.fabric))
        options.progress(f"reading and designing {options.fabric}")
        network = load(options.fabric, device=options.device, hardware=options.hardware)
        items = read_inventory(file).items
        learned = learn(client, network, items, site=options.site, progress=options.progress)
    filled = filled_with(file, learned.cells, learned.notes)
    if options.write and filled.differs:
        write_file(filled.file, filled.after)
    return filled
