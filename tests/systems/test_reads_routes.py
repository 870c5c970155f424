"""Routes, tenants and peers are read as they are: what a configuration cannot hold is not understood, on every system."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from railweave import api
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.device.bgp_model import is_well_known
from railweave.model.device.config_file import from_document, to_document
from railweave.model.device.model import NO_LOOPBACK, DeviceConfig
from railweave.model.device.port_model import far_end, neighbor_of
from railweave.model.device.reading import Reading
from railweave.model.device.timers import Bfd
from railweave.systems import system
from tests.analysis.routing.fabrics import configurations
from tests.conftest import EXAMPLES
from tests.retarget import retargeted
from tests.systems import test_ospf
from tests.systems.there_and_back import reader, unknown

PROSE = "uplink to core, do not touch"

FRR = """\
frr defaults datacenter
hostname leaf1
interface lo
 ip address 10.255.0.1/32
interface swp1
 description spine1 swp7
 ip address 10.0.0.0/31
interface swp2
 description spine2 swp7
 ip address 10.0.0.2/31
interface swp9 vrf red
 description wan, tenant red
 ip address 10.9.0.0/31
bfd
 profile fabric
  receive-interval 1000
  transmit-interval 1000
 profile overlay
  receive-interval 3000
  transmit-interval 3000
vrf red
 vni 20001
router bgp 65001
 bgp router-id 10.255.0.1
 no bgp default ipv4-unicast
 neighbor spines peer-group
 neighbor spines bfd profile fabric
 neighbor 10.0.0.1 remote-as 65101
 neighbor 10.0.0.1 peer-group spines
 neighbor 10.0.0.1 description spine1
 neighbor 10.0.0.3 remote-as 65102
 neighbor 10.0.0.3 peer-group spines
 neighbor 10.0.0.3 description spine2
 neighbor overlay peer-group
 neighbor overlay ebgp-multihop 2
 neighbor overlay update-source 10.255.0.1
 neighbor overlay bfd profile overlay
 neighbor 10.255.0.3 remote-as 65101
 neighbor 10.255.0.3 peer-group overlay
 neighbor 10.255.0.3 description spine1
 address-family ipv4 unicast
  neighbor spines activate
 exit-address-family
 address-family l2vpn evpn
  neighbor overlay activate
  advertise-all-vni
 exit-address-family
exit
router bgp 65001 vrf red
 neighbor wan peer-group
 neighbor 10.9.0.1 remote-as 65200
 neighbor 10.9.0.1 peer-group wan
 neighbor 10.9.0.1 description wan
 address-family ipv4 unicast
  neighbor wan activate
 exit-address-family
exit
"""
_PORTS = {"swp1": "Ethernet0", "swp2": "Ethernet8", "swp9": "Ethernet64", "swp7": "Ethernet48"}


def _on_sonic(text: str) -> str:
    for old, new in _PORTS.items():
        text = text.replace(old, new)
    return text


TABLES = {
    "DEVICE_METADATA": {
        "localhost": {"hostname": "leaf1", "bgp_asn": "65001", "frr_mgmt_framework_config": "true"},
    },
    "PORT": {
        "Ethernet0": {"speed": "400000", "admin_status": "up", "description": "spine1 Ethernet48"},
        "Ethernet8": {"speed": "400000", "admin_status": "up", "description": "spine2 Ethernet48"},
        "Ethernet64": {"speed": "400000", "admin_status": "up", "description": "wan, tenant red"},
    },
    "INTERFACE": {
        "Ethernet0|10.0.0.0/31": {},
        "Ethernet8|10.0.0.2/31": {},
        "Ethernet64": {"vrf_name": "red"},
        "Ethernet64|10.9.0.0/31": {},
    },
    "LOOPBACK_INTERFACE": {"Loopback0|10.255.0.1/32": {}},
    "MGMT_INTERFACE": {"eth0|172.20.0.10/24": {"gwaddr": "172.20.0.1"}},
    "VRF": {"red": {"vni": "20001"}},
    "VXLAN_TUNNEL": {"vtep": {"src_ip": "10.255.0.1"}},
}
EOS = """\
hostname leaf1
vrf instance MGMT
vrf instance red
interface Ethernet1
   description spine1 Ethernet7
   no switchport
   ip address 10.0.0.0/31
interface Ethernet2
   description spine2 Ethernet7
   no switchport
   ip address 10.0.0.2/31
interface Ethernet9
   description wan, tenant red
   no switchport
   vrf red
   ip address 10.9.0.0/31
interface Loopback0
   ip address 10.255.0.1/32
interface Management1
   vrf MGMT
   ip address 172.20.0.10/24
interface Vxlan1
   vxlan source-interface Loopback0
   vxlan vrf red vni 20001
