"""Run every check and every outside judge on a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.build.outputs import outputs
from railweave.findings import by_severity
from railweave.verify import consistency, routing
from railweave.verify.judges import judge_all
from railweave.verify.registry import CHECKS, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from railweave.design.network import Network
    from railweave.findings import Finding
    from railweave.verify.judges import JudgeReport

_ = (consistency, routing)  # importing them registers their checks


@dataclass(frozen=True)
class Verified:
    """Findings, errors first, and which judges ran."""

    findings: list[Finding]
    checks: list[str]
    judges: list[JudgeReport]

    @property
    def good(self) -> bool:
        """Whether nothing is an error."""
        return all(finding.severity != "error" for finding in self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)


def run_checks(subject: Subject) -> list[Finding]:
    """Every check, in the order they are registered."""
    return [finding for function in CHECKS.values() for finding in function(subject)]


def verify(network: Network, *, yang: Path | None = None, frr_root: Path | None = None) -> Verified:
    """Check a network and have its files judged.

    ``yang`` holds published Junos models; ``frr_root`` a root folder with FRR in it. An absent judge is reported as
    skipped, with the reason.
    """
    files, found = outputs(network, list(network.findings), {}, lambda _: None)
    found += run_checks(Subject.of(network))
    by_device: dict[str, dict[str, str]] = {}
    for name, content in files.items():
        parts = name.split("/")
        if parts[0] == "devices":
            by_device.setdefault(parts[1], {})[parts[2]] = content.decode()
    judges = judge_all(by_device, yang=yang, frr_root=frr_root)
    found += [finding for judge in judges for finding in judge.findings]
    return Verified(by_severity(found), list(CHECKS), judges)
