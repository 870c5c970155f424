"""frr.conf and nftables.conf read back: ours exactly, other people's as far as a DeviceConfig can hold it."""

from __future__ import annotations

import pytest

from railweave.errors import RenderError
from railweave.model.device.build import device_config
from railweave.model.device.timers import Bfd
from railweave.systems import system
from railweave.systems.frr.read.sessions import default
from tests.conftest import SMALL
from tests.model.config.variants import networks
from tests.model.intent.asked import FABRICS
from tests.model.intent.trial import trial, with_value
from tests.retarget import retargeted
from tests.systems.there_and_back import lost, one_of_each_role, reader, unknown

SECURED = {
    name: with_value(raw, ("management", "snmp", "clients"), ["172.20.0.0/24"]) if "management" in raw else raw
    for name, raw in FABRICS.items()
}
"""Fabrics that may be protected: who may ask by SNMP is named."""

READ = reader("frr")
SECURITY = {"login": {}, "control_plane": {}}


@pytest.mark.parametrize("name", SMALL)
def test_examples_come_back(name: str) -> None:
    network = retargeted(name, "frr")
    assert [line for one in one_of_each_role(network) for line in lost(device_config(network, one))] == []


@pytest.mark.parametrize("name", list(SECURED))
def test_small_fabrics_come_back(name: str) -> None:
    underlay = {**SECURED[name]["fabrics"]["f"].get("underlay", {}), "graceful_restart": True, "ttl_security": True}
    raw = with_value(SECURED[name], ("fabrics", "f", "underlay"), underlay | {"authentication": {"key": "secret:key"}})
    raw = {**raw, "management": {**raw.get("management", {}), "security": SECURITY}}
    assert [line for config in trial(raw, "frr").configs for line in lost(config)] == []


UNNUMBERED = """
frr version 8.5.2
frr defaults datacenter
hostname leaf01
log syslog informational
service integrated-vtysh-config
!
vrf RED
 vni 4001
exit-vrf
!
interface swp51
 ipv6 nd ra-interval 10
 no ipv6 nd suppress-ra
!
interface lo
 ip address 10.10.10.1/32
!
router bgp 65101
 bgp router-id 10.10.10.1
 bgp bestpath as-path multipath-relax
 neighbor underlay peer-group
 neighbor underlay remote-as external
 neighbor underlay bfd
 neighbor swp51 interface peer-group underlay
 neighbor swp52 interface peer-group underlay
 !
 address-family ipv4 unicast
  redistribute connected route-map LOOP
 exit-address-family
 !
 address-family l2vpn evpn
  neighbor underlay activate
  advertise-all-vni
 exit-address-family
!
router bgp 65101 vrf RED
 address-family l2vpn evpn
  advertise ipv4 unicast
 exit-address-family
!
route-map LOOP permit 10
 match interface lo
!
line vty
!
"""


def test_a_leaf_of_others_is_understood() -> None:
    found = READ.read({"frr.conf": UNNUMBERED})
    assert unknown(found) == []
    config = found.config
    assert config.name == "leaf01"
    assert config.bgp is not None
    group = config.bgp.groups[0]
    assert [one.interface for one in group.sessions] == ["swp51", "swp52"]
    assert (group.name, group.sessions[0].peer_as, config.bgp.bfd) == ("underlay", 0, Bfd(minimum_interval=300))
    assert config.bgp.families == ("ipv4",)
    assert config.bgp.prefix_lists["(interface lo)"] == ("10.10.10.1/32",)
    assert config.overlay is not None
    assert [one.address for one in config.overlay.endpoints] == ["10.10.10.1"]
    assert [(one.name, one.vni, one.import_targets) for one in config.vrfs] == [("RED", 4001, ("target:65101:4001",))]


def test_no_indentation_is_needed() -> None:
    flat = "\n".join(line.strip() for line in UNNUMBERED.splitlines())
    assert READ.read({"frr.conf": flat}).config == READ.read({"frr.conf": UNNUMBERED}).config


def test_what_a_terminal_prints_around_it_is_left() -> None:
    around = f"leaf01# show running-config\nBuilding configuration...\n\nCurrent configuration:\n!{UNNUMBERED}end\n"
    assert READ.read({"x": around}).config == READ.read({"x": UNNUMBERED}).config


NUMBERED = """
hostname spine1
interface eth1
 ip address 10.0.0.0/31
 description leaf1 eth49
interface eth2
 ip address 10.0.0.2/31
 shutdown
ip prefix-list LO seq 5 permit 10.255.0.0/16 le 32
ip prefix-list ODD seq 5 deny 10.1.0.0/16
ip route 0.0.0.0/0 10.9.9.1
bgp community-list standard TAG permit 65000:7
route-map IN permit 10
 match ip address prefix-list LO
 match community TAG
 set local-preference 150
 continue 20
route-map IN deny 20
router bgp 65000
 no bgp ebgp-requires-policy
 bgp log-neighbor-changes
 neighbor 10.0.0.1 remote-as 65001
 neighbor 10.0.0.1 password swordfish
 neighbor 10.0.0.1 timers 3 9
 address-family ipv4 unicast
  network 10.255.0.9/32
  neighbor 10.0.0.1 route-map IN in
  neighbor 10.0.0.1 allowas-in 1
 exit-address-family
"""


