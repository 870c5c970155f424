"""PTX routers on Junos OS Evolved: what they lack is left out, and said."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.model.device.fields import differences
from railweave.model.network.model import Network
from railweave.systems.junos import read as read_junos
from railweave.systems.junos import render as junos
from railweave.systems.junos.lint import lint
from railweave.systems.junos.parse import parse
from tests.conftest import designed

TEXT = """
name: cluster1
fabrics:
  backend:
    topology: {stripes: 1, leaves_per_stripe: 8, spines: 2, links_per_spine: 8, oversubscription: 4}
    leaf: {device: qfx5220-32cd, release: 23.4X100-D20, server_ports: {first: 16}}
    spine: {device: ptx10008-lc1201, release: 23.4R2}
    qos: {buffers: {dedicated_ingress: 15}, pfc: {xon_offset: 20000}}
    load_balancing: {mode: dlb-flowlet}
servers:
  - {names: "A100-[1-8]", model: h100-8gpu-cx7}
"""
QFX_ONLY = ("shared-buffer", "dedicated-buffer", "ecmp-dlb", "buffer-monitor-enable", "pfc-watchdog", "xon ")


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return designed(tmp_path_factory.mktemp("ptx"), TEXT)[0]


def test_qfx_only_statements_stand_on_the_leaf_and_not_on_the_router(network: Network) -> None:
    leaf, spine = (junos.files(device_config(network, name))["junos.set"] for name in ("stripe1-leaf1", "spine1"))
    assert [word for word in QFX_ONLY if word in spine] == []
    assert [word for word in QFX_ONLY if word not in leaf] == []


def test_ecn_begins_at_the_fill_level_of_the_platform(network: Network) -> None:
    """Apstra report, Test Approach: ECN fill level 55 % on QFX, 49 % on PTX."""
    lines = {
        name: junos.files(device_config(network, name))["junos.set"].splitlines()
        for name in ("stripe1-leaf1", "spine1")
    }
    profile = "set class-of-service drop-profiles ecn-no-loss interpolate fill-level"
    assert f"{profile} 55" in lines["stripe1-leaf1"]
    assert f"{profile} 49" in lines["spine1"]
    assert f"{profile} 55" not in lines["spine1"]


def test_a_fill_level_of_the_fabric_file_stays(tmp_path: Path) -> None:
    text = TEXT.replace("qos: {", "qos: {classes: {no-loss: {ecn: {min_fill: 60}}}, ")
    config = device_config(designed(tmp_path, text)[0], "spine1")
    assert config.qos is not None
    assert config.qos.classes["no-loss"].ecn is not None
    assert config.qos.classes["no-loss"].ecn.min_fill == 60


def test_what_is_left_out_is_said(network: Network) -> None:
    gaps = {gap.id: gap for gap in junos.gaps(device_config(network, "spine1"))}
    for what in (
        "PFC headroom by cable length",
        "shared-buffer partitions",
        "PFC watchdog",
        "dlb-flowlet",
        "peak buffer occupancy",
    ):
        assert what in gaps["platform-lacks"].what
    assert "platform-lacks" not in {gap.id for gap in junos.gaps(device_config(network, "stripe1-leaf1"))}


def test_ports_count_through_line_cards(network: Network) -> None:
    """64 links of 400G fill the 36 ports of the first card and 28 of the second."""
    names = [one.name for one in device_config(network, "spine1").interfaces]
    assert len(names) == 64
    assert names[0] == "et-0/0/0"
    assert names[35:37] == ["et-0/0/35", "et-1/0/0"]
    assert names[-1] == "et-1/0/27"


def test_line_cards_as_the_sources_have_them() -> None:
    """Long-haul article: 28.8T LC1301 line cards with 36 x 800GE; Juniper: LC1201 has 36 ports, 14.4 Tb/s."""
    for name, tbps, speed in (("ptx10008-lc1301", 28.8, 800), ("ptx10008-lc1201", 14.4, 400)):
        model = catalog().switches[name]
        assert model.cards == 36
        assert model.ports[0].speed_gbps == speed
        assert model.cards * speed / 1000 == tbps


def test_a_whole_port_below_its_speed_says_its_speed(tmp_path: Path) -> None:
    text = """
name: one
fabrics:
  backend:
    topology: {stripes: 1, leaves_per_stripe: 1}
    leaf: {device: ptx10008-lc1301, release: 24.4R1, server_ports: {first: 4}}
    addressing: {server_link: routed, server_mode: static, server_pool: 10.0.0.0/16, prefix_length: 31, gateway_host: 0}
    load_balancing: {mode: ecmp}
servers: [{names: [a], model: h100-8gpu-cx7}]
"""
    lines = junos.files(device_config(designed(tmp_path, text)[0], "stripe1-leaf1"))["junos.set"].splitlines()
    assert "set interfaces et-0/0/4 speed 400g" in lines
    assert not any("number-of-sub-ports" in line for line in lines)


def test_pfc_goes_by_accounts_on_ptx(network: Network) -> None:
    """Juniper CLI reference, pfc-account: cable-length, mru, no-loss and output flow control are documented for QFX only."""
    own = device_config(network, "spine1")
    lines = [one for one in junos.lines(own) if one.startswith("class-of-service")]
    profile = "class-of-service congestion-notification-profile pfc-50m input"
    assert f"{profile} pfc-account pfc-3 pfc-priority 3" in lines
    assert f"{profile} dscp code-point 011010 pfc" in lines
    assert f"{profile} dscp code-point 011010 pfc-account-name pfc-3" in lines
    assert "class-of-service forwarding-classes class NO-LOSS queue-num 4 pfc-priority 3" in lines
    qfx_only = ("cable-length", " mru ", "queue-num 4 no-loss", " output ")
    assert [one for one in lines if any(word in one for word in qfx_only)] == []
    leaf = junos.lines(device_config(network, "stripe1-leaf1"))
    assert [one for one in leaf if "pfc-account" in one] == []
    found = read_junos.read(junos.files(own))
    assert found.not_understood == ()
    unsaid = catalog().systems["junos"].reads.unsaid
    lost = [one.field for one in differences(found.config, own, without=unsaid)]
    assert lost == ["qos.buffers.dedicated_ingress"]  # the file's, which the platform lacks


def test_an_account_that_is_named_is_defined(network: Network) -> None:
    text = junos.files(device_config(network, "spine1"))["junos.conf"]
    assert "junos-pfc-account" not in {one.id for one in lint("spine1", parse(text))}
    broken = text.replace("pfc-account-name pfc-3", "pfc-account-name pfc-4")
    assert "junos-pfc-account" in {one.id for one in lint("spine1", parse(broken))}


def test_switches_without_ipv6_classifiers_have_that_of_ipv4(network: Network, tmp_path: Path) -> None:
    """Juniper, Defining CoS BA Classifiers: QFX5130, QFX5700 and QFX5220 have no DSCP IPv6 classifiers and rewrite rules."""
    leaf = junos.lines(device_config(network, "stripe1-leaf1"))
    assert [one for one in leaf if "dscp-ipv6" in one] == []
    assert [one for one in leaf if one.endswith("classifiers dscp roce")]
    spine = device_config(network, "spine1")
    assert [one for one in junos.lines(spine) if one.endswith("classifiers dscp-ipv6 roce")]
    assert "junos-ipv6-classifier" in {one.id for one in junos.gaps(spine)}
    later = device_config(designed(tmp_path, TEXT.replace("release: 23.4R2}", "release: 24.4R1}"))[0], "spine1")
    assert "junos-ipv6-classifier" not in {one.id for one in junos.gaps(later)}
