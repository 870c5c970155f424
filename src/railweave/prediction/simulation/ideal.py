"""What a collective would take if nothing but one limit slowed it: the NICs at line rate, or the links inside servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from railweave.prediction.collectives.program import Program
    from railweave.prediction.simulation.engines.traffic import Traffic
    from railweave.prediction.simulation.model.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Ideal:
    """The least time by each limit alone, ps.

    ``nics_ps``: the busiest NIC sends or receives its messages' bytes at line rate, without headers; 0 where no byte leaves a
    server. ``servers_ps``: the links between the GPUs of a server (NVLink, Infinity Fabric) carry theirs, the launch included.
    """

    nics_ps: int
    servers_ps: int

    @classmethod
    def of(cls, wiring: Wiring, traffic: Traffic, servers_ps: int) -> Ideal:
        """The ideal of a collective's own traffic."""
        pairs = traffic.pairs[traffic.messages[:, 0].astype(np.int64), :2]
        carried = traffic.messages[:, 1].astype(np.float64)
        ports = wiring.first_port[: len(wiring.nics)]
        mbps = wiring.cables[wiring.port_cable[ports], 2].astype(np.float64)
        busiest = max(
            (np.bincount(pairs[:, side], weights=carried, minlength=len(mbps)) * 8e6 / mbps).max() for side in (0, 1)
        )
        return cls(int(busiest), servers_ps)

    @property
    def time_ps(self) -> int:
        """The least time that both allow."""
        return max(self.nics_ps, self.servers_ps, 1)

    def to_text(self, time_ps: int, program: Program) -> str:
        """Two lines for people: the ideal, and how much of each limit was reached."""
        nics = f"{self.nics_ps / time_ps:.1%} of the NICs' line rate" if self.nics_ps else "no byte leaves a server"
        return (
            f"  ideal          {self.time_ps / 1e6:.1f} us, {program.bus_bandwidth_gbytes(self.time_ps):.2f} GB/s\n"
            f"  reached        {self.time_ps / time_ps:.1%} of the ideal: {nics}, "
            f"{self.servers_ps / time_ps:.1%} of the bound of the links inside servers (NVLink)"
        )

    def to_json(self, time_ps: int, program: Program) -> dict[str, Any]:
        """The documented JSON object (docs/predict.md)."""
        return {
            "time_us": self.time_ps / 1e6,
            "bus_bandwidth_GBps": program.bus_bandwidth_gbytes(self.time_ps),
            "share_reached": round(self.time_ps / time_ps, 4),
            "share_of_line_rate": round(self.nics_ps / time_ps, 4) if self.nics_ps else None,
            "share_of_server_bound": round(self.servers_ps / time_ps, 4),
        }
