"""How much longer jobs of the test reports take under background load, beside what the simulator gives for steps like theirs.

``python -m benchmarks.completion`` prints a table. The reports have completion times of whole trainings, which convergence decides as well; only their ratios are
predicted. What a step computes and sends is that of public MLPerf 4.0 logs and configurations of the same models from the same kind of laboratory (docs/predict.md#training-steps);
how far a leaf is oversubscribed, and where generators sent to, is not published: both cases are shown.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave import api
from railweave.model.catalog import in_force
from railweave.model.intent.scenario import Background
from railweave.prediction.jobs.graph import COMPUTE, Communication, Graph, Op
from railweave.prediction.jobs.run import run
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.job import job_of
from railweave.prediction.simulation.model.outages import Timeline
from railweave.prediction.simulation.training.loads import PlacedJob, carried, nccl_of
from railweave.prediction.simulation.training.question import taken
from railweave.prediction.simulation.training.storage import SharedLinks

if TYPE_CHECKING:
    from railweave.model.network.model import Network

MS = 10**9
GPUS = 64
EVERYONE = (tuple(range(GPUS)),)
FABRIC = """
name: laboratory
fabrics:
  backend:
    topology: {{stripes: 2, spines: 2, links_per_spine: {links}, link_speed: 400G, oversubscription: 4}}
    leaf: {{device: qfx5230-64cd, release: 23.4X100-D20}}
    spine: {{device: qfx5230-64cd, release: 23.4X100-D20}}
    load_balancing: {{mode: dlb-flowlet}}
servers:
  - {{names: "A100-[01-04]", model: dgx-a100-aidc, stripe: stripe1}}
  - {{names: "A100-[05-08]", model: dgx-a100-aidc, stripe: stripe2}}
  - {{names: "tester-[01-04]", model: dgx-a100-aidc, stripe: stripe1}}
  - {{names: "tester-[05-08]", model: dgx-a100-aidc, stripe: stripe2}}
