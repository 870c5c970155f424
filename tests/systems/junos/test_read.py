"""Junos configuration text is read back: our own exactly, in every form; that of others as far as it can be held."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from railweave.errors import RenderError
from railweave.model.catalog import catalog
from railweave.model.config.compare import compare
from railweave.model.device.build import device_config
from railweave.model.device.fields import differences
from railweave.model.device.model import DeviceConfig
from railweave.model.device.timers import Bfd
from railweave.model.network.model import Network
from railweave.outputs.folder.designing import design_file
from railweave.systems import system
from railweave.systems.junos.read import parsed, printed, read
from railweave.systems.junos.secrets import decoded
from tests.conftest import EXAMPLES, SMALL
from tests.model.config.variants import networks
from tests.retarget import LONG_HAUL, retargeted

SYSTEM = system("junos")

READS = catalog().systems["junos"].reads
RANDOM = (0, 7, 13, 21, 34)
"""Drawn fabrics, by number."""


def network(name: str) -> Network:
    return design_file(EXAMPLES / f"{name}.yaml")[0] if name == LONG_HAUL else retargeted(name, "junos")


def some(found: Network) -> list[DeviceConfig]:
    """The configurations of switches that are unlike: every third."""
    return [device_config(found, one.name, "junos") for one in found.switches if one.nos == "junos"][::3]


def lost(config: DeviceConfig) -> list[object]:
    """What its own files do not say of a configuration, and what in them is not understood."""
    found = read(SYSTEM.files(config))
    unknown = [] if config.extra else found.not_understood
    return [*differences(found.config, config, without=READS.unsaid), *unknown]


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_examples_are_read_as_they_were_designed(name: str) -> None:
    assert [one for config in some(network(name)) for one in lost(config)] == []


@pytest.mark.slow
@pytest.mark.parametrize("number", RANDOM)
def test_drawn_fabrics_are_read_as_they_were_designed(number: int) -> None:
    assert [one for config in some(networks("junos")[number]) for one in lost(config)] == []


@pytest.fixture(scope="module")
def leaf() -> DeviceConfig:
    found = network("aidc-three-fabrics")
    return device_config(found, "frontend-ai-leaf1", "junos")


def test_both_files_are_one_configuration(leaf: DeviceConfig) -> None:
    files = SYSTEM.files(leaf)
    one, other = (read({name: files[name]}) for name in ("junos.conf", "junos.set"))
    assert one.config == other.config == read(files).config
    assert one.shares().keys() == other.shares().keys()


def test_a_statement_of_one_form_alone_is_not_understood(leaf: DeviceConfig) -> None:
    files = SYSTEM.files(leaf)
    found = read({**files, "junos.set": files["junos.set"] + "set interfaces irb mtu 1500\n"})
    assert [(one.file, one.line, one.path) for one in found.not_understood] == [
        ("junos.set", files["junos.set"].count("\n") + 1, "interfaces irb mtu 1500")
    ]
    assert found.config == read(files).config


@pytest.mark.parametrize("name", ["evpn-gpu-isolation", "h100-rlb", LONG_HAUL])
def test_a_text_is_the_tree_that_it_was_printed_from(name: str) -> None:
    config = some(network(name))[0]
    files, tree = SYSTEM.files(config), SYSTEM.trees(config)["junos.conf"]
    for file, text in files.items():
        found = parsed(file, text)
        assert not compare(found, tree), file
        assert read({file: printed(file, found.nodes)}).config == read({file: text}).config
        assert all(node.at for node in found.nodes)


CURLY = """\
## Last commit: 2025-01-01 by ops
version 23.4R2;
system { host-name leaf9; /* here */ }
interfaces {
    et-0/0/1 {
        description "spine1 et-0/0/7";
        mtu 9192;
        unit 0 { family inet { address 10.1.0.1/31; } }
    }
    inactive: et-0/0/2 { mtu 1500; }
    lo0 { unit 0 { family inet { address 10.255.0.9/32; } } }
}
policy-options {
    policy-statement out { term own { from { protocol direct; interface lo0.0; } then accept; } term rest { then reject; } }
    policy-statement spread { then { load-balance per-packet; } }
}
routing-options { router-id 10.255.0.9; autonomous-system 65009; forwarding-table { export spread; } }
protocols {
    bgp {
        group spines {
            type external;
            family inet { unicast; }
            export out;
            multipath { multiple-as; }
            neighbor 10.1.0.0 { peer-as 65001; authentication-key "$9$LbHX-wg4Z"; ## SECRET-DATA
            }
        }
    }
}
"""
SET = """\
ops@leaf9> show configuration | display set
set version 23.4R2
set system host-name leaf9
set interfaces et-0/0/1 description "spine1 et-0/0/7"
set interfaces et-0/0/1 mtu 9192
set interfaces et-0/0/1 unit 0 family inet address 10.1.0.1/31
set interfaces et-0/0/2 mtu 1500
deactivate interfaces et-0/0/2
set interfaces lo0 unit 0 family inet address 10.255.0.9/32
set policy-options policy-statement out term own from protocol direct
set policy-options policy-statement out term own from interface lo0.0
set policy-options policy-statement out term own then accept
set policy-options policy-statement out term rest then reject
set policy-options policy-statement spread then load-balance per-packet
set routing-options router-id 10.255.0.9
set routing-options autonomous-system 65009
set routing-options forwarding-table export spread
set protocols bgp group spines type external
set protocols bgp group spines family inet unicast
set protocols bgp group spines export out
set protocols bgp group spines multipath multiple-as
set protocols bgp group spines neighbor 10.1.0.0 peer-as 65001
set protocols bgp group spines neighbor 10.1.0.0 authentication-key "$9$LbHX-wg4Z"
"""
XML = """\
<rpc-reply xmlns:junos="http://xml.juniper.net/junos/23.4R2/junos"><configuration junos:changed-seconds="1">
<version>23.4R2</version><system><host-name>leaf9</host-name></system>
<interfaces><interface><name>et-0/0/1</name><description>spine1 et-0/0/7</description><mtu>9192</mtu>
<unit><name>0</name><family><inet><address><name>10.1.0.1/31</name></address></inet></family></unit></interface>
<interface inactive="inactive"><name>et-0/0/2</name><mtu>1500</mtu></interface>
<interface><name>lo0</name><unit><name>0</name><family><inet><address><name>10.255.0.9/32</name></address></inet></family></unit></interface>
</interfaces>
<policy-options><policy-statement><name>out</name>
<term><name>own</name><from><protocol>direct</protocol><interface>lo0.0</interface></from><then><accept/></then></term>
<term><name>rest</name><then><reject/></then></term></policy-statement>
<policy-statement><name>spread</name><then><load-balance><per-packet/></load-balance></then></policy-statement></policy-options>
<routing-options><router-id>10.255.0.9</router-id><autonomous-system><as-number>65009</as-number></autonomous-system>
<forwarding-table><export>spread</export></forwarding-table></routing-options>
<protocols><bgp><group><name>spines</name><type>external</type><family><inet><unicast></unicast></inet></family>
<export>out</export><multipath><multiple-as/></multipath>
<neighbor><name>10.1.0.0</name><peer-as>65001</peer-as><authentication-key>$9$LbHX-wg4Z</authentication-key></neighbor>
</group></bgp></protocols></configuration></rpc-reply>
"""
JSON = json.dumps(
    {
        "configuration": {
            "@": {"junos:changed-seconds": "1"},
            "version": "23.4R2",
            "system": {"host-name": "leaf9"},
            "interfaces": {
                "interface": [
                    {
                        "name": "et-0/0/1",
                        "description": "spine1 et-0/0/7",
                        "mtu": 9192,
                        "unit": [{"name": 0, "family": {"inet": {"address": [{"name": "10.1.0.1/31"}]}}}],
                    },
                    {"@": {"inactive": True}, "name": "et-0/0/2", "mtu": 1500},
                    {
                        "name": "lo0",
                        "unit": [{"name": 0, "family": {"inet": {"address": [{"name": "10.255.0.9/32"}]}}}],
                    },
                ]
            },
            "policy-options": {
                "policy-statement": [
                    {
                        "name": "out",
                        "term": [
                            {
                                "name": "own",
                                "from": {"protocol": ["direct"], "interface": ["lo0.0"]},
                                "then": {"accept": [None]},
                            },
                            {"name": "rest", "then": {"reject": [None]}},
                        ],
                    },
                    {"name": "spread", "then": {"load-balance": {"per-packet": [None]}}},
                ]
            },
            "routing-options": {
                "router-id": "10.255.0.9",
                "autonomous-system": {"as-number": "65009"},
                "forwarding-table": {"export": ["spread"]},
            },
            "protocols": {
                "bgp": {
                    "group": [
                        {
                            "name": "spines",
                            "type": "external",
                            "family": {"inet": {"unicast": {}}},
                            "export": ["out"],
                            "multipath": {"multiple-as": [None]},
                            "neighbor": [
                                {"name": "10.1.0.0", "peer-as": "65001", "authentication-key": "$9$LbHX-wg4Z"},
                            ],
                        }
                    ]
                }
            },
        }
    },
    indent=1,
)


@pytest.mark.parametrize("text", [CURLY, SET, XML, JSON], ids=["curly", "set", "xml", "json"])
def test_every_form_is_read_alike(text: str) -> None:
    found = read({"running": text})
    assert found.not_understood == ()
    assert found.config == read({"running": SET}).config
    bgp = found.config.bgp
    assert bgp is not None
    assert bgp.groups[0].sessions[0].interface == "et-0/0/1"
    assert bgp.groups[0].sessions[0].peer == "spine1"
    assert bgp.authentication is not None
    assert bgp.authentication.key == "secret:?", "a value goes nowhere"
    assert [one.name for one in found.config.interfaces] == ["et-0/0/1"]
    assert not compare(parsed("running", text), parsed("running", SET))


def test_lines_of_xml_and_json_are_those_of_the_text() -> None:
    for text in (XML, JSON):
        wanted = next(number for number, line in enumerate(text.splitlines(), 1) if "9192" in line)
        assert [one.line for one in read({"x": text}).statements if one.path.endswith("mtu 9192")] == [wanted]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("system {\n  host-name a;\n", 1),
        ("system {\n}\n}\n", 3),
        ('set system host-name a\nset system location "x\n', 2),
        ("<configuration>\n<system>\n</configuration>", 3),
        ('<!DOCTYPE a [<!ENTITY b "c">]>\n<configuration/>', 1),
        ('{"configuration": {\n"system": }}', 2),
        ("a { " * 2000, 1),
    ],
)
def test_a_broken_form_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(RenderError) as error:
        read({"junos.conf": text})
    assert error.value.line == line


def test_groups_are_inherited() -> None:
    text = """
