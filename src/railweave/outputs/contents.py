"""Every file of a build, from a ``Network``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from railweave.checks.checks import checks
from railweave.findings import by_severity, summed
from railweave.findings.registry import Rule
from railweave.manifest import digest
from railweave.outputs.rendering import joined
from railweave.render.tables import addresses_csv, cabling_csv, racks_csv
from railweave.report.page import report_html
from railweave.report.topology.picture import topology_svg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.findings import Finding
    from railweave.network.model import Network
    from railweave.outputs.rendering import Rendered
    from railweave.report.body import Body


TABLES: dict[str, Callable[[Network], bytes]] = {
    "design.json": lambda network: network.to_json(),
    "cabling.csv": lambda network: cabling_csv(network).encode(),
    "addresses.csv": lambda network: addresses_csv(network).encode(),
    "topology.svg": lambda network: topology_svg(network).encode(),
}
"""Files that follow from the network alone."""

WITH_RACKS: dict[str, Callable[[Network], bytes]] = {"racks.csv": lambda network: racks_csv(network).encode()}
"""Files of networks whose devices stand in racks."""


def tables_of(network: Network) -> dict[str, Callable[[Network], bytes]]:
    """Files that follow from this network alone."""
    return {**TABLES, **(WITH_RACKS if network.positions else {})}


SECRET_OPEN = Rule(
    id="secret-open",
    severity="info",
    sometimes="warning",
    applies="build",
    says="device files hold references in place of secrets (info), also of names that the file given by `--secrets` lacks (warning)",
    why="the files can be shared and committed, but not loaded as they are",
    fix="build with --secrets FILE (NAME: value, one a line) for files to load",
)


def outputs(
    network: Network,
    written: Callable[[], tuple[dict[str, str], Body]],
    rendered: Sequence[Callable[[], Rendered]],
    progress: Callable[[str], None],
    checked: Sequence[Finding],
    *,
    filled: bool,
) -> tuple[dict[str, bytes], Rendered, list[Finding]]:
    """Content by path below the output folder, what was rendered, and every finding: of design, checks, and rendering.

    ``written`` (runbooks and the body of the report) and what is ``rendered`` are waited for: they are worked on meanwhile.
    ``filled``: values were given for secrets.
    """
    progress("finishing the files of switches and servers")
    made = joined([one() for one in rendered])
    found = summed([*network.findings, *checked, *made.gaps]) + _open_secrets(network, made.open_secrets, filled=filled)
    progress("finishing runbooks and the report")
    runbooks, body = written()
    files = {name: text.encode() for name, text in runbooks.items()}
    ran = [name for name, rule in checks().items() if not rule.slow]
    files["report.html"] = report_html(network, found, body, digest(made.files["design.json"])[:12], ran).encode()
    files["findings.json"] = (json.dumps([one.to_json() for one in by_severity(found)], indent=1) + "\n").encode()
    return {**files, **made.files}, made, found


def _open_secrets(network: Network, count: int, *, filled: bool) -> list[Finding]:
    if not count:
        return []
    if filled:
        what = (
            f"{count} device files hold references such as <secret:NAME> whose names the file of secrets does not have"
        )
        fix = "add these names to the file: `grep -rho '<secret:[^>]*>' OUT | sort -u` lists them"
        return [SECRET_OPEN.finding(network.name, what, severity="warning", fix=fix)]
    what = f"{count} device files hold references such as <secret:NAME> in place of secrets"
    return [SECRET_OPEN.finding(network.name, what)]
