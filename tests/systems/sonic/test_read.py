"""config_db.json and frr.conf read back: ours exactly, other people's as far as a DeviceConfig can hold it."""

from __future__ import annotations

import json
import re

import pytest

from railweave.errors import RenderError
from railweave.model.device.build import device_config
from railweave.systems import system
from railweave.systems.sonic.read.rows import rows
from tests.conftest import SMALL
from tests.drawn import some
from tests.model.config.variants import networks
from tests.model.intent.asked import FABRICS
from tests.model.intent.trial import trial, with_value
from tests.retarget import retargeted
from tests.systems.there_and_back import lost, one_of_each_role, reader, unknown

SECURED = {
    name: with_value(raw, ("management", "snmp", "clients"), ["172.20.0.0/24"]) if "management" in raw else raw
    for name, raw in FABRICS.items()
}
"""Fabrics that may be protected: who may ask by SNMP is named."""

READ = reader("sonic")


@pytest.mark.parametrize("name", SMALL)
def test_examples_come_back(name: str) -> None:
    network = retargeted(name, "sonic")
    assert [line for one in one_of_each_role(network) for line in lost(device_config(network, one))] == []


SECURITY = {
    "login": {},
    "control_plane": {},
    "edge_ports": {},
    "aaa": {"tacacs": [{"host": "172.20.0.5", "key": "secret:tacacs"}]},
}


@pytest.mark.parametrize("name", list(SECURED))
def test_small_fabrics_come_back(name: str) -> None:
    raw = SECURED[name]
    more = {"security": SECURITY, "dns": ["172.20.0.2"], "domain": "lab", "ntp": ["172.20.0.3"], "banner": "hands off"}
    raw = {**raw, "management": {**raw.get("management", {}), **more}}
    assert [line for config in trial(raw, "sonic").configs for line in lost(config)] == []


def leaf() -> dict[str, str]:
    return system("sonic").files(device_config(retargeted("evpn-functional", "sonic"), "leaf1"))


def test_a_port_on_a_vlan_without_a_name() -> None:
    """The key of its row begins with the bar: the port is read, and nothing is raised."""
    files = leaf()
    tables = json.loads(files["config_db.json"])
    tables.setdefault("VLAN_MEMBER", {})["|Ethernet504"] = {"tagging_mode": "untagged"}
    found = READ.read({**files, "config_db.json": json.dumps(tables, indent=1)})
    assert found.config.name == "leaf1"


def test_every_field_has_its_line() -> None:
    files = leaf()
    lines = files["config_db.json"].splitlines()
    found = [one for one in READ.read(files).statements if one.file == "config_db.json"]
    assert len(found) > 500
    for one in found:
        table, key, field = (*re.split(r"[| ]", one.path, maxsplit=1), "")[:3]
        assert lines[one.line - 1].strip().startswith('"'), (table, key, field)
        last = lines[one.line - 1].strip().split('"')[1]
        assert last in one.path


def changed(old: str, new: str) -> dict[str, str]:
    files = leaf()
    assert old in files["config_db.json"]
    return {**files, "config_db.json": files["config_db.json"].replace(old, new)}


def test_wrong_rows_are_seen() -> None:
    right = READ.read(leaf()).config
    marking = READ.read(changed('"green_min_threshold": "1815000"', '"green_min_threshold": "1"')).config
    assert right.qos is not None
    assert marking.qos is not None
    assert marking.qos.marking["no-loss"].first == 1
    member = READ.read(changed('"Vlan2|Ethernet88"', '"Vlan3|Ethernet88"')).config
    assert next(one.vlan for one in member.interfaces if one.name == "Ethernet88") == "Vlan3"
    headroom = READ.read(changed('"xoff": "378968"', '"xoff": "50800"')).config
    assert headroom.qos is not None
    assert headroom.qos.profiles[0].headroom_bytes == 50800
    dscp = READ.read(changed('"26": "3"', '"26": "0"')).config
    assert dscp.qos is not None
    assert dscp.qos.classes["no-loss"].dscp == ()


def test_what_one_port_has_otherwise_is_said_with_its_line() -> None:
    files = changed(
        '"Ethernet88|3": {\n            "scheduler": "no-loss"', '"Ethernet88|3": {\n            "scheduler": "cnp"'
    )
    found = READ.read(files)
    assert [line.partition(": ")[2] for line in unknown(found)] == ["QUEUE|Ethernet88|3 scheduler cnp"]


MANAGED = {
    "BGP_GLOBALS": {"default": {"local_asn": 65001, "router_id": "10.0.0.11", "log_nbr_state_changes": "true"}},
    "BGP_GLOBALS_AF": {"default|l2vpn_evpn": {"advertise-all-vni": "true"}},
    "BGP_NEIGHBOR": {
        "default|10.0.0.12": {
            "asn": "65002",
            "ebgp_multihop": "true",
            "local_addr": "10.0.0.11",
            "name": "far",
            "auth_password": "swordfish",
        },
        "default|10.99.0.2": {"asn": "65002", "local_addr": "10.99.0.3", "name": "near"},
    },
    "BGP_NEIGHBOR_AF": {
        "default|10.0.0.12|l2vpn_evpn": {"admin_status": "true", "route_map_out": ["ALLOW"]},
        "default|10.99.0.2|ipv4_unicast": {
            "admin_status": "true",
            "route_map_in": ["ALLOW"],
            "route_map_out": ["ALLOW"],
        },
    },
    "DEVICE_METADATA": {"localhost": {"hostname": "leaf", "frr_mgmt_framework_config": "true"}},
    "INTERFACE": {"Ethernet128": {}, "Ethernet128|10.99.0.3/31": {}},
    "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.0.0.11/32": {}},
    "PORT": {"Ethernet128": {"admin_status": "up", "lanes": "1,2", "speed": 100000, "mtu": 9100}},
    "PREFIX": {"LO|10.0.0.0/24|24..32": {"action": "permit"}},
    "ROUTE_MAP": {"ALLOW|1": {"route_operation": "permit", "match_prefix_set": "LO", "set_local_pref": "120"}},
    "ROUTE_REDISTRIBUTE": {"default|connected|bgp|ipv4": {"route_map": ["ALLOW"]}},
    "VLAN": {"Vlan10": {"vlanid": "10"}},
    "VLAN_MEMBER": {"Vlan10|Ethernet112": {"tagging_mode": "untagged"}},
    "VXLAN_EVPN_NVO": {"nvo1": {"source_vtep": "nve1"}},
    "VXLAN_TUNNEL": {"nve1": {"src_ip": "10.0.0.11"}},
    "VXLAN_TUNNEL_MAP": {"nve1|map_10_Vlan10": {"vlan": "Vlan10", "vni": "10"}},
}


