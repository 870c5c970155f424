"""Decisions about queues, buffers, headroom and MTU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.design.limits.headroom_terms import headroom
from railweave.model.catalog import catalog
from railweave.model.catalog.rdma import rdma_mtu
from railweave.model.catalog.shares import alpha
from railweave.outputs.report.decisions.statement import Decision, Grid
from railweave.outputs.report.decisions.thresholds import threshold_facts
from railweave.outputs.report.figures import models_of, plural, roles, switches_of

if TYPE_CHECKING:
    from railweave.design.limits.headroom_terms import Headroom
    from railweave.model.intent.qos import Qos
    from railweave.model.intent.traffic_class import TrafficClass
    from railweave.model.network.fabric import Fabric, RoleName
    from railweave.model.network.model import Network


def qos_decisions(network: Network, fabric: Fabric) -> list[Decision]:
    """Traffic classes (once where leaves and spines agree), buffers with their headroom, and MTUs."""
    present = roles(network, fabric)
    same = len({fabric.role(role).qos.model_dump_json() for role in present}) == 1
    classes = [
        _classes(fabric.role(role).qos, "" if same else f", {role}", threshold_facts(network, fabric, role))
        for role in (present[:1] if same else present)
    ]
    return [*classes, _buffers(network, fabric, present), _mtu(fabric)]


def _classes(qos: Qos, suffix: str, thresholds: list[tuple[str, str]]) -> Decision:
    lossless = [name for name, one in qos.classes.items() if one.lossless]
    watchdog = qos.pfc.watchdog
    facts = [
        *thresholds,
        (
            "PFC watchdog",
            f"looks every {watchdog.poll_interval} ms; a queue stuck {watchdog.detection} times in a row has its "
            f"packets {'dropped' if watchdog.action == 'drop' else 'forwarded'} for {watchdog.recovery} ms"
            if watchdog
            else "off",
        ),
    ]
    return Decision(
        f"Traffic classes{suffix}",
        f"lossless: {', '.join(lossless)}" if lossless else "no lossless class",
        "RoCEv2 data is never dropped for want of buffer: ECN is meant to slow senders first, and PFC to pause them last. "
        "Congestion notifications have strict priority, so that they arrive while they matter."
        if lossless
        else "Everything may be dropped; RoCEv2 then recovers by retransmission.",
        tuple(facts),
        (
            Grid(
                ("Class", "Queue", "DSCP", "Loss", "PFC priority", "Scheduling", "ECN marking"),
                tuple(_class_row(name, one) for name, one in qos.classes.items()),
            ),
        ),
    )


def _class_row(name: str, one: TrafficClass) -> tuple[str, ...]:
    ecn = one.ecn
    return (
        name,
        str(one.queue),
        ", ".join(map(str, one.dscp)) or "–",
        "lossless" if one.lossless else "lossy",
        "–" if one.pfc_priority is None else str(one.pfc_priority),
        _scheduling(one),
        f"{ecn.min_fill} to {ecn.max_fill} % queue fill, up to {ecn.max_probability} %" if ecn else "–",
    )


def _scheduling(one: TrafficClass) -> str:
    """A strict class is served first, up to its share; the others share what is left by weight, each its share at least."""
    if one.priority == "strict-high":
        return "strict" if one.transmit_percent is None else f"strict, at most {one.transmit_percent} %"
    return "weighted" if one.transmit_percent is None else f"weighted, at least {one.transmit_percent} %"


def _buffers(network: Network, fabric: Fabric, present: list[RoleName]) -> Decision:
    found = [one for one in (headroom(network, fabric, role) for role in present) if one is not None]
    partitions = tuple(row for role in present for row in _partitions(network, fabric, role))
    grids = [
        Grid(
            (
                "Role",
                "Packet buffer",
                "Ingress lossless / headroom / lossy",
                "Egress lossless / lossy / multicast",
                "Ingress threshold",
            ),
            partitions,
        )
    ]
    grids += [_headroom_grid(one) for one in found]
    short = [one.device for one in found if not one.fits]
    facts = [
        (
            "Headroom of a port",
            (
                "per lossless priority: what the cable holds both ways, what the peer sends until it stops (IEEE 802.3, 31B.3.7, by speed), "
                "what the switch's own pipeline holds, and a packet that has begun at each end, in whole cells. Pools hold that for every "
                "port at once in packets of the MTU. A port may take more, for packets of 64 bytes fill a cell each: the larger of that and "
                "the platform's own table, where it is public"
            ),
        ),
        *_at_ports(found),
        ("Base of the shares", _base(found)),
        *_published(found),
    ]
    if short:
        chosen = f"headroom is too small on {', '.join(short)}"
    elif found:
        thin = [one.role for one in found if one.is_thin]
        chosen = "headroom holds if the whole buffer is shared: " if thin else "headroom holds on every device: "
        chosen += ", ".join(
            f"{one.role} {one.need_bytes / 1e6:.2f} of {one.partition_bytes / 1e6:.2f} MB" for one in found
        )
        chosen += (
            f". It is short or thin on {' and '.join(map(plural, thin))} once dedicated buffers are taken off"
            if thin
            else ""
        )
    elif any(one.lossless for role in present for one in fabric.role(role).qos.classes.values()):
        chosen = "headroom is not known: the catalog does not list the switch model"
    else:
        chosen = "no headroom is needed: no class is lossless"
    return Decision(
        "Buffers and headroom",
        chosen,
        "After a port asks for a pause, what is in flight still arrives. Headroom must hold it for every port of the "
        "switch at once, or the lossless class loses packets.",
        tuple(facts) if found else (),
        tuple(grids),
    )


def _base(found: list[Headroom]) -> str:
    """What the percentages of partitions are taken of, and how much of it must be shared for the headroom to hold."""
    needs = ", ".join(f"{one.role} {one.shared_needed_mb:.1f} of {one.shared_mb:g} MB" for one in found)
    words = f"assumed: the whole packet buffer. Headroom holds where at least so much of it is shared: {needs}"
    known = [one.taken_first for one in found if one.published_bytes is not None and one.taken_first]
    words += "".join(f". {one}" for one in dict.fromkeys(known))
    return words


def _published(found: list[Headroom]) -> list[tuple[str, str]]:
    """The partition with the dedicated buffers that are published, role by role."""
    known = [(one, one.published_bytes) for one in found if one.published_bytes is not None]
    words = ", ".join(
        f"{one.role} {have / 1e6:.2f} MB ({'needs' if one.need_bytes <= have else 'SHORT: needs'} {one.need_bytes / 1e6:.2f})"
        for one, have in known
    )
    source = "Juniper TechPost, QFX5K-Series Switches Packet Buffer Architecture"
    return (
        [("By published defaults", f"headroom partition less dedicated buffers: {words} ({source})")] if known else []
    )


def _partitions(network: Network, fabric: Fabric, role: RoleName) -> list[tuple[str, ...]]:
    """The buffer of each kind of switch of a role, and how it is split."""
    models = models_of(network, fabric, role)
    found: dict[tuple[str, ...], None] = {}
    for switch in switches_of(network, fabric, role):
        buffers, model = fabric.intent(switch).qos.buffers, catalog().switches.get(switch.model)
        row = (
            role if len(models) == 1 else f"{role} {switch.model}",
            f"{model.buffer.shared_mb:g} MB" if model else "not known",
            f"{buffers.lossless} / {buffers.headroom} / {buffers.lossy} %",
            f"{buffers.egress_lossless} / {buffers.egress_lossy} / {buffers.egress_multicast} %"
            + (" (the system's default)" if buffers.egress == "system" else ""),
            f"{buffers.ingress_dynamic_threshold} (alpha {alpha(buffers.ingress_dynamic_threshold):g})",
        )
        found[row] = None
    return list(found)


def _at_ports(found: list[Headroom]) -> list[tuple[str, str]]:
    """The arithmetic of each kind of port."""
    words = {
        f"{term.kind} ports of {term.port.speed_gbps}G, {term.port.length_m:g} m: {term.port.words}"
        for one in found
        for term in one.terms
    }
    return [("By port", "; ".join(sorted(words)))] if words else []


def _headroom_grid(one: Headroom) -> Grid:
    rows = [
        (
            (
                f"{one.device}: {counted(term.ports, f'{term.kind} port')} {term.port.speed_gbps}G, "
                f"{term.port.length_m:g} m, MTU {term.port.mtu_bytes}"
            ),
            f"{term.port.need_bytes:,} B",
            f"{term.port.limit_bytes:,} B",
            f"x {term.ports} x {one.priorities}",
            f"{term.ports * one.priorities * term.port.need_bytes:,} B",
        )
        for term in one.terms
    ]
    rows.append((f"{one.device} needs", "", "", "", f"{one.need_bytes:,} B"))
    rows.append(
        (
            f"headroom partition: {one.partition_percent} % of {one.shared_mb:g} MB",
            "",
            "",
            "",
            f"{one.partition_bytes:,} B ({100 * one.need_bytes / one.partition_bytes:.1f} % used)"
            if one.partition_bytes
            else "0 B",
        )
    )
    emphasis = () if one.fits else (len(rows) - 2, len(rows) - 1)
    return Grid(
        (f"Fullest {one.role}", "Per port and priority", "At most, small packets", "Ports x priorities", "Bytes"),
        tuple(rows),
        emphasis,
    )


def _mtu(fabric: Fabric) -> Decision:
    mtu = fabric.mtu
    rdma = rdma_mtu(mtu.server, "ipv6")
    return Decision(
        "MTU",
        f"{mtu.server:,} B IP packets between NICs",
        f"The largest RDMA MTU that fits in a packet with its headers is {rdma} B; "
        "ports carry the packet and its Ethernet header.",
        grids=(
            Grid(
                ("Interface", "MTU", "Counts"),
                (
                    ("NIC", f"{mtu.server:,} B", "IP packet"),
                    ("gateway (IRB)", f"{mtu.irb:,} B", "IP packet"),
                    ("server-facing port", f"{mtu.server_port:,} B", "Ethernet frame"),
                    ("leaf-spine port", f"{mtu.fabric:,} B", "Ethernet frame"),
                ),
            ),
        ),
    )
