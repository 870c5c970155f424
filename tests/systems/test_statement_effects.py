"""Rows of statement tables say what a change of their statement disrupts, and from which release on there is the statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from railweave.model.catalog import catalog
from railweave.model.config.compare import compare
from railweave.model.config.section_tree import section_tree
from railweave.model.config.sections import parse
from railweave.model.config.statements import Row
from railweave.model.config.tree import ports_of
from railweave.model.device.build import device_config
from railweave.systems import system
from railweave.systems.dell_sonic.changes import RULES
from railweave.systems.frr.changes import RULES as FRR
from tests.retarget import retargeted
from tests.systems.test_statement_rows import TABLES


def rows(those: Iterable[Row]) -> Iterator[Row]:
    """Rows, and the rows below them."""
    for row in those:
        yield row
        yield from rows(row.rows or ())


BY_PATTERNS = {"sonic.management.SYSTEM", "sonic.vlans.VLANS"}
"""Tables whose disruptions are still patterns of the ``changes.py`` of their system."""

PRINTED = [
    (name, row, table.disrupts if row.disrupts is None else row.disrupts)
    for name, table in TABLES.items()
    for row in rows(table.rows)
    if row.prints and row.forms
]


def test_every_printed_row_says_what_its_change_disrupts() -> None:
    silent = [
        f"{name}: {row.forms[0]}" for name, row, effects in PRINTED if effects is None and name not in BY_PATTERNS
    ]
    assert silent == []
    assert sum(bool(effects) for _, _, effects in PRINTED) > 15


SWITCH = """
interface breakout port 1/2 mode 2x400G
buffer pool ingress_lossless_pool shared-headroom-size 100
interface Vlan 10
 mtu 9000
interface Eth1/1
 mtu 9000
 speed 400000
 fec RS
 no shutdown
interface Eth1/2
 ip vrf forwarding red
 speed 400000
router bgp 65001
 router-id 192.0.2.1
 graceful-restart enable
 maximum-paths 4
 peer-group spines
  remote-as 65002
 neighbor interface Eth1/1
  peer-group spines
  password <secret:a>
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("mtu 9000", "mtu 9100", []),
        ("maximum-paths 4", "maximum-paths 8", []),
        ("port 1/2 mode 2x400G", "port 1/2 mode 4x200G", ["every port of the cage"]),
        ("shared-headroom-size 100", "shared-headroom-size 200", ["every port"]),
        ("interface Vlan 10\n mtu 9000\n", "", ["the interface"]),
        (" fec RS\n", " fec FC\n", ["the port Eth1/1"]),
        (" fec RS\n", "", ["the port Eth1/1"]),
        (" no shutdown", " shutdown", ["the interface Eth1/1"]),
        (" red\n speed 400000\n", " red\n speed 200000\n", ["the port Eth1/2"]),
        ("router-id 192.0.2.1", "router-id 192.0.2.2", ["every BGP session of the VRF"]),
        (" graceful-restart enable\n", "", ["BGP session"]),
        ("remote-as 65002", "remote-as 65003", ["BGP session"]),
        ("  peer-group spines\n", "", ["BGP session"]),
        ("password <secret:a>", "password <secret:b>", ["BGP session"]),
        (" neighbor interface Eth1/1\n  peer-group spines\n  password <secret:a>\n", "", ["BGP session"] * 2),
        ("  password <secret:a>", "  password <secret:a>\n  shutdown message away", ["BGP session"]),
        ("  password <secret:a>", "  password <secret:a>\n  local-as 65009", ["BGP session"]),
        ("  password <secret:a>", "  password <secret:a>\n  ttl-security hops 1", ["BGP session"]),
        ("  remote-as 65002\n", "  remote-as 65002\n  shutdown\n", ["BGP session"]),
    ],
)
def test_rows_decide_what_a_changed_line_disrupts(old: str, new: str, expected: list[str]) -> None:
    before, after = (section_tree(parse(text), RULES) for text in (SWITCH, SWITCH.replace(old, new)))
    assert (before == after) is not bool(old)
    found = [" ".join([row.what, *ports_of(row, step)]).strip() for step, row in compare(before, after).disrupts]
    assert found == expected


