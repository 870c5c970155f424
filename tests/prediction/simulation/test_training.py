"""Training jobs on a designed network: what is alone there, what shares links, and what a fault does."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import railweave
from railweave.errors import InputError
from railweave.model.catalog import in_force
from railweave.model.network.model import Network
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.model.outages import Timeline
from railweave.prediction.simulation.training.answer import TrainingPrediction, judged
from railweave.prediction.simulation.training.loads import CarriedCommunication, PlacedJob, nccl_of
from railweave.prediction.simulation.training.packets import check_packets
from railweave.prediction.simulation.training.question import predict_training
from railweave.prediction.simulation.training.storage import SharedLinks
from railweave.prediction.simulation.training.variants import training_over_seeds
from tests.conftest import EXAMPLES

JOB = """
name: small
model: {layers: 4, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocabulary: 32000, sequence: 4096}
batch: {global: 64}
"""


@cache
def network() -> Network:
    return railweave.load(EXAMPLES / "h100-rlb.yaml")


def predicted(tmp_path: Path, text: str = JOB, **given: object) -> TrainingPrediction:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    with in_force(network().catalog):
        return predict_training(network(), path, **given)  # type: ignore[arg-type]


def test_one_link_binds(tmp_path: Path) -> None:
    """Replicas on two servers, a rail each: the ring's bytes over the NIC's rate, and a few microseconds."""
    (job,) = predicted(
        tmp_path, JOB + "hosts: H100-[01-02]\nparallel: {tensor: 8, zero: 0}\noverlap: {bucket: 1000000000000}\n"
    ).jobs
    found = {one.kind: carried for one, carried in zip(job.graph.communications, job.carried, strict=True)}
    (sent,) = (one for one in job.graph.communications if one.kind == "DP")
    payload = 4096 / (4096 + 62 + 20)  # of a packet: RoCEv2 headers, preamble and gap
    wanted = sent.size_bytes * 8e12 / 400e9 / payload
    assert found["DP"].alone_ps == pytest.approx(wanted, rel=0.025)
    assert found["DP"].bound.startswith("link H100-0")


def test_bytes_of_each_tier_are_those_of_the_formulas(tmp_path: Path) -> None:
    """Two servers of different stripes, tensor inside: gradients cross the leaves once each way; what tensors share stays inside."""
    text = JOB + "hosts: H100-01,H100-03\nparallel: {tensor: 8, zero: 0}\noverlap: {bucket: 1000000000000}\n"
    (job,) = predicted(tmp_path, text).jobs
    headers = (4096 + 62 + 20) / 4096
    (sent,) = (one for one in job.graph.communications if one.kind == "DP")
    wanted = 16 * sent.size_bytes * headers  # of an all-reduce over two ranks each sends its size
    server, leaf = job.sent.tiers()
    assert (server.name, leaf.name) == ("server to leaf", "leaf to spine")
    for bytes_ in (server.up_bytes, server.down_bytes, leaf.up_bytes, leaf.down_bytes):
        assert bytes_ == pytest.approx(wanted, rel=0.02)
    assert sum(one["bytes"] for one in job.sent.links()) == pytest.approx(4 * wanted, rel=0.02)
    assert server.links == 16
    # 4 layers, 32 micro-batches a replica; gathered and scattered round both blocks, forth and back: 8 times 7/8 of the size from each rank
    inside = 4 * 32 * 8 * 7 / 8 * (4096 * 4096 * 2) * 16
    assert job.sent.inside_bytes == pytest.approx(inside, rel=0.05)
    busy = server.busy * job.step_ps / 1e12 * 400e9 / 8
    assert busy == pytest.approx(sent.size_bytes * headers, rel=0.02)


def test_the_band_holds_the_step_and_what_seeds_give(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(JOB + "parallel: {zero: 3}\n")
    said: list[str] = []
    with in_force(network().catalog):
        found = training_over_seeds(network(), path, 3, {"lb": "ecmp", "qps": 1}, said.append)
    (job,) = found.jobs
    assert len(job.seeds_ps) == 3
    assert job.band.low_ps < min(job.seeds_ps) <= job.step_ps <= max(job.seeds_ps) < job.band.high_ps
    assert job.band.error == judged()["H100"].error
    assert "FSDP" in job.band.outside
    assert "between" in job.to_text()


def test_a_dead_spine_never_makes_a_step_quicker(tmp_path: Path) -> None:
    from railweave.design.fault_targets import fault_targets
    from railweave.model.intent.scenario import read_scenario

    text = JOB + "parallel: {zero: 3}\n"
    scenario = tmp_path / "dead.yaml"
    scenario.write_text("faults:\n  - {at: 0us, kind: device-down, device: spine1}\n")
    whole = predicted(tmp_path, text)
    broken = predicted(tmp_path, text, faults=fault_targets(network(), read_scenario(scenario, "sim")))
    assert broken.jobs[0].step_ps >= whole.jobs[0].step_ps


def test_two_jobs_on_the_same_leaves_slow_each_other_down_no_further_than_one_after_the_other(tmp_path: Path) -> None:
    text = f"jobs:\n{_item('a', 'H100-01,H100-03')}{_item('b', 'H100-02,H100-04')}"
    found = predicted(tmp_path, text, lb="ecmp")
    for job in found.jobs:
        assert job.alone_ps <= job.step_ps * (1 + 1e-6)
        assert job.step_ps <= sum(one.alone_ps for one in found.jobs)


def _item(name: str, hosts: str) -> str:
    body = JOB.strip().replace("name: small", f"name: {name}").replace("\n", "\n    ")
    return f"  - {body}\n    hosts: {hosts}\n    parallel: {{zero: 3}}\n"


def test_what_shares_a_link_shares_its_rate() -> None:
    import numpy as np

    def one(*busy: float) -> CarriedCommunication:
        ports = np.flatnonzero(np.array(busy) > 0)
        return CarriedCommunication(100, ports, np.array(busy)[ports], np.zeros(len(ports)), "", "", complete=True)

    shared = SharedLinks([one(1, 0), one(1, 0.5), one(0, 0.4), one(0, 1)])
    assert shared.paces((0,)) == [1]
    assert shared.paces((0, 1)) == pytest.approx([0.5, 0.5])
    assert shared.paces((1, 2)) == pytest.approx([1, 1])
    assert shared.paces((1, 2, 3)) == pytest.approx([1 / 1.9] * 3)
    assert shared.paces((0, 1, 2, 3)) == pytest.approx([0.5, 0.5, (1 - 0.25) / 1.4, (1 - 0.25) / 1.4])


def test_a_server_that_is_not_there_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"job.yaml:5: there is no server 'H100-09'"):
        predicted(tmp_path, JOB + "hosts: H100-09\n")


def test_packets_take_as_long_as_flows_where_nothing_meets(tmp_path: Path) -> None:
    """Rings on links of their own: what flows say to 5 %; what would be too many packets is cut down, for both."""
    model = JOB.replace("layers: 4, hidden: 4096", "layers: 2, hidden: 4096")
    (job,) = predicted(tmp_path, model + "parallel: {tensor: 4, zero: 3}\n", check=True).jobs
    found = job.checked
    assert {one.communication.collective for one in found} == {"all-gather", "reduce-scatter"}
    for one in found:
        assert one.complete
        assert one.size_bytes == one.communication.size_bytes
        assert abs(one.longer) < 0.05
    (same,) = predicted(tmp_path, model + "parallel: {tensor: 4, zero: 3}\n", engine="packet").jobs
    longer = max(one.longer for one in same.checked)
    assert job.step_ps <= same.step_ps <= job.step_ps * (1 + max(longer, 0)) + 1
    said: list[str] = []
    with in_force(network().catalog):
        bed = bed_of(network())
        colors = nccl_of(network(), {}, bed.job, 4, 4)
        placed = PlacedJob(bed.fabric, bed.job, bed.hosts, colors, Timeline(), {})
        cut = check_packets(placed, job.slowest(), said.append, most_hops=20_000)
    assert all(one.size_bytes < one.communication.size_bytes for one in cut if one.communication.size_bytes > 4_000_000)
    assert len(said) == len(cut)
    assert "(of" in max(cut, key=lambda one: one.communication.size_bytes).to_text()
