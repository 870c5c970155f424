"""The h100-rlb example against the values of its source, after the errata (docs/examples.md)."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from railweave.model.network.model import Network
from tests.conftest import example

FACTS = Path(__file__).parents[1] / "facts"


def _table2() -> list[dict[str, str]]:
    lines = [line for line in (FACTS / "rlb_table2.csv").read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def test_table_2_has_every_leaf() -> None:
    assert len(_table2()) == 16


@pytest.mark.parametrize("row", _table2(), ids=lambda row: f"stripe{row['stripe']}-leaf{row['leaf']}")
def test_prefixes_vlan_and_gateway_of_each_leaf(row: dict[str, str]) -> None:
    [segment] = example("h100-rlb").segments_of(f"stripe{row['stripe']}-leaf{row['leaf']}")
    prefixes = [row[f"subnet{n}"] for n in (1, 2, 3, 4)]
    assert [subnet.prefix for subnet in segment.subnets] == prefixes
    assert [subnet.gateway for subnet in segment.subnets] == [prefix.replace("::/64", "::1") for prefix in prefixes]
    assert segment.vlan == int(row["vlan"])


def test_64_prefixes_and_one_nic_a_rail(rlb: Network) -> None:
    assert len({subnet.prefix for segment in rlb.segments for subnet in segment.subnets}) == 64
    by_leaf = {(row["stripe"], row["nic"]): f"stripe{row['stripe']}-leaf{row['leaf']}" for row in _table2()}
    for server in rlb.servers:
        stripe = "1" if server.name in {"H100-01", "H100-02"} else "2"
        assert {nic.name: nic.leaf for nic in server.nics} == {
            nic: leaf for (s, nic), leaf in by_leaf.items() if s == stripe
        }


@pytest.mark.parametrize(
    ("server", "host"),
    [
        ("H100-01", "a288:c2ff:fe3b:5066"),
        ("H100-02", "5aa2:e1ff:fe46:c6ca"),
        ("H100-03", "a288:c2ff:fe3b:506e"),
    ],
)
def test_eui64_of_the_listed_macs(rlb: Network, server: str, host: str) -> None:
    """Table 4's MAC addresses; its row 2 addresses contradict EUI-64 and are an erratum."""
    nic = rlb.server(server).nic("gpu0_eth")
    assert nic is not None
    stripe = 2 if server == "H100-03" else 1
    assert [one.address for one in nic.addresses] == [f"fc00:{stripe}:1:{color}:{host}" for color in (1, 2, 3, 4)]
    assert not nic.mac_is_placeholder


def test_leaf_ports_as_in_the_source(rlb: Network) -> None:
    """Servers on et-0/0/16:0, 16:1; spines 1 to 4 on et-0/0/0:0 to et-0/0/3:0 (Table 4, verification output)."""
    ports = {end.port: far.device for end, far in _ends(rlb, "stripe1-leaf1")}
    assert ports == {
        "et-0/0/16:0": "H100-01",
        "et-0/0/16:1": "H100-02",
        "et-0/0/0:0": "spine1",
        "et-0/0/1:0": "spine2",
        "et-0/0/2:0": "spine3",
        "et-0/0/3:0": "spine4",
    }


def _ends(network: Network, device: str):
    for cable in network.cables_of(device):
        yield (cable.a, cable.b) if cable.a.device == device else (cable.b, cable.a)


def test_colors_of_the_source(rlb: Network) -> None:
    """Spine 1 is green with color:0:1; the other numbers are assumed to follow in order."""
    fabric = rlb.fabric("backend")
    assert [(color.name, color.number) for color in fabric.colors] == [
        ("green", 1),
        ("blue", 2),
        ("red", 3),
        ("orange", 4),
    ]
    by_spine = {cable.b.device: fabric.color_name(cable.color) for cable in rlb.cables if cable.kind == "fabric"}
    assert by_spine == {"spine1": "green", "spine2": "blue", "spine3": "red", "spine4": "orange"}


def test_eight_uplinks_give_eight_colors_and_two_links_a_spine() -> None:
    network = example("h100-rlb-8up")
    uplinks = [cable for cable in network.cables_of("stripe1-leaf1") if cable.kind == "fabric"]
    assert sorted(cable.color or 0 for cable in uplinks) == list(range(1, 9))
    assert all(sum(1 for cable in uplinks if cable.b.device == f"spine{n}") == 2 for n in (1, 2, 3, 4))
    nic = network.servers[0].nics[0]
    assert len(nic.addresses) == 8


def test_bfd_and_router_advertisement_values_of_the_source(rlb: Network) -> None:
    fabric = rlb.fabric("backend")
    assert (fabric.underlay.bfd.minimum_interval, fabric.underlay.bfd.multiplier) == (1000, 3)
    timers = fabric.router_advertisements
    assert (timers.prefix_valid_lifetime, timers.prefix_preferred_lifetime, timers.router_lifetime) == (
        2592000,
        604800,
        1800,
    )
    assert timers.on_link
    assert timers.autonomous
