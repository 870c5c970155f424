"""``make trial NAME=kubernetes``: every object of every example, sent to an API server of Kubernetes.

The server checks what schemas say, and the CEL rules of the definitions, which tests cannot. Needs kube-apiserver, etcd, and the
definitions of all objects (`make validators CRD_CHECKOUTS=FOLDER`). Its figures go into the page of exports. Ends with
``kubernetes-trial: ok``.
"""

from __future__ import annotations

import copy
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from railweave.errors import InputError
from railweave.operations.exports import kubernetes, kueue
from tests.conftest import EXAMPLES, example
from tests.operations.exports import api_server
from tests.operations.exports.api_server import ApiServer
from tests.operations.exports.crds import definitions, folder
from tests.operations.exports.page import put
from tests.operations.exports.read import Document, labelled, objects


class Counts(Counter[str]):
    """The number of objects of each kind that were sent; ``problems`` has those that the server refused."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []


def _label_nodes(api: ApiServer, labels: dict[str, dict[str, str]], counts: Counts) -> None:
    """Create nodes, label them as ``kubectl label --overwrite`` does (a merge patch), read the labels back, and delete the nodes."""
    for node, values in labels.items():
        path = f"/api/v1/nodes/{node}"
        created = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}
        status, answer = api.ask("POST", "/api/v1/nodes", created)
        if status != 201:
            counts.problems.append(f"node {node}: {answer.get('message')}")
            continue
        patch = {"metadata": {"labels": values}}
        status, answer = api.ask("PATCH", path, patch, form="merge-patch+json")
        if status != 200 or not values.items() <= answer["metadata"]["labels"].items():
            counts.problems.append(f"labels of node {node}: {answer.get('message', answer)}")
        counts["Node (labels)"] += 1
        api.ask("DELETE", path)


def _refusals(api: ApiServer) -> list[str]:
    """Return the wrong objects that the server accepts: it is then not as strict as the trial assumes."""
    files = {**kueue.files(example("gb300-racks")), **kubernetes.files(example("arista-h200-512"))}
    by_kind: dict[str, Document] = {}
    for written in objects(files):
        by_kind.setdefault(written["kind"], written)
    wrong: dict[str, Document] = {name: copy.deepcopy(by_kind[name.split()[0]]) for name in (
        "Topology with the host name above another level",
        "ResourceFlavor with an unknown field",
        "NicConfigurationTemplate with seven priorities",
        "CIDRPool without its prefix length",
        "MPIJob with an unknown field in its pod",
        "NodeNetworkConfigurationPolicy with a selector that is no label",
        "ConfigMap with a number",
    )}  # fmt: skip
    topology, flavor, template, pool, job, policy, plugin = wrong.values()
    topology["spec"]["levels"].reverse()
    flavor["spec"]["nodeLabel"] = {}
    template["spec"]["template"]["roceOptimized"]["qos"]["pfc"] = "0,0,0,1,0,0,0"
    del pool["spec"]["perNodeNetworkPrefix"]
    job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["hostnetwork"] = True
    policy["spec"]["nodeSelector"] = {"not a label": "x"}
    plugin["data"]["config.json"] = 1
    return [f"the server takes a {name}" for name, written in wrong.items() if not api.apply(written)]


def _run(api: ApiServer, names: list[str]) -> Counts:
    counts = Counts()
    for name in names:
        network = example(name)
        labels = kueue.files(network)
        written = [*objects(labels), *objects(kubernetes.files(network))]
        refused = len(counts.problems)
        for item in written:
            if problem := api.apply(item):
                counts.problems.append(f"{name}: {item['kind']} {item['metadata']['name']}: {problem}")
            counts[item["kind"]] += 1
        _label_nodes(api, labelled(labels["node-labels.sh"]), counts)
        print(f"{name}: {len(written):,} objects, {len(counts.problems) - refused} refused", flush=True)
    return counts


def _names() -> list[str]:
    names: list[str] = []
    for name in sorted(path.stem for path in EXAMPLES.glob("*.yaml")):
        try:
            kueue.files(example(name))
        except InputError as error:
            print(f"{name}: left out: {error}")
        else:
            names.append(name)
    return names


def main() -> int:
    """All parts. Gives the exit status."""
    if why := api_server.missing():
        print(f"kubernetes-trial: cannot run here: {why}")
        return 1
    if not definitions():
        print(f"kubernetes-trial: cannot run here: no definitions in {folder()}: make validators CRD_CHECKOUTS=FOLDER")
        return 1
    begun = time.monotonic()
    names = _names()
    try:
        with tempfile.TemporaryDirectory() as place, api_server.running(Path(place)) as api:
            version = api.ask("GET", "/version")[1]["gitVersion"]
            for definition in definitions():
                api.define(definition)
            problems = _refusals(api)
            counts = _run(api, names)
    except (AssertionError, OSError, subprocess.SubprocessError) as wrong:
        print(f"{wrong}\nkubernetes-trial: failed")
        return 1
    problems += counts.problems
    rows = ["| kind | objects | refused |", "|---|---|---|"]
    for kind, count in sorted(counts.items()):
        refused = sum(f" {kind} " in f" {problem}" for problem in counts.problems)
        rows.append(f"| {kind} | {count:,} | {refused} |")
    print("\n".join([*rows, *problems[:20]]))
    print(f"API server {version}, {len(names)} examples, {time.monotonic() - begun:.0f} s")
    if problems:
        print(f"kubernetes-trial: failed: {len(problems)} problems")
        return 1
    put("kubernetes-trial", rows)
    print("kubernetes-trial: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
