"""Lines are found by their form, at their place in the tree."""

from __future__ import annotations

import pytest

from railweave.model.config.sections import has, parse, select

TREE = parse(
    """vlan 2
interface Ethernet1/1
  mtu 9202
  vrf blue
interface Vlan2
  mtu 9000
ip prefix-list own
  seq 10 permit 10.0.0.0/8
ipv6 prefix-list own6 permit any
qos map dscp 26 48 to traffic-class 3
router bgp 65000
  neighbor up peer group
  redistribute connected route-map out
  vrf blue
    neighbor 10.0.0.1 route-map policy in
    address-family ipv4
      neighbor up activate
"""
)


@pytest.mark.parametrize(
    ("forms", "paths"),
    [
        (("vlan *",), ["vlan 2"]),
        (("vlan",), []),
        (("vlan * *",), []),
        (("interface *", "mtu *"), ["interface Ethernet1/1 / mtu 9202", "interface Vlan2 / mtu 9000"]),
        (("interface Vlan*", "mtu *"), ["interface Vlan2 / mtu 9000"]),
        (("ip|ipv6 prefix-list *",), ["ip prefix-list own"]),
        (("ip|ipv6 prefix-list * **",), ["ip prefix-list own", "ipv6 prefix-list own6 permit any"]),
        (("router bgp *", "** route-map *"), ["router bgp 65000 / redistribute connected route-map out"]),
        (
            ("router bgp *", "**", "** route-map * **"),
            [
                "router bgp 65000 / redistribute connected route-map out",
                "router bgp 65000 / vrf blue / neighbor 10.0.0.1 route-map policy in",
            ],
        ),
        (("**", "neighbor * activate"), ["router bgp 65000 / vrf blue / address-family ipv4 / neighbor up activate"]),
        (("mtu *",), []),
    ],
)
def test_forms_find_lines(forms: tuple[str, ...], paths: list[str]) -> None:
    assert [one.path for one in select(TREE, *forms)] == paths
    assert has(TREE, *forms) == bool(paths)


def test_words_that_are_wanted_are_given_of_all_levels() -> None:
    (one,) = select(TREE, "router bgp <asn>", "vrf <vrf>", "neighbor <address> route-map <name> in|out")
    assert one.words == {"asn": "65000", "vrf": "blue", "address": "10.0.0.1", "name": "policy"}
    (one,) = select(TREE, "qos map dscp <values...> to traffic-class <class>")
    assert one["values"].split() == ["26", "48"]
    (one,) = select(TREE, "interface Vlan<number>")
    assert one["number"] == "2"
    assert [inner.line for inner in one.below] == ["mtu 9000"]
