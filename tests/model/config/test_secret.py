"""A secret's reference is equal to itself, and neither equal nor different to a value."""

from __future__ import annotations

import pytest

from railweave.model.config.compare import compare
from railweave.model.config.gate import hidden
from railweave.model.config.secret_words import Secret, alike, secrets
from railweave.model.config.sections import parse
from railweave.systems.eos.changes import config_tree


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("mtu 9000", "mtu 9000", True),
        ("mtu 9000", "mtu 9100", False),
        ("<secret:a>", "<secret:a>", True),
        ("<secret:a>", "<secret:b>", False),
        ("password <secret:a> role admin", "password $6$x role admin", None),
        ('password "two words"', "password <secret:a>", None),
        ("password <secret:a>", "password x role admin", False),  # one word only: what follows it is another statement
        ("password <secret:a> role admin", "password $6$x role operator", False),
        ("key <secret:a> <secret:b>", "key <secret:a> clear", None),
        ("key <secret:a> <secret:b>", "key <secret:c> clear", False),
    ],
)
def test_alike(one: str, other: str, found: bool | None) -> None:
    assert alike(one, other) is found
    assert alike(other, one) is found


def test_a_secret_is_a_value() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert secrets(f"x {Secret('a')} y") == (Secret("a"),)


@pytest.mark.parametrize("line", ["snmp-server community {} ro", "username netops privilege 15 secret sha512 {}"])
def test_a_value_in_place_of_a_secret_is_not_compared(line: str) -> None:
    designed, running = (config_tree(parse(line.format(word))) for word in ("<secret:x>", "$6$abc"))
    change = compare(running, designed)
    assert not change
    assert len(change.not_compared) == 1
    assert compare(designed, designed).not_compared == ()
    other = config_tree(parse(line.format("$6$abc").replace("ro", "rw").replace("15", "1")))
    assert compare(other, designed).commands


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        ("login / user x / authentication / encrypted-password $6$ab$cd", "encrypted-password <hidden>"),
        ("username x role network-admin secret sha512 $6$abc$def", "sha512 <hidden>"),
        ("snmp-server community public ro", "snmp-server community <hidden> ro"),
        ("SNMP_COMMUNITY / public / TYPE RO", "SNMP_COMMUNITY / <hidden> / TYPE RO"),
        ("snmp / community public / authorization read-only", "snmp / community <hidden> / authorization read-only"),
        ("neighbor A password 7 0822455D0A16", "neighbor A password 7 <hidden>"),
        ('group X / authentication-key "$9$abc"', "authentication-key <hidden>"),
        ("TACPLUS / global / passkey abc", "TACPLUS / global / passkey <hidden>"),
        ("key-chain fabric / key 1 / secret abc", "key-chain fabric / key 1 / secret <hidden>"),
        ("neighbor 1.1.1.1 password <secret:bgp>", "neighbor 1.1.1.1 password <secret:bgp>"),
        ("policy-options / community a / members large:1:0:2", "policy-options / community a / members large:1:0:2"),
        ("forwarding-options / enhanced-hash-key / ecmp-dlb", "forwarding-options / enhanced-hash-key / ecmp-dlb"),
        ("router bgp 65000 / router-id 1.1.1.1", "router bgp 65000 / router-id 1.1.1.1"),
    ],
)
def test_statements_are_shown_without_their_secrets(statement: str, shown: str) -> None:
    assert hidden(statement).endswith(shown)
