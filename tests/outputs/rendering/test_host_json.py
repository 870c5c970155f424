"""host.json is what its schema says, for every example and mode."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from railweave.model.device.host import host_config
from railweave.outputs.rendering.host.host_json import host_json, host_reference, host_schema
from tests.conftest import ROOT, SMALL, example

SCHEMA = Draft202012Validator(host_schema())
GONE = object()
"""Instead of a value: the key is removed."""
MISTAKES: list[tuple[tuple[str | int, ...], object]] = [
    (("schema",), 2),
    (("schema",), "1"),
    (("schema",), True),
    (("schema",), GONE),
    (("network",), None),
    (("gpu",), GONE),
    (("gpu", "count"), "8"),
    (("gpu", "count"), 1.5),
    (("gpu", "vendor"), "Intel"),
    (("router_advertisements",), "systemd"),
    (("fabrics",), []),
    (("fabrics", "backend", "roce"), GONE),
    (("fabrics", "backend", "roce", "lossless"), 1),
    (("fabrics", "backend", "bfd_detection_ms"), "300"),
    (("fabrics", "backend", "cnp", "dscp"), None),
    (("nics",), {}),
    (("nics", 0), None),
    (("nics", 0, "mac"), GONE),
    (("nics", 0, "gpu"), "0"),
    (("nics", 0, "tenant"), None),
    (("nics", 0, "firmware"), {"A": 1}),
    (("nics", 0, "addresses", 0, "path"), 0),
    (("nics", 0, "addresses", 0, "color"), GONE),
    (("nics", 0, "addresses", 0, "origin"), "dhcp"),
    (("nics", 0, "addresses", 0, "table"), None),
    (("routes", 0, "via"), None),
    (("routes", 0, "dev"), GONE),
    (("rules", 0, "from"), None),
    (("rules", 0, "to"), 6),
    (("rules", 0, "priority"), None),
    (("rules", 0, "priority"), "100"),
    (("rules", 0, "table"), GONE),
    (("sysctl",), {"net.core.somaxconn": 1}),
    (("kernel_command_line",), "iommu=pt"),
    (("kernel_command_line",), [1]),
    (("job", "library"), "MPI"),
    (("job", "resolve"), GONE),
    (("job", "tenants"), None),
    (("job", "tenants"), {"a": {"environment": {}}}),
]
VARIANTS: list[tuple[tuple[str | int, ...], object]] = [
    (("gpu", "count"), 8.0),
    (("gpu", "vendor"), ""),
    (("a key of a later version",), {}),
    (("gpu", "memory"), "80G"),
    (("fabrics",), {}),
    (("fabrics", "backend", "bfd_detection_ms"), None),
    (("nics", 0, "mac"), None),
    (("nics", 0, "gpu"), None),
    (("nics", 0, "tenant"), ""),
    (("nics", 0, "addresses"), []),
    (("nics", 0, "addresses", 0, "color"), None),
    (("nics", 0, "addresses", 0, "address"), None),
    (("routes", 0, "via"), GONE),
    (("rules", 0, "from"), GONE),
    (("rules", 0, "to"), "fc00::/16"),
    (("rules", 0, "priority"), -1),
    (("job", "environment"), {}),
    (("job", "tenants"), {"a": {"environment": {"A": "b"}, "resolve": []}}),
]


def changed(document: dict[str, Any], place: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """A copy of a document with another value at a place."""
    found = deepcopy(document)
    inner: Any = found
    for key in place[:-1]:
        inner = inner[key]
    if value is GONE:
        inner.pop(place[-1], None)
    else:
        inner[place[-1]] = value
    return found


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return json.loads((ROOT / "tests/golden/h100-rlb/hosts/H100-01/host.json").read_text())


@pytest.mark.parametrize(("place", "value"), MISTAKES)
def test_what_is_wrong_is_refused(place: tuple[str | int, ...], value: object, golden: dict[str, Any]) -> None:
    assert not SCHEMA.is_valid(changed(golden, place, value))


@pytest.mark.parametrize(("place", "value"), VARIANTS)
def test_what_else_can_be_is_taken(place: tuple[str | int, ...], value: object, golden: dict[str, Any]) -> None:
    SCHEMA.validate(changed(golden, place, value))


def test_every_committed_file_keeps_to_it() -> None:
    files = sorted((ROOT / "tests/golden").rglob("host.json"))
    assert len(files) > 10
    for file in files:
        SCHEMA.validate(json.loads(file.read_text()))


def test_the_page_has_every_key_and_the_objects_below() -> None:
    page = host_reference()
    for name, one in host_schema()["$defs"].items():
        assert page.count(f"## {name}\n\n{one['description']}\n") == 1
        assert all(f"| `{key}` | " in page for key in one["properties"])
    assert "| `from` | string, may be absent | source address or prefix |" in page
    assert "| `addresses` | list of [Address](#address) | addresses of the NIC, one per path |" in page


@pytest.mark.parametrize("name", SMALL)
def test_it_keeps_to_its_schema(name: str) -> None:
    network = example(name)
    keys = set(host_schema()["properties"])
    for server in network.servers:
        document = json.loads(host_json(host_config(network, server.name)))
        SCHEMA.validate(document)
        asked_for_by_no_example = {"versions"}
        assert set(document) | {"driver_files", "memory_gib"} == keys - asked_for_by_no_example
        assert ("driver_files" in document) == any(nic["driver"] == "bnxt_en" for nic in document["nics"])


def test_an_address_of_an_unknown_mac_is_not_given() -> None:
    network = example("h100-rlb")
    document = json.loads(host_json(host_config(network, "H100-01")))
    known = {nic["mac"] is not None: [one["address"] for one in nic["addresses"]] for nic in document["nics"]}
    assert known[True][0] == "fc00:1:1:1:a288:c2ff:fe3b:5066"
    assert set(known[False]) == {None}


def test_a_table_an_address_and_a_rule_go_together() -> None:
    for name in SMALL:
        network = example(name)
        config = host_config(network, network.servers[0].name)
        tables = [one.table for nic in config.nics for one in nic.addresses]
        assert len(set(tables)) == len(tables)
        assert {route.table for route in config.routes} == {rule.table for rule in config.rules} == set(tables)
