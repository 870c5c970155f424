"""Running configurations of EOS read back: our own give the design, those of others what they say."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal

import pytest

from railweave.errors import RenderError
from railweave.model.catalog import catalog
from railweave.model.config.compare import compare
from railweave.model.config.secret_words import UNKNOWN_SECRET
from railweave.model.config.sections import Section, parse
from railweave.model.device.build import device_config
from railweave.model.device.config_file import from_document, to_document, to_json
from railweave.model.device.fields import differences
from railweave.model.device.model import DeviceConfig
from railweave.model.device.reading import Reading
from railweave.systems import system
from railweave.systems.eos import read as eos
from tests.access import protected
from tests.conftest import SMALL
from tests.model.config.variants import TOTAL, networks
from tests.outputs.rendering.eos.networks import config, network, one_of_each_role
from tests.protection.packets import designed, managed, of_servers
from tests.protection.readers import typed
from tests.protection.test_sessions import guarded
from tests.systems.eos.texts import GENERATED_LEAF, SHOWN_SPINE

SYSTEM = system("eos")

READS = catalog().systems["eos"].reads
FILE = "eos.conf"


def back(own: DeviceConfig) -> Reading:
    """What is read of the files of a device."""
    return eos.read(SYSTEM.files(own))


def check(own: DeviceConfig) -> None:
    """What is read is what was written, but for what the text cannot say; and every line is known."""
    found = back(own)
    assert differences(own, found.config, without=READS.unsaid) == []
    assert found.not_understood == ()


def text(read: str) -> Reading:
    return eos.read({FILE: read})


@pytest.mark.parametrize("name", SMALL)
def test_examples_are_read_back(name: str) -> None:
    for device in one_of_each_role(name):
        check(config(name, device))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(0, TOTAL, 4))
def test_small_fabrics_are_read_back(number: int) -> None:
    found = networks("eos")[number]
    for one in found.switches:
        check(device_config(found, one.name))


@pytest.mark.parametrize("algorithm", ["md5", "ao-aes-128-cmac", "ao-hmac-sha-1"])
def test_what_protects_logins_and_sessions_is_read_back(
    algorithm: Literal["md5", "ao-aes-128-cmac", "ao-hmac-sha-1"],
) -> None:
    for name, device in (("h100-rlb", "stripe1-leaf1"), ("evpn-functional", "leaf1")):
        check(protected(config(name, device), algorithm))


def test_an_option_of_a_login_server_without_its_value_is_not_understood() -> None:
    files = SYSTEM.files(protected(config("h100-rlb", "stripe1-leaf1"), "md5"))
    assert files[FILE].count(" timeout 3 key") == 2
    for line, new in ((" timeout 3 key", " vrf timeout 3 key"), (" timeout 3 key", " timeout key")):
        found = eos.read({**files, FILE: files[FILE].replace(line, new, 1)})
        assert [unread.path.split()[0] for unread in found.not_understood] == ["tacacs-server"]


def test_rules_of_the_control_plane_let_the_same_packets_pass() -> None:
    for name, device in (("evpn-functional", "leaf1"), ("evpn-server-isolation", "spine1")):
        guarded_network = guarded(network(name))
        own = device_config(guarded_network, device)
        check(own)
        read = replace(own, protection=back(own).config.protection)
        packets = designed(guarded_network, own) + managed(own, "192.0.2.7") + of_servers(own)
        assert [one.what for one in packets if typed(own, one) != typed(read, one)] == []


def test_a_tree_of_the_text_is_that_of_the_design() -> None:
    own = config("h100-rlb", "stripe1-leaf1")
    own = replace(own, management=replace(own.management, banner="Keep out\n\n  of here\n! all\nexit"))
    tree = SYSTEM.trees(own)[FILE]
    parsed = eos.parsed(FILE, SYSTEM.files(own)[FILE])
    assert not compare(tree, parsed)
    assert not compare(parsed, tree)
    assert parsed.nodes[0].at == 2
    assert back(own).config.management.banner == own.management.banner
    assert text(eos.printed(FILE, tree.nodes)).config == back(own).config


def test_a_change_of_a_line_is_a_change_of_the_field() -> None:
    own = config("h100-rlb", "stripe1-leaf1")
    plain = SYSTEM.files(own)[FILE]
    for old, new, field in (
        ("   mtu 9202\n", "   mtu 9100\n", "interfaces.mtu"),
        ("   neighbor spine-green bfd\n", "", "bgp.groups.bfd"),
        ("route-map from-green in", "route-map from-blue in", "bgp.groups.import_policy"),
        ("      neighbor spine-green activate\n", "", "bgp.groups"),
        ("   priority-flow-control priority 3 no-drop", "", "qos.classes.lossless"),
        ("minimum-threshold 1000 kbytes", "minimum-threshold 4000 kbytes", "qos.marking.first"),
        ("qos map dscp 48 to traffic-class 7", "qos map dscp 48 to traffic-class 3", "qos.classes.dscp"),
        ("   switchport access vlan 2\n", "", "interfaces.vlan"),
        ("ra lifetime 1800", "ra lifetime 0", "gateways.advertisements.router_lifetime"),
        ("set local-preference 200", "set local-preference 20", "bgp.policies.terms.action.local_preference"),
        ("ip hardware fib load-balance distribution dynamic", "!", "balancing.group_mode"),
        ("   service-profile ROCE\n", "", "interfaces.pauses"),
        ("   priority-flow-control pause watchdog\n", "", "qos.watchdog"),
        ("interval 1000 min-rx 1000", "interval 900 min-rx 900", "bgp.groups.bfd"),
        ("   no switchport\n", "", "bgp.groups"),
        ("   ipv6 enable\n", "", "bgp.groups"),
        ("ipv6 unicast-routing\n", "", "bgp.families"),
        ("   ipv6 nd ra interval 600 200\n", "", "gateways.advertisements.max_interval"),
    ):
        assert old in plain
        changed = text(plain.replace(old, new, 1)).config
        found = {one.field for one in differences(text(plain).config, changed, without=["qos.classes.name"])}
        assert any(one.startswith(field) for one in found), (field, found)


def test_what_a_terminal_adds_changes_nothing() -> None:
    own = SYSTEM.files(config("evpn-gpu-isolation", "stripe1-leaf1"))[FILE]
    plain = text(own)
    shown = f"leaf1#show running-config\n! Command: show running-config\n{own}leaf1#\n"
    commented = own.replace("   neighbor overlay bfd\n", "   !! watched\n   neighbor overlay bfd\n")
    for other in (shown, own.replace("\n", "\r\n"), commented):
        found = text(other)
        assert found.config == plain.config
        assert [one.path for one in found.statements] == [one.path for one in plain.statements]


def _commands(sections: list[Section]) -> dict[str, object]:
    return {one.line: {"comments": [], "cmds": _commands(one.body)} if one.body else None for one in sections}


def test_json_says_the_same() -> None:
    own = SYSTEM.files(config("evpn-functional", "leaf1"))[FILE]
    document = {"header": ["! Command: show running-config"], "cmds": _commands(parse(own))}
    for form in (document, {"jsonrpc": "2.0", "result": [document]}):
        found = text(json.dumps(form, indent=1))
        assert found.config == text(own).config
        assert found.not_understood == ()
    host = next(one for one in text(json.dumps(document, indent=1)).statements if one.path == "hostname leaf1")
    assert json.dumps(document, indent=1).split("\n")[host.line - 1].strip().startswith('"hostname leaf1"')


def test_a_generated_leaf_is_understood() -> None:
    found = text(GENERATED_LEAF)
    own = found.config
    assert found.not_understood == ()
    assert [(one.name, one.kind, one.peer, one.vlan) for one in own.interfaces] == [
        ("Ethernet5", "server", "server1", "APP"),
        ("Ethernet1", "fabric", "pod1-spine1", None),
        ("Ethernet2", "fabric", "pod1-spine2", None),
    ]
    assert own.interfaces[1].mtu == 9228
    assert own.bgp
    (group,) = own.bgp.groups
    assert [(one.interface, one.peer, one.peer_as) for one in group.sessions] == [
        ("Ethernet1", "pod1-spine1", 65100),
        ("Ethernet2", "pod1-spine2", 65199),
    ]
    assert own.bgp.prefix_lists == {"PL-LOOPBACKS": ("10.8.0.0/27", "10.8.1.0/27")}
    assert own.bgp.authentication
    assert own.bgp.authentication.key == UNKNOWN_SECRET
    assert own.overlay
    assert own.overlay.bfd
    assert (own.overlay.loopback, own.overlay.bfd.minimum_interval) == ("10.8.0.3", 700)
    assert [one.address for one in own.overlay.endpoints] == ["10.8.1.3"]
    assert [(one.name, one.addresses, one.vrf, one.mac) for one in own.gateways] == [
        ("Vlan11", ("172.30.11.1/24",), "APP", "00:1c:73:00:00:77"),
        ("Vlan4093", ("10.7.0.0/31",), "", ""),
    ]
    assert [(one.name, one.vni, one.import_targets) for one in own.vrfs] == [("APP", 500, ("target:500:500",))]
    assert own.mac_vrf
    assert [(one.vlan, one.vni) for one in own.mac_vrf.vlans] == [(11, 10011), (12, 10012)]
    assert (own.management_address, own.management_gateway) == ("192.0.2.21/24", "192.0.2.1")


def test_a_spine_of_a_lab_is_understood() -> None:
    found = text(SHOWN_SPINE)
    own = found.config
    assert found.not_understood == ()
    assert (own.name, own.role, own.release) == ("spine1", "spine", "4.32.0F")
    assert own.bgp
    (group,) = own.bgp.groups
    assert (group.name, group.peer_as_list, group.import_policy) == ("LEAVES", "LEAVES", "(any)")
    assert [(one.interface, one.peer, one.peer_address) for one in group.sessions] == [
        ("Ethernet1", "leaf1", "10.0.1.1"),
        ("Ethernet2", "leaf2", "10.0.1.3"),
    ]
    assert own.bgp.prefix_lists == {"(networks)": ("10.0.250.1/32",)}
    assert own.bgp.redistribute_connected == "(networks)"
    assert own.overlay
    assert own.overlay.reflects
    assert [one.peer_as for one in own.overlay.neighbors] == [65001, 65002]
    assert {one.mtu for one in own.interfaces} == {9228}


def test_what_cannot_be_held_is_not_understood() -> None:
    found = text(
        "router ospf 1\n   max-lsa 12000\nmanagement ssh\n   idle-timeout 9\ninterface Ethernet1\n   mtu many\n"
        "   ip access-group drop-all in\nrouter bgp 65000\n   neighbor 10.0.0.1 remote-as 0\n   neighbor x y z\n   neighbor 10.0.0.2 remote-as 65001\n"
        "username odd secret\nip route 10.0.0.0/8 10.1.1.1\n"
    )
    assert [(one.line, one.hierarchy) for one in found.not_understood] == [
        (1, "router ospf"),
        (2, "router ospf"),
        (6, "interface"),
        (7, "interface"),
        (9, "router bgp"),
        (10, "router bgp"),
        (12, "username"),
        (13, "ip route"),
    ]


def test_secrets_are_not_kept() -> None:
    hushed = ("hashhashhash", "AQQvKeimxJu", "7x4B4rnJhZB", "hushhush", "mycommunity", "0123456789abcdef", "trapword")
    more = (
        "snmp-server community mycommunity ro\nsnmp-server host 192.0.2.4 version 2c trapword\nmac security\n"
        "   profile p\n      key 0abc 7 0123456789abcdef\n"
    )
    found = text(f"{more}{GENERATED_LEAF}")
    said = to_json(found.config) + "\n".join(one.path for one in found.statements)
    assert [one for one in hushed if one in said] == []
    assert found.config.management.users["ops"].password == UNKNOWN_SECRET
    assert found.config.management.snmp
    assert found.config.management.snmp.community == UNKNOWN_SECRET


def test_a_text_that_is_broken_says_where() -> None:
    for broken, line in (("hostname a\nbanner login\nhello\n", 2), ('{"cmds": {\n"hostname a": null,\n}}', 3)):
        with pytest.raises(RenderError) as caught:
            text(broken)
        assert caught.value.line == line


def test_a_text_of_nothing_is_a_configuration() -> None:
    for nothing in ("", "!\n! nothing\nend\n", "{}", '{"cmds": {}}', '["a"]'):
        found = text(nothing)
        assert from_document(to_document(found.config)) == found.config
        assert found.statements == ()


def test_targets_of_a_vrf_may_stand_in_its_address_families() -> None:
    found = text(
        "hostname a\n!\nvrf instance T\n!\ninterface Vxlan1\n   vxlan vrf T vni 9\n!\nrouter bgp 65001\n   !\n   vrf T\n      rd 10.0.0.1:1\n"
        "      !\n      address-family ipv4\n         route-target import evpn 1:9\n         route-target export evpn 1:9\n!\nend\n"
    )
    [vrf] = found.config.vrfs
    assert (vrf.import_targets, vrf.export_targets) == (("target:1:9",), ("target:1:9",))
    assert found.not_understood == ()