def test_a_port_that_opens_or_is_new_is_not_out() -> None:
    shut = SWITCH.replace(" no shutdown", " shutdown")
    without = SWITCH.replace("interface Eth1/1\n mtu 9000\n speed 400000\n fec RS\n no shutdown\n", "")
    trees = [section_tree(parse(text), RULES) for text in (shut, SWITCH, without)]
    assert compare(trees[0], trees[1]).disrupts == []
    assert compare(trees[2], trees[1]).disrupts == []


def test_a_release_lacks_statements_of_later_ones() -> None:
    network = retargeted("two-planes", "dell_sonic")
    config = device_config(network, network.switches[0].name)
    gaps = {release: released(replace(config, release=release)) for release in ("4.4.2", "4.5.0", "4.6.1")}
    assert gaps["4.5.0"] == gaps["4.6.1"] == []
    assert "`ars profile ROCE` is of release 4.5 and later, not of 4.4.2" in gaps["4.4.2"]
    assert all(gap.startswith(("`ars ", "`interface Eth", "`route-map ")) for gap in gaps["4.4.2"])


def released(config: Any) -> list[str]:
    return [gap.what for gap in system(config.nos).gaps(config) if gap.id == "release-lacks"]


def test_a_release_of_frr_lacks_aigp() -> None:
    network = retargeted("h100-rlb", "frr")
    config = device_config(network, network.switches[0].name)
    assert config.bgp is not None
    asn = config.bgp.asn
    config = replace(
        config, bgp=replace(config.bgp, compare_aigp=True), extra="route-map a permit 10\n set aigp-metric 5\n"
    )
    assert released(config) == []
    assert sorted(released(replace(config, release="10.2"))) == [
        "`route-map a permit 10 / set aigp-metric 5` is of release 10.3 and later, not of 10.2",
        f"`router bgp {asn} / bgp bestpath aigp` is of release 10.3 and later, not of 10.2",
    ]


