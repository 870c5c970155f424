"""The traffic of a training step, by tier of the network (such as server to leaf, leaf to spine) and by link."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.json_values import JsonObject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from railweave.model.network.model import Network
    from railweave.prediction.jobs.graph import Graph
    from railweave.prediction.simulation.model.wiring import Wiring
    from railweave.prediction.simulation.training.loads import CarriedCommunication

INSIDE = "inside servers"
TIERS = ("server to leaf", "leaf to spine", "spine to super-spine", "between sites")


@dataclass(frozen=True)
class Tier(JsonObject):
    """The traffic of a job on the links of one tier of the network, such as leaf to spine.

    - ``links``: the number of links of the tier.
    - ``up_bytes``, ``down_bytes``: the bytes in each direction, with headers.
    - ``busiest``: the busiest link. ``busiest_from`` is the end that sends.
    - ``busy``: the fraction of a step for which the job keeps the busiest link busy.
    """

    name: str
    links: int
    up_bytes: int
    down_bytes: int
    busiest: str
    busiest_from: str
    busy: float


@dataclass(frozen=True, eq=False)
class StepTraffic:
    """The traffic of a step of a job.

    - ``ports``: the bytes that each port sends.
    - ``tier_of``: the index of each cable's tier in ``TIERS``.
    - ``inside_bytes``: the bytes between GPUs of one server.
    """

    wiring: Wiring
    tier_of: NDArray[np.int64]
    ports: NDArray[np.float64]
    inside_bytes: int
    step_ps: int

    @cached_property
    def busy(self) -> NDArray[np.float64]:
        """The fraction of a step for which each port sends."""
        rates = self.wiring.cables[self.wiring.port_cable, 2].astype(np.float64)
        return self.ports * 8e6 / rates / max(self.step_ps, 1)

    def tiers(self) -> list[Tier]:
        """Return the tiers that carry any traffic, from the servers up."""
        tiers: list[Tier] = []
        for place, name in enumerate(TIERS):
            cables = np.flatnonzero(self.tier_of == place)
            ends = self.wiring.end_ports[cables]
            if not cables.size or not self.ports[ends].any():
                continue
            up, down = self.ports[ends].sum(axis=0).tolist()
            most = int(self.busy[ends].argmax())
            port = int(ends.reshape(-1)[most])
            used = int((self.ports[ends] > 0).any(axis=1).sum())
            tiers.append(
                Tier(
                    name,
                    used,
                    round(up),
                    round(down),
                    self.wiring.port_link(port),
                    self._from(port),
                    float(self.busy[port]),
                )
            )
        return tiers

    def links(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return a dict for each link and direction that carries traffic, the busiest first. If ``most`` is given, return at most so many dicts.

        The keys are ``link``, ``from`` (the device that sends), ``tier``, ``bytes`` and ``busy`` (the fraction of a step).
        """
        order = np.argsort(-self.busy, kind="stable")[: int((self.ports > 0).sum())]
        return [
            {
                "link": self.wiring.port_link(port),
                "from": self._from(port),
                "tier": TIERS[self.tier_of[self.wiring.port_cable[port]]],
                "bytes": round(float(self.ports[port])),
                "busy": float(self.busy[port]),
            }
            for port in order.tolist()[:most]
        ]

    def _from(self, port: int) -> str:
        row = int(self.wiring.port_cable[port])
        node = int(self.wiring.cables[row, int(self.wiring.end_ports[row, 1] == port)])
        return (*self.wiring.nics, *self.wiring.switches)[node]


def sent(
    network: Network, wiring: Wiring, graph: Graph, carried: Sequence[CarriedCommunication], step_ps: int
) -> StepTraffic:
    """Return the traffic of a step. A communication that occurs several times in ``graph`` is counted each time.

    ``carried`` has the load of each communication. ``wiring`` has the numbered nodes, ports and cables.
    """
    often = Counter(op.communication for op in graph.ops if op.communication is not None)
    ports = np.zeros(len(wiring.port_cable))
    inside = sum(op.inside_bytes for op in graph.ops)
    for number, count in often.items():
        load = carried[number]
        ports[load.ports] += load.bytes * count
        inside += load.inside_bytes * count
    return StepTraffic(wiring, _tiers(network, wiring), ports, inside, step_ps)


def _tiers(network: Network, wiring: Wiring) -> NDArray[np.int64]:
    roles = {switch.name: switch.role for switch in network.switches}
    names = (*wiring.nics, *wiring.switches)
    tier_numbers: list[int] = []
    for a, b in wiring.cables[:, :2].tolist():
        pair = {roles.get(names[int(a)], "server"), roles.get(names[int(b)], "server")}
        if "server" in pair:
            tier_numbers.append(0)
        elif pair == {"leaf", "spine"}:
            tier_numbers.append(1)
        else:
            tier_numbers.append(2 if "super-spine" in pair else 3)
    return np.array(tier_numbers, np.int64)
