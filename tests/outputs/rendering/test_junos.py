"""Junos configuration of the h100-rlb example against values of its sources, and both printed forms of one tree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railweave.errors import RenderError
from railweave.model.device.build import device_config
from railweave.systems.junos import render as junos
from railweave.systems.junos.parse import parse
from railweave.systems.junos.read import read
from railweave.systems.junos.tree import to_curly, to_set
from tests.conftest import EXAMPLES, designed, example


def _set_lines(device: str, name: str = "h100-rlb") -> set[str]:
    return set(junos.files(device_config(example(name), device))["junos.set"].splitlines())


LEAF = _set_lines("stripe1-leaf1")
SPINE = _set_lines("spine1")


def test_irb_2_has_the_four_gateways_of_the_source() -> None:
    assert {line for line in LEAF if line.startswith("set interfaces irb unit 2 family inet6 address")} == {
        f"set interfaces irb unit 2 family inet6 address fc00:1:1:{color}::1/64" for color in (1, 2, 3, 4)
    }
    assert "set vlans vn2 vlan-id 2" in LEAF
    assert "set vlans vn2 l3-interface irb.2" in LEAF


@pytest.mark.parametrize(
    ("pool", "route"),
    [
        ("172.20.0.0/24", "static route 0.0.0.0/0 next-hop 172.20.0.1"),
        ("fd00:20::/64", "rib mgmt_junos.inet6.0 static route ::/0 next-hop fd00:20::1"),
    ],
)
def test_the_management_port_has_a_default_route_of_its_family(pool: str, route: str, tmp_path: Path) -> None:
    text = (EXAMPLES / "mi300x-leaf-24.yaml").read_text()
    network, _ = designed(tmp_path, text.replace("pool: 172.20.0.0/24", f'pool: "{pool}"'))
    config = device_config(network, "leaf1")
    lines = [one for one in junos.lines(config) if "mgmt_junos routing-options" in one]
    assert lines == [f"routing-instances mgmt_junos routing-options {route}"]
    assert read(junos.files(config)).config.management_gateway == config.management_gateway


@pytest.mark.parametrize("color", [1, 2, 3, 4])
def test_router_advertisement_parameters(color: int) -> None:
    """Table 3: flags onlink and auto, valid 2592000 s, preferred 604800 s; router lifetime 1800 s."""
    prefix = f"set protocols router-advertisement interface irb.2 prefix fc00:1:1:{color}::/64"
    for rest in ("valid-lifetime 2592000", "preferred-lifetime 604800", "on-link", "autonomous"):
        assert f"{prefix} {rest}" in LEAF
    assert "set protocols router-advertisement interface irb.2 default-lifetime 1800" in LEAF


def test_prefix_goes_out_by_color_with_the_others_as_backup() -> None:
    route = "set protocols bgp fabric-advertise route fc00:1:1:1::/64"
    assert {line for line in LEAF if line.startswith(route)} == {
        f"{route} color green",
        f"{route} backup-color blue",
        f"{route} backup-color red",
        f"{route} backup-color orange",
    }
    assert "set policy-options community green members color:0:1" in LEAF
    assert not any("fabric-advertise" in line for line in SPINE), "fabric-advertise is only needed on leaves"


@pytest.mark.parametrize(("color", "port"), [("green", 0), ("blue", 1), ("red", 2), ("orange", 3)])
def test_one_auto_discovered_group_per_color(color: str, port: int) -> None:
    group = f"set protocols bgp group spine-{color}"
    for rest in (
        "type external",
        f"fabric-color {color}",
        f"dynamic-neighbor spine-{color} peer-auto-discovery family inet6 ipv6-nd",
        f"dynamic-neighbor spine-{color} peer-auto-discovery interface et-0/0/{port}:0.0",
        "peer-as-list spine-as",
        "multipath multiple-as",
        "bfd-liveness-detection minimum-interval 1000",
        "bfd-liveness-detection multiplier 3",
    ):
        assert f"{group} {rest}" in LEAF


def test_local_list_and_community_stop_transit_and_spines_use_them() -> None:
    assert {line for line in LEAF if "prefix-list local" in line and "policy-statement" not in line} == {
        "set policy-options prefix-list local fc00::/16",
        "set policy-options prefix-list local fd00::/16",
    }
    assert "set policy-options policy-statement to-spines term no-transit then reject" in LEAF
    assert (
        "set policy-options policy-statement to-spines term no-transit from prefix-list-filter local orlonger" in LEAF
    )
    assert "set policy-options policy-statement to-leaves term forward then community add local" in SPINE
    assert "set policy-options policy-statement from-leaves term returned from community local" in SPINE
    assert "set policy-options policy-statement from-leaves term returned then reject" in SPINE


def test_buffer_ecn_and_dlb_defaults() -> None:
    """EVPN test report: 80/10/10, dynamic threshold 7, fill level 55; DLB 256, 256 us, 62500/s, 20/50, weightage 50."""
    cos, dlb = "set class-of-service", "set forwarding-options enhanced-hash-key ecmp-dlb"
    for line in (
        f"{cos} shared-buffer ingress buffer-partition lossless percent 80",
        f"{cos} shared-buffer ingress buffer-partition lossless dynamic-threshold 7",
        f"{cos} shared-buffer ingress buffer-partition lossless-headroom percent 10",
        f"{cos} shared-buffer ingress buffer-partition lossy percent 10",
        f"{cos} drop-profiles ecn-no-loss interpolate fill-level 55",
        f"{cos} drop-profiles ecn-no-loss interpolate fill-level 90",
        f"{cos} drop-profiles ecn-no-loss interpolate drop-probability 100",
        f"{cos} forwarding-classes class NO-LOSS queue-num 4 no-loss pfc-priority 3",
        f"{cos} forwarding-classes class CNP queue-num 3",
        f"{cos} classifiers dscp-ipv6 roce forwarding-class NO-LOSS loss-priority low code-points 011010",
        f"{cos} classifiers dscp-ipv6 roce forwarding-class CNP loss-priority low code-points 110000",
        f"{cos} schedulers no-loss explicit-congestion-notification",
        f"{cos} schedulers cnp priority strict-high",
        f"{dlb} flowlet inactivity-interval 256",
        f"{dlb} flowlet flowset-table-size 256",
        f"{dlb} sampling-rate 62500",
        f"{dlb} egress-quantization min 20",
        f"{dlb} egress-quantization max 50",
        f"{dlb} egress-quantization rate-weightage 50",
    ):
        assert line in LEAF
        assert line in SPINE


def test_dlb_acts_on_the_address_family_in_use() -> None:
    """A sample of the sources lists ipv4 only: with IPv6 RDMA, DLB would never act."""
    types = {line for line in LEAF if "ether-type" in line}
    assert types == {"set forwarding-options enhanced-hash-key ecmp-dlb ether-type ipv6"}


def test_cos_is_bound_port_by_port_and_not_to_unused_ports() -> None:
    bound = {line.split()[3] for line in LEAF if line.startswith("set class-of-service interfaces ")}
    assert bound == {"et-0/0/0:0", "et-0/0/1:0", "et-0/0/2:0", "et-0/0/3:0", "et-0/0/16:0", "et-0/0/16:1"}


def test_pfc_knows_cable_length_and_watchdog_per_port() -> None:
    profile = "set class-of-service congestion-notification-profile pfc-50m"
    assert f"{profile} input cable-length 50" in LEAF
    assert f"{profile} input dscp code-point 011010 mru 9216" in LEAF
    assert f"{profile} output ieee-802.1 code-point 011 flow-control-queue 4" in LEAF
    for rest in ("poll-interval 100", "detection 2", "recovery 200", "watchdog-action drop"):
        assert f"{profile} pfc-watchdog {rest}" in LEAF


def test_management_plane() -> None:
    for line in (
        "set system host-name stripe1-leaf1",
        "set system ntp server 172.20.0.3 routing-instance mgmt_junos",
        "set system syslog host 172.20.0.4 any notice",
        "set system services netconf ssh",
        "set protocols lldp port-id-subtype interface-name",
        "set interfaces re0:mgmt-0 unit 0 family inet address 172.20.0.10/24",
        "set system login user netops authentication encrypted-password <secret:netops-hash>",
    ):
        assert line in LEAF


@pytest.mark.parametrize("device", ["stripe1-leaf1", "spine1"])
@pytest.mark.parametrize("name", ["h100-rlb", "h100-rlb-8up"])
def test_curly_form_round_trips(name: str, device: str) -> None:
    text = junos.files(device_config(example(name), device))["junos.conf"]
    assert to_curly(parse(text)) == text


@pytest.mark.parametrize("device", ["stripe1-leaf1", "spine1"])
def test_set_form_round_trips_to_the_same_statements(device: str) -> None:
    text = junos.files(device_config(example("h100-rlb"), device))["junos.set"]
    assert sorted(to_set(parse(text)).splitlines()) == sorted(text.splitlines())


OWN = """
name: t
fabrics:
  backend:
    topology: {stripes: 1, spines: 2, leaves_per_stripe: 1, oversubscription: 8}
    leaf:
      device: qfx5240-64od
      extra:
        junos: |
          EXTRA
