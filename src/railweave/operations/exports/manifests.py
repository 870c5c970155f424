"""Names, labels and YAML documents for Kubernetes, as the targets ``kueue`` and ``kubernetes`` write them.

Sources: Kubernetes documentation, "Object Names and IDs" and "Labels and Selectors"; NVIDIA Topograph 1.0, "Node Labels and
Annotations"; RFC 1123, section 2.1, for the names of nodes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from railweave.operations.exports.contracts import NameRule, check_distinct, check_names
from railweave.operations.exports.placement import Group, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.exports.placement import Placement

Document = dict[str, Any]

NODE = NameRule(
    "a Kubernetes node",
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    "letters, digits, hyphens and dots, and no hyphen or dot at the start or end of a part",
    63,
    "Kubernetes, Object Names and IDs; the value of the label kubernetes.io/hostname",
)
LABEL_VALUE = NameRule(
    "a Kubernetes label value",
    r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?",
    "letters, digits, hyphens, underscores and dots, with a letter or digit at both ends",
    63,
    "Kubernetes, Labels and Selectors",
)
OBJECT = NameRule(
    "a Kubernetes object",
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    "lower-case letters, digits, hyphens and dots, with a letter or digit at both ends of each part",
    253,
    "Kubernetes, Object Names and IDs",
)
RESOURCE = NameRule(
    "a device plugin's resource",
    r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
    "letters, digits, hyphens, underscores and dots, with a letter or digit at both ends",
    63,
    "Kubernetes, Labels and Selectors",
)

PREFIX = "railweave"
"""The prefix of railweave's own label keys and device plugin resources."""
FABRIC, SITE, POD, STRIPE = (f"{PREFIX}/{level}" for level in ("fabric", "site", "pod", "stripe"))
LEVEL_LABELS = {"fabric": FABRIC, "site": SITE, "pod": POD, "stripe": STRIPE}
"""The label of each level of ``placement.LEVELS``."""
PLANES, SERVER, TENANT = f"{PREFIX}/planes", f"{PREFIX}/server-model", f"{PREFIX}/tenant"
HOSTNAME = "kubernetes.io/hostname"
DOMAIN = "accelerator.topograph.run/domain"
"""Topograph's label of an NVLink domain, since its version 1.0."""
TIER = "fabric.topograph.run/tier-"
"""Topograph's labels of the network: tier 0 is the group closest to the server, and wider groups have larger numbers."""


def node_names(places: Sequence[Placement]) -> dict[str, str]:
    """Return the Kubernetes node of each server: the server's name in lower case, as kubelet writes host names.

    Raises ``InputError`` if Kubernetes would refuse a name, or if two servers would have the same node.
    """
    nodes = {place.server: place.server.lower() for place in places}
    check_names(NODE, nodes.values())
    check_distinct("the Kubernetes node", nodes)
    return nodes


def object_name(*parts: str) -> str:
    """Return the parts of a name joined by hyphens, in the form of a Kubernetes object's name."""
    joined = "-".join(part for part in parts if part).lower()
    return re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9.-]", "-", joined)).strip("-.")


def labels(network: Network, places: Sequence[Placement]) -> dict[str, dict[str, str]]:
    """Return the labels of each server's node, by server.

    A group has the name that the Slurm and Topograph targets give it, so that equal values mean the same group.
    Raises ``InputError`` if Kubernetes would refuse a value.
    """
    chains = _chains(tree(network, places))
    result: dict[str, dict[str, str]] = {}
    for place in places:
        chain = chains[place.server]
        levels = {"fabric": place.fabric, "site": place.site, "pod": place.pod, "stripe": place.stripe}
        levels |= {group.level: group.name for group in chain if group.level != "fabric"}
        values = {LEVEL_LABELS[level]: value for level, value in levels.items() if value}
        values |= {PLANES: str(_planes(network, place)), SERVER: network.server(place.server).model}
        if tenant := _tenant(network, place):
            values[TENANT] = tenant
        values |= {f"{TIER}{number}": group.name for number, group in enumerate(reversed(chain))}
        if place.domain:
            values[DOMAIN] = place.domain
        result[place.server] = values
    check_names(LABEL_VALUE, dict.fromkeys(value for values in result.values() for value in values.values()))
    return result


def _chains(groups: Iterable[Group], wider: tuple[Group, ...] = ()) -> dict[str, tuple[Group, ...]]:
    """Return the groups of each server, the widest first."""
    chains: dict[str, tuple[Group, ...]] = {}
    for group in groups:
        chain = (*wider, group)
        chains |= dict.fromkeys(group.servers, chain)
        chains |= _chains(group.groups, chain)
    return chains


def _planes(network: Network, place: Placement) -> int:
    """Return the number of planes of a server's fabric: 1 if the fabric has no planes."""
    nics = [nic for nic in network.server(place.server).nics if nic.fabric == place.fabric]
    return len({network.plane_of(nic) for nic in nics})


def _tenant(network: Network, place: Placement) -> str:
    """Return the tenant of a server, or an empty string if its NICs have no tenant or several."""
    tenants = {nic.tenant for nic in network.server(place.server).nics if nic.fabric == place.fabric}
    return next(iter(tenants)) if len(tenants) == 1 else ""


def document(api: str, kind: str, name: str, spec: Document, annotations: Mapping[str, str] | None = None) -> Document:
    """Return a Kubernetes object. It has no namespace: `kubectl apply -n` names it."""
    metadata: Document = {"name": name}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def text_of(head: Iterable[str], documents: Iterable[Document]) -> str:
    """Return documents as YAML. ``head`` are lines of comment at the start of the file."""
    comment = "".join(f"# {line}".rstrip() + "\n" for line in head)
    return comment + "".join("---\n" + printed(document) for document in documents)


def printed(value: Document) -> str:
    """Return a value as YAML, in the order of its keys."""
    # LibYAML is ten times as fast, and a network of 1,000 servers has a document for each.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(value, Dumper=dumper, sort_keys=False, width=1000, default_flow_style=False)