set groups ports interfaces <et-*> mtu 9100
set groups ports interfaces <et-*> unit 0 family inet6
set groups idle system host-name other
set groups re0 system host-name leaf-re0
set apply-groups re0
set interfaces apply-groups ports
set interfaces et-0/0/1 description a
set interfaces et-0/0/2 mtu 1500
set interfaces ge-0/0/1 unit 0 family inet address 10.0.0.1/24
"""
    found = read({"x.set": text})
    mtu = {one.name: one.mtu for one in found.config.interfaces}
    assert mtu == {"et-0/0/1": 9100, "et-0/0/2": 1500, "ge-0/0/1": 1514}
    assert found.config.name == "leaf-re0"
    kinds = {one.path: one.kind for one in found.statements}
    assert kinds["groups ports interfaces <et-*> mtu 9100"] == "understood"
    assert kinds["groups idle system host-name other"] == "irrelevant"


OTHERS = """
set system host-name leaf1
set system services netconf ssh
set system ports console log-out-on-disconnect
set chassis fpc 0 pic 0 port 48 speed 100g
set interfaces xe-0/0/1 description server7
set interfaces xe-0/0/1 unit 0 family ethernet-switching vlan members v10
set interfaces et-0/0/48 description facing_spine1
set interfaces et-0/0/48 mtu 9192
set interfaces et-0/0/48 unit 0 family inet address 172.16.0.1/31
set interfaces irb unit 10 family inet address 10.1.10.2/24 virtual-gateway-address 10.1.10.1
set interfaces lo0 unit 0 family inet address 192.168.255.2/32
set policy-options policy-statement AllNetworks term 10 from family inet
set policy-options policy-statement AllNetworks term 10 from protocol direct
set policy-options policy-statement AllNetworks term 10 then community add HERE
set policy-options policy-statement AllNetworks term 10 then accept
set policy-options policy-statement AllNetworks term 99 then reject
set policy-options policy-statement OUT term 10 from policy AllNetworks
set policy-options policy-statement OUT term 10 then accept
set policy-options policy-statement OUT term 99 then reject
set policy-options policy-statement NOT_BACK term 10 from protocol bgp
set policy-options policy-statement NOT_BACK term 10 from community SPINE
set policy-options policy-statement NOT_BACK term 10 then reject
set policy-options policy-statement NOT_BACK term 20 then accept
set policy-options policy-statement LB then load-balance per-packet
set policy-options policy-statement nobody term 1 then metric 5
set policy-options community HERE members 3:20007
set policy-options community HERE members 21001:26000
set policy-options community SPINE members 0:14
set routing-options router-id 192.168.255.2
set routing-options autonomous-system 64514
set routing-options forwarding-table export LB
set protocols bgp group fabric type external
set protocols bgp group fabric multipath multiple-as
set protocols bgp group fabric neighbor 172.16.0.0 description facing_spine1
set protocols bgp group fabric neighbor 172.16.0.0 family inet unicast
set protocols bgp group fabric neighbor 172.16.0.0 export "( NOT_BACK && OUT )"
set protocols bgp group fabric neighbor 172.16.0.0 peer-as 64512
set protocols bgp group evpn type external
set protocols bgp group evpn multihop no-nexthop-change
set protocols bgp group evpn family evpn signaling
set protocols bgp group evpn neighbor 192.168.255.0 peer-as 64512
set protocols bgp group evpn neighbor 192.168.255.0 local-address 192.168.255.2
set protocols evpn encapsulation vxlan
set protocols evpn extended-vni-list all
set protocols lldp interface all
set switch-options vtep-source-interface lo0.0
set switch-options route-distinguisher 192.168.255.2:1
set switch-options vrf-target target:64512:1
set vlans v10 vlan-id 10
set vlans v10 l3-interface irb.10
set vlans v10 vxlan vni 10010
set routing-instances red instance-type vrf
set routing-instances red interface irb.10
set routing-instances red route-distinguisher 192.168.255.2:2
set routing-instances red vrf-target target:20001:1
set routing-instances red protocols evpn ip-prefix-routes advertise direct-nexthop
set routing-instances red protocols evpn ip-prefix-routes vni 20001
"""


def test_a_leaf_of_others_is_held() -> None:
    found = read({"leaf1.set": OTHERS})
    assert found.not_understood == ()
    config = found.config
    assert [(one.name, one.kind, one.speed_gbps, one.vlan) for one in config.interfaces] == [
        ("xe-0/0/1", "server", 10, "v10"),
        ("et-0/0/48", "fabric", 100, None),
    ]
    assert [(one.name, one.addresses, one.vrf) for one in config.gateways] == [("irb.10", ("10.1.10.1/24",), "red")]
    assert config.mac_vrf is not None
    assert [(one.name, one.vlan, one.vni, one.route_target) for one in config.mac_vrf.vlans] == [
        ("v10", 10, 10010, "target:64512:1")
    ]
    assert [(one.name, one.vni) for one in config.vrfs] == [("red", 20001)]
    assert config.overlay is not None
    assert not config.overlay.reflects
    assert config.bgp is not None
    terms = {one.name: one for one in config.bgp.policies}["NOT_BACK && OUT"].terms
    assert [(one.match.protocol, one.match.community, one.action.accept) for one in terms] == [
        ("bgp", "SPINE", False),
        ("direct", None, True),
        (None, None, False),
    ]
    assert terms[1].action.add_communities == ("HERE", "HERE 2")
    assert {one.name: one.value for one in config.bgp.communities} == {
        "HERE": "3:20007",
        "HERE 2": "21001:26000",
        "SPINE": "0:14",
    }


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("set interfaces xe-0/0/1 unit 0 family ethernet-switching vlan members v20", "vlan members v20"),
        ("set interfaces et-0/0/48 mtu big", "mtu big"),
        ("set protocols bgp group fabric neighbor 172.16.0.0 remove-private", "remove-private"),
        ("set class-of-service forwarding-classes class X queue-num 4 brand-new 1", "brand-new 1"),
        ("set policy-options policy-statement OUT term 10 then metric 7", "metric 7"),
        ("set protocols ospf area 0 interface et-0/0/48.0", "interface et-0/0/48.0"),
        ("rename interfaces et-0/0/48 to et-0/0/49", "rename interfaces"),
    ],
)
def test_what_cannot_be_held_is_said_with_its_line(line: str, path: str) -> None:
    found = read({"leaf1.set": f"{OTHERS.strip()}\n{line}\n"})
    assert [one.line for one in found.not_understood if path in one.path] == [OTHERS.strip().count("\n") + 2]


@pytest.mark.parametrize(("number", "known"), [(65000, True), (65001, False)])
def test_sessions_of_an_overlay_have_the_number_of_the_device(number: int, known: bool) -> None:
    text = f"""set routing-options autonomous-system 65000
