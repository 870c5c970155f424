"""Where fc00:1:1:1::/64 goes with which community and AIGP (RDMA load-balancing document, "DPF")."""

from __future__ import annotations

import pytest

from railweave.analysis.routing.control_plane import ControlPlane
from tests.analysis.routing.fabrics import configurations
from tests.conftest import example

PREFIX = "fc00:1:1:1::/64"


def _heard(spine: str) -> tuple[set[str], int | None]:
    """The color communities and AIGP that a spine hears from stripe1-leaf1 for the prefix."""
    network = example("h100-rlb")
    plane = ControlPlane(configurations(network))
    plane.routes()
    assert plane._start is not None
    [sender] = [peer.sender for peer in plane._peers[spine] if peer.device == "stripe1-leaf1"]
    attributes = plane.table.items[int(plane._start.advertised[sender].routes.ids[plane._place[PREFIX]])]
    return {value for value in attributes.communities if value.startswith("color:")}, attributes.aigp


@pytest.mark.parametrize(
    ("spine", "community", "aigp"),
    [
        ("spine1", "color:0:1", 0),
        ("spine2", "color:0:2", None),
        ("spine3", "color:0:3", None),
        ("spine4", "color:0:4", None),
    ],
)
def test_community_and_aigp_to_each_spine(spine: str, community: str, aigp: int | None) -> None:
    assert _heard(spine) == ({community}, aigp)


def test_preferred_and_backup_on_a_remote_leaf() -> None:
    routes = ControlPlane(configurations(example("h100-rlb"))).routes()
    assert routes.next_hops("stripe2-leaf1", PREFIX) == ("stripe2-leaf1:et-0/0/0:0--spine1:et-0/0/4:0",)
    assert routes.reason("stripe2-leaf1", PREFIX) == "aigp"
    assert [link.split("--")[1].split(":")[0] for link in routes.backup("stripe2-leaf1", PREFIX)] == [
        "spine2",
        "spine3",
        "spine4",
    ]


def test_frr_measured_behaviour_with_two_links_to_a_spine() -> None:
    """Measured on FRR 8.4 and 10.3: a remote uplink down gives ECMP over all others; an origin link down only moves the spine."""
    network = example("h100-rlb-8up")
    plane = ControlPlane(configurations(network, "frr"))
    uplinks = {c.color: c.name for c in network.cables_of("stripe2-leaf1") if c.kind == "fabric"}
    origin = {c.color: c.name for c in network.cables_of("stripe1-leaf1") if c.kind == "fabric"}
    routes = plane.routes([uplinks[1]])
    assert set(routes.next_hops("stripe2-leaf1", PREFIX)) == set(uplinks.values()) - {uplinks[1]}
    routes = plane.routes([origin[1]])
    assert routes.next_hops("stripe2-leaf1", PREFIX) == (uplinks[1],)
    assert routes.next_hops("spine1", PREFIX) == (origin[5],)
    routes = plane.routes([origin[1], origin[5]])
    assert routes.next_hops("spine1", PREFIX) == ()
    assert {network.cable(link).b.device for link in routes.next_hops("stripe2-leaf1", PREFIX)} == {
        "spine2",
        "spine3",
        "spine4",
    }
