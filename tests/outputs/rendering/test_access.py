"""Logins, their servers and limits, keys of sessions, graceful restart, and server ports, on every system."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest

from railweave.model.device.build import device_config
from railweave.systems import system
from tests.access import protected
from tests.conftest import example
from tests.retarget import retargeted

NUMBERED = "evpn-server-isolation"
"""An example whose sessions have addresses, with an overlay."""


@cache
def statements(name: str, nos: str, device: str = "stripe1-leaf1", algorithm: str = "md5") -> frozenset[str]:
    network = example(name) if nos in {"junos", "frr"} else retargeted(name, nos)
    kind = "ao-aes-128-cmac" if algorithm != "md5" else "md5"
    return frozenset(system(nos).lines(protected(device_config(network, device, nos), kind)))


def gaps(name: str, nos: str, algorithm: str = "md5") -> set[str]:
    network = example(name) if nos in {"junos", "frr"} else retargeted(name, nos)
    kind = "ao-aes-128-cmac" if algorithm != "md5" else "md5"
    return {one.id for one in system(nos).gaps(protected(device_config(network, "stripe1-leaf1", nos), kind))}


LOGINS = {
    "junos": [
        "system authentication-order tacplus",
        "system authentication-order radius",
        "system tacplus-server 172.20.0.5 routing-instance mgmt_junos",
        "system tacplus-server 172.20.0.5 secret <secret:tacacs>",
        "system radius-server 172.20.0.6 secret <secret:radius>",
        "system login user remote class read-only",
        "system login retry-options tries-before-disconnect 3",
        "system login retry-options lockout-period 5",
        "system login idle-timeout 15",
        "snmp community <secret:community> routing-instance mgmt_junos clients 172.20.0.0/24",
        "snmp v3 vacm security-to-group security-model usm security-name watcher group railweave",
    ],
    "eos": [
        "tacacs-server host 172.20.0.5 vrf MGMT timeout 3 key 0 <secret:tacacs>",
        "radius-server host 172.20.0.6 vrf MGMT timeout 3 key 0 <secret:radius>",
        "aaa authentication login default group tacacs+ group radius local",
        "aaa authorization exec default group tacacs+ group radius local",
        "aaa authentication policy lockout failure 3 duration 300",
        "management ssh / idle-timeout 15",
        "management console / idle-timeout 15",
        "snmp-server community <secret:community> ro ipv6 SNMP-CLIENTS SNMP-CLIENTS",
        "ip access-list standard SNMP-CLIENTS / 10 permit 172.20.0.0/24",
        "ip access-list standard SNMP-CLIENTS / 20 deny any",
        "ipv6 access-list standard SNMP-CLIENTS / 10 deny any",
    ],
    "sonic": [
        "AAA|authentication login tacacs+,radius,local",
        "AAA|authentication failthrough False",
        "TACPLUS_SERVER|172.20.0.5 passkey <secret:tacacs>",
        "RADIUS_SERVER|172.20.0.6 vrf mgmt",
        "SSH_SERVER|POLICIES authentication_retries 3",
        "SSH_SERVER|POLICIES inactivity_timeout 15",
        "SERIAL_CONSOLE|POLICIES inactivity_timeout 15",
    ],
    "dell_sonic": [
        "tacacs-server host 172.20.0.5 timeout 3 key <secret:tacacs> vrf mgmt",
        "radius-server host 172.20.0.6 timeout 3 key <secret:radius> vrf mgmt",
        "aaa authentication login default group tacacs+ local",
        "login lockout max-retries 3",
        "login lockout period 5",
        "login exec-timeout 900",
    ],
}


@pytest.mark.parametrize("nos", LOGINS)
def test_logins_have_servers_and_limits(nos: str) -> None:
    assert [one for one in LOGINS[nos] if one not in statements("h100-rlb", nos)] == []


FLOODS = {
    "junos": "interfaces {} unit 0 family ethernet-switching storm-control server-ports",
    "eos": "interface {} / storm-control unknown-unicast level 1",
    "sonic": "PORT_STORM_CONTROL|{}|unknown-unicast kbps 4000000",
    "dell_sonic": "interface {} / storm-control unknown-unicast 4000000",
}


@pytest.mark.parametrize("nos", FLOODS)
def test_layer_2_server_ports_are_guarded_and_no_others(nos: str) -> None:
    network = example("h100-rlb") if nos == "junos" else retargeted("h100-rlb", nos)
    config = protected(device_config(network, "stripe1-leaf1", nos))
    text = FLOODS[nos]
    ports = {one.name for one in config.interfaces if one.kind == "server" and one.vlan}
    assert ports
    found = statements("h100-rlb", nos)
    assert {text.format(one) for one in ports} <= found
    assert not any(text.format(one.name) in found for one in config.interfaces if one.name not in ports)
    spine = statements("h100-rlb", nos, "spine1")
    assert not any("storm" in one.lower() or "bpdu" in one for one in spine)


def test_ports_that_hear_a_bridge_are_shut() -> None:
    assert "forwarding-options storm-control-profiles server-ports all bandwidth-percentage 1" in statements(
        "h100-rlb", "junos"
    )
    assert any(
        one.startswith("protocols layer2-control bpdu-block interface") for one in statements("h100-rlb", "junos")
    )
    eos = statements("h100-rlb", "eos")
    assert "spanning-tree mode rstp" in eos  # without spanning tree nobody listens
    assert any(one.endswith("/ spanning-tree bpduguard enable") for one in eos)
    assert "spanning-tree mode none" in statements("h100-rlb", "eos", "spine1")
    dell = statements("h100-rlb", "dell_sonic")
    assert "spanning-tree mode mst" in dell
    assert any(one.endswith("/ spanning-tree bpduguard port-shutdown") for one in dell)
    assert any(one.endswith("/ spanning-tree port type edge") for one in dell)
    assert not any("spanning-tree" in one for one in statements("h100-rlb", "dell_sonic", "spine1"))
    assert "sonic-no-bpdu-guard" in gaps("h100-rlb", "sonic")


def test_a_server_of_logins_on_another_port_is_asked_there() -> None:
    """AVD's schema has no word for the port, so that its data has the line as it stands."""
    network = retargeted("h100-rlb", "eos")
    config = protected(device_config(network, "stripe1-leaf1", "eos"))
    aaa = config.management.aaa()
    assert aaa is not None
    assert config.management.security is not None
    moved = replace(aaa, tacacs=(replace(aaa.tacacs[0], port=4949),), radius=(replace(aaa.radius[0], port=18120),))
    security = replace(config.management.security, aaa=moved)
    config = replace(config, management=replace(config.management, security=security))
    lines = [
        "tacacs-server host 172.20.0.5 vrf MGMT port 4949 timeout 3 key 0 <secret:tacacs>",
        "radius-server host 172.20.0.6 vrf MGMT auth-port 18120 timeout 3 key 0 <secret:radius>",
    ]
    files = system("eos").files(config)
    assert [one for one in lines if one not in files["eos.conf"].splitlines()] == []
    data = json.loads(files["avd.json"])
    assert [one for one in lines if one not in data["eos_cli"].splitlines()] == []
    assert "tacacs_servers" not in data
    assert "radius_server" not in data