ip routing
ip routing vrf red
ip route vrf MGMT 0.0.0.0/0 172.20.0.1
router bgp 65001
   router-id 10.255.0.1
   no bgp default ipv4-unicast
   neighbor spines peer group
   neighbor spines bfd
   neighbor spines bfd interval 1000 min-rx 1000 multiplier 3
   neighbor 10.0.0.1 peer group spines
   neighbor 10.0.0.1 remote-as 65101
   neighbor 10.0.0.1 description spine1
   neighbor 10.0.0.3 peer group spines
   neighbor 10.0.0.3 remote-as 65102
   neighbor 10.0.0.3 description spine2
   neighbor spines send-community
   neighbor overlay peer group
   neighbor overlay send-community standard extended
   neighbor overlay update-source Loopback0
   neighbor overlay ebgp-multihop 2
   neighbor overlay bfd
   neighbor overlay bfd interval 3000 min-rx 3000 multiplier 3
   neighbor 10.255.0.3 peer group overlay
   neighbor 10.255.0.3 remote-as 65101
   neighbor 10.255.0.3 description spine1
   address-family evpn
      neighbor overlay activate
   address-family ipv4
      neighbor spines activate
   vrf red
      rd 10.255.0.1:1
      neighbor 10.9.0.1 remote-as 65200
      neighbor 10.9.0.1 description wan
      address-family ipv4
         neighbor 10.9.0.1 activate
"""
JUNOS = """\
set system host-name leaf1
set interfaces et-0/0/0 description "spine1 et-0/0/7"
set interfaces et-0/0/0 unit 0 family inet address 10.0.0.0/31
set interfaces et-0/0/1 description "spine2 et-0/0/7"
set interfaces et-0/0/1 unit 0 family inet address 10.0.0.2/31
set interfaces et-0/0/9 description "wan, tenant red"
set interfaces et-0/0/9 unit 0 family inet address 10.9.0.0/31
set interfaces lo0 unit 0 family inet address 10.255.0.1/32
set interfaces re0:mgmt-0 unit 0 family inet address 172.20.0.10/24
set routing-instances mgmt_junos routing-options static route 0.0.0.0/0 next-hop 172.20.0.1
set routing-options router-id 10.255.0.1
set routing-options autonomous-system 65001
set routing-instances red instance-type vrf
set routing-instances red interface et-0/0/9.0
set routing-instances red route-distinguisher 10.255.0.1:1
set routing-instances red vrf-target target:1:1
set routing-instances red protocols evpn ip-prefix-routes vni 20001
set routing-instances red protocols bgp group wan type external
set routing-instances red protocols bgp group wan family inet unicast
set routing-instances red protocols bgp group wan neighbor 10.9.0.1 description wan
set routing-instances red protocols bgp group wan neighbor 10.9.0.1 peer-as 65200
set protocols bgp group spines type external
set protocols bgp group spines family inet unicast
set protocols bgp group spines bfd-liveness-detection minimum-interval 1000
set protocols bgp group spines neighbor 10.0.0.1 description spine1
set protocols bgp group spines neighbor 10.0.0.1 peer-as 65101
set protocols bgp group spines neighbor 10.0.0.3 description spine2
set protocols bgp group spines neighbor 10.0.0.3 peer-as 65102
set protocols bgp group overlay type external
set protocols bgp group overlay multihop ttl 1
set protocols bgp group overlay family evpn signaling
set protocols bgp group overlay local-address 10.255.0.1
set protocols bgp group overlay bfd-liveness-detection minimum-interval 3000
set protocols bgp group overlay neighbor 10.255.0.3 description spine1
set protocols bgp group overlay neighbor 10.255.0.3 peer-as 65101
"""
DELL = """\
hostname leaf1
interface Loopback 0
 ip address 10.255.0.1/32
!
interface Management 0
 ip address 172.20.0.10/24 gwaddr 172.20.0.1
!
ip vrf red
interface Eth 1/1
 description "spine1 Eth1/7"
 no shutdown
 ip address 10.0.0.0/31
!
interface Eth 1/2
 description "spine2 Eth1/7"
 no shutdown
 ip address 10.0.0.2/31
!
interface Eth 1/9
 description "wan, tenant red"
 no shutdown
 ip vrf forwarding red
 ip address 10.9.0.0/31
!
interface vxlan vtep
 source-ip 10.255.0.1
 map vni 20001 vrf red
!
bfd
 profile fabric
  receive-interval 1000
  transmit-interval 1000
 !
 profile overlay
  receive-interval 3000
  transmit-interval 3000
!
router bgp 65001
 router-id 10.255.0.1
 peer-group spines
  bfd profile fabric
  address-family ipv4 unicast
   activate
  exit
 exit
 peer-group overlay
  ebgp-multihop 2
  update-source 10.255.0.1
  bfd profile overlay
  address-family l2vpn evpn
   activate
  exit
 exit
 neighbor 10.0.0.1
  remote-as 65101
  peer-group spines
  description spine1
 exit
 neighbor 10.0.0.3
  remote-as 65102
  peer-group spines
  description spine2
 exit
 neighbor 10.255.0.3
  remote-as 65101
  peer-group overlay
  description spine1
 exit
