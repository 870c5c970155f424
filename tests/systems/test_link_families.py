"""Links between switches carry every address family that is routed over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave.model.device.build import device_config
from railweave.systems import system
from tests.conftest import designed, example

if TYPE_CHECKING:
    from pathlib import Path

FABRIC = """
name: plain
fabrics:
  backend:
    topology: {stripes: 2, leaves_per_stripe: 1, spines: 2, links_per_spine: 2, oversubscription: 4}
    leaf: {device: qfx5240-64od, nos: NOS}
    addressing: {server_mode: static, server_pool: 10.64.0.0/10, prefix_length: 24SECOND}
    underlay: {peering: PEERING}
    pools: {fabric_links: "LINKS"}
    load_balancing: {mode: ecmp}
servers:
  - {names: "h[1-2]", model: h100-8gpu-cx7, stripe: stripe1}
  - {names: "h[3-4]", model: h100-8gpu-cx7, stripe: stripe2}
management: {root_password: secret:root, users: {ops: {password: secret:ops}}}
"""
SECOND = ', dual_stack: {server_pool: "fd10::/32"}'


def _file(links: str, *, second: str = SECOND, peering: str = "numbered", nos: str = "junos") -> str:
    words = {"LINKS": links, "SECOND": second, "PEERING": peering, "NOS": nos}
    text = FABRIC
    for key, value in words.items():
        text = text.replace(key, value)
    return text


def _uplink(text: str) -> str:
    """The families of the first port of a leaf to a spine, as Junos has them in one line."""
    lines = [
        line.split(" unit 0 family ")[1]
        for line in text.splitlines()
        if line.startswith("set interfaces et-0/0/0:0 unit 0 family ")
    ]
    return ", ".join(dict.fromkeys(line.split()[0] for line in lines))


@pytest.mark.parametrize(
    ("links", "second", "peering", "families"),
    [
        ("fd00:ffff::/48", SECOND, "numbered", "inet6, inet"),
        ("fd00:ffff::/48", SECOND, "auto-discovered", "inet6, inet"),
        ("fd00:ffff::/48", "", "auto-discovered", "inet6, inet"),
        ("10.0.0.0/16", "", "numbered", "inet"),
    ],
)
def test_junos_takes_ipv4_packets_on_links_of_ipv6(
    links: str, second: str, peering: str, families: str, tmp_path: Path
) -> None:
    network, _ = designed(tmp_path, _file(links, second=second, peering=peering))
    config = device_config(network, "stripe1-leaf1")
    assert _uplink(system("junos").files(config)["junos.set"]) == families


def test_links_of_path_colors_that_route_ipv6_alone_have_no_family_inet() -> None:
    config = device_config(example("h100-rlb"), "stripe1-leaf1")
    assert "family inet\n" not in system("junos").files(config)["junos.set"]


@pytest.mark.parametrize(
    ("links", "second", "nos", "found"),
    [
        ("10.0.0.0/16", SECOND, "junos", {"ipv6-over-ipv4-links"}),
        ("10.0.0.0/16", SECOND, "frr", set[str]()),  # next hops are link-local there: the lab has it
        ("10.0.0.0/16", "", "junos", set[str]()),
        ("fd00:ffff::/48", SECOND, "junos", set[str]()),
        ("10.64.0.0/16", "", "junos", {"links-among-servers"}),
        ("fd10:0:1::/48", SECOND, "junos", {"links-among-servers"}),
    ],
)
def test_links_that_cannot_carry_a_family_are_noted(
    links: str, second: str, nos: str, found: set[str], tmp_path: Path
) -> None:
    network, _ = designed(tmp_path, _file(links, second=second, nos=nos))
    assert {one.id for one in network.findings} & {"ipv6-over-ipv4-links", "links-among-servers"} == found
