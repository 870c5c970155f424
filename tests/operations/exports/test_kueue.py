"""Kueue's topology and flavors, and the labels of nodes."""

from __future__ import annotations

import pytest

from railweave.errors import InputError
from railweave.operations.exports import kueue, slurm
from railweave.operations.exports.manifests import DOMAIN
from tests.conftest import example
from tests.operations.exports.read import documents, labelled


def test_levels_and_flavors_of_racks() -> None:
    """Stripes, NVLink domains and nodes; a flavor selects its nodes by fabric and model."""
    topology, flavor = documents(kueue.files(example("gb300-racks"))["topology.yaml"])
    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [
        "railweave/stripe",
        "accelerator.topograph.run/domain",
        "kubernetes.io/hostname",
    ]
    assert flavor["spec"] == {
        "nodeLabels": {"railweave/fabric": "backend", "railweave/server-model": "gb300-nvl72"},
        "topologyName": topology["metadata"]["name"],
    }


def test_labels_of_a_node() -> None:
    nodes = labelled(kueue.files(example("gb300-racks"))["node-labels.sh"])
    assert len(nodes) == 144
    assert nodes["gb300-055"] == {
        "railweave/fabric": "backend",
        "railweave/site": "site1",
        "railweave/stripe": "stripe2",
        "railweave/planes": "2",
        "railweave/server-model": "gb300-nvl72",
        "fabric.topograph.run/tier-0": "stripe2",
        "fabric.topograph.run/tier-1": "gb300-racks",
        "accelerator.topograph.run/domain": "A04",
    }


def test_a_label_that_a_node_no_longer_has_is_removed() -> None:
    script = kueue.files(example("gb300-racks"))["node-labels.sh"]
    line = next(line for line in script.splitlines() if " gb300-055 " in line)
    assert " railweave/tenant- railweave/pod- --overwrite" in line, line


def test_each_fabric_has_a_topology() -> None:
    topologies = [
        entry
        for entry in documents(kueue.files(example("aidc-three-fabrics"))["topology.yaml"])
        if entry["kind"] == "Topology"
    ]
    assert [entry["metadata"]["name"] for entry in topologies] == [
        "aidc-three-fabrics-backend1",
        "aidc-three-fabrics-backend2",
    ]


@pytest.mark.parametrize("name", ["aidc-three-fabrics", "gb300-racks", "three-vendors"])
def test_a_node_has_every_label_that_its_flavor_uses(name: str) -> None:
    """Kueue ignores nodes that lack the label of a level, and each node has exactly one flavor."""
    files = kueue.files(example(name))
    objects = documents(files["topology.yaml"])
    levels = {
        document["metadata"]["name"]: {level["nodeLabel"] for level in document["spec"]["levels"]}
        for document in objects
        if document["kind"] == "Topology"
    }
    flavors = [document["spec"] for document in objects if document["kind"] == "ResourceFlavor"]
    for node, labels in labelled(files["node-labels.sh"]).items():
        (flavor,) = [spec for spec in flavors if spec["nodeLabels"].items() <= labels.items()]
        assert levels[flavor["topologyName"]] - {"kubernetes.io/hostname"} <= labels.keys(), node


def test_two_fabrics_share_no_label_of_a_stripe() -> None:
    """Fabrics have no path to each other, so equal stripes of two fabrics have different values."""
    nodes = labelled(kueue.files(example("aidc-three-fabrics"))["node-labels.sh"])
    stripes: dict[str, set[str]] = {}
    for labels in nodes.values():
        stripes.setdefault(labels["railweave/stripe"], set()).add(labels["railweave/fabric"])
    assert stripes == {
        "backend1-stripe1": {"backend1"},
        "backend1-stripe2": {"backend1"},
        "backend2-stripe1": {"backend2"},
        "backend2-stripe2": {"backend2"},
    }


def test_groups_are_those_of_slurm() -> None:
    """The servers of a stripe are the nodes of the Slurm switch of the same name."""
    network = example("scale-8k")
    nodes = labelled(kueue.files(network)["node-labels.sh"])
    by_stripe: dict[str, set[str]] = {}
    for node, labels in nodes.items():
        assert DOMAIN not in labels
        by_stripe.setdefault(labels["railweave/stripe"], set()).add(node)
    lines = slurm.files(network)["topology.conf"].splitlines()
    switches = {line.split()[0].removeprefix("SwitchName="): line for line in lines if " Nodes=" in line}
    assert switches.keys() == by_stripe.keys()


def test_a_name_that_kubernetes_refuses_is_an_error() -> None:
    network = example("h100-rlb")
    renamed = network.to_json().replace(b'"H100-03"', b'"H100_03"')
    with pytest.raises(InputError, match=r"(?s)h100_03.*Kubernetes node has letters, digits, hyphens"):
        kueue.files(type(network).from_json(renamed))


def test_names_that_differ_only_in_case_are_an_error() -> None:
    network = example("h100-rlb")
    renamed = network.to_json().replace(b'"H100-03"', b'"h100-01"')
    with pytest.raises(InputError, match=r"same name as H100-01: h100-01"):
        kueue.files(type(network).from_json(renamed))


def test_a_label_that_is_too_long_is_an_error() -> None:
    network = example("h100-rlb")
    renamed = network.to_json().replace(b'"stripe2"', b'"' + b"s" * 64 + b'"')
    with pytest.raises(InputError, match="has 64 characters, but a Kubernetes label value has at most 63"):
        kueue.files(type(network).from_json(renamed))
