"""What is rendered for Enterprise SONiC reads back, and so does what switches print and people write."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings

from railweave.errors import RenderError
from railweave.model.catalog import catalog
from railweave.model.config.compare import compare
from railweave.model.device.build import device_config
from railweave.model.device.fields import amended, differences
from railweave.model.device.model import DeviceConfig
from railweave.model.device.reading import Reading
from railweave.model.network.model import Network
from railweave.systems import system
from tests.analysis.routing.fabrics import fabrics
from tests.protection.test_sessions import guarded
from tests.retarget import ON_DELL, retargeted
from tests.systems.there_and_back import unknown

SYSTEM = system("dell_sonic")
UNSAID = tuple(catalog().systems["dell_sonic"].reads.unsaid)


def read(text: str) -> Reading:
    assert SYSTEM.reader is not None
    return SYSTEM.reader.read({"running.txt": text})


def wrong(config: DeviceConfig) -> list[object]:
    """What of a configuration does not come back from its files."""
    reader = SYSTEM.reader
    assert reader is not None
    files = SYSTEM.files(config)
    found = reader.read(files)
    trees = SYSTEM.trees(config)
    unlike = [file for file in files if compare(trees[file], reader.parsed(file, files[file]))]
    again = reader.read({file: reader.printed(file, reader.parsed(file, text).nodes) for file, text in files.items()})
    changed = [] if again.config == found.config else ["printed"]
    return [*differences(found.config, config, UNSAID), *found.not_understood, *unlike, *changed]


def configs(network: Network) -> list[DeviceConfig]:
    return [device_config(network, one.name, "dell_sonic") for one in network.switches]


@cache
def every_line() -> list[str]:
    """Lines of configurations of every kind."""
    names = ("h100-rlb", "evpn-functional")
    first = [one for name in names for one in _unlike(configs(guarded(retargeted(name, "dell_sonic"))))]
    return list(
        dict.fromkeys(line for one in first for text in SYSTEM.files(one).values() for line in text.splitlines())
    )


@pytest.mark.parametrize("name", ON_DELL)
def test_examples_read_back(name: str) -> None:
    some = _unlike(configs(retargeted(name, "dell_sonic")))
    assert [found for config in some for found in wrong(config)] == []


def _unlike(every: list[DeviceConfig]) -> list[DeviceConfig]:
    """One switch of each role, tenants and kinds of ports."""
    kinds = {
        (one.role, tuple(vrf.name for vrf in one.vrfs), frozenset(port.kind for port in one.interfaces)): one
        for one in every
    }
    return list(kinds.values())


@pytest.mark.slow
def test_protected_networks_read_back() -> None:
    networks = [
        guarded(retargeted(name, "dell_sonic")) for name in ("h100-rlb", "evpn-functional", "aidc-three-fabrics")
    ]
    assert [found for one in networks for config in _unlike(configs(one)) for found in wrong(config)] == []


@pytest.mark.slow
@settings(max_examples=4)
@given(fabrics())
def test_random_fabrics_read_back(network: Network) -> None:
    assert [found for config in configs(network) for found in wrong(config)] == []


def test_what_has_no_words_is_as_designed() -> None:
    config = configs(retargeted("h100-rlb", "dell_sonic"))[0]
    found = read(SYSTEM.files(config)["sonic.cli"]).config
    whole = amended(config, found, found, UNSAID)
    assert {one.name: one.length_m for one in whole.interfaces} == {one.name: one.length_m for one in config.interfaces}
    assert whole.qos
    assert config.qos
    assert whole.qos.classes.keys() == config.qos.classes.keys()


def test_extra_statements_are_not_understood() -> None:
    config = configs(retargeted("h100-rlb", "dell_sonic"))[0]
    extra = replace(
        config, extra="mclag domain 1\n source-ip 10.0.0.1\nrouter bgp 1\n neighbor 10.9.9.9\n  allowas-in\n"
    )
    paths = {one.path for one in read(SYSTEM.files(extra)["sonic.cli"]).not_understood}
    assert {
        "mclag domain 1",
        "mclag domain 1 / source-ip 10.0.0.1",
        "router bgp 1 / neighbor 10.9.9.9 / allowas-in",
    } <= paths


PRINTED = """!
interface breakout port 1/3 mode 2x400G
ip vrf VrfRed
!
interface Vlan20
 description "servers of red"
 ip vrf forwarding VrfRed
 ip anycast-address 10.20.0.1/24
