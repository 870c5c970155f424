"""Checks of PFC headroom: the need of each port compared with the switch's buffer, and the cost of pausing long links."""

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
    says="links between sites are not paused (PFC); what headroom that would need, and what is done instead",
    why="what arrives within twice the delay after a pause was sent has to be held at full rate; instead queues are marked "
    f"early (ECN), a queue pair has at most {ADAPTIVE_WINDOW} packets under way where NICs use adaptive routing, and what "
    "is lost is sent again by itself",
    fix="`interconnect: {pfc: true}` where routers can set so much aside",
)


def note_long_links(context: Context, layout: Layout, cables: Sequence[Cable]) -> None:
    """Report the headroom that the fullest router would need if PFC also paused the links between sites, which it does not."""
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
        f"links between sites are not paused: without loss over {longest / 1000:g} km a lossless class would need "
        f"{max(ports) / 1e6:.1f} MB of headroom a port, {sum(ports) / 1e6:.0f} MB on the {len(ports)} of {device}",
    )


THIN_HEADROOM = 0.75
"""The used share of the headroom partition above which headroom counts as scarce.

It applies to models without public figures on dedicated buffers. The design calculates partitions as shares of the
whole packet buffer, but the switch divides only the part that is not dedicated to ports.
"""


HEADROOM_SHORT = Rule(
    id="headroom-short",
    severity="error",
    applies="design",
    says="PFC headroom of the used ports exceeds its buffer partition",
    why="ports left without headroom drop packets of the lossless class when paused",
    fix="raise qos.buffers.headroom and lower lossless, or shorten cables",
)
HEADROOM_THIN = Rule(
    id="headroom-thin",
    severity="warning",
    sometimes="info",
    applies="design",
    says="PFC headroom fits only if the whole packet buffer is shared: with the dedicated buffers that Juniper publishes it is short (warning), or may be where nothing is published (info)",
    why="switches take dedicated buffers off before partitions; ports without headroom drop when paused",
    fix="raise qos.buffers.headroom, or lower dedicated buffers; compare with what the first switch shows",
)

HEADROOM_SHARED = Rule(
    id="headroom-shared",
    severity="info",
    applies="design",
    says="the ports of a switch share PFC headroom: the partition holds what arrives of packets of the MTU on all at once, not of the smallest packets",
    why="small packets take a whole cell each, and platforms' own tables reckon with nothing else; their pools do not hold that for all ports at once either",
    fix="raise qos.buffers.headroom where many senders send small packets only, and watch for drops of the lossless class",
)


def check_headroom(
    context: Context, layout: Layout, kind: Equipment, ports: Sequence[tuple[str, Cable]], qos_at: Location
) -> None:
    """Report a kind of switch whose ports need more headroom than the switch has, or almost all of it.

    ``ports`` are the cabled ports, as (switch name, cable); the function adds the edge ports. ``qos_at`` is the place
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
            f"PFC headroom of {device}'s ports is {most / 1e6:.1f} MB, its headroom partition is {have / 1e6:.1f} MB "
            f"({qos.buffers.headroom} % of {model.buffer.shared_mb:g} MB)",
            fix=f"raise {key} to {-(-most * 100 // int(model.buffer.shared_mb * 1e6))} % and lower lossless, or shorten cables",
        )
        return
    worst = priorities * sum(port_need.limit_bytes for port_need in need[device])
    if worst > have:
        largest = max(port_need.limit_bytes for port_need in need[device])
        context.finding(
            HEADROOM_SHARED,
            device,
            where,
            f"{device}'s ports share {have / 1e6:.1f} MB of PFC headroom: all at once need {most / 1e6:.1f} MB with packets of the MTU, and "
            f"{worst / 1e6:.1f} MB if only packets of {SMALLEST_BYTES} bytes arrive, each in a cell of {model.buffer.cell_bytes} ({largest:,} bytes a port and priority); "
            f"that is enough for {counted(int(have // largest), 'port')} at once",
        )
    if model.dedicated is not None and context.catalog.systems[kind.role.nos].dedicated_first:
        buffers = qos.buffers
        shared = model.dedicated.shared_bytes(buffers.dedicated_ingress, buffers.dedicated_egress)
        if most > shared * buffers.headroom / 100:
            context.finding(
                HEADROOM_THIN,
                device,
                where,
                f"PFC headroom of {device}'s ports is {most / 1e6:.1f} MB; its partition holds {have / 1e6:.1f} MB if all of the "
                f"{model.buffer.shared_mb:g} MB are shared, and {shared * buffers.headroom / 1e8:.1f} MB with the "
                f"{shared / 1e6:.1f} MB that Juniper publishes for these dedicated buffers",
                why="partitions are shares of what dedicated buffers leave; ports without headroom drop when paused",
                fix=f"raise {key} to {math.ceil(100 * most / shared)} % and lower lossless, or lower dedicated_ingress and "
                "dedicated_egress; compare with `show class-of-service shared-buffer` of the first switch",
            )
    elif most > THIN_HEADROOM * have:
        wanted = -(-most * 100 // int(THIN_HEADROOM * model.buffer.shared_mb * 1e6))
        context.finding(
            HEADROOM_THIN,
            device,
            where,
            f"PFC headroom of {device}'s ports is {most / 1e6:.1f} MB of {have / 1e6:.1f} MB: it holds only where "
            f"{most * 100 / qos.buffers.headroom / 1e6:.1f} of the {model.buffer.shared_mb:g} MB are shared",
            severity="info",
            why="switches take dedicated buffers off before partitions, and how much is not known for this model",
            fix=f"compare with what the first switch shows; {wanted} % of headroom ({key}) would leave a quarter of the buffer",
        )


def _needs(
    context: Context, layout: Layout, kind: Equipment, ports: Sequence[tuple[str, Cable]]
) -> dict[str, list[PortHeadroom]]:
    """Return the headroom of every port on which PFC pauses traffic, by switch name."""
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
