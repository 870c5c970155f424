"""The choices of algorithm and protocol against those that NCCL 2.30.7's own search and cost model make.

``plugin/tests/nccl/choices.py --write`` records NCCL's choices, which ``make test-nccl`` compares with NCCL itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from railweave.prediction.collectives.channels import channel_count
from railweave.prediction.collectives.job import Job, Nic, Server, gpu_link
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.search import Graph, plain_trees, ring_graph, switch_graph, tree_graph
from railweave.prediction.collectives.tuning import choose

if TYPE_CHECKING:
    from railweave.prediction.collectives.channels import Collective

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "nccl_choices.json").read_text())
SIZES = [1 << power for power in range(10, 35)]
NCCL = parameters()


def job_of(row: dict[str, Any]) -> Job:
    """The job of a recorded row."""
    nics = tuple(Nic(f"nic{n}", n, row["gbps"] * 1000) for n in range(row["nics"]))
    nearest = tuple(gpu * row["nics"] // row["gpus"] for gpu in range(row["gpus"]))
    cpu = "AMD" if row["gpu"] == "A100" else "Intel"
    return Job((Server("server", nics, nearest, row["gpu"], cpu, gpu_link(row["gpu"])),) * row["servers"])


@pytest.mark.parametrize("gpu", ["A100", "H100", "B200", "B300"])
def test_every_choice_is_nccls(gpu: str) -> None:
    rows = [row for row in RECORDED["jobs"] if row["gpu"] == gpu]
    assert len(rows) >= 40
    collective: Collective
    for row in rows:
        job = job_of(row)
        channels = channel_count(job, NCCL)
        for collective, steps in row["choices"].items():
            found: list[list[object]] = []
            for size in SIZES:
                choice = choose(job, NCCL, collective, size, channels)
                if not found or found[-1][1:] != [choice.algorithm, choice.protocol]:
                    found.append([size, choice.algorithm, choice.protocol])
            assert found == steps, (row, collective)


# servers, GPUs, NICs, Gb/s: NCCL's graphs for rings, trees and NVLS (channels, inside, across), and the channels of the communicator.
SEARCHED = [
    ("A100", 2, 8, 8, 200, Graph(8, 24, 24), Graph(8, 30, 24), None, 16),
    ("A100", 2, 8, 4, 200, Graph(4, 24, 24), Graph(4, 48, 24), None, 8),
    ("A100", 1, 8, 8, 200, Graph(12, 20, 20), None, None, 24),
    ("H100", 4, 8, 8, 400, Graph(8, 48, 48, crosses=True), Graph(8, 48, 48), Graph(8, 40, 48), 16),
    ("H20", 2, 8, 4, 400, Graph(8, 24, 24), Graph(8, 45, 24), Graph(4, 48, 48), 16),
    ("H100", 2, 1, 1, 400, Graph(2, 24, 24), Graph(2, 48, 24), None, 4),
    ("H100", 1, 8, 8, 400, Graph(12, 30, 30), None, Graph(8, 40, 60), 24),
    ("B200", 4, 8, 8, 400, Graph(8, 48, 48), Graph(8, 96, 48), Graph(8, 48, 48), 16),
    ("B300", 2, 8, 8, 800, Graph(16, 48, 48, crosses=True), Graph(16, 48, 48), Graph(8, 80, 96), 32),
]


@pytest.mark.parametrize("case", SEARCHED, ids=lambda case: "-".join(str(part) for part in case[:5]))
def test_the_search_finds_nccls_channels(case: tuple[Any, ...]) -> None:
    gpu, servers, gpus, nics, gbps, ring, tree, switched, channels = case
    job = job_of({"gpu": gpu, "servers": servers, "gpus": gpus, "nics": nics, "gbps": gbps})
    assert ring_graph(job) == ring
    assert tree is None or tree_graph(job) == tree
    assert switched is None or switch_graph(job) == switched
    assert channel_count(job, NCCL) == channels
    assert plain_trees(job) == (servers > 1 and gpu != "A100")


def test_switches_reduce_where_nccl_lets_them() -> None:
    """Not in A100, with one head, with RCCL, or if it is turned off; in a rack that is one NVLink domain only if named."""
    size = 1 << 26

    def chosen(gpu: str, nics: int, words: dict[str, str] | None = None) -> str:
        job = job_of({"gpu": gpu, "servers": 2, "gpus": 8, "nics": nics, "gbps": 400})
        nccl = parameters(words)
        return choose(job, nccl, "all-reduce", size, channel_count(job, nccl)).algorithm

    assert [chosen("H20", 8), chosen("B200", 8)] == ["NVLSTree", "NVLSTree"]
    assert "NVLSTree" not in {chosen("A100", 8), chosen("H100", 1), chosen("H100", 8, {"NCCL_NVLS_ENABLE": "0"})}
    server = job_of({"gpu": "GB200", "servers": 1, "gpus": 8, "nics": 8, "gbps": 400}).servers[0]
    rack = Server("rack", server.nics, server.nearest, "GB200", "Intel", server.link, ("tray1", "tray2"))
    for words, algorithms in (({}, {"Tree", "Ring"}), ({"NCCL_ALGO": "NVLSTree"}, {"NVLSTree"})):
        nccl = parameters(words)
        job = Job((rack, rack))
        assert choose(job, nccl, "all-reduce", size, channel_count(job, nccl)).algorithm in algorithms
