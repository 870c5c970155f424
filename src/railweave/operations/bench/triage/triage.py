"""All rules of triage over a text, with the line that shows each finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.findings import SEVERITIES
from railweave.operations.bench.lines import lines_of
from railweave.operations.bench.read import read
from railweave.operations.bench.triage import host, network, process, wire
from railweave.operations.bench.triage.case import Case

if TYPE_CHECKING:
    from railweave.model.findings import Finding
    from railweave.operations.bench.read import Read
    from railweave.operations.bench.triage.case import Network

RULES = (
    host.abi,
    host.symbols,
    host.qos,
    host.memlock,
    network.plugin,
    network.plugin_failed,
    network.device,
    network.sockets,
    network.bootstrap,
    process.versions,
    wire.gids,
    wire.retries,
    wire.completions,
    wire.calls,
    wire.events,
    wire.data,
    network.gpudirect,
    process.affinity,
    process.rails,
    process.intranet,
    wire.ended,
)
"""In the order in which one looks: what explains others first."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A finding, and the line of the output that shows it."""

    finding: Finding
    evidence: str

    def to_json(self) -> dict[str, str | int]:
        """The finding as its JSON object, with the evidence."""
        return {**self.finding.to_json(), "evidence": self.evidence}


@dataclass(frozen=True, slots=True)
class Triaged:
    """What was read of a text, and what is wrong with it, the worst first, causes before what they explain."""

    read: Read
    diagnoses: tuple[Diagnosis, ...]


def triage(text: str, file: str, networks: frozenset[Network] = frozenset()) -> Triaged:
    """Look for what is wrong with a run, in its output. ``networks``: those of the design's GPU NICs, where there is one. Never raises."""
    found = read(text, file)
    case = Case(found, tuple(lines_of(text)), networks)
    findings = [finding for rule in RULES for finding in rule.run(case, file=file)]
    findings.sort(key=lambda one: SEVERITIES.index(one.severity))
    texts = {line.number: line.text.strip()[:300] for line in case.lines}
    return Triaged(found, tuple(Diagnosis(one, texts.get(one.line, "")) for one in findings))
