"""The checks of Junos OS Evolved that print the configured quality of service; counters under load are in ``junos``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.render.junos.cos import class_name
from railweave.runbook.check import Check

if TYPE_CHECKING:
    from railweave.device.model import QosConfig


def qos_checks(qos: QosConfig) -> list[Check]:
    """Classes with their marking, buffer partitions, and PFC by cable length."""
    buffers = qos.buffers
    rows = [
        (
            class_name(name),
            one.queue,
            ", ".join(map(str, one.dscp)) or "–",
            f"no-loss, PFC priority {one.pfc_priority}" if one.lossless else "lossy",
            f"{one.transmit_percent} %" if one.transmit_percent else "–",
            f"{one.ecn.min_fill} % to {one.ecn.max_fill} % fill, up to {one.ecn.max_probability} %" if one.ecn else "–",
        )
        for name, one in qos.classes.items()
    ]
    made = [
        Check(
            "Classes, ECN, as configured",
            ("show class-of-service forwarding-class", "show configuration class-of-service | display set"),
            (f"bound to {counted(len(qos.ports), 'port')}, none by wildcard", _own_packets(qos)),
            ("Class", "Queue", "DSCP", "Loss", "Rate", "ECN marking"),
            tuple(rows),
        ),
    ]
    if qos.shared_buffer:
        made.append(
            Check(
                "Buffer partitions, as configured",
                ("show configuration class-of-service shared-buffer",),
                (
                    (
                        f"ingress: lossless {buffers.lossless} %, headroom {buffers.headroom} %, lossy {buffers.lossy} %, "
                        f"dynamic threshold {buffers.ingress_dynamic_threshold}"
                    ),
                    (
                        f"egress: lossless {buffers.egress_lossless} %, lossy {buffers.egress_lossy} %, "
                        f"multicast {buffers.egress_multicast} %"
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
                "PFC per port, as configured",
                ("show configuration class-of-service congestion-notification-profile",),
                (
                    *points,
                    "the cable length decides the headroom: correct it in the inventory where it was measured otherwise",
                ),
                ("Profile", "Cable length", "MRU", "Ports"),
                tuple(
                    (one.name, f"{one.cable_length_m} m", one.mru_bytes, counted(len(one.ports), "port"))
                    for one in qos.profiles
                ),
            )
        )
    return made


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
