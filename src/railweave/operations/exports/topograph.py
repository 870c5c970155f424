"""The cluster model of NVIDIA's Topograph, and a request that has Topograph read the model (docs/export/topograph.md).

Source: NVIDIA Topograph 1.0, "Modeling and API Simulation" and "Configuration and API".
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from railweave.model.intent.base import host_lists
from railweave.operations.exports.contracts import NameRule, check_names
from railweave.operations.exports.manifests import node_names, text_of
from railweave.operations.exports.placement import placements, tree, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.network.model import Network
    from railweave.operations.exports.placement import Group, Placement

SWITCH = NameRule(
    "a Topograph switch",
    r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?",
    "letters, digits, dots, hyphens and underscores, with a letter or digit at both ends",
    63,
    "NVIDIA Topograph, Node Labels and Annotations: longer values are replaced by a hash",
)
DOMAIN = "accelerator.topology.test/domain"
"""The annotation by which a model states the accelerator domain of nodes."""
MODEL = "model.yaml"
FOLDER = "/etc/topograph"
PROVIDER = "dsx-sim"
"""A provider that reads a model from any path. The provider ``test`` reads only models that Topograph was built with."""


def files(network: Network) -> dict[str, str]:
    """Return the files for Topograph, by name. Raises ``InputError`` if Topograph would refuse or change a name."""
    places = placements(network)
    node_names(places)
    groups = tree(network, places)
    check_names(SWITCH, (group.name for group in walk(groups)))
    check_names(SWITCH, dict.fromkeys(place.domain for place in places if place.domain))
    head = (
        f"Written by `railweave export topograph` for {network.name}: a model for NVIDIA Topograph 1.0 or later.",
        "A switch of this model is a stripe (servers that share leaves) or a wider group: Topograph has trees only,",
        "and a server has a leaf on each rail.",
    )
    return {
        MODEL: text_of(head, [_model(places, groups)]),
        "request-slurm-tree.json": _request({"name": "slurm", "params": {"plugin": "topology/tree"}}),
        **_blocks_request(places),
        "request-graph.json": _request({"name": "graph"}),
    }


def _model(places: Sequence[Placement], groups: Sequence[Group]) -> dict[str, Any]:
    domains = {place.server: place.domain for place in places}
    switches = {
        group.name: {"switches": [inner.name for inner in group.groups]} for group in walk(groups) if group.groups
    }
    blocks: list[dict[str, Any]] = []
    for group in walk(groups):
        by_domain: dict[str, list[str]] = {}
        for server in group.servers:
            by_domain.setdefault(domains[server], []).append(server)
        for domain, servers in by_domain.items():
            block: dict[str, Any] = {"switch": group.name, "nodes": host_lists(servers)}
            blocks.append(block | ({"annotations": {DOMAIN: domain}} if domain else {}))
    return {"switches": switches, "blocks": blocks}


def _request(engine: dict[str, Any]) -> str:
    provider = {"name": PROVIDER, "params": {"modelFileName": f"{FOLDER}/{MODEL}"}}
    return json.dumps({"provider": provider, "engine": engine}, indent=1) + "\n"


def _blocks_request(places: Sequence[Placement]) -> dict[str, str]:
    """Return the request for Slurm's block topology. Topograph makes its blocks from accelerator domains, so a network without them has none."""
    if not any(place.domain for place in places):
        return {}
    return {"request-slurm-block.json": _request({"name": "slurm", "params": {"plugin": "topology/block"}})}
