"""Rendering of class of service: classifiers, queues, buffers, ECN and PFC, and the lines that apply them to each port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.systems.junos.names import BUILT_IN_CLASSES, CLASSIFIER, REWRITE_RULE, SCHEDULER_MAP, class_name
from railweave.systems.junos.render.interfaces import port_order
from railweave.systems.junos.tree import Statement, block, choices, entry, leaf

if TYPE_CHECKING:
    from collections.abc import Collection

    from railweave.model.device.model import DeviceConfig, PfcProfile, QosConfig
    from railweave.model.device.qos_model import TrafficClass


def code_point(dscp: int) -> str:
    """Return a DSCP as six bits, for example ``011010`` for 26."""
    return f"{dscp:06b}"


def class_of_service(config: DeviceConfig) -> Statement | None:
    """Return ``class-of-service``, or None if the device has no QoS."""
    qos = config.qos
    if qos is None:
        return None
    model = catalog().switches.get(config.model)
    lacks = model.platform.lacks if model else ()
    kinds = ("dscp", "dscp-ipv6") if qos.ipv6_classifiers else ("dscp",)
    units = {port.name: [part.unit_vlan or 0 for part in port.parts()] for port in config.interfaces}
    into_tunnels = (
        {port.name for port in config.interfaces if port.kind == "fabric"} if _rewrites(config) else set[str]()
    )
    return block(
        "class-of-service",
        block("classifiers", [_classifier(kind, qos) for kind in kinds]),
        block("drop-profiles", [_drop_profile(name, traffic_class) for name, traffic_class in qos.classes.items()]),
        _shared_buffer(qos),
        block(
            "dedicated-buffer",
            block("ingress", _percent(qos.buffers.dedicated_ingress)),
            block("egress", _percent(qos.buffers.dedicated_egress)),
        )
        if qos.shared_buffer
        else None,
        block(
            "forwarding-classes",
            [_forwarding_class(name, traffic_class, lacks) for name, traffic_class in qos.classes.items()],
        ),
        block("congestion-notification-profile", [_pfc_profile(qos, profile, lacks) for profile in qos.profiles]),
        block(
            "interfaces",
            [
                _binding(
                    qos,
                    port,
                    units.get(port, [0]),
                    kinds,
                    rewrite=_kind(config, kinds) if port in into_tunnels else None,
                )
                for port in sorted(qos.ports, key=port_order)
            ],
        ),
        block("rewrite-rules", _rewrite_rule(_kind(config, kinds), qos)) if into_tunnels else None,
        block(
            "scheduler-maps",
            block(
                (SCHEDULER_MAP,),
                [entry("forwarding-class", class_name(name), "scheduler", name, key=2) for name in qos.classes],
            ),
        ),
        block("schedulers", [_scheduler(name, traffic_class) for name, traffic_class in qos.classes.items()]),
    )


def _percent(value: int | None) -> Statement | None:
    return None if value is None else leaf("percent", value)


def _classifier(kind: str, qos: QosConfig) -> Statement | None:
    return block(
        (kind, CLASSIFIER),
        [
            block(
                ("forwarding-class", class_name(name)),
                block("loss-priority low", choices("code-points", [code_point(value) for value in traffic_class.dscp])),
            )
            for name, traffic_class in qos.classes.items()
            if traffic_class.dscp
        ],
    )


def _drop_profile(name: str, traffic_class: TrafficClass) -> Statement | None:
    if traffic_class.ecn is None:
        return None
    return block(
        (f"ecn-{name}",),
        block(
            "interpolate",
            choices("fill-level", [traffic_class.ecn.min_fill, traffic_class.ecn.max_fill]),
            choices("drop-probability", [0, traffic_class.ecn.max_probability]),
        ),
    )


def _shared_buffer(qos: QosConfig) -> Statement | None:
    buffers = qos.buffers
    if not qos.shared_buffer:
        return None
    return block(
        "shared-buffer",
        block(
            "ingress",
            block(
                "buffer-partition lossless",
                leaf("percent", buffers.lossless),
                leaf("dynamic-threshold", buffers.ingress_dynamic_threshold),
            ),
            block("buffer-partition lossless-headroom", leaf("percent", buffers.headroom)),
            block("buffer-partition lossy", leaf("percent", buffers.lossy)),
        ),
        block(
            "egress",
            block("buffer-partition lossless", leaf("percent", buffers.egress_lossless)),
            block("buffer-partition lossy", leaf("percent", buffers.egress_lossy)),
            # A class without a share gets no rate, as in the sources' configurations (Thor2 guide, section 2.5.3).
            block("buffer-partition multicast", leaf("percent", buffers.egress_multicast))
            if buffers.egress_multicast
            else None,
        )
        if buffers.egress == "designed"
        else None,
    )


def _forwarding_class(name: str, traffic_class: TrafficClass, lacks: Collection[str]) -> Statement | None:
    if BUILT_IN_CLASSES.get(name) == traffic_class.queue and not traffic_class.lossless:
        return None
    priority = () if traffic_class.pfc_priority is None else ("pfc-priority", traffic_class.pfc_priority)
    kept = () if "pfc-headroom" in lacks else ("no-loss",)
    lossless = (*kept, *priority) if traffic_class.lossless else ()
    return entry("class", class_name(name), "queue-num", traffic_class.queue, *lossless, key=2)


def account(priority: int | None) -> str:
    """Return the name of the PFC account (the thresholds of a priority on PTX), for example ``pfc-3``."""
    return f"pfc-{priority}"


def _pfc_accounts(profile: PfcProfile, lossless: list[TrafficClass]) -> Statement | None:
    """Return the PFC accounts of PTX, one for the priority of each class in ``lossless``, with Junos's default thresholds.

    The defaults are XOFF 5000 and XON 3750, in microseconds at the speed of the source port.
    Source: Juniper CLI reference, pfc-account; Juniper/yang, 23.4R1-EVO, junos-conf-class-of-service:
    congestion-notification-profile.
    """
    return block(
        (profile.name,),
        block(
            "input",
            [
                block(
                    ("pfc-account", account(traffic_class.pfc_priority)),
                    choices("pfc-priority", [traffic_class.pfc_priority]),
                )
                for traffic_class in lossless
            ],
            block(
                "dscp",
                [
                    block(
                        ("code-point", code_point(dscp)),
                        leaf("pfc"),
                        leaf("pfc-account-name", account(traffic_class.pfc_priority)),
                    )
                    for traffic_class in lossless
                    for dscp in traffic_class.dscp
                ],
            ),
        ),
    )


def _pfc_profile(qos: QosConfig, profile: PfcProfile, lacks: Collection[str]) -> Statement | None:
    lossless = [traffic_class for traffic_class in qos.classes.values() if traffic_class.lossless]
    if "pfc-headroom" in lacks:
        return _pfc_accounts(
            profile, [traffic_class for traffic_class in lossless if traffic_class.pfc_priority is not None]
        )
    paused = [
        block(("code-point", f"{traffic_class.pfc_priority:03b}"), leaf("flow-control-queue", traffic_class.queue))
        for traffic_class in lossless
        if traffic_class.pfc_priority is not None
    ]
    xon = qos.xon_offset_cells
    return block(
        (profile.name,),
        block(
            "pfc-watchdog",
            leaf("poll-interval", qos.watchdog.poll_interval),
            leaf("detection", qos.watchdog.detection),
            leaf("recovery", qos.watchdog.recovery),
            leaf("watchdog-action", qos.watchdog.action),
        )
        if qos.watchdog
        else None,
        block(
            "input",
            block(
                "dscp",
                [
                    block(
                        ("code-point", code_point(dscp)),
                        leaf("pfc"),
                        leaf("mru", profile.mru_bytes),
                        leaf("xon", xon) if xon is not None else None,
                    )
                    for traffic_class in lossless
                    for dscp in traffic_class.dscp
                ],
            ),
            leaf("cable-length", profile.cable_length_m),
        ),
        block(
            "output",
            # In a configuration that was read, the lossless class may lack its priority: the section exists, but is empty.
            leaf("ieee-802.1") if lossless and not paused else block("ieee-802.1", paused),
        ),
    )


def _rewrites(config: DeviceConfig) -> bool:
    return config.overlay is not None and config.overlay.tunnel_dscp


def _kind(config: DeviceConfig, kinds: tuple[str, ...]) -> str:
    """Return the kind of rewrite rule that acts on the outer header of a tunnel: ``dscp`` for IPv4, the last of ``kinds`` for IPv6."""
    return kinds[-1] if config.overlay and config.overlay.loopback.family == "ipv6" else "dscp"


def _rewrite_rule(kind: str, qos: QosConfig) -> Statement | None:
    """Return the rewrite rule for tunnel headers, which writes the first DSCP of the packet's class.

    Spines then put the packet into the same class. ``kind`` is the kind of rule, such as ``dscp``.
    """
    return block(
        (kind, REWRITE_RULE),
        [
            block(
                ("forwarding-class", class_name(name)),
                block("loss-priority low", leaf("code-point", code_point(traffic_class.dscp[0]))),
            )
            for name, traffic_class in qos.classes.items()
            if traffic_class.dscp
        ],
    )


def _binding(
    qos: QosConfig, port: str, units: list[int], kinds: tuple[str, ...], *, rewrite: str | None = None
) -> Statement | None:
    profile = next((profile.name for profile in qos.profiles if port in profile.ports), None)
    return block(
        (port,),
        leaf("congestion-notification-profile", profile) if profile else None,
        leaf("scheduler-map", SCHEDULER_MAP),
        [
            block(
                ("unit", unit),
                block("classifiers", [leaf(kind, CLASSIFIER) for kind in kinds]),
                block("rewrite-rules", leaf(rewrite, REWRITE_RULE)) if rewrite else None,
            )
            for unit in units
        ],
    )


def _scheduler(name: str, traffic_class: TrafficClass) -> Statement | None:
    return block(
        (name,),
        block("transmit-rate", _percent(traffic_class.transmit_percent)) if traffic_class.transmit_percent else None,
        block("buffer-size", _percent(traffic_class.buffer_percent))
        if traffic_class.buffer_percent is not None
        else None,
        leaf("priority", traffic_class.priority),
        entry("drop-profile-map", "loss-priority", "any", "protocol", "any", "drop-profile", f"ecn-{name}", key=5)
        if traffic_class.ecn
        else None,
        leaf("explicit-congestion-notification") if traffic_class.ecn else None,
        leaf("buffer-dynamic-threshold", traffic_class.dynamic_threshold)
        if traffic_class.dynamic_threshold is not None
        else None,
    )
