"""The prediction for one collective, as an object, text and JSON: times, rates, the bottleneck and the range of the time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from railweave.pages.table import Cell, formatted, shown
from railweave.prediction.simulation.bottleneck import Ideal, Load, bottleneck
from railweave.prediction.simulation.engines import report

if TYPE_CHECKING:
    from railweave.prediction.collectives.program import Program
    from railweave.prediction.simulation.engines.choice import Choice
    from railweave.prediction.simulation.engines.measured import PacketCounts
    from railweave.prediction.simulation.engines.run import Steady
    from railweave.prediction.simulation.errors import Band

NO_END = "some messages never arrive"
"""The reason shown for a collective that never completes."""
POINT_TO_POINT = "point to point"
"""The name shown as the algorithm of collectives that NCCL runs as pairs of send and receive."""
NEVER = Cell(None, "never")
"""The table cell for the time of a collective that never completes."""


@dataclass(frozen=True)
class Prediction:
    """The prediction for one collective of one size. Rates are in 10^9 byte/s, as nccl-tests prints them."""

    collective: str
    size_bytes: int
    program: Program
    """The collective as NCCL or RCCL runs it: ``algorithm``, ``protocol``, ``channels``, and the messages."""
    time_ps: int
    complete: bool
    """True if every message arrived."""
    choice: Choice
    """The ``engine`` that ran the collective (packet or flow), and the reason for the choice."""
    steady: Steady | None
    """The time at which the run was stopped early because its rounds had equal times, and the largest error of the predicted time.

    None if the run was not stopped.
    """
    counters: dict[str, int] | None
    """The packet counters over the whole network; None if flows were run."""
    load: Load
    """The busy times in ps of the busiest link, the busiest proxy (the thread that posts a NIC's messages) and the links between GPUs.

    They determine the bottleneck.
    """
    wall_s: float
    """The time that the computation of the prediction took, in seconds."""
    notes: tuple[str, ...]
    """The assumptions and omissions of the prediction."""
    remarks: tuple[str, ...] = ()
    """The notes about features of the network that the simulation ignores. ``to_text`` shows them too."""
    hosts: tuple[str, ...] = ()
    """The servers, in the order of their ranks."""
    order: str = ""
    """The servers in rank order and the processes on each, and the number of hops of a ring that cross the spines, as one line of text."""
    errors: tuple[str, ...] = ()
    """Sentences about events that cannot occur if the configuration is correct: dropped packets of a lossless class."""
    timeout_ps: int = 0
    """The retransmission timeout of NICs in ps: the time for which they wait for an acknowledgement."""
    measured: PacketCounts | None = None
    """The counters and tables of the run. ``JobPrediction`` joins the tables of all its collectives."""
    ideal: Ideal | None = None
    """The shortest times that the hardware allows. None if they were not computed."""
    band: Band | None = None
    """The range in which the time probably lies. It follows from errors of earlier predictions and from runs with several seeds."""

    @property
    def algorithm(self) -> str:
        """The name of the algorithm, such as ``Ring``. For all-to-all and send-recv, which have no algorithm, it is ``point to point``."""
        return POINT_TO_POINT if self.collective in {"all-to-all", "send-recv"} else self.program.algorithm

    @cached_property
    def flows(self) -> list[dict[str, Any]]:
        """The data queue pairs as JSON objects, each with its bytes and the time at which its last message arrived (None if it never arrived)."""
        return [] if self.measured is None else self.measured.flows_json()

    @property
    def bus_bandwidth_gbytes(self) -> float:
        """The bus bandwidth in 10^9 byte/s. It is 0 if the collective never completes."""
        return self.program.bus_bandwidth_gbytes(self.time_ps) if self.complete else 0.0

    @property
    def bus_bandwidth_text(self) -> str:
        """The bus bandwidth as text. It is a dash if the collective never completes."""
        return shown(self.bus_bandwidth_cell)

    @property
    def bus_bandwidth_cell(self) -> Cell | None:
        """The bus bandwidth as a table cell. It is None if the collective never completes."""
        return formatted(self.bus_bandwidth_gbytes, ",.2f") if self.complete else None

    def to_text(self) -> str:
        """Return lines for people: the time and its range, the bandwidth, the engine, the bottleneck and remarks."""
        return (
            f"{self.collective} of {self.size_bytes} bytes: {self.algorithm}, {self.program.protocol}, "
            f"{self.program.channels} channels\n"
            f"{report.lost_text(self.counters)}"
            f"{self._times() if self.complete else self._no_time()}"
            f"  servers        {self.order}\n"
            f"  congestion     {report.congestion_text(self.counters)}\n"
            f"  engine         {report.engine_text(self.choice, self.steady)}"
            + "".join(f"\n  error          {error}" for error in self.errors)
            + "".join(f"\n  note           {remark}" for remark in self.remarks)
        )

    def _times(self) -> str:
        return (
            f"{'' if self.band is None else self.band.to_text()}"
            f"  time           {self.time_ps / 1e6:.1f} us\n"
            f"  bus bandwidth  {self.bus_bandwidth_gbytes:.2f} GB/s\n"
            f"{'' if self.ideal is None else self.ideal.to_text(self.time_ps, self.program) + chr(10)}"
            f"  bound by       {bottleneck(self.load, self.time_ps).to_text()}\n"
        )

    def _no_time(self) -> str:
        """Return the text for a collective that never completes. It contains no rate."""
        return (
            f"  time           never completes: {NO_END}\n"
            f"                 (the last message that arrives does so after {self.time_ps / 1e6:.1f} us)\n"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the prediction as a JSON object; docs/predict.md documents its fields."""
        return {
            "collective": self.collective,
            "size_bytes": self.size_bytes,
            "algorithm": self.algorithm,
            "protocol": self.program.protocol,
            "channels": self.program.channels,
            **report.engine_json(self.choice, self.steady),
            "complete": self.complete,
            "time_us": self.time_ps / 1e6,
            "band": None if self.band is None else self.band.to_json(),
            "bus_bandwidth_GBps": self.bus_bandwidth_gbytes if self.complete else None,
            "alg_bandwidth_GBps": self.size_bytes / self.time_ps * 1e3 if self.complete else None,
            "ideal": self.ideal.to_json(self.time_ps, self.program)
            if self.ideal is not None and self.complete
            else None,
            "bottleneck": bottleneck(self.load, self.time_ps).to_json() if self.complete else None,
            "wall_s": self.wall_s,
            **report.counters_json(self.counters),
            "flows": self.flows,
            "hosts": list(self.hosts),
            "rank_order": self.order,
            "errors": list(self.errors),
            "notes": list(self.notes),
        }
