"""AVD: QoS, buffers, how next-hop groups are shared, and access lists."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from railweave.model.catalog import catalog
from railweave.systems.eos import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.control_plane import ControlRule
    from railweave.model.device.model import DeviceConfig, Gateway, Marking, QosConfig
    from railweave.model.device.qos_model import TrafficClass, Watchdog


def control_plane(config: DeviceConfig) -> dict[str, Any]:
    """``access_lists``, ``ipv6_access_lists`` and ``system.control_plane``."""
    if config.protection is None:
        return {}
    tenants = [vrf.name for vrf in config.vrfs]
    found: dict[str, Any] = {"access_lists": [], "ipv6_access_lists": []}
    groups: dict[str, Any] = {}
    for key, version, schema in (("ipv4", "ip", "access_lists"), ("ipv6", "ipv6", "ipv6_access_lists")):
        own = {names.CONTROL_PLANE_LISTS[key]: "network", names.MANAGEMENT_LISTS[key]: "management"}
        for name, plane in own.items():
            actions = [
                action
                for rule in config.protection.rules
                if (rule.plane, rule.family) == (plane, key)
                for action in _actions(config, rule)
            ]
            found[schema].append(_numbered(name, [*actions, f"deny {version} any any"]))
        blocked = [
            f"deny {rule.protocol} any {_place(to)}{_match(*ports)}"
            for rule in config.protection.server_ports
            if rule.family == key
            for to, ports in product(rule.destinations, rule.destination_ports)
        ]
        if blocked:
            found[schema].append(_numbered(names.SERVER_LISTS[key], [*blocked, f"permit {version} any any"]))
        groups[f"{key}_access_groups"] = [
            {"acl_name": names.CONTROL_PLANE_LISTS[key]},
            *({"acl_name": names.CONTROL_PLANE_LISTS[key], "vrf": tenant} for tenant in tenants),
            {"acl_name": names.MANAGEMENT_LISTS[key], "vrf": names.MANAGEMENT_VRF},
        ]
    return {**found, "system": {"control_plane": groups}}


def at_gateway(config: DeviceConfig, gateway: Gateway) -> dict[str, Any]:
    """The lists of the interface of a gateway."""
    dropped = {rule.family for rule in (config.protection.server_ports if config.protection else ())}
    return {
        "ipv6_access_group_in" if one == "ipv6" else "access_group_in": names.SERVER_LISTS[one]
        for one in sorted(gateway.families)
        if one in dropped
    }


def _numbered(name: str, actions: Sequence[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(actions))
    entries = [{"sequence": 10 + 10 * place, "action": action} for place, action in enumerate(unique)]
    return {"name": name, "counters_per_entry": True, "sequence_numbers": entries}


def _actions(config: DeviceConfig, rule: ControlRule) -> list[str]:
    six = rule.family == "ipv6"
    if rule.protocol == "icmp":
        return ["permit icmpv6 any any" if six else "permit icmp any any"]
    known = {one.name: one.prefixes for one in config.protection.sources} if config.protection else {}
    tail = " established" if rule.established else ""
    if rule.hop_limit:
        tail += f" {'hop-limit' if six else 'ttl'} eq {rule.hop_limit}"
    sent = [_match(*ports) for ports in rule.source_ports] or [""]
    received = [_match(*ports) for ports in rule.destination_ports] or [""]
    places = [_place(prefix) for prefix in known.get(rule.sources, ())] or ["any"]
    return [f"permit {rule.protocol} {a}{b} any{c}{tail}" for a, b, c in product(places, sent, received)]


def _place(prefix: str) -> str:
    return "host " + prefix.split("/", maxsplit=1)[0] if prefix.endswith(("/32", "/128")) and _whole(prefix) else prefix


def _whole(prefix: str) -> bool:
    return prefix.endswith("/128") if ":" in prefix else True


def _match(first: int, last: int) -> str:
    return f" range {first} {last}" if last > first else f" eq {first}"


LEAST_ALPHA, MOST_ALPHA = 0, 10
"""The lowest and the highest index of a dynamic threshold: alpha 1/128 and 8.

They are given here a second time on purpose: this form checks the renderer's.
"""

FLOWSET_TABLES = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5, 8192: 6, 16384: 7}
"""EOS's numbers of a flowset table's sizes (AVD 6.4, description of ``flow_set_size``)."""


def qos(config: DeviceConfig, raw: list[str]) -> dict[str, Any]:
    """Maps, the profile, buffers, the watchdog, and dynamic load balancing."""
    found: dict[str, Any] = {}
    if config.balancing.group_mode == "dlb-flowlet":
        dynamic: dict[str, Any] = {"enabled": True}
        size = FLOWSET_TABLES.get(config.balancing.dlb.flowset_table_size)
        dynamic |= {"flow_set_size": size} if size else {}
        found["ip_hardware"] = {"fib": {"load_balance_distribution": {"dynamic": dynamic}}}
    own = config.qos
    if own is None:
        return found
    found["qos"] = {"map": {"dscp": _classified(own), "traffic_class": _mapped(own)}}
    needed = dict.fromkeys([names.QOS_PROFILE, *sorted(service_profiles(config).values())])
    found["qos_profiles"] = [_profile(own, name, raw) for name in needed]
    found["platform"] = {"trident": {"mmu": _buffers(config, own)}}
    if own.watchdog is not None and _priorities(own):
        found["priority_flow_control"] = {"watchdog": _watchdog(own.watchdog)}
    if own.buffer_monitor:
        found["queue_monitor_length"] = {"enabled": True}
    return found


def service_profiles(config: DeviceConfig) -> dict[str, str]:
    """The QoS profile of every port that has one: with PFC where the port's peer is paused, if any class is lossless."""
    own = config.qos
    if own is None:
        return {}
    everywhere = not _priorities(own)
    paused = {port for profile in own.profiles for port in profile.ports}
    return {port: names.QOS_PROFILE if everywhere or port in paused else names.UNPAUSED_PROFILE for port in own.ports}


