"""Training jobs on a designed network: what is alone there, what shares links, and what a fault does."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import railweave
from railweave.catalog import in_force
from railweave.errors import InputError
from railweave.network.model import Network
from railweave.simulation.training.answer import TrainingPrediction
from railweave.simulation.training.loads import Carried
from railweave.simulation.training.question import predict_training
from railweave.simulation.training.sharing import Shared
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
    assert found["DP"].alone_ps == pytest.approx(wanted, rel=0.02)
    assert found["DP"].bound.startswith("link H100-0")


def test_a_dead_spine_never_makes_a_step_quicker(tmp_path: Path) -> None:
    from railweave.design.fault_targets import fault_targets
    from railweave.intent.scenario import read_scenario

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

    def one(*busy: float) -> Carried:
        ports = np.flatnonzero(np.array(busy) > 0)
        return Carried(100, ports, np.array(busy)[ports], np.zeros(len(ports)), "", "", complete=True)

    shared = Shared([one(1, 0), one(1, 0.5), one(0, 0.4), one(0, 1)])
    assert shared.paces((0,)) == [1]
    assert shared.paces((0, 1)) == pytest.approx([0.5, 0.5])
    assert shared.paces((1, 2)) == pytest.approx([1, 1])
    assert shared.paces((1, 2, 3)) == pytest.approx([1 / 1.9] * 3)
    assert shared.paces((0, 1, 2, 3)) == pytest.approx([0.5, 0.5, (1 - 0.25) / 1.4, (1 - 0.25) / 1.4])


def test_a_server_that_is_not_there_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"job.yaml:5: there is no server 'H100-09'"):
        predicted(tmp_path, JOB + "hosts: H100-09\n")