KEYS = {
    "junos": ("protocols bgp group {} authentication-key <secret:bgp>", "junos-no-key"),
    "eos": ("router bgp {asn} / neighbor {} password 0 <secret:bgp>", "eos-found-key"),
    "frr": ("router bgp {asn} / neighbor {} password <secret:bgp>", ""),
    "sonic": ("router bgp {asn} / neighbor {} password <secret:bgp>", ""),
    "dell_sonic": ("router bgp {asn} / peer-group {} / password <secret:bgp>", ""),
}


@pytest.mark.parametrize("nos", KEYS)
def test_sessions_have_a_key_the_overlay_too(nos: str) -> None:
    network = example(NUMBERED) if nos in {"junos", "frr"} else retargeted(NUMBERED, nos)
    bgp = device_config(network, "stripe1-leaf1", nos).bgp
    assert bgp
    text, gap = KEYS[nos]
    groups = [*(one.name for one in bgp.groups), "overlay"]
    found = statements(NUMBERED, nos)
    assert [one for one in groups if text.format(one, asn=bgp.asn) not in found] == []
    assert gap not in gaps(NUMBERED, nos)
    if gap:  # neighbors that are found on the link
        assert gap in gaps("h100-rlb", nos)
    if nos == "junos":
        assert not any("authentication-key <secret:bgp>" in one for one in statements("h100-rlb", nos))


def test_tcp_ao_is_a_chain_or_a_profile_or_named_as_missing() -> None:
    junos = statements(NUMBERED, "junos", algorithm="ao")
    assert "security authentication-key-chains key-chain fabric key 7 secret <secret:bgp>" in junos
    assert "security authentication-key-chains key-chain fabric key 7 ao-attribute recv-id 7" in junos
    assert "protocols bgp group overlay authentication-algorithm ao" in junos
    eos = statements(NUMBERED, "eos", algorithm="ao")
    always = "receive-lifetime infinite transmit-lifetime infinite"
    profile = "management security / session shared-secret profile fabric"
    assert f"{profile} / secret 7 0 <secret:bgp> {always}" in eos
    for nos in ("frr", "sonic", "dell_sonic"):
        assert f"{nos}-no-tcp-ao" in gaps(NUMBERED, nos, "ao")
        assert not any("password <secret:bgp>" in one for one in statements(NUMBERED, nos, algorithm="ao"))


RESTART = {
    "junos": [
        "protocols bgp graceful-restart dont-help-shared-fate-bfd-down",
        "routing-options graceful-restart",
        "protocols bgp group {} ttl 255",
    ],
    "eos": ["router bgp {asn} / graceful-restart", "router bgp {asn} / neighbor {} ttl maximum-hops 1"],
    "frr": [
        "router bgp {asn} / bgp graceful-restart",
        "router bgp {asn} / bgp graceful-restart preserve-fw-state",
        "router bgp {asn} / neighbor {} bfd check-control-plane-failure",
        "router bgp {asn} / neighbor {} ttl-security hops 1",
    ],
    "dell_sonic": [
        "router bgp {asn} / graceful-restart enable",
        "router bgp {asn} / peer-group {} / bfd check-control-plane-failure profile fabric",
        "router bgp {asn} / peer-group {} / ttl-security hops 1",
    ],
}


@pytest.mark.parametrize("nos", RESTART)
def test_graceful_restart_holds_to_bfd(nos: str) -> None:
    network = example("h100-rlb") if nos in {"junos", "frr"} else retargeted("h100-rlb", nos)
    bgp = device_config(network, "stripe1-leaf1", nos).bgp
    assert bgp
    found = statements("h100-rlb", nos)
    for text in RESTART[nos]:
        for group in bgp.groups:
            assert text.format(group.name, asn=bgp.asn) in found
