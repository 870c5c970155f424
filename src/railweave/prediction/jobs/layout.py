"""Which ranks form which groups, in Megatron-LM's default order of ranks: tensor, context, data, pipeline, the first the fastest.

Expert groups divide data and context: ``expert`` ranks after one another in that order have different experts (Megatron-LM,
``megatron/core/parallel_state.py``, order ``tp-cp-ep-dp-pp``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Layout:
    """How a job is divided: ``tensor`` x ``context`` x ``data`` x ``pipeline`` ranks; ``expert`` divides ``context`` x ``data``; ``virtual`` parts of the model on each pipeline stage."""

    tensor: int
    context: int
    data: int
    pipeline: int
    expert: int = 1
    virtual: int = 1

    @property
    def ranks(self) -> int:
        """GPUs."""
        return self.tensor * self.context * self.data * self.pipeline

    @cached_property
    def _grid(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """Ranks by pipeline stage, data, context, tensor."""
        return np.arange(self.ranks).reshape(self.pipeline, self.data, self.context, self.tensor)

    def groups(self, kind: str, stage: int) -> list[list[int]]:
        """The groups of a pipeline stage, ranks in order.

        ``TP``, ``CP``, ``EP``; ``DP``: those that hold the same parameters, which are those of data and context; ``EDP``: the same of experts;
        ``PP``: of pairs, a rank and the one of the next stage (of the last stage: the first).
        """
        here = self._grid[stage]
        alike = here.reshape(self.data * self.context, self.tensor)  # rows: data and context, columns: tensor
        if kind == "TP":
            found = alike
        elif kind == "CP":
            found = here.transpose(0, 2, 1).reshape(-1, self.context)
        elif kind == "DP":
            found = alike.T
        elif kind in {"EP", "EDP"}:
            parted = alike.T.reshape(self.tensor, -1, self.expert)
            found = (
                parted.reshape(-1, self.expert)
                if kind == "EP"
                else parted.transpose(0, 2, 1).reshape(-1, parted.shape[1])
            )
        else:
            following = self._grid[(stage + 1) % self.pipeline]
            found = np.stack([here.ravel(), following.ravel()], axis=1)
        return [[int(rank) for rank in group] for group in found]
