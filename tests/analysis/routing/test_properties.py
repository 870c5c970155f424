"""What must hold on every fabric, checked on generated ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from railweave.analysis.checks.routing import leaf_transit
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing import candidates
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.analysis.routing.table import Routes
from railweave.model.network.model import Network
from tests.analysis.routing.fabrics import configurations, fabrics
from tests.drawn import examples

FEW = settings(
    max_examples=examples(20, 8), deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
SYSTEMS = [None, "frr"]


def _remote(network: Network) -> Iterator[tuple[str, str, int | None]]:
    leaves = [switch.name for switch in network.switches if switch.role == "leaf"]
    for leaf in leaves:
        for segment in network.segments:
            if segment.leaf != leaf:
                for subnet in segment.subnets:
                    yield leaf, subnet.prefix, subnet.color


def _uplinks(network: Network, leaf: str, color: int | None) -> set[str]:
    return {c.name for c in network.cables_of(leaf) if c.kind == "fabric" and (color is None or c.color == color)}


def _faults(network: Network) -> list[str]:
    return [c.name for c in network.cables if c.kind == "fabric"] + [
        s.name for s in network.switches if s.role == "spine"
    ]


def _is_last_of_its_color(network: Network, link: str) -> bool:
    """Whether a link is the only uplink of its path color that its leaf has."""
    cable = network.cable(link)
    return _uplinks(network, cable.a.device, cable.color) == {link}


def _follow(network: Network, routes: Routes, leaf: str, prefix: str) -> set[str]:
    """The devices where packets to a prefix end, over every choice of next hop; a loop shows as more than 8 steps."""
    at, ends = {leaf}, set[str]()
    for _ in range(8):
        following: set[str] = set()
        for device in at:
            links = routes.next_hops(device, prefix)
            if not links:
                ends.add(device)
            for link in links:
                cable = network.cable(link)
                following.add(cable.b.device if cable.a.device == device else cable.a.device)
        at = following
        if not at:
            return ends
    raise AssertionError(f"packets from {leaf} to {prefix} do not arrive")


@pytest.mark.parametrize("nos", SYSTEMS)
@FEW
@given(network=fabrics())
def test_every_pair_is_reachable_by_the_designed_uplinks(network: Network, nos: str | None) -> None:
    routes = ControlPlane(configurations(network, nos)).routes()
    owners = {subnet.prefix: segment.leaf for segment in network.segments for subnet in segment.subnets}
    for leaf, prefix, color in _remote(network):
        assert set(routes.next_hops(leaf, prefix)) == _uplinks(network, leaf, color)
        assert _follow(network, routes, leaf, prefix) == {owners[prefix]}


@pytest.mark.parametrize("nos", SYSTEMS)
@FEW
@given(network=fabrics())
def test_backup_is_other_uplinks_and_never_the_preferred(network: Network, nos: str | None) -> None:
    routes = ControlPlane(configurations(network, nos)).routes()
    for leaf, prefix, color in _remote(network):
        backup, all_uplinks = set(routes.backup(leaf, prefix)), _uplinks(network, leaf, None)
        assert backup <= all_uplinks - _uplinks(network, leaf, color)
        other_spines = {network.cable(link).b.device for link in all_uplinks - _uplinks(network, leaf, color)}
        own_spines = {network.cable(link).b.device for link in _uplinks(network, leaf, color)}
        if color is not None and other_spines - own_spines:
            assert backup


@pytest.mark.parametrize("nos", SYSTEMS)
@FEW
@given(network=fabrics())
def test_no_leaf_transit(network: Network, nos: str | None) -> None:
    subject = Subject(network, {config.name: config for config in configurations(network, nos)})
    assert list(leaf_transit.run(subject)) == []


@pytest.mark.parametrize("nos", SYSTEMS)
@FEW
@given(network=fabrics())
def test_no_single_fault_blackholes_anything(network: Network, nos: str | None) -> None:
    plane = ControlPlane(configurations(network, nos))
    spines = {switch.name for switch in network.switches if switch.role == "spine"}
    owners = {subnet.prefix: segment.leaf for segment in network.segments for subnet in segment.subnets}
    for fault in _faults(network):
        if len(spines) == 1 and (fault in spines or _is_last_of_its_color(network, fault)):
            continue  # no second path: one spine passes nothing from one path color to another
        routes = plane.routes([fault])
        for leaf, prefix, _ in _remote(network):
            assert _follow(network, routes, leaf, prefix) == {owners[prefix]}, fault


@pytest.mark.parametrize("nos", SYSTEMS)
@FEW
@given(network=fabrics(), data=st.data())
def test_a_fault_gives_the_same_whether_it_was_there_from_the_start(
    network: Network, nos: str | None, data: st.DataObject
) -> None:
    down = frozenset(data.draw(st.lists(st.sampled_from(_faults(network)), max_size=4)))
    plane = ControlPlane(configurations(network, nos))
    fresh = ControlPlane(configurations(network, nos))
    assert plane.routes(down).equal(fresh._collect(fresh._from_nothing(down), down))


@pytest.mark.parametrize("nos", SYSTEMS)
@FEW
@given(network=fabrics(), data=st.data())
def test_sessions_taken_together_decide_as_each_by_itself(
    network: Network, nos: str | None, data: st.DataObject
) -> None:
    down = frozenset(data.draw(st.lists(st.sampled_from(_faults(network)), max_size=3)))
    together = ControlPlane(configurations(network, nos)).routes(down)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_together", _apart)
        apart = ControlPlane(configurations(network, nos)).routes(down)
    assert together.equal(apart)
    assert all(np.array_equal(together.received[key], apart.received[key]) for key in together.received)


def _apart(bundles: list[Any], refused: tuple[bytes, ...]) -> candidates.Candidates:
    """A candidate for each session, however alike they are."""
    sessions = sorted(
        ((row, one, places) for one, places in zip(bundles, refused, strict=True) for row in one.rows),
        key=lambda session: session[0],
    )
    return candidates.Candidates(
        tuple(
            candidates.Candidate(one.via.place, one.advertised.routes, one.via.aigp, one.via.looped, places)
            for _, one, places in sessions
        ),
        tuple((row,) for row, _, _ in sessions),
        tuple((one.sender, one.advertised.paths) for _, one, _ in sessions),
    )


@FEW
@given(network=fabrics(), qps=st.integers(1, 9))
def test_paths_are_symmetric(network: Network, qps: int) -> None:
    routes = ControlPlane(configurations(network)).routes()
    first, last = network.servers[0], network.servers[-1]
    src, dst = f"{first.name}:{first.nics[0].name}", f"{last.name}:{last.nics[-1].name}"
    there = queue_pair_paths(network, routes, src, dst, qps)
    back = queue_pair_paths(network, routes, dst, src, qps)
    for one, other in zip(there, back, strict=True):
        assert (one.src_gid, one.dst_gid) == (other.dst_gid, other.src_gid)
        assert [set(hop) for hop in one.hops] == [set(hop) for hop in reversed(other.hops)]
        assert all(abs(sum(share.share for share in hop) - 1) < 1e-4 for hop in one.hops)
        assert one.pinned == all(len(hop) == 1 for hop in one.hops)
