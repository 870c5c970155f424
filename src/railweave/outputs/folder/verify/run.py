"""Run every check and every outside validator on a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.analysis.checks.checks import checks, run_checks
from railweave.analysis.checks.devices import configurations, saved, stand
from railweave.analysis.checks.file_rules import NOT_CAPTURED
from railweave.analysis.checks.subject import Subject
from railweave.analysis.checks.validators import validate_all
from railweave.counting import counted
from railweave.model.findings import by_severity, summed
from railweave.outputs.folder.verify.folder import standing
from railweave.outputs.rendering.network import render_hosts, render_network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from railweave.analysis.checks.devices import Stands, Texts
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.findings.validators import ValidatorReport
    from railweave.model.network.model import Network


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
    running: Mapping[str, Texts] | None = None,
    configs: dict[str, DeviceConfig] | None = None,
    yang: Path | None = None,
    frr_root: Path | None = None,
    netplan_root: Path | None = None,
    sonic_yang: Path | None = None,
    every: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Verified:
    """Check a network and have its files validated: those of a build ``folder`` as they stand there, else as rendered.

    What switches' files say in the folder takes the place of the designed configurations, and so does what devices have: ``running``,
    texts by device and by the path that findings name. Differences from the design are findings. ``configs`` are designed configurations of
    the switches in place of the network's own, where those of a lab stand for them.

    ``yang`` holds published Junos models, ``sonic_yang`` SONiC's; ``frr_root`` and ``netplan_root`` are root folders with FRR and netplan in them. An absent validator is reported as
    skipped, with the reason. ``every``: slow validators read all files of large networks too, not a sample.
    """
    progress(f"rendering {counted(len(network.switches), 'switch', 'switches')}")
    subject = Subject.of(network) if configs is None else Subject(network, configs)
    rendered, gaps = render_network(network, subject.configs)
    rendered |= render_hosts(network)
    found = [*network.findings, *gaps]
    stood: dict[str, Stands] = {}
    if folder is not None:
        progress("reading the files of the folder")
        texts = configurations(subject.configs)
        present, wrong = standing(folder, network, rendered, apart=texts)
        stood = stand(subject.configs, rendered, _by_device(texts, present))
        rendered = present
        found += wrong
    elif running is not None:
        progress("reading running configurations")
        stood = saved(subject.configs, running)
        found += [
            NOT_CAPTURED.finding(name) for name in subject.configs if name not in stood and name not in network.absent
        ]
    subject = Subject(network, subject.configs | {name: one.config for name, one in stood.items() if one.config})
    found += [finding for one in stood.values() for finding in one.findings]
    found = summed([*found, *run_checks(subject, progress=progress)])
    by_device: dict[str, dict[str, str]] = {}
    for name, text in rendered.items():
        _, *device, file = name.split("/")
        by_device.setdefault("".join(device), {})[file] = text
    progress(f"validating {counted(len(rendered), 'file')}")
    validators = validate_all(
        by_device,
        {"yang": yang, "frr_root": frr_root, "netplan_root": netplan_root, "sonic_yang": sonic_yang},
        releases={one.name: one.release for one in network.switches},
        every=every,
    )
    found += [finding for validator in validators for finding in validator.findings]
    return Verified(by_severity(found), list(checks()), validators)


def _by_device(
    texts: Mapping[str, tuple[str, str]], present: Mapping[str, str]
) -> dict[str, dict[str, tuple[str, str]]]:
    """Texts of a folder that hold a switch's configuration, by device and file."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for path, (device, file) in texts.items():
        if path in present:
            found.setdefault(device, {})[file] = (path, present[path])
    return found