!
interface Vlan3900
 ip vrf forwarding VrfRed
!
interface Loopback 0
 ip address 10.255.7.1/32
!
interface Loopback 1
 ip address 10.254.7.1/32
!
interface Eth1/3/1
 mtu 9100
 speed 400000
 unreliable-los auto
 no shutdown
 ip address 10.9.0.1/31
!
interface Eth1/4
 speed 100000
 no shutdown
 switchport access Vlan 20
!
router bgp 65101
 router-id 10.255.7.1
 log-neighbor-changes
 timers 60 180
 !
 address-family ipv4 unicast
  network 10.255.7.1/32
  maximum-paths 16
 !
 address-family l2vpn evpn
  advertise-all-vni
 !
 peer-group SPINES
  remote-as external
  bfd
  !
  address-family ipv4 unicast
   activate
 !
 neighbor 10.9.0.0
  peer-group SPINES
 !
 neighbor 10.255.0.1
  remote-as 65000
  ebgp-multihop 3
  update-source Loopback0
  !
  address-family l2vpn evpn
   activate
!
router bgp 65101 vrf VrfRed
 !
 address-family ipv4 unicast
  redistribute connected
 !
 address-family l2vpn evpn
  rd 10.255.7.1:20
  route-target both 65101:20
!
interface vxlan vtep1
 source-ip Loopback1
 map vni 3020 vlan 20
 map vni 4020 vlan 3900
 map vni 4020 vrf VrfRed
