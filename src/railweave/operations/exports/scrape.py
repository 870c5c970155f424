"""What Prometheus is told to scrape: ``railweave watch``, and the node exporter of every server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.operations.exports.rules import INTERVAL_S

if TYPE_CHECKING:
    from railweave.model.network.model import Network

NODE_EXPORTER = 9100


def scrape(network: Network, watch: str, alertmanager: str | None, rules: str) -> dict[str, Any]:
    """``prometheus.yml`` as a value. ``watch`` is where railweave watch listens, ``rules`` the rule file's name."""
    found: dict[str, Any] = {
        "global": {"scrape_interval": f"{INTERVAL_S}s", "evaluation_interval": f"{INTERVAL_S}s"},
        "rule_files": [rules],
        "scrape_configs": [
            {"job_name": "railweave", "honor_timestamps": False, "static_configs": [{"targets": [watch]}]}
        ],
    }
    servers = [one.name for one in network.servers if one.name not in network.absent]
    if servers:
        targets = [f"{name}:{NODE_EXPORTER}" for name in servers]
        labels = {"network": network.name, "role": "server"}
        found["scrape_configs"].append(
            {"job_name": "servers", "static_configs": [{"targets": targets, "labels": labels}]}
        )
    if alertmanager:
        found["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]}
    return found
