"""The sizes of a transformer, the operations that it needs, and the computing time of a GPU.

The time follows a roofline model with an efficiency for each class of kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from railweave.reading import packaged_text, packaged_yaml

if TYPE_CHECKING:
    from railweave.model.intent.job_file import GpuRates


@dataclass(frozen=True, slots=True)
class Transformer:
    """The sizes of a transformer model that consists of decoder layers.

    - ``heads``: attention heads of queries.
    - ``kv_heads``: heads of keys and values (fewer with grouped queries).
    - ``head_dim``: size of each head.
    - ``ffn``: width of the feed-forward block of a dense layer.
    - ``gated``: True if the feed-forward block has three matrices (SwiGLU), False for two.
    - ``experts``, ``top_k``, ``shared_experts``, ``expert_ffn``: sizes of layers with experts.
    - ``dense_layers``: the number of layers at the beginning that have no experts.
    - ``attention_parameters``: parameters of a layer's attention, if they do not follow from hidden size and heads.
    - ``tied``: True if input and output embedding are one matrix.
    - ``sequence``: tokens of a sequence.
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
        """Return True if a layer (counted from 0) has experts."""
        return self.experts > 0 and layer >= self.dense_layers

    @property
    def attention(self) -> int:
        """The number of parameters in the attention of a layer: queries, keys, values and output."""
        projections = 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads)
        return projections if self.attention_parameters is None else self.attention_parameters

    @property
    def matrices(self) -> int:
        """The number of matrices in a feed-forward block."""
        return 3 if self.gated else 2

    def feed_forward(self, layer: int) -> int:
        """Return the number of feed-forward parameters of a layer outside its experts.

        They are the dense block or, in a layer with experts, the shared experts and the router.
        """
        if not self.sparse(layer):
            return self.matrices * self.hidden * self.ffn
        return self.matrices * self.hidden * self.expert_ffn * self.shared_experts + self.hidden * self.experts

    @property
    def of_expert(self) -> int:
        """The number of parameters of a single expert."""
        return self.matrices * self.hidden * self.expert_ffn

    def shared_parameters(self, layer: int) -> int:
        """Return the number of parameters of a layer without its experts. Norms count as two vectors."""
        return self.attention + self.feed_forward(layer) + 2 * self.hidden

    @property
    def embedding(self) -> int:
        """The number of parameters of one embedding matrix."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> int:
        """The number of parameters of the whole model."""
        shared = sum(map(self.shared_parameters, range(self.layers)))
        experts = self.experts * self.of_expert * sum(map(self.sparse, range(self.layers)))
        return shared + experts + self.embedding * (1 if self.tied else 2)

    def matmul_flops(self, layer: int) -> int:
        """Return the arithmetic operations per token of a layer's matrices in the forward pass: two for each parameter that the token uses."""
        met = self.attention + self.feed_forward(layer) + (self.top_k * self.of_expert if self.sparse(layer) else 0)
        return 2 * met

    @property
    def score_flops(self) -> int:
        """The number of arithmetic operations per token in the forward pass for the attention scores of a layer, over the whole sequence.

        A causal kernel needs half of them.
        """
        return 4 * self.sequence * self.heads * self.head_dim

    @property
    def logit_flops(self) -> int:
        """The number of arithmetic operations per token in the forward pass for the projection to the vocabulary."""
        return 2 * self.embedding

    @property
    def step_flops_per_token(self) -> int:
        """The number of arithmetic operations per token of a step, forward and backward, without recomputation.

        Attention counts over the whole sequence (SC21, section 5.1), as in Megatron-LM.
        """
        layers = sum(map(self.matmul_flops, range(self.layers))) + self.layers * self.score_flops
        return 3 * (layers + self.logit_flops)


