"""Checkpoints and reads: bytes by formula, one link that binds, and what they do to a step that shares links with them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import railweave
from railweave.errors import InputError
from railweave.model.catalog import in_force
from railweave.model.network.model import Network
from railweave.prediction.simulation.job import job_network
from railweave.prediction.simulation.training.answer import JobResult
from railweave.prediction.simulation.training.question import predict_training
from tests.conftest import EXAMPLES
from tests.prediction.jobs.traces.files import node, write
from tests.prediction.simulation.test_training import network

MODEL = "model: {layers: 4, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocabulary: 32000, sequence: 4096}\n"
JOB = MODEL + "batch: {global: 64}\nhosts: H100-[01-02]\nparallel: {zero: 3}\n"
PAYLOAD = 4096 / (4096 + 62 + 20)
"""Of a packet: RoCEv2 headers, preamble and gap."""


@cache
def three_fabrics() -> Network:
    return railweave.load(EXAMPLES / "aidc-three-fabrics.yaml")


def predicted(tmp_path: Path, text: str, *, storage: bool = False) -> JobResult:
    """The one job of a file: on a network of one fabric, or on one of three with a fabric of storage."""
    path = tmp_path / "job.yaml"
    path.write_text(text)
    whole = three_fabrics() if storage else network()
    with in_force(whole.catalog):
        own = job_network(whole, "backend2" if storage else None)
        return predict_training(own, path, whole=whole).jobs[0]


def test_bytes_are_those_of_the_formula_and_one_link_binds(tmp_path: Path) -> None:
    """Each of four servers has a NIC of 100G for storage, and writes a fourth."""
    found = predicted(tmp_path, (EXAMPLES / "jobs" / "checkpoint.yaml").read_text(), storage=True)
    written = found.checkpoint
    assert written is not None
    model = 32 * (2 * 4096 * (4096 + 1024) + 3 * 4096 * 14336 + 2 * 4096) + 2 * 128256 * 4096
    assert written.size_bytes == pytest.approx(14 * model, rel=1e-4)
    assert written.fabric == "storage"
    assert written.alone_ps == pytest.approx(written.size_bytes / 4 * 8e12 / 100e9 / PAYLOAD, rel=0.03)
    assert ":stor0_eth--storage-h100-leaf1" in written.bound
    # nothing of a step goes over the fabric of storage
    assert (written.time_ps, written.cost_ps, written.step_ps) == (
        pytest.approx(written.alone_ps, rel=1e-6),
        0,
        found.step_ps,
    )
    assert written.every == pytest.approx(1800e12 / found.step_ps)
    (read,) = (
        carried for one, carried in zip(found.graph.communications, found.carried, strict=True) if one.kind == "read"
    )
    assert read.alone_ps == pytest.approx((4 << 30) / 4 * 8e12 / 100e9 / PAYLOAD, rel=0.03)


def test_gpus_that_wait_for_a_checkpoint_wait_as_long_as_it_takes(tmp_path: Path) -> None:
    text = JOB + 'checkpoint: {every: 10 steps, storage: "H100-[03-04]", overlap: false, snapshot: 1s, bytes: 100G}\n'
    found = predicted(tmp_path, text)
    written = found.checkpoint
    assert written is not None
    assert written.size_bytes == 100 << 30
    assert written.alone_ps == pytest.approx((100 << 30) / 16 * 8e12 / 400e9 / PAYLOAD, rel=0.02)
    assert written.each_ps == (written.alone_ps + 10**12) / 10
    assert written.step_ps == found.step_ps + written.alone_ps


def test_a_checkpoint_on_the_fabric_of_the_gpus_slows_steps_down(tmp_path: Path) -> None:
    """Together they take no longer than one after the other."""
    text = (
        JOB.replace("{global: 64}", "{global: 16}")
        + 'checkpoint: {every: 100 steps, storage: "H100-[03-04]", bytes: 4T}\n'
    )
    found = predicted(tmp_path, text)
    written = found.checkpoint
    assert written is not None
    assert written.time_ps > written.alone_ps
    assert found.step_ps < written.step_ps <= 2 * found.step_ps
    assert 0 < written.cost_ps <= written.alone_ps
    assert "a step while it is written" in found.to_text()


def test_a_checkpoint_that_is_not_done_before_the_next_is_said(tmp_path: Path) -> None:
    found = predicted(tmp_path, JOB + "checkpoint: {every: 1 step, storage: H100-03, bytes: 1T}\n")
    assert found.checkpoint is not None
    assert found.checkpoint.late
    assert found.checkpoint.each_ps == pytest.approx(found.checkpoint.step_ps - found.step_ps, rel=0.02)
    assert "the next checkpoint is due before this one is written" in found.to_text()


def test_what_storage_servers_take_binds(tmp_path: Path) -> None:
    found = predicted(
        tmp_path, JOB + 'checkpoint: {every: 1h, storage: "H100-[03-04]", bytes: 64G, rate: 80G}\n'
    ).checkpoint
    assert found is not None
    assert found.alone_ps == pytest.approx((64 << 30) / 2 * 8 / 80e9 * 1e12, rel=1e-9)
    assert found.bound == "the rate of storage servers"


def test_data_that_is_read_more_slowly_than_it_is_trained_on_binds(tmp_path: Path) -> None:
    plain = predicted(tmp_path, JOB)
    little = predicted(tmp_path, JOB + "read: {bytes: 1M, storage: H100-03}\n")
    assert little.step_ps == pytest.approx(plain.step_ps, rel=1e-3)
    much = predicted(tmp_path, JOB + "read: {bytes: 1T, storage: H100-03}\n")
    wanted = (1 << 40) / 8 * 8e12 / 400e9 / PAYLOAD  # by the eight NICs of the storage server
    assert much.step_ps == pytest.approx(wanted, rel=0.05)
    assert much.parts["read"] > 0.5 * much.step_ps
    assert sum(much.parts.values()) == pytest.approx(much.step_ps, rel=1e-6)
    assert "waiting: data from storage" in much.to_text()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("checkpoint: {every: 1h, storage: H100-09}\n", "job.yaml:5: there is no server 'H100-09'"),
        ("checkpoint:\n  every: 1h\n  storage: H100-01\n", "job.yaml:7: H100-01 trains itself"),
        ("checkpoint: {every: often, storage: H100-03}\n", "'often' is neither steps nor a time"),
        ("checkpoint: {every: 0s, storage: H100-03}\n", "the time between checkpoints must be more than 0"),
        ("checkpoint: {every: 1h, storage: H100-03, bytes: big}\n", "'big' is not a size"),
        ("read: {bytes: 1G, storage: H100-03, fabric: storage}\n", "job.yaml:5: fabric 'storage' does not connect"),
        ("read: {storage: H100-03}\n", "bytes"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(InputError) as error:
        predicted(tmp_path, JOB + text)
    assert what in str(error.value)


def test_a_trace_is_written_and_read_beside_too(tmp_path: Path) -> None:
    write(tmp_path / "a", [[node(1, "COMP", 100_000)]] * 16)
    more = "checkpoint: {every: 10 steps, storage: H100-03, bytes: 64G}\nread: {bytes: 1G, storage: H100-03}\n"
    found = predicted(tmp_path, "trace: a\nhosts: H100-[01-02]\n" + more)
    assert found.step_ps == 10**11  # 0.1 s, longer than the read
    assert found.checkpoint is not None
    # eight NICs of 400G take it, while reads take a part of the way back
    assert found.checkpoint.time_ps == pytest.approx((64 << 30) / 8 * 8e12 / 400e9 / PAYLOAD, rel=0.05)


def test_jobs_read_at_the_same_time(tmp_path: Path) -> None:
    """Two jobs read by the same NICs of one storage server: both then take twice as long, where that is longer than a step."""

    def job(host: str) -> str:
        return f"  - {MODEL.strip()}\n    batch: {{global: 8}}\n    hosts: {host}\n    read: {{bytes: 256G, storage: H100-04}}\n"

    path = tmp_path / "job.yaml"
    path.write_text(f"jobs:\n{job('H100-01')}{job('H100-02')}")
    with in_force(network().catalog):
        one, other = predict_training(network(), path).jobs
    assert one.alone_ps == pytest.approx((256 << 30) / 8 * 8e12 / 400e9 / PAYLOAD, rel=0.05)
    assert one.step_ps == pytest.approx(2 * one.alone_ps, rel=0.1)
    assert other.step_ps == pytest.approx(2 * other.alone_ps, rel=0.1)


def test_a_trace_says_how_large_its_state_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the size of the job's state is missing: a trace does not contain it"):
        predicted(tmp_path, "trace: x\ncheckpoint: {every: 1h, storage: H100-03}\n")
