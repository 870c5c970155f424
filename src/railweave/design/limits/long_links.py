"""What pause frames over long links would cost, and why there are none unless asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.headroom import port_headroom
from railweave.model.catalog.rdma import ADAPTIVE_WINDOW
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.network.devices import Cable


INTERCONNECT_LOSSY = Rule(
    id="interconnect-lossy",
    severity="info",
    applies="design",
    says="links between sites are not paused (PFC); what headroom that would need, and what is done instead",
    why="what arrives within twice the delay after a pause was sent has to be held at full rate; instead queues are marked "
    f"early (ECN), a queue pair has at most {ADAPTIVE_WINDOW} packets under way where NICs use adaptive routing, and what "
    "is lost is sent again by itself",
    fix="`interconnect: {pfc: true}` where routers can set so much aside",
)


def note_long_links(context: Context, layout: Layout, cables: Sequence[Cable]) -> None:
    """A finding with the headroom that the fullest router would need to pause its long links, where they are not paused."""
    across = layout.spec.topology.interconnect
    if across is None or across.pfc or (layout.spec.qos.lossless_class() is None):
        return
    borders = {one.name for one in layout.borders}
    need: dict[str, list[int]] = {}
    longest = 0.0
    for cable in cables:
        if {cable.a.device, cable.b.device} <= borders:
            longest = max(longest, cable.length_m)
            for device in (cable.a.device, cable.b.device):
                model = layout.equipment[device].model
                each = port_headroom(context.catalog, model, cable.length_m, cable.speed_gbps, layout.spec.mtu.fabric)
                need.setdefault(device, []).append(each.need_bytes)
    if not need:
        return
    device, ports = max(need.items(), key=lambda item: sum(item[1]))
    context.finding(
        INTERCONNECT_LOSSY,
        layout.name,
        ("fabrics", layout.name, "topology", "interconnect"),
        f"links between sites are not paused: without loss over {longest / 1000:g} km a lossless class would need "
        f"{max(ports) / 1e6:.1f} MB of headroom a port, {sum(ports) / 1e6:.0f} MB on the {len(ports)} of {device}",
    )