!
"""
"""Written as a switch prints its running configuration."""

FLAT = """
leaf1(config)# qos scheduler-policy Q
!
queue 3
type dwrr
weight 40
!
queue 6
type strict
!
qos map dscp-tc Q
dscp 0-25,27-47,49-63 traffic-class 0
dscp 26 traffic-class 3
dscp 48 traffic-class 6
!
interface Eth 1/1
description "to spine1"
ipv6 enable
scheduler-policy Q
qos-map dscp-tc Q
priority-flow-control priority 3
exit
interface range Eth 1/5-1/6
switchport access Vlan 7
exit
interface vlan 7
ip address 10.7.0.1/24
end
configure terminal
router bgp 65001
neighbor interface Eth 1/1
remote-as 65000
address-family ipv4 unicast
activate
route-map TAKE in
exit
exit
neighbor 10.7.0.9
remote-as 65009
address-family ipv4 unicast
activate
exit
exit
route-map TAKE permit 10
set local-preference 50
"""
"""Written as people write down what they typed."""


def test_running_configuration_of_another_network() -> None:
    found = read(PRINTED)
    config = found.config
    assert found.not_understood == ()
    assert [(one.name, one.kind, one.vlan, one.speed_gbps) for one in config.interfaces] == [
        ("Eth1/3/1", "fabric", None, 400),
        ("Eth1/4", "server", "vn20", 100),
    ]
    assert [(one.vlan, one.vrf, one.addresses) for one in config.gateways] == [(20, "VrfRed", ("10.20.0.1/24",))]
    assert config.bgp
    assert config.overlay
    assert (config.bgp.asn, config.bgp.maximum_ecmp, config.bgp.prefix_lists) == (
        65101,
        16,
        {"(networks)": ("10.255.7.1/32",)},
    )
    sessions = [(one.interface, one.peer_address) for group in config.bgp.groups for one in group.sessions]
    assert sessions == [("Eth1/3/1", "10.9.0.0")]
    assert [one.peer_address for one in config.overlay.neighbors] == ["10.255.0.1"]
    assert [one.address for one in config.overlay.endpoints] == ["10.254.7.1"]
    assert [(one.name, one.vni, one.import_targets) for one in config.vrfs] == [("VrfRed", 4020, ("target:65101:20",))]


def test_lines_that_are_not_indented() -> None:
    found = read(FLAT)
    config = found.config
    unserved = "qos map dscp-tc Q / dscp 0-25,27-47,49-63 traffic-class 0"
    assert [one.path for one in found.not_understood] == [unserved], "the scheduler policy has no queue 0"
    assert [(one.name, one.kind, one.vlan) for one in config.interfaces] == [
        ("Eth1/1", "fabric", None),
        ("Eth1/5", "server", "vn7"),
        ("Eth1/6", "server", "vn7"),
    ]
    assert config.qos
    assert config.bgp
    assert {one.queue: (one.dscp, one.transmit_percent) for one in config.qos.classes.values()} == {
        3: ((26,), 40),
        6: ((48,), None),
    }
    assert [(one.name, one.import_policy, len(one.sessions)) for one in config.bgp.groups] == [
        ("Eth1/1", "TAKE", 1),
        ("10.7.0.9", "(any)", 1),
    ]


TYPED = """interface Ethernet 1
ipv6 enable
exit
!
router bgp 65000
router-id 10.0.1.0
!
peer-group LEAFS
remote-as external
bfd
capability extended-nexthop
!
address-family ipv4 unicast
activate
exit
exit
!
neighbor interface Ethernet 1
peer-group LEAFS
description leaf-1
end
"""
"""Commands as they are typed: ``bfd`` is a setting of the group, and ``peer-group`` one of the neighbor."""


def test_commands_as_they_are_typed() -> None:
    found = read(TYPED)
    assert found.not_understood == ()
    assert found.config.bgp
    assert found.config.bgp.bfd
    assert [(one.name, len(one.sessions)) for one in found.config.bgp.groups] == [("LEAFS", 1)]


def test_a_password_is_not_told() -> None:
    found = read(
        "username admin password $6$rounds$abcdef role admin\nsnmp-server community hunter2\n"
    ).config.management
    assert (found.users["admin"].password, found.snmp and found.snmp.community) == ("secret:?", "secret:?")
    assert "hunter2" not in repr(found)


def test_one_port_that_is_not_like_the_others_shows() -> None:
    config = configs(retargeted("h100-rlb", "dell_sonic"))[0]
    text = SYSTEM.files(config)["sonic.cli"]
    before, after, port = text.rpartition("  priority-flow-control watchdog action drop\n".lstrip(" "))
    assert after
    assert port
    changed = read(f"{before}priority-flow-control watchdog action forward\n{port}").config
    assert [one.field for one in differences(read(text).config, changed, UNSAID)] == ["qos.watchdog.action"]


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("traffic-class 3 priority-group 3", "traffic-class 3 priority-group 4"),
        ("pfc-priority 0 queue 0", "pfc-priority 0 queue 5"),
        ("traffic-class 5 queue 5", "traffic-class 5 queue 0"),
        ("dscp 48 traffic-class 6", "dscp 48 traffic-class 5"),
        ("type dwrr", "type wrr"),
        ("queue 3 wred-policy ROCE", "queue 4 wred-policy ROCE"),
        ("priority-flow-control watchdog action drop", "priority-flow-control watchdog action alert"),
    ],
)
def test_qos_that_has_no_value_is_not_understood(line: str, changed: str) -> None:
    text = SYSTEM.files(configs(retargeted("h100-rlb", "dell_sonic"))[0])["sonic.cli"]
    assert f" {line}\n" in text
    found = read(text.replace(f" {line}\n", f" {changed}\n", 1))
    assert [one.path.rpartition(" / ")[2] for one in found.not_understood] == [changed]


@pytest.mark.parametrize(
    ("line", "changed", "field"),
    [
        ("watchdog on detect-time 200", "watchdog on detect-time 250", "qos.watchdog.detection"),
        ("ars bind ROCE", "ars bind OTHER", "balancing.group_mode"),
        ("set ars-object ROCE", "set ars-object OTHER", "balancing.group_mode"),
        ("ars bind profile ROCE", "ars bind profile OTHER", "balancing.group_mode"),
        ("scheduler-policy ROCE", "scheduler-policy OTHER", "qos.ports"),
    ],
)
def test_qos_of_another_kind_shows(line: str, changed: str, field: str) -> None:
    text = SYSTEM.files(configs(retargeted("h100-rlb", "dell_sonic"))[0])["sonic.cli"]
    assert f"{line}\n" in text
    before, _, after = text.rpartition(f"{line}\n")
    found = read(f"{before}{changed}\n{after}").config
    assert field in {one.field for one in differences(read(text).config, found, UNSAID)}


@pytest.mark.parametrize("text", ['{"PORT": {}}', "<configuration/>", "hostname a\nmtu \0\n"])
def test_a_text_of_another_form_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(RenderError) as error:
        read(text)
    assert error.value.line == text.count("\n", 0, text.find("\0")) + 1 if "\0" in text else 1


@pytest.mark.parametrize(
    "line",
    [
        "ip prefix-list L seq 10 permit 2001:db8::/32",
        "bgp community-list standard C permit 64512:2 any",
        "bgp community-list standard C permit 64512:2 all",
        "bgp community-list standard D deny 64512:2 any",
    ],
)
def test_an_entry_that_a_list_cannot_hold_is_not_understood(line: str) -> None:
    before = "ip prefix-list L seq 5 permit 10.0.0.0/8\nbgp community-list standard C permit 64512:1 any\n"
    assert [one.path for one in read(before + line).not_understood] == [line]


@pytest.mark.parametrize("words", ["deny 10.1.0.0/16", "permit 10.1.0.0/16 le 24", "permit 10.1.0.0/16 ge 17 le 32"])
def test_entries_of_a_list_count_one_by_one(words: str) -> None:
    found = read(f"router bgp 65001\nip prefix-list L seq 5 permit 10.0.0.0/8\nip prefix-list L seq 10 {words}\n")
    assert found.not_understood == ()
    assert found.config.bgp
    entries = [entry for listed in found.config.bgp.entry_lists for entry in listed.entries]
    assert len(entries) == (0 if "deny" in words else 2)  # behind it all is denied anyway


def test_an_entry_that_no_route_matches_is_not_understood() -> None:
    text = "route-map M permit 10\n match ip address prefix-list A\n match ipv6 address prefix-list B\n"
    assert [one.path for one in read(text).not_understood] == [
        "route-map M permit 10 / match ipv6 address prefix-list B"
    ]


def test_a_profile_that_sends_at_another_interval_is_not_understood() -> None:
    text = "bfd\n profile slow\n  receive-interval 300\n  transmit-interval 100\n"
    assert [one.path for one in read(text).not_understood] == ["bfd / profile slow / receive-interval 300"]


def test_routes_are_shared_by_an_object_that_there_is() -> None:
    text = f"{SHARED}ars object ROCE\n mode flowlet-quality\n!\nars profile default\n sampling-interval 100\n!\nars port-profile default\n enable\n!\nars bind profile default\n"
    modes = [read(text.replace("ROCE", name, 1)).config.balancing.group_mode for name in ("ROCE", "OTHER")]
    assert modes == ["dlb-flowlet", "ecmp"]


SHARED = """router bgp 65001
 neighbor interface Eth1/1
  remote-as 65000
  address-family ipv4 unicast
   activate
   route-map TAKE in
