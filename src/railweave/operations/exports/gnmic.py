"""A configuration of gnmic (openconfig/gnmic) for those who run it: the same targets and subscriptions that ``railweave watch`` has.

User and password are read from the environment (``GNMIC_USERNAME``, ``GNMIC_PASSWORD``), as gnmic does by itself: none stands here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.operations.exports.rules import INTERVAL_S
from railweave.systems import system

if TYPE_CHECKING:
    from railweave.model.network.model import Network


def gnmic(network: Network, *, ca: str = "ca.pem") -> dict[str, Any]:
    """``gnmic.yaml`` as a value; ``ca`` is the file of the authority that signed the switches' certificates."""
    targets: dict[str, Any] = {}
    subscriptions: dict[str, Any] = {}
    for one in network.switches:
        telemetry = system(one.nos).telemetry
        if one.name in network.absent or telemetry is None or not telemetry.SUBSCRIPTIONS:
            continue
        names: list[str] = []
        for number, path in enumerate(telemetry.SUBSCRIPTIONS):
            name = f"{one.nos}-{number}"
            names.append(name)
            own: dict[str, Any] = {"paths": [path.path], "mode": "stream", "stream-mode": path.by.replace("_", "-")}
            if path.by == "sample":
                own["sample-interval"] = f"{max(INTERVAL_S, path.least_s):g}s"
            if path.target:
                own["prefix"] = ""
                own["set-target"] = False
                own["target"] = path.target
            subscriptions[name] = {**own, "encoding": telemetry.ENCODING}
        address = one.management_address.partition("/")[0]
        host = f"[{address}]" if ":" in address else address
        targets[f"{host}:{telemetry.PORT}"] = {
            "name": one.name,
            "subscriptions": names,
            "tls-ca": ca,
            "event-tags": {"device": one.name, "role": one.role},
        }
    return {
        "targets": targets,
        "subscriptions": subscriptions,
        "outputs": {
            "prometheus": {"type": "prometheus", "listen": "127.0.0.1:9804", "path": "/metrics", "expiration": "60s"}
        },
    }
