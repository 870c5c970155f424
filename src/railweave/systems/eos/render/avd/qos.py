"""AVD: QoS, buffers, and how next-hop groups are shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.render.qos import (
    ACTIONS,
    DEFAULT_THRESHOLD,
    QUEUE_PROFILE,
    dscp_map,
    flow_set_size,
    headroom_bytes,
    lossless,
    pool_bytes,
    profiles,
    threshold,
    watchdog_default,
)

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig, QosConfig


def qos(config: DeviceConfig, shared_mb: float) -> dict[str, Any]:
    """Maps, the profile, buffers, the watchdog, and dynamic load balancing."""
    found: dict[str, Any] = {}
    if config.balancing.group_mode == "dlb-flowlet":
        dynamic: dict[str, Any] = {"enabled": True}
        dynamic |= {"flow_set_size": flow_set_size(config)} if flow_set_size(config) else {}
        found["ip_hardware"] = {"fib": {"load_balance_distribution": {"dynamic": dynamic}}}
    own = config.qos
    if own is None:
        return found
    numbers = sorted(one.queue for one in own.classes.values())
    found["qos"] = {"map": {"dscp": dscp_map(own), "traffic_class": [f"{one} to uc-tx-queue {one}" for one in numbers]}}
    found["qos_profiles"] = [_profile(own, name, pauses=pauses) for name, pauses in profiles(own).items()]
    found["platform"] = {"trident": {"mmu": _buffers(config, own, shared_mb)}}
    if own.watchdog is not None and lossless(own):
        timers = {key.replace("-", "_"): value for key, value in watchdog_default(own.watchdog).items()}
        found["priority_flow_control"] = {"watchdog": {"action": ACTIONS[own.watchdog.action], **timers}}
    if own.buffer_monitor:
        found["queue_monitor_length"] = {"enabled": True}
    return found


def _profile(own: QosConfig, profile: str, *, pauses: bool) -> dict[str, Any]:
    queues: list[dict[str, Any]] = []
    for name, one in sorted(own.classes.items(), key=lambda item: item[1].queue):
        strict = one.priority == "strict-high"
        queue: dict[str, Any] = {"id": one.queue, "priority": "priority strict" if strict else "no priority"}
        if one.transmit_percent:
            share = {"shape": {"rate": f"{one.transmit_percent} percent"}}
            queue |= share if strict else {"bandwidth_percent": one.transmit_percent}
        marking = own.marking.get(name)
        if marking is not None:
            limits = {
                "units": "kbytes",
                "min": marking.first // 1000,
                "max": marking.last // 1000,
                "max_probability": marking.probability,
                "weight": 0,
            }
            queue["random_detect"] = {"ecn": {"count": True, "threshold": limits}}
        queues.append(queue)
    found: dict[str, Any] = {"name": profile, "trust": "dscp", "uc_tx_queues": queues}
    if pauses:
        priorities = [{"priority": one, "no_drop": True} for one in lossless(own)]
        found["priority_flow_control"] = {"enabled": True, "priorities": priorities}
        found["priority_flow_control"] |= {"watchdog": {"enabled": True}} if own.watchdog else {}
    return found


def _buffers(config: DeviceConfig, own: QosConfig, shared_mb: float) -> dict[str, Any]:
    queues = [
        {
            "id": one.queue,
            "threshold": threshold(DEFAULT_THRESHOLD if one.dynamic_threshold is None else one.dynamic_threshold),
        }
        for one in sorted(own.classes.values(), key=lambda one: one.queue)
    ]
    profile: dict[str, Any] = {"name": QUEUE_PROFILE, "unicast_queues": queues}
    found: dict[str, Any] = {"active_profile": QUEUE_PROFILE, "queue_profiles": [profile]}
    if lossless(own):
        alpha = threshold(own.buffers.ingress_dynamic_threshold)
        profile["ingress"] = {
            "headroom": {"unit": "bytes", "memory": headroom_bytes(own)},
            "priority_groups": [{"id": one, "threshold": alpha} for one in lossless(own)],
        }
        found["headroom_pool"] = {"unit": "bytes", "limit": pool_bytes(config, shared_mb)}
    return found
