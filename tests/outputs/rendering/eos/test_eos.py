"""EOS: what follows from a ``DeviceConfig``, and how the text is printed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.errors import RenderError
from railweave.model.catalog import catalog
from railweave.model.config.sections import flat, parse
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.device.qos import on_queues
from railweave.model.device.qos_model import TrafficClass
from railweave.model.device.reading import own_type
from railweave.model.intent.qos import Qos
from railweave.outputs.runbook.network import first_switch, runbook
from railweave.systems.eos import read as read_eos
from railweave.systems.eos import render as eos
from tests.conftest import SMALL
from tests.outputs.rendering.eos.networks import config, network, one_of_each_role

LEAF: tuple[str, str] = ("h100-rlb", "stripe1-leaf1")


def gap_ids(changed: DeviceConfig) -> set[str]:
    return {one.id for one in eos.gaps(changed)}


@pytest.mark.parametrize("name", SMALL)
def test_what_is_printed_is_the_tree(name: str) -> None:
    for device in one_of_each_role(name):
        own = config(name, device)
        assert flat(parse(eos.files(own)["eos.conf"])) == eos.lines(own)


def test_uplinks_are_unnumbered_and_accept_a_list_of_as_numbers() -> None:
    have = eos.lines(config(*LEAF))
    bgp = "router bgp 4200001001"
    assert f"{bgp} / neighbor interface Ethernet1/1 peer-group spine-green peer-filter spine-as" in have
    assert "interface Ethernet1/1 / ipv6 enable" in have
    assert "interface Ethernet1/1 / mtu 9202" in have
    assert any(one.startswith("peer-filter spine-as / 10 match as-range 4200000001-") for one in have)
    assert f"{bgp} / address-family ipv6 / neighbor spine-green activate" in have


def test_path_colors_are_tags_and_local_preference() -> None:
    have = eos.lines(config(*LEAF))
    assert "route-map from-green permit 10 / match large-community path-green" in have
    assert "route-map from-green permit 10 / set local-preference 200" in have
    assert "route-map to-spines permit 10 / set large-community 4200000001:1:1 additive" in have
    assert "router bgp 4200001001 / redistribute connected route-map connected" in have


def test_servers_form_addresses() -> None:
    have = eos.lines(config(*LEAF))
    assert "interface Vlan2 / ipv6 nd prefix fc00:1:1:1::/64 2592000 604800" in have
    assert "interface Vlan2 / ipv6 nd ra interval 600 200" in have
    assert "interface Vlan2 / ipv6 nd ra lifetime 1800" in have
    assert "interface Ethernet17/5 / switchport access vlan 2" in have


def test_spines_of_an_overlay_leave_the_next_hop() -> None:
    spine = eos.lines(config("evpn-gpu-isolation", "spine1"))
    leaf = eos.lines(config("evpn-gpu-isolation", "stripe1-leaf1"))
    assert [one for one in spine if one.endswith("neighbor overlay next-hop-unchanged")]
    assert not [one for one in leaf if "next-hop-unchanged" in one]
    assert [one for one in leaf if " / vxlan vrf " in one]
    assert [one for one in leaf if " / route-target import evpn " in one]
    assert [one for one in leaf if one.endswith("address-family evpn / neighbor overlay activate")]


def test_every_link_of_an_isis_fabric_runs_it() -> None:
    own = config("dci-50km", "ptx-east")
    have = eos.lines(own)
    assert own.isis
    for one in own.fabric_interfaces():
        under = [text.partition(" / ")[2] for text in have if text.startswith(f"interface {one.name} / ")]
        assert {"isis enable underlay", "isis network point-to-point", "isis metric 10", "isis bfd"} <= set(under)
        assert "isis passive" not in under
    for port in (*own.isis.passive, "Loopback0"):
        assert f"interface {port} / isis passive" in have
    assert "router isis underlay / net 49.0001.0102.5500.0001.00" in have
    assert "router isis underlay / is-type level-2" in have
    assert "router isis underlay / address-family ipv4 unicast / maximum-paths 4" in have
    assert not [one for one in have if "isis authentication" in one]
    keyed = eos.lines(replace(own, isis=replace(own.isis, key="secret:isis")))
    assert "router isis underlay / authentication key 0 <secret:isis>" in keyed
    assert sum(one.endswith(" / isis authentication key 0 <secret:isis>") for one in keyed) == 4


def test_long_links_are_encrypted_and_not_paused() -> None:
    have = eos.lines(config("dci-50km", "ptx-east"))
    assert "mac security / profile interconnect / cipher aes256-gcm-xpn" in have
    assert "mac security / profile interconnect / key 50 0 <secret:macsec-cak>" in have
    assert "interface Ethernet1/1 / mac security profile interconnect" in have
    assert "interface Ethernet9/1 / mac security profile interconnect" not in have
    assert "interface Ethernet1/1 / service-profile ROCE-UNPAUSED" in have
    assert "interface Ethernet9/1 / service-profile ROCE" in have
    assert not [one for one in have if one.startswith("qos profile ROCE-UNPAUSED / priority-flow-control")]
    assert "interface Ethernet9/1 / ip proxy-arp" in have
    assert {"eos-macsec-port", "eos-no-spray"} <= gap_ids(config("dci-50km", "ptx-east"))
    (spray,) = [one for one in eos.gaps(config("dci-50km", "ptx-east")) if one.id == "eos-no-spray"]
    assert "RDMA opcodes 10" in spray.what


def test_a_layer_2_network_is_stretched_and_its_gateway_shared() -> None:
    leaves = [config("aidc-three-fabrics", f"frontend-{one}-leaf1") for one in ("ai", "weka")]
    for one, address in zip(leaves, ("10.255.0.1", "10.255.0.2"), strict=True):
        have = eos.lines(one)
        bgp = next(line.partition(" / ")[0] for line in have if line.startswith("router bgp "))
        assert "interface Vxlan1 / vxlan vlan 3 vni 10001" in have
        assert f"{bgp} / vlan 3 / rd {address}:60003" in have
        assert f"{bgp} / vlan 3 / route-target both 64512:10001" in have
        assert f"{bgp} / vlan 3 / redistribute learned" in have
        assert "interface Vlan3 / vrf jobs" in have
        assert "interface Vlan3 / ip address virtual 10.10.3.1/24" in have
        assert "ip virtual-router mac-address 00:1c:73:00:00:01" in have
        assert "eos-vlan-based" in gap_ids(one)


def test_external_routers_are_in_their_vrf() -> None:
    have = eos.lines(config("aidc-three-fabrics", "frontend-weka-leaf1"))
    assert [one for one in have if one.startswith("interface Ethernet31/1.299 / ")] == [
        "interface Ethernet31/1.299 / description wan, tenant jobs",
        "interface Ethernet31/1.299 / encapsulation dot1q vlan 299",
        "interface Ethernet31/1.299 / vrf jobs",
        "interface Ethernet31/1.299 / ip address 10.200.0.2/31",
    ]
    assert "interface Ethernet31/1 / speed 100g-4" in have
    assert not [one for one in have if one.startswith("interface Ethernet31/1 / ip address")]
    assert "interface Ethernet32/1 / vrf weka" in have
    assert "interface Ethernet32/1 / ip address 10.200.0.4/31" in have
    vrf = "router bgp 4200001002 / vrf jobs"
    assert f"{vrf} / neighbor 10.200.0.3 remote-as 65000" in have
    assert f"{vrf} / neighbor 10.200.0.3 route-map from-jobs-wan in" in have
    assert f"{vrf} / neighbor 10.200.0.3 route-map to-jobs-wan out" in have
    assert f"{vrf} / address-family ipv4 / neighbor 10.200.0.3 activate" in have
    assert "route-map from-jobs-wan permit 10 / match ip address prefix-list from-jobs-wan" in have
    assert "ip prefix-list from-jobs-wan / seq 5 permit 0.0.0.0/0" in have
    assert "ip prefix-list to-jobs-wan / seq 5 permit 10.10.3.0/24 le 32" in have


CLASSES = {name: own_type(TrafficClass, one) for name, one in Qos().classes.items()}


def test_queues_are_those_of_priorities() -> None:
    system = catalog().systems["eos"]
    found = {name: one.queue for name, one in on_queues(CLASSES, system).items()}
    assert found == {"best-effort": 0, "no-loss": 3, "network-control": 6, "cnp": 7}


def test_a_queue_that_is_free_is_kept() -> None:
    given = CLASSES | {"cnp": TrafficClass(queue=5, dscp=(48,), priority="low")}
    found = {name: one.queue for name, one in on_queues(given, catalog().systems["eos"]).items()}
    assert found == {"best-effort": 0, "no-loss": 3, "cnp": 5, "network-control": 7}
    assert on_queues(given, catalog().systems["junos"]) == given


def test_strict_classes_rise_above_those_that_share() -> None:
    """Queues below one that shares share too on EOS; SONiC has no such rule."""
    given = CLASSES | {"cnp": TrafficClass(queue=5, dscp=(48,), priority="strict-high")}
    found = {name: one.queue for name, one in on_queues(given, catalog().systems["eos"]).items()}
    assert found == {"best-effort": 0, "no-loss": 3, "network-control": 6, "cnp": 7}
    assert on_queues(given, catalog().systems["sonic"])["cnp"].queue == 5


def test_every_knob_that_is_lost_is_said() -> None:
    own = config(*LEAF)
    plain = gap_ids(own)
    wanted = own.balancing
    per_packet = replace(own, balancing=replace(own.balancing, group_mode="dlb-per-packet"))
    assert gap_ids(per_packet) - plain == {"eos-no-dlb-per-packet"}
    seeded = replace(wanted.hash, seed=7)
    assert gap_ids(replace(own, balancing=replace(own.balancing, hash=seeded))) - plain == {"eos-no-hash"}
    knobs = replace(wanted.dlb, inactivity_interval=16)
    assert gap_ids(replace(own, balancing=replace(own.balancing, dlb=knobs))) - plain == {"eos-no-dlb-knobs"}
    assert own.qos
    xon = replace(own, qos=replace(own.qos, xon_offset_cells=9))
    assert gap_ids(xon) - plain == {"eos-no-xon-offset"}
    assert gap_ids(replace(own, left_out=("PFC watchdog",))) - plain == {"platform-lacks"}
    shared = tuple(replace(own.gateways[0], mac=f"00:00:00:00:00:0{place}") for place in (1, 2))
    assert gap_ids(replace(own, gateways=shared)) - plain == {"eos-no-gateway-mac"}


@pytest.mark.parametrize(("size", "number"), [(256, 1), (512, 2), (2048, 4), (16384, 7)])
def test_the_flowset_table_has_a_size(size: int, number: int) -> None:
    """AVD 6.4, ``flow_set_size``: 1 is 256 entries a group, each further number doubles them."""
    own = config(*LEAF)
    sized = replace(own.balancing, group_mode="dlb-flowlet", dlb=replace(own.balancing.dlb, flowset_table_size=size))
    own = replace(own, balancing=sized)
    files = eos.files(own)
    assert f"ip hardware fib load-balance distribution dynamic flow-set-size {number}" in eos.lines(own)
    dynamic = json.loads(files["avd.json"])["ip_hardware"]["fib"]["load_balance_distribution"]["dynamic"]
    assert dynamic == {"enabled": True, "flow_set_size": number}
    assert read_eos.read(files).config.balancing.dlb.flowset_table_size == size


def test_traffic_classes_go_to_transmit_queues_but_for_the_fixed_one() -> None:
    have = [one for one in eos.lines(config(*LEAF)) if one.startswith("qos map traffic-class ")]
    assert [one for one in have if "queue" in one] == [f"qos map traffic-class {n} to tx-queue {n}" for n in (0, 3, 6)]
    assert [one for one in have if "dscp" in one] == [
        f"qos map traffic-class {number} to dscp {dscp}" for number, dscp in ((0, 0), (3, 26), (6, 56), (7, 48))
    ]


def test_the_watchdog_looks_at_queues_with_guaranteed_bandwidth() -> None:
    own = config(*LEAF)
    floor = "qos profile ROCE / uc-tx-queue 3 / bandwidth guaranteed percent 1"
    assert [one for one in eos.lines(own) if "guaranteed" in one] == [floor]
    assert own.qos
    off = replace(own, qos=replace(own.qos, watchdog=None))
    assert not [one for one in eos.lines(off) if "guaranteed" in one]
    unshared = {name: replace(one, transmit_percent=None) for name, one in own.qos.classes.items()}
    avd = json.loads(eos.files(replace(own, qos=replace(own.qos, classes=unshared)))["avd.json"])
    queues = {one["id"]: one for one in avd["qos_profiles"][0]["uc_tx_queues"]}
    assert queues[3]["bandwidth_guaranteed_percent"] == 1


def test_snmp_listens_in_the_management_vrf_only() -> None:
    own = config(*LEAF)
    have = eos.lines(own)
    assert "snmp-server vrf MGMT" in have
    assert "no snmp-server vrf default" in have
    silent = replace(own, management=replace(own.management, snmp=None))
    assert not [one for one in eos.lines(silent) if "snmp" in one]


def test_tunnels_carry_the_dscp_of_the_packet() -> None:
    leaf, spine = (config("evpn-gpu-isolation", one) for one in ("stripe1-leaf1", "spine1"))
    line = "interface Vxlan1 / vxlan qos dscp propagation encapsulation"
    assert line in eos.lines(leaf)
    assert line not in eos.lines(spine)
    files = eos.files(leaf)
    assert json.loads(files["avd.json"])["vxlan_interface"]["vxlan1"]["vxlan"]["qos"]["dscp_propagation_encapsulation"]
    found = read_eos.read(files).config.overlay
    assert found
    assert found.tunnel_dscp


@pytest.mark.parametrize(
    ("name", "device", "statements"),
    [
        (*LEAF, ("to dscp", "guaranteed percent", "headroom-pool", "ra interval", "set <community|large-community>")),
        ("evpn-gpu-isolation", "stripe1-leaf1", ("dscp propagation", "redistribute connected", "ra interval")),
        ("evpn-gpu-isolation", "spine1", ("to dscp",)),
        ("dci-50km", "ptx-east", ("mac security profile",)),
    ],
)
def test_what_no_document_settles_is_looked_at_on_the_first_switch(
    name: str, device: str, statements: tuple[str, ...]
) -> None:
    (check,) = first_switch(network(name), config(name, device))
    shown = [str(row[0]) for row in check.rows]
    assert [one for one in statements if not any(one in statement for statement in shown)] == []
    assert any("mac security" in one for one in shown) == (device == "ptx-east")
    assert any("dscp propagation" in one for one in shown) == (device == "stripe1-leaf1" and name.startswith("evpn"))


def test_only_the_first_switch_of_a_kind_is_looked_at() -> None:
    own = network("h100-rlb")
    shown = [one.name for one in own.switches if first_switch(own, config("h100-rlb", one.name))]
    assert shown == ["stripe1-leaf1", "spine1"]


def test_own_statements_are_merged() -> None:
    own = replace(
        config(*LEAF),
        extra="interface Ethernet1/1\n   logging event link-status\nrouter bgp 4200001001\n   timers bgp 1 3\n",
    )
    have = eos.lines(own)
    assert "interface Ethernet1/1 / logging event link-status" in have
    assert {"extra-statement", "extra-routing"} <= gap_ids(own)
    assert json.loads(eos.files(own)["avd.json"])["eos_cli"].endswith("timers bgp 1 3")
    with pytest.raises(RenderError, match="indent with spaces"):
        eos.check_extra("router bgp 1\n\tx\n")


@pytest.mark.parametrize("name", SMALL)
def test_there_is_a_runbook_of_every_switch(name: str) -> None:
    own = {one.name: device_config(network(name), one.name) for one in network(name).switches}
    routes = ControlPlane(own.values()).routes()
    assert all(runbook(network(name), one, routes) for one in own.values())
    first = own[network(name).switches[0].name]
    page = runbook(network(name), first, routes)
    assert ("show bgp" in page) == (first.bgp is not None)
    assert ("show isis neighbors" in page) == (first.isis is not None)
    # The example's profile asks for its fill levels; the others leave marking to the system.
    marking = "880 to 1440 kB, up to 100 %" if name == "evpn-functional" else "1000 to 3000 kB, up to 20 %"
    assert (marking in page) == (bool(first.qos and first.qos.marking))
    assert "junos" not in page.lower()
