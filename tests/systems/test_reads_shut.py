"""What shuts, drains, filters or disables something: it is in the configuration that is read, or it is not understood."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from railweave.analysis.checks.devices import compare_device
from railweave.analysis.routing.control_plane import ControlPlane, unlike_links
from railweave.model.catalog import in_force
from railweave.model.device.bgp_model import ways_to_one_as
from railweave.model.device.build import device_config
from railweave.systems import system
from tests.conftest import example
from tests.protection.test_sessions import guarded
from tests.retarget import retargeted
from tests.systems.test_ospf import EOS, FRR, JUNOS
from tests.systems.there_and_back import reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.device.model import DeviceConfig
    from railweave.model.device.reading import Reading
    from railweave.model.network.model import Network

EXAMPLE, DEVICE = "evpn-functional", "leaf1"
SYSTEMS = ("junos", "eos", "frr", "sonic", "dell_sonic")
FILES = {"junos": "junos.set", "eos": "eos.conf", "frr": "frr.conf", "sonic": "frr.conf", "dell_sonic": "sonic.cli"}
"""The file of each system that a changed line stands in."""

TABLES = "config_db.json"
BGP = "router bgp 4200001001 / "
PORTS = {"junos": "et-0/0/0:0", "eos": "Ethernet1/1", "frr": "et-0", "sonic": "Ethernet0", "dell_sonic": "Eth1/1"}
"""A port to a spine."""


@cache
def network(nos: str) -> Network:
    return example(EXAMPLE) if nos == "junos" else retargeted(EXAMPLE, nos)


@cache
def config(nos: str) -> DeviceConfig:
    with in_force(network(nos).catalog):
        return device_config(network(nos), DEVICE, nos)


@cache
def texts(nos: str) -> dict[str, str]:
    files = system(nos).files(config(nos))
    return {file: files[file] for file in (*([TABLES] if nos == "sonic" else []), FILES[nos])}


@cache
def base(nos: str) -> Reading:
    return reader(nos).read(texts(nos))


def below(text: str, path: str, step: int) -> str:
    """A text with a line at the end of the section that a path ``HEADER / LINE`` names; a header that is not there comes last."""
    *headers, line = path.split(" / ")
    lines = text.split("\n")
    low, high = 0, len(lines)
    while high and lines[high - 1].strip() in {"", "end", "write memory"}:
        high -= 1
    for depth, header in enumerate(headers):
        margin = " " * (step * depth)
        place = next((at for at in range(low, high) if lines[at] == margin + header), None)
        if place is None:
            lines.insert(high, margin + header)
            place, high = high, high + 1
        low = end = place + 1
        while end < high and lines[end].startswith(f"{margin} "):
            end += 1
        high = end
    lines.insert(high, " " * (step * len(headers)) + line)
    return "\n".join(lines)


def changed(nos: str, *changes: str, files: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """The texts with changes: a line with its headers, a table with its rows (JSON), or ``- LINE`` to be left out."""
    found = dict(files or texts(nos))
    for change in changes:
        if change.startswith("{"):
            tables = json.loads(found[TABLES])
            for table, rows in json.loads(change).items():
                for key, fields in rows.items():
                    tables.setdefault(table, {}).setdefault(key, {}).update(fields)
            found[TABLES] = json.dumps(tables, indent=1)
        elif change.startswith("- "):
            pattern = rf"(?m)^ *{re.escape(change[2:])}\n"
            found[FILES[nos]], count = re.subn(pattern, "", found[FILES[nos]])
            assert count
        elif nos == "junos":
            found[FILES[nos]] += f"{change}\n"
        else:
            found[FILES[nos]] = below(found[FILES[nos]], change, 3 if nos == "eos" else 1)
    return found


def row(table: str, key: str, **fields: str) -> str:
    return json.dumps({table: {key: fields}})


GROUP = "set protocols bgp group spine-underlay"
READ: dict[str, tuple[str, ...]] = {
    "eos": (
        f"{BGP}shutdown",
        f"{BGP}neighbor spine-underlay shutdown",
        f"{BGP}neighbor 10.255.0.6 shutdown reason maintenance",
        f"{BGP}address-family ipv4 / no neighbor spine-underlay activate",
        f"{BGP}maximum-paths 8 ecmp 2",
        "interface Ethernet1/1 / shutdown",
        "interface Ethernet1/1 / vrf tenant-1",
        "interface Ethernet1/1 / channel-group 3 mode active",
        "interface Ethernet1/1 / speed auto",
        "interface Loopback0 / vrf tenant-1",
        "interface Vxlan1 / shutdown",
        "interface Management1 / shutdown",
        "interface Vlan3 / shutdown",
        "- ip routing ipv6 interfaces",
        "- ipv6 unicast-routing",
        "- ipv6 unicast-routing vrf tenant-1",
    ),
    "frr": (
        f"{BGP}bgp shutdown",
        f"{BGP}bgp shutdown message maintenance",
        f"{BGP}neighbor spine-underlay shutdown",
        f"{BGP}neighbor et-0 shutdown message maintenance",
        f"{BGP}neighbor overlay shutdown",
        f"{BGP}address-family ipv4 unicast / no neighbor et-0 activate",
        f"{BGP}address-family ipv4 unicast / maximum-paths 1",
        "interface et-0 / vrf tenant-1",
        "interface et-0 / shutdown",
        "- bgp bestpath as-path multipath-relax",
    ),
    "sonic": (
        f"{BGP}bgp shutdown",
        f"{BGP}neighbor spine-underlay shutdown",
        "interface Ethernet0 / shutdown",
        row("PORT", "Ethernet0", admin_status="down"),
        row("PORT", "Ethernet8", fec="none"),
        row("VLAN", "Vlan2", admin_status="down"),
        row("INTERFACE", "Ethernet0", vrf_name="Vrf-tenant-1"),
        row("LOOPBACK_INTERFACE", "Loopback0", vrf_name="Vrf-tenant-1"),
        row("FEATURE", "bgp", state="disabled"),
        row("FEATURE", "lldp", state="disabled"),
    ),
    "dell_sonic": (
        f"{BGP}peer-group spine-underlay / shutdown",
        f"{BGP}neighbor interface Eth1/1 / shutdown message maintenance",
        f"{BGP}peer-group overlay / shutdown",
        f"{BGP}address-family ipv4 unicast / maximum-paths 1",
        "interface Eth1/1 / shutdown",
        "interface Eth1/1 / fec FC",
        "interface Eth1/1 / ip vrf forwarding Vrf-tenant-1",
        "interface Vlan 2 / shutdown",
        "- bestpath as-path multipath-relax",
    ),
    "junos": (
        "set interfaces et-0/0/0:0 disable",
        "set interfaces et-0/0/0:0 gigether-options fec fec74",
        "set interfaces et-0/0/0:0 unit 0 family inet6 mtu 1300",
        "set routing-instances tenant-1 vrf-export nobody",
        "set routing-instances tenant-1 vrf-import nobody",
        "- set policy-options policy-statement tenant-prefixes term direct then accept",
        "set interfaces et-0/0/0:0 unused",
        "set interfaces et-0/0/0:0 unit 0 disable",
        "set protocols lldp disable",
        "set protocols lldp interface all disable",
        "set routing-instances tenant-1 interface et-0/0/0:0.0",
        "set chassis maximum-ecmp 1",
        "deactivate interfaces et-0/0/0:0",
        "deactivate interfaces et-0/0/0:0 unit 0",
        "deactivate interfaces et-0/0/0:0 unit 0 family inet6",
        "deactivate interfaces lo0",
        "deactivate protocols bgp group overlay neighbor 10.255.0.6",
        "deactivate protocols bgp group spine-underlay",
        "deactivate protocols bgp",
        "deactivate routing-options forwarding-table",
    ),
}
"""Changes that are in the configuration that is read."""

FRR_UNKNOWN = (
    *(
        f"{BGP}{words}"
        for words in (
            "bgp graceful-shutdown",
            "bgp max-med administrative",
            "bgp max-med on-startup 600",
            "bgp default shutdown",
            "bgp default local-preference 0",
            "bgp default ipv6-unicast",
            "bgp always-compare-med",
            "bgp minimum-holdtime 100",
            "bgp listen limit 1",
            "bgp dampening",
            "bgp reject-as-sets",
            "no bgp bestpath as-path multipath-relax",
            "bgp bestpath as-path ignore",
            "timers bgp 0 0",
            "distance bgp 255 255 255",
            "neighbor spine-underlay passive",
            "neighbor spine-underlay shutdown rtt 5",
            "neighbor spine-underlay dont-capability-negotiate",
            "neighbor spine-underlay strict-capability-match",
            "neighbor spine-underlay capability orf prefix-list both",
            "neighbor spine-underlay graceful-restart-disable",
            "neighbor spine-underlay bfd strict",
            "address-family ipv4 unicast / distance bgp 20 200 255",
            "address-family ipv4 unicast / distance 255 10.0.0.0/8",
            "address-family ipv4 unicast / neighbor spine-underlay maximum-prefix 3",
            "address-family ipv4 unicast / neighbor spine-underlay maximum-prefix-out 3",
            "address-family ipv4 unicast / neighbor spine-underlay next-hop-self force",
            "address-family ipv4 unicast / no neighbor spine-underlay send-community",
            "address-family ipv4 unicast / table-map none",
            "address-family l2vpn evpn / flooding disable",
            "address-family l2vpn evpn / dup-addr-detection freeze permanent",
        )
    ),
    "router bgp 4200001001 vrf tenant-1 / address-family ipv6 unicast / maximum-paths 1",
    "no ip forwarding",
    "no ipv6 forwarding",
    "bgp no-rib",
    "ip protocol bgp route-map none",
    "ipv6 protocol any route-map to-spines",
    "ip nht bgp route-map none",
    "no router bgp",
    "route-map to-spines permit 5 / set community 65535:0 additive",
    "route-map to-spines permit 6 / set community graceful-shutdown additive",
    "vrf tenant-1 / ip protocol bgp route-map none",
    "bfd / profile fabric / shutdown",
    *(
        f"router bgp 4200001001 vrf tenant-1 / {words}"
        for words in (
            "bgp shutdown",
            "address-family ipv6 unicast / network ::/0",
            "address-family ipv6 unicast / redistribute connected route-map none",
        )
    ),
)
UNKNOWN: dict[str, tuple[str, ...]] = {
    "eos": (
        *(
            f"{BGP}{words}"
            for words in (
                "neighbor default shutdown",
                "neighbor spine-underlay passive",
                "neighbor spine-underlay graceful-shutdown",
                "graceful-shutdown",
                "distance bgp 20 200 255",
                "distance bgp 255",
                "neighbor spine-underlay maximum-routes 10",
                "neighbor spine-underlay maximum-accepted-routes 10",
                "neighbor spine-underlay session tracker x",
                "neighbor spine-underlay metric-out 100",
                "neighbor spine-underlay dont-capability-negotiate",
                "neighbor spine-underlay timers 0 0",
                "neighbor overlay ttl maximum-hops 0",
                "no neighbor spine-underlay send-community",
                "neighbor spine-underlay send-community standard",
                "timers bgp 0 0",
                "no bgp bestpath as-path multipath-relax",
                "bgp bestpath as-path ignore",
                "bgp always-compare-med",
                "bgp route install-map x",
                "dynamic peer max 1",
                "ucmp mode 1",
                "address-family evpn / route export x",
                "address-family evpn / neighbor overlay next-hop-self",
                "vrf tenant-1 / shutdown",
                "vrf tenant-1 / maximum-paths 1",
                "vrf tenant-1 / redistribute connected route-map none",
                "bgp listen range 10.0.0.0/8 peer-group spine-underlay remote-as 5",
            )
        ),
        *(
            f"interface Ethernet1/1 / {words}"
            for words in (
                "error-correction encoding fire-code",
                "no error-correction encoding",
                "no error-correction encoding reed-solomon",
                "encapsulation dot1q vlan 3",
                "no lldp transmit",
                "spanning-tree guard loop",
                "link tracking group x downstream",
                "transceiver transmitter disabled",
                "traffic-loopback source system device mac",
                "profile x",
                "dot1x port-control force-unauthorized",
                "l2-protocol encapsulation dot1q vlan 3",
                "flowcontrol receive on",
                "tx-queue 3 / shape rate 100",
                "ip access-group x in",
                "ipv6 access-group x in",
                "mac access-group x in",
                "ipv6 nd ra disabled",
                "port-channel min-links 3",
            )
        ),
        "no router bgp",
        "route-map to-spines permit 5 / set community 65535:0 additive",
        "route-map to-spines permit 6 / set community GSHUT additive",
        "router general / vrf tenant-1 / leak routes source-vrf default subscribe-policy x",
        "maintenance / unit System / quiesce",
        "maintenance / interface Ethernet1/1 / quiesce",
        "maintenance / bgp 10.255.0.6 / quiesce",
        "no ip routing",
        "no ipv6 unicast-routing",
        "vlan 3 / state suspend",
        "vlan 3 / trunk group x",
        "no service routing protocols model multi-agent",
        "service routing protocols model ribd",
        "errdisable flap-setting cause link-flap max-flaps 1 time 1",
        "hardware port-group 1 select Ethernet1/1",
        "hardware speed-group 1 serdes 10g",
        "monitor link-flap policy / profile x",
        "link tracking group x / links minimum 2",
        "no power enable module Linecard3",
        "agent Bgp shutdown",
        "mac address-table static 0000.0000.0001 vlan 3 drop",
        "switchport default mode access",
        "dot1x system-auth-control",
        "priority-flow-control all off",
        "qos rewrite dscp",
        "default interface Ethernet1/1",
        "event-handler x / action bash shutdown",
        "ip route vrf MGMT 10.0.0.0/8 Null0",
        "no mac address-table learning vlan 3",
        "spanning-tree edge-port bpduguard default",
        "interface Vxlan1 / vxlan qos map dscp",
    ),
    "frr": (*FRR_UNKNOWN, "interface et-0 / no multicast", "interface lo / shutdown"),
    "sonic": (
        *FRR_UNKNOWN,
        row("PORT", "Ethernet8", autoneg="on", adv_speeds="100000", link_training="on", pfc_asym="on", tpid="0x9100"),
        row("VLAN", "Vlan4094", admin_status="down"),
        row("LOOPBACK", "Loopback0", admin_status="down"),
        row("LOOPBACK_INTERFACE", "Loopback0", admin_status="down"),
        row("INTERFACE", "Ethernet8", admin_status="down", loopback_action="drop", ipv6_use_link_local_only="disable"),
        row("PORTCHANNEL", "PortChannel1", admin_status="down"),
        row("BGP_DEVICE_GLOBAL", "STATE", tsa_enabled="true", idf_isolation_state="isolated_no_export"),
        row("DEVICE_METADATA", "localhost", docker_routing_config_mode="separated", default_pfcwd_status="enable"),
        row("FEATURE", "swss", state="disabled"),
        row("FEATURE", "syncd", state="always_disabled"),
        row("MGMT_PORT", "eth0", admin_status="down"),
        row("FLEX_COUNTER_TABLE", "PFCWD", FLEX_COUNTER_STATUS="disable"),
        row("COPP_GROUP", "queue4_group1", cir="1", red_action="drop"),
        row("ACL_TABLE", "x", type="L3", stage="ingress"),
        row("POLICY_BINDING_TABLE", "Ethernet0", INGRESS_FORWARDING_POLICY="x"),
        row("STP", "GLOBAL", mode="pvst"),
        row("UDLD", "GLOBAL", admin_enable="true"),
        row("MUX_CABLE", "Ethernet0", state="standby"),
        row("FG_NHG", "x", bucket_size="3"),
        row("VXLAN_EVPN_NVO", "nvo", source_vtep="x"),
        row("SWITCH", "switch", ecmp_hash_seed="5"),
        row("SWITCH", "switch", fdb_unicast_miss_packet_action="drop"),
        row("VRF", "Vrf-tenant-1", fallback="true"),
        row("CHASSIS_MODULE", "LINE-CARD0", admin_status="down"),
    ),
    "dell_sonic": (
        *(
            f"{BGP}{words}"
            for words in (
                "shutdown",
                "graceful-shutdown",
                "max-med administrative",
                "default shutdown",
                "timers 0 0",
                "bestpath as-path ignore",
                "bestpath med missing-as-worst",
                "always-compare-med",
                "no fast-external-failover",
                "address-family ipv4 unicast / distance bgp 255 255 255",
                "address-family ipv4 unicast / dampening",
                "address-family ipv4 unicast / table-map x",
                *(
                    f"peer-group spine-underlay / {line}"
                    for line in (
                        "passive",
                        "strict-capability-match",
                        "dont-capability-negotiate",
                        "timers 0 0",
                        "address-family ipv4 unicast / maximum-prefix 3",
                        "address-family ipv4 unicast / no activate",
                        "address-family ipv4 unicast / send-community standard",
                        "address-family ipv4 unicast / prefix-list x in",
                    )
                ),
            )
        ),
        *(
            f"interface Eth1/2 / {words}"
            for words in (
                "fec AUTO",
                "autoneg on",
                "speed auto",
                "advertised-speed 100000",
                "ip access-group x in",
                "ipv6 access-group x in",
                "service-policy type acl-copp in x",
                "link state track x upstream",
                "udld aggressive",
                "lldp disable",
                "lldp transmit disable",
                "spanning-tree bpduguard",
                "encapsulation dot1q vlan-id 5",
                "channel-group 3",
            )
        ),
        "router bgp 4200001001 vrf Vrf-tenant-1 / address-family ipv6 unicast / maximum-paths 1",
        "interface Loopback 0 / shutdown",
        "interface Vlan 4094 / shutdown",
        "interface PortChannel 3 / shutdown",
        "interface Management 0 / shutdown",
        "interface Vlan 2 / ip access-group x in",
        "interface vxlan vtep / shutdown",
        "interface vxlan vtep / qos-mode pipe dscp 0",
        "ip route vrf mgmt 0.0.0.0/0 blackhole",
        "lldp mode transmit",
        *(
            f"router bgp 4200001001 vrf Vrf-tenant-1 / {words}"
            for words in (
                "shutdown",
                "address-family ipv6 unicast / network ::/0",
                "address-family ipv6 unicast / redistribute connected route-map none",
            )
        ),
        "no router bgp",
        "route-map to-spines permit 5 / set community 65535:0 additive",
        "route-map to-spines permit 6 / set community graceful-shutdown additive",
        "no ip routing",
        "no ip forward",
        "no ip vrf Vrf-tenant-1",
        "bfd / profile fabric / passive-mode",
        "bfd / peer 10.255.0.6 / shutdown",
        "line vty / ip access-group x in",
        "copp-policy x",
        "errdisable link-flap x",
        "link state track x / timeout 3",
        "port-group 1 speed 10000",
        "system mode maintenance",
    ),
    "junos": (
        *(
            f"set protocols bgp {words}"
            for words in (
                "disable",
                "passive",
                "hold-time 0",
                "graceful-shutdown sender",
                "graceful-shutdown receiver local-preference 0",
                "keep none",
                "path-selection as-path-ignore",
                "path-selection always-compare-med",
                "minimum-hold-time 100",
                "tcp-connect-port 1179",
                "graceful-restart disable",
                "preference 255",
                "local-preference 0",
                "group overlay disable",
                "group overlay neighbor 10.255.0.6 disable",
                "group overlay neighbor 10.255.0.7 shutdown",
                "group overlay neighbor 10.255.0.8 passive",
            )
        ),
        *(
            f"{GROUP} {words}"
            for words in (
                "disable",
                "passive",
                "graceful-shutdown sender",
                "multipath disable",
                "family inet unicast prefix-limit maximum 3",
                "family inet unicast accepted-prefix-limit maximum 3",
            )
        ),
        *(
            f"set interfaces et-0/0/0:0 {words}"
            for words in (
                "damping enable",
                "gigether-options no-auto-negotiation",
                "gigether-options loopback",
                "gigether-options flow-control",
                "link-mode half-duplex",
                "optics-options tx-power -10",
                "unit 0 family inet6 rpf-check",
                "unit 0 family inet6 no-neighbor-learn",
                "unit 0 family inet6 filter input foo",
                "unit 0 input-vlan-map pop",
                "unit 0 vlan-id 5",
                "unit 1 family inet",
                "native-vlan-id 5",
                "vlan-tagging",
                "encapsulation ethernet-bridge",
            )
        ),
        "set policy-options community local members 65535:0",
        "set interfaces lo0 disable",
        "set interfaces lo0 unit 0 disable",
        "set interfaces ae0 aggregated-ether-options minimum-links 4",
        "set interfaces em0 disable",
        "set forwarding-options family inet6 filter input foo",
        "set forwarding-options vlan x filter input foo",
        "set routing-options forwarding-table export none",
        "set routing-options graceful-restart disable",
        "set routing-options resolution rib inet.0 import none",
        "set routing-options interface-routes rib-group inet none",
        "set routing-instances tenant-1 forwarding-options family inet filter input foo",
        "set protocols loop-detect enhanced interface et-0/0/0:0 loop-detect-action interface-down",
        "set protocols uplink-failure-detection group x link-to-monitor et-0/0/0:0",
        "set protocols oam ethernet link-fault-management interface et-0/0/0:0",
        "set system ddos-protection protocols bgp aggregate bandwidth 1",
        "set system processes routing disable",
        "set security forwarding-options family inet6 mode drop",
        "set chassis fpc 0 power off",
        "set chassis fpc 0 pic 0 power off",
        "set class-of-service system-defaults classifiers x",
        "set switch-options interface-mac-limit 1 packet-action shutdown",
        "set switch-options vtep-source-interface lo0.5",
        "set protocols l2-learning global-no-mac-learning",
        "set protocols rstp bpdu-block-on-edge",
        "set event-options policy x then change-configuration commands y",
        "set routing-instances mgmt_junos routing-options static route 10.0.0.0/8 discard",
        "set interfaces em0 unit 0 family inet filter input x",
        "set interfaces lo0 unit 0 family inet address 10.9.9.9/32",
    ),
}
"""Changes that no field holds: their last lines are not understood."""


@pytest.mark.parametrize("nos", SYSTEMS)
def test_what_is_rendered_is_understood(nos: str) -> None:
    assert base(nos).not_understood == ()


@pytest.mark.parametrize(("nos", "change"), [(nos, change) for nos, changes in READ.items() for change in changes])
def test_a_field_holds_it(nos: str, change: str) -> None:
    assert reader(nos).read(changed(nos, change)).config != base(nos).config


def wanted(changes: Iterable[str]) -> set[str]:
    """The paths of the statements that changes add."""
    paths: set[str] = set()
    for change in changes:
        if change.startswith("{"):
            [(table, rows)] = json.loads(change).items()
            [(key, fields)] = rows.items()
            paths |= {f"{table}|{key} {field} {value}" for field, value in fields.items()}
        else:
            paths.add(change.removeprefix("set "))
    return paths


@pytest.mark.parametrize("nos", SYSTEMS)
def test_it_is_not_understood(nos: str) -> None:
    unknown = {statement.path for statement in reader(nos).read(changed(nos, *UNKNOWN[nos])).not_understood}
    assert sorted(wanted(UNKNOWN[nos]) - unknown) == []


HARMLESS: dict[str, tuple[str, ...]] = {
    "eos": (
        f"{BGP}distance bgp 20 200 200",
        f"{BGP}neighbor spine-underlay maximum-routes 12000",
        f"{BGP}neighbor overlay send-community extended",
        "maintenance / profile bgp x / initiator route-map x inout",
        "no ip routing vrf tenant-1",
    ),
    "frr": (f"{BGP}address-family ipv4 unicast / neighbor spine-underlay maximum-prefix 3 warning-only", "service x"),
    "sonic": (
        row("PORT", "Ethernet0", autoneg="off"),
        row("BGP_DEVICE_GLOBAL", "STATE", tsa_enabled="false"),
        row("DEVICE_METADATA", "localhost", default_bgp_status="down"),
        row("LOOPBACK", "Loopback0", admin_status="up"),
        row("FEATURE", "sflow", state="disabled"),
    ),
    "dell_sonic": ("interface Eth1/1 / autoneg off", f"{BGP}timers 60 180", "errdisable recovery interval 300"),
    "junos": ("set protocols bgp hold-time 90", "set protocols bgp keep all", "set system processes dhcp force-x"),
}
"""Changes of the same words that shut and drain nothing."""


@pytest.mark.parametrize("nos", SYSTEMS)
def test_what_drains_nothing_is_no_difference(nos: str) -> None:
    found = reader(nos).read(changed(nos, *HARMLESS[nos]))
    assert found.not_understood == ()
    assert found.config == base(nos).config


DOWN = {
    "junos": (f"deactivate interfaces {PORTS['junos']} unit 0",),
    "eos": (f"{BGP}shutdown",),
    "frr": (f"{BGP}neighbor spine-underlay shutdown",),
    "sonic": (row("FEATURE", "bgp", state="disabled"),),
    "dell_sonic": (f"{BGP}peer-group spine-underlay / shutdown",),
}


def test_a_route_map_that_sets_the_source_alone() -> None:
    lines = ("ip protocol bgp route-map source", "route-map source permit 10 / set src 10.255.0.1")
    assert reader("frr").read(changed("frr", *lines)).not_understood == ()
    [unknown] = reader("frr").read(changed("frr", *lines, "route-map source deny 5")).not_understood
    assert unknown.path == lines[0]


def links(found: DeviceConfig) -> set[str]:
    """The links that sessions of the underlay run on."""
    return {session.link for group in (found.bgp.groups if found.bgp else ()) for session in group.sessions}


@pytest.mark.parametrize("nos", SYSTEMS)
def test_routes_do_without_a_shut_session(nos: str) -> None:
    designed = system(nos).files(config(nos))
    files = {file: (f"devices/{DEVICE}/{file}", text) for file, text in changed(nos, *DOWN[nos]).items()}
    found = compare_device(config(nos), {file: designed[file] for file in files}, files).config
    assert found is not None
    before, after = links(config(nos)), links(found)
    lost = before - after
    assert lost
    assert nos == "junos" or lost == before
    others = [device_config(network(nos), switch.name) for switch in network(nos).switches if switch.name != DEVICE]
    plane = ControlPlane([*others, found])
    routes = plane.routes()
    assert all(lost.isdisjoint(routes.next_hops(DEVICE, prefix)) for prefix in plane.prefixes)


LISTS: dict[str, tuple[str, ...]] = {
    "eos": (
        "interface Ethernet1/1 / ipv6 access-group from-servers-v6 in",
        "interface Ethernet2/1 / ipv6 access-group control-plane-v6 in",
        "interface Ethernet3/1 / ipv6 access-group from-servers-v6 out",
        "ipv6 access-list control-plane-v6 / 5 deny ipv6 any any",
        "ipv6 access-list from-servers-v6 / 5 deny ipv6 any any",
    ),
    "dell_sonic": (
        "interface Eth1/1 / ipv6 access-group control-plane-v6 in",
        "interface Eth1/2 / ipv6 access-group from-servers-v6 out",
        "ipv6 access-list control-plane-v6 / seq 1 deny ipv6 any any",
        "ipv6 access-list from-servers-v6 / seq 1 deny ipv6 any any",
    ),
    "junos": (
        "set interfaces et-0/0/0:0 unit 0 family inet6 filter input from-servers-v6",
        "set interfaces et-0/0/1:0 unit 0 family inet6 filter input control-plane-v6",
        "set firewall family inet6 filter from-servers-v6 term last then discard",
        "set interfaces lo0 unit 0 family inet6 filter output from-servers-v6",
    ),
    "sonic": (
        row("ACL_RULE", "SERVERS_IPV6|RULE_99", PRIORITY="9999", PACKET_ACTION="DROP"),
        row("ACL_TABLE", "X", type="L3V6", stage="ingress"),
    ),
}
"""Changes of lists and of where they are, in the same example with a protected control plane."""


@pytest.mark.parametrize("nos", LISTS)
def test_lists_that_drop_more_are_not_understood(nos: str) -> None:
    protected = guarded(network(nos))
    with in_force(protected.catalog):
        files = system(nos).files(device_config(protected, DEVICE, nos))
    whole = {file: files[file] for file in texts(nos)}
    assert reader(nos).read(whole).not_understood == ()
    unknown = {statement.path for statement in reader(nos).read(changed(nos, *LISTS[nos], files=whole)).not_understood}
    assert sorted(wanted(LISTS[nos]) - unknown) == []


def test_ends_of_different_speeds_are_no_link() -> None:
    leaf = config("junos")
    port = next(interface for interface in leaf.interfaces if interface.kind == "fabric")
    slower = replace(port, speed_gbps=port.speed_gbps // 2)
    spine = device_config(network("junos"), port.peer)
    assert unlike_links([leaf, spine]) == frozenset()
    ports = tuple(slower if interface is port else interface for interface in leaf.interfaces)
    assert unlike_links([replace(leaf, interfaces=ports), spine]) == {port.link}


FEC = {
    "junos": (f"set interfaces {PORTS['junos']} ether-options fec none",),
    "eos": (f"interface {PORTS['eos']} / no error-correction encoding", "error-correction encoding reed-solomon"),
    "sonic": (row("PORT", PORTS["sonic"], fec="none"),),
    "dell_sonic": (f"interface {PORTS['dell_sonic']} / fec none", "fec RS"),
}
"""No forward error correction on a port to a spine, and the line that it replaces."""


@pytest.mark.parametrize("nos", FEC)
def test_forward_error_correction_is_that_of_both_ends(nos: str) -> None:
    change, *instead = FEC[nos]
    files = dict(texts(nos))
    for line in instead:
        head, header, rest = files[FILES[nos]].partition(f"interface {PORTS[nos]}\n")
        files[FILES[nos]] = head + header + re.sub(rf" +{line}\n", "", rest, count=1)
    found = reader(nos).read(changed(nos, change, files=files))
    assert found.not_understood == ()
    port = next(interface for interface in found.config.interfaces if interface.name == PORTS[nos])
    assert [interface.fec for interface in found.config.interfaces if interface.fec] == ["none"]
    ends = [replace(end, link="cable") for end in (port, replace(port, fec=""))]
    assert unlike_links([replace(found.config, interfaces=(end,)) for end in ends]) == {"cable"}
    with in_force(network(nos).catalog):
        printed = system(nos).files(found.config)
    assert reader(nos).read({file: printed[file] for file in files}).config.interfaces == found.config.interfaces


WORDS = {
    "eos": (
        (" 24 25 27 ", " 25 27 "),
        (" 24 25 27 ", " 24 25 26 27 "),
        ("\nvrf instance tenant-1\n", "\nvrf instance tenant-2\n"),
        ("   shutdown\n   vrf MGMT\n", "   shutdown\n   vrf MGNT\n"),
        ("   transport ssh default\n      vrf MGMT\n", "   transport ssh default\n      vrf MGNT\n"),
        ("   no shutdown\n   vrf MGMT\n", "   no shutdown\n   vrf MGNT\n"),
        ("bandwidth guaranteed percent 1\n", "bandwidth guaranteed percent 50\n"),
        ("ipv6 nd prefix fc00:1:1:101::/64 ", "ipv6 nd prefix fc00:1:1:101::/65 "),
    ),
    "junos": (
        ("et-0/0/0:0 unit 0 classifiers dscp roce", "et-0/0/0:0 unit 1 classifiers dscp roce"),
        ("interface irb.2 prefix fc00:1:1:101::/64 autonomous", "interface irb.2 prefix fc00:1:1:101::/65 autonomous"),
    ),
}
"""Changed words: DSCPs of the class of the rest, names of VRFs, numbers of units, prefixes that servers are told."""


@pytest.mark.parametrize(("nos", "old", "new"), [(nos, *words) for nos, some in WORDS.items() for words in some])
def test_a_changed_word_is_not_understood(nos: str, old: str, new: str) -> None:
    text = texts(nos)[FILES[nos]]
    assert old in text
    assert reader(nos).read({**texts(nos), FILES[nos]: text.replace(old, new, 1)}).not_understood


def test_paths_over_one_as_number_only() -> None:
    bgp = config("frr").bgp
    assert bgp is not None
    assert ways_to_one_as(bgp.groups, 8) == 2
    assert ways_to_one_as(bgp.groups, 1) == 1
    assert ways_to_one_as((), 8) == 8


NEIGHBOR = {"asn": "4200000001", "local_addr": "10.0.0.0", "name": "spine1"}


@pytest.mark.parametrize(
    ("neighbor", "metadata", "sessions", "unknown"),
    [
        ({}, {}, 1, ()),
        ({}, {"default_bgp_status": "down"}, 0, ()),
        ({"admin_status": "up"}, {"default_bgp_status": "down"}, 1, ()),
        ({"admin_status": "down"}, {"default_bgp_status": "up"}, 0, ()),
        ({}, {"docker_routing_config_mode": "unified"}, 1, ()),
        ({}, {"frr_mgmt_framework_config": "true"}, 1, ("frr_mgmt_framework_config true",)),
        ({"holdtime": "0"}, {}, 1, ("holdtime 0",)),
    ],
)
def test_neighbors_in_tables(
    neighbor: dict[str, str], metadata: dict[str, str], sessions: int, unknown: tuple[str, ...]
) -> None:
    tables = {
        "DEVICE_METADATA": {"localhost": {"bgp_asn": "65001", "bgp_router_id": "10.255.0.1", **metadata}},
        "PORT": {"Ethernet0": {"lanes": "1", "speed": "400000", "admin_status": "up"}},
        "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}},
        "BGP_NEIGHBOR": {"10.0.0.1": {**NEIGHBOR, **neighbor}},
    }
    found = reader("sonic").read({TABLES: json.dumps(tables, indent=1)})
    bgp = found.config.bgp
    assert bgp is not None
    assert sum(len(group.sessions) for group in bgp.groups) == sessions
    assert tuple(statement.path.partition(" ")[2] for statement in found.not_understood) == unknown


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_prefix_limit", "3"),
        ("send_community", "none"),
        ("nhself", "true"),
        ("passive_mode", "true"),
        ("dont_negotiate_capability", "true"),
    ],
)
def test_what_filters_in_tables_is_not_understood(field: str, value: str) -> None:
    tables = {
        "BGP_GLOBALS": {"default": {"local_asn": "65001"}},
        "BGP_NEIGHBOR": {"default|Ethernet0": {"asn": "65002"}},
        "BGP_NEIGHBOR_AF": {"default|Ethernet0|l2vpn_evpn": {"admin_status": "true", field: value}},
    }
    found = reader("sonic").read({TABLES: json.dumps(tables, indent=1)})
    assert f"BGP_NEIGHBOR_AF|default|Ethernet0|l2vpn_evpn {field} {value}" in {
        statement.path for statement in found.not_understood
    }


OSPF_LINES = {
    "eos": (EOS, "   max-metric router-lsa\n   shutdown\n   distance ospf intra-area 255\n   max-lsa 100\n"),
    "frr": (FRR, " max-metric router-lsa administrative\n distance 255\n"),
    "junos": (JUNOS, "set protocols ospf overload\nset protocols ospf disable\nset protocols ospf preference 255\n"),
}


@pytest.mark.parametrize("nos", OSPF_LINES)
def test_what_drains_ospf_is_not_understood(nos: str) -> None:
    text, more = OSPF_LINES[nos]
    file = "leaf1.set" if nos == "junos" else FILES[nos]
    lines = [statement.line for statement in reader(nos).read({file: text + more}).not_understood]
    assert lines == list(range(text.count("\n") + 1, (text + more).count("\n") + 1))


PASSIVE = {
    "eos": (EOS, "   passive-interface default\n"),
    "frr": (FRR, " passive-interface default\n"),
    "junos": (
        JUNOS,
        "set protocols ospf area 0 interface et-0/0/0.0 passive\nset protocols ospf area 0 interface et-0/0/1.0 passive\n",
    ),
}


@pytest.mark.parametrize("nos", PASSIVE)
def test_passive_interfaces_have_no_neighbor(nos: str) -> None:
    ospf = reader(nos).read({"leaf1.set" if nos == "junos" else FILES[nos]: "".join(PASSIVE[nos])}).config.ospf
    assert ospf is not None
    assert ospf.ports == ()
