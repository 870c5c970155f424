"""Steps of training jobs that were published, beside what ``railweave sim --job`` gives on a network of as many GPUs and NICs.

``python -m benchmarks.training [WORD]`` prints a table; with a word the rows that have it in their name; with ``--write`` errors of the rows that judge
go into ``prediction/simulation/training/errors.json``, which bands of steps come from. Networks are what ``railweave init``
makes, without oversubscription: what these jobs ran on is not public in more than its rates. Rows marked ``fitted`` decided an efficiency
(docs/predict.md#training-steps); the others judge.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from railweave import api
from railweave.cli.app import app
from railweave.model.catalog import in_force
from railweave.prediction.jobs.plan import JobPlan
from railweave.prediction.simulation.training.answer import TABLE
from railweave.prediction.simulation.training.question import predict_training
from railweave.writing import write_file

if TYPE_CHECKING:
    from railweave.model.network.model import Network

A100, H100 = "dgx-a100-aidc", "h100-8gpu-cx7"
SC21 = (
    # name, heads, hidden, layers, tensor, pipeline, micro-batch, batch, GPUs, TFLOP/s a GPU, layers of a virtual stage
    ("1.7B", 24, 2304, 24, 1, 1, 16, 512, 32, 137, 0),
    ("3.6B", 32, 3072, 30, 2, 1, 16, 512, 64, 138, 0),
    ("7.5B", 32, 4096, 36, 4, 1, 16, 512, 128, 142, 0),
    ("18.4B", 48, 6144, 40, 8, 1, 8, 1024, 256, 135, 0),
    ("39.1B", 64, 8192, 48, 8, 2, 4, 1536, 512, 138, 0),
    ("76.1B", 80, 10240, 60, 8, 4, 2, 1792, 1024, 140, 5),
    ("145.6B", 96, 12288, 80, 8, 8, 2, 2304, 1536, 148, 5),
    ("310.1B", 128, 16384, 96, 8, 16, 1, 2160, 1920, 155, 3),
    ("529.6B", 128, 20480, 105, 8, 35, 1, 2520, 2520, 163, 1),
    ("1008B", 160, 25600, 128, 8, 64, 1, 3072, 3072, 163, 0),
)
"""Narayanan et al., SC21, Table 1, with the settings of Megatron-LM's ``examples/academic_paper_scripts/sc21/run_table_1.sh``."""
MEGASCALE = (
    (768, 256, 40.0),
    (768, 512, 21.2),
    (768, 768, 15.2),
    (768, 1024, 11.9),
    (6144, 3072, 29.02),
    (6144, 6144, 14.78),
    (6144, 8192, 12.24),
    (6144, 12288, 8.57),
)
"""MegaScale (NSDI 2024), Table 2, the rows of Megatron-LM: batch, GPUs, seconds. Ampere, 200G a GPU, 175B, tensor 8, pipeline 8 of 6 parts."""
MLPERF = (
    (512, 2048, 11.05),
    (768, 3072, 11.08),
    (4096, 2048, 1.61),
    (6144, 3072, 1.62),
    (8192, 4096, 1.63),
    (10240, 2560, 0.925),
    (10752, 2688, 0.931),
)
"""MLPerf Training 3.1, GPT-3 175B on Eos (NVIDIA): GPUs, batch, seconds of a step by ``train_step_timing`` of the public logs."""
LLAMA = ((8192, 8192, 1, 12.1), (16384, 8192, 1, 6.5), (16384, 131072, 16, 10.9))
"""The Llama 3 Herd of Models, Table 4: GPUs, tokens of a sequence, context ranks, and the step that follows from TFLOP/s a GPU."""


@dataclass(frozen=True)
class Row:
    """A published step: the job, on which servers, seconds."""

    name: str
    gpus: int
    server: str
    job: str
    seconds: float
    fitted: bool


