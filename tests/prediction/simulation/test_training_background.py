"""Traffic of others while jobs train: what part of links it takes, where it goes, and whom it slows down."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from benchmarks.completion import LABORATORIES, PUBLISHED, SERVERS, ratios

import railweave
from railweave.errors import InputError
from railweave.model.catalog import in_force
from railweave.model.network.model import Network
from railweave.prediction.simulation.conditions import SimulatedNetwork, bed_of
from railweave.prediction.simulation.model.outages import Timeline
from railweave.prediction.simulation.question import background
from railweave.prediction.simulation.training.answer import TrainingPrediction
from railweave.prediction.simulation.training.loads import CarriedCommunication
from railweave.prediction.simulation.training.question import predict_training, taken
from railweave.prediction.simulation.training.storage import SharedLinks
from tests.conftest import EXAMPLES

JOB = """
model: {layers: 2, hidden: 2048, heads: 16, ffn: 8192, vocabulary: 1000, sequence: 2048, experts: 32, top_k: 4}
parallel: {expert: 32}
batch: {global: 64}
"""
TENANTS = EXAMPLES / "jobs" / "tenants.yaml"


@cache
def network() -> Network:
    return railweave.load(EXAMPLES / "h100-rlb.yaml")


@cache
def bed() -> SimulatedNetwork:
    with in_force(network().catalog):
        return bed_of(network())


def load(words: str) -> dict[str, float]:
    """By link and sender: the part that is taken."""
    fabric = bed().fabric
    with in_force(network().catalog):
        parts = taken(fabric, Timeline(), background(words), {})
    wiring, names = fabric.wiring, (*fabric.wiring.nics, *fabric.wiring.switches)
    found: dict[str, float] = {}
    for row, link in enumerate(wiring.links):
        for side in (0, 1):
            found[f"{link} from {names[int(wiring.cables[row, side])]}"] = float(parts[wiring.end_ports[row, side]])
    return found


def predicted(tmp_path: Path, words: str | None = None) -> TrainingPrediction:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    with in_force(network().catalog):
        return predict_training(network(), path, background=None if words is None else background(words))


def test_a_port_sends_its_share_and_receives_it() -> None:
    found = load("share=30%,ports=H100-01:gpu0_eth+H100-03:gpu0_eth,qps=4")
    used = {name: part for name, part in found.items() if part}
    servers = {name: part for name, part in used.items() if "gpu0_eth--" in name}
    assert len(servers) == 4
    assert list(servers.values()) == pytest.approx([0.3] * 4, rel=1e-3)
    # four queue pairs, a color each, over four uplinks each way, up one leaf and down to the other
    above = [part for name, part in used.items() if name not in servers]
    assert above == pytest.approx([0.3 / 4] * 16, rel=1e-3)


def test_destinations() -> None:
    def above(words: str) -> float:
        return sum(part for name, part in load(words).items() if "spine" in name)

    assert above("share=50%,ports=*:gpu0_eth,to=intra-stripe") == 0
    # of each of 4 NICs half a link, up and down again
    assert above("share=50%,ports=*:gpu0_eth,to=inter-stripe") == pytest.approx(4 * 0.5 * 2, rel=1e-3)
    given = load("share=50%,ports=H100-01:gpu0_eth,to=H100-04:gpu0_eth")
    down = [name for name, part in given.items() if part and name.endswith("from stripe2-leaf1") and "H100" in name]
    assert len(down) == 1
    assert down[0].startswith("H100-04:gpu0_eth--")
    several = load("share=20%,ports=*:gpu0_eth,to=H100-04:gpu0_eth")
    assert several[down[0]] == pytest.approx(3 * 0.2, rel=1e-3)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("share=50%,ports=H100-09:*", "no NIC 'H100-09:.' to send by"),
        ("share=50%,to=H100-09:gpu0_eth", "no NIC 'H100-09:gpu0_eth' to send to"),
        ("share=50%,ports=H100-01:gpu0_eth,to=inter-stripe", "no other port in another stripe"),
        ("share=50%,ports=H100-01:gpu0_eth+H100-03:gpu0_eth,to=intra-stripe", "no other port in its stripe"),
        ("share=50%,ports=H100-01:gpu0_eth,to=H100-01:gpu0_eth", "no other port to send to"),
    ],
)
def test_what_cannot_be_sent_is_said(words: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        load(words)


def test_a_link_that_is_partly_taken_slows_down_what_needs_more_than_is_left() -> None:
    def one(busy: float) -> CarriedCommunication:
        return CarriedCommunication(100, np.array([0]), np.array([busy]), np.zeros(1), "", "", complete=True)

    for part, busy, pace in ((0.25, 1.0, 0.75), (0.25, 0.6, 1.0), (0.9, 1.0, 0.5), (0.4, 0.8, 0.75)):
        assert SharedLinks([one(busy)], np.array([part])).paces((0,)) == pytest.approx([pace], rel=2e-3)


def test_more_background_never_makes_a_step_quicker(tmp_path: Path) -> None:
    found = [
        predicted(tmp_path, words).jobs[0] for words in (None, "share=10%", "share=30%", "share=50%", "share=100%")
    ]
    steps = [one.step_ps for one in found]
    assert steps == sorted(steps)
    assert steps[-1] > steps[0]
    assert {one.alone_ps for one in found} == {steps[0]}
    assert "background" in found[-1].band.outside
    # nobody waits for more than the same traffic at half the pace
    assert steps[-1] - steps[0] <= found[0].exposed_ps * 1.01 + 1e9


def test_load_on_nics_slows_down_dlrm_strongly_and_llama_hardly() -> None:
    """As the test reports have it: between what a quarter and a half of the NICs' rate costs."""
    (one,) = (each for each in LABORATORIES if each.to == SERVERS)
    found = ratios(one)
    assert found["DLRM", 25] < PUBLISHED["DLRM", 50] < found["DLRM", 50]
    assert abs(found["LLAMA2, LoRA", 50] - PUBLISHED["LLAMA2, LoRA", 50]) < 0.01
    assert found["LLAMA2, LoRA", 50] < found["DLRM", 50]
    assert found["BERT", 50] < found["DLRM", 50]


def test_tenants_each_have_a_result_and_meet_on_links() -> None:
    net = railweave.load(EXAMPLES / "evpn-server-isolation.yaml")
    with in_force(net.catalog):
        found = predict_training(net, TENANTS)
        loaded = predict_training(net, TENANTS, background=background("share=50%,ports=H100-*:*"))
        with pytest.raises(InputError, match="does not reach"):
            predict_training(net, TENANTS, background=background("share=50%"))
    by_tenant = {job.plan.job.tenant: job for job in found.jobs}
    assert set(by_tenant) == {"tenant-1", "tenant-2", "tenant-3"}
    assert all(job.step_ps >= job.alone_ps * (1 - 1e-6) for job in found.jobs)
    assert "tenant-2" in found.to_text()
    assert [one["tenant"] for one in found.to_json()["jobs"]] == list(by_tenant)
    assert loaded.jobs[0].step_ps > found.jobs[0].step_ps
    assert loaded.complete