set interfaces lo0 unit 0 family inet address 10.0.0.1/32
set protocols bgp group overlay type internal
set protocols bgp group overlay local-as {number}
set protocols bgp group overlay family evpn signaling
set protocols bgp group overlay neighbor 10.0.0.2
set protocols bgp group overlay bfd-liveness-detection minimum-interval 300
set protocols bgp group overlay bfd-liveness-detection session-mode automatic
"""
    kinds = {one.path: one.kind for one in read({"junos.set": text}).statements}
    assert (kinds[f"protocols bgp group overlay local-as {number}"] == "understood") is known
    assert kinds["protocols bgp group overlay bfd-liveness-detection session-mode automatic"] == "irrelevant"
    assert kinds["protocols bgp group overlay neighbor 10.0.0.2"] == "understood"


def test_bfd_at_some_groups_alone_is_theirs(leaf: DeviceConfig) -> None:
    bgp = leaf.bgp
    assert bgp is not None
    assert bgp.bfd is not None
    other = replace(bgp.groups[0], name="other", sessions=())
    text = SYSTEM.files(replace(leaf, bgp=replace(bgp, groups=(*bgp.groups, other))))["junos.set"]
    without = "".join(f"{line}\n" for line in text.splitlines() if not ("group other" in line and "bfd" in line))
    found = read({"junos.set": without})
    assert found.config.bgp is not None
    assert found.config.bgp.bfd == bgp.bfd
    assert [one.bfd for one in found.config.bgp.groups] == [*[None] * len(bgp.groups), Bfd(enabled=False)]


def test_scheduling_bound_by_a_pattern_is_that_of_every_port() -> None:
    text = (
        OTHERS
        + """
