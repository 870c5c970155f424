"""Execution traces on a designed network: there and back a step takes as long."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.errors import InputError
from railweave.model.catalog import in_force
from railweave.prediction.jobs.plan import JobPlan
from railweave.prediction.jobs.traces.chakra_write import of_model
from railweave.prediction.simulation.training.answer import TrainingPrediction
from railweave.prediction.simulation.training.question import predict_training
from railweave.writing import write_below
from tests.prediction.jobs.traces.files import node, write
from tests.prediction.simulation.test_training import network

SMALL = (
    "model: {layers: 4, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocabulary: 32000, sequence: 4096, EXPERTS}\n"
)


def predicted(folder: Path, text: str) -> TrainingPrediction:
    path = folder / "job.yaml"
    path.write_text(text)
    with in_force(network().catalog):
        return predict_training(network(), path)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        (SMALL.replace(", EXPERTS", "") + "batch: {global: 64}\nparallel: {zero: 3}\n", 1e-9),
        (SMALL.replace("EXPERTS", "experts: 16, top_k: 2") + "batch: {global: 64}\nparallel: {expert: 16}\n", 1e-6),
        (SMALL.replace(", EXPERTS", "") + "batch: {global: 16}\nparallel: {tensor: 4, pipeline: 2}\n", 5e-3),
    ],
    ids=["fsdp", "experts", "pipeline"],
)
def test_there_and_back_a_step_takes_as_long(tmp_path: Path, text: str, near: float) -> None:
    """With tensor parallel a trace says a little more than what is run: gradients do not wait for what tensors still send inside the server."""
    (job,) = predicted(tmp_path, text).jobs
    assert isinstance(job.plan, JobPlan)
    write_below(tmp_path / "out", dict(of_model(job.plan, "small")))
    (again,) = predicted(tmp_path, "trace: out/small\n").jobs
    assert again.step_ps == pytest.approx(job.step_ps, rel=near)
    assert again.graph.classes == job.graph.classes
    for kind, time in job.parts.items():
        assert again.parts[kind] == pytest.approx(time, abs=max(near, 1e-6) * job.step_ps)
    assert {(one.kind, one.collective) for one in job.graph.communications} == {
        (one.kind, one.collective) for one in again.graph.communications
    }


def test_one_link_binds(tmp_path: Path) -> None:
    """Two GPUs beside the same NIC of two servers: the bytes of a message over the NIC's rate."""
    size = 1 << 28
    ranks: list[list[object]] = [[] for _ in range(16)]
    ranks[0] = [node(1, "COMM_SEND", comm_dst=8, comm_size=size)]
    ranks[8] = [node(1, "COMM_RECV", comm_src=0, comm_size=size)]
    (job,) = predicted(tmp_path, f"trace: {write(tmp_path / 'a', ranks)}\nhosts: H100-[01-02]\n").jobs
    payload = 4096 / (4096 + 62 + 20)
    assert job.step_ps == pytest.approx(size * 8e12 / 400e9 / payload, rel=0.02)
    assert job.mfu is None
    assert "waiting: send-recv" in job.to_text()


def test_a_rank_on_each_server(tmp_path: Path) -> None:
    ranks = [[node(1, "COMM_COLL", comm="ALL_REDUCE", comm_size=1 << 28)]] * 4
    folder = write(tmp_path / "a", ranks)
    (job,) = predicted(tmp_path, f"trace: {folder}\nranks_per_host: 1\n").jobs
    assert job.graph.communications[0].groups == ((0, 8, 16, 24),)
    ring = 2 * 3 / 4 * (1 << 28) * 8e12 / 400e9 / (4096 / (4096 + 62 + 20))
    assert job.step_ps == pytest.approx(ring, rel=0.02)
    (inside,) = predicted(tmp_path, f"trace: {folder}\n").jobs
    assert not inside.graph.communications


def test_messages_between_rails_go_by_the_rail_of_the_receiver(tmp_path: Path) -> None:
    """NCCL hands over to the GPU of the receiver's rail first (PXN); the message takes as long as any other."""
    size = 1 << 28
    ranks: list[list[object]] = [[] for _ in range(16)]
    ranks[0] = [node(1, "COMM_SEND", comm_dst=11, comm_size=size)]
    ranks[11] = [node(1, "COMM_RECV", comm_src=0, comm_size=size)]
    (job,) = predicted(tmp_path, f"trace: {write(tmp_path / 'a', ranks)}\nhosts: H100-[01-02]\n").jobs
    assert job.step_ps == pytest.approx(size * 8e12 / 400e9 / (4096 / (4096 + 62 + 20)), rel=0.02)
    assert "gpu3_eth" in job.carried[0].bound


def test_a_log_of_nccl_runs_on_the_servers_that_it_names(tmp_path: Path) -> None:
    def lines(rank: int) -> str:
        who = f"{('H100-03', 'H100-01')[rank]}:{rank}:1 [0] NCCL INFO "
        return (
            f"{who}ncclCommInitRank comm 0x5{rank} rank {rank} nranks 2 cudaDev 0 nvmlDev 2 busId 1b000 commId 0x7 - Init COMPLETE\n"
            f"{who}AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x2 count 100000000 datatype 9 op 0 root 0 comm 0x5{rank} [nranks=2] stream 0x9\n"
        )

    (tmp_path / "nccl.log").write_text(lines(0) + lines(1))
    (job,) = predicted(tmp_path, "trace: nccl.log\n").jobs
    assert job.graph.communications[0].groups == ((18, 2),)  # GPU 2 of the third server, and of the first
    assert "note: the log has no times" in job.to_text()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("trace: none/x\n", "job.yaml:1: there is no folder"),
        ("name: a\ntrace: .\n", "the file has no NCCL call, and is not an execution trace"),
        ("trace: b\n", "no file is called NAME.RANK.et"),
        ("trace: a\nhosts: H100-01\n", "job.yaml:1: the trace has 9 ranks; the job's servers have 8 GPUs"),
        ("trace: a\nranks_per_host: 2\n", "the trace has 9 ranks; the job's servers have 8 GPUs for it"),
        ("trace: a\nranks_per_host: 9\n", "job.yaml:2: the job's servers have 8 GPUs each"),
        ("trace: a\nbatch: {global: 8}\n", "batch is allowed only with a model"),
        (
            "trace_groups: a\nmodel: llama3-8b\nbatch: {global: 8}\n",
            "job.yaml:1: the file: trace_groups needs a trace, but none is given",
        ),
        ("trace: a\ntrace_groups: b.json\n", "b.json: no such file"),
        ("name: a\nbatch: {global: 8}\n", "model is missing"),
    ],
)
def test_what_is_wrong_with_a_trace_is_said_with_its_line(tmp_path: Path, text: str, what: str) -> None:
    write(tmp_path / "a", [[node(1, "COMP", 5)]] * 9)
    with pytest.raises(InputError) as error:
        predicted(tmp_path, text)
    assert what in str(error.value)
