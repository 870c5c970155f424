"""How large a fabric may be: counted before anything of it is made, so that no number in a file has the program work without end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.model.intent.fabric import Fabric
    from railweave.model.intent.topology import Topology

MOST_SWITCHES = 16_384
"""Of a fabric: twelve times those of 32,768 GPUs under super-spines."""
MOST_LINKS = 524_288
"""Between its switches."""


def check_extent(context: Context, name: str, fabric: Fabric, leaves: int) -> None:
    """Raise ``DesignError`` where a fabric with so many leaves would have more switches or links than any."""
    topology = fabric.topology
    blocks = _blocks(topology, leaves)
    spines = blocks * len(topology.spine_names())
    supers = topology.super_spines * len(topology.spine_names())
    across = topology.interconnect
    dci = across.routers * len(across.sites) if across else 0
    links = leaves * len(topology.spine_names()) * topology.links_per_spine
    links += spines * topology.super_spines * topology.links_per_super_spine
    for count, most, what in (
        (leaves + spines + supers + dci, MOST_SWITCHES, "switches"),
        (links, MOST_LINKS, "links between switches"),
    ):
        if count > most:
            context.problem(
                ("fabrics", name, "topology"),
                f"fabric {name!r} would have {count:,} {what}",
                f"at most {most:,} are designed",
            )
    context.check()


def _blocks(topology: Topology, leaves: int) -> int:
    """How many sets of spines there are at most."""
    if topology.interconnect is not None:
        return len(topology.interconnect.sites)
    stripes = len(topology.stripe_names())
    if topology.port_planes > 1:
        return topology.port_planes
    if topology.planes:
        return leaves // stripes
    return -(-stripes // topology.stripes_per_pod) if topology.stripes_per_pod else 1
