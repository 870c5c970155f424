"""The runbooks of a network."""

from __future__ import annotations

import importlib
import importlib.util
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from railweave.runbook.document import document

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def runbooks(network: Network, configs: Mapping[str, DeviceConfig], routes: Routes) -> dict[str, str]:
    """Markdown by path (``runbook/<device>.md``) for every switch whose operating system is known here."""
    return {
        f"runbook/{name}.md": document(network, config, routes, found)
        for name, config in configs.items()
        if (found := system(config.nos)) is not None
    }
