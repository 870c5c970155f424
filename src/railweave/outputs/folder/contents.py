"""Every file of a build, from a ``Network``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from railweave.analysis.checks.checks import checks
from railweave.manifest import digest
from railweave.model.findings import by_severity, summed
from railweave.outputs.folder.open_secrets import secret_findings
from railweave.outputs.folder.rendering import joined
from railweave.outputs.rendering.tables import tables_of
from railweave.outputs.report.page import report_html
from railweave.outputs.report.topology.picture import topology_svg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from railweave.model.findings import Finding
    from railweave.model.network.model import Network
    from railweave.outputs.folder.rendering import Rendered
    from railweave.outputs.folder.secrets_file import Secrets
    from railweave.outputs.report.body import Body


def files_of(network: Network) -> dict[str, Callable[[Network], bytes]]:
    """Return what writes the files that follow from this network only, by file name."""

    def encoded(write: Callable[[Network], str]) -> Callable[[Network], bytes]:
        return lambda network: write(network).encode()

    texts = {**tables_of(network), "topology.svg": topology_svg}
    return {"design.json": lambda network: network.to_json(), **{name: encoded(one) for name, one in texts.items()}}


def outputs(
    network: Network,
    written: Callable[[], tuple[dict[str, str], Body]],
    rendered: Sequence[Callable[[], Rendered]],
    progress: Callable[[str], None],
    checked: Sequence[Finding],
    secrets: Secrets | None,
    fabric: Path,
) -> tuple[dict[str, bytes], Rendered, list[Finding]]:
    """Content by path below the output folder, what was rendered, and every finding: of design, checks, and rendering.

    ``written`` (runbooks and the body of the report) and what is ``rendered`` are waited for: they are worked on meanwhile.
    ``secrets`` is None where no file of them was given; ``fabric`` is the fabric file.
    """
    progress("finishing the files of switches and servers")
    made = joined([one() for one in rendered])
    found = summed([*network.findings, *checked, *made.gaps])
    found += secret_findings(network, made, secrets, fabric)
    progress("finishing runbooks and the report")
    runbooks, body = written()
    files = {name: text.encode() for name, text in runbooks.items()}
    ran = [name for name, rule in checks().items() if not rule.slow]
    files["report.html"] = report_html(network, found, body, digest(made.files["design.json"])[:12], ran).encode()
    files["findings.json"] = (json.dumps([one.to_json() for one in by_severity(found)], indent=1) + "\n").encode()
    return {**files, **made.files}, made, found
