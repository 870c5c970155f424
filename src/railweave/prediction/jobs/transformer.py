"""A transformer: its sizes, and the parameters and operations that follow."""

from __future__ import annotations

from dataclasses import dataclass


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
        """Whether a layer (from 0) has experts."""
        return self.experts > 0 and layer >= self.dense_layers

    @property
    def attention(self) -> int:
        """Parameters of the attention of a layer: queries, keys, values, output."""
        own = 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads)
        return own if self.attention_parameters is None else self.attention_parameters

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
