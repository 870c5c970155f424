"""The time that congestion control adds, which the flow engine does not model. It is estimated from runs of a small case with the packet engine.

If ``auto`` chooses the flow engine, both engines also run a small case: only some of the servers of the same design, with as many bytes
for each peer as in the whole run. If this case is still too large, each peer gets fewer bytes.

In the small case, the cost of congestion control is the difference between the times of the two engines. In the whole run, the cost is
assumed to be at least as high. It is at most as high as this cost times the flow engine's time for the whole run over its time for the
small case. If these two bounds are too far apart, the packet engine runs the whole collective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, Protocol

from railweave.prediction.simulation.collective import MANY_RANKS, predict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.conditions import Conditions, SimulatedNetwork
    from railweave.prediction.simulation.prediction import Prediction

SMALL_PACKET_HOPS = 20_000_000
"""The largest number of packet hops (links that packets cross, added up) of a small case. Such a run takes some seconds."""

MOST_SLOW_HOPS = 1_000_000_000
"""The largest number of packet hops for which the packet engine runs the whole case if the flow engine's time is too uncertain.

Packet hops are the links that packets cross, added up. Such a run takes some minutes.
"""

FEWEST, MOST_SERVERS = 4, 8
"""The smallest and the largest number of servers of a small case. The number of messages grows with the square of the servers."""

ALIKE = 0.03
"""The relative difference up to which the engines agree in the small case.

They can differ by this much even without congestion.
"""

ALLOWED = 0.1
"""The largest relative uncertainty, due to congestion control, at which the result of the flow engine is still used.