def rows() -> list[Row]:
    """All of them."""
    found: list[Row] = []
    for number, (name, heads, hidden, layers, tensor, pipeline, micro, batch, gpus, tflops, each) in enumerate(SC21, 1):
        job = f"""
model: {{layers: {layers}, hidden: {hidden}, heads: {heads}, vocabulary: 51200, sequence: 2048, gated: false, tied: true}}
parallel: {{tensor: {tensor}, sequence: false, pipeline: {pipeline}, virtual: {layers // (pipeline * each) if each else 1}, zero: 0}}
batch: {{global: {batch}, micro: {micro}}}
gradients: bf16
recompute: full
attention: unfused
overlap: {{gradients: false, parameters: false, pipeline: false}}
"""
        flops = 96 * batch * 2048 * layers * hidden**2 * (1 + 2048 / (6 * hidden) + 51200 / (16 * layers * hidden))
        found.append(Row(f"SC21 {name}", gpus, A100, job, flops / gpus / tflops / 1e12, number % 2 == 0))
    for batch, gpus, seconds in MEGASCALE:
        job = f"""
model: {{layers: 96, hidden: 12288, heads: 128, vocabulary: 64000, sequence: 2048, gated: false, tied: true}}
parallel: {{tensor: 8, pipeline: 8, virtual: 6}}
batch: {{global: {batch}}}
overlap: {{gradients: false, parameters: false, pipeline: false}}
"""
        found.append(Row(f"MegaScale's Megatron-LM 175B {gpus}", gpus, A100, job, seconds, fitted=False))
    for gpus, batch, seconds in MLPERF:
        job = f"""
model: gpt3-175b
parallel: {{tensor: 4, pipeline: 8, virtual: 12}}
batch: {{global: {batch}}}
dtype: fp8
overlap: {{tensor: true}}
"""
        found.append(Row(f"MLPerf 3.1 GPT-3 {gpus}", gpus, H100, job, seconds, gpus == 512))
    for gpus, tokens, context, seconds in LLAMA:
        job = f"""
model: llama3-405b
sequence: {tokens}
parallel: {{tensor: 8, context: {context}, pipeline: 16, virtual: 4, zero: 2}}
batch: {{global: {2048 * 8192 // tokens}}}
"""
        name = f"Llama 3 405B {gpus}{'' if context == 1 else ', 128K tokens'}"
        found.append(Row(name, gpus, H100, job, seconds, fitted=False))
    return found


@cache
def network(gpus: int, server: str) -> Network:
    """A network without oversubscription for so many GPUs."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["init", f"{folder}/n", "--gpus", str(gpus), "--nic", server, "--lb", "rlb", "-q"]
        done = CliRunner().invoke(app, words)
        if done.exit_code:
            raise SystemExit(done.output)
        return api.load(next(Path(folder, "n").glob("*.yaml")))


def main() -> None:
    """Predict, print."""
    words = [one for one in sys.argv[1:] if one != "--write"]
    wanted = words[0] if words else ""
    judging: dict[str, list[tuple[int, float]]] = {}
    errors: dict[bool, list[float]] = {True: [], False: []}
    print(
        "| published | GPUs | step, s | predicted, s | difference | MFU | computing | waiting for communication | seconds to predict |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows():
        if wanted not in row.name:
            continue
        net = network(row.gpus, row.server)
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder, in_force(net.catalog):
            file = Path(folder, "job.yaml")
            file.write_text(row.job)
            (job,) = predict_training(net, file).jobs
        step = job.step_ps / 1e12
        errors[row.fitted].append(step / row.seconds - 1)
        if not row.fitted and isinstance(job.plan, JobPlan):
            judging.setdefault(job.plan.kernels.gpu.name, []).append((row.gpus, abs(step / row.seconds - 1) * 100))
        print(
            f"| {row.name}{' (fitted)' if row.fitted else ''} | {row.gpus} | {row.seconds:.2f} | {step:.2f} | "
            f"{step / row.seconds - 1:+.1%} | {job.mfu:.0%} | {job.parts['compute'] / job.step_ps:.0%} | {job.exposed_ps / job.step_ps:.1%} | "
            f"{time.perf_counter() - begin:.1f} |",
            flush=True,
        )
    for fitted, found in errors.items():
        if found:
            sizes = [abs(one) for one in found]
            print(
                f"{'fitted' if fitted else 'judging'}: median {statistics.median(sizes):.1%}, largest {max(sizes):.1%} of {len(found)}"
            )
    if "--write" in sys.argv:
        write_file(
            TABLE, "[\n" + ",\n".join(f"  {json.dumps(_group(gpu, found))}" for gpu, found in judging.items()) + "\n]\n"
        )


def _group(gpu: str, found: list[tuple[int, float]]) -> dict[str, object]:
    """A row of the table of errors."""
    sizes = sorted(error for _, error in found)
    ninth = statistics.quantiles(sizes, n=10, method="inclusive")[-1] if len(sizes) > 1 else sizes[0]
    return {
        "gpu": gpu,
        "gpus": [min(gpus for gpus, _ in found), max(gpus for gpus, _ in found)],
        "rows": len(found),
        "median_abs_percent": round(statistics.median(sizes), 1),
        "p90_abs_percent": round(ninth, 1),
        "max_abs_percent": round(sizes[-1], 1),
    }


if __name__ == "__main__":
    main()