exit
router bgp 65001 vrf red
 peer-group wan
  address-family ipv4 unicast
   activate
  exit
 exit
 neighbor 10.9.0.1
  remote-as 65200
  peer-group wan
  description wan
 exit
exit
"""
LEAF: dict[str, dict[str, str]] = {
    "frr": {"frr.conf": FRR},
    "sonic": {
        "frr.conf": _on_sonic(FRR.replace("interface lo\n", "interface Loopback0\n")),
        "config_db.json": json.dumps(TABLES, indent=1),
    },
    "eos": {"eos.conf": EOS},
    "junos": {"junos.set": JUNOS},
    "dell_sonic": {"sonic.cli": DELL},
}
"""A leaf with two links, a session of the overlay, a tenant with a router outside, and a management port."""


def edited(nos: str, *edits: tuple[str, str], more: str = "") -> Reading:
    """The leaf with words replaced, and lines behind its first file."""
    files = dict(LEAF[nos])
    for old, new in edits:
        file = next(name for name, text in files.items() if old in text)
        files[file] = files[file].replace(old, new)
    first = next(iter(files))
    return reader(nos).read({**files, first: files[first] + more})


def kinds(reading: Reading, nos: str) -> dict[str, str]:
    """What became of the statements that the leaf does not have."""
    known = {one.path for one in edited(nos).statements}
    return {one.path: one.kind for one in reading.statements if one.path not in known}


@pytest.mark.parametrize("nos", LEAF)
def test_the_leaf_is_understood(nos: str) -> None:
    found = edited(nos)
    assert unknown(found) == []
    assert [one.peer for one in found.config.interfaces] == ["spine1", "spine2", "wan"]
    assert found.config.overlay is not None
    assert found.config.overlay.links == ()


ROUTES = {
    "frr": """\
ip route 10.8.0.0/16 10.0.0.1
ip route 0.0.0.0/0 10.0.0.1
ip route 10.8.1.0/24 Null0
ip route 10.8.2.0/24 reject
ip route 10.8.3.0/24 10.0.0.1 200 tag 5
ip route 10.8.4.0/24 10.9.0.1 nexthop-vrf red
ip route 10.8.5.0/24 172.20.0.1 nexthop-vrf mgmt
ip route 10.8.6.0/24 172.20.0.1 eth0
ip route 10.8.7.0/24 10.0.0.1 bfd
vrf red
 ip route 10.8.0.0/16 10.9.0.1
 ip route 10.8.1.0/24 blackhole
 ip route 10.8.2.0/24 10.0.0.1 nexthop-vrf default
 ip route 10.8.3.0/24 10.9.0.1 250
""",
    "eos": """\
ip route vrf red 10.8.0.0/16 10.9.0.1
ip route vrf red 0.0.0.0/0 10.9.0.1
ip route vrf red 10.8.1.0/24 Null0
ip route vrf red 10.8.2.0/24 egress-vrf default 10.0.0.1
ip route vrf red 10.8.3.0/24 10.9.0.1 200 tag 5 name x
ip route vrf red 10.8.4.0/24 10.9.0.1 track bfd
ipv6 route vrf red ::/0 Null0
ip route 10.8.0.0/16 10.0.0.1
ip route 0.0.0.0/0 10.0.0.1
ip route 0.0.0.0/0 Loopback0
ip route vrf MGMT 0.0.0.0/0 172.20.0.9 250
ip route vrf MGMT 0.0.0.0/0 Null0
router general
   vrf red
      leak routes source-vrf default subscribe-policy all
""",
    "junos": """\
set routing-instances red routing-options static route 10.8.0.0/16 next-hop 10.9.0.1
set routing-instances red routing-options static route 0.0.0.0/0 discard
set routing-instances red routing-options static route 10.8.1.0/24 reject
set routing-instances red routing-options static route 10.8.2.0/24 next-table inet.0
set routing-instances red routing-options static route 10.8.3.0/24 qualified-next-hop 10.9.0.1 preference 200
set routing-instances red routing-options static route 10.8.4.0/24 bfd-liveness-detection minimum-interval 300
set routing-options static route 10.8.0.0/16 next-hop 10.0.0.1
set routing-options static route 0.0.0.0/0 next-hop 10.0.0.1
set routing-options static route 10.255.0.3/32 next-hop 172.20.0.1
set routing-options static route 10.8.5.0/24 next-table red.inet.0
set routing-options interface-routes rib-group inet tenants
set routing-instances mgmt_junos routing-options static route 0.0.0.0/0 discard
""",
    "dell_sonic": """\
