"""host.json is what its schema says, for every example and mode."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from railweave.device.host import host_config
from railweave.render.host.host_json import host_json
from railweave.render.host.schema import HOST_SCHEMA
from tests.conftest import SMALL, example


@pytest.mark.parametrize("name", SMALL)
def test_it_keeps_to_its_schema(name: str) -> None:
    network, schema = example(name), Draft202012Validator(HOST_SCHEMA)
    for server in network.servers:
        document = json.loads(host_json(host_config(network, server.name)))
        schema.validate(document)
        assert set(document) == set(HOST_SCHEMA["properties"])


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
