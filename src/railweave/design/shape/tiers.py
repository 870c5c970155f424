"""Spines and super-spines: which leaves share which spines, and what joins the spines.

Four shapes. One set of spines joins all leaves; or each rail has its own (``planes: rail``), and there is no path from
rail to rail but inside a server; or each port of NICs has its own (``planes: 2``), with all rails in each; or each pod of stripes has its own, and super-spines join the spines of one number of
all pods, a plane of super-spines for each number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.design.shape.names import switch_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.model.intent.fabric import Fabric
    from railweave.model.intent.topology import Topology


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf before it has numbers.

    ``number`` counts leaves over all stripes by slot, so it never moves; ``place`` counts those that share its spines.
    """

    name: str
    stripe: str
    stripe_slot: int
    position: int
    number: int
    rails: tuple[int, ...]
    pod: str = ""
    plane: str = ""
    place: int = 0

    @property
    def block(self) -> str:
        """What shares its spines: a pod or a rail plane; empty where all leaves do."""
        return self.pod or self.plane


@dataclass(frozen=True, slots=True)
class Spine:
    """A spine before it has numbers. ``position`` counts the spines that a leaf sees, ``number`` all of the fabric."""

    name: str
    key: str
    position: int
    number: int
    pod: str = ""
    plane: str = ""

    @property
    def block(self) -> str:
        """Whose leaves it joins: a pod's or a rail plane's; empty where it joins all."""
        return self.pod or self.plane


@dataclass(frozen=True, slots=True)
class SuperSpine:
    """A super-spine before it has numbers: it joins the spines of ``plane``, one in each pod."""

    name: str
    plane: str
    position: int
    number: int


def block_of(
    topology: Topology, stripe: str, slot: int, position: int, each: int, leaves_of_plane: int
) -> tuple[str, str]:
    """The pod and the plane of leaf ``position`` of a stripe in ``slot``; ``each`` is how many rails it serves.

    Where a fabric spans sites, each is a pod: it has spines of its own. Planes of NIC ports have ``leaves_of_plane`` leaves of
    every stripe: those of the first ports come first.
    """
    if topology.interconnect:
        return topology.interconnect.site_of(stripe), ""
    if topology.stripes_per_pod:
        return f"pod{(slot - 1) // topology.stripes_per_pod + 1}", ""
    if topology.port_planes > 1:
        return "", f"plane{(position - 1) // leaves_of_plane + 1}"
    return "", (f"rail{position}" if each == 1 else f"plane{position}") if topology.planes else ""


def place_of(topology: Topology, slot: int, position: int, leaves_of_plane: int) -> int:
    """The place of a leaf among those that share its spines, 1-based; it decides the spines' ports.

    ``leaves_of_plane`` are those of a stripe, and of one plane of NIC ports where there are such.
    """
    if topology.planes == "rail":
        return slot
    own = (position - 1) % leaves_of_plane + 1
    return ((slot - 1) % (topology.stripes_per_pod or slot)) * leaves_of_plane + own


def spines_of(context: Context, name: str, fabric: Fabric, leaves: Sequence[Leaf]) -> tuple[Spine, ...]:
    """The spines of every block, by number."""
    positions = context.lock.allot(f"{name}/spines", fabric.topology.spine_names())
    blocks = dict.fromkeys((leaf.pod, leaf.plane) for leaf in leaves)
    found: list[tuple[str, str, int, str, str]] = []
    across = fabric.topology.interconnect is not None  # pods are sites, and no plane of super-spines joins them
    for pod, plane in blocks:
        for key, position in sorted(positions.items(), key=lambda item: item[1]):
            full = f"{pod or plane}-{key}" if pod or plane else key
            found.append((full, key, position, pod, f"plane{position}" if pod and not across else plane))
    if list(blocks) == [("", "")]:
        numbers = positions
    else:  # one number a spine over all blocks, for AS numbers; with one block the position is that number
        numbers = context.lock.allot(f"{name}/spines of blocks", [full for full, *_ in found])
    made = [
        Spine(
            switch_name(context, fabric.naming, name, "spine", spine=full, number=numbers[full]),
            key,
            position,
            numbers[full],
            pod,
            plane,
        )
        for full, key, position, pod, plane in found
    ]
    return tuple(sorted(made, key=lambda spine: spine.number))


def super_spines_of(context: Context, name: str, fabric: Fabric, spines: Sequence[Spine]) -> tuple[SuperSpine, ...]:
    """The super-spines of every plane, by number."""
    count = fabric.topology.super_spines
    if not count:
        return ()
    planes = dict.fromkeys(spine.plane for spine in sorted(spines, key=lambda spine: spine.position))
    keys = {f"{plane}-super{position}": (plane, position) for plane in planes for position in range(1, count + 1)}
    numbers = context.lock.allot(f"{name}/super-spines", keys)
    return tuple(
        SuperSpine(
            switch_name(context, fabric.naming, name, "super_spine", super_spine=key), plane, position, numbers[key]
        )
        for key, (plane, position) in sorted(keys.items(), key=lambda item: numbers[item[0]])
    )


def pod_number(pod: str) -> int:
    """The number of a pod, which decides the super-spines' ports."""
    return int(pod.removeprefix("pod"))
