"""Run every check and every outside validator on a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.checks.checks import checks, run_checks
from railweave.checks.folder import differences, text_in
from railweave.checks.subject import Subject
from railweave.checks.validators import validate_all
from railweave.counting import counted
from railweave.findings import by_severity, summed
from railweave.render.network import render_hosts, render_network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from railweave.findings import Finding
    from railweave.findings.validators import ValidatorReport
    from railweave.network.model import Network


@dataclass(frozen=True)
class Verified:
    """Findings, errors first, and which validators ran."""

    findings: list[Finding]
    checks: list[str]
    """Ids of the checks that ran."""
    validators: list[ValidatorReport]
    """What each outside validator did, or why it was skipped."""

    @property
    def good(self) -> bool:
        """Whether nothing is an error."""
        return all(finding.severity != "error" for finding in self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)


def verify(
    network: Network,
    *,
    folder: Path | None = None,
    yang: Path | None = None,
    frr_root: Path | None = None,
    netplan_root: Path | None = None,
    sonic_yang: Path | None = None,
    every: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Verified:
    """Check a network and have its files validated: those of a build ``folder`` as they stand there, else as rendered.

    ``yang`` holds published Junos models, ``sonic_yang`` SONiC's; ``frr_root`` and ``netplan_root`` are root folders with FRR and netplan in them. An absent validator is reported as
    skipped, with the reason. ``every``: slow validators read all files of large networks too, not a sample.
    """
    progress(f"rendering {counted(len(network.switches), 'switch', 'switches')}")
    subject = Subject.of(network)
    rendered, gaps = render_network(network, subject.configs)
    rendered |= render_hosts(network)
    found = summed([*network.findings, *gaps, *run_checks(subject, progress=progress)])
    if folder is not None:
        found += list(differences(folder, rendered))
        rendered = {name: text for name in rendered if (text := text_in(folder, name)) is not None}
    by_device: dict[str, dict[str, str]] = {}
    for name, text in rendered.items():
        _, *device, file = name.split("/")
        by_device.setdefault("".join(device), {})[file] = text
    progress(f"validating {len(rendered)} files")
    validators = validate_all(
        by_device,
        {"yang": yang, "frr_root": frr_root, "netplan_root": netplan_root, "sonic_yang": sonic_yang},
        every=every,
    )
    found += [finding for validator in validators for finding in validator.findings]
    return Verified(by_severity(found), list(checks()), validators)
