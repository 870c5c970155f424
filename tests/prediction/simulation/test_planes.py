"""Planes of NIC ports in the simulator: traffic splits over them, and one that is dead costs exactly its share."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import railweave
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.queue_pairs import ALIGN, split
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.engines.traffic import traffic_of
from railweave.prediction.simulation.model.outages import Timeline
from railweave.prediction.simulation.model.ports import FAILOVER_NOTE, UNDER_WAY_NOTE, usable
from tests.conftest import example
from tests.planes import network_of_planes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.conditions import SimulatedNetwork
    from railweave.prediction.simulation.engines.traffic import Traffic

MB = 1 << 20
SAME = {"NCCL_PROTO": "Simple", "NCCL_ALGO": "Ring", "NCCL_MIN_NCHANNELS": "16", "NCCL_MAX_NCHANNELS": "16"}
"""The same messages, whatever the rate of the NICs."""


@cache
def planes(count: int, dead: int = 0) -> Network:
    """A network of so many planes; the leaves of the last ``dead`` ones are marked as failed."""
    names = [f'"stripe{stripe}-leaf{plane}": failed' for plane in last(count, dead) for stripe in (1, 2)]
    with tempfile.TemporaryDirectory() as folder:
        return network_of_planes(Path(folder), count, last="status: {" + ", ".join(names) + "}" if dead else "")


def last(count: int, dead: int) -> range:
    return range(count - dead + 1, count + 1)


@cache
def bed(count: int, dead: int = 0, how: str = "absent") -> SimulatedNetwork:
    """Planes that are absent when the job starts, or whose leaves or spines die under it."""
    if how == "absent" or not dead:
        return bed_of(planes(count, dead))
    whole = bed_of(planes(count))
    assert whole.plane is not None
    role = "leaf" if how == "leaves die" else "spine"
    gone = {f"plane{plane}" for plane in last(count, dead)}
    down = [one.name for one in planes(count).switches if one.role == role and one.plane in gone]
    return replace(whole, fabric=replace(whole.fabric, routes=whole.plane.routes(down)))


def traffic(one: SimulatedNetwork, size: int, qps: int, *, split_data: bool) -> tuple[Traffic, NDArray[np.int64]]:
    """An all-reduce's traffic, and the bytes that each host of the engine, which is a port, sends."""
    planned = program(one.job, "all-reduce", size, parameters(SAME), credit=True)
    ports = one.job.ports
    parts = split(planned, qps, split_data=split_data, ports=ports)
    way = usable(one.fabric, Timeline())
    found = traffic_of(one.fabric.addresses, one.hosts, planned, parts, ports=ports, way=way)
    own = found.data[found.messages[:, 0].astype(np.int64)]
    sources = found.pairs[found.messages[:, 0].astype(np.int64), 0][own]
    carried = np.bincount(sources, found.messages[own, 1].astype(np.float64), len(one.fabric.wiring.nics))
    return found, carried.astype(np.int64)


@settings(max_examples=40, deadline=None)
@given(
    count=st.sampled_from([2, 4]),
    dead=st.integers(0, 3),
    how=st.sampled_from(["absent", "leaves die"]),
    qps=st.integers(1, 4),
    split_data=st.booleans(),
    size=st.integers(1 * MB, 8 * MB),
)
def test_bytes_split_alike_over_living_planes(
    count: int, dead: int, how: str, qps: int, split_data: bool, size: int
) -> None:
    dead = min(dead, count - 1)
    part = bed(count, dead, how)
    _, before = traffic(bed(count), size, qps, split_data=split_data)
    found, after = traffic(part, size, qps, split_data=split_data)
    had = dict(zip(bed(count).fabric.wiring.nics, before.tolist(), strict=True))
    sent = dict(zip(part.fabric.wiring.nics, after.tolist(), strict=True))
    pieces = len(found.messages) * ALIGN  # parts are rounded up to this
    for nic in (f"{server.name}:gpu{gpu}" for server in part.job.servers for gpu in range(2)):
        own = [sent[f"{nic}_p{port}"] for port in range(count - dead)]
        assert sum(own) == sum(had[f"{nic}_p{port}"] for port in range(count))
        assert max(own) - min(own) <= pieces
        assert not any(sent.get(f"{nic}_p{plane - 1}", 0) for plane in last(count, dead))
    names, network = part.fabric.wiring.nics, planes(count)
    plane = {f"{one.name}:{nic.name}": network.plane_of(nic) for one in network.servers for nic in one.nics}
    assert all(plane[names[src]] == plane[names[dst]] for src, dst in found.pairs[:, :2].tolist())


