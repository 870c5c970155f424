"""A transformer's sizes and operations, and how long a GPU computes: a roofline with an efficiency for each class of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

import yaml


@dataclass(frozen=True, slots=True)
class Transformer:
    """The sizes of a decoder.

    - ``heads``, ``kv_heads``: of queries, and of keys and values (fewer with grouped queries); ``head_dim``: of each.
    - ``ffn``: width of the feed-forward block of a dense layer; ``gated``: whether it has three matrices (SwiGLU) or two.
    - ``experts``, ``top_k``, ``shared_experts``, ``expert_ffn``: of layers with experts; ``dense_layers``: how many of the first have none.
    - ``attention_parameters``: of the attention of a layer, where it is not h x heads x head_dim for queries and output, and for keys and values by their heads.
    - ``tied``: whether input and output embedding are one matrix. ``sequence``: tokens of a sequence.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocabulary: int
    sequence: int
    gated: bool
    tied: bool
    experts: int = 0
    top_k: int = 0
    shared_experts: int = 0
    expert_ffn: int = 0
    dense_layers: int = 0
    attention_parameters: int | None = None

    def sparse(self, layer: int) -> bool:
        """Return whether a layer (counted from 0) has experts."""
        return self.experts > 0 and layer >= self.dense_layers

    @property
    def attention(self) -> int:
        """Parameters of the attention of a layer: queries, keys, values, output."""
        projections = 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads)
        return projections if self.attention_parameters is None else self.attention_parameters

    @property
    def matrices(self) -> int:
        """Matrices of a feed-forward block."""
        return 3 if self.gated else 2

    def feed_forward(self, layer: int) -> int:
        """Parameters of the feed-forward part of a layer that are no expert's: dense block, shared experts, router."""
        if not self.sparse(layer):
            return self.matrices * self.hidden * self.ffn
        return self.matrices * self.hidden * self.expert_ffn * self.shared_experts + self.hidden * self.experts

    @property
    def of_expert(self) -> int:
        """Parameters of one expert."""
        return self.matrices * self.hidden * self.expert_ffn

    def shared_parameters(self, layer: int) -> int:
        """Parameters of a layer without those of its experts; norms are two vectors."""
        return self.attention + self.feed_forward(layer) + 2 * self.hidden

    @property
    def embedding(self) -> int:
        """Parameters of one embedding matrix."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> int:
        """All of them."""
        shared = sum(map(self.shared_parameters, range(self.layers)))
        experts = self.experts * self.of_expert * sum(map(self.sparse, range(self.layers)))
        return shared + experts + self.embedding * (1 if self.tied else 2)

    def matmul_flops(self, layer: int) -> int:
        """Operations a token takes through the matrices of a layer, forward (two for each parameter that it meets)."""
        met = self.attention + self.feed_forward(layer) + (self.top_k * self.of_expert if self.sparse(layer) else 0)
        return 2 * met

    @property
    def score_flops(self) -> int:
        """Operations a token takes in the attention of a layer over the whole sequence, forward; a causal kernel needs half of them."""
        return 4 * self.sequence * self.heads * self.head_dim

    @property
    def logit_flops(self) -> int:
        """Operations a token takes to the vocabulary, forward."""
        return 2 * self.embedding

    @property
    def step_flops_per_token(self) -> int:
        """Operations of the model for a token, forward and backward, without recomputing, attention counted whole (SC21, section 5.1; as Megatron-LM counts)."""
        layers = sum(map(self.matmul_flops, range(self.layers))) + self.layers * self.score_flops
        return 3 * (layers + self.logit_flops)


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
    """Times in ps that a rank computes in a layer for a micro-batch, forward."""

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
        times = self.layer(layer)
        return times.attention, times.feed_forward, times.experts

    def backward(self, layer: int, recompute: Recompute) -> tuple[float, float, float]:
        """The same backward, with the scores where ``recompute`` is ``selective``; a full recomputation is ``forward`` again."""
        times = self.layer(layer)
        again = times.scores if recompute == "selective" and not self.fused else 0.0
        scores = times.scores * (ATTENTION_BACKWARD if self.fused else BACKWARD) + again
        return (
            (times.attention - times.scores) * BACKWARD + scores,
            times.feed_forward * BACKWARD,
            times.experts * BACKWARD,
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
        """Return how long the memory takes to move values of 2 bytes, in ps."""
        return values_per_token * 2 * self.tokens / (self.gpu.memory_tbytes_per_s * self.gpu.memory)
