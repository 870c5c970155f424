"""Every file of a build, from a ``Network``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from railweave.build.tables import addresses_csv, cabling_csv
from railweave.build.write import digest
from railweave.counting import counted
from railweave.findings import Finding, by_severity, summed
from railweave.render.junos.tree import quoted
from railweave.render.network import render_hosts, render_network
from railweave.report.page import report_html
from railweave.report.topology import topology_svg
from railweave.runbook.network import runbooks
from railweave.verify.registry import CHECKS, SLOW

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.design.network import Network
    from railweave.device.model import DeviceConfig
    from railweave.routes.table import Routes


def outputs(
    network: Network,
    configs: Mapping[str, DeviceConfig],
    routes: Routes,
    secrets: Mapping[str, str],
    progress: Callable[[str], None],
    checked: Sequence[Finding] = (),
) -> tuple[dict[str, bytes], list[Finding]]:
    """Content by path below the output folder, and every finding: of design, of checks (given), and of rendering."""
    files: dict[str, bytes] = {"design.json": network.to_json()}
    found = [*network.findings, *checked]
    progress(f"rendering {counted(len(network.switches), 'switch', 'switches')}")
    rendered, gaps = render_network(network, configs)
    files |= {name: _with_secrets(text, secrets).encode() for name, text in rendered.items()}
    if network.servers:
        progress(f"rendering {counted(len(network.servers), 'server')}")
        files |= {name: text.encode() for name, text in render_hosts(network).items()}
    files |= {name: text.encode() for name, text in runbooks(network, configs, routes).items()}
    found = summed([*found, *gaps]) + _open_secrets(network, files)
    progress("drawing the report")
    ran = [name for name in CHECKS if name not in SLOW]
    files["cabling.csv"] = cabling_csv(network).encode()
    files["addresses.csv"] = addresses_csv(network).encode()
    files["topology.svg"] = topology_svg(network).encode()
    files["report.html"] = report_html(network, found, routes, digest(files["design.json"])[:12], ran).encode()
    files["findings.json"] = (json.dumps([one.to_json() for one in by_severity(found)], indent=1) + "\n").encode()
    return files, found


def _with_secrets(text: str, secrets: Mapping[str, str]) -> str:
    for name, value in secrets.items():
        text = text.replace(f"<secret:{name}>", quoted(value))
    return text


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