ROUTER = """
interface et-1-0
 description a
interface lo
 ip address 192.0.2.1/32
router bgp 65001
 bgp router-id 192.0.2.1
 bgp graceful-restart
 neighbor spines peer-group
 neighbor spines password <secret:a>
 neighbor et-1-0 interface remote-as 65002
 neighbor et-1-0 peer-group spines
 address-family ipv6 unicast
  neighbor spines activate
router bgp 65001 vrf red
 neighbor 192.0.2.2 remote-as 65003
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("description a", "description b", []),
        ("", " ip prefix-list a seq 5 permit 192.0.2.0/24\n", []),
        ("interface et-1-0\n description a\n", "", ["the interface et-1-0"]),
        ("description a", "shutdown", ["the interface et-1-0"]),
        ("192.0.2.1/32", "192.0.2.1/32\n shutdown", ["the interface"]),
        ("router-id 192.0.2.1", "router-id 192.0.2.2", ["every BGP session of the VRF"]),
        (" bgp graceful-restart\n", "", ["BGP session"]),
        ("password <secret:a>", "password <secret:b>", ["BGP session"]),
        ("remote-as 65002", "remote-as 65004", ["BGP session"]),
        ("remote-as 65003", "remote-as 65004", ["BGP session"]),
        (" neighbor et-1-0 peer-group spines\n", "", ["BGP session"]),
        ("  neighbor spines activate\n", "", ["BGP session"]),
        ("  neighbor spines activate", "  neighbor spines activate\n  neighbor new activate", []),
        (" bgp graceful-restart\n", " bgp graceful-restart\n bgp shutdown\n", ["every BGP session of the VRF"]),
        (" neighbor spines peer-group\n", " neighbor spines peer-group\n neighbor spines shutdown\n", ["BGP session"]),
        (" neighbor spines peer-group\n", " neighbor spines peer-group\n neighbor new shutdown\n", []),
        (
            " neighbor spines peer-group\n",
            " neighbor spines peer-group\n neighbor et-1-0 local-as 65009\n",
            ["BGP session"],
        ),
        (" neighbor spines peer-group\n", " neighbor spines peer-group\n neighbor new local-as 65009\n", []),
        (
            " vrf red\n neighbor 192.0.2.2 remote-as 65003\n",
            " vrf blue\n",
            ["every BGP session of the VRF", "BGP session"],
        ),
    ],
)
def test_rows_of_frr_decide_what_a_changed_line_disrupts(old: str, new: str, expected: list[str]) -> None:
    changed = ROUTER.replace(old, new) if old else ROUTER + new
    before, after = (section_tree(parse(text), FRR) for text in (ROUTER, changed))
    found = [" ".join([row.what, *ports_of(row, step)]).strip() for step, row in compare(before, after).disrupts]
    assert found == expected


EOS = """
router bgp 65001
   neighbor spines peer group
   neighbor spines ttl maximum-hops 1
   neighbor interface Ethernet1/1 peer-group spines peer-filter spine-as
   neighbor 192.0.2.1 peer group spines
   neighbor 192.0.2.1 remote-as 65002
   vrf red
      neighbor 192.0.2.2 remote-as 65003
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("   shutdown", ["every BGP session"]),
        ("   neighbor spines shutdown", ["BGP session"]),
        ("   neighbor 192.0.2.1 shutdown reason away", ["BGP session"]),
        ("   neighbor interface Ethernet1/1 shutdown", ["BGP session"]),
        ("   neighbor 192.0.2.9 remote-as 65009\n   neighbor 192.0.2.9 shutdown", []),
        ("   neighbor spines local-as 65009 no-prepend replace-as", ["BGP session"]),
        ("   neighbor 192.0.2.9 local-as 65009", []),
        ("   neighbor 192.0.2.1 ttl maximum-hops 1", ["BGP session"]),
        ("   vrf red\n      neighbor 192.0.2.2 shutdown", ["BGP session"]),
        ("   vrf red\n      neighbor 192.0.2.2 local-as 65009", ["BGP session"]),
    ],
)
def test_lines_of_eos_that_end_sessions_say_so(lines: str, expected: list[str]) -> None:
    parsed = system("eos").reader.parsed  # type: ignore[union-attr]
    change = compare(parsed("eos.conf", EOS), parsed("eos.conf", f"{EOS}{lines}\n"))
    assert [row.what for _, row in change.disrupts] == expected


def test_other_hops_of_eos_disrupt() -> None:
    parsed = system("eos").reader.parsed  # type: ignore[union-attr]
    for changed in (
        EOS.replace("maximum-hops 1", "maximum-hops 2"),
        EOS.replace("   neighbor spines ttl maximum-hops 1\n", ""),
    ):
        assert [row.what for _, row in compare(parsed("eos.conf", EOS), parsed("eos.conf", changed)).disrupts] == [
            "BGP session"
        ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("protocols bgp group spines local-as 65009", ["BGP session"]),
        ("protocols bgp group spines neighbor 192.0.2.1 local-as 65009", ["BGP session"]),
        ("protocols bgp group new local-as 65009", []),
        ("protocols bgp group spines shutdown", ["BGP session"]),
        ("protocols bgp group spines neighbor 192.0.2.1 shutdown", ["BGP session"]),
        ("protocols bgp disable", ["every BGP session"]),
    ],
)
def test_statements_of_junos_that_end_sessions_say_so(line: str, expected: list[str]) -> None:
    parsed = system("junos").reader.parsed  # type: ignore[union-attr]
    before = "set protocols bgp group spines type external\nset protocols bgp group spines neighbor 192.0.2.1 peer-as 65002\n"
    change = compare(parsed("junos.set", before), parsed("junos.set", f"{before}set {line}\n"))
    assert [row.what for _, row in change.disrupts] == expected


def test_capabilities_are_of_the_release_of_their_statements() -> None:
    modes = [catalog().systems["dell_sonic"].capabilities[f"dlb-{mode}"].since for mode in ("flowlet", "per-packet")]
    assert {*modes} == TABLES["dell_sonic.qos.BALANCING"].releases
    assert TABLES["frr.policy.POLICIES"].releases == {catalog().systems["frr"].capabilities["path-color-aigp"].since}
