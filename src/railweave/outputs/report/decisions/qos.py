"""Decisions about queues, buffers, headroom, MTU, cable lengths and links between sites."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.design.limits.headroom_terms import Headroom, headroom
from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.model.catalog.rdma import ADAPTIVE_WINDOW, rdma_mtu
from railweave.model.catalog.shares import alpha
from railweave.model.device.host_scope import BESIDE_THE_WAY, BUFFER_FACTOR, CHANNELS_PER_NIC, PAYLOAD, long_haul
from railweave.outputs.report.decisions.statement import Decision, Grid
from railweave.outputs.report.figures import models_of, plural, roles, switches_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.device.host_scope import LongHaul
    from railweave.model.intent.buffers import Buffers
    from railweave.model.intent.qos import Ecn, Qos, TrafficClass
    from railweave.model.network.devices import Cable, Fabric, RoleName
    from railweave.model.network.model import Network


FAR_M = 1000
"""A cable length in metres. Greater length limits are shown only as "over 1,000 m"."""

KINDS = {"server": "server to leaf", "fabric": "switch to switch"}


def cable_lengths_decision(network: Network, fabric: Fabric) -> Decision | None:
    """Return the decision about cable lengths inside a site.

    For each kind of cable, it states the longest length, and the greatest lengths that the optics and the PFC headroom allow. Return None
    if the fabric has no cable inside a site.
    """
    cables = [cable for cable in network.cables if cable.fabric == fabric.name and not network.between_sites(cable)]
    fullest = [
        switch_headroom
        for switch_headroom in (headroom(network, fabric, role) for role in roles(network, fabric))
        if switch_headroom is not None
    ]
    rows: list[tuple[str, ...]] = []
    tight: list[int] = []
    at_reach: list[str] = []
    for kind, words in KINDS.items():
        mine = [cable for cable in cables if cable.kind == kind]
        if not mine:
            continue
        longest = max(link.length_m for link in mine)
        measured = sum(link.measured for link in mine)
        reach, optic = _reach(mine)
        term = "server" if kind == "server" else "leaf-spine"
        edge = reach is not None and any(not link.measured and link.length_m >= reach for link in mine)
        if edge:
            tight.append(len(rows))
            at_reach.append(words)
        rows.append(
            (
                f"{len(mine):,} x {words}",
                f"{longest:g} m",
                f"{measured:,} of {len(mine):,}",
                f"{reach:g} m ({optic})" if reach is not None else "not known",
                _limit([(switch_headroom, switch_headroom.partition_bytes) for switch_headroom in fullest], term),
                _limit(
                    [
                        (switch_headroom, switch_headroom.published_bytes)
                        for switch_headroom in fullest
                        if switch_headroom.published_bytes is not None
                    ],
                    term,
                ),
            )
        )
    if not rows:
        return None
    chosen = "optics and headroom fit the lengths of the fabric file or inventory"
    if at_reach:
        chosen = f"{' and '.join(at_reach)}: the planned length is all that the optic reaches. Measure before ordering"
    return Decision(
        "Cable lengths",
        chosen,
        "Beyond its reach a link needs another optic; beyond the other limit the headroom of the fullest switch no longer holds "
        "what arrives after a pause, if all cables of the kind are so long: if the whole packet buffer is shared, and less the dedicated buffers that are published.",
        (("Slack", "lengths are taken as given: patch panels and slack count, and are not added here"),),
        (
            Grid(
                ("Cables", "Longest", "Measured", "Optic reaches", "Headroom holds up to", "Less dedicated buffers"),
                tuple(rows),
                tuple(tight),
                noted=True,
            ),
        ),
    )


def _reach(cables: Sequence[Cable]) -> tuple[float | None, str]:
    """Return (the shortest reach in metres among the optics at the cables' ends, the name of that optic), or (None, "") if no reach is known."""
    names = {end.optic for cable in cables for end in (cable.a, cable.b)}
    known = [(optic.reach_m, name) for name in names if (optic := catalog().optics.get(name)) is not None]
    return min(known, default=(None, ""))


def _limit(have: Sequence[tuple[Headroom, int]], kind: str) -> str:
    """Return the greatest length for one kind of cable that the PFC headroom allows, with its switch: ``120 m (leaf1)``.

    ``have`` has (headroom, bytes of buffer available for it), one for each role: that of the switch that uses most of its headroom
    partition. The switch with the lowest limit is named. Above ``FAR_M`` the text is ``over 1,000 m``, and without a limit it is a dash.
    """
    limits = [
        (limit, switch_headroom.device)
        for switch_headroom, size in have
        if (limit := switch_headroom.longest_m(kind, size)) is not None
    ]
    if not limits:
        return "–"
    metres, device = min(limits)
    if metres <= 0:
        return f"no length ({device} is short already)"
    return f"over {FAR_M:,} m" if metres > FAR_M else f"{metres:.0f} m ({device})"


def threshold_facts(network: Network, fabric: Fabric, role: RoleName) -> list[tuple[str, str]]:
    """Return the thresholds of RDMA data on the first switch of a role, as (title, text): ECN marking and PFC pauses."""
    switch = next(iter(switches_of(network, fabric, role)), None)
    model = catalog().switches.get(switch.model) if switch else None
    if switch is None or model is None:
        return []
    qos = fabric.intent(switch).qos
    data = qos.rdma_class()
    if data is None or catalog().systems[switch.nos].queues == 0 or "shared-buffer" in model.platform.lacks:
        return []
    facts: list[tuple[str, str]] = []
    if data.ecn:
        speed = max((cable.speed_gbps for cable in network.cables_of(switch.name)), default=0)
        facts.append(("ECN marks", _marking(data, data.ecn, qos.buffers, model, switch.nos, speed)))
    if data.lossless:
        facts.append(("PFC pauses", _pausing(qos.buffers, model, len(network.cables_of(switch.name)))))
    return facts


def _marking(data: TrafficClass, ecn: Ecn, buffers: Buffers, model: SwitchModel, nos: str, speed_gbps: int) -> str:
    pool, percent = ("lossless", buffers.egress_lossless) if data.lossless else ("lossy", buffers.egress_lossy)
    system = catalog().systems[nos]
    if system.marking is not None:
        if ecn.min_bytes is None or ecn.max_bytes is None:
            return f"from the system's default queue length on, up to {ecn.max_probability} %"
        return (
            f"from {ecn.min_bytes / 1e6:g} MB in the queue to {ecn.max_bytes / 1e6:g} MB, up to {ecn.max_probability} %"
        )
    ports = max(1, sum(group.count * max(1, group.speed_gbps // max(1, speed_gbps)) for group in model.ports))
    whole = model.buffer.shared_mb * percent / 100 / ports
    return (
        f"from {ecn.min_fill} % fill of the queue, all from {ecn.max_fill} % on. "
        f"{system.notes.ecn_fill or 'What the whole is, is not documented'}; "
        f"predictions take a port's equal part of the egress {pool} pool, {whole:.2f} MB, so "
        f"{whole * ecn.min_fill / 100:.2f} to {whole * ecn.max_fill / 100:.2f} MB (assumed)"
    )


def _pausing(buffers: Buffers, model: SwitchModel, ports: int) -> str:
    """Return a sentence about the XOFF point, the buffer fill at which a port sends PFC pauses.

    A port may use alpha times the free part of the pool. So each of n equally congested ports gets alpha / (1 + n alpha) of the pool.
    The sentence has the values for one port and for ``ports`` ports.
    """
    pool = model.buffer.shared_mb * buffers.lossless / 100
    share = alpha(buffers.ingress_dynamic_threshold)
    alone, every = (pool * share / (1 + count * share) for count in (1, ports))
    return (
        f"XOFF when a port's lossless packets hold alpha {share:g} x what is free of the ingress lossless pool "
        f"({pool:.1f} MB): {alone:.1f} MB where one port is congested, {every:.2f} MB each where all {ports} are"
    )


SHOWN = (1, 2, 4, 8, 16)
"""The numbers of queue pairs for which every table has a row.

A table has two more rows: for the number of queue pairs that fills a NIC, and for one queue pair less.
"""


def long_links_decisions(network: Network, fabric: Fabric) -> list[Decision]:
    """Return the decision about long links, as a list; empty if the fabric does not span sites."""
    haul, cables = long_haul(network, fabric), network.long_links(fabric.name)
    across = fabric.interconnect
    if haul is None or across is None or not cables:
        return []
    cable = max(cables, key=lambda link: link.length_m)
    routers = Counter(end.device for cable in cables for end in (cable.a, cable.b))
    fullest, ports = max(routers.items(), key=lambda item: item[1])
    model = catalog().switches[network.switch(fullest).model]
    each = port_headroom(catalog(), model, cable.length_m, cable.speed_gbps, fabric.mtu.fabric).need_bytes
    facts = [
        ("Links", f"{len(cables)} x {cable.speed_gbps}G, {cable.length_m / 1000:g} km, {ports} on the fullest router"),
        (
            "Delay",
            (
                f"{haul.one_way_us:.1f} us one way ({'measured' if cable.delay_us else 'by length'}); {haul.round_trip_us:.1f} us "
                f"there and back with {BESIDE_THE_WAY:.0%} for routers and NICs"
            ),
        ),
        ("Encryption", f"MACsec, {across.macsec.cipher_suite}" if across.macsec else "none"),
        (
            "On the way",
            (
                f"{cable.speed_gbps / 8 * haul.round_trip_us / 1e3:.1f} MB fill one link for a round trip "
                f"({cable.speed_gbps} Gb/s x {haul.round_trip_us:.1f} us)"
            ),
        ),
        (
            "Headroom for pauses",
            (
                f"{each / 1e6:.1f} MB a port and lossless class, {ports * each / 1e6:.1f} MB on the fullest router, as every port "
                "must hold what arrives within twice the delay"
            ),
        ),
        (
            "A channel's buffer",
            (
                f"{haul.nic_gbps} Gb/s / {CHANNELS_PER_NIC} channels x {haul.round_trip_us:.1f} us = "
                f"{haul.buffer_floor_bytes / 1e6:.1f} MB at least; {BUFFER_FACTOR} times that, to a power of two, is "
                f"NCCL_BUFFSIZE {haul.buffer_bytes >> 20} MiB"
            ),
        ),
    ]
    chosen = "paused like any other" if across.pfc else "not paused: packets may be lost there"
    return [
        Decision(
            "Links between sites",
            f"{counted(len(cables), 'link')}, {chosen}",
            "Light takes longer than a buffer can wait. A pause would stop a sender only after a round trip's worth of bytes; so "
            "queues are marked early, windows of queue pairs bound what is under way, and jobs get as many queue pairs and as "
            "large buffers as fill the delay.",
            tuple(facts),
            _queue_pairs(haul),
        )
    ]


def _queue_pairs(haul: LongHaul) -> tuple[Grid, ...]:
    """Return a table of the rate at each number of queue pairs, in a tuple. Return () if no window limits the rate.

    ``haul`` has the figures of the long link.
    """
    if haul.queue_pair_gbps is None or haul.queue_pairs is None:
        return ()
    counts = sorted({*SHOWN, haul.queue_pairs - 1, haul.queue_pairs})
    rows = tuple(
        (
            str(count),
            f"{min(count * haul.queue_pair_gbps, haul.nic_gbps):.0f} Gb/s",
            f"{count * ADAPTIVE_WINDOW * PAYLOAD / 1e6:.1f} MB",
        )
        for count in counts
        if count
    )
    return (
        Grid(
            (f"Queue pairs of a {haul.nic_gbps}G NIC", "At most", "Under way"),
            rows,
            (counts.index(haul.queue_pairs),),
        ),
    )


def qos_decisions(network: Network, fabric: Fabric) -> list[Decision]:
    """Return the decisions about traffic classes, about buffers with headroom, and about MTUs.

    There is one decision about traffic classes for each role of switches, or a single one if all roles have the same QoS settings.
    """
    present = roles(network, fabric)
    same = len({fabric.role(role).qos.model_dump_json() for role in present}) == 1
    classes = [
        _classes(fabric.role(role).qos, "" if same else f", {role}", threshold_facts(network, fabric, role))
        for role in (present[:1] if same else present)
    ]
    return [*classes, _buffers(network, fabric, present), _mtu(fabric)]


def _classes(qos: Qos, suffix: str, thresholds: list[tuple[str, str]]) -> Decision:
    lossless = [name for name, traffic_class in qos.classes.items() if traffic_class.lossless]
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
                tuple(_class_row(name, traffic_class) for name, traffic_class in qos.classes.items()),
            ),
        ),
    )


def _class_row(name: str, traffic_class: TrafficClass) -> tuple[str, ...]:
    ecn = traffic_class.ecn
    return (
        name,
        str(traffic_class.queue),
        ", ".join(map(str, traffic_class.dscp)) or "–",
        "lossless" if traffic_class.lossless else "lossy",
        "–" if traffic_class.pfc_priority is None else str(traffic_class.pfc_priority),
        _scheduling(traffic_class),
        f"{ecn.min_fill} to {ecn.max_fill} % queue fill, up to {ecn.max_probability} %" if ecn else "–",
    )


def _scheduling(traffic_class: TrafficClass) -> str:
    """Return a description of a traffic class's scheduling.

    Strict classes are served first, each up to its share. The other classes divide the rest by weight, and each gets at least its share.
    """
    if traffic_class.priority == "strict-high":
        return (
            "strict"
            if traffic_class.transmit_percent is None
            else f"strict, at most {traffic_class.transmit_percent} %"
        )
    return (
        "weighted"
        if traffic_class.transmit_percent is None
        else f"weighted, at least {traffic_class.transmit_percent} %"
    )


def _buffers(network: Network, fabric: Fabric, present: list[RoleName]) -> Decision:
    headrooms = [
        switch_headroom
        for switch_headroom in (headroom(network, fabric, role) for role in present)
        if switch_headroom is not None
    ]
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
    grids += [_headroom_grid(switch_headroom) for switch_headroom in headrooms]
    short = [switch_headroom.device for switch_headroom in headrooms if not switch_headroom.fits]
    facts = [
        (
            "Headroom of a port",
            (
                "per lossless priority: what the cable holds both ways, what the peer sends until it stops (IEEE 802.3, 31B.3.7, by speed), "
                "what the switch's own pipeline holds, and a packet that has begun at each end, in whole cells. The need counts packets of the "
                "MTU's size; the pool holds the needs of all ports at once. The limit in the configuration is larger, because packets of 64 bytes "
                "fill a cell each: it is the larger of that and the platform's own table, if this is public. One port may take that much, but "
                "not all ports at once"
            ),
        ),
        *_at_ports(headrooms),
        ("Base of the shares", _base(headrooms)),
        *_published(headrooms),
    ]
    if short:
        chosen = f"headroom is too small on {', '.join(short)}"
    elif headrooms:
        thin = [switch_headroom.role for switch_headroom in headrooms if switch_headroom.is_thin]
        chosen = "headroom holds if the whole buffer is shared: " if thin else "headroom holds on every device: "
        chosen += ", ".join(
            f"{switch_headroom.role} {switch_headroom.need_bytes / 1e6:.2f} of {switch_headroom.partition_bytes / 1e6:.2f} MB"
            for switch_headroom in headrooms
        )
        chosen += (
            f". It is short or thin on {' and '.join(map(plural, thin))} once dedicated buffers are taken off"
            if thin
            else ""
        )
    elif any(traffic_class.lossless for role in present for traffic_class in fabric.role(role).qos.classes.values()):
        chosen = "headroom is not known: the catalog does not list the switch model"
    else:
        chosen = "no headroom is needed: no class is lossless"
    return Decision(
        "Buffers and headroom",
        chosen,
        "After a port asks for a pause, what is in flight still arrives. Headroom must hold it for every port of the "
        "switch at once, or the lossless class loses packets.",
        tuple(facts) if headrooms else (),
        tuple(grids),
    )


def _base(headrooms: list[Headroom]) -> str:
    """Return sentences about the base of the percentages of buffer partitions, which is assumed to be the whole packet buffer.

    The sentences also state how much of the buffer must be shared so that the headroom fits.
    """
    needs = ", ".join(
        f"{switch_headroom.role} {switch_headroom.shared_needed_mb:.1f} of {switch_headroom.shared_mb:g} MB"
        for switch_headroom in headrooms
    )
    words = f"assumed: the whole packet buffer. Headroom holds where at least so much of it is shared: {needs}"
    known = [
        switch_headroom.taken_first
        for switch_headroom in headrooms
        if switch_headroom.published_bytes is not None and switch_headroom.taken_first
    ]
    words += "".join(f". {sentence}" for sentence in dict.fromkeys(known))
    return words


def _published(headrooms: list[Headroom]) -> list[tuple[str, str]]:
    """Return [(title, text)] with each role's headroom partition after subtracting dedicated buffers.

    The list is empty if no vendor document has the sizes of dedicated buffers.
    """
    known = [
        (switch_headroom, switch_headroom.published_bytes)
        for switch_headroom in headrooms
        if switch_headroom.published_bytes is not None
    ]
    words = ", ".join(
        f"{switch_headroom.role} {have / 1e6:.2f} MB ({'needs' if switch_headroom.need_bytes <= have else 'SHORT: needs'} {switch_headroom.need_bytes / 1e6:.2f})"
        for switch_headroom, have in known
    )
    source = "Juniper TechPost, QFX5K-Series Switches Packet Buffer Architecture"
    return (
        [("By published defaults", f"headroom partition less dedicated buffers: {words} ({source})")] if known else []
    )


def _partitions(network: Network, fabric: Fabric, role: RoleName) -> list[tuple[str, ...]]:
    """Return table rows about the packet buffers of a role's switches, one for each combination of model and settings.

    A row has the role (with the model if there are several), the buffer size, the ingress and the egress partitions in percent, and the
    dynamic threshold.
    """
    models = models_of(network, fabric, role)
    rows: dict[tuple[str, ...], None] = {}
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
        rows[row] = None
    return list(rows)


def _at_ports(headrooms: list[Headroom]) -> list[tuple[str, str]]:
    """Return [(title, text)] with the headroom calculation of each kind of port."""
    words = {
        f"{term.kind} ports of {term.port.speed_gbps}G, {term.port.length_m:g} m: {term.port.words}"
        for switch_headroom in headrooms
        for term in switch_headroom.terms
    }
    return [("By port", "; ".join(sorted(words)))] if words else []


def _headroom_grid(switch_headroom: Headroom) -> Grid:
    rows = [
        (
            (
                f"{switch_headroom.device}: {counted(term.ports, f'{term.kind} port')} {term.port.speed_gbps}G, "
                f"{term.port.length_m:g} m, MTU {term.port.mtu_bytes}"
            ),
            f"{term.port.need_bytes:,} B",
            f"{term.port.limit_bytes:,} B",
            f"x {term.ports} x {switch_headroom.priorities}",
            f"{term.ports * switch_headroom.priorities * term.port.need_bytes:,} B",
        )
        for term in switch_headroom.terms
    ]
    rows.append((f"{switch_headroom.device} needs", "", "", "", f"{switch_headroom.need_bytes:,} B"))
    rows.append(
        (
            f"headroom partition: {switch_headroom.partition_percent} % of {switch_headroom.shared_mb:g} MB",
            "",
            "",
            "",
            f"{switch_headroom.partition_bytes:,} B ({100 * switch_headroom.need_bytes / switch_headroom.partition_bytes:.1f} % used)"
            if switch_headroom.partition_bytes
            else "0 B",
        )
    )
    emphasis = () if switch_headroom.fits else (len(rows) - 2, len(rows) - 1)
    return Grid(
        (
            f"Fullest {switch_headroom.role}",
            "Need, per port and priority",
            "Limit in the configuration",
            "Ports x priorities",
            "Bytes",
        ),
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
