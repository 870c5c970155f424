"""A larger collective takes no less than a smaller one, on powers of two and between, but where the library itself steps.

NCCL and RCCL take more channels, or larger chunks, from some sizes on, which can win more than the additional bytes cost.
"""

from __future__ import annotations

from typing import Literal

import pytest

from railweave.outputs.rendering.host.cluster import uncongested_ps
from railweave.prediction.collectives.channels import Collective, channel_count
from railweave.prediction.collectives.collective import links_need_ps, program
from railweave.prediction.collectives.job import Job, Library
from railweave.prediction.collectives.nccl import Parameters, parameters
from railweave.prediction.collectives.program import cut
from railweave.prediction.collectives.tree import chunk_bytes
from railweave.prediction.collectives.tuning import Choice, choose
from tests.prediction.collectives.plain import seconds

SIZES = [(1 << power) * quarters // 4 for power in range(3, 34) for quarters in (4, 5, 6, 7)]
LIBRARIES: list[tuple[Library, str, Literal["Intel", "AMD"]]] = [("NCCL", "H100", "Intel"), ("RCCL", "MI300X", "AMD")]
MOST_FALL = {"NCCL": 0.1, "RCCL": 0.35}
"""What a step of the library wins at most: NCCL doubles a tree's chunks between 4 and 5 MiB on four servers, and posts fewer. RCCL keeps
trees, which reach 0.59 of the links' rate, up to a size at which rings are much quicker."""


def step_of(job: Job, nccl: Parameters, size: int, choice: Choice) -> tuple[str, str, int, int]:
    """What the library decides by size."""
    how, share = cut(nccl, choice.protocol, ring=choice.algorithm == "Ring"), -(-size // choice.channels)
    several = choice.algorithm == "Tree" and len(job.servers) > 1
    chunk = chunk_bytes(job, choice, how.chunk, share) if several else 0
    return choice.algorithm, choice.protocol, choice.channels, chunk


@pytest.mark.parametrize(("library", "gpu", "cpu"), LIBRARIES)
@pytest.mark.parametrize("servers", [1, 2, 4])
@pytest.mark.parametrize("collective", ["all-reduce", "all-gather", "reduce-scatter"])
def test_time_rises_with_size(
    library: Library, gpu: str, cpu: Literal["Intel", "AMD"], servers: int, collective: Collective
) -> None:
    job, nccl = Job.of_servers(servers, gpu=gpu, cpu=cpu, library=library), parameters(library=library)
    if servers > 1:
        nccl = nccl.with_number("NCCL_NVLS_ENABLE", 0)  # no formula for trees of switches
    before, step = 0, ("", "", 0, 0)
    for size in SIZES:
        choice = choose(job, nccl, collective, size, channel_count(job, nccl))
        if servers == 1:
            found = program(job, collective, size, nccl)
            now = max(found.tail_ps, found.floor_ps)
        else:
            links = choice.launch_ps + links_need_ps(job, nccl, collective, size, choice)
            now = max(uncongested_ps(job, nccl, collective, size, choice), links)
        taken = step_of(job, nccl, size, choice)
        stepped = servers > 1 and taken != step
        assert now >= before * (1 - MOST_FALL[library] if stepped else 0.9999), (
            f"{size}: {before} {step}, then {now} {taken}"
        )
        before, step = now, taken


@pytest.mark.parametrize(("library", "gpu", "cpu"), LIBRARIES)
@pytest.mark.parametrize("servers", [1, 2, 4])
@pytest.mark.parametrize("collective", ["all-to-all", "broadcast", "send-recv"])
def test_time_of_others_rises_with_size(
    library: Library, gpu: str, cpu: Literal["Intel", "AMD"], servers: int, collective: Collective
) -> None:
    """On ideal links, up to where bytes alone decide."""
    job, nccl = Job.of_servers(servers, gpu=gpu, cpu=cpu, library=library), parameters(library=library)
    before = 0.0
    for size in SIZES[::2]:
        if size > 8 << 20:
            break
        found = program(job, collective, size, nccl)
        now = max((seconds(job, found) if found.messages else 0) + found.tail_ps / 1e12, found.floor_ps / 1e12)
        assert now >= before * 0.9999, f"{size}: {before}, then {now}"
        before = now
