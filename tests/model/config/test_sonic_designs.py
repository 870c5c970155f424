"""A change between two designs as a JSON patch of SONiC's tables, and what the patch tool refuses of it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from tests.drawn import examples_of_day
from tests.model.config.test_sonic_patch import patched
from tests.model.config.variants import changes, networks, trees

from railweave.model.config.compare import compare
from railweave.model.device.build import device_config
from railweave.systems.sonic.changes import refusal
from railweave.systems.sonic.render import files

REFERENCES = {
    ("PORT_QOS_MAP", "dscp_to_tc_map"): "DSCP_TO_TC_MAP",
    ("PORT_QOS_MAP", "tc_to_queue_map"): "TC_TO_QUEUE_MAP",
    ("PORT_QOS_MAP", "tc_to_pg_map"): "TC_TO_PRIORITY_GROUP_MAP",
    ("PORT_QOS_MAP", "pfc_to_queue_map"): "MAP_PFC_PRIORITY_TO_QUEUE",
    ("QUEUE", "scheduler"): "SCHEDULER",
    ("QUEUE", "wred_profile"): "WRED_PROFILE",
    ("BUFFER_PROFILE", "pool"): "BUFFER_POOL",
    ("BUFFER_PG", "profile"): "BUFFER_PROFILE",
    ("BUFFER_QUEUE", "profile"): "BUFFER_PROFILE",
    ("VLAN_INTERFACE", "vrf_name"): "VRF",
    ("INTERFACE", "vrf_name"): "VRF",
    ("VXLAN_TUNNEL_MAP", "vlan"): "VLAN",
    ("VXLAN_EVPN_NVO", "source_vtep"): "VXLAN_TUNNEL",
}
"""Fields that name a row of another table (leafrefs of sonic-yang-models)."""
KEYED = {"VLAN_MEMBER": "VLAN", "VLAN_INTERFACE": "VLAN", "INTERFACE": "PORT", "QUEUE": "PORT", "BUFFER_PG": "PORT"}
"""Tables whose keys begin with a row of another table."""


def dangling(tables: Any) -> list[str]:
    """What rows name and no row is."""
    found = [
        f"{table}|{key} {field}"
        for (table, field), other in REFERENCES.items()
        for key, row in tables.get(table, {}).items()
        if field in row and row[field] not in tables.get(other, {})
    ]
    return found + [
        f"{table}|{key}"
        for table, other in KEYED.items()
        for key in tables.get(table, {})
        if key.split("|")[0] not in tables.get(other, {})
    ]


@cache
def _tables(number: int, switch: str) -> Any:
    return json.loads(files(device_config(networks("sonic")[number], switch, "sonic"))["config_db.json"])


@pytest.mark.slow
@examples_of_day(300, 80)
@given(change=changes("sonic"))
def test_a_patch_gives_the_new_tables_and_leaves_no_name_behind(change: tuple[int, int, str]) -> None:
    *pair, switch = change
    found = compare(*(trees("sonic", number)[switch]["config_db.json"] for number in pair))
    result = patched(_tables(pair[0], switch), found.commands)
    assert result == _tables(pair[1], switch)
    assert all(result.values()), "SONiC refuses a patch that leaves an empty table"
    assert not dangling(result)


@pytest.mark.parametrize(
    ("release", "operation", "path", "fields", "taken"),
    [
        ("202411", "replace", "WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold", (), True),
        ("202411", "replace", "WRED_PROFILE/ecn-no-loss/green_min_threshold", (), False),
        ("202505", "replace", "WRED_PROFILE/ecn-no-loss/green_min_threshold", (), True),
        ("202505", "replace", "WRED_PROFILE/AZURE_LOSSLESS/ecn", (), False),
        ("202505", "add", "WRED_PROFILE/AZURE_LOSSLESS", ("ecn",), False),
        ("202511", "add", "WRED_PROFILE/AZURE_LOSSLESS", ("ecn",), True),
        ("202505", "replace", "BUFFER_PROFILE/pg_lossless_400000_50m_profile/xoff", (), True),
        ("202505", "replace", "BUFFER_PROFILE/egress_lossy_profile/dynamic_th", (), False),
        ("202511", "replace", "BUFFER_PROFILE/egress_lossy_profile/dynamic_th", (), True),
        ("202511", "remove", "BUFFER_PROFILE/egress_lossy_profile", (), True),
        ("202505", "replace", "BUFFER_POOL/ingress_lossless_pool/xoff", (), True),
        ("202511", "replace", "BUFFER_POOL/ingress_lossless_pool/xoff", (), False),
        ("202505", "add", "PFC_WD/Ethernet8", ("action", "detection_time", "restoration_time"), True),
        ("202505", "add", "PFC_WD", ("GLOBAL", "Ethernet8"), False),
        ("202505", "replace", "PFC_WD/GLOBAL/POLL_INTERVAL", (), True),
        ("202505", "remove", "PFC_WD/GLOBAL/POLL_INTERVAL", (), False),
        ("202505", "remove", "LOOPBACK_INTERFACE/Loopback0", (), False),
        ("202505", "replace", "VLAN/Vlan2/mtu", (), True),
    ],
)
def test_what_the_patch_tool_takes(
    release: str, operation: str, path: str, fields: tuple[str, ...], taken: bool
) -> None:
    assert (refusal(operation, tuple(path.split("/")), fields, release, "Nokia-IXR7220-H5-64D") == "") == taken


def test_of_an_unknown_hardware_sku_it_takes_none_of_these_tables() -> None:
    path = ("WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold")
    assert "Dell-Z9864f-O64" in refusal("replace", path, (), "202505", "Dell-Z9864f-O64")
    assert refusal("replace", path, (), "202511", "Dell-Z9864f-O64") == ""


def test_marking_and_thresholds_have_names_that_it_tunes() -> None:
    tables = [
        _tables(number, one.name) for number, found in enumerate(networks("sonic")[:12]) for one in found.switches
    ]
    marked = [one["WRED_PROFILE"] for one in tables if "WRED_PROFILE" in one]
    assert marked
    assert all("AZURE_LOSSLESS" in one for one in marked if "ecn-no-loss" in one or len(one) == 1)
    assert all(set(row) <= {"ecn", "wred_green_enable", *GREEN} for one in marked for row in one.values())


GREEN = ("green_min_threshold", "green_max_threshold", "green_drop_probability")