def _priorities(own: QosConfig) -> list[int]:
    """The PFC priorities of lossless classes."""
    return sorted(one.pfc_priority for one in own.classes.values() if one.pfc_priority is not None)


def _classified(own: QosConfig) -> list[str]:
    """Each of the 64 DSCPs in a traffic class: what no class names is in the default one."""
    rest = own.classes.get(own.default_class)
    owner = dict.fromkeys(range(64), rest.queue) if rest else dict[int, int]()
    for one in own.classes.values():
        owner |= dict.fromkeys(one.dscp, one.queue)
    text: dict[int, str] = {}
    for dscp, number in owner.items():
        text[number] = f"{text[number]} {dscp}" if number in text else str(dscp)
    return [f"{text[number]} to traffic-class {number}" for number in sorted(text)]


def _mapped(own: QosConfig) -> list[str]:
    """Traffic classes to queues, but for class 7, whose queue is fixed; and to the DSCP of the class, if it has one."""
    found: dict[int, list[str]] = {}
    for one in own.classes.values():
        to = [] if one.queue == 7 else [f"{one.queue} to tx-queue {one.queue}"]
        found[one.queue] = [*to, *(f"{one.queue} to dscp {dscp}" for dscp in one.dscp[:1])]
    return [text for number in sorted(found) for text in found[number]]


def _profile(own: QosConfig, profile: str, raw: list[str]) -> dict[str, Any]:
    queues = [_queue(one, own.marking.get(name)) for name, one in own.classes.items()]
    queues.sort(key=lambda one: one["id"])
    watched = {one.queue for one in own.classes.values() if one.pfc_priority is not None and own.watchdog}
    for one in queues if profile == names.QOS_PROFILE else ():
        if one["id"] not in watched:
            continue
        if "bandwidth_percent" in one:  # AVD's template prints one of the two
            raw += [f"qos profile {profile}", f"   uc-tx-queue {one['id']}", "      bandwidth guaranteed percent 1"]
        else:
            one["bandwidth_guaranteed_percent"] = 1
    found: dict[str, Any] = {"name": profile, "trust": "dscp", "uc_tx_queues": queues}
    if profile == names.QOS_PROFILE and _priorities(own):
        priorities = [{"priority": one, "no_drop": True} for one in _priorities(own)]
        found["priority_flow_control"] = {"enabled": True, "priorities": priorities}
        found["priority_flow_control"] |= {"watchdog": {"enabled": True}} if own.watchdog else {}
    return found


def _queue(one: TrafficClass, marking: Marking | None) -> dict[str, Any]:
    strict = one.priority == "strict-high"
    found: dict[str, Any] = {"id": one.queue, "priority": "priority strict" if strict else "no priority"}
    if one.transmit_percent:
        share = {"shape": {"rate": f"{one.transmit_percent} percent"}}
        found |= share if strict else {"bandwidth_percent": one.transmit_percent}
    if marking is not None:
        limits = {
            "units": "kbytes",
            "min": marking.first // 1000,
            "max": marking.last // 1000,
            "max_probability": marking.probability,
            "weight": 0,
        }
        found["random_detect"] = {"ecn": {"count": True, "threshold": limits}}
    return found


def _buffers(config: DeviceConfig, own: QosConfig) -> dict[str, Any]:
    """Thresholds, and headroom out of the model's packet buffer: one size for all ports, as the neediest has it."""
    queues = [
        {"id": one.queue, "threshold": _alpha(one.dynamic_threshold)}
        for one in sorted(own.classes.values(), key=lambda one: one.queue)
    ]
    profile: dict[str, Any] = {"name": names.QUEUE_PROFILE, "unicast_queues": queues}
    found: dict[str, Any] = {"active_profile": names.QUEUE_PROFILE, "queue_profiles": [profile]}
    if priorities := _priorities(own):
        alpha = _alpha(own.buffers.ingress_dynamic_threshold)
        profile["ingress"] = {
            "headroom": {"unit": "bytes", "memory": max([0, *(one.headroom_bytes for one in own.profiles)])},
            "priority_groups": [{"id": one, "threshold": alpha} for one in priorities],
        }
        if (model := catalog().switches.get(config.model)) is not None:
            one_percent = Fraction(str(model.buffer.shared_mb)) * 10_000  # bytes
            found["headroom_pool"] = {"unit": "bytes", "limit": round(one_percent * own.buffers.headroom)}
    return found


def _alpha(index: int | None) -> str:
    """A dynamic threshold, index 0 to 10, as a fraction of what is free: 1/128 to 8; 1 where there is none."""
    return "1" if index is None else str(Fraction(2) ** (min(max(index, LEAST_ALPHA), MOST_ALPHA) - 7))


def _watchdog(one: Watchdog) -> dict[str, str]:
    return {
        "action": {"drop": "drop", "forward": "notify-only"}[one.action],
        "timeout": _seconds(one.detection * one.poll_interval),
        "recovery_time": _seconds(one.recovery),
        "polling_interval": _seconds(one.poll_interval),
    }


def _seconds(milliseconds: int) -> str:
    return f"{(Decimal(milliseconds) / 1000).normalize():f}"
