"""Bytes by connection without messages, and what is refused for its size."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from railweave.errors import InputError
from railweave.prediction.collectives.channels import COLLECTIVES, Collective
from railweave.prediction.collectives.collective import loads, program
from railweave.prediction.collectives.job import Job, Nic, Server
from railweave.prediction.collectives.nccl import parameters
from tests.prediction.collectives.plain import check, sent_by_nic

MIB, GIB = 1 << 20, 1 << 30


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("algorithm", ["Ring", "Tree"])
def test_the_same_bytes_as_the_messages(collective: Collective, algorithm: str) -> None:
    job, nccl = Job.of_servers(4), parameters({"NCCL_ALGO": algorithm, "NCCL_PROTO": "Simple"})
    size = 32 * 24 * MIB
    messages, found = program(job, collective, size, nccl), loads(job, collective, size, nccl)
    assert (found.connections == messages.connections).all()
    carried = np.bincount(messages.connection, messages.bytes, len(messages.connections))
    assert found.bytes.astype(float) == pytest.approx(carried, abs=1)
    assert (found.floor_ps, found.bus_factor) == (messages.floor_ps, messages.bus_factor)


def test_a_very_large_job() -> None:
    """32,768 GPUs: NCCL takes a tree of switches; every byte crosses each edge both ways."""
    job = Job.of_servers(4096)
    found = loads(job, "all-reduce", 8 * GIB)
    assert found.choice.algorithm == "NVLSTree"
    assert found.bytes.sum() == 2 * 4095 * 8 * GIB
    ring = loads(job, "all-reduce", 8 * GIB, parameters({"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}))
    assert ring.bytes.sum() == pytest.approx(4096 * 2 * 32767 / 32768 * 8 * GIB)


@pytest.mark.parametrize("words", [{"NCCL_ALGO": "Ring"}, {"NCCL_ALGO": "Tree", "NCCL_BUFFSIZE": "64K"}])
def test_too_many_messages_are_refused(words: dict[str, str]) -> None:
    with pytest.raises(InputError, match="use the flow engine"):
        program(Job.of_servers(4096), "all-reduce", 8 * GIB, parameters({**words, "NCCL_PROTO": "Simple"}))
    with pytest.raises(InputError, match="use the flow engine"):
        program(Job.of_servers(4096), "all-to-all", GIB)


def test_the_example_of_the_docs_runs() -> None:
    text = (Path(__file__).parents[3] / "docs/engine.md").read_text()
    example = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    exec(compile(example, "docs/engine.md", "exec"), {})  # noqa: S102 - our own example


def test_more_gpus_than_nics() -> None:
    """Eight GPUs to four NICs: a NIC carries what two would."""
    nics = tuple(Nic(f"n{n}", n, 400_000) for n in range(4))
    job = Job(tuple(Server(f"s{s}", nics, (0, 0, 1, 1, 2, 2, 3, 3)) for s in range(3)))
    size = job.ranks * 16 * MIB
    for collective, share in [
        ("all-reduce", 2 * 23 / 24 / 4),
        ("all-gather", 23 / 24 / 4),
        ("all-to-all", 2 * 16 / 24),
    ]:
        found = program(job, collective, size, parameters({"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}))
        check(job, found)
        assert sent_by_nic(job, found) == pytest.approx(share * size)
