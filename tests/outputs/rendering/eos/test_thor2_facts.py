"""What the Thor2 guide (957608-AN210), section 2.5.1, says of an Arista leaf, as values.

Errata applied: scanning turned ``qos`` into ``gos``. Its map of traffic classes to DSCPs is the one for rewriting, which tunnels'
headers get; what puts packets into classes is the other direction, with the same numbers.
"""

from __future__ import annotations

import pytest

from railweave import api
from railweave.model.device.build import device_config
from railweave.systems.eos import render as eos
from tests.outputs.folder.fabrics import fabric
from tests.outputs.rendering.eos.networks import config

LEAF = ("mi300x-leaf-31", "leaf1")


def lines(name: str = LEAF[0], device: str = LEAF[1]) -> set[str]:
    return set(eos.lines(config(name, device)))


def test_rdma_is_traffic_class_3_and_congestion_notifications_are_7() -> None:
    have = lines()
    assert "qos map dscp 26 to traffic-class 3" in have
    assert "qos map dscp 48 to traffic-class 7" in have
    assert "qos map traffic-class 3 to dscp 26" in have
    assert "qos map traffic-class 7 to dscp 48" in have
    assert "qos profile ROCE / qos trust dscp" in have
    assert "qos profile ROCE / priority-flow-control on" in have
    assert "qos profile ROCE / priority-flow-control priority 3 no-drop" in have
    assert [one for one in have if "no-drop" in one] == ["qos profile ROCE / priority-flow-control priority 3 no-drop"]


def test_no_other_dscp_is_lossless() -> None:
    """EOS's own map has 24 to 31 in traffic class 3, and 48 to 55 in 6."""
    maps = [one.split() for one in lines() if one.startswith("qos map dscp ")]
    classes = {int(value): words[-1] for words in maps for value in words[3:-3]}
    assert sorted(classes) == list(range(64))
    assert [value for value, where in classes.items() if where == "3"] == [26]
    assert [value for value, where in classes.items() if where == "7"] == [48]


def test_marking_is_between_1000_and_3000_kbytes() -> None:
    ecn = (
        "random-detect ecn minimum-threshold 1000 kbytes maximum-threshold 3000 kbytes max-mark-probability 20 weight 0"
    )
    assert f"qos profile ROCE / uc-tx-queue 3 / {ecn}" in lines()
    assert "qos profile ROCE / uc-tx-queue 3 / no priority" in lines()
    assert "qos profile ROCE / uc-tx-queue 0 / no priority" in lines()


@pytest.mark.parametrize("host", [1, 2])
def test_a_31_per_link_is_a_routed_port(host: int) -> None:
    have = lines()
    for rail in range(1, 9):
        cage, lane = 2 + (host - 1) * 4 + (rail - 1) // 2, 1 + 4 * ((rail - 1) % 2)
        port = f"interface Ethernet{cage}/{lane}"
        assert {
            f"{port} / ip address 1.1.{100 + host}.{rail}4/31",
            f"{port} / no switchport",
            f"{port} / flowcontrol send off",
            f"{port} / flowcontrol receive off",
            f"{port} / error-correction encoding reed-solomon",
            f"{port} / service-profile ROCE",
            f"{port} / speed 400g-4",
        } <= have


def test_a_whole_port_of_the_guides_switch_is_400g_8(tmp_path) -> None:
    changes = (("device: qfx5240-64od", "device: arista-7060dx4-32\n      nos: eos"),)
    network = api.load(fabric(tmp_path, *changes))
    have = set(eos.lines(device_config(network, "stripe1-leaf1")))
    assert "interface Ethernet1/1 / speed 400g-8" in have
