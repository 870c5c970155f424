"""What of security is refused, and what a changed session costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from railweave.model.config.compare import compare
from railweave.model.device.build import device_config
from railweave.model.intent.management import Management
from railweave.model.intent.underlay import Underlay
from railweave.systems import system
from tests.access import protected
from tests.conftest import example
from tests.retarget import retargeted


def test_a_community_has_clients_where_security_is_on() -> None:
    open_to_all = {"snmp": {"community": "secret:community"}}
    assert Management.model_validate(open_to_all).snmp  # as files were before
    with pytest.raises(ValidationError, match="may use it, because it is sent unencrypted"):
        Management.model_validate({**open_to_all, "security": {}})
    Management.model_validate({"security": {}, "snmp": {"community": "secret:community", "clients": ["10.0.0.0/8"]}})


def test_a_server_of_logins_stands_once() -> None:
    server = {"host": "10.0.0.1", "key": "secret:key"}
    with pytest.raises(ValidationError, match=r"server 10\.0\.0\.1 is listed twice"):
        Management.model_validate({"security": {"aaa": {"tacacs": [server, server]}}})
    with pytest.raises(ValidationError, match="this must be the name of a secret, not the secret itself"):
        Management.model_validate({"security": {"aaa": {"radius": [{**server, "key": "clear"}]}}})


@pytest.mark.parametrize(
    "given", [{"graceful_restart": True}, {"ttl_security": True}, {"authentication": {"key": "secret:a"}}]
)
def test_what_is_of_bgp_is_refused_with_isis(given: dict[str, object]) -> None:
    Underlay.model_validate(given)
    with pytest.raises(ValidationError, match="belong to BGP"):
        Underlay.model_validate({**given, "protocol": "isis"})


@pytest.mark.parametrize(
    ("nos", "said"),
    [
        ("junos", ("every BGP session", "they reset")),
        ("eos", ("BGP session", "it takes effect when the session opens again")),
        ("frr", ("BGP session", "it takes effect when the session opens again")),
    ],
)
def test_graceful_restart_is_said_to_disrupt(nos: str, said: tuple[str, str]) -> None:
    network = retargeted("h100-rlb", nos) if nos == "eos" else example("h100-rlb")
    before = device_config(network, "stripe1-leaf1", nos)
    assert before.bgp
    after = replace(before, bgp=replace(before.bgp, graceful_restart=True))
    trees = [next(iter(system(nos).trees(one).values())) for one in (before, after)]
    for old, new in (trees, trees[::-1]):
        change = compare(old, new)
        assert said in {(row.what, row.why) for _, row in change.disrupts}


@pytest.mark.parametrize("nos", ["junos", "frr"])
def test_a_key_is_said_to_disrupt(nos: str) -> None:
    before = device_config(example("evpn-server-isolation"), "stripe1-leaf1", nos)
    trees = [next(iter(system(nos).trees(one).values())) for one in (before, protected(before))]
    found = {row.why for _, row in compare(*trees).disrupts}
    assert "it resets, and comes up when both ends have the key" in found