servers: [{names: n1, model: h100-8gpu-cx7}]
"""


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("set interfaces et-0/0/0:0 hold-time up 100", "set interfaces et-0/0/0:0 hold-time up 100"),
        ("interfaces { et-0/0/0:0 { mtu 9000; } }", "set interfaces et-0/0/0:0 mtu 9000"),
        ("set interfaces et-0/0/0:0 mtu 9000", "set interfaces et-0/0/0:0 mtu 9000"),
        (
            "set class-of-service interfaces et-0/0/0:0 congestion-notification-profile mine",
            "set class-of-service interfaces et-0/0/0:0 congestion-notification-profile mine",
        ),
        (
            "set class-of-service forwarding-classes class NO-LOSS queue-num 5 no-loss pfc-priority 3",
            "set class-of-service forwarding-classes class NO-LOSS queue-num 5 no-loss pfc-priority 3",
        ),
        ("set system name-server 192.0.2.1", "set system name-server 192.0.2.1"),
        ("policy-options { prefix-list mine { 10.0.0.0/8; } }", "set policy-options prefix-list mine 10.0.0.0/8"),
    ],
)
def test_own_statements_are_merged_and_listed(tmp_path: Path, extra: str, expected: str) -> None:
    network, _ = designed(tmp_path, OWN.replace("EXTRA", extra))
    config = device_config(network, "stripe1-leaf1")
    lines = junos.files(config)["junos.set"].splitlines()
    assert lines.count(expected) == 1
    assert "set interfaces et-0/0/0:0 mtu 9216" not in lines or "mtu" not in extra
    assert sum(line.startswith("set class-of-service forwarding-classes class NO-LOSS") for line in lines) == 1
    assert sum(line.startswith("set class-of-service interfaces et-0/0/0:0 congestion") for line in lines) == 1
    assert [finding.what for finding in junos.gaps(config) if finding.id == "extra-statement"] == [
        f"own statement: {expected[4:]}"
    ]


@pytest.mark.parametrize(
    "extra",
    [
        "set class-of-service drop-profiles ecn-no-loss interpolate fill-level [ 70 95 ]",
        "set class-of-service drop-profiles ecn-no-loss interpolate fill-level [70 95]",
        "class-of-service { drop-profiles { ecn-no-loss { interpolate { fill-level [ 70 95 ]; } } } }",
    ],
)
def test_own_points_of_a_curve_take_the_place_of_all(tmp_path: Path, extra: str) -> None:
    network, _ = designed(tmp_path, OWN.replace("EXTRA", extra))
    config = device_config(network, "stripe1-leaf1")
    curve = "set class-of-service drop-profiles ecn-no-loss interpolate"
    have = [line for line in junos.files(config)["junos.set"].splitlines() if line.startswith(curve)]
    levels = [f"{curve} fill-level 70", f"{curve} fill-level 95"]
    assert have == [*levels, f"{curve} drop-probability 0", f"{curve} drop-probability 100"]
    said = [finding.what for finding in junos.gaps(config) if finding.id == "extra-statement"]
    assert said == [f"own statement: {line[4:]}" for line in levels]


def test_other_own_lists_are_joined_in_both_forms(tmp_path: Path) -> None:
    members = ["set system name-server [ 192.0.2.1 192.0.2.2 ]", "system { name-server [ 192.0.2.1 192.0.2.2 ]; }"]
    found = [
        junos.files(device_config(designed(tmp_path, OWN.replace("EXTRA", one))[0], "stripe1-leaf1"))["junos.set"]
        for one in members
    ]
    assert all(f"set system name-server 192.0.2.{last}\n" in found[0] for last in (1, 2))
    with pytest.raises(RenderError, match="the list is empty"):
        junos.check_extra("set system name-server [ ]")


@pytest.mark.parametrize(
    ("extra", "warned"),
    [
        ("set protocols bgp group spine-color1 fabric-color color2", True),
        ("policy-options { policy-statement x { then accept; } }", True),
        ("set system location building hall1", False),
    ],
)
def test_own_statements_that_touch_routing_are_warned_of(tmp_path: Path, extra: str, warned: bool) -> None:
    network, _ = designed(tmp_path, OWN.replace("EXTRA", extra))
    found = junos.gaps(device_config(network, "stripe1-leaf1"))
    assert ("extra-routing" in {finding.id for finding in found}) == warned


def test_older_release_uses_local_preference() -> None:
    network = example("h100-rlb")
    [fabric] = network.fabrics
    older = replace(
        network, switches=tuple(replace(s, release="23.4X100-D31") for s in network.switches), fabrics=(fabric,)
    )
    lines = junos.files(device_config(older, "stripe1-leaf1"))["junos.set"].splitlines()
    assert not any("fabric-color" in line or "fabric-advertise" in line or "aigp" in line for line in lines)
    assert "set policy-options policy-statement from-green term preferred from community path-green" in lines
    assert "set policy-options policy-statement from-green term preferred then local-preference 200" in lines
    assert "set policy-options policy-statement to-spines term own-green then community add path-green" in lines


def test_spray_is_a_stated_gap() -> None:
    network = example("h100-rlb")
    [fabric] = network.fabrics
    spray = replace(fabric, load_balancing=fabric.load_balancing.model_copy(update={"mode": "spray"}))
    config = device_config(replace(network, fabrics=(spray,)), "stripe1-leaf1")
    assert [finding.severity for finding in junos.gaps(config) if finding.id == "junos-no-spray"] == ["warning"]
