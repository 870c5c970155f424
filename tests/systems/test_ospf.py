"""OSPF as others configure it below EVPN: read on every system that has a reader of it, and known to routes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.device.build import device_config
from railweave.model.device.model import Isis, Ospf, OspfPort
from tests.conftest import example
from tests.systems.there_and_back import reader, unknown

BACKBONE = "0.0.0.0"  # noqa: S104 - an area, not an address

JUNOS = """\
set interfaces et-0/0/0 description "spine1 et-0/0/1"
set interfaces et-0/0/0 unit 0 family inet address 10.0.0.0/31
set interfaces et-0/0/1 description "spine2 et-0/0/1"
set interfaces et-0/0/1 unit 0 family inet address 10.0.0.2/31
set interfaces lo0 unit 0 family inet address 10.255.0.1/32
set protocols ospf area 0 interface et-0/0/0.0 interface-type p2p
set protocols ospf area 0 interface et-0/0/1.0 metric 7
set protocols ospf area 0 interface lo0.0 passive
"""
EOS = """\
interface Ethernet1
   description spine1 Ethernet1
   no switchport
   ip address 10.0.0.0/31
   ip ospf network point-to-point
   ip ospf area 0.0.0.0
interface Ethernet2
   description spine2 Ethernet1
   no switchport
   ip address 10.0.0.2/31
   ip ospf cost 7
interface Loopback0
   ip address 10.255.0.1/32
router ospf 1
   router-id 10.255.0.1
   network 10.0.0.2/31 area 0
   network 10.255.0.1/32 area 0
   max-lsa 12000
"""
FRR = """\
frr defaults datacenter
interface eth0
 description spine1 eth1
 ip address 10.0.0.0/31
 ip ospf network point-to-point
 ip ospf area 0
interface eth1
 description spine2 eth1
 ip address 10.0.0.2/31
 ip ospf area 0.0.0.0
 ip ospf cost 7
interface lo
 ip address 10.255.0.1/32
 ip ospf area 0
router ospf
 ospf router-id 10.255.0.1
"""


@pytest.mark.parametrize(
    ("nos", "file", "text"),
    [("junos", "leaf1.set", JUNOS), ("eos", "eos.conf", EOS), ("frr", "frr.conf", FRR), ("sonic", "frr.conf", FRR)],
)
def test_ospf_is_read(nos: str, file: str, text: str) -> None:
    found = reader(nos).read({file: text})
    assert unknown(found) == []
    own = found.config.ospf
    assert own is not None
    assert own.router_id == "10.255.0.1"
    assert {one.area for one in own.ports} == {BACKBONE}
    assert [(one.metric, one.peer) for one in own.ports] == [(1, "spine1"), (7, "spine2")]
    assert len(own.passive) == 1
    if nos != "sonic":  # its ports stand in config_db.json
        assert {one.name for one in found.config.interfaces if one.kind == "fabric"} == {
            one.interface for one in own.ports
        }


@pytest.mark.parametrize(
    ("nos", "file", "text"),
    [
        ("junos", "leaf1.set", f"{JUNOS}set protocols ospf area 0 interface et-0/0/0.0 authentication md5 1 key x\n"),
        ("junos", "leaf1.set", f"{JUNOS}set protocols ospf export all\n"),
        ("eos", "eos.conf", f"{EOS}   redistribute static\n"),
        ("eos", "eos.conf", f"{EOS}router ospf 2 vrf a\n"),
        ("frr", "frr.conf", f"{FRR} redistribute connected\n"),
    ],
)
def test_what_ospf_cannot_hold_is_said(nos: str, file: str, text: str) -> None:
    assert [line.partition(":")[0] for line in unknown(reader(nos).read({file: text}))] == [str(text.count("\n"))]


@pytest.mark.parametrize(
    ("nos", "file", "text"),
    [
        ("eos", "eos.conf", f"{EOS}router bgp 65001\n   neighbor 10.0.0.1 remote-as 65000\n"),
        ("frr", "frr.conf", f"{FRR}router bgp 65001\n neighbor 10.0.0.1 remote-as 65000\n"),
    ],
)
def test_ospf_beside_bgp_on_links_is_not_understood(nos: str, file: str, text: str) -> None:
    found = reader(nos).read({file: text})
    assert found.config.ospf is None
    assert sum("ospf" in one.path for one in found.not_understood) >= 4


def test_routes_by_ospf_are_those_by_isis() -> None:
    network = example("dci-50km")
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    assert any(one.isis for one in configs.values())
    other = {
        name: replace(one, isis=None, ospf=of_isis(one.isis)) if one.isis else one for name, one in configs.items()
    }
    plane, same = ControlPlane(configs.values()), ControlPlane(other.values())
    down = [port.link for one in configs.values() for port in (one.isis.ports if one.isis else ())][:1]
    for failed in ([], down):
        routes, found = plane.routes(failed), same.routes(failed)
        for name in configs:
            for prefix in plane.prefixes:
                assert found.next_hops(name, prefix) == routes.next_hops(name, prefix)


def test_links_between_areas_have_no_neighbors() -> None:
    network = example("dci-50km")
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    routers = [one for one in configs.values() if one.isis]
    other = {
        one.name: replace(one, isis=None, ospf=of_isis(one.isis, area)) for area, one in enumerate(routers) if one.isis
    }
    routes = ControlPlane({**configs, **other}.values()).routes()
    assert not any(routes.next_hops(name, prefix) for name in other for prefix in routes.prefixes)


def of_isis(isis: Isis, area: int = 0) -> Ospf:
    ports = tuple(OspfPort(one.interface, one.link, one.peer, f"0.0.0.{area}", one.metric) for one in isis.ports)
    return Ospf(isis.router_id, ports, isis.passive, isis.maximum_ecmp)
