"""How long data takes between the GPUs of a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.tuning import Choice


FITTED_QPS = 8
"""Queue pairs of a connection up to which all-to-all was compared with published rows; beyond, a post is likely to cost more."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Times of one collective. Each channel has an equal part of the link between GPUs (assumed: all are busy)."""

    launch_ps: int
    gpu_hop_ps: int
    network_hop_ps: int
    ps_per_byte: float

    @classmethod
    def of(cls, job: Job, choice: Choice) -> Pace:
        """The pace of a choice in a job."""
        ps_per_byte = 8000 / job.servers[0].link.gbps * choice.channels
        return cls(choice.launch_ps, choice.gpu_hop_ps, choice.network_hop_ps, ps_per_byte)

    @overload
    def hops(self, count: int, size_bytes: int) -> int: ...
    @overload
    def hops(self, count: int | NDArray[np.int64], size_bytes: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def hops(self, count: int | NDArray[np.int64], size_bytes: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        """Store and forward over ``count`` hops inside a server."""
        time = count * (self.gpu_hop_ps + size_bytes * self.ps_per_byte)
        return round(time) if isinstance(time, float | int) else time.astype("int64")