def test_bgp_in_tables_is_understood() -> None:
    found = READ.read({"config_db.json": json.dumps(MANAGED, indent=2)})
    # Routing does not know what an export of EVPN does beside marking routes.
    assert unknown(found) == ["31: BGP_NEIGHBOR_AF|default|10.0.0.12|l2vpn_evpn route_map_out ALLOW"]
    assert "swordfish" not in repr(found)
    bgp, overlay = found.config.bgp, found.config.overlay
    assert bgp is not None
    assert overlay is not None
    assert (bgp.asn, bgp.redistribute_connected, bgp.prefix_lists) == (65001, "ALLOW", {"LO": ("10.0.0.0/24",)})
    assert [(one.import_policy, one.sessions[0].interface) for one in bgp.groups] == [("ALLOW", "Ethernet128")]
    assert [(one.peer, one.local_address) for one in overlay.neighbors] == [("far", "10.0.0.11")]
    assert found.config.mac_vrf is not None
    assert [(one.vlan, one.vni) for one in found.config.mac_vrf.vlans] == [(10, 10)]
    assert [(one.name, one.kind, one.speed_gbps, one.mtu) for one in found.config.interfaces] == [
        ("Ethernet128", "fabric", 100, 9114)
    ]


def test_neighbors_by_template_are_understood() -> None:
    tables = {
        "DEVICE_METADATA": {"localhost": {"hostname": "tor", "bgp_asn": "65100", "type": "ToRRouter"}},
        "LOOPBACK_INTERFACE": {"Loopback0|10.1.0.32/32": {}},
        "INTERFACE": {"Ethernet0|10.0.0.0/31": {}},
        "PORT": {"Ethernet0": {"admin_status": "up", "lanes": "1", "speed": "40000"}},
        "BGP_NEIGHBOR": {"10.0.0.1": {"asn": "65200", "name": "T1", "local_addr": "10.0.0.0", "holdtime": "10"}},
        "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "T1", "port": "Ethernet1/1"}},
    }
    found = READ.read({"config_db.json": json.dumps(tables)})
    assert unknown(found) == []
    assert found.config.bgp is not None
    assert found.config.bgp.prefix_lists == {"(networks)": ("10.1.0.32/32",)}
    assert [one.peer for one in found.config.bgp.groups[0].sessions] == ["T1"]
    assert [(one.peer, one.peer_port) for one in found.config.interfaces] == [("T1", "Ethernet1/1")]


def test_all_of_the_running_configuration_is_one_text() -> None:
    files = leaf()
    whole = {**json.loads(files["config_db.json"]), "bgpraw": files["frr.conf"]}
    assert READ.read({"running": json.dumps(whole)}).config == READ.read(files).config


@pytest.mark.parametrize(
    ("text", "line"),
    [('{\n"PORT": {\n', 3), ('{"a": 1', 1), ("[1]", 1), ("[" * 4000, 1), ('{\n"PORT": {"x": tru}}', 2)],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(RenderError) as caught:
        READ.read({"config_db.json": text})
    assert caught.value.line == line


def test_what_is_no_table_of_rows_is_not_understood() -> None:
    found = READ.read(
        {"x": '{"PORT": [1, {"a": 2}],\n "VLAN": {"Vlan2": 3, "Vlan3": {"vlanid": {"b": 4}}},\n "NEW": {"k": {}}}'}
    )
    assert unknown(found) == ["2: VLAN|Vlan3 vlanid {...}", "3: NEW|k", "1: PORT", "2: VLAN|Vlan2"]


@pytest.mark.slow
def test_drawn_fabrics_come_back() -> None:
    fabrics = some(networks("sonic")[::2], 6, "drawn fabrics of sonic")
    configs = [device_config(one, name, "sonic") for one in fabrics for name in one_of_each_role(one)]
    assert [line for config in configs for line in lost(config)] == []


def test_the_last_of_two_tables_rows_or_fields_counts() -> None:
    text = """{
  "PORT": {"Ethernet0": {"mtu": "9100", "admin_status": "up"}, "Ethernet8": {"mtu": "9100"}},
  "VLAN": {"Vlan10": {"vlanid": "10"},
           "Vlan10": {"vlanid": "10",
                      "vlanid": "11"}},
  "PORT": {"Ethernet0": {"mtu": "1500"}}
}"""
    read = rows(text)
    assert list(read.tables["PORT"]) == ["Ethernet0"]
    assert read.row("PORT", "Ethernet0").fields == {"mtu": "1500"}
    assert read.row("VLAN", "Vlan10").text("vlanid") == "11"
    assert read.strange == [(3, "VLAN|Vlan10"), (4, "VLAN|Vlan10 vlanid"), (2, "PORT")]
