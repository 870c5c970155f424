"""The runbook of one switch, as its operating system has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.runbook.document import document
from railweave.systems import system

if TYPE_CHECKING:
    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


def runbook(network: Network, config: DeviceConfig, routes: Routes) -> str:
    """The runbook of one switch as Markdown; empty where its operating system has none."""
    found = system(config.nos).runbook
    return document(network, config, routes, found) if found is not None else ""
