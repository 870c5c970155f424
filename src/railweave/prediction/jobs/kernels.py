"""How long a GPU computes: a roofline with an efficiency for each class of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import yaml

if TYPE_CHECKING:
    from railweave.prediction.jobs.transformer import Transformer

Recompute = Literal["none", "selective", "full"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU: what it can do, dense, and the part of that which kernels of a class get.

    ``tflops``: 10^12 operations a second by type; ``memory_tbytes_per_s``: 10^12 byte a second. ``gemm``, ``fp8_gemm``, ``attention``, ``memory``: efficiencies
    of matrix products in 16 and in 8 bits, of attention, and of what memory limits (norms, activations, the optimizer).
    """

    name: str
    bf16_tflops: float
    fp8_tflops: float | None
    memory_tbytes_per_s: float
    gemm: float
    fp8_gemm: float | None
    attention: float
    memory: float
    source: str


@lru_cache(maxsize=1)
def gpus() -> dict[str, Gpu]:
    """The GPUs that are known, by name."""
    text = files("railweave.prediction.jobs").joinpath("gpus.yaml").read_text(encoding="utf-8")
    known: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return {name: Gpu(name, **given) for name, given in known.items()}


@dataclass(frozen=True, slots=True)
class LayerTimes:
    """What a rank computes in a layer for a micro-batch, ps, forward."""

    attention: float
    """Projections, scores and norm."""
    scores: float
    """Of these the scores, which selective recomputing does again."""
    feed_forward: float
    """The dense block, or router and shared experts, and its norm."""
    experts: float


BACKWARD = 2.0
"""Operations backward for one forward: gradients of inputs and of weights."""
ATTENTION_BACKWARD = 2.5
"""The same of fused attention, which computes scores again (FlashAttention-2, section 2.2: five matrix products for two)."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """Times of kernels for a model, a GPU and how layers are divided.

    ``tokens``: of a micro-batch on a rank, before they are divided by ``tensor``; ``tensor``: ranks that share a layer's matrices; ``sequence_parallel``: whether they
    share norms too; ``fused``: whether attention is one kernel that leaves out what a causal mask hides.
    """

    model: Transformer
    gpu: Gpu
    tokens: float
    tensor: int
    sequence_parallel: bool
    fused: bool
    dtype: Literal["bf16", "fp8"] = "bf16"

    def layer(self, layer: int) -> LayerTimes:
        """The times of a layer (from 0)."""
        model = self.model
        scores = self._scores()
        attention = self._matrices(2 * model.attention) + scores + self._norm()
        block = self._matrices(2 * model.feed_forward(layer)) + self._norm()
        width = model.expert_ffn * model.shared_experts if model.sparse(layer) else model.ffn
        block += self._moved((model.matrices * width) / self.tensor)
        experts = 0.0
        if model.sparse(layer):
            met = model.top_k * model.of_expert
            experts = self._matrices(2 * met) + self._moved(
                model.top_k * model.matrices * model.expert_ffn / self.tensor
            )
        return LayerTimes(attention, scores, block, experts)

    def forward(self, layer: int) -> tuple[float, float, float]:
        """Attention, feed-forward and experts of a layer, forward, ps."""
        found = self.layer(layer)
        return found.attention, found.feed_forward, found.experts

    def backward(self, layer: int, recompute: Recompute) -> tuple[float, float, float]:
        """The same backward, with the scores where ``recompute`` is ``selective``; a full recomputation is ``forward`` again."""
        found = self.layer(layer)
        again = found.scores if recompute == "selective" and not self.fused else 0.0
        scores = found.scores * (ATTENTION_BACKWARD if self.fused else BACKWARD) + again
        return (
            (found.attention - found.scores) * BACKWARD + scores,
            found.feed_forward * BACKWARD,
            found.experts * BACKWARD,
        )

    def logits(self) -> float:
        """From the last layer to the loss, forward, ps."""
        return self._matrices(self.model.logit_flops) + self._moved(2 * self.model.vocabulary / self.tensor)

    def optimizer(self, parameters: float) -> float:
        """Adam over parameters in 32 bits: 16 bytes read of each (weight, two moments, gradient), 14 written (the weight in 16 bits too)."""
        return parameters * 30 / (self.gpu.memory_tbytes_per_s * self.gpu.memory)

    def _matrices(self, flops_per_token: float) -> float:
        rate = self.gpu.bf16_tflops * self.gpu.gemm
        if self.dtype == "fp8" and self.gpu.fp8_tflops and self.gpu.fp8_gemm:
            rate = self.gpu.fp8_tflops * self.gpu.fp8_gemm
        return flops_per_token * self.tokens / self.tensor / rate

    def _scores(self) -> float:
        flops = self.model.score_flops * self.tokens / self.tensor
        if self.fused:
            return flops / 2 / (self.gpu.bf16_tflops * self.gpu.attention)
        # not fused: scores go to memory and back between products, mask and softmax, and dropout: six times, 2 bytes each
        return flops / (self.gpu.bf16_tflops * self.gpu.gemm) + self._moved(
            6 * self.model.heads * self.model.sequence / self.tensor
        )

    def _norm(self) -> float:
        """A norm and the sum with what went around the block: five vectors read or written."""
        return self._moved(5 * self.model.hidden / (self.tensor if self.sequence_parallel else 1))

    def _moved(self, values_per_token: float) -> float:
        """How long memory takes for values of 2 bytes, ps."""
        return values_per_token * 2 * self.tokens / (self.gpu.memory_tbytes_per_s * self.gpu.memory)
