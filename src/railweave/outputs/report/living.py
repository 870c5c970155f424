"""The page of a check of the running network: the topology with what is wrong marked on it, the findings, the punch list."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.outputs.report.topology.picture import topology_svg
from railweave.pages.shell import element, html_page, section, still_picture, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.findings import Finding
    from railweave.model.network.model import Network

Row = tuple[str, str, str, str, str]
"""A line of the punch list: rack, device, port, what to do, why."""
MARKED = ("error", "warning")
"""Severities that are marked in the picture; what follows from a cause is an ``info`` and is not."""


def living_html(
    network: Network, findings: Sequence[Finding], tasks: Sequence[Row], devices: int, answered: int
) -> str:
    """The page as one HTML document that loads nothing and needs no script."""
    counts = Counter(finding.severity for finding in findings)
    verdict = [element("span", text(counted(counts[level], level)), class_=level) for level in MARKED if counts[level]]
    if answered < devices:
        left = f"not known: {devices - answered:,} of {counted(devices, 'device')}"
        verdict.append(element("span", text(left), class_="warning"))
    verdict = verdict or [element("span", "as designed", class_="good")]
    picture, hint = still_picture(topology_svg(network))
    about = "Red is a device or link with an error, amber one with a warning; what follows from another finding is not marked."
    shown = [
        ("topology", "Topology", about, picture),
        ("findings", "Findings", _tally(findings), _findings(findings)),
        ("punch-list", "Punch list", "What somebody has to do by hand, rack by rack and port by port.", _tasks(tasks)),
    ]
    sentence = (
        f"This page compares the running network with its design: {answered} of {counted(devices, 'device')} answered."
    )
    return html_page(
        f"{network.name}: running network",
        [hint, *marks(network, findings)],
        header=[element("h1", text(network.name), " ", *verdict), element("p", text(sentence), class_="description")],
        main=[section(*part) for part in shown],
    )


def marks(network: Network, findings: Sequence[Finding]) -> Iterator[str]:
    """Style rules that mark what is wrong in the picture: devices, cables, and the blocks of a large fabric that they are in.

    ``svg.rw`` outweighs the rules of the picture itself, which come later.
    """
    links = {(end.device, end.port): place for place, cable in enumerate(network.cables) for end in (cable.a, cable.b)}
    devices: dict[str, str] = {}
    cables: dict[int, str] = {}
    for finding in sorted(findings, key=lambda finding: finding.severity == "error"):  # an error replaces a warning
        if finding.severity in MARKED:
            device, _, ports = finding.where.partition(" ")
            devices[device] = finding.severity
            for port in ports.split(" and "):
                if (device, port) in links:
                    cables[links[device, port]] = finding.severity
    switches = {switch.name: switch for switch in network.switches}
    blocks: dict[str, str] = {}
    for device, severity in devices.items():
        if device in switches:
            marked_switch = switches[device]
            block = f"[data-fabric={_quoted(marked_switch.fabric)}][data-stripes~={_quoted(marked_switch.stripe)}]"
            tier = f"[data-device={_quoted(f'{marked_switch.fabric}/{marked_switch.role}s')}]"
            place = block if marked_switch.role == "leaf" else tier
            blocks[place] = severity if blocks.get(place) != "error" else "error"
    for device, severity in devices.items():
        yield f"svg.rw [data-device={_quoted(device)}] .box{{stroke:var(--{severity});stroke-width:3}}"
    for block, severity in blocks.items():
        yield f"svg.rw {block} .box{{stroke:var(--{severity});stroke-width:3}}"
    for place, severity in cables.items():
        yield f'.rw [data-link="{place}"] .line{{stroke:var(--{severity});stroke-width:4}}'


def _quoted(value: str) -> str:
    """A string of a style sheet; names of devices may have been typed by anybody."""
    safe = "".join(
        character if character.isalnum() or character in "-_:/. " else f"\\{ord(character):x} " for character in value
    )
    return f'"{safe}"'


def _tally(findings: Sequence[Finding]) -> str:
    if not findings:
        return "Nothing was found: what the devices said is what the design has."
    return "A cause stands before what it explains; what is explained is a note that names its cause."


def _findings(findings: Sequence[Finding]) -> str:
    """A table of findings in their order: a cause before what it explains."""
    if not findings:
        return ""
    rows = [
        element(
            "tr",
            element(
                "td",
                element("b", text(finding.severity)),
                class_=finding.severity,
                style=f"color:var(--{finding.severity})",
            ),
            element("td", text(finding.id), class_="mono"),
            element("td", text(finding.where), class_="mono"),
            element(
                "td",
                text(f"{finding.file}:{finding.line}" if finding.line else finding.file),
                class_="mono",
                data_title="Input",
            ),
            element("td", text(finding.what), class_="text"),
            element("td", text(finding.why), class_="text", data_title="Why"),
            element("td", text(finding.fix), class_="text", data_title="Fix"),
        )
        for finding in findings
    ]
    return _table(("Severity", "Id", "Where", "Input", "What", "Why", "Fix"), rows, name="findings")


def _tasks(tasks: Sequence[Row]) -> str:
    if not tasks:
        return element("p", "Nothing.", class_="about")
    parts: list[str] = []
    for rack, several in groupby(tasks, key=lambda task: task[0]):
        rows = [
            element(
                "tr",
                element("td", "☐"),
                element("td", text(device), class_="mono"),
                element("td", text(port), class_="mono"),
                element("td", text(do)),
                element("td", text(because)),
            )
            for _, device, port, do, because in several
        ]
        parts += [
            element("h3", text(f"Rack {rack}")) if rack else "",
            _table(("Done", "Device", "Port", "What to do", "Why"), rows),
        ]
    return "".join(parts)


def _table(heads: Sequence[str], rows: Sequence[str], name: str | None = None) -> str:
    """A table; page.css stacks the cells of the one whose ``name`` is ``findings`` in a narrow window."""
    head = element("thead", element("tr", *(element("th", text(head)) for head in heads)))
    inner = element("table", head, element("tbody", *rows))
    return element("div", element("div", inner, class_="scroll"), class_="table", data_table=name)