ip route vrf red 10.8.0.0/16 10.9.0.1
ip route vrf red 0.0.0.0/0 blackhole
ip route vrf red 10.8.1.0/24 10.9.0.1 200
ip route vrf red 10.8.2.0/24 10.0.0.1 nexthop-vrf default
ip route vrf red 10.8.3.0/24 10.9.0.1 tag 5 track 3
ipv6 route vrf red ::/0 fd00::1
ip route 0.0.0.0/0 10.0.0.1
ip route 10.8.0.0/16 blackhole
""",
}
ROUTES["sonic"] = ROUTES["frr"]
HEADERS = {"vrf red", "router general", "router general / vrf red"}


@pytest.mark.parametrize("nos", ROUTES)
def test_static_routes_are_not_understood(nos: str) -> None:
    reading = edited(nos, more=ROUTES[nos])
    found = {path: kind for path, kind in kinds(reading, nos).items() if path not in HEADERS}
    assert set(found.values()) == {"unknown"}
    lines = {line.strip().removeprefix("set ") for line in ROUTES[nos].splitlines()}
    assert {path.rpartition(" / ")[2] for path in found} == lines - HEADERS
    assert reading.config == edited(nos).config


ISIS = """\
hostname leaf1
interface lo
 ip address 10.255.0.1/32
 ip router isis core
 isis passive
interface swp1
 description spine1 swp7
 ip router isis core
 isis metric 7
interface swp2
 description spine2 swp7
 ip router isis core
 ipv6 router isis core
router isis core
 net 49.0001.0102.5500.0001.00
 is-type level-2-only
