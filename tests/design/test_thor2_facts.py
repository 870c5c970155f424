"""What the Thor2 guide (957608-AN210) says of the leaf in its two address schemes, as values.

Errata applied: netplan's 192.168.1 to 192.168.8 and 1.1.101/1.1.102 hold, the Junos samples' other numbers do not; the
second et-0/0/3:0 and et-0/0/3:1 are et-0/0/4:0 and et-0/0/4:1.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.model.network.model import Network
from railweave.systems.junos import render as junos
from tests.conftest import EXAMPLES, designed, example

PORTS = [f"et-0/0/{port}:{channel}" for port in range(1, 5) for channel in range(2)]
"""Section 2.4.1.4 and 2.4.2.4: the eight NICs of one server, on channels of four ports."""


def lines(name: str) -> set[str]:
    return set(junos.files(device_config(example(name), "leaf1"))["junos.set"].splitlines())


@pytest.mark.parametrize("name", ["mi300x-leaf-24", "mi300x-leaf-31"])
def test_ports_are_two_of_400g(name: str) -> None:
    have = lines(name)
    for port in range(1, 5):
        assert f"set interfaces et-0/0/{port} number-of-sub-ports 2" in have
        assert f"set interfaces et-0/0/{port} speed 400g" in have
    assert {f"set interfaces {port} mtu 9216" for port in PORTS} <= have


def test_a_24_per_rail_is_a_vlan_on_a_trunk() -> None:
    have = lines("mi300x-leaf-24")
    for vlan, port in enumerate(PORTS, 2):
        family = f"set interfaces {port} unit 0 family ethernet-switching"
        assert f"set interfaces {port} native-vlan-id {vlan}" in have
        assert f"{family} interface-mode trunk" in have
        assert f"{family} vlan members vn{vlan}" in have
        assert f"set interfaces irb unit {vlan} family inet mtu 9000" in have
        assert f"set interfaces irb unit {vlan} family inet address 192.168.{vlan - 1}.254/24" in have
        assert f"set vlans vn{vlan} vlan-id {vlan}" in have
        assert f"set vlans vn{vlan} l3-interface irb.{vlan}" in have
    assert "set interfaces irb mtu 9216" in have


def test_a_31_per_link_is_a_routed_port() -> None:
    have = lines("mi300x-leaf-31")
    for host in (1, 2):
        for rail in range(1, 9):
            port = 1 + (host - 1) * 4 + (rail - 1) // 2
            family = f"set interfaces et-0/0/{port}:{(rail - 1) % 2} unit 0 family inet"
            assert f"{family} mtu 9170" in have
            assert f"{family} address 1.1.{100 + host}.{rail}4/31" in have
    assert not [line for line in have if "irb" in line or line.startswith("set vlans")]


@pytest.mark.parametrize("name", ["mi300x-leaf-24", "mi300x-leaf-31"])
def test_quality_of_service_is_that_of_section_2_5_3(name: str) -> None:
    cos = "set class-of-service"
    dlb = "set forwarding-options enhanced-hash-key ecmp-dlb"
    assert {
        f"{cos} classifiers dscp roce forwarding-class CNP loss-priority low code-points 110000",
        f"{cos} classifiers dscp roce forwarding-class NO-LOSS loss-priority low code-points 011010",
        *(f"{cos} drop-profiles ecn-no-loss interpolate fill-level {level}" for level in (55, 90)),
        *(f"{cos} drop-profiles ecn-no-loss interpolate drop-probability {chance}" for chance in (0, 100)),
        f"{cos} shared-buffer ingress buffer-partition lossless percent 80",
        f"{cos} shared-buffer ingress buffer-partition lossless-headroom percent 10",
        f"{cos} shared-buffer ingress buffer-partition lossy percent 10",
        f"{cos} shared-buffer egress buffer-partition lossless percent 80",
        f"{cos} shared-buffer egress buffer-partition lossy percent 10",
        f"{cos} forwarding-classes class CNP queue-num 3",
        f"{cos} forwarding-classes class NO-LOSS queue-num 4 no-loss pfc-priority 3",
        f"{cos} schedulers cnp transmit-rate percent 5",
        f"{cos} schedulers cnp priority strict-high",
        f"{cos} schedulers no-loss explicit-congestion-notification",
        f"{dlb} flowlet inactivity-interval 256",
        f"{dlb} flowlet flowset-table-size 2048",
        f"{dlb} flowlet reassignment prob-threshold 3",
        f"{dlb} flowlet reassignment quality-delta 6",
        f"{dlb} ether-type ipv4",
        f"{dlb} sampling-rate 1000000",
        "set forwarding-options hash-key family inet layer-3",
        "set forwarding-options hash-key family inet layer-4",
    } <= lines(name)


@pytest.mark.parametrize("name", ["mi300x-leaf-24", "mi300x-leaf-31"])
def test_roce_and_the_rest_have_half_of_the_port_at_both_ends(name: str) -> None:
    """Section 2.5: 50 % each, and the settings of NIC and switch match."""
    assert host_config(example(name), "host1").qos[0].bandwidth_percent == 50
    shares = {line for line in lines(name) if "transmit-rate" in line}
    parts = {"best-effort": 40, "cnp": 5, "no-loss": 50, "network-control": 5}
    assert shares == {f"set class-of-service schedulers {k} transmit-rate percent {v}" for k, v in parts.items()}


def test_the_cage_of_a_card_with_one_port() -> None:
    """Table 1: BCM957608-P1400GD and -N1400GD, 1x 400G, are QSFP112-DD; what they take fits the leaf's lanes."""
    assert catalog().nics["thor2"].cage == "QSFP112-DD"
    optics = {cable.a.optic for cable in example("mi300x-leaf-31").cables}
    assert all("QSFP112-DD" in catalog().optics[one].cages for one in optics)


def test_the_guides_buffers_have_no_partition_of_multicast(tmp_path: Path) -> None:
    """Section 2.5.3: the egress partitions are lossless and lossy."""
    text = (EXAMPLES / "mi300x-leaf-31.yaml").read_text()
    network, _ = designed(tmp_path, text.replace("qos: {classes", "qos: {profile: thor2-qfx5240, classes"))
    have = junos.files(device_config(network, "leaf1"))["junos.set"]
    assert "egress buffer-partition lossy percent 10" in have
    assert "buffer-partition multicast" not in have


def test_addresses_of_the_servers() -> None:
    wide, narrow = (example(name) for name in ("mi300x-leaf-24", "mi300x-leaf-31"))
    for host in (1, 2):
        assert addresses(wide, f"host{host}") == [f"192.168.{rail}.{host}/24" for rail in range(1, 9)]
        assert addresses(narrow, f"host{host}") == [f"1.1.{100 + host}.{rail}5/31" for rail in range(1, 9)]


def addresses(network: Network, server: str) -> list[str]:
    return [f"{one.address}/{one.prefix_length}" for nic in network.server(server).nics for one in nic.addresses]
