"""Kueue's topology and resource flavors, and the node labels that they use (docs/export/kueue.md).

Sources: Kueue 0.17, API kueue.x-k8s.io/v1beta2 and "Topology Aware Scheduling"; NVIDIA Topograph 1.0, "Node Labels and Annotations".
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from railweave.operations.exports.contracts import check_distinct, check_names
from railweave.operations.exports.manifests import (
    DOMAIN,
    FABRIC,
    HOSTNAME,
    LEVEL_LABELS,
    OBJECT,
    SERVER,
    TENANT,
    document,
    labels,
    node_names,
    object_name,
    text_of,
)
from railweave.operations.exports.placement import placements, used_levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.network.model import Network
    from railweave.operations.exports.manifests import Document
    from railweave.operations.exports.placement import Placement

API = "kueue.x-k8s.io/v1beta2"


def files(network: Network) -> dict[str, str]:
    """Return the files for Kueue, by name. Raises ``InputError`` if Kubernetes would refuse a name or a label."""
    places = placements(network)
    head = (
        f"Written by `railweave export kueue` for {network.name}, for Kueue 0.15 or later ({API}).",
        "Label the nodes first (node-labels.sh): Kueue ignores nodes that lack a label of a level.",
        "A flavor is one server model in one fabric: fabrics have no path to each other.",
    )
    return {
        "topology.yaml": text_of(head, _objects(network, places)),
        "node-labels.sh": _label_script(network, places),
    }


def _objects(network: Network, places: Sequence[Placement]) -> list[Document]:
    fabrics = list(dict.fromkeys(place.fabric for place in places))
    # Kueue ignores nodes that lack the label of a level, so each fabric has a topology: one may have pods, and another none.
    levels = {
        fabric: [LEVEL_LABELS[level] for level in used_levels([place for place in places if place.fabric == fabric])]
        for fabric in fabrics
    }
    topologies: dict[str, list[str]] = {}
    flavors: dict[str, Document] = {}
    names: dict[str, str] = {}
    for place in places:
        model = network.server(place.server).model
        flavor = object_name(network.name, place.fabric, model)
        names[f"{place.fabric} {model}"] = flavor
        # For the same reason, servers whose NVLink ends at the server have a topology of their own.
        topology = object_name(network.name, place.fabric if len(fabrics) > 1 else "", "nvlink" if place.domain else "")
        topologies[topology] = [*levels[place.fabric], *([DOMAIN] if place.domain else []), HOSTNAME]
        flavors[flavor] = document(
            API,
            "ResourceFlavor",
            flavor,
            {"nodeLabels": {FABRIC: place.fabric, SERVER: model}, "topologyName": topology},
        )
    check_distinct("the flavor", names)
    check_names(OBJECT, [*topologies, *flavors])
    written = [
        document(API, "Topology", name, {"levels": [{"nodeLabel": label} for label in keys]})
        for name, keys in topologies.items()
    ]
    return [*written, *flavors.values()]


def _label_script(network: Network, places: Sequence[Placement]) -> str:
    nodes = node_names(places)
    lines = [
        "#!/bin/sh",
        f"# Labels the Kubernetes nodes of {network.name}; written by `railweave export kueue`.",
        "# A node that the cluster lacks ends the script. Run it again after a change of the design.",
        "set -eu",
        "kubectl=${KUBECTL:-kubectl}",
    ]
    for server, values in labels(network, places).items():
        gone = [f"{key}-" for key in (TENANT, DOMAIN, *LEVEL_LABELS.values()) if key not in values]
        pairs = " ".join([*(shlex.quote(f"{key}={value}") for key, value in values.items()), *gone])
        lines.append(f'"$kubectl" label node {nodes[server]} {pairs} --overwrite')
    return "\n".join(lines) + "\n"
