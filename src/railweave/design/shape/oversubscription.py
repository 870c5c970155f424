"""What leaves and spines carry downwards and upwards."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.design.shape.tiers import Leaf, Spine
    from railweave.design.shape.topology import Layout


def check_oversubscription(context: Context, layout: Layout) -> None:
    """No leaf has more of servers below it than ``oversubscription:`` accepts, no spine more of leaves. Notes a problem in the context."""
    if not layout.spines:
        return
    at = ("fabrics", layout.name, "topology", "oversubscription")
    servers = Counter(server.stripe for server in layout.servers)
    leaves = {(leaf.stripe, leaf.block, len(leaf.rails), layout.equipment[leaf.name]): leaf for leaf in layout.leaves}
    loads = [
        (servers[leaf.stripe] * len(leaf.rails) * layout.nic_speeds[leaf.stripe], _bandwidth_up(layout, leaf))
        for leaf in leaves.values()
    ]
    down, up = max(loads, key=lambda one: one[0] / (one[1] or 1))
    asked = layout.spec.topology.oversubscription
    if up and down / up > asked + 1e-9:
        context.problem(
            at,
            f"oversubscription is {down / up:.2f}:1 ({down} Gb/s of servers over {up} Gb/s of uplinks on a leaf), "
            f"more than the {asked:g}:1 asked for",
            "add spines or links_per_spine, put fewer servers in a stripe, or accept it with `oversubscription:`",
        )
    if layout.super_spines:
        spines = {(spine.block, spine.plane, layout.equipment[spine.name]): spine for spine in layout.spines}
        below, above = max(
            (_bandwidth_of(layout, spine) for spine in spines.values()), key=lambda one: one[0] / (one[1] or 1)
        )
        if above and below / above > asked + 1e-9:
            context.problem(
                at,
                f"oversubscription is {below / above:.2f}:1 ({below} Gb/s of leaves over {above} Gb/s of super-spines on a "
                f"spine), more than the {asked:g}:1 asked for",
                "add super_spines or links_per_super_spine, put fewer stripes in a pod, or accept it with `oversubscription:`",
            )


def _bandwidth_up(layout: Layout, leaf: Leaf) -> int:
    """What a leaf's uplinks carry together, Gb/s."""
    spines = (spine for spine in layout.spines if spine.block == leaf.block)
    return layout.spec.topology.links_per_spine * sum(layout.link_speed(leaf.name, one.name) for one in spines)


def _bandwidth_of(layout: Layout, spine: Spine) -> tuple[int, int]:
    """What a spine's links to the leaves that there may be below it carry, and those to super-spines, Gb/s."""
    topology = layout.spec.topology
    leaves = [leaf for leaf in layout.leaves if leaf.block == spine.block]
    most = max(layout.link_speed(leaf.name, spine.name) for leaf in leaves)
    places = max(leaf.place for leaf in layout.leaves) - len(leaves)
    below = sum(layout.link_speed(leaf.name, spine.name) for leaf in leaves) + places * most
    above = sum(layout.link_speed(spine.name, one.name) for one in layout.super_spines if one.plane == spine.plane)
    return below * topology.links_per_spine, above * topology.links_per_super_spine
