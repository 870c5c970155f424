"""Comparison of Topograph's answers with what the Slurm and Kueue targets write for the same network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from railweave.operations.exports import kueue, slurm
from railweave.operations.exports.manifests import DOMAIN, TIER
from tests.conftest import example
from tests.operations.exports.read import documents, labelled

Tree = dict[str, tuple[frozenset[str], frozenset[str]]]
"""The switches below a switch, and its nodes, by name."""


def expanded(text: str) -> frozenset[str]:
    """The names of a host list, such as ``a[01-03,7],b``."""
    return frozenset(_names(text))


def _names(text: str) -> Iterator[str]:
    for word in re.findall(r"[^,\[]+(?:\[[^]]*\])?", text):
        head, _, ranges = word.rstrip("]").partition("[")
        for part in ranges.split(",") if ranges else [""]:
            first, _, last = part.partition("-")
            for number in range(int(first), int(last or first) + 1) if first else [None]:
                yield head if number is None else f"{head}{number:0{len(first)}d}"


def tree(text: str) -> Tree:
    """The tree of a topology.conf."""
    switches: Tree = {}
    for line in text.splitlines():
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word and not line.startswith("#"))
        if "SwitchName" in fields:
            switches[fields["SwitchName"]] = (expanded(fields.get("Switches", "")), expanded(fields.get("Nodes", "")))
    return switches


def differences(name: str, answers: dict[str, str]) -> list[str]:
    """All differences for one example, in words. ``answers`` are Topograph's, by request file."""
    network = example(name)
    ours = slurm.files(network)
    problems: list[str] = []
    theirs, mine = tree(answers["request-slurm-tree.json"]), tree(ours["topology.conf"])
    if not theirs or theirs != mine:
        problems.append(f"tree: Topograph has {len(theirs)} switches, the Slurm target {len(mine)}, or they differ")
    if "request-slurm-block.json" in answers:
        blocks = {
            expanded(nodes)
            for nodes in re.findall(r"^BlockName=\S+ Nodes=(\S+)", answers["request-slurm-block.json"], re.MULTILINE)
        }
        (block,) = [part["block"] for part in documents(ours["topology.yaml"])[0] if "block" in part]
        if blocks != {expanded(part["nodes"]) for part in block["blocks"]}:
            problems.append("blocks differ")
    labels = labelled(kueue.files(network)["node-labels.sh"])
    instances = json.loads(answers["request-graph.json"])["instances"]
    if len(instances) != len(labels):
        problems.append(f"graph: {len(instances)} instances for {len(labels)} nodes")
    for instance in instances:
        node = instance["id"].removeprefix("i-").lower()
        tiers = {f"{TIER}{number}": layer for number, layer in enumerate(instance["network_layers"])}
        written = {key: value for key, value in labels.get(node, {}).items() if key.startswith(TIER) or key == DOMAIN}
        domain = instance["labels"].get(DOMAIN)
        if written != tiers | ({DOMAIN: domain} if domain else {}):
            problems.append(f"graph: {node} has {instance}, the labels are {written}")
    return problems