set class-of-service classifiers dscp c forwarding-class NO-LOSS loss-priority low code-points 011010
set class-of-service forwarding-classes class NO-LOSS queue-num 4
set class-of-service forwarding-classes class NO-LOSS no-loss
set class-of-service forwarding-classes class NO-LOSS pfc-priority 3
set class-of-service interfaces et-* scheduler-map m
set class-of-service interfaces et-* unit * classifiers dscp c
set class-of-service scheduler-maps m forwarding-class NO-LOSS scheduler s1
set class-of-service schedulers s1 transmit-rate percent 80
"""
    )
    found = read({"leaf1.set": text})
    assert found.not_understood == ()
    qos = found.config.qos
    assert qos is not None
    assert qos.ports == ("et-0/0/48",)
    assert {name: (one.queue, one.dscp, one.lossless, one.pfc_priority) for name, one in qos.classes.items()} == {
        "NO-LOSS": (4, (26,), True, 3)
    }


def test_scrambled_texts_are_decoded() -> None:
    assert decoded("$9$LbHX-wg4Z") == "lc"
    assert decoded("$6$abc") is None
    assert decoded("$9$") is None
    assert decoded("$9$L") is None


def test_a_unit_without_a_number_is_not_understood() -> None:
    found = read({"leaf1.set": "set interfaces irb unit member-range family inet address 10.0.0.1/24\n"})
    assert found.config.gateways == ()
    assert [one.line for one in found.not_understood] == [1]


@pytest.mark.parametrize("address", ["/", "x", "10.0.0.1/33"])
def test_a_loopback_address_that_is_none_is_not_understood(address: str) -> None:
    found = read({"leaf1.set": f"set interfaces lo0 unit 0 family inet address {address}\n"})
    assert [one.line for one in found.not_understood] == [1]


def test_a_word_that_would_be_a_comment_is_printed_in_quotes() -> None:
    tree = parsed("a.set", 'set system "/*" location a\nset system name-server 10.0.0.1\n')
    assert parsed("a.conf", printed("a.conf", tree.nodes)).nodes == tree.nodes


def test_patterns_of_what_does_not_matter_have_reasons() -> None:
    assert all(READS.irrelevant.values())
    assert all(READS.unsaid.values())
    assert all(one.source for one in READS.defaults.values())
