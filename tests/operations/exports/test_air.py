"""The topology for NVIDIA DSX Air, against the fields that its guide and API reference state."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from railweave.errors import InputError
from railweave.operations.exports import air
from tests.conftest import EXAMPLES, example

NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml") if not path.stem.startswith("scale-"))
ENDPOINT = {
    "type": "object",
    "required": ["node", "interface"],
    "properties": {
        "node": {"type": "string"},
        "interface": {"type": "string"},
        "mac": {"type": "string", "pattern": "^([0-9a-f]{2}:){5}[0-9a-f]{2}$"},
    },
    "additionalProperties": False,
}
MANIFEST = {
    "type": "object",
    "required": ["format", "name", "content"],
    "properties": {
        "format": {"const": "JSON"},
        "name": {"type": "string", "minLength": 1},
        "content": {
            "type": "object",
            "required": ["nodes", "links"],
            "properties": {
                "nodes": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "required": ["os"],
                        "properties": {
                            "os": {"type": "string"},
                            "cpu": {"type": "integer"},
                            "memory": {"type": "integer"},
                            "storage": {"type": "integer"},
                        },
                        "additionalProperties": False,
                    },
                },
                "links": {
                    "type": "array",
                    "items": {"type": "array", "minItems": 2, "maxItems": 2, "items": ENDPOINT},
                },
                "oob": {"type": "boolean"},
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
"""The fields that the target uses of those that the guide and the reference state, with their types."""


def _manifest(name: str) -> dict[str, Any]:
    return json.loads(air.files(example(name))["topology.json"])


@pytest.mark.parametrize("name", NAMES)
def test_every_example_keeps_to_the_fields_of_the_reference(name: str) -> None:
    """Every link ends at nodes of the file, no interface has two links, and the table leads back to the cables."""
    network, files = example(name), air.files(example(name))
    manifest = json.loads(files["topology.json"])
    Draft202012Validator(MANIFEST).validate(manifest)
    content = manifest["content"]
    ends = [(end["node"], end["interface"]) for link in content["links"] for end in link]
    assert len(ends) == len(set(ends))
    assert {node for node, _ in ends} <= content["nodes"].keys()
    ports = {(row["device"], row["interface"]): row["port"] for row in csv.DictReader(files["ports.csv"].splitlines())}
    joined = {
        frozenset((end["node"], ports[end["node"], end["interface"]]) for end in link) for link in content["links"]
    }
    assert joined == {
        frozenset(((cable.a.device, cable.a.port), (cable.b.device, cable.b.port)))
        for cable in network.cables
        if cable.name not in network.absent
    }


def test_servers_have_the_macs_from_which_their_addresses_follow() -> None:
    network, manifest = example("h100-rlb"), _manifest("h100-rlb")
    macs = {end["mac"] for link in manifest["content"]["links"] for end in link if end["node"] == "H100-01"}
    assert macs == {nic.mac.lower() for nic in network.server("H100-01").nics}


def test_interfaces_are_in_the_order_of_ports() -> None:
    rows = list(csv.DictReader(air.files(example("sonic-mi355x"))["ports.csv"].splitlines()))
    leaf = next(row["device"] for row in rows if row["port"].startswith("Ethernet"))
    numbers = {
        int(row["port"].removeprefix("Ethernet")): int(row["interface"].removeprefix("eth"))
        for row in rows
        if row["device"] == leaf
    }
    assert [numbers[port] for port in sorted(numbers)] == list(range(1, len(numbers) + 1))


def test_systems_without_an_image_have_a_placeholder() -> None:
    images = {node["os"] for node in _manifest("three-vendors")["content"]["nodes"].values()}
    assert images == {"IMAGE-eos", "IMAGE-junos", "IMAGE-dell_sonic", "generic/ubuntu2404"}
    assert {"sonic-vs-202305", "generic/ubuntu2404"} == {
        node["os"] for node in _manifest("sonic-mi355x")["content"]["nodes"].values()
    }


def test_a_name_that_is_no_host_name_is_an_error() -> None:
    network = example("h100-rlb")
    renamed = network.to_json().replace(b'"H100-03"', b'"H100_03"')
    with pytest.raises(InputError, match="an Air node has letters, digits and hyphens"):
        air.files(type(network).from_json(renamed))
