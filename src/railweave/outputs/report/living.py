"""The page for a check of the running network: the topology with marked faults, the findings, and the punch list (tasks)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.outputs.report.topology.picture import topology_svg
from railweave.pages.shell import element, html_page, section, still_picture, text
from railweave.pages.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.findings import Finding
    from railweave.model.network.model import Network

MARKED = ("error", "warning")
"""The severities of findings that the picture marks. A finding that follows from another one has the severity ``info``, so it has no mark."""


def living_html(
    network: Network, findings: Sequence[Finding], tasks: Table, seen: tuple[Table, Table], devices: int, answered: int
) -> str:
    """Return the page as one HTML document, which loads nothing and needs no script.

    - ``tasks``: the punch list, a table of tasks for technicians.
    - ``seen``: two tables. The first shows how much of the expected state was right, wrong and not seen. The second shows the
      path marks (communities and AIGP) of example prefixes on each spine.
    - ``devices``, ``answered``: the number of all devices, and the number of devices that answered.
    """
    subjects, colors = seen
    counts = Counter(finding.severity for finding in findings)
    verdict = [element("span", text(counted(counts[level], level)), class_=level) for level in MARKED if counts[level]]
    if answered < devices:
        left = f"not known: {devices - answered:,} of {counted(devices, 'device')}"
        verdict.append(element("span", text(left), class_="warning"))
    if unseen := sum(int(str(row[-1])) for row in subjects.rows):
        verdict.append(element("span", text(f"not seen: {counted(unseen, 'expected state')}"), class_="warning"))
    verdict = verdict or [element("span", "as designed", class_="good")]
    picture, hint = still_picture(topology_svg(network))
    about = "Red is a device or link with an error, amber one with a warning; what follows from another finding is not marked."
    shown = [
        ("findings", "Findings", _tally(findings), findings_table(findings).to_html() if findings else ""),
        (
            "punch-list",
            "Punch list",
            "What somebody has to do by hand, rack by rack and port by port.",
            tasks.to_html() if tasks.rows else element("p", "Nothing.", class_="about"),
        ),
        ("topology", "Topology", about, picture),
        (
            "subjects",
            "What was seen",
            "How much of the expected state the devices showed. What was not seen was not compared.",
            subjects.to_html(),
        ),
        *(
            [
                (
                    "path-colors",
                    "Path colors",
                    "The marks of example prefixes as each spine receives them from the leaf that has the prefix. Red differs from the design.",
                    colors.to_html(),
                )
            ]
            if colors.rows
            else []
        ),
    ]
    sentence = (
        f"This page compares the running network with its design: {answered} of {counted(devices, 'device')} answered."
    )
    return html_page(
        f"{network.name}: running network",
        [hint, *marks(network, findings)],
        header=[element("h1", text(network.name), " ", *verdict), element("p", text(sentence), class_="description")],
        links=[(name, title) for name, title, _, _ in shown],
        main=[section(*part) for part in shown],
        footer="Made by railweave. The same answers of the same network give the same page.",
    )


def marks(network: Network, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield CSS rules for the picture: they mark the devices and cables that have faults.

    In a large fabric, which is drawn as blocks, the rules mark the blocks that contain such devices. Selectors of boxes begin with
    ``svg.rw``, because these rules must override the rules of the picture, which come later.
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
    """Return a quoted string for CSS. Special characters are escaped, because device names may contain any text."""
    safe = "".join(
        character if character.isalnum() or character in "-_:/. " else f"\\{ord(character):x} " for character in value
    )
    return f'"{safe}"'


def _tally(findings: Sequence[Finding]) -> str:
    if not findings:
        return "Nothing was found: what the devices said is what the design has."
    return "A cause stands before what it explains; what is explained is a note that names its cause."


FINDING_COLUMNS = (
    Column("Severity", key="severity"),
    Column("Id", "mono", "id"),
    Column("Where", "mono", "where"),
    Column("Input", "mono", "input"),
    Column("What", key="what"),
    Column("Why", key="why"),
    Column("Fix", key="fix"),
)


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return the table of findings, in the given order. A cause comes before the findings that it explains."""
    rows = [
        (
            Cell(finding.severity, finding.severity, "severity", _severity(finding)),
            finding.id,
            finding.where,
            finding.place,
            *(Cell(sentence, sentence, "text") for sentence in (finding.what, finding.why, finding.fix)),
        )
        for finding in findings
    ]
    return Table(FINDING_COLUMNS, rows, stacks=True)


def _severity(finding: Finding) -> str:
    return element("span", text(finding.severity), class_=finding.severity)
