"""Statements that a system writes by itself are no difference; others like them are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.retarget import retargeted

from railweave.analysis.drift.drift import AGAIN, Drift, drift
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.systems import system

EOS = """\
no service interface inactive port-id allocation disabled
!
transceiver qsfp default-mode 4x10G
!
interface Ethernet64/1
!
system l1
   unsupported speed action error
   unsupported error-correction action error
!
"""
"""What EOS prints where nothing is configured."""


def texts(network: Network) -> dict[str, str]:
    """The designed configuration of a leaf, by file."""
    config = device_config(network, "leaf1")
    written = system(config.nos).files(config)
    return {file: written[file] for file in system(config.nos).configurations(config)}


def after(network: Network, file: str, text: str) -> Drift:
    """What differs where a leaf's file has these lines behind the designed ones."""
    designed = texts(network)
    return drift(network, {"leaf1": {**designed, file: designed[file] + text}}, only=["leaf1"])


@pytest.mark.parametrize(
    ("nos", "file", "text"),
    [
        ("sonic", "frr.conf", "no fpm use-next-hop-groups\nfpm address 127.0.0.1\n"),
        ("sonic", "frr.conf", "no fpm use-next-hop-groups\n!\nfpm address 127.0.0.1\n!\n"),
        ("frr", "frr.conf", "service integrated-vtysh-config\n!\nline vty\n!\nend\n"),
        ("eos", "eos.conf", EOS),
        ("junos", "junos.conf", "version 23.4X100-D31.7-EVO;\n"),
    ],
)
def test_what_a_system_writes_by_itself(nos: str, file: str, text: str) -> None:
    assert after(retargeted("evpn-functional", nos), file, text).equal


@pytest.mark.parametrize(
    ("nos", "file", "text", "kept"),
    [
        ("sonic", "frr.conf", "fpm address 192.0.2.9\n", "fpm address 192.0.2.9"),
        ("sonic", "frr.conf", "no zebra nexthop kernel enable\n", "no zebra nexthop kernel enable"),
        ("eos", "eos.conf", "system l1\n   unsupported speed action warn\n", "system l1"),
        ("eos", "eos.conf", "interface Ethernet64/1\n   shutdown\n", "interface Ethernet64/1"),
    ],
)
def test_what_an_operator_wrote_is_told(nos: str, file: str, text: str, kept: str) -> None:
    found = after(retargeted("evpn-functional", nos), file, text)
    assert [statement for (_, statement) in found.own_statements] == [kept]


def test_tables_that_sonic_fills_by_itself() -> None:
    network = retargeted("evpn-functional", "sonic")
    tables: dict[str, Any] = json.loads(texts(network)["config_db.json"])
    tables["VERSIONS"] = {"DATABASE": {"VERSION": "version_202505_01"}}
    tables["LOGGER"] = {"orchagent": {"LOGLEVEL": "NOTICE", "LOGOUTPUT": "SYSLOG"}}
    tables["DEVICE_METADATA"]["localhost"]["mac"] = "02:00:5e:00:00:01"
    tables["FEATURE"]["bgp"]["auto_restart"] = "enabled"
    assert drift(network, {"leaf1": {**texts(network), "config_db.json": json.dumps(tables)}}, only=["leaf1"]).equal
    tables["DEVICE_METADATA"]["localhost"]["buffer_model"] = "dynamic"
    tables["KDUMP"] = {"config": {"enabled": "true"}}
    found = drift(network, {"leaf1": {**texts(network), "config_db.json": json.dumps(tables)}}, only=["leaf1"])
    assert [cause.found for cause, _ in found.devices[0].stands.causes] == [
        "DEVICE_METADATA / localhost / buffer_model dynamic",
        "KDUMP",
    ]


def test_names_of_a_platform_are_no_difference() -> None:
    """Each platform calls its ports and breakout modes differently: an SN5600 has etp1a and 2x400G with the other speeds in brackets."""
    network = retargeted("evpn-functional", "sonic")
    tables: dict[str, Any] = json.loads(texts(network)["config_db.json"])
    for name, row in tables["PORT"].items():
        row["alias"] = f"etp{row['index']}{name[-1]}"
    for row in tables["BREAKOUT_CFG"].values():
        row["brkout_mode"] += "[200G,100G,50G]"
    changed = {**texts(network), "config_db.json": json.dumps(tables)}
    assert drift(network, {"leaf1": changed}, only=["leaf1"]).equal
    tables["BREAKOUT_CFG"]["Ethernet0"]["brkout_mode"] = "8x100G[50G]"
    changed = {**texts(network), "config_db.json": json.dumps(tables)}
    found = drift(network, {"leaf1": changed}, only=["leaf1"])
    assert [cause.found for cause, _ in found.devices[0].stands.causes] == [
        "BREAKOUT_CFG / Ethernet0 / brkout_mode 8x100G[50G]"
    ]


@pytest.mark.parametrize("text", ["admin@leaf1:~$ show runningconfiguration all\n", '{"PORT": {', ""])
def test_a_damaged_document_is_not_compared(text: str) -> None:
    """It is no text of FRR, and loading the design is no remedy."""
    network = retargeted("evpn-functional", "sonic")
    saved = {"leaf1/configuration.json": text, "leaf1/configuration-frr.txt": texts(network)["frr.conf"]}
    found = drift(network, {"leaf1": saved}, only=["leaf1"])
    assert (found.wrong, found.unreadable, found.proven) == (1, 1, False)
    lines = found.lines()
    assert lines[0] == "leaf1: not compared"
    assert [line for line in lines if line.startswith("->")] == [f"-> {AGAIN}"]
