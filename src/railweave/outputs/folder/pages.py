"""What is written for people from the design and its routes: a runbook of every switch, and the report but for findings."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, cast

from railweave.outputs.report.body import Body, body_of
from railweave.outputs.runbook.network import runbook
from railweave.workers import spreading

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.outputs.report.prices import Prices


@contextlib.contextmanager
def pages(
    network: Network, configs: Mapping[str, DeviceConfig], routes: Routes, prices: Prices | None = None
) -> Generator[Callable[[], tuple[dict[str, str], Body]]]:
    """Start writing; what is given waits for the runbooks, by path, and the body of the report."""

    def write(device: str) -> str | Body:
        return runbook(network, configs[device], routes) if device else body_of(network, routes, prices)

    with spreading(write, ["", *configs]) as results:

        def found() -> tuple[dict[str, str], Body]:
            body, *texts = results()
            runbooks = {f"runbook/{name}.md": cast("str", text) for name, text in zip(configs, texts, strict=True)}
            return {path: text for path, text in runbooks.items() if text}, cast("Body", body)

        yield found
