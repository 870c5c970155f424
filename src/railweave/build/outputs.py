"""Every file of a build, from a ``Network``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from railweave.build.tables import addresses_csv, cabling_csv
from railweave.device.build import device_config
from railweave.findings import Finding, by_severity
from railweave.render import renderer
from railweave.render.junos.tree import quoted
from railweave.report.page import report_html
from railweave.report.topology import topology_svg

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from railweave.design.network import Network, Switch

EMULATION = "frr"
"""Every switch also gets the configuration of its emulation, which the lab runs."""


def targets(switch: Switch) -> tuple[str, ...]:
    """The systems a switch is rendered for: its own, and the emulation's."""
    return tuple(dict.fromkeys((switch.nos, EMULATION)))


def outputs(
    network: Network, findings: list[Finding], secrets: Mapping[str, str], progress: Callable[[str], None]
) -> tuple[dict[str, bytes], list[Finding]]:
    """Content by path below the output folder, and every finding: the given ones and those of rendering."""
    files: dict[str, bytes] = {"design.json": network.to_json()}
    found = list(findings)
    progress(f"rendering {len(network.switches)} switches")
    for switch in network.switches:
        for target in targets(switch):
            config = device_config(network, switch.name, target)
            found += renderer(target).gaps(config)
            for name, text in renderer(target).files(config).items():
                files[f"devices/{switch.name}/{name}"] = _with_secrets(text, secrets).encode()
    found = _summed(found) + _open_secrets(network, files)
    progress("drawing the report")
    files["cabling.csv"] = cabling_csv(network).encode()
    files["addresses.csv"] = addresses_csv(network).encode()
    files["topology.svg"] = topology_svg(network).encode()
    files["report.html"] = report_html(network, found).encode()
    files["findings.json"] = (json.dumps([one.to_json() for one in by_severity(found)], indent=1) + "\n").encode()
    return files, found


def _with_secrets(text: str, secrets: Mapping[str, str]) -> str:
    for name, value in secrets.items():
        text = text.replace(f"<secret:{name}>", quoted(value))
    return text


def _summed(findings: list[Finding]) -> list[Finding]:
    """The same statement about many devices, said once with their number."""
    from dataclasses import replace

    groups: dict[Finding, list[str]] = {}
    for finding in findings:
        groups.setdefault(replace(finding, where=""), []).append(finding.where)
    return [
        replace(finding, where=places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more")
        for finding, places in groups.items()
    ]


def _open_secrets(network: Network, files: Mapping[str, bytes]) -> list[Finding]:
    held = sorted(name for name, content in files.items() if name.startswith("devices/") and b"<secret:" in content)
    if not held:
        return []
    return [
        Finding(
            "secret-open",
            "info",
            network.name,
            f"{len(held)} device files hold references such as <secret:NAME> in place of secrets",
            "the files can be shared and committed, but not loaded as they are",
            "build with --secrets FILE (NAME: value, one a line) for files to load",
        )
    ]