@pytest.mark.parametrize("gone", ['"gpu-1:gpu0_p1"', '"gpu-3:gpu0_p0"', '"plane2-spine[1-2]"'])
def test_queue_pairs_move_to_living_ports_as_paths_shows_it(gone: str, tmp_path: Path) -> None:
    network = network_of_planes(tmp_path, last=f"status: {{{gone}: failed}}")
    fabric = bed_of(network).fabric
    names = fabric.wiring.nics
    src, dst = (
        next(host for host, nic in enumerate(names) if nic.startswith(f"{server}:gpu0_"))
        for server in ("gpu-1", "gpu-3")
    )
    here, there = np.full(8, src, np.uint32), np.full(8, dst, np.uint32)
    lanes = fabric.addresses.lanes(here, there, usable(fabric, Timeline()))
    rows = fabric.addresses.merged(here, there, np.arange(8, dtype=np.uint32), 2, lanes)
    shown = queue_pair_paths(network, fabric.routes, "gpu-1:gpu0_p0+gpu0_p1", "gpu-3:gpu0_p0+gpu0_p1", 8)
    text = fabric.addresses.text
    assert [(text[back], text[to]) for _, _, to, back in rows.tolist()] == [(one.src_gid, one.dst_gid) for one in shown]
    assert all(one.hops for one in shown)


@pytest.mark.parametrize("how", ["absent", "leaves die", "spines die"])
@pytest.mark.parametrize(("count", "dead"), [(2, 1), (4, 1), (4, 2), (4, 3)])
def test_a_dead_plane_costs_exactly_its_share(count: int, dead: int, how: str) -> None:
    """Of N planes with K dead NICs and links take N / (N - K) times as long for the same bytes; the flow engine says so too."""
    nccl = SAME
    # a multiple of all numbers of ports, so that no part is rounded up
    size = 3 * 64 * MB
    whole = predict(planes(count), "all-reduce", size, qps=1, bed=bed(count), nccl=nccl, engine="flow")
    network = planes(count, dead) if how == "absent" else planes(count)
    part = predict(network, "all-reduce", size, qps=1, bed=bed(count, dead, how), nccl=nccl, engine="flow")
    assert whole.complete
    assert part.complete
    assert whole.ideal is not None
    assert part.ideal is not None
    share = count / (count - dead)
    assert part.ideal.nics_ps == pytest.approx(whole.ideal.nics_ps * share, rel=1e-3)
    assert part.load.link_ps == pytest.approx(whole.load.link_ps * share, rel=1e-3)
    assert part.time_ps == pytest.approx(whole.time_ps * share, rel=0.02)


@pytest.mark.parametrize("fault", ["device-down, device: stripe1-leaf2", "plane-down, plane: plane2"])
@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_a_plane_that_dies_leaves_its_share_to_the_other(
    engine: Literal["packet", "flow"], fault: str, tmp_path: Path
) -> None:
    scenario = tmp_path / "s.yaml"
    scenario.write_text(
        "name: a plane dies\ntraffic:\n"
        "  - {collective: all-reduce, size: 16M}\n"
        "  - {collective: all-reduce, size: 16M, compute: 50us}\n"
        "  - {collective: all-reduce, size: 16M, compute: 30ms}\n"
        "reroute: 1ms\nfaults:\n"
        f"  - {{at: 10us, kind: {fault}, for: 20ms}}\n"
    )
    network = planes(2)
    job = railweave.simulate(network, scenario=scenario, engine=engine)
    under_way, dead, back = job.steps
    alone = railweave.simulate(network, collective="all-reduce", size="16M", engine=engine)
    assert [one.prediction.complete for one in job.steps] == [True] * 3
    assert UNDER_WAY_NOTE in under_way.prediction.notes
    assert FAILOVER_NOTE in dead.prediction.notes
    assert UNDER_WAY_NOTE not in dead.prediction.notes
    assert dead.prediction.ideal is not None
    assert back.prediction.ideal is not None
    assert dead.prediction.ideal.nics_ps == pytest.approx(2 * back.prediction.ideal.nics_ps, rel=4e-3)
    assert back.prediction.time_ps == pytest.approx(alone.time_ps, rel=1e-3)
    assert under_way.prediction.time_ps < 10**9  # it waits neither for the leaf nor for a retransmission


BOTH_DEAD = "traffic: [{{collective: all-reduce, size: 16M, compute: {start}}}]\nreroute: 500us\nfaults: [{faults}]\n"
RETRY_PS = 4_096_000 << 20
"""A NIC's retransmission timeout, as NCCL sets it."""


