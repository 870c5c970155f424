"""Rendering of QoS: DSCPs by traffic class, profiles with PFC and queues, buffers, the PFC watchdog, and load balancing over next-hop groups."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.shares import alpha
from railweave.model.config.sections import Section, line, section
from railweave.systems.eos.names import QOS_PROFILE, QUEUE_PROFILE, UNPAUSED_PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.device.qos_model import TrafficClass, Watchdog

ACTIONS = {"drop": "drop", "forward": "notify-only"}
"""EOS's keyword for the watchdog's action on packets of a stuck queue. ``notify-only`` lets the packets pass."""

FIXED_QUEUE = 7
"""The number of the queue for control traffic. EOS always maps this queue to traffic class 7."""

GUARANTEED_PERCENT = 1
"""The guaranteed bandwidth, in percent, of a queue that the PFC watchdog monitors. The queue's weight gives it a larger share.

The watchdog skips a queue without guaranteed bandwidth, because strict queues could starve such a queue (public guide to RoCEv2
on EOS 4.36, section 8, after Arista's manual). The keyword is that of AVD's
``qos_profiles.uc_tx_queues.bandwidth_guaranteed_percent``.
"""

DEFAULT_THRESHOLD = 7
"""The index of the dynamic buffer threshold for a traffic class without a configured threshold. Index 7 means alpha 1."""


def profile_of(config: DeviceConfig, port: str) -> str:
    """Return the name of the QoS profile of a port, or an empty string if the port has none."""
    if config.qos is None or port not in config.qos.ports:
        return ""
    return UNPAUSED_PROFILE if _unpaused(config.qos, port) else QOS_PROFILE


def _unpaused(qos: QosConfig, port: str) -> bool:
    return bool(lossless(qos)) and not any(port in profile.ports for profile in qos.profiles)


def profiles(qos: QosConfig) -> dict[str, bool]:
    """Return the names of the QoS profiles that ports need, each with True if the profile has PFC."""
    needed = {QOS_PROFILE: bool(lossless(qos))}
    return {**needed, UNPAUSED_PROFILE: False} if any(_unpaused(qos, port) for port in qos.ports) else needed


def dscp_map(qos: QosConfig) -> list[str]:
    """Return the lines that map every DSCP to a traffic class. EOS would map a DSCP without a line to EOS's default class."""
    by_class = {traffic_class.queue: list(traffic_class.dscp) for traffic_class in qos.classes.values()}
    named = {dscp for values in by_class.values() for dscp in values}
    rest = qos.classes.get(qos.default_class)
    if rest is not None:  # a configuration that was read may lack it
        by_class[rest.queue] += [dscp for dscp in range(64) if dscp not in named]
    return [
        f"{' '.join(map(str, sorted(values)))} to traffic-class {number}"
        for number, values in sorted(by_class.items())
        if values
    ]


def threshold(index: int) -> str:
    """Return the dynamic threshold of an index as a fraction such as ``1/8``. The indexes 0 to 10 mean 1/128 to 8."""
    return str(Fraction(alpha(index)))


def seconds(milliseconds: int) -> str:
    """Return a time in milliseconds as a number of seconds, for example ``0.2``."""
    return f"{milliseconds / 1000:g}"


def queues(qos: QosConfig) -> list[TrafficClass]:
    """Return the traffic classes in the order of their queue numbers."""
    return sorted(qos.classes.values(), key=lambda traffic_class: traffic_class.queue)


def lossless(qos: QosConfig) -> list[int]:
    """Return the PFC priorities of lossless classes, in ascending order."""
    return sorted(
        traffic_class.pfc_priority for traffic_class in qos.classes.values() if traffic_class.pfc_priority is not None
    )


def headroom_bytes(qos: QosConfig) -> int:
    """Return the headroom of a priority group in bytes: the largest that any port needs.

    EOS has one value for all ports of a queue profile.
    """
    return max((profile.headroom_bytes for profile in qos.profiles), default=0)


def pool_bytes(config: DeviceConfig, qos: QosConfig) -> int | None:
    """Return the limit of the headroom pool in bytes, or None if the catalog does not have this switch model."""
    model = catalog().switches.get(config.model)
    return None if model is None else round(model.buffer.shared_mb * 1e6 * qos.buffers.headroom / 100)


def watchdog_default(watchdog: Watchdog) -> dict[str, str]:
    """Return the watchdog's timers as strings in seconds, such as ``0.2``, by EOS's keyword.

    A queue counts as stuck if it sends nothing for ``detection`` polling intervals.
    """
    return {
        "timeout": seconds(watchdog.poll_interval * watchdog.detection),
        "recovery-time": seconds(watchdog.recovery),
        "polling-interval": seconds(watchdog.poll_interval),
    }


def class_of_service(config: DeviceConfig) -> Iterator[Section]:
    """Yield the QoS configuration, without the lines that apply it to ports."""
    qos = config.qos
    if qos is None:
        return
    for text in dscp_map(qos):
        yield line(f"qos map dscp {text}")
    for traffic_class in queues(qos):
        # The target is `tx-queue` on every platform, even if a profile has `uc-tx-queue` (AVD's examples of `qos.map.traffic_class`;
        # openconfig/featureprofiles, Arista's part). Traffic class 7 always has queue 7, so EOS accepts no line for it.
        if traffic_class.queue != FIXED_QUEUE:
            yield line(f"qos map traffic-class {traffic_class.queue} to tx-queue {traffic_class.queue}")
        # Thor2 guide, section 2.5.1. This does not change the DSCP of packets, because `qos rewrite dscp` is off. It sets the DSCP of
        # VXLAN's outer header (Arista, TOI of 2023-08-31 on VXLAN packets: the outer DSCP is derived from the traffic class).
        if traffic_class.dscp:
            yield line(f"qos map traffic-class {traffic_class.queue} to dscp {traffic_class.dscp[0]}")
    if qos.watchdog is not None and lossless(qos):
        for word, value in watchdog_default(qos.watchdog).items():
            yield line(f"priority-flow-control pause watchdog default {word} {value}")
        yield line(f"priority-flow-control pause watchdog action {ACTIONS[qos.watchdog.action]}")
    for profile, pauses in profiles(qos).items():
        queue_lines = [_queue(qos, name, watched=pauses and qos.watchdog is not None) for name in _by_queue(qos)]
        yield section(f"qos profile {profile}", "qos trust dscp", _pfc(qos) if pauses else None, queue_lines)
    yield from _buffers(config, qos)
    if qos.buffer_monitor:
        yield line("queue-monitor length")


def _by_queue(qos: QosConfig) -> list[str]:
    return sorted(qos.classes, key=lambda name: qos.classes[name].queue)


def _pfc(qos: QosConfig) -> list[str]:
    lines = ["priority-flow-control on"]
    lines += [f"priority-flow-control priority {priority} no-drop" for priority in lossless(qos)]
    return [*lines, *(["priority-flow-control pause watchdog"] if qos.watchdog else [])]


def _queue(qos: QosConfig, name: str, *, watched: bool) -> Section:
    """Return the section of one queue in a QoS profile. ``watched`` is True if the PFC watchdog must monitor the lossless queues."""
    traffic_class = qos.classes[name]
    strict = traffic_class.priority == "strict-high"
    share = (
        f"shape rate {traffic_class.transmit_percent} percent"
        if strict
        else f"bandwidth percent {traffic_class.transmit_percent}"
    )
    marking = qos.marking.get(name)
    return section(
        f"uc-tx-queue {traffic_class.queue}",
        "priority strict" if strict else "no priority",
        share if traffic_class.transmit_percent else None,
        f"bandwidth guaranteed percent {GUARANTEED_PERCENT}" if watched and traffic_class.lossless else None,
        f"random-detect ecn minimum-threshold {marking.first // 1000} kbytes maximum-threshold {marking.last // 1000} kbytes "
        f"max-mark-probability {marking.probability} weight 0"
        if marking
        else None,
        "random-detect ecn count" if marking else None,
    )


def _buffers(config: DeviceConfig, qos: QosConfig) -> Iterator[Section]:
    """Yield the lines about headroom and about the thresholds of lossless priority groups and of queues."""
    body: list[str] = []
    if lossless(qos):
        body.append(f"ingress headroom bytes {headroom_bytes(qos)}")
        body += [
            f"ingress priority-group {priority} threshold {threshold(qos.buffers.ingress_dynamic_threshold)}"
            for priority in lossless(qos)
        ]
    for traffic_class in queues(qos):
        index = DEFAULT_THRESHOLD if traffic_class.dynamic_threshold is None else traffic_class.dynamic_threshold
        body.append(f"egress unicast queue {traffic_class.queue} threshold {threshold(index)}")
    yield section(f"platform trident mmu queue profile {QUEUE_PROFILE}", body)
    yield line(f"platform trident mmu queue profile {QUEUE_PROFILE} apply")
    limit = pool_bytes(config, qos) if lossless(qos) else None
    if limit is not None:
        yield line(f"platform trident mmu headroom-pool limit bytes {limit}")


def flow_set_size(config: DeviceConfig) -> int:
    """Return EOS's number for the size of a flowset table: 1 means 256 entries per group, 7 means 16384.

    The result is 0 if EOS has no number for the size; then no line is rendered.

    Source: AVD 6.4, schema of ``ip_hardware.fib.load_balance_distribution.dynamic.flow_set_size``. The field of the
    chip has the same numbers (Broadcom SDKLT, DLB_ECMP: 256 entries, doubled ``FLOW_SET_SIZE - 1`` times).
    """
    size = config.balancing.dlb.flowset_table_size
    return size.bit_length() - 8 if 256 <= size <= 16384 and size.bit_count() == 1 else 0


def balancing(config: DeviceConfig) -> Iterator[Section]:
    """Yield the lines about dynamic load balancing, if the design uses it instead of a hash."""
    if config.balancing.group_mode == "dlb-flowlet":
        distribution = "ip hardware fib load-balance distribution dynamic"
        yield line(distribution)
        # The line is also rendered for the smallest size: no public document gives the size that EOS uses without the line.
        if flow_set_size(config):
            yield line(f"{distribution} flow-set-size {flow_set_size(config)}")
