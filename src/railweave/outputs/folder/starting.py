"""The files that ``init`` writes: a fabric file, an inventory template next to it, and a reference to the schema for editors."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.errors import InputError, Option, Problem
from railweave.examples import example_files, write_new
from railweave.garbage import uncollected
from railweave.model.catalog import in_force
from railweave.model.findings import Finding, by_severity, summed
from railweave.model.intent.inventory import template
from railweave.model.intent.reference import fabric_schema
from railweave.outputs.folder.designing import design_file
from railweave.outputs.rendering.network import switch_configs, switch_gaps
from railweave.outputs.report.bom import Item, bill
from railweave.writing import write_file

if TYPE_CHECKING:
    from railweave.design.sizing.request import Answer
    from railweave.design.sizing.size import Shape
    from railweave.model.network.model import Network

SCHEMA = "fabric.schema.json"
SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA}\n"
"""The line that tells an editor's YAML language server which fields exist."""


def start_from_example(name: str, folder: Path) -> list[Path]:
    """Write an example into a new or empty folder, and return its files, the fabric file first.

    If the example has no inventory, a template to fill in is written. Raises ``InputError`` for an unknown name, and
    ``OutputError`` if the folder cannot be written.
    """
    files = {file: content.decode() for file, content in example_files(name).items()}
    fabric, inventory = f"{name}.yaml", f"{name}.inventory.csv"
    if inventory not in files:
        files[inventory] = _template(files[fabric])
    return _written(folder, fabric, files[fabric], inventory, files[inventory])


def start_sized(answer: Answer, folder: Path) -> list[Path]:
    """Write a sized fabric into a new or empty folder, and return its files, the fabric file first.

    Raises ``OutputError`` if the folder cannot be written.
    """
    name = answer.name
    return _written(folder, f"{name}.yaml", answer.fabric(), f"{name}.inventory.csv", answer.inventory())


def sized(answer: Answer, hardware: Path | None = None) -> Network:
    """Return the network of a sized fabric. Raises ``InputError`` if the design rejects the fabric file.

    ``hardware`` is a folder of hardware files.
    """
    try:
        return designed(SCHEMA_LINE + answer.fabric(), hardware, answer.name)
    except InputError as error:
        first = error.problems[0]
        message = f"the design refuses the file of this size: {first.what}"
        raise InputError([Problem(Option("init"), message, f"{first.fix}; no file was written")]) from None


def to_be_reported(network: Network) -> list[Finding]:
    """Return the errors and warnings that ``build`` will report for a new network, errors first."""
    with uncollected(), in_force(network.catalog):
        subject = Subject.of(network)
        findings = [*network.findings, *run_checks(subject, slow=False)]
        for config in subject.configs.values():
            findings += switch_gaps(switch_configs(network, config))
    return [finding for finding in by_severity(summed(findings)) if finding.severity != "info"]


def bills(answer: Answer, hardware: Path | None = None) -> dict[Shape, list[Item]]:
    """Return the bill of materials of each shape that fits, computed from its design.

    ``hardware`` is a folder of hardware files. Raises ``InputError`` if these are not valid.
    """
    return {shape: bill(designed(text, hardware)) for shape, text in answer.fabrics().items()}


def _written(folder: Path, fabric: str, text: str, inventory: str, rows: str) -> list[Path]:
    schema = f"{json.dumps(fabric_schema(), indent=1)}\n"
    files = {fabric: SCHEMA_LINE + text, inventory: rows, SCHEMA: schema}
    return write_new(folder, {name: content.encode() for name, content in files.items()})


def _template(fabric: str) -> str:
    """Return an inventory template for a fabric file's text, with a row for each NIC that has a cable."""
    network = designed(fabric)
    return template((cable.a.device, cable.a.port) for cable in network.cables if cable.kind == "server")


def designed(fabric: str, hardware: Path | None = None, name: str = "fabric") -> Network:
    """Return the network that a fabric file's text describes. Raises ``InputError`` if it cannot be designed."""
    with TemporaryDirectory() as place:
        file = Path(place) / f"{name}.yaml"
        write_file(file, fabric)
        return design_file(file, hardware=hardware)[0]
