"""Tunnels carry the DSCP of the packet in them, by statements that a public QFX5130 leaf has and other models do not need.

Juniper validated design 5stage_evpn_vxlan, storage-leaf1: ``vxlan-tos-copy-filter`` and a rewrite rule on its ports.
"""

from __future__ import annotations

from dataclasses import replace

from railweave.model.config.addresses import Address
from railweave.model.device.build import device_config
from railweave.systems.junos import render as junos
from tests.conftest import example

COS = "class-of-service"


def lines(name: str, device: str) -> set[str]:
    return set(junos.lines(device_config(example(name), device)))


def test_a_leaf_that_needs_it_has_both() -> None:
    network = example("evpn-functional")
    found = lines("evpn-functional", "leaf3")
    assert network.switch("leaf3").model == "qfx5130-32cd"
    rules = f"{COS} rewrite-rules dscp roce forwarding-class"
    assert {
        "forwarding-options vxlan-tos-copy-filter",
        f"{rules} NO-LOSS loss-priority low code-point 011010",
        f"{rules} CNP loss-priority low code-point 110000",
        f"{rules} best-effort loss-priority low code-point 000000",
    } <= found
    uplinks = {one.name for one in device_config(network, "leaf3").interfaces if one.kind == "fabric"}
    bound = {one.split()[2] for one in found if one.endswith("unit 0 rewrite-rules dscp roce")}
    assert bound == uplinks


def test_no_other_switch_has_it() -> None:
    found = lines("evpn-functional", "leaf1") | lines("evpn-functional", "spine1") | lines("h100-rlb", "stripe1-leaf1")
    assert not [one for one in found if "tos-copy" in one or "rewrite" in one]


def test_a_leaf_without_tunnels_needs_none() -> None:
    network = example("aidc-three-fabrics")
    (leaf, *_) = (one.name for one in network.switches if one.model == "qfx5220-32cd" and one.fabric == "storage")
    assert not [one for one in lines("aidc-three-fabrics", leaf) if "tos-copy" in one or "rewrite" in one]


def test_tunnels_over_ipv6_go_by_the_one_kind_of_rule_that_there_is() -> None:
    """QFX5130 has no DSCP IPv6 rewrite rules; those for DSCP are of IPv6 too (Juniper, Defining CoS Rewrite Rules)."""
    own = device_config(example("evpn-functional"), "leaf3")
    assert own.overlay
    six = replace(own, overlay=replace(own.overlay, loopback=Address("fc00::1")))
    rules = [one for one in junos.lines(six) if " rewrite-rules " in one]
    assert rules
    assert not [one for one in rules if "dscp-ipv6" in one]
