"""What a changed statement about a BGP neighbor does to its session: it resets, it stays, or no source says so."""

from __future__ import annotations

import pytest

from railweave.model.config.compare import compare
from railweave.systems import system

FILES = {
    "frr": (
        "frr.conf",
        (
            "router bgp 65001\n neighbor up peer-group\n neighbor up description x\n neighbor e1 interface remote-as 65002\n"
            " neighbor e1 peer-group up\n{}address-family ipv6 unicast\n  neighbor up activate\n exit-address-family\nexit\n"
        ),
    ),
    "eos": ("eos.conf", "router bgp 65001\n   neighbor up peer group\n   neighbor up description x\n{}"),
    "junos": (
        "junos.conf",
        "protocols {{ bgp {{ group up {{ type external; family inet6 {{ unicast; }} neighbor fd00::1 {{ peer-as 65002; }} {} }} }} }}\n",
    ),
}


@pytest.mark.parametrize(
    ("nos", "line", "disrupted"),
    [
        ("frr", " neighbor up timers connect 9\n", set()),
        ("frr", " neighbor up capability extended-nexthop\n", {"BGP session"}),
        ("frr", " neighbor up update-source lo\n", {"BGP session"}),
        ("frr", " neighbor up maximum-frobs 9\n", {"unknown"}),
        ("frr", " neighbor new interface remote-as 65003\n neighbor new maximum-frobs 9\n", set()),
        ("eos", "   neighbor up route-map a in\n", set()),
        ("eos", "   neighbor up update-source Loopback0\n", {"BGP session"}),
        ("eos", "   neighbor up maximum-frobs 9\n", {"unknown"}),
        ("junos", "import a;", set()),
        ("junos", "cluster 10.0.0.1;", {"every BGP session of the AS number"}),
        ("junos", "hold-time 30;", {"unknown"}),
    ],
)
def test_each_statement_about_a_neighbor_is_described_or_unknown(nos: str, line: str, disrupted: set[str]) -> None:
    file, text = FILES[nos]
    reader = system(nos).reader
    assert reader is not None
    change = compare(reader.parsed(file, text.format("")), reader.parsed(file, text.format(line)))
    assert change.steps
    assert {row.what for _, row in change.disrupts} == disrupted