!
interface Eth1/1
 ars bind default
!
route-map TAKE permit 10
 set ars-object ROCE
!
"""


MARKED = """router bgp 65001
 router-id 192.0.2.1
 neighbor 10.255.0.1
  remote-as 65000
  address-family l2vpn evpn
   activate
   route-map TO out
!
bgp community-list standard MARK permit 64512:9 any
route-map TO deny 10
 match community MARK
!
route-map TO permit 20
!
"""


def test_no_route_is_kept_back_behind_an_entry_that_takes_every_route() -> None:
    marks = [read(text).config.overlay for text in (MARKED, MARKED.replace("deny 10", "deny 30"))]
    assert [one.from_spine for one in marks if one] == ["64512:9", ""]


POLICY = """router bgp 65001
 address-family ipv4 unicast
 !
 address-family ipv6 unicast
!
ip prefix-list L seq 10 permit 10.1.0.0/16
ip prefix-list L seq 5 permit 10.2.0.0/16
ip prefix-list L permit 10.3.0.0/16
ipv6 prefix-list L seq 5 permit 2001:db8::/32
bgp community-list standard C permit 64512:1 all
!
route-map M permit 20
 set community 64512:1 additive
!
route-map M permit 10
 match ip address prefix-list L
 set local-preference 50
!
route-map M deny 10
 match community C
