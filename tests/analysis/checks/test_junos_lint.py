"""Every rule fires on a leaf that is changed to break it, and on no rendered device."""

from __future__ import annotations

import re
from functools import cache

import pytest
from tests.conftest import example

from railweave.model.device.build import device_config
from railweave.model.findings.registry import rules_of
from railweave.systems.junos.lint import lint
from railweave.systems.junos.parse import parse
from railweave.systems.junos.render import tree
from railweave.systems.junos.tree import Statement, to_curly, to_set

COS = "class-of-service"
GREEN = "protocols bgp group spine-green"
DLB = "forwarding-options enhanced-hash-key ecmp-dlb"


@cache
def statements(name: str, device: str) -> list[Statement]:
    return tree(device_config(example(name), device))


@cache
def leaf() -> str:
    return to_set(statements("h100-rlb", "stripe1-leaf1"))


def server_port() -> str:
    found = re.search(r"^set interfaces (\S+) unit 0 family ethernet-switching", leaf(), re.MULTILINE)
    assert found
    return found.group(1)


def ids(text: str) -> set[str]:
    return {finding.id for finding in lint("leaf", parse(text))}


@pytest.mark.parametrize("name", ["h100-rlb", "h100-rlb-8up"])
@pytest.mark.parametrize("device", ["stripe1-leaf1", "spine1"])
def test_rendered_devices_are_clean_in_every_form(name: str, device: str) -> None:
    rendered = statements(name, device)
    for form in (rendered, parse(to_curly(rendered)), parse(to_set(rendered))):
        assert lint(device, form) == []