``ALIKE`` is part of it.
"""


@dataclass(frozen=True)
class Loss:
    """The time in ps that congestion control adds to a run, between ``least_ps`` and ``most_ps``. ``note`` describes the small case."""

    least_ps: int = 0
    most_ps: int = 0
    note: str = ""

    @property
    def likely_ps(self) -> int:
        """The geometric mean of ``least_ps`` and ``most_ps``, in ps."""
        return round(sqrt(self.least_ps * self.most_ps))

    def unsure(self, flows_ps: int) -> float:
        """Return the relative uncertainty of the predicted time, which is ``flows_ps`` + ``likely_ps``.

        ``flows_ps`` is the time of the run with the flow engine. The result is the larger distance from ``likely_ps`` to ``least_ps`` or
        ``most_ps``, divided by the predicted time.
        """
        return max(self.most_ps - self.likely_ps, self.likely_ps - self.least_ps) / (flows_ps + self.likely_ps)


@dataclass(frozen=True)
class Case:
    """A smaller case of a collective: ``bed``, a prepared network with fewer servers, and the size of the collective."""

    bed: SimulatedNetwork
    size_bytes: int


class Run(Protocol):
    """A function that runs ``predict`` with all other arguments fixed."""

    def __call__(self, bed: SimulatedNetwork, size_bytes: int, engine: str, nccl: Mapping[str, str]) -> Prediction:
        """Return the prediction of a collective of ``size_bytes`` on the prepared network ``bed``.

        ``engine`` is packet or flow, and ``nccl`` has NCCL parameters by name.
        """
        ...


def small_case(bed: SimulatedNetwork, size_bytes: int, packet_hops: int, most_servers: int = MOST_SERVERS) -> Case:
    """Return a smaller case that the packet engine can run in some seconds: servers of ``bed``, spread evenly over its stripes.

    The case has as many servers as possible, but at most ``most_servers``, with as many bytes for each peer as in the whole run. If it is
    still too large with ``FEWEST`` servers, it has fewer bytes. ``packet_hops`` is the number of packet hops (links that packets cross,
    added up) of the whole run.
    """
    servers = len(bed.job.servers)
    # with as much for each peer, everyone sends to everyone, and a ring has as many steps as ranks
    count = min(servers, most_servers)
    while count > FEWEST and packet_hops * (count / servers) ** 2 > SMALL_PACKET_HOPS:
        count -= 1
    size, hops = max(1, size_bytes * count // servers), packet_hops * (count / servers) ** 2
    while hops > SMALL_PACKET_HOPS and size > 1:
        size, hops = size // 2, hops / 2
    if count == servers:
        return Case(bed, size)
    # evenly over all of them, so that stripes keep their shares
    chosen = [place * servers // count for place in range(count)]
    job = replace(bed.job, servers=tuple(bed.job.servers[chosen_place] for chosen_place in chosen))
    hosts = bed.hosts.reshape(servers, bed.job.nics_per_server)[chosen].ravel()
    return Case(replace(bed, job=job, hosts=hosts), size)


def learnt(case: Case, flows_ps: int, nccl: Mapping[str, str], run: Run) -> Loss:
    """Return the time that congestion control adds to a collective that takes ``flows_ps`` with the flow engine.

    ``run`` is a function that runs the small ``case``. ``nccl`` has parameters that make the small case use the algorithm of the whole run.
    The time is 0 if no packet of the small case gets an ECN mark, or if the engines agree (``ALIKE``).
    """
    packets = run(case.bed, case.size_bytes, "packet", nccl)
    marked = (packets.counters or {}).get("ecn_marked_packets", 0)
    if not marked:
        return Loss()
    flows = run(case.bed, case.size_bytes, "flow", nccl)
    more = packets.time_ps - flows.time_ps
    if more <= ALIKE * flows.time_ps:
        return Loss()
    servers = len(case.bed.job.servers)
    note = (
        f"congestion control: {servers} servers of this design with {case.size_bytes:,} bytes take {more / 1e6:,.0f} us longer with packets "
        f"than with flows ({packets.time_ps / flows.time_ps - 1:.0%})"
    )
    return Loss(more, max(more, round(more * flows_ps / flows.time_ps)), note)


def agreed(network: Network, collective: str, size_bytes: int, *, bed: SimulatedNetwork, **asked: Any) -> Prediction:  # noqa: ANN401 - as ``predict`` has them
    """Return the result of ``predict``, corrected for congestion control.

    If ``auto`` chose the flow engine, add the cost of congestion control. If this cost is too uncertain and the run is small enough, run
    the packet engine instead. ``asked`` has the other arguments of ``predict``. If ``most_hops`` is one of them, the packet engine never
    replaces the flow engine. ``bed`` is the prepared network. Raises the errors of ``predict``.
    """
    prediction = predict(network, collective, size_bytes, bed=bed, **asked)
    conditions: Conditions | None = asked.get("conditions")
    faults = conditions is not None and conditions.faulty
    if asked.get("engine", "auto") != "auto" or prediction.choice.engine != "flow" or faults:
        return prediction
    quiet: dict[str, Any] = {
        name: value for name, value in asked.items() if name not in {"engine", "nccl", "progress", "watch", "exact"}
    }
    given: Mapping[str, str] = asked.get("nccl") or {}

    def run(bed: SimulatedNetwork, size_bytes: int, engine: str, nccl: Mapping[str, str]) -> Prediction:
        return predict(network, collective, size_bytes, bed=bed, engine=engine, nccl=nccl, **quiet)

    same = {"NCCL_ALGO": prediction.program.algorithm, "NCCL_PROTO": prediction.program.protocol, **given}
    case = small_case(bed, size_bytes, prediction.choice.packet_hops)
    loss = learnt(case, prediction.time_ps, same, run)
    if not loss.least_ps:
        return prediction
    many = collective == "all-to-all" and bed.job.ranks >= MANY_RANKS  # more transfers than packets can be run of
    few = asked.get("most_hops") is None and prediction.choice.packet_hops <= MOST_SLOW_HOPS
    if loss.unsure(prediction.time_ps) + ALIKE > ALLOWED and few and not many:
        asked["engine"] = "packet"
        again = predict(network, collective, size_bytes, bed=bed, **asked)
        why = f"about {prediction.choice.packet_hops / 1e6:,.1f} M packet hops; with flows, the effect of ECN marks is too uncertain"
        return replace(again, choice=replace(again.choice, why=why))
    return _with(prediction, loss)


def _with(prediction: Prediction, loss: Loss) -> Prediction:
    """Return a flow prediction with ``loss``, the time that congestion control costs, added."""
    time_ps = prediction.time_ps + loss.likely_ps
    note = f"{loss.note}; {loss.likely_ps / 1e6:,.0f} us are added here (range: {loss.least_ps / 1e6:,.0f} to {loss.most_ps / 1e6:,.0f} us)"
    band = prediction.band
    if band is not None:
        # least and most are those of one run of the small case: both engines differ a little besides, and chance does
        low = round((prediction.time_ps + loss.least_ps) / (1 + ALIKE))
        high = round((prediction.time_ps + loss.most_ps) * (1 + ALIKE))
        error = (1 + loss.unsure(prediction.time_ps) + ALIKE) * (1 + band.of_packets) - 1
        compared = f"{band.compared}, and the cost of congestion control that a smaller case has with packets"
        low, high = round(low / (1 + band.of_packets)), round(high * (1 + band.of_packets))
        band = replace(band, low_ps=low, high_ps=high, error=error, compared=compared)
    return replace(prediction, time_ps=time_ps, band=band, notes=(*prediction.notes, note))