"""


def test_lists_and_route_maps_are_in_the_order_of_their_numbers() -> None:
    found = read(POLICY)
    assert found.not_understood == ()
    assert found.config.bgp
    assert found.config.bgp.prefix_lists == {"L": ("10.2.0.0/16", "10.1.0.0/16", "10.3.0.0/16", "2001:db8::/32")}
    assert [(one.name, one.value) for one in found.config.bgp.communities] == [("C", "64512:1")]
    first, second = found.config.bgp.policies[0].terms
    assert (first.action.accept, first.action.local_preference) == (False, 50)
    assert (first.match.prefix_list, first.match.family, first.match.community) == ("L", "ipv4", "C")
    assert (second.action.accept, second.action.add_communities) == (True, ("C",))


def test_a_port_of_the_fabric_without_its_session_keeps_its_addresses() -> None:
    config = next(one for one in configs(retargeted("aidc-three-fabrics", "dell_sonic")) if one.role == "leaf")
    assert config.bgp is not None
    text = SYSTEM.files(config)["sonic.cli"]
    session = next(one for group in config.bgp.groups for one in group.sessions if one.interface)
    head = next(line for line in text.splitlines() if line.strip() == f"neighbor {session.peer_address}")
    before, _, after = text.partition(f"{head}\n")
    deep = len(head) - len(head.lstrip())
    lines = after.splitlines(keepends=True)
    rest = next(place for place, line in enumerate(lines) if len(line) - len(line.lstrip()) <= deep)
    changed = read(before + "".join(lines[rest:])).config
    fields = {one.field for one in differences(read(text).config, changed, UNSAID)}
    assert not {"bgp.groups", "bgp.groups.sessions"}.isdisjoint(fields)
    assert not [one for one in fields if one.startswith(("interfaces", "gateways"))]


def test_every_priority_is_paused() -> None:
    """No priority group is left for lossy classes, and no traffic class goes into one."""
    config = device_config(retargeted("h100-rlb", "dell_sonic"), "stripe1-leaf1")
    assert config.qos is not None
    lossless = next(one for one in config.qos.classes.values() if one.lossless)
    classes = {f"class-{number}": replace(lossless, queue=number, pfc_priority=number) for number in range(8)}
    every = replace(config, qos=replace(config.qos, classes=classes, default_class="class-0"))
    files = SYSTEM.files(every)
    text = "".join(files[file] for file in SYSTEM.configurations(every))
    groups = [line.split() for line in text.splitlines() if " priority-group " in line and "traffic-class" in line]
    assert [(line[1], line[3]) for line in groups] == [(str(number), str(number)) for number in range(8)]
    assert SYSTEM.reader is not None
    found = SYSTEM.reader.read(files).config.qos
    assert found is not None
    assert sorted(one.pfc_priority for one in found.classes.values() if one.pfc_priority is not None) == [*range(8)]


PUBLIC = """\
hostname a
tacacs-server host 10.0.0.1 vrf mgmt
interface Management 0
 mtu 1500
interface Eth1/1
 qos-map dot1p-tc ROCE
 qos-map tc-dscp ROCE
router bgp 65001
 address-family ipv4 unicast
  maximum-paths ibgp 1
  maximum-paths ibgp 4
 neighbor interface Eth1/1
  timers 3 9
"""


def test_lines_of_public_files_are_what_they_do() -> None:
    """A login server without a key ended reading; ports with a slash in their name missed the patterns of others."""
    assert unknown(read(PUBLIC)) == [
        "7: interface Eth1/1 / qos-map tc-dscp ROCE",
        "11: router bgp 65001 / address-family ipv4 unicast / maximum-paths ibgp 4",
    ]