# What is replaced in the leaf's set lines (a replacement of "" takes the whole line out), and what is added.
CASES: list[tuple[str, dict[str, str], list[str]]] = [
    ("junos-queue-number", {"class CNP queue-num 3": "class CNP queue-num 99"}, []),
    ("junos-forwarding-class-form", {}, [f"{COS} forwarding-classes queue 1 other"]),
    ("junos-queue-shared", {"class CNP queue-num 3": "class CNP queue-num 4"}, []),
    ("junos-scheduler-priority", {"best-effort priority low": "best-effort priority lowest"}, []),
    ("junos-scheduler-priority-platform", {"best-effort priority low": "best-effort priority high"}, []),
    (
        "junos-scheduler-rates",
        {},
        [f"{COS} schedulers best-effort excess-rate percent 5", f"{COS} schedulers best-effort transmit-rate exact"],
    ),
    ("junos-transmit-rate", {"no-loss transmit-rate percent 85": "no-loss transmit-rate percent 95"}, []),
    ("junos-code-point", {"loss-priority low code-points 111000": "loss-priority low code-points 11100"}, []),
    ("junos-code-point-twice", {"loss-priority low code-points 111000": "loss-priority low code-points 110000"}, []),
    ("junos-classifier-empty", {}, [f"{COS} classifiers dscp other"]),
    (
        "junos-cos-interface",
        {},
        [f"{COS} interfaces et-0/0/0:0 {what}" for what in ("forwarding-class CNP", "classifiers dscp roce")],
    ),
    ("junos-drop-profile", {"fill-level 90": "fill-level 20"}, []),
    ("junos-buffer-partition", {"egress buffer-partition multicast": "egress buffer-partition multicst"}, []),
    (
        "junos-multicast-none",
        {"egress buffer-partition multicast percent 10": "egress buffer-partition multicast percent 0"},
        [],
    ),
    (
        "junos-buffer-total",
        {"ingress buffer-partition lossy percent 10": "ingress buffer-partition lossy percent 20"},
        [],
    ),
    ("junos-pfc-watchdog-output", {"pfc-50m output": ""}, []),
    (
        "junos-watchdog-action",
        {"pfc-50m pfc-watchdog watchdog-action drop": "pfc-50m pfc-watchdog watchdog-action forward"},
        [],
    ),
    ("junos-pfc-code-point", {"pfc-50m input dscp code-point 011010 pfc": ""}, []),
    ("junos-pfc-kind", {}, [f"{COS} congestion-notification-profile pfc-50m input ieee-802.1 code-point 011 pfc"]),
    ("junos-pfc-queue", {"code-point 011 flow-control-queue 4": "code-point 011 flow-control-queue 3"}, []),
    (
        "junos-pfc-class",
        {"NO-LOSS loss-priority low code-points 011010": "NO-LOSS loss-priority low code-points 011011"},
        [],
    ),
    (
        "junos-pfc-account",
        {},
        [f"{COS} congestion-notification-profile pfc-50m input dscp code-point 011010 pfc-account-name x"],
    ),
    ("junos-dynamic-neighbor", {}, [f"{GREEN} dynamic-neighbor spine-green allow fe80::/10"]),
    ("junos-peer-auto-discovery", {}, [f"{GREEN} authentication-key word"]),
    ("junos-discovery-interface", {"router-advertisement interface et-0/0/0:0.0": ""}, []),
    ("junos-peer-as-list", {}, ["protocols bgp group other peer-as-list spine-as"]),
    ("junos-graceful-restart-time", {}, [f"{GREEN} graceful-restart restart-time 100"]),
    (
        "junos-bfd",
        {},
        [f"{GREEN} bfd-liveness-detection {word} minimum-interval 100" for word in ("echo", "echo-lite")],
    ),
    (
        "junos-prefix-limit",
        {},
        [
            f"{GREEN} family inet6 unicast prefix-limit {what}"
            for what in ("maximum 9", "teardown 80", "drop-excess 80")
        ],
    ),
    (
        "junos-fabric-color",
        {},
        ["protocols bgp group other type internal", "protocols bgp group other fabric-color green"],
    ),
    ("junos-color-policy", {}, ["policy-options policy-statement to-spines term own then community add green"]),
    ("junos-aigp-next-hop", {}, ["policy-options policy-statement to-spines term own then aigp-originate distance 0"]),
    ("junos-community-value", {"members color:0:2": "members color:0:zz"}, []),
    ("junos-inactivity-interval", {"inactivity-interval 256": "inactivity-interval 8"}, []),
    ("junos-dlb-exclusive", {}, ["forwarding-options enhanced-hash-key ecmp-resilient-hash"]),
    ("junos-dlb-quantization-pair", {"egress-quantization min 20": ""}, []),
    ("junos-reassignment-pair", {}, [f"{DLB} flowlet reassignment prob-threshold 3"]),
    ("junos-ra-prefix-on-interface", {"address fc00:1:1:2::1/64": "address fc00:1:1:99::1/64"}, []),
    ("junos-ra-timers", {"min-advertisement-interval 200": "min-advertisement-interval 599"}, []),
    ("junos-vlan-l3", {"vn2 vlan-id 2": ""}, []),
    ("junos-vlan-id-twice", {}, ["vlans other vlan-id 2"]),
    ("junos-vlan-interface", {}, [f"vlans vn2 interface {server_port()}.0"]),
    ("junos-family", {}, [f"interfaces {server_port()} unit 0 family inet address 10.1.1.1/31"]),
    ("junos-mtu", {"family inet6 mtu 9000": "family inet6 mtu 9210"}, []),
    ("junos-breakout", {"et-0/0/0 number-of-sub-ports 2": ""}, []),
    ("junos-address-twice", {}, ["interfaces lo0 unit 0 family inet address 172.20.0.10/24"]),
    ("junos-lldp", {}, ["protocols lldp management-interface re0:mgmt-0"]),
    ("junos-snmp-instance", {"snmp routing-instance-access": ""}, []),
    ("junos-netconf", {"netconf ssh": "netconf flatten-commit-results"}, []),
    ("junos-undefined-reference", {"drop-profile ecn-no-loss": "drop-profile ecn-lossless"}, []),
    ("junos-undefined-classifier", {}, [f"{COS} interfaces et-0/0/0:0 unit 0 classifiers ieee-802.1 roce"]),
    ("junos-undefined-vlan", {"vlan members vn2": "vlan members vn3"}, []),
    ("junos-undefined-interface", {}, ["protocols router-advertisement interface et-0/0/60.0"]),
    ("junos-undefined-instance", {"port 514": "routing-instance nowhere"}, []),
    ("junos-vni-twice", {}, ["vlans first vxlan vni 7", "vlans second vxlan vni 7"]),
    (
        "junos-mac-vrf-port",
        {},
        ["routing-instances evpn-1 instance-type mac-vrf", f"routing-instances evpn-1 interface {server_port()}.0"],
    ),
    ("junos-mac-vrf-gateway", {}, ["vlans vn2 vxlan vni 7"]),
]


def changed(replaced: dict[str, str], added: list[str]) -> str:
    lines = leaf().splitlines()
    for old, new in replaced.items():
        assert any(old in line for line in lines), f"no line of the leaf has {old!r}"
        lines = [line.replace(old, new) for line in lines if new or old not in line]
    return "\n".join([*lines, *(f"set {line}" for line in added)]) + "\n"


