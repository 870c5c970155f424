"""The model for NVIDIA's Topograph, and what Topograph itself makes of it."""

from __future__ import annotations

import json

import pytest

from railweave.errors import InputError
from railweave.operations.exports import topograph
from tests.conftest import example
from tests.operations.exports.read import documents
from tests.operations.exports.topograph_compare import differences, expanded, tree
from tests.operations.exports.topograph_run import answers, missing


def test_a_model_of_racks() -> None:
    (model,) = documents(topograph.files(example("gb300-racks"))["model.yaml"])
    assert model["switches"] == {"gb300-racks": {"switches": ["stripe1", "stripe2", "stripe3"]}}
    assert model["blocks"][3] == {
        "switch": "stripe2",
        "nodes": ["gb300-[055-072]"],
        "annotations": {"accelerator.topology.test/domain": "A04"},
    }


def test_fabrics_are_separate_trees() -> None:
    (model,) = documents(topograph.files(example("aidc-three-fabrics"))["model.yaml"])
    assert list(model["switches"]) == ["backend1", "backend2"]
    assert all("annotations" not in block for block in model["blocks"])


def test_only_a_network_with_nvlink_domains_asks_for_blocks() -> None:
    assert "request-slurm-block.json" in topograph.files(example("gb300-racks"))
    files = topograph.files(example("h100-rlb"))
    assert "request-slurm-block.json" not in files
    assert json.loads(files["request-slurm-tree.json"]) == {
        "provider": {"name": "dsx-sim", "params": {"modelFileName": "/etc/topograph/model.yaml"}},
        "engine": {"name": "slurm", "params": {"plugin": "topology/tree"}},
    }


def test_a_name_that_topograph_would_change_is_an_error() -> None:
    network = example("h100-rlb")
    renamed = network.to_json().replace(b'"stripe2"', b'"' + b"s" * 64 + b'"')
    with pytest.raises(InputError, match="longer values are replaced by a hash"):
        topograph.files(type(network).from_json(renamed))


def test_host_lists_are_expanded() -> None:
    assert expanded("a[01-03,7],b,c-[9-10]") == {"a01", "a02", "a03", "a7", "b", "c-9", "c-10"}
    assert tree("SwitchName=s Switches=a[1-2]\n") == {"s": (frozenset({"a1", "a2"}), frozenset())}


@pytest.mark.validator
def test_topograph_reads_the_models() -> None:
    """Topograph prints the tree of the Slurm target, its blocks, and the labels of the Kueue target."""
    if why := missing():
        pytest.skip(why)
    for name, texts in answers(["aidc-three-fabrics", "gb300-racks", "h100-rlb"]).items():
        assert differences(name, texts) == [], name
