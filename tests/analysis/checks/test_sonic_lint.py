"""Every rule of SONiC fires on a leaf that is changed to break it, and on no rendered device."""

from __future__ import annotations

from functools import cache

import pytest
from tests.conftest import SMALL
from tests.retarget import retargeted

from railweave.model.config.sections import parse as parse_frr
from railweave.model.device.build import device_config
from railweave.model.findings.registry import rules_of
from railweave.systems.sonic import render as sonic
from railweave.systems.sonic.lint import lint
from railweave.systems.sonic.tables import parse


@cache
def files(name: str, device: str) -> dict[str, str]:
    return sonic.files(device_config(retargeted(name, "sonic"), device))


def ids(tables: str, routing: str) -> set[str]:
    return {finding.id for finding in lint("leaf", parse(tables), parse_frr(routing))}


@pytest.mark.parametrize("name", SMALL)
def test_rendered_devices_are_clean(name: str) -> None:
    network = retargeted(name, "sonic")
    for switch in network.switches:
        made = files(name, switch.name)
        assert lint(switch.name, parse(made["config_db.json"]), parse_frr(made["frr.conf"])) == []


def test_a_breakout_mode_as_a_platform_writes_it() -> None:
    """``platform.json`` names the other speeds of a mode in brackets."""
    made = files(SMALL[0], retargeted(SMALL[0], "sonic").switches[0].name)
    tables = made["config_db.json"].replace('x400G"', 'x400G[200G,100G]"')
    assert tables != made["config_db.json"]
    assert "sonic-breakout" not in {finding.id for finding in lint("leaf", parse(tables), parse_frr(made["frr.conf"]))}


WRONG = [
    ("sonic-lanes", '"lanes": "5,6,7,8"', '"lanes": "1,2,3,4"'),
    ("sonic-lanes", '"lanes": "5,6,7,8"', '"lanes": "5,6,7,x"'),
    ("sonic-breakout", '"brkout_mode": "2x400G"', '"brkout_mode": "4x200G"'),
    ("sonic-breakout", '"brkout_mode": "2x400G"', '"brkout_mode": "two"'),
    ("sonic-breakout", '"brkout_mode": "2x400G"', '"brkout_mode": "4x200G[100G,50G]"'),
    ("sonic-member", '"Vlan2|Ethernet128"', '"Vlan2|Ethernet0"'),
    ("sonic-member", '"Vlan2|Ethernet128"', '"Vlan2|Ethernet999"'),
    ("sonic-code-point", '"48": "6"', '"64": "6"'),
    ("sonic-code-point", '"48": "6"', '"48": "12"'),
    ("sonic-code-point", '"26": "3"', '"011010": "3"'),
    ("sonic-queue", '"Ethernet0|6": {\n            "scheduler"', '"Ethernet0|9": {\n            "scheduler"'),
    ("sonic-queue", '"Ethernet0|3": {\n            "profile": "pg_', '"Ethernet0|8": {\n            "profile": "pg_'),
    ("sonic-scheduler", '"type": "STRICT"', '"type": "STRIKT"'),
    ("sonic-scheduler", '"type": "STRICT"', '"type": "DWRR"'),
    ("sonic-scheduler", '"weight": "85"', '"weight": "95"'),
    ("sonic-marking", '"wred_green_enable": "true"', '"wred_green_enable": "false"'),
    ("sonic-marking", '"green_min_threshold": "', '"green_min_threshold": "9'),
    ("sonic-pfc", '"pfc_enable": "3"', '"pfc_enable": "3,4"'),
    ("sonic-pfc", '"pfcwd_sw_enable": "3"', '"pfcwd_sw_enable": "4"'),
    ("sonic-pfc", ',\n            "pfc_to_queue_map": "roce"', ""),
    ("sonic-watchdog", '"detection_time": "200"', '"detection_time": "50"'),
    ("sonic-pool", '"xoff": "1649', '"xoff": "91649'),
    ("sonic-threshold", '"dynamic_th": "0"', '"dynamic_th": "0",\n            "static_th": "1"'),
    ("sonic-headroom-twice", '"BUFFER_PG": {', '"CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m"}},\n    "BUFFER_PG": {'),
    ("sonic-reference", '"scheduler": "cnp"', '"scheduler": "cmp"'),
    ("sonic-reference", '"scheduler": "cnp"', '"scheduler": "[SCHEDULER|cnp]"'),
    ("sonic-reference", '"pool": "ingress_lossless_pool"', '"pool": "ingress_pool"'),
    ("sonic-routing-mode", '"split-unified"', '"unified"'),
    ("sonic-no-daemon", '"frr_mgmt_framework_config": "true"', '"frr_mgmt_framework_config": "false"'),
    ("sonic-no-container", '"snmp": {\n            "state": "enabled"', '"snmp": {\n            "state": "disabled"'),
    ("sonic-frr-interface", '"ipv6_use_link_local_only": "enable"', '"ipv6_use_link_local_only": "disable"'),
]


@pytest.mark.parametrize(("id_", "old", "new"), WRONG, ids=lambda word: word[:40])
def test_rules_fire(id_: str, old: str, new: str) -> None:
    made = files("h100-rlb", "stripe1-leaf1")
    assert old in made["config_db.json"]
    assert id_ in ids(made["config_db.json"].replace(old, new, 1), made["frr.conf"])


TENANTS = [
    ("sonic-vni", "config_db.json", '"vni": "20001"\n', '"vni": "20009"\n'),
    ("sonic-vrf", "frr.conf", "vrf Vrf-tenant-1\n vni 20001", "vrf Vrf-tenant-1\n vni 20002"),
    ("sonic-vrf", "frr.conf", "\nvrf Vrf-tenant-1\n", "\nvrf Vrf-other\n"),
    ("sonic-vrf", "frr.conf", " vrf Vrf-tenant-1\n", " vrf Vrf-other\n"),
    ("sonic-frr-interface", "frr.conf", "interface Ethernet0\n", "interface Ethernet3\n"),
]


@pytest.mark.parametrize(("id_", "file", "old", "new"), TENANTS)
def test_rules_of_tenants_and_routing_fire(id_: str, file: str, old: str, new: str) -> None:
    made = dict(files("evpn-server-isolation", "stripe1-leaf1"))
    assert old in made[file]
    made[file] = made[file].replace(old, new, 1)
    assert id_ in ids(made["config_db.json"], made["frr.conf"])


def test_every_rule_is_tried() -> None:
    assert {id_ for id_, *_ in (*WRONG, *TENANTS)} == set(rules_of("railweave.systems.sonic.lint"))
