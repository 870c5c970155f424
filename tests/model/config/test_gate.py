"""The gate: no secret is left in a text of a device, and nothing else is changed."""

from __future__ import annotations

import json
import re

import pytest
from tests.analysis.adopt import secret_statements

from railweave.model.config.gate import Gate, hidden, named, redacted

MARK = "Qz7tops3cret"
TEXTS = {
    "eos": secret_statements.EOS,
    "frr": secret_statements.FRR,
    "dell": secret_statements.DELL,
    "junos": secret_statements.JUNOS,
    "sonic": json.dumps(secret_statements.SONIC, indent=4),
    "sonic in one line": json.dumps(secret_statements.SONIC),
    "eos in json": json.dumps(
        {
            "cmds": {
                "username x secret sha512 $6$a${}": None,
                "router bgp 1": {"cmds": {"neighbor a password 7 {}": None}},
            }
        }
    ),
    "xml": "<configuration><snmp><community><name>{}</name></community></snmp><md5><name>1</name><key>{}</key></md5></configuration>",
    "braces": """
system {
    root-authentication {
        encrypted-password "$6$a${}"; ## SECRET-DATA
    }
    tacplus-server { 10.0.0.1 { secret {}; timeout 3; } }
    nobody { knows {}; ## SECRET-DATA
    }
}
snmp { community {} { authorization read-only; } trap-group {} { targets { 10.0.0.1; } } }
security {
    authentication-key-chains { key-chain k { key 0 { secret {}; start-time "2020"; } } }
    macsec { connectivity-association c { pre-shared-key { ckn 12; cak {}; } } }
    certificates { local { x { "-----BEGIN CERTIFICATE-----
{}
-----END CERTIFICATE-----
-----BEGIN RSA PRIVATE KEY-----
{}
-----END RSA PRIVATE KEY-----
"; } y { {}; } } }
}
protocols { ospf { area 0 { interface x { authentication { md5 1 { key "{}"; } simple-password {}; } } } } }
""",
}


def filled(text: str, by: str = MARK) -> str:
    return text.replace("{}", by)


@pytest.mark.parametrize("name", TEXTS)
def test_no_secret_is_left_and_all_else_stands_on_its_line(name: str) -> None:
    text = filled(TEXTS[name])
    for made in (Gate().text("leaf1", text), redacted(text)):
        assert [line for line in made.splitlines() if MARK in line] == []
        assert made.count("\n") == text.count("\n")
    if name in {"eos", "dell"}:
        assert [line for line in hidden(text).splitlines() if MARK in line] == []
    once = Gate().text("leaf1", text)
    assert Gate().text("leaf2", once) == once
    kept = filled(TEXTS[name], "<secret:x>")
    if name not in {"xml", "braces", "junos", "frr"} and "$" not in kept:
        assert Gate().text("leaf1", kept) == kept, "a reference stays"


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_document_that_breaks_off_has_no_secret_either(cut: int) -> None:
    text = filled(TEXTS["sonic"])[:-cut]
    assert MARK not in redacted(text).replace(f"{MARK}\\n-----END", "")


@pytest.mark.parametrize(
    "text",
    [
        "neighbor SPINES password shared-secret profile railweave algorithm hmac-sha1-96",
        "set system login password minimum-length 10",
        "set protocols bgp group x authentication-key-chain railweave",
        "set security macsec connectivity-association c pre-shared-key ckn 0123",
        "set security authentication-key-chains key-chain k key 0 start-time 2020-1-1",
        "snmp-server host 10.0.0.1 version 3 priv user1",
        "snmp-server group g v3 auth read all",
        "interface Ethernet1\n   description key of the secret rack\n   mtu 9200",
        "key chain x\n key 1\n",
        "ssl profile x\n   certificate a.pem key a.key",
        "username x ssh-key ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEL",
        '{"GNMI": {"certs": {"server_key": "/etc/sonic/telemetry/server.key"}}, "BGP": {"community": ["1:2"]}}',
        "set snmp trap-group railweave targets 10.0.0.1",
        "ntp trusted-key 1",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Gate().text("leaf1", text) == text
    assert redacted(text) == text


def test_equal_secrets_have_one_name_and_others_another() -> None:
    gate = Gate()
    made = [
        gate.text(device, f"snmp-server community {value} ro")
        for device, value in (("a", "x1"), ("b", "x1"), ("c", "x2"))
    ]
    assert made[0] == made[1] == "snmp-server community <hidden:snmp-server-community> ro"
    assert made[2] == "snmp-server community <hidden:c/snmp-server-community> ro"
    assert named(made[2]) == "snmp-server community <secret:c/snmp-server-community> ro"


def test_what_a_capture_has_hidden_gets_a_name() -> None:
    gate = Gate()
    assert gate.text("a", "enable password <hidden>") == "enable password <hidden:enable-password>"
    table = gate.text("a", '{"SNMP_COMMUNITY": {"<hidden-1>": {}, "<hidden-2>": {}}}')
    assert table == '{"SNMP_COMMUNITY": {"<hidden:SNMP_COMMUNITY>": {}, "<hidden:a/SNMP_COMMUNITY>": {}}}'


def test_names_are_ones_that_a_fabric_file_takes_and_hold_no_secret() -> None:
    made = Gate().text("leaf 1", filled(TEXTS["eos"]) + filled(TEXTS["eos"], f"{MARK}2"))
    names = re.findall("<hidden:([^>]*)>", made)
    assert len(set(names)) > 80
    assert all(re.fullmatch(r"[A-Za-z0-9_./:@-]{1,128}", name) for name in names)
    assert MARK not in "".join(names)