Recompute = Literal["none", "selective", "full"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU: its peak rates for dense operations, and the fraction of these rates that each class of kernels reaches.

    - ``bf16_tflops``, ``fp8_tflops``: peak rate by type, in 10^12 operations per second.
    - ``memory_tbytes_per_s``: memory bandwidth in 10^12 byte/s.
    - ``gemm``, ``fp8_gemm``: efficiency of matrix products in 16 and 8 bits.
    - ``attention``: efficiency of attention.
    - ``memory``: efficiency of kernels that memory limits, such as norms, activations and the optimizer.
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
    """Return the GPUs with known rates, by name."""
    text = packaged_text(files("railweave.prediction.jobs").joinpath("gpus.yaml"))
    known: dict[str, dict[str, Any]] = packaged_yaml(text)
    return {name: Gpu(name, **given) for name, given in known.items()}


def gpu_with(name: str, rates: GpuRates) -> Gpu | None:
    """Return a GPU by name. Rates in ``rates`` replace the known rates of this GPU.

    Return None if railweave does not know the GPU.
    """
    known = gpus().get(name)
    if known is None:
        return None
    given = {field.name: getattr(rates, field.name, None) for field in fields(known)}
    return replace(known, **{field: value for field, value in given.items() if value is not None})


def unknown_gpu(name: str) -> tuple[str, str]:
    """Return (error message, fix) for a GPU whose rates are not known."""
    return f"the rates of GPU {name!r} are not known", f"known are {', '.join(gpus())}"


@dataclass(frozen=True, slots=True)
class LayerTimes:
    """The forward times in ps of the parts of a layer on one rank, for one micro-batch. ``experts`` is 0 if the layer has no experts."""

    attention: float
    """The time of projections, scores and norm."""
    scores: float
    """The part of ``attention`` spent on scores. Selective recomputation computes the scores again."""
    feed_forward: float
    """The time of the dense block, or of router and shared experts, including the norm."""
    experts: float


BACKWARD = 2.0
"""The number of operations in the backward pass for each operation in the forward pass: one for the inputs' gradients, one for the weights'."""
ATTENTION_BACKWARD = 2.5
"""The number of operations of fused attention in the backward pass for each operation in the forward pass.

The backward pass computes the scores again: it has five matrix products instead of two (FlashAttention-2, section 2.2).
"""


@dataclass(frozen=True, slots=True)
class Kernels:
    """The times of GPU kernels for a model whose layers are divided among ranks.

    - ``tokens``: tokens of a micro-batch that the ``tensor`` ranks of a group process together.
    - ``tensor``: the number of ranks that share a layer's matrices.
    - ``sequence_parallel``: True if these ranks also share norms.
    - ``fused``: True if attention is one kernel that skips the scores that a causal mask hides.
    """

    model: Transformer
    gpu: Gpu
    tokens: float
    tensor: int
    sequence_parallel: bool
    fused: bool
    dtype: Literal["bf16", "fp8"] = "bf16"

    def layer(self, layer: int) -> LayerTimes:
        """Return the times of a layer, counted from 0."""
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
        """Return the forward times in ps of a layer: (attention, feed-forward block, experts)."""
        times = self.layer(layer)
        return times.attention, times.feed_forward, times.experts

    def backward(self, layer: int, recompute: Recompute) -> tuple[float, float, float]:
        """Return the backward times in ps of a layer: (attention, feed-forward block, experts).

        With ``recompute`` ``selective``, attention includes the time to compute its scores again. With full recomputation, the caller
        must add the result of ``forward``.
        """
        times = self.layer(layer)
        again = times.scores if recompute == "selective" and not self.fused else 0.0
        scores = times.scores * (ATTENTION_BACKWARD if self.fused else BACKWARD) + again
        return (
            (times.attention - times.scores) * BACKWARD + scores,
            times.feed_forward * BACKWARD,
            times.experts * BACKWARD,
        )

    def logits(self) -> float:
        """Return the forward time in ps from the end of the last layer to the loss."""
        return self._matrices(self.model.logit_flops) + self._moved(2 * self.model.vocabulary / self.tensor)

    def optimizer(self, parameters: float) -> float:
        """Return the time in ps of an Adam step for ``parameters`` parameters held in 32 bits.

        For each parameter, the step reads 16 bytes (weight, two moments, gradient) and writes 14 bytes (weight, two
        moments, and the weight in 16 bits).
        """
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
        """Return the time in ps of a norm and the addition of the residual. Together they read or write five vectors."""
        return self._moved(5 * self.model.hidden / (self.tensor if self.sequence_parallel else 1))

    def _moved(self, values_per_token: float) -> float:
        """Return the time in ps that the memory needs to move ``values_per_token`` values of 2 bytes for each token."""
        return values_per_token * 2 * self.tokens / (self.gpu.memory_tbytes_per_s * self.gpu.memory)