@pytest.mark.parametrize(
    ("start", "faults", "ports"),
    [
        # the first plane is down for a millisecond, the second for good
        (
            "3.2ms",
            "{at: 1ms, kind: plane-down, plane: plane2}, {at: 2ms, for: 1ms, kind: plane-down, plane: plane1}",
            1,
        ),
        (
            "2.2ms",
            "{at: 1ms, kind: plane-down, plane: plane2}, {at: 2ms, for: 1ms, kind: plane-down, plane: plane1}",
            1,
        ),
        # both are up again when the collective begins, but no switch knows a route yet
        (
            "3.2ms",
            "{at: 2ms, for: 1ms, kind: plane-down, plane: plane1}, {at: 2ms, for: 1ms, kind: plane-down, plane: plane2}",
            2,
        ),
        # one that comes back first is lost again: it is no use to wait for it
        (
            "3.2ms",
            "{at: 1ms, for: 5ms, kind: plane-down, plane: plane2}, {at: 2ms, for: 1ms, kind: plane-down, plane: plane1}, {at: 4ms, kind: plane-down, plane: plane1}",
            1,
        ),
    ],
)
@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_a_collective_without_a_living_plane_waits_for_the_first_that_comes_back(
    engine: Literal["packet", "flow"], start: str, faults: str, ports: int, tmp_path: Path
) -> None:
    """What it sends before routes are back is lost, and sent again after a retransmission timeout."""
    network, scenario = planes(2), tmp_path / "s.yaml"
    scenario.write_text(BOTH_DEAD.format(start=start, faults=faults))
    alone = railweave.simulate(network, collective="all-reduce", size="16M", engine=engine)
    [found] = railweave.simulate(network, scenario=scenario, engine=engine).steps
    assert found.prediction.complete
    assert found.prediction.ideal is not None
    assert alone.steps[0].prediction.ideal is not None
    assert found.prediction.ideal.nics_ps * ports == pytest.approx(
        2 * alone.steps[0].prediction.ideal.nics_ps, rel=4e-3
    )
    assert RETRY_PS < found.prediction.time_ps < RETRY_PS + 5 * 10**9


def test_without_a_plane_that_comes_back_a_collective_never_completes_and_has_no_rate(tmp_path: Path) -> None:
    scenario = tmp_path / "s.yaml"
    scenario.write_text(
        BOTH_DEAD.format(
            start="3ms", faults="{at: 1ms, kind: plane-down, plane: plane1}, {at: 1ms, kind: plane-down, plane: plane2}"
        )
    )
    job = railweave.simulate(planes(2), scenario=scenario, engine="flow")
    [found] = job.steps
    assert not found.prediction.complete
    assert found.prediction.bus_bandwidth_gbytes == 0
    assert found.prediction.band is None
    for text in (job.to_text(), found.prediction.to_text()):
        assert "never completes" in text
        assert "busy" not in text
    assert "GB/s" not in found.prediction.to_text()
    assert job.to_text().splitlines()[1].split()[-3:] == ["never", "–", "flow"]
    assert job.table.to_json()[0]["bus_bandwidth_GBps"] is None
    shown = found.prediction.to_json()
    assert [shown[name] for name in ("bus_bandwidth_GBps", "alg_bandwidth_GBps", "bottleneck", "ideal")] == [None] * 4


def test_nics_without_a_port_in_one_plane_are_named(tmp_path: Path) -> None:
    gone = 'status: {"gpu-1:gpu0_p1": failed, "gpu-2:gpu0_p0": failed}'
    network = network_of_planes(tmp_path, last=gone)
    with pytest.raises(railweave.InputError, match="no path to each other: they have no plane in common") as caught:
        railweave.simulate(network, "all-reduce", MB)
    assert {"gpu-1:gpu0_p0", "gpu-2:gpu0_p1"} == set(
        re.findall(r"gpu-\d:gpu0_p\d", str(caught.value).splitlines()[0])[-2:]
    )
    assert railweave.simulate(network, "all-reduce", MB, hosts="gpu-1,gpu-3", engine="flow").complete


def test_one_dead_port_costs_its_own_nic_half() -> None:
    """A cable of one server: that GPU's NIC has one port left, all others keep both."""
    network = planes(2)
    whole = bed(2)
    assert whole.plane is not None
    lost = next(one for one in network.cables if one.a.device == "gpu-1" and one.a.port == "gpu0_p1")
    part = replace(whole, fabric=replace(whole.fabric, routes=whole.plane.routes([lost.name])))
    _, sent = traffic(part, 4 * MB, 1, split_data=False)
    by_name = dict(zip(part.fabric.wiring.nics, sent.tolist(), strict=True))
    assert by_name["gpu-1:gpu0_p1"] == 0
    assert by_name["gpu-1:gpu0_p0"] == by_name["gpu-1:gpu1_p0"] + by_name["gpu-1:gpu1_p1"]


def test_the_job_has_nics_of_800g_with_two_ports() -> None:
    network = example("two-planes")
    found = bed_of(network)
    first = found.job.servers[0]
    assert [(nic.name, nic.rail, nic.rate_mbps, nic.ports) for nic in first.nics] == [
        (f"gpu{gpu}_p0", gpu + 1, 800_000, 2) for gpu in range(8)
    ]
    assert first.nearest == tuple(range(8))
    assert len(found.hosts) == 4 * 8
    assert len(found.fabric.wiring.nics) == 4 * 16


def test_more_queue_pairs_than_nccl_has_are_refused() -> None:
    with pytest.raises(railweave.InputError, match="1 to 64"):
        predict(planes(2), "all-reduce", MB, qps=65, bed=bed(2))
