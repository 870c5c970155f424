"""Checks of PFC headroom: the need of each port compared with the switch's buffer, and the need of lossless links between sites."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.design.addresses.links import edge_length
from railweave.model.catalog.headroom import SMALLEST_BYTES, PortHeadroom, port_headroom
from railweave.model.catalog.rdma import ADAPTIVE_WINDOW
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.equipment import Equipment
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.devices import Cable


INTERCONNECT_LOSSY = Rule(
    id="interconnect-lossy",
    severity="info",
    applies="design",
    fault="links between sites have no PFC; the finding gives the headroom that PFC would need, and the measures "
    "used instead",
    why="after a pause is sent, packets keep arriving at full rate for twice the delay of the link, and all of "
    "them need headroom. Instead, switches mark packets early (ECN), a queue pair has at most "
    f"{ADAPTIVE_WINDOW} packets in flight if NICs use adaptive routing, and NICs send lost packets again one "
    "by one",
    fix="set `interconnect: {pfc: true}` if the routers can reserve that much headroom",
)


def note_long_links(context: Context, layout: Layout, cables: Sequence[Cable]) -> None:
    """Record a finding with the headroom that lossless links between sites would need on the router that needs most.

    There is no finding if PFC is on for these links, or if the fabric has no lossless class.
    """
    across = layout.spec.topology.interconnect
    if across is None or across.pfc or (layout.spec.qos.lossless_class() is None):
        return
    borders = {border.name for border in layout.borders}
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
        f"links between sites have no PFC: for no loss over {longest / 1000:g} km, a lossless class would need "
        f"{max(ports) / 1000000.0:.1f} MB of headroom per port, {sum(ports) / 1000000.0:.0f} MB for the "
        f"{len(ports)} ports of {device}",
    )


THIN_HEADROOM = 0.75
"""The used share of the headroom partition above which headroom counts as scarce.