management: {{pool: 172.20.0.0/24, root_password: secret:root-hash, users: {{netops: {{role: super-user, password: "secret:netops-hash"}}}}}}
"""
"""Eight A100 servers with eight NICs of 200G, and generators on two leaves of each stripe, 800G each."""


def dlrm() -> Graph:
    """DLRM-DCNv2 with HugeCTR: embedding vectors to all and back, the gradients of 16 million dense parameters under the way back; 131,200 samples; computing is what they leave of 5.0 ms."""
    graph = Graph(1)
    vectors = 26 * 128 * 2 * 131_200 // GPUS
    everywhere = graph.communication(Communication("EP", 0, "all-to-all", vectors, EVERYONE))
    dense = graph.communication(Communication("DP", 0, "all-reduce", 16_000_000 * 2, EVERYONE))
    looked_up = graph.add(Op(0, COMPUTE, "look up", round(0.3 * MS), ()))
    there = graph.add(Op(0, "EP", "vectors", 0, (looked_up,), everywhere))
    computed = graph.add(Op(0, COMPUTE, "dense", round(2.4 * MS), (there,)))
    back = graph.add(Op(0, "EP", "gradients of vectors", 0, (computed,), everywhere))
    summed = graph.add(Op(0, "DP", "gradients", 0, (computed,), dense))
    graph.add(Op(0, COMPUTE, "update", round(0.46 * MS), (back, summed)))
    return graph


def bert() -> Graph:
    """BERT-large, replicas alone: 0.68 GB of gradients in 25 MB buckets under a backward of 78 ms; 123 ms a step."""
    graph = Graph(1)
    buckets = 27
    each = graph.communication(Communication("DP", 0, "all-reduce", 680_000_000 // buckets, EVERYONE))
    graph.add(Op(0, COMPUTE, "forward", 39 * MS, ()))
    sent: list[int] = []
    for number in range(buckets):
        computed = graph.add(Op(0, COMPUTE, f"backward {number}", 78 * MS // buckets, ()))
        sent.append(graph.add(Op(0, "DP", f"gradients {number}", 0, (computed,), each)))
    graph.add(Op(0, COMPUTE, "optimizer", 5 * MS, tuple(sent)))
    return graph


def lora() -> Graph:
    """Llama 2 70B with LoRA under ZeRO-3: the frozen layers gathered forward, for recomputing and backward, two ahead; 21.2 s a step."""
    graph = Graph(1)
    layers, computing = 80, 21_000 * MS
    layer = graph.communication(Communication("DP", 0, "all-gather", 69_000_000_000 * 2 // layers, EVERYONE))
    ended: list[int] = []
    for turn, share in (("F", 1 / 4), ("R", 1 / 4), ("B", 1 / 2)):
        for number in range(layers):
            gathered = graph.add(Op(0, "DP", f"gather {turn}{number}", 0, tuple(ended[-2:-1]), layer))
            ended.append(graph.add(Op(0, COMPUTE, f"{turn}{number}", round(computing * share / layers), (gathered,))))
    return graph


MODELS = {"DLRM": dlrm, "BERT": bert, "LLAMA2, LoRA": lora}
PUBLISHED = {("DLRM", 50): 3.53 / 3.1, ("BERT", 50): 2.88 / 2.66, ("LLAMA2, LoRA", 50): 70.86 / 70.82}
"""Ratios of completion times: the Apstra test report, tables 2, 3 and 6."""
SERVERS = "servers"
"""Generators send to the servers, not to each other."""
LOADS = (25, 50, 75, 100)


@dataclass(frozen=True)
class Laboratory:
    """A guess at what is not published: uplinks of a leaf, and whom generators send to."""

    name: str
    links: int
    to: str


LABORATORIES = (
    Laboratory("uplinks for servers and generators, to the other stripe", 2, "inter-stripe"),
    Laboratory("uplinks for servers alone, to the other stripe", 1, "inter-stripe"),
    Laboratory("uplinks for servers alone, within the stripe", 1, "intra-stripe"),
    Laboratory("uplinks for servers and generators, to the servers' NICs of these leaves", 2, SERVERS),
)


def network(one: Laboratory) -> Network:
    """The laboratory."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "laboratory.yaml")
        file.write_text(FABRIC.format(links=one.links))
        return api.load(file)


def ratios(one: Laboratory) -> dict[tuple[str, int], float]:
    """Of each model and load: a step over one without load."""
    net = network(one)
    found: dict[tuple[str, int], float] = {}
    with in_force(net.catalog):
        bed = bed_of(net)
        job, hosts = job_of(net, bed.fabric.wiring, order="A100-[01-08]")
        rails = sorted({name.partition(":")[2] for name in bed.fabric.wiring.nics})
        ports = tuple(f"tester-*:{rails[place]}" for place in (1, 3))
        placed = PlacedJob(bed.fabric, job, hosts, nccl_of(net, {}, job, 4, 1), Timeline(), {})
        to = tuple(f"A100-*:{rails[place]}" for place in (1, 3)) if one.to == SERVERS else one.to
        for name, made in MODELS.items():
            graph = made()
            own = [carried(placed, each) for each in graph.communications]
            alone = run(graph, SharedLinks(own)).step_ps
            found[name, 0] = alone / 1e12
            for load in LOADS:
                asked = Background.model_validate(
                    {"share": load / 100, "ports": ports, "qps": 16, "packet": 9000, "to": to}
                )
                found[name, load] = (
                    run(graph, SharedLinks(own, taken(bed.fabric, Timeline(), asked, {}))).step_ps / alone
                )
    return found


def main() -> None:
    """Predict, print."""
    head = " | ".join(f"{load} %" for load in LOADS)
    print(f"| model | laboratory | step alone, s | {head} | published at 50 % |")
    print("|---|---|---|" + "---|" * (len(LOADS) + 1))
    for one in LABORATORIES:
        found = ratios(one)
        for name in MODELS:
            cells = " | ".join(f"{found[name, load] - 1:+.1%}" for load in LOADS)
            print(f"| {name} | {one.name} | {found[name, 0]:.4g} | {cells} | {PUBLISHED[name, 50] - 1:+.1%} |")


if __name__ == "__main__":
    main()
