"""A design as files for Prometheus, Grafana and gnmic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import yaml

from railweave.model.device.build import device_config
from railweave.operations.exports.gnmic import gnmic
from railweave.operations.exports.grafana import dashboards
from railweave.operations.exports.rules import rules
from railweave.operations.exports.scrape import scrape

if TYPE_CHECKING:
    from typing import Any

    from railweave.model.network.model import Network

RULES = "railweave.rules.yml"


def prometheus(network: Network, *, watch: str = "127.0.0.1:8484", alertmanager: str | None = None) -> dict[str, str]:
    """The files by their names below a folder: scraping, rules, dashboards, and gnmic's own configuration.

    ``watch`` is where ``railweave watch`` listens, ``alertmanager`` where alerts go to.
    """
    configs = {one.name: device_config(network, one.name) for one in network.switches if one.name not in network.absent}
    files = {
        "prometheus.yml": _yaml(scrape(network, watch, alertmanager, RULES)),
        RULES: _yaml(rules(configs)),
    }
    with_gnmi = gnmic(network)
    if with_gnmi["targets"]:
        files["gnmic.yaml"] = _yaml(with_gnmi)
    return files | {f"dashboards/{name}": json.dumps(one, indent=1) + "\n" for name, one in dashboards().items()}


def _yaml(value: Any) -> str:  # noqa: ANN401
    return yaml.safe_dump(value, sort_keys=False, width=150, allow_unicode=True)
