"""The runbooks of a network."""

from __future__ import annotations

import importlib
import importlib.util
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from railweave.runbook.document import document

if TYPE_CHECKING:
    from railweave.design.network import Network
    from railweave.device.model import DeviceConfig
    from railweave.routes.table import Routes
    from railweave.runbook.document import System


@lru_cache(maxsize=16)
def system(nos: str) -> System | None:
    """What a runbook for an operating system is made of: a module here, or beside its renderer; None: there is none."""
    for name in (f"railweave.runbook.{nos}", f"railweave.render.{nos}.runbook"):
        if importlib.util.find_spec(name) is not None:
            return cast("System", importlib.import_module(name))
    return None


def runbook(network: Network, config: DeviceConfig, routes: Routes) -> str:
    """The runbook of one switch as Markdown; empty where its operating system is not known here."""
    found = system(config.nos)
    return document(network, config, routes, found) if found is not None else ""
