"""What a layer of a 512-GPU job sends, by packets beside flows: ``python -m benchmarks.layer_packets`` prints a table.

A check of the flow engine where a step is worked out of it: every group of a stage at once, with the messages and what they wait for as NCCL has them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.training import H100, network

from railweave.model.catalog import in_force
from railweave.prediction.simulation.training.question import predict_training

GPUS = 512
JOBS = {
    "70B, tensor 8, pipeline 4, a layer a bucket": """
model: llama3-70b
parallel: {tensor: 8, pipeline: 4, zero: 1}
batch: {global: 512}
overlap: {bucket: 1}
""",
    "70B, tensor 8, FSDP": """
model: llama3-70b
parallel: {tensor: 8, zero: 3}
batch: {global: 512}
gradients: bf16
""",
    "experts over 64 GPUs": """
model: {layers: 4, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocabulary: 32000, sequence: 4096, experts: 64, top_k: 2}
parallel: {expert: 64}
batch: {global: 512}
""",
}


def main() -> None:
    """Run, print."""
    net = network(GPUS, H100)
    print("| job | kind | collective | bytes | groups of ranks | flows, us | packets, us | longer | marked | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, text in JOBS.items():
        with tempfile.TemporaryDirectory() as folder, in_force(net.catalog):
            file = Path(folder, "job.yaml")
            file.write_text(text)
            (job,) = predict_training(net, file, check=True).jobs
            for one in job.checked:
                of = one.communication
                print(
                    f"| {name} | {of.kind} | {of.collective} | {one.size_bytes:,} | {len(of.groups)} of {len(of.groups[0])} | {one.flow_ps / 1e6:,.0f} | "
                    f"{one.packet_ps / 1e6:,.0f} | {one.longer:+.1%} | {one.marked:,} | {one.wall_s:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
