"""The checks of Junos OS Evolved for quality of service as it is set up; counters under load are in ``junos``."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.systems.junos.names import CLASSIFIER, SCHEDULER_MAP, class_name
from railweave.systems.runbook import Check

if TYPE_CHECKING:
    from railweave.model.device.classes import TrafficClass
    from railweave.model.device.model import DeviceConfig, QosConfig


def qos_checks(config: DeviceConfig, qos: QosConfig) -> list[Check]:
    """Classes with their marking, buffer partitions, and PFC by cable length."""
    buffers = qos.buffers
    model = catalog().switches.get(config.model)
    by_account = model is not None and "pfc-headroom" in model.platform.lacks
    port = qos.ports[0] if qos.ports else "PORT"
    rows = [
        (
            class_name(name),
            one.queue,
            ", ".join(f"{dscp} ({dscp:06b})" for dscp in one.dscp) or "–",
            f"{'' if by_account else 'no-loss, '}PFC priority {one.pfc_priority}" if one.lossless else "lossy",
            _share(one),
            f"{one.ecn.min_fill} % to {one.ecn.max_fill} % fill, up to {one.ecn.max_probability} %" if one.ecn else "–",
        )
        for name, one in qos.classes.items()
    ]
    made = [
        Check(
            "Classes, ECN",
            (
                "show class-of-service forwarding-class",
                f"show class-of-service classifier name {CLASSIFIER}",
                f"show class-of-service scheduler-map {SCHEDULER_MAP}",
                "show class-of-service drop-profile",
                f"show class-of-service interface {port}",
                "show configuration class-of-service | display set",
            ),
            (f"bound to {counted(len(qos.ports), 'port')}, none by wildcard", _own_packets(qos)),
            ("Class", "Queue", "DSCP", "Loss", "Scheduling", "ECN marking"),
            tuple(rows),
        ),
    ]
    if qos.shared_buffer:
        made.append(
            Check(
                "Buffer partitions",
                ("show class-of-service shared-buffer", "show configuration class-of-service shared-buffer"),
                (
                    *_shared(config, qos),
                    (
                        f"ingress: lossless {buffers.lossless} %, headroom {buffers.headroom} %, lossy {buffers.lossy} %, "
                        f"dynamic threshold {buffers.ingress_dynamic_threshold}"
                    ),
                    (
                        f"egress: lossless {buffers.egress_lossless} %, lossy {buffers.egress_lossy} %, "
                        f"multicast {buffers.egress_multicast} %"
                        + (" (the system's default)" if buffers.egress == "system" else "")
                    ),
                ),
            )
        )
    if qos.profiles:
        dog = qos.watchdog
        points = (
            [f"watchdog: {dog.poll_interval} ms x {dog.detection}, recovery {dog.recovery} ms, {dog.action}"]
            if dog
            else []
        )
        made.append(
            Check(
                "PFC per port",
                (
                    "show class-of-service congestion-notification",
                    f"show interfaces {port} extensive",
                    "show configuration class-of-service congestion-notification-profile",
                ),
                (
                    *points,
                    "Priority Flow Control Statistics of a port list every priority: without load all 0",
                    _headroom_note(by_account=by_account),
                ),
                ("Profile", "Cable length", "MRU", "Ports"),
                tuple(
                    (one.name, f"{one.cable_length_m} m", one.mru_bytes, counted(len(one.ports), "port"))
                    for one in qos.profiles
                ),
            )
        )
    return made


def _headroom_note(*, by_account: bool) -> str:
    """Return notes on the headroom that the peers of ports need."""
    if by_account:
        return (
            "load one router first: PFC accounts pause at 5000 µs of the port's speed and resume at 3750 µs; which queue stops when the "
            "peer pauses is Junos' own, for no document has a statement for it here"
        )
    return "the cable length decides the headroom: correct it in the inventory where it was measured otherwise"


def _share(one: TrafficClass) -> str:
    if one.priority == "strict-high":
        return f"strict-high, at most {one.transmit_percent} %" if one.transmit_percent else "strict-high"
    return f"low, at least {one.transmit_percent} %" if one.transmit_percent else "low"


def _shared(config: DeviceConfig, qos: QosConfig) -> tuple[str, ...]:
    """What the pools must show: shares of what dedicated buffers leave, and at least what the ports' headroom needs."""
    speeds = {one.name: one.speed_gbps for one in config.interfaces}
    model = catalog().switches[config.model]
    alike = Counter(
        (profile.cable_length_m, speeds[port], profile.mru_bytes)
        for profile in qos.profiles
        for port in profile.ports
        if port in speeds
    )
    need = sum(
        ports * port_headroom(catalog(), model, length_m, speed, mru).need_bytes
        for (length_m, speed, mru), ports in alike.items()
    ) * sum(one.lossless for one in qos.classes.values())
    words = (
        [f"ingress, Lossless Headroom: at least {math.ceil(need / 1024):,} KB, which the ports below need"]
        if need
        else []
    )
    dedicated = model.dedicated
    if dedicated is None:
        return tuple(words)
    buffers = qos.buffers
    shared = dedicated.shared_bytes(buffers.dedicated_ingress, buffers.dedicated_egress) // 1024
    parts = {"Lossless": buffers.lossless, "Lossless Headroom": buffers.headroom, "Lossy": buffers.lossy}
    pools = ", ".join(f"{name} {shared * part // 100:,} KB" for name, part in parts.items())
    return (
        f"ingress: Shared Buffer about {shared:,} KB as published for these dedicated buffers, of it {pools}",
        *words,
    )


_CONTROL_QUEUE = 3
"""Where Junos routers send BFD, and what BGP sends again ("Default Queue Assignments for Routing Engine Sourced Traffic")."""


def _own_packets(qos: QosConfig) -> str:
    """The queue of what the switch sends itself, as far as it is known."""
    there = next((class_name(name) for name, one in qos.classes.items() if one.queue == _CONTROL_QUEUE), "no class")
    words = (
        "BGP and BFD leave by the queue that the release chooses: for its routers Juniper documents queue 0 for BGP, "
        f"queue {_CONTROL_QUEUE} for BFD and for what BGP sends again, for this switch nothing; queue {_CONTROL_QUEUE} is "
        f"{there} here. `show interfaces queue PORT` of an uplink without other traffic shows which one counts"
    )
    control = qos.classes.get("network-control")
    if control is None:
        return words
    return (
        f"{words}; `class-of-service host-outbound-traffic forwarding-class network-control` in `extra:` takes them to "
        f"queue {control.queue} (not tried on a QFX5240)"
    )