The value applies to switch models without public figures on dedicated buffers. For these, the design computes the partition
as a share of the whole packet buffer, although the switch first subtracts the dedicated buffers of its ports.
"""


HEADROOM_SHORT = Rule(
    id="headroom-short",
    severity="error",
    applies="design",
    fault="PFC headroom of the used ports exceeds the headroom partition of the buffer",
    why="a port without headroom drops packets of the lossless class after it has sent a pause",
    fix="increase qos.buffers.headroom and reduce qos.buffers.lossless, or shorten cables",
)
HEADROOM_THIN = Rule(
    id="headroom-thin",
    severity="warning",
    sometimes="info",
    applies="design",
    fault="PFC headroom fits only if the whole packet buffer is shared: with the dedicated buffers that Juniper "
    "documents it is too small (warning); if no value is documented, it may be too small (info)",
    why="switches subtract dedicated buffers before they divide the rest into partitions; a port without headroom "
    "drops packets after it has sent a pause",
    fix="increase qos.buffers.headroom, or reduce the dedicated buffers; compare with the values that the first "
    "switch shows",
)

HEADROOM_SHARED = Rule(
    id="headroom-shared",
    severity="info",
    applies="design",
    fault="the ports of a switch share PFC headroom: the partition can hold packets of MTU size from all ports at "
    "once, but not the smallest packets",
    why="a small packet takes a whole cell; vendors' tables assume small packets, but even their pools cannot "
    "hold them for all ports at once",
    fix="increase qos.buffers.headroom if many senders send only small packets, and monitor drops of the lossless "
    "class",
)


def check_headroom(
    context: Context, layout: Layout, kind: Equipment, ports: Sequence[tuple[str, Cable]], qos_at: Location
) -> None:
    """Record a finding if the ports of a kind of switch (role with model) need more headroom than the switch has, or nearly as much.

    ``ports`` are the cabled ports, as (switch name, cable); the function adds the edge ports. ``qos_at`` is the key path
    of the role's QoS in the fabric file.
    """
    model, qos = kind.model, kind.role.qos or layout.spec.qos
    priorities = sum(1 for traffic_class in qos.classes.values() if traffic_class.lossless)
    if not priorities:
        return
    need = _needs(context, layout, kind, ports)
    if not need:
        return
    total = {name: priorities * sum(port_need.need_bytes for port_need in each) for name, each in need.items()}
    device, most = max(total.items(), key=lambda item: item[1])
    have = model.buffer.shared_mb * 1e6 * qos.buffers.headroom / 100
    own_buffers = "buffers" in kind.own_keys
    where = (*(kind.place("buffers") if own_buffers else (*qos_at, "buffers")), "headroom")
    key = "buffers.headroom of this switch" if own_buffers or kind.own_keys else "qos.buffers.headroom"
    if most > have:
        context.finding(
            HEADROOM_SHORT,
            device,
            where,
            f"PFC headroom of {device}'s ports is {most / 1000000.0:.1f} MB, but its headroom partition is "
            f"{have / 1000000.0:.1f} MB ({qos.buffers.headroom} % of {model.buffer.shared_mb:g} MB)",
            fix=f"increase {key} to {-(-most * 100 // int(model.buffer.shared_mb * 1000000.0))} % and reduce "
            "lossless, or shorten cables",
        )
        return
    worst = priorities * sum(port_need.limit_bytes for port_need in need[device])
    if worst > have:
        largest = max(port_need.limit_bytes for port_need in need[device])
        context.finding(
            HEADROOM_SHARED,
            device,
            where,
            f"{device}'s ports share {have / 1000000.0:.1f} MB of PFC headroom. All ports at once need "
            f"{most / 1000000.0:.1f} MB if packets have the size of the MTU, and {worst / 1000000.0:.1f} MB if "
            f"all packets have {SMALLEST_BYTES} bytes, each in a cell of {model.buffer.cell_bytes} "
            f"({largest:,} bytes per port and priority). For such packets, the headroom is enough for "
            f"{counted(int(have // largest), 'port')} at once",
        )
    if model.dedicated is not None and context.catalog.systems[kind.role.nos].dedicated_first:
        buffers = qos.buffers
        shared = model.dedicated.shared_bytes(buffers.dedicated_ingress, buffers.dedicated_egress)
        if most > shared * buffers.headroom / 100:
            context.finding(
                HEADROOM_THIN,
                device,
                where,
                f"PFC headroom of {device}'s ports is {most / 1000000.0:.1f} MB. Its partition has "
                f"{have / 1000000.0:.1f} MB if all of the {model.buffer.shared_mb:g} MB are shared, but only "
                f"{shared * buffers.headroom / 100000000.0:.1f} MB if {shared / 1000000.0:.1f} MB are shared, "
                "as Juniper documents for these dedicated buffers",
                why="partitions are percentages of the buffer without dedicated buffers; a port without enough "
                "headroom drops packets after it has sent a pause frame",
                fix=f"increase {key} to {math.ceil(100 * most / shared)} % and reduce lossless, or reduce "
                "dedicated_ingress and dedicated_egress; compare with `show class-of-service shared-buffer` "
                "of the first switch",
            )
    elif most > THIN_HEADROOM * have:
        wanted = -(-most * 100 // int(THIN_HEADROOM * model.buffer.shared_mb * 1e6))
        context.finding(
            HEADROOM_THIN,
            device,
            where,
            f"PFC headroom of {device}'s ports is {most / 1000000.0:.1f} MB of {have / 1000000.0:.1f} MB: it "
            f"fits only if {most * 100 / qos.buffers.headroom / 1000000.0:.1f} of the "
            f"{model.buffer.shared_mb:g} MB are shared",
            severity="info",
            why="switches subtract dedicated buffers before they divide the rest into partitions, and the size of "
            "dedicated buffers is not documented for this model",
            fix=f"compare with the values that the first switch shows; {wanted} % of headroom ({key}) would leave "
            "a quarter of the buffer as a reserve",
        )


def _needs(
    context: Context, layout: Layout, kind: Equipment, ports: Sequence[tuple[str, Cable]]
) -> dict[str, list[PortHeadroom]]:
    """Return the headroom of every port on which PFC is on, by switch name. ``ports`` are the cabled ports, as (switch name, cable)."""
    model, qos = kind.model, kind.role.qos or layout.spec.qos
    need: dict[str, list[PortHeadroom]] = {}
    known: dict[tuple[float, int, str], PortHeadroom] = {}
    across = layout.spec.topology.interconnect
    # no pause frames between sites
    unpaused = {border.name for border in layout.borders} if across and not across.pfc else None
    pausing = {link_kind for link_kind in ("server", "fabric") if qos.pfc.pauses(link_kind)}
    for device, cable in ports:
        if cable.kind not in pausing or (unpaused and {cable.a.device, cable.b.device} <= unpaused):
            continue
        like = (cable.length_m, cable.speed_gbps, cable.kind)
        each = known.get(like)
        if each is None:
            mtu = layout.spec.mtu.fabric if cable.kind == "fabric" else layout.spec.mtu.server_port
            each = known[like] = port_headroom(context.catalog, model, cable.length_m, cable.speed_gbps, mtu)
        need.setdefault(device, []).append(each)
    if qos.pfc.pauses("server"):
        for edge in layout.spec.edge_ports.values():
            if layout.equipment.get(edge.leaf) is kind:
                speed, length = edge.speed or model.ports[0].speed_gbps, edge_length(layout, edge)
                each = port_headroom(context.catalog, model, length, speed, layout.spec.mtu.server_port)
                need.setdefault(edge.leaf, []).append(each)
    return need