"""


@pytest.mark.parametrize("nos", ["frr", "sonic"])
def test_isis_runs_in_instances_that_are_defined(nos: str) -> None:
    def running(old: str = "", new: str = "") -> tuple[list[str], tuple[str, ...], list[str]]:
        reading = reader(nos).read({"frr.conf": ISIS.replace(old, new)})
        isis = reading.config.isis
        names = [port.interface for port in isis.ports] if isis else []
        return names, isis.families if isis else (), [one.path for one in reading.not_understood]

    assert running() == (["swp1", "swp2"], ("ipv4", "ipv6"), [])
    second = "interface swp2 / ipv6 router isis other"
    assert running("ipv6 router isis core", "ipv6 router isis other") == (["swp1", "swp2"], ("ipv4",), [second])
    assert running("swp7\n ip router isis core\n isis", "swp7\n ip router isis other\n isis") == (
        ["swp2"],
        ("ipv4", "ipv6"),
        ["interface swp1 / ip router isis other"],
    )
    names, families, unread = running("router isis core\n net", "router isis other\n net")
    assert (names, families, len(unread)) == ([], (), 4)


def test_static_routes_in_tables_are_not_understood() -> None:
    routes = {"red|10.8.0.0/16": {"nexthop": "10.9.0.1"}, "default|0.0.0.0/0": {"nexthop": "10.0.0.1", "bfd": "true"}}
    routes |= {
        "10.8.1.0/24": {"blackhole": "true"},
        "red|10.8.2.0/24": {"nexthop": "10.0.0.1", "nexthop-vrf": "default"},
    }
    text = json.dumps({**TABLES, "STATIC_ROUTE": routes}, indent=1)
    reading = reader("sonic").read({**LEAF["sonic"], "config_db.json": text})
    assert set(kinds(reading, "sonic").values()) == {"unknown"}
    assert reading.config == edited("sonic").config


@pytest.mark.parametrize(
    ("nos", "edits", "route"),
    [
        (
            "eos",
            (("   vrf MGMT\n   ip", "   ip"), ("ip route vrf MGMT 0.0.0.0/0 172.20.0.1\n", "")),
            "ip route 0.0.0.0/0 {}\n",
        ),
        (
            "junos",
            (
                (
                    "set routing-instances mgmt_junos routing-options static route 0.0.0.0/0 next-hop 172.20.0.1\n",
                    "",
                ),
            ),
            "set routing-options static route 0.0.0.0/0 next-hop {}\n",
        ),
        ("dell_sonic", ((" gwaddr 172.20.0.1", ""),), "ip route 0.0.0.0/0 {}\n"),
        ("sonic", (('"gwaddr": "172.20.0.1"', ""),), "ip route 0.0.0.0/0 {}\n"),
    ],
)
def test_a_default_route_over_the_fabric_is_no_management_gateway(
    nos: str, edits: tuple[tuple[str, str], ...], route: str
) -> None:
    for hop in ("10.0.0.1", "10.255.0.3"):
        reading = edited(nos, *edits, more=route.format(hop))
        assert reading.config.management_gateway == "0.0.0.0"  # noqa: S104 - there is none
        assert [one.path for one in reading.not_understood] == [route.format(hop).strip().removeprefix("set ")]
    if nos in {"eos", "junos"}:  # the port itself reaches it
        reading = edited(nos, *edits, more=route.format("172.20.0.1"))
        assert reading.config.management_gateway == "172.20.0.1"
        assert unknown(reading) == []


ON_LINKS = {
    "frr": ("  neighbor overlay activate\n", "  neighbor overlay activate\n  neighbor spines activate\n"),
    "eos": ("      neighbor overlay activate\n", "      neighbor overlay activate\n      neighbor spines activate\n"),
    "junos": (
        "set protocols bgp group spines family inet unicast\n",
        "set protocols bgp group spines family inet unicast\nset protocols bgp group spines family evpn signaling\n",
    ),
    "dell_sonic": (
        "  bfd profile fabric\n",
        "  bfd profile fabric\n  address-family l2vpn evpn\n   activate\n  exit\n",
    ),
}
ON_LINKS["sonic"] = ON_LINKS["frr"]


@pytest.mark.parametrize("nos", LEAF)
def test_links_that_carry_evpn_are_known(nos: str) -> None:
    reading = edited(nos, ON_LINKS[nos])
    before, after = edited(nos).config, reading.config
    assert unknown(reading) == []
    assert before.overlay is not None
    assert after.overlay is not None
    assert after.overlay.links == tuple(one.name for one in after.interfaces[:2])
    assert (after.overlay.neighbors, after.overlay.loopback) == (before.overlay.neighbors, before.overlay.loopback)
    assert after.overlay.bfd == before.overlay.bfd
    assert after.bgp == before.bgp


IMPORTS = {
    "frr": ("  neighbor overlay activate\n", "  neighbor overlay activate\n  neighbor overlay route-map none in\n"),
    "eos": (
        "      neighbor overlay activate\n",
        "      neighbor overlay activate\n      neighbor overlay route-map none in\n",
    ),
    "dell_sonic": (
        "  address-family l2vpn evpn\n   activate\n",
        "  address-family l2vpn evpn\n   activate\n   route-map none in\n",
    ),
}
IMPORTS["sonic"] = IMPORTS["frr"]


@pytest.mark.parametrize("nos", IMPORTS)
def test_what_tenants_refuse_is_not_understood(nos: str) -> None:
    found = [path for path, kind in kinds(edited(nos, IMPORTS[nos]), nos).items() if kind == "unknown"]
    assert [path.rpartition("route-map ")[2] for path in found] == ["none in"]


@pytest.mark.parametrize("nos", ["frr", "sonic", "dell_sonic"])
def test_a_route_map_that_passes_every_tenant_route_is_understood(nos: str) -> None:
    old, new = IMPORTS[nos]
    header = ("router bgp ", "route-map every permit 10\nrouter bgp ")
    found = kinds(edited(nos, (old, new.replace(" none ", " every ")), header), nos)
    assert "unknown" not in found.values()
    header = ("router bgp ", "route-map every permit 10\n set metric 5\nrouter bgp ")
    found = kinds(edited(nos, (old, new.replace(" none ", " every ")), header), nos)
    assert [path.rpartition(" / ")[2] for path, kind in found.items() if kind == "unknown"] in (
        ["set metric 5", "neighbor overlay route-map every in"],
        ["set metric 5", "route-map every in"],
    )


@pytest.mark.parametrize("nos", ["frr", "sonic", "eos"])
def test_one_neighbor_of_a_group_may_be_without_evpn(nos: str) -> None:
    old, new = ON_LINKS[nos]
    off = new.partition("\n")[2].replace("neighbor spines", "no neighbor 10.0.0.3")
    overlay = edited(nos, (old, new + off)).config.overlay
    assert overlay is not None
    assert len(overlay.links) == 1


def test_links_without_addresses_carry_evpn() -> None:
    unnumbered = (
        (" neighbor 10.0.0.3 remote-as 65102\n", " neighbor swp2 interface remote-as 65102\n"),
        ("neighbor 10.0.0.3", "neighbor swp2"),
    )
    overlay = edited("frr", *unnumbered, (" ip address 10.0.0.2/31\n", ""), ON_LINKS["frr"]).config.overlay
    assert overlay is not None
    assert overlay.links == ("swp1", "swp2")
    on_link = "   neighbor interface Ethernet2 peer-group spines remote-as 65102\n   address-family evpn\n"
    overlay = edited(
        "eos",
        ("   ip address 10.0.0.2/31\n", "   ipv6 enable\n"),
        ("   address-family evpn\n", on_link),
        ("ip routing\n", "ip routing\nipv6 unicast-routing\n"),
        ON_LINKS["eos"],
    ).config.overlay
    assert overlay is not None
    assert set(overlay.links) == {"Ethernet1", "Ethernet2"}


@pytest.fixture(scope="module")
def tenants() -> list[DeviceConfig]:
    return configurations(api.load(EXAMPLES / "evpn-functional.yaml"))


def held(configs: Iterable[DeviceConfig], down: tuple[str, ...] = ()) -> dict[tuple[str, str], int]:
    """How many prefixes each VRF holds."""
    return {where: int(mask.sum()) for where, mask in ControlPlane(configs).routes(down).holds.items()}


def on_links(config: DeviceConfig) -> DeviceConfig:
    """A configuration whose EVPN runs on the sessions of links."""
    assert config.bgp is not None
    assert config.overlay is not None
    ports = tuple(session.interface for group in config.bgp.groups for session in group.sessions)
    return replace(config, overlay=replace(config.overlay, neighbors=(), links=ports))


def test_tenants_have_routes_over_evpn_on_links(tenants: list[DeviceConfig]) -> None:
    wanted, moved = held(tenants), [on_links(config) for config in tenants]
    assert held(moved) == wanted
    leaf = next(place for place, config in enumerate(moved) if config.vrfs)
    for spine in (config for config in moved if config.overlay and config.overlay.reflects):
        assert held([config for config in moved if config is not spine]) == wanted
    for ends in ([leaf], [at for at, config in enumerate(moved) if config.overlay and config.overlay.reflects]):
        quiet = [
            replace(config, overlay=replace(config.overlay, links=())) if config.overlay and at in ends else config
            for at, config in enumerate(moved)
        ]
        own = {where: count for where, count in held(quiet).items() if where[0] == moved[leaf].name}
        assert all(own[where] < wanted[where] for where in own)
    ports = {interface.link for interface in moved[leaf].interfaces if interface.kind == "fabric"}
    down = held(moved, tuple(ports))
    assert all(down[where] < wanted[where] for where in down if where[0] == moved[leaf].name)


def test_neighbors_of_the_overlay_are_known_by_their_address(tenants: list[DeviceConfig]) -> None:
    def unnamed(config: DeviceConfig, asn: int | None = None) -> DeviceConfig:
        assert config.overlay is not None
        neighbors = tuple(
            replace(one, peer="", peer_as=one.peer_as if asn is None else asn) for one in config.overlay.neighbors
        )
        return replace(config, overlay=replace(config.overlay, neighbors=neighbors))

    wanted = held(tenants)
    assert held(map(unnamed, tenants)) == wanted
    alone = held(unnamed(config, 1) for config in tenants)
    assert all(alone[where] < wanted[where] for where in wanted)


OSPF_SESSION = {
    "junos": """\