def test_what_cannot_be_held_is_said_with_its_line() -> None:
    found = READ.read({"frr.conf": NUMBERED})
    assert unknown(found) == [
        "11: ip route 0.0.0.0/0 10.9.9.1",
        "17: route-map IN permit 10 / continue 20",
        "28: router bgp 65000 / address-family ipv4 unicast / neighbor 10.0.0.1 allowas-in 1",
    ]
    bgp = found.config.bgp
    assert bgp is not None
    session = bgp.groups[0].sessions[0]
    assert (session.interface, session.peer, session.local_address) == ("eth1", "leaf1", "10.0.0.0")
    assert bgp.prefix_lists["(networks)"] == ("10.255.0.9/32",)
    assert bgp.redistribute_connected == "(networks)"
    assert [one.name for one in found.config.interfaces] == ["eth1"]


def test_a_secret_is_never_repeated() -> None:
    found = READ.read({"frr.conf": NUMBERED})
    bgp = found.config.bgp
    assert bgp is not None
    assert bgp.authentication is not None
    assert bgp.authentication.key == "secret:?"
    assert "swordfish" not in repr(found)


def test_what_only_some_sessions_have_is_that_of_their_group() -> None:
    text = "router bgp 1\n neighbor 10.0.0.1 remote-as 2\n neighbor 10.0.0.1 bfd\n neighbor 10.0.0.3 remote-as 3\n"
    found = READ.read({"frr.conf": text})
    assert unknown(found) == []
    assert found.config.bgp is not None
    assert found.config.bgp.bfd == default()
    assert [one.bfd for one in found.config.bgp.groups] == [None, Bfd(enabled=False)]


def test_a_wrong_line_is_seen() -> None:
    network = retargeted("h100-rlb", "frr")
    config = device_config(network, "stripe1-leaf1")
    text = system("frr").files(config)["frr.conf"]
    wrong = text.replace("neighbor et-0-0 interface remote-as 4200000001", "neighbor et-0-0 interface remote-as 7")
    bgp = READ.read({"frr.conf": wrong}).config.bgp
    assert bgp is not None
    assert bgp.groups[0].sessions[0].peer_as == 7


def test_daemons_that_print_for_themselves_are_one_router() -> None:
    config = device_config(retargeted("h100-rlb", "frr"), "stripe1-leaf1")
    text = system("frr").files(config)["frr.conf"]
    part = "\n".join(line for line in text.splitlines() if "large-community" not in line and "router bgp" not in line)
    part = part[: part.index(" bgp router-id")]
    assert READ.read({"mgmtd": part, "bgpd": text}).config == READ.read({"frr.conf": text}).config
    assert READ.read({"bgpd": text, "mgmtd": part}).config == READ.read({"frr.conf": text}).config


def test_an_open_brace_is_refused_with_its_line() -> None:
    with pytest.raises(RenderError) as caught:
        READ.read({"nftables.conf": "table inet railweave {\n chain input {\n }\n"})
    assert caught.value.line == 1
    with pytest.raises(RenderError) as caught:
        READ.read({"nftables.conf": "table inet railweave {\n}\n}\n"})
    assert caught.value.line == 3


def test_lines_are_numbered_as_they_stand() -> None:
    text = system("frr").files(device_config(retargeted("evpn-functional", "frr"), "leaf1"))["frr.conf"]
    lines = text.splitlines()
    found = READ.read({"frr.conf": text}).statements
    assert len(found) > 100
    for one in found:
        assert lines[one.line - 1].strip() == one.path.rpartition(" / ")[2]


@pytest.mark.slow
def test_drawn_fabrics_come_back() -> None:
    configs = [device_config(one, name, "frr") for one in networks("frr")[::2] for name in one_of_each_role(one)]
    assert [line for config in configs for line in lost(config)] == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("match ip address prefix-list A", "match ipv6 address prefix-list B"),
        ("match ip address prefix-list A", "match interface eth0"),
        ("match community A", "match large-community B"),
        ("set community 65000:1", "set large-community 65000:1:1 additive"),
    ],
)
def test_lines_that_a_term_cannot_hold_together_are_not_understood(first: str, second: str) -> None:
    text = f"router bgp 65001\nroute-map M permit 10\n {first}\n {second}\n"
    found = READ.read({"frr.conf": text})
    assert [each.path for each in found.not_understood] == [f"route-map M permit 10 / {second}"]
    assert found.config.bgp
    (policy,) = found.config.bgp.policies
    assert [term.unknown for term in policy.terms] == [(second,)]


def test_any_is_every_prefix_of_a_family() -> None:
    short, long = "ip prefix-list A permit any", "ip prefix-list A seq 5 permit 0.0.0.0/0 le 32"
    end = "\nrouter bgp 65001\nroute-map M permit 10\n match ip address prefix-list A\n"
    found = READ.read({"frr.conf": f"{short}{end}"})
    assert found.not_understood == ()
    assert found.config == READ.read({"frr.conf": f"{long}{end}"}).config
