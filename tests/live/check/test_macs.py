"""Bridges without a MAC address on Linux: all sessions are up, and no tunnel or gateway carries anything. The check after a wave sees it too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from railweave.live.check import diagnose
from railweave.live.check.living import EVERYTHING
from railweave.live.site.site import Site
from railweave.model.state.capture import read_capture
from railweave.model.state.device_state import DeviceState
from railweave.model.state.ports import NO_MAC, InterfaceState
from railweave.operations.deploy.gate import Check
from railweave.systems.reading import read_state
from tests.live.check.captures import whole, write_answers, write_capture
from tests.live.check.matrix import clean, wanted

LEAF, MAC, OTHER = "stripe1-leaf1", "82:94:96:c6:e4:b4", "82:94:96:c6:e4:b5"
EXAMPLE = "evpn-gpu-isolation"


def with_bridge(state: DeviceState, mac: str, announced: str) -> DeviceState:
    """The state of a leaf whose first VNI has a bridge with a MAC address, and announces one."""
    assert state.vnis
    assert state.interfaces is not None
    number, vni = next(iter(state.vnis.items()))
    bridge = InterfaceState(f"br{number}", admin_up=True, oper_up=True, mac=mac, mtu=9000)
    vni = replace(vni, router_mac=announced, bridge=bridge.name)
    return replace(state, interfaces={**state.interfaces, bridge.name: bridge}, vnis={**state.vnis, number: vni})


def found(state: DeviceState) -> list[tuple[str, str]]:
    living = clean(EXAMPLE, "frr")
    findings = diagnose(replace(living, states={**living.states, LEAF: state}))
    return [(finding.id, finding.where) for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(
    ("mac", "announced", "wrong"),
    [(MAC, MAC, False), (NO_MAC, MAC, True), (NO_MAC, NO_MAC, True), (MAC, NO_MAC, True), (OTHER, MAC, True)],
)
def test_the_bridge_of_a_vni_must_have_the_mac_address_that_evpn_announces(
    mac: str, announced: str, *, wrong: bool
) -> None:
    state = with_bridge(clean(EXAMPLE, "frr").states[LEAF], mac, announced)
    assert found(state) == ([("tenant-mac-differs", LEAF)] if wrong else [])


def test_a_gateway_that_is_up_must_have_a_mac_address() -> None:
    state = clean(EXAMPLE, "frr").states[LEAF]
    name = clean(EXAMPLE, "frr").expected[LEAF].gateways[0].name
    assert state.interfaces is not None
    gateway = state.interfaces[name]
    for mac, wrong in ((MAC, False), (NO_MAC, True)):
        interfaces = {**state.interfaces, name: replace(gateway, mac=mac)}
        assert found(replace(state, interfaces=interfaces)) == (
            [("gateway-mac-absent", f"{LEAF} {name}")] if wrong else []
        )


def test_zebra_leaves_an_address_of_zeros_out() -> None:
    """As seen on FRR 10.3, of a bridge that lost its last port; ``routerMac`` keeps the former address."""
    shown: Mapping[str, Any] = {
        "br20001": {"administrativeStatus": "up", "operationalStatus": "up", "interfaceType": "Bridge", "mtu": 9000},
        "br20002": {"administrativeStatus": "up", "interfaceType": "Bridge", "hardwareAddress": MAC, "mtu": 9000},
        "lo": {"administrativeStatus": "up", "interfaceType": "Loopback", "mtu": 65536},
    }
    vnis = [{"vni": 20001, "type": "L3", "tenantVrf": "a", "state": "Up", "routerMac": MAC, "sviIntf": "br20001"}]
    state = read_state(LEAF, "frr", {"interfaces": json.dumps(shown), "links": "[]", "vnis": json.dumps(vnis)})
    assert state.interfaces is not None
    assert {name: each.mac for name, each in state.interfaces.items()} == {
        "br20001": NO_MAC,
        "br20002": MAC,
        "lo": None,
    }
    assert state.vnis is not None
    assert (state.vnis[20001].router_mac, state.vnis[20001].bridge) == (MAC, "br20001")


@pytest.mark.parametrize(("mac", "wrong"), [(MAC, 0), (NO_MAC, 1)])
def test_the_check_after_a_wave_sees_a_bridge_without_a_mac_address(tmp_path: Path, mac: str, wrong: int) -> None:
    subject, _, states = wanted(EXAMPLE, "frr")
    write_capture(tmp_path, subject.network)
    write_answers(tmp_path / LEAF, whole("frr", with_bridge(states[LEAF], mac, MAC)))
    site = cast("Site", SimpleNamespace(network=subject.network, visible=EVERYTHING, configs=subject.configs))
    findings = Check(site, 0)._wrong(read_capture(tmp_path), subject.configs, [LEAF])
    assert sum(finding.id == "tenant-mac-differs" for finding in findings) == wrong