@pytest.mark.parametrize(("rule", "replaced", "added"), CASES, ids=[case[0] for case in CASES])
def test_each_rule_fires_alone(rule: str, replaced: dict[str, str], added: list[str]) -> None:
    assert ids(changed(replaced, added)) == {rule}


def test_every_rule_has_a_case_and_a_docstring() -> None:
    assert {case[0] for case in CASES} == set(rules_of("railweave.systems.junos.lint"))
    assert all(
        rule.check.__doc__ and rule.why and rule.fix for rule in rules_of("railweave.systems.junos.lint").values()
    )


@pytest.mark.parametrize(
    ("replaced", "added", "kind", "name"),
    [
        ({"CNP scheduler cnp": "CNP scheduler other"}, [], "scheduler", "other"),
        ({"scheduler-map roce": "scheduler-map other"}, [], "scheduler map", "other"),
        (
            {},
            [f"{COS} classifiers dscp roce forwarding-class X loss-priority low code-points 000001"],
            "forwarding class",
            "X",
        ),
        ({"congestion-notification-profile pfc-10m": "congestion-notification-profile p"}, [], "", ""),
        (
            {},
            [f"{COS} interfaces et-0/0/0:0 congestion-notification-profile p"],
            "congestion-notification-profile",
            "p",
        ),
        ({f"{GREEN} export to-spines": f"{GREEN} export other"}, [], "policy", "other"),
        ({"from prefix-list-filter local": "from prefix-list-filter other"}, [], "prefix list", "other"),
        ({}, ["policy-options policy-statement to-spines term own then community add other"], "community", "other"),
        ({f"{GREEN} fabric-color green": f"{GREEN} fabric-color violet"}, [], "community", "violet"),
        ({}, ["protocols bgp fabric-advertise route fc00::/64 backup-color violet"], "community", "violet"),
        ({f"{GREEN} peer-as-list spine-as": f"{GREEN} peer-as-list other"}, [], "AS list", "other"),
        ({}, ["system apply-groups other"], "group", "other"),
    ],
)
def test_undefined_names_are_told_by_kind(replaced: dict[str, str], added: list[str], kind: str, name: str) -> None:
    found = lint("leaf", parse(changed(replaced, added)))
    if not kind:  # renamed where it is defined and where it is used
        assert found == []
        return
    assert {finding.id for finding in found} == {"junos-undefined-reference"}
    assert all(finding.what.startswith(f"{kind} {name!r} is not defined") for finding in found)


def test_findings_say_where_why_and_what_to_do() -> None:
    (finding,) = lint("leaf7", parse(changed({"class CNP queue-num 3": "class CNP queue-num 99"}, [])))
    assert (finding.where, finding.severity) == ("leaf7", "error")
    assert finding.what == "forwarding class CNP has queue 99"
    assert finding.file == "devices/leaf7/junos.conf"
    assert finding.why
    assert finding.fix


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("color:0:1", True),
        ("color:0:4294967295", True),
        ("color:0:4294967296", False),
        ("color:4:1", False),
        ("large:4200000001:0:1", True),
        ("large:4200000001:1", False),
        ("65000:100", True),
        ("65536:100", False),
        ("no-export", True),
        ("target:65000:1", True),
        ("^65000:.*$", True),
        ("zork", False),
    ],
)
def test_community_values(value: str, good: bool) -> None:
    found = ids(f"set policy-options community c members {value}\n")
    assert found == (set() if good else {"junos-community-value"})


def test_deactivated_statements_are_not_validatord() -> None:
    text = "class-of-service { inactive: forwarding-classes { class A queue-num 99; } }"
    assert ids(text) == set()
    assert ids(text.replace("inactive: ", "")) == {"junos-queue-number"}


def test_targets_of_a_vrf_are_no_policies() -> None:
    more = [f"set routing-instances red vrf-target {way} target:64512:2" for way in ("import", "export")]
    assert "junos-undefined-reference" not in ids("\n".join([leaf(), *more]))


def test_applied_groups_define_names() -> None:
    used = "set system syslog host 10.0.0.1 routing-instance mgmt_junos\n"
    group = "set groups m routing-instances mgmt_junos description management\n"
    assert ids(used + group) == {"junos-undefined-instance"}
    assert ids(used + group + "set apply-groups m\n") == set()


def test_words_that_share_a_line_in_curly_text_are_found() -> None:
    text = """
    class-of-service {
        forwarding-classes {
            class A queue-num 2 no-loss pfc-priority 2;
            class B queue-num 2;
        }
    }
    """
    assert [finding.what for finding in lint("x", parse(text))] == [
        "forwarding class B shares queue 2 with lossless class A"
    ]
