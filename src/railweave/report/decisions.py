"""What was chosen for a fabric, and why, in the order in which design decides it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.catalog import catalog
from railweave.report.decisions_qos import qos_decisions
from railweave.report.figures import counted, figures, span, stripes

if TYPE_CHECKING:
    from railweave.design.network import Cable, Fabric, Network, RoleName, Switch


@dataclass(frozen=True, slots=True)
class Grid:
    """A small table of a decision; ``emphasis`` are rows that need attention."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    emphasis: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision: what was ``chosen``, ``why``, and the facts and tables behind it."""

    title: str
    chosen: str
    why: str
    facts: tuple[tuple[str, str], ...] = ()
    grids: tuple[Grid, ...] = field(default=())


MODES = {
    "ecmp": "static hash (ECMP): a flow stays on one uplink, chosen by a hash of its header",
    "dlb-flowlet": "dynamic load balancing by flowlet: after a pause a flow may move to a less loaded uplink",
    "dlb-per-packet": "dynamic load balancing per packet: every packet takes the least loaded uplink",
    "spray": "random spraying: every packet takes a random uplink",
    "rlb": "RDMA-aware (RLB): every queue pair of a connection has a path color, and so an uplink, of its own",
}
MODE_WHY = {
    "ecmp": "works everywhere and keeps packets in order; few large RDMA flows may collide on one uplink",
    "dlb-flowlet": "reacts to load and keeps packets in order where flows pause; RDMA flows pause seldom",
    "dlb-per-packet": "fills uplinks evenly; NICs must accept packets out of order",
    "spray": "fills uplinks evenly without state; NICs must accept packets out of order",
    "rlb": "RDMA flows are few, large and known before they start, so they are placed rather than hashed: "
    "no collisions, packets in order",
}


def decisions(network: Network, fabric: Fabric) -> list[Decision]:
    """Every decision about a fabric."""
    return [
        _topology(network, fabric),
        _ports(network, fabric),
        _addressing(network, fabric),
        _bgp(network, fabric),
        _colors(network, fabric),
        _balancing(fabric),
        *(Decision(**parts) for parts in ()),
        *[
            Decision(title, chosen, why, facts, tuple(Grid(*grid) for grid in grids))
            for title, chosen, why, facts, grids in qos_decisions(network, fabric)
        ],
    ]


def _switches(network: Network, fabric: Fabric, role: RoleName) -> list[Switch]:
    return [switch for switch in network.switches if switch.fabric == fabric.name and switch.role == role]
