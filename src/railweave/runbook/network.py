"""The runbooks of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from railweave.runbook import frr, junos
from railweave.runbook.document import System, document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.design.network import Network
    from railweave.device.model import DeviceConfig
    from railweave.routes.table import Routes

SYSTEMS: dict[str, System] = {"junos": cast("System", junos), "frr": cast("System", frr)}
"""The operating systems that a runbook can be written for."""


def runbooks(network: Network, configs: Mapping[str, DeviceConfig], routes: Routes) -> dict[str, str]:
    """Markdown by path (``runbook/<device>.md``) for every switch whose operating system is known here."""
    return {
        f"runbook/{name}.md": document(network, config, routes, SYSTEMS[config.nos])
        for name, config in configs.items()
        if config.nos in SYSTEMS
    }
