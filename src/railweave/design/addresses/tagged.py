"""VLANs that trunk ports carry with a tag, beside those that the design allots."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.network.devices import Segment


def check_tagged(context: Context, layout: Layout, found: Iterable[Segment]) -> None:
    """Note tagged VLANs whose number a segment has: its leaf's trunk ports would carry the one without a tag and the other with one."""
    tagged = layout.spec.addressing.tagged_vlans
    if not tagged:
        return
    holders: dict[int, Segment] = {}
    for segment in found:
        if segment.vlan is not None:
            holders.setdefault(segment.vlan, segment)
    free = next(vlan for vlan in range(4094, 0, -1) if vlan not in holders and vlan not in tagged)
    for place, vlan in enumerate(tagged):
        if (one := holders.get(vlan)) is None:
            continue
        whose = f"network {one.network!r}" if one.network else f"{one.stripe} rail {one.rail}"
        context.problem(
            ("fabrics", layout.name, "addressing", "tagged_vlans", place),
            f"tagged VLAN {vlan} is also the VLAN that {one.leaf} has for the prefixes of {whose}",
            f"choose another number, such as {free}, or begin `pools.vlan` above {vlan}",
        )
    context.check()
