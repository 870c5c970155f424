"""An all-to-all of which one server is run, against the run of all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import railweave
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.program import csr
from railweave.prediction.collectives.queue_pairs import split
from railweave.prediction.simulation.collective import POST_COST_PS, predict
from railweave.prediction.simulation.conditions import Conditions, SimulatedNetwork, bed_of
from railweave.prediction.simulation.engines.run import run_flows
from railweave.prediction.simulation.engines.traffic import Traffic, traffic_of
from railweave.prediction.simulation.rotation import Rotation, rotation, run_rotation

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.model.network.model import Network
    from railweave.prediction.collectives.nccl import Parameters
    from railweave.prediction.simulation.model.fabric import FlowArguments

FABRIC = """\
name: even
fabrics:
  backend:
    topology: {{stripes: {stripes}, spines: 8}}
    leaf: {{device: qfx5240-64od}}
    paths_per_nic: 4
{more}servers:
{servers}
management: {{root_password: secret:root-hash, users: {{netops: {{role: super-user, password: "secret:netops-hash"}}}}}}
"""
SERVERS = '  - {{names: "gpu-[01-{:02d}]", model: h100-8gpu-cx7}}'

UNEVEN = """\
  - {names: "gpu-[01-04]", model: h100-8gpu-cx7, stripe: stripe1}
  - {names: "gpu-[05-06]", model: h100-8gpu-cx7, stripe: stripe2}"""


def fabric(folder: Path, stripes: int = 1, servers: int = 5, more: str = "", placed: str = "") -> Network:
    path = folder / "even.yaml"
    path.write_text(FABRIC.format(stripes=stripes, servers=placed or SERVERS.format(servers), more=more))
    return railweave.load(path)


def with_cost(cost_ps: int) -> Callable[[FlowArguments], FlowArguments]:
    def given(arguments: FlowArguments) -> FlowArguments:
        arguments["parameters"] = arguments["parameters"] | {"host.post-cost": f"{cost_ps}ps"}
        return arguments

    return given


def known(bed: SimulatedNetwork, qps: int) -> Parameters:
    given = {"NCCL_IB_QPS_PER_CONNECTION": str(qps), "NCCL_IB_SPLIT_DATA_ON_QPS": "1"}
    return parameters(given, bed.job.library)


def rotated(bed: SimulatedNetwork, size: int, qps: int, cost_ps: int = POST_COST_PS) -> Rotation | str:
    return rotation(bed, size, known(bed, qps), Conditions().timeline, with_cost(cost_ps))


def whole_ps(bed: SimulatedNetwork, size: int, qps: int, cost_ps: int) -> tuple[int, np.ndarray]:
    """All servers, each posting what is ready at the same moment in the order of how far away the other is."""
    planned = program(bed.job, "all-to-all", size, known(bed, qps), credit=True)
    parts = split(planned, qps, split_data=True)
    own = traffic_of(bed.fabric.addresses, bed.hosts, planned, parts)
    servers, nics = len(bed.job.servers), bed.job.nics_per_server
    connections = planned.connections.astype(np.int64)
    credit = planned.credit
    source, target = (np.where(credit, connections[:, 1 - end], connections[:, end]) for end in (0, 1))
    of = parts.connection.astype(np.int64)
    apart = (target // nics - source // nics) % servers
    order = np.lexsort(((target % nics)[of], apart[of], (source % nics)[of], credit[of]))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    assert own.after_of is not None
    begin, end = own.after_start.astype(np.int64)[own.after_of + np.array([[0], [1]])]
    waiting = np.repeat(np.arange(len(order)), end - begin)
    entry = np.concatenate([np.arange(*bounds) for bounds in zip(begin, end, strict=True)])
    start, after, delay = csr(
        len(order),
        number[waiting],
        number[own.after.astype(np.int64)[entry]],
        own.after_delay_ps.astype(np.int64)[entry],
    )
    traffic = Traffic(own.pairs, own.messages[order], start, after, delay, own.data)
    run = run_flows(with_cost(cost_ps)(bed.fabric.flow_arguments(own.pairs)), traffic)
    return run.last_ps, run.sent_bytes


@pytest.mark.parametrize("cost_ps", [0, POST_COST_PS])
@pytest.mark.parametrize("qps", [1, 4])
def test_on_one_leaf_a_rail_one_server_gets_what_each_of_all_gets(tmp_path: Path, qps: int, cost_ps: int) -> None:
    bed = bed_of(fabric(tmp_path))
    size = 16 << 20
    one = rotated(bed, size, qps, cost_ps)
    assert isinstance(one, Rotation)
    run, _ = run_rotation(bed, one)
    last_ps, sent = whole_ps(bed, size, qps, cost_ps)
    assert run.complete
    assert run.last_ps == pytest.approx(last_ps, rel=1e-6)
    assert run.sent_bytes == pytest.approx(sent)


def test_over_several_stripes_it_is_off_by_the_shortest_way_at_most(tmp_path: Path) -> None:
    bed = bed_of(fabric(tmp_path, stripes=2, servers=6))
    one = rotated(bed, 64 << 20, 4)
    assert isinstance(one, Rotation)
    run, _ = run_rotation(bed, one)
    last_ps, sent = whole_ps(bed, 64 << 20, 4, POST_COST_PS)
    assert run.last_ps == pytest.approx(last_ps, rel=0.02)
    assert run.sent_bytes == pytest.approx(sent, rel=0.01)
    assert one.apart_ps > 0
    assert "longest" in one.note()


@pytest.mark.parametrize(
    ("more", "placed", "stripes", "qps", "why"),
    [
        ("status: {spine1: failed}\n", "", 2, 4, "absent"),
        ("status: {gpu-03: drained}\n", "", 1, 4, "absent"),
        ("", "", 2, 1, "can fill"),
        (
            "",
            UNEVEN,
            2,
            4,
            "different numbers",
        ),
    ],
)
def test_it_is_not_used_where_servers_do_not_do_alike(
    tmp_path: Path, more: str, placed: str, stripes: int, qps: int, why: str
) -> None:
    network = fabric(tmp_path, stripes, 6, more, placed)
    found = rotated(bed_of(network), 1 << 24, qps)
    assert isinstance(found, str)
    assert why in found


def test_hashes_over_links_make_servers_differ(tmp_path: Path) -> None:
    found = rotated(bed_of(fabric(tmp_path, 2, 6), "ecmp"), 1 << 24, 4)
    assert isinstance(found, str)
    assert "hash" in found


def test_large_jobs_run_one_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = fabric(tmp_path)
    bed = bed_of(network)
    monkeypatch.setattr("railweave.prediction.simulation.collective.MANY_RANKS", 8)
    one = predict(network, "all-to-all", 16 << 20, qps=4, engine="flow", bed=bed)
    broken = replace(bed, fabric=replace(bed.fabric, routes=replace(bed.fabric.routes, down=frozenset({"spine1"}))))
    all_of_them = predict(network, "all-to-all", 16 << 20, qps=4, engine="flow", bed=broken)
    assert "one of 5 servers" in one.choice.why
    assert any("by symmetry" in note for note in one.notes)
    assert "one of" not in all_of_them.choice.why
    assert one.load.proxy_ps == all_of_them.load.proxy_ps
    assert one.ideal is not None
    assert all_of_them.ideal is not None
    assert one.ideal.servers_ps == all_of_them.ideal.servers_ps
    assert one.ideal.nics_ps == pytest.approx(
        all_of_them.ideal.nics_ps, rel=0.01
    )  # the first server's own credit is left out
    assert one.time_ps == pytest.approx(all_of_them.time_ps, rel=0.1)
