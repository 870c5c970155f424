"""The files that ``init`` writes: a fabric file, an inventory template next to it, and a reference to the schema for editors."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from ipaddress import ip_network
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.design.sizing.report import to_json, words
from railweave.design.sizing.request import Request, answer
from railweave.design.sizing.words import TITLES
from railweave.errors import InputError, Option, Problem
from railweave.examples import check_new, example_files, write_new
from railweave.garbage import uncollected
from railweave.model.catalog import in_force, packaged
from railweave.model.catalog.hardware_files import own_hardware
from railweave.model.findings import Finding, by_severity, summed
from railweave.model.intent.inventory import template
from railweave.model.intent.reference import fabric_schema
from railweave.outputs.folder.designing import design_file
from railweave.outputs.rendering.network import switch_configs, switch_gaps
from railweave.outputs.rendering.tables import address_rows
from railweave.outputs.report.bom import Item, bill, cost, read_prices
from railweave.outputs.report.sized import sized_html
from railweave.writing import check_writable, write_file

if TYPE_CHECKING:
    from collections.abc import Callable

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


@dataclass(frozen=True)
class StartedFabric:
    """A fabric that was sized for a number of GPUs, and whose files were written.

    - ``sizing``: the result of sizing.
    - ``written``: the paths of the files, the fabric file first.
    - ``notes``: sentences about the number of queue pairs.
    - ``predicted``: True if the number of queue pairs was chosen by prediction.
    - ``costs``: the cost of each topology that fits, by its title; empty if no prices are given.
    - ``preview``: examples of addresses, if the operator has given ranges or names.
    - ``findings``: the errors and warnings that ``build`` will report.
    """

    sizing: Answer
    written: list[Path]
    notes: tuple[str, ...]
    costs: dict[str, str]
    findings: list[Finding]
    predicted: bool
    preview: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """True if no finding is an error."""
        return all(finding.severity != "error" for finding in self.findings)

    def lines(self) -> list[str]:
        """Return lines about the chosen topology and its alternatives, the files, and the parts that the operator must fill in."""
        return [
            *words(self.sizing.catalog, self.sizing.sized),
            *(f"cost as {name}: {cost}" for name, cost in self.costs.items()),
            *self.preview,
            *(f"wrote {file}" for file in self.written),
            "the files still lack:",
            *(f"  {line}" for line in LACKING),
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the result as the JSON object that `railweave init --json` prints."""
        return {
            "wrote": str(self.written[0]),
            "files": [str(file) for file in self.written],
            **to_json(self.sizing.catalog, self.sizing.sized),
            **({"costs": self.costs} if self.costs else {}),
            **({"addresses": list(self.preview[1:])} if self.preview else {}),
            "findings": [finding.to_json() for finding in self.findings],
        }


LACKING = (
    "management: logins of the switches, time and log servers",
    "inventory: the MAC address of every NIC, a row for each (until then SLAAC addresses are placeholders)",
    "storage: a fabric for storage servers, if you have any (docs/howto/size-a-network.md#add-a-storage-fabric)",
    "cabling: the cable lengths (until then 10 m to servers and 50 m between switches; PFC headroom follows from them)",
)
"""The parts of a sized fabric file that the operator must fill in."""


def start_for_gpus(
    request: Request,
    folder: Path,
    *,
    predict_qps: bool = False,
    hardware: Path | None = None,
    prices: Path | None = None,
    html: Path | None = None,
    confirm: Callable[[tuple[str, ...]], None] | None = None,
) -> StartedFabric:
    """Size a fabric for a request, and write it into a new or empty folder.

    - ``predict_qps``: True to choose the number of queue pairs by prediction.
    - ``hardware``: a folder of hardware files.
    - ``prices``: a file of prices.
    - ``html``: the path of a page to write.
    - ``confirm``: a function that is called with the preview of addresses before anything is written. If it raises an
      error, nothing is written.

    Raises ``InputError`` for wrong input or if no topology fits, and ``OutputError`` if the folder cannot be written.
    """
    check_new(folder)  # now, and not after minutes of work
    if html is not None:
        check_writable(html)
    known = None if prices is None else read_prices(prices)
    sizing = answer(packaged().with_hardware(own_hardware(hardware).hardware), request)
    bought = bills(sizing, hardware) if known or html else {}
    notes: tuple[str, ...] = ()
    if predict_qps:
        from railweave.prediction.simulation.queue_pairs import queue_pairs  # imports the engines

        chosen = queue_pairs(designed(sizing.fabric(), hardware))
        sizing, notes = replace(sizing, request=replace(sizing.request, qps=chosen.count)), chosen.lines
    elif not request.qps and (colors := sizing.sized.best.colors) > 1:
        more = "--qps predict chooses by prediction, with what each number gets"
        notes = (f"queue pairs: one per path color ({colors}); {more}",)
    elif not request.qps and sizing.sized.best.spines:
        notes = ("queue pairs: one per connection, NCCL's default; --qps predict chooses by prediction",)
    network = sized(sizing, hardware)
    findings = to_be_reported(network)
    preview = address_preview(network) if request.rules or confirm else ()
    if confirm is not None:
        confirm(preview)
    written = start_sized(sizing, folder)
    if html is not None:
        sized_parts = to_json(sizing.catalog, sizing.sized), list(words(sizing.catalog, sizing.sized))
        write_file(
            html, sized_html(network, *sized_parts, {str(shape): items for shape, items in bought.items()}, known)
        )
        written.append(html)
    costs = {TITLES[shape]: str(cost(items, known)) for shape, items in bought.items()} if known else {}
    return StartedFabric(sizing, written, notes, costs, findings, predict_qps, () if confirm else preview)


