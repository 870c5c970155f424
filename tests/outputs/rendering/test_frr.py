"""FRR configuration in both modes; every file is validated by vtysh in tests/verify."""

from __future__ import annotations

from dataclasses import replace

import pytest

from railweave.model.config.sections import flat, merge, parse, section
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.systems.frr import render as frr
from railweave.systems.frr.tree import to_text
from tests.conftest import example


def _lines(device: str, mode: str = "local-preference") -> list[str]:
    network = example("h100-rlb")
    [fabric] = network.fabrics
    changed: Network = replace(network, fabrics=(replace(fabric, emulation=mode),))  # type: ignore[arg-type]
    return flat(frr.tree(device_config(changed, device, "frr")))


def test_local_preference_is_raised_on_the_session_of_the_color_on_leaf_and_spine() -> None:
    for device, number in (("stripe2-leaf1", 10), ("spine1", 20)):
        lines = _lines(device)
        assert f"route-map from-green permit {number} / set local-preference 200" in lines
        assert not any("aigp" in line for line in lines)


def test_aigp_is_set_inbound_on_every_copy() -> None:
    """Every copy needs a value of at least 1: one without is not demoted, and 0 is dropped by newer releases."""
    for device, number in (("stripe2-leaf1", 10), ("spine1", 20)):
        lines = _lines(device, "aigp")
        assert f"route-map from-green permit {number} / set aigp-metric 1" in lines
        assert f"route-map from-green permit {number + 10} / set aigp-metric 100" in lines
        assert any(line.endswith("bgp bestpath aigp") for line in lines)
        assert not any("local-preference" in line for line in lines)


def test_each_neighbor_has_the_one_as_number_that_design_gave_it() -> None:
    lines = _lines("stripe1-leaf1")
    for spine, port in enumerate(("et-0-0", "et-1-0", "et-2-0", "et-3-0"), 1):
        assert f"router bgp 4200001001 / neighbor {port} interface remote-as {4200000000 + spine}" in lines
    assert not any("remote-as external" in line for line in lines)


def test_router_advertisements_of_the_source() -> None:
    lines = _lines("stripe1-leaf1")
    for color in (1, 2, 3, 4):
        assert f"interface irb.2 / ipv6 nd prefix fc00:1:1:{color}::/64 2592000 604800" in lines
    assert "interface irb.2 / ipv6 nd ra-lifetime 1800" in lines


def test_lists_and_route_maps_stand_before_router_bgp() -> None:
    text = frr.files(device_config(example("h100-rlb"), "stripe1-leaf1", "frr"))["frr.conf"]
    assert text.index("route-map to-spines") < text.index("router bgp")
    assert text.index("bgp large-community-list") < text.index("route-map to-spines")


@pytest.mark.parametrize("device", ["stripe1-leaf1", "spine1"])
def test_round_trip(device: str) -> None:
    text = frr.files(device_config(example("h100-rlb"), device, "frr"))["frr.conf"]
    assert to_text(parse(text)) == text


def test_own_lines_are_merged_into_the_section_they_name() -> None:
    sections = [
        section("router bgp 1", "bgp router-id 10.0.0.1", section("address-family ipv6 unicast", "maximum-paths 4"))
    ]
    merge(
        sections,
        parse("router bgp 1\n address-family ipv6 unicast\n  maximum-paths 4\n  network fc00::/16\nline vty\n"),
    )
    assert flat(sections) == [
        "router bgp 1 / bgp router-id 10.0.0.1",
        "router bgp 1 / address-family ipv6 unicast / maximum-paths 4",
        "router bgp 1 / address-family ipv6 unicast / network fc00::/16",
        "line vty",
    ]


def test_what_frr_cannot_express_is_stated() -> None:
    found = {finding.id for finding in frr.gaps(device_config(example("h100-rlb"), "stripe1-leaf1", "frr"))}
    assert {"frr-no-ports", "frr-no-qos", "frr-no-management", "frr-no-load-balancing", "frr-peer-as"} <= found