set routing-options autonomous-system 65001
set protocols bgp group overlay type internal
set protocols bgp group overlay local-address 10.255.0.1
set protocols bgp group overlay family evpn signaling
set protocols bgp group overlay neighbor 10.255.0.9 description spine1
""",
    "eos": """\
router bgp 65001
   neighbor 10.255.0.9 remote-as 65001
   neighbor 10.255.0.9 update-source Loopback0
   neighbor 10.255.0.9 send-community
   no bgp default ipv4-unicast
   address-family evpn
      neighbor 10.255.0.9 activate
""",
    "frr": """\
router bgp 65001
 no bgp default ipv4-unicast
 neighbor 10.255.0.9 remote-as 65001
 neighbor 10.255.0.9 update-source 10.255.0.1
 address-family l2vpn evpn
  neighbor 10.255.0.9 activate
""",
}


@pytest.mark.parametrize(
    ("nos", "file", "text"),
    [
        ("junos", "leaf1.set", test_ospf.JUNOS),
        ("eos", "eos.conf", test_ospf.EOS),
        ("frr", "frr.conf", test_ospf.FRR),
        ("sonic", "frr.conf", test_ospf.FRR),
    ],
)
def test_the_own_as_beside_ospf_is_kept(nos: str, file: str, text: str) -> None:
    reading = reader(nos).read({file: text + OSPF_SESSION["frr" if nos == "sonic" else nos]})
    config = reading.config
    assert unknown(reading) == []
    assert config.bgp is not None
    assert config.ospf is not None
    assert config.overlay is not None
    assert (config.bgp.asn, config.bgp.groups) == (65001, ())
    assert config.overlay.neighbors[0].peer_as == 65001
    assert config.maximum_ecmp() == config.ospf.maximum_ecmp


@pytest.mark.parametrize("nos", LEAF)
def test_peers_are_not_made_of_prose(nos: str) -> None:
    told = re.compile(r'(description"?:? )("?)(?:spine|wan)[^"\n]*("?)')
    quote = '"' if nos == "junos" else ""
    files = {
        file: told.sub(lambda found: f"{found[1]}{found[2] or quote}{PROSE}{found[3] or quote}", text)
        for file, text in LEAF[nos].items()
    }
    assert sum(text.count(PROSE) for text in files.values()) >= 7
    reading = reader(nos).read(files)
    config = reading.config
    assert unknown(reading) == []
    assert [(one.peer, one.peer_port) for one in config.interfaces] == [("", "")] * 3
    assert config.bgp is not None
    assert config.overlay is not None
    sessions = [session for group in config.bgp.groups for session in group.sessions]
    assert {one.peer for one in (*sessions, *config.overlay.neighbors)} == {""}
    assert {peer.router for vrf in config.vrfs for peer in vrf.external} <= {"wan", "", "10.9.0.1"}


def test_a_neighbor_in_a_table_has_a_name() -> None:
    neighbors = {"Ethernet0": {"name": PROSE, "port": "swp1"}, "Ethernet8": {"name": "spine9", "port": "Ethernet4"}}
    text = json.dumps({**TABLES, "DEVICE_NEIGHBOR": neighbors}, indent=1)
    reading = reader("sonic").read({**LEAF["sonic"], "config_db.json": text})
    assert [(one.peer, one.peer_port) for one in reading.config.interfaces[:2]] == [("", ""), ("spine9", "Ethernet4")]
    assert [one.path for one in reading.not_understood] == [
        f"DEVICE_NEIGHBOR|Ethernet0 name {PROSE}",
        "DEVICE_NEIGHBOR|Ethernet0 port swp1",
    ]


@pytest.mark.parametrize(
    ("words", "far", "session"),
    [
        ("spine1 et-0/0/0", ("spine1", "et-0/0/0"), "spine1"),
        ("host-1 gpu0_eth", ("host-1", "gpu0_eth"), "host-1"),
        ("spine1", ("", ""), "spine1"),
        ("spare port", ("", ""), ""),
        (PROSE, ("", ""), ""),
        ("", ("", ""), ""),
    ],
)
def test_descriptions_name_neighbors_in_the_form_that_is_rendered(
    words: str, far: tuple[str, str], session: str
) -> None:
    assert (far_end(words), neighbor_of(words)) == (far, session)


BFD = {
    "frr": {
        "group": (" neighbor spines bfd profile fabric\n", ""),
        "neighbor": (" neighbor 10.0.0.3 remote-as 65102\n", " neighbor 10.0.0.3 remote-as 65102\n neighbor 10.0.0.3 bfd profile overlay\n"),
        "tenant": (" neighbor 10.9.0.1 remote-as 65200\n", " neighbor 10.9.0.1 remote-as 65200\n neighbor 10.9.0.1 bfd\n"),
    },
    "eos": {
        "group": ("   neighbor spines bfd\n", ""),
        "neighbor": ("   neighbor 10.0.0.3 remote-as 65102\n", "   neighbor 10.0.0.3 remote-as 65102\n   neighbor 10.0.0.3 bfd interval 300 min-rx 300 multiplier 3\n"),
        "tenant": ("      neighbor 10.9.0.1 remote-as 65200\n", "      neighbor 10.9.0.1 remote-as 65200\n      neighbor 10.9.0.1 bfd\n"),
    },
    "junos": {
        "group": ("set protocols bgp group spines bfd-liveness-detection minimum-interval 1000\n", ""),
        "neighbor": ("set protocols bgp group spines neighbor 10.0.0.3 description spine2\n", "set protocols bgp group spines neighbor 10.0.0.3 description spine2\nset protocols bgp group spines neighbor 10.0.0.3 bfd-liveness-detection minimum-interval 300\n"),
        "tenant": ("set routing-instances red protocols bgp group wan type external\n", "set routing-instances red protocols bgp group wan type external\nset routing-instances red protocols bgp group wan bfd-liveness-detection minimum-interval 300\n"),
    },
    "dell_sonic": {
        "group": ("  bfd profile fabric\n", ""),
        "neighbor": ("  remote-as 65102\n", "  remote-as 65102\n  bfd profile overlay\n"),
        "tenant": ("  remote-as 65200\n", "  remote-as 65200\n  bfd\n"),
    },
}  # fmt: skip
BFD["sonic"] = BFD["frr"]
FABRIC, OVERLAY = Bfd(minimum_interval=1000), Bfd(minimum_interval=3000)


@pytest.mark.parametrize("nos", BFD)
def test_bfd_of_one_group_or_neighbor_is_not_that_of_all(nos: str) -> None:
    def watched(change: str) -> tuple[Bfd | None, Bfd | None, set[str]]:
        reading = edited(nos, *([BFD[nos][change]] if change else []))
        bgp, overlay = reading.config.bgp, reading.config.overlay
        assert bgp is not None
        assert overlay is not None
        new = {kind for path, kind in kinds(reading, nos).items() if "bfd" in path}
        return bgp.bfd, overlay.bfd, new

    assert watched("") == (FABRIC, OVERLAY, set())
    assert watched("group") == (None, OVERLAY, set())
    # On Junos a neighbor that says something for itself is a group.
    assert watched("neighbor") == (
        (FABRIC, OVERLAY, {"understood"}) if nos == "junos" else (None, OVERLAY, {"unknown"})
    )
    assert watched("tenant") == (FABRIC, OVERLAY, {"unknown"})


OTHERS = {
    "frr": (
        (" neighbor 10.0.0.3 remote-as 65102\n", " neighbor others peer-group\n neighbor others bfd profile overlay\n neighbor 10.0.0.3 remote-as 65102\n"),
        ("neighbor 10.0.0.3 peer-group spines", "neighbor 10.0.0.3 peer-group others"),
        ("  neighbor spines activate\n", "  neighbor spines activate\n  neighbor others activate\n"),
    ),
    "eos": (
        ("   neighbor 10.0.0.3 peer group spines\n", "   neighbor others peer group\n   neighbor others bfd\n   neighbor others bfd interval 3000 min-rx 3000 multiplier 3\n   neighbor 10.0.0.3 peer group others\n"),
        ("      neighbor spines activate\n", "      neighbor spines activate\n      neighbor others activate\n"),
    ),
    "junos": (
        ("group spines neighbor 10.0.0.3", "group others neighbor 10.0.0.3"),
        ("set protocols bgp group overlay type external\n", "set protocols bgp group others type external\nset protocols bgp group others family inet unicast\nset protocols bgp group others bfd-liveness-detection minimum-interval 3000\nset protocols bgp group overlay type external\n"),
    ),
    "dell_sonic": (
        (" peer-group overlay\n  ebgp", " peer-group others\n  bfd profile overlay\n  address-family ipv4 unicast\n   activate\n  exit\n exit\n peer-group overlay\n  ebgp"),
        ("  remote-as 65102\n  peer-group spines\n", "  remote-as 65102\n  peer-group others\n"),
    ),
}  # fmt: skip
OTHERS["sonic"] = OTHERS["frr"]
WITHOUT = {
    "frr": (" neighbor others bfd profile overlay\n", ""),
    "eos": ("   neighbor others bfd\n", ""),
    "junos": ("set protocols bgp group others bfd-liveness-detection minimum-interval 3000\n", ""),
    "dell_sonic": (" peer-group others\n  bfd profile overlay\n", " peer-group others\n"),
}
WITHOUT["sonic"] = WITHOUT["frr"]


@pytest.mark.parametrize("nos", OTHERS)
def test_each_group_has_its_own_bfd(nos: str) -> None:
    for edits, wanted in ((OTHERS[nos], OVERLAY), ((*OTHERS[nos], WITHOUT[nos]), Bfd(enabled=False))):
        reading = edited(nos, *edits)
        bgp = reading.config.bgp
        assert unknown(reading) == []
        assert bgp is not None
        assert [(one.name, one.bfd) for one in bgp.groups] == [("spines", None), ("others", wanted)]
        assert bgp.bfd == FABRIC
        assert from_document(to_document(reading.config)) == reading.config


@pytest.mark.parametrize("nos", LEAF)
@pytest.mark.parametrize("example", ["h100-rlb", "evpn-server-isolation"])
def test_a_loopback_that_is_not_there_is_not_the_router_id(nos: str, example: str) -> None:
    config = configurations(retargeted(example, nos))[0]
    (loopback, *_), files = config.loopbacks(), system(nos).files(config)
    assert loopback == config.loopback
    address = re.escape(str(loopback).partition("/")[0])
    line = rf"^(.*\b(lo0|ip address|ipv4 address)\b.* | *address ){address}/32;?\n"
    row = rf',\s*"Loopback0\|{address}/32": {{}}'
    removed = {name: re.sub(f"{line}|{row}", "", text, flags=re.MULTILINE) for name, text in files.items()}
    assert removed != files
    reading = reader(nos).read(removed).config
    assert reading.loopback != loopback
    assert reading.loopback in (NO_LOOPBACK, *config.loopbacks())
    assert (reading.bgp and reading.bgp.router_id) == (config.bgp and config.bgp.router_id)


def test_a_unit_of_the_loopback_outside_instances_is_the_devices() -> None:
    config = configurations(retargeted("evpn-server-isolation", "junos"))[0]
    files = system("junos").files(config)
    moved = files["junos.set"].replace("interfaces lo0 unit 0 ", "interfaces lo0 unit 9 ")
    assert moved != files["junos.set"]
    read = reader("junos").read({"junos.set": moved.replace("interface lo0.0", "interface lo0.9")}).config
    assert (read.loopback, read.loopbacks()) == (config.loopback, config.loopbacks())
    assert read.overlay
    assert config.overlay
    assert len(read.overlay.neighbors) == len(config.overlay.neighbors) > 0


@pytest.mark.parametrize(
    ("community", "well_known"),
    [("65535:0", True), ("65535:666", True), ("65535:65281", True), ("65535:100", False), ("65000:666", False)],
)
def test_assigned_communities_alone_are_well_known(community: str, well_known: bool) -> None:
    assert is_well_known(community) == well_known


@pytest.mark.parametrize("holder", ["overlay", "10.255.0.3"])
def test_what_filters_ipv4_on_a_session_between_loopbacks_is_not_understood(holder: str) -> None:
    """Routes of IPv4 on it are not held, so neither is what refuses them."""
    active = "      neighbor spines activate\n"
    added = f"      neighbor overlay activate\n      neighbor {holder} route-map none out\n"
    reading = edited("eos", (active, active + added), more="route-map none deny 10\n")
    here = "router bgp 65001 / address-family ipv4 / neighbor"
    lines = [f"{here} overlay activate", f"{here} {holder} route-map none out"]
    assert [kinds(reading, "eos")[line] for line in lines] == ["unknown", "unknown"]