KINDS = {"management": "management", "router-id": "router ID", "link": "link", "gateway": "gateway", "nic": "NIC"}
"""The titles of the kinds of addresses in the preview, by their names in addresses.csv."""


def address_preview(network: Network) -> tuple[str, ...]:
    """Return lines for display: a title, then the first and the last address of each kind, with AS numbers."""
    rows: dict[str, list[tuple[str, ...]]] = {kind: [] for kind in KINDS}
    for row in address_rows(network):
        rows.setdefault(str(row[0]), []).append(tuple(map(str, row)))
    numbers = {switch.name: switch.asn for switch in network.switches}
    lines: list[str] = []
    for kind, title in KINDS.items():
        for row in dict.fromkeys(rows[kind][:1] + rows[kind][-1:]):
            _, device, interface, address, prefix, color, _, mac = (*row[:8],)
            place = f"{device} {interface}".rstrip() + (f", {color}" if color and kind != "router-id" else "")
            number = f", AS {numbers[device]}" if kind == "router-id" and numbers.get(device) else ""
            shown = address
            if mac.endswith("(placeholder)") and ":" in address:
                shown = f"in {ip_network(address + prefix, strict=False)}, from its MAC address"
            lines.append(f"  {title:10}  {place}: {shown}{number}")
    return ("addresses, the first and the last of each kind:", *lines)


def start_sized(answer: Answer, folder: Path) -> list[Path]:
    """Write the sized fabric ``answer`` into a new or empty folder, and return its files, the fabric file first.

    Raises ``OutputError`` if the folder cannot be written.
    """
    name = answer.name
    return _written(folder, f"{name}.yaml", answer.fabric(), f"{name}.inventory.csv", answer.inventory())


def sized(answer: Answer, hardware: Path | None = None) -> Network:
    """Return the network of the sized fabric ``answer``. Raises ``InputError`` if the design rejects its fabric file.

    ``hardware`` is a folder of hardware files.
    """
    try:
        return designed(SCHEMA_LINE + answer.fabric(), hardware, answer.name)
    except InputError as error:
        first = error.problems[0]
        message = f"the design refuses the file of this size: {first.what}"
        raise InputError([Problem(Option("init"), message, f"{first.fix}; no file was written")]) from None


ANY_SWITCH = "qfx5240-64"
"""The switch model of a network that is designed only to predict servers. It has ports for every NIC speed from 100G to 800G."""


def of_servers(servers: int, gpus: int, nics: int, nic: str, hardware: Path | None = None) -> Network:
    """Return a network without oversubscription for a number of identical servers, as ``init --gpus`` sizes it. Nothing is written.

    ``gpus`` and ``nics`` are the numbers per server. ``nic`` is a server model, or the model of its NICs. ``hardware`` is a folder of
    hardware files. Raises ``InputError`` if there is no such model.
    """
    request = Request(servers * gpus, nic, ANY_SWITCH, gpus_per_server=gpus, nics_per_server=nics)
    return sized(answer(packaged().with_hardware(own_hardware(hardware).hardware), request), hardware)


def to_be_reported(network: Network) -> list[Finding]:
    """Return the errors and warnings that ``build`` will report for a new network, errors first."""
    with uncollected(), in_force(network.catalog):
        subject = Subject.of(network)
        findings = [*network.findings, *run_checks(subject, slow=False)]
        for config in subject.configs.values():
            findings += switch_gaps(switch_configs(network, config))
    return [finding for finding in by_severity(summed(findings)) if finding.severity != "info"]


def bills(answer: Answer, hardware: Path | None = None) -> dict[Shape, list[Item]]:
    """Return the bill of materials of each shape (a topology with its size) in ``answer`` that fits. Each shape is designed for this.

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
    """Return the network that a fabric file's text describes. Raises ``InputError`` if it cannot be designed.

    ``hardware`` is a folder of hardware files, and ``name`` the name of the file without its ending.
    """
    with TemporaryDirectory() as place:
        file = Path(place) / f"{name}.yaml"
        write_file(file, fabric)
        return design_file(file, hardware=hardware)[0]
