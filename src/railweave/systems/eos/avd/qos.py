"""AVD's data for QoS, buffers, load balancing over next-hop groups, and access lists."""

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
    """Return AVD's keys for the access lists that protect the switch and the server ports, and for applying them to the control plane."""
    if config.protection is None:
        return {}
    tenants = [vrf.name for vrf in config.vrfs]
    settings: dict[str, Any] = {"access_lists": [], "ipv6_access_lists": []}
    groups: dict[str, Any] = {}
    for key, version, schema in (("ipv4", "ip", "access_lists"), ("ipv6", "ipv6", "ipv6_access_lists")):
        lists = {names.CONTROL_PLANE_LISTS[key]: "network", names.MANAGEMENT_LISTS[key]: "management"}
        for name, plane in lists.items():
            actions = [
                action
                for rule in config.protection.rules
                if (rule.plane, rule.family) == (plane, key)
                for action in _actions(config, rule)
            ]
            settings[schema].append(_numbered(name, [*actions, f"deny {version} any any"]))
        blocked = [
            f"deny {rule.protocol} any {_place(to)}{_match(*ports)}"
            for rule in config.protection.server_ports
            if rule.family == key
            for to, ports in product(rule.destinations, rule.destination_ports)
        ]
        if blocked:
            settings[schema].append(_numbered(names.SERVER_LISTS[key], [*blocked, f"permit {version} any any"]))
        groups[f"{key}_access_groups"] = [
            {"acl_name": names.CONTROL_PLANE_LISTS[key]},
            *({"acl_name": names.CONTROL_PLANE_LISTS[key], "vrf": tenant} for tenant in tenants),
            {"acl_name": names.MANAGEMENT_LISTS[key], "vrf": names.MANAGEMENT_VRF},
        ]
    return {**settings, "system": {"control_plane": groups}}


def at_gateway(config: DeviceConfig, gateway: Gateway) -> dict[str, Any]:
    """Return AVD's keys that apply access lists to the interface of a gateway."""
    dropped = {rule.family for rule in (config.protection.server_ports if config.protection else ())}
    return {
        "ipv6_access_group_in" if family == "ipv6" else "access_group_in": names.SERVER_LISTS[family]
        for family in sorted(gateway.families)
        if family in dropped
    }


def _numbered(name: str, actions: Sequence[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(actions))
    entries = [{"sequence": 10 + 10 * place, "action": action} for place, action in enumerate(unique)]
    return {"name": name, "counters_per_entry": True, "sequence_numbers": entries}


def _actions(config: DeviceConfig, rule: ControlRule) -> list[str]:
    six = rule.family == "ipv6"
    if rule.protocol == "icmp":
        return ["permit icmpv6 any any" if six else "permit icmp any any"]
    known = {sources.name: sources.prefixes for sources in config.protection.sources} if config.protection else {}
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

The renderer has the same numbers. They are repeated here on purpose, because this data checks the renderer.
"""

FLOWSET_TABLES = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5, 8192: 6, 16384: 7}
"""EOS's number for each size of a flowset table. The key is the number of table entries (AVD 6.4, description of ``flow_set_size``)."""


def qos(config: DeviceConfig, raw: list[str]) -> dict[str, Any]:
    """Return AVD's keys for QoS maps and profiles, buffers, the PFC watchdog, and dynamic load balancing.

    Lines that the schema cannot express are appended to ``raw``.
    """
    keys: dict[str, Any] = {}
    if config.balancing.group_mode == "dlb-flowlet":
        dynamic: dict[str, Any] = {"enabled": True}
        size = FLOWSET_TABLES.get(config.balancing.dlb.flowset_table_size)
        dynamic |= {"flow_set_size": size} if size else {}
        keys["ip_hardware"] = {"fib": {"load_balance_distribution": {"dynamic": dynamic}}}
    settings = config.qos
    if settings is None:
        return keys
    keys["qos"] = {"map": {"dscp": _classified(settings), "traffic_class": _mapped(settings)}}
    needed = dict.fromkeys([names.QOS_PROFILE, *sorted(service_profiles(config).values())])
    keys["qos_profiles"] = [_profile(settings, name, raw) for name in needed]
    keys["platform"] = {"trident": {"mmu": _buffers(config, settings)}}
    if settings.watchdog is not None and _priorities(settings):
        keys["priority_flow_control"] = {"watchdog": _watchdog(settings.watchdog)}
    if settings.buffer_monitor:
        keys["queue_monitor_length"] = {"enabled": True}
    return keys


def service_profiles(config: DeviceConfig) -> dict[str, str]:
    """Return the name of the QoS profile of every port that has one, by port.

    A port has the profile with PFC if the device sends pauses on it, or if the design has no lossless class.
    """
    settings = config.qos
    if settings is None:
        return {}
    everywhere = not _priorities(settings)
    paused = {port for profile in settings.profiles for port in profile.ports}
    return {
        port: names.QOS_PROFILE if everywhere or port in paused else names.UNPAUSED_PROFILE for port in settings.ports
    }


def _priorities(settings: QosConfig) -> list[int]:
    """Return the PFC priorities of lossless classes."""
    return sorted(
        traffic_class.pfc_priority
        for traffic_class in settings.classes.values()
        if traffic_class.pfc_priority is not None
    )


def _classified(settings: QosConfig) -> list[str]:
    """Return lines that assign all 64 DSCPs to traffic classes, such as ``46 48 to traffic-class 6``.

    A DSCP that no class lists is in the default class.
    """
    rest = settings.classes.get(settings.default_class)
    owner = dict.fromkeys(range(64), rest.queue) if rest else dict[int, int]()
    for traffic_class in settings.classes.values():
        owner |= dict.fromkeys(traffic_class.dscp, traffic_class.queue)
    text: dict[int, str] = {}
    for dscp, number in owner.items():
        text[number] = f"{text[number]} {dscp}" if number in text else str(dscp)
    return [f"{text[number]} to traffic-class {number}" for number in sorted(text)]


def _mapped(settings: QosConfig) -> list[str]:
    """Return lines that map each traffic class to its queue, and to the first DSCP of the class for marking.

    The queue of class 7 is fixed and needs no line.
    """
    lines: dict[int, list[str]] = {}
    for traffic_class in settings.classes.values():
        to = [] if traffic_class.queue == 7 else [f"{traffic_class.queue} to tx-queue {traffic_class.queue}"]
        lines[traffic_class.queue] = [
            *to,
            *(f"{traffic_class.queue} to dscp {dscp}" for dscp in traffic_class.dscp[:1]),
        ]
    return [text for number in sorted(lines) for text in lines[number]]


def _profile(settings: QosConfig, profile: str, raw: list[str]) -> dict[str, Any]:
    queues = [_queue(traffic_class, settings.marking.get(name)) for name, traffic_class in settings.classes.items()]
    queues.sort(key=lambda queue: queue["id"])
    watched = {
        traffic_class.queue
        for traffic_class in settings.classes.values()
        if traffic_class.pfc_priority is not None and settings.watchdog
    }
    for queue in queues if profile == names.QOS_PROFILE else ():
        if queue["id"] not in watched:
            continue
        if "bandwidth_percent" in queue:  # AVD's template prints only one of the two keys
            raw += [f"qos profile {profile}", f"   uc-tx-queue {queue['id']}", "      bandwidth guaranteed percent 1"]
        else:
            queue["bandwidth_guaranteed_percent"] = 1
    keys: dict[str, Any] = {"name": profile, "trust": "dscp", "uc_tx_queues": queues}
    if profile == names.QOS_PROFILE and _priorities(settings):
        priorities = [{"priority": priority, "no_drop": True} for priority in _priorities(settings)]
        keys["priority_flow_control"] = {"enabled": True, "priorities": priorities}
        keys["priority_flow_control"] |= {"watchdog": {"enabled": True}} if settings.watchdog else {}
    return keys


def _queue(traffic_class: TrafficClass, marking: Marking | None) -> dict[str, Any]:
    strict = traffic_class.priority == "strict-high"
    keys: dict[str, Any] = {"id": traffic_class.queue, "priority": "priority strict" if strict else "no priority"}
    if traffic_class.transmit_percent:
        share = {"shape": {"rate": f"{traffic_class.transmit_percent} percent"}}
        keys |= share if strict else {"bandwidth_percent": traffic_class.transmit_percent}
    if marking is not None:
        limits = {
            "units": "kbytes",
            "min": marking.first // 1000,
            "max": marking.last // 1000,
            "max_probability": marking.probability,
            "weight": 0,
        }
        keys["random_detect"] = {"ecn": {"count": True, "threshold": limits}}
    return keys


def _buffers(config: DeviceConfig, settings: QosConfig) -> dict[str, Any]:
    """Return AVD's keys for buffer thresholds and headroom. All ports get the largest headroom that any port needs."""
    queues = [
        {"id": traffic_class.queue, "threshold": _alpha(traffic_class.dynamic_threshold)}
        for traffic_class in sorted(settings.classes.values(), key=lambda entry: entry.queue)
    ]
    profile: dict[str, Any] = {"name": names.QUEUE_PROFILE, "unicast_queues": queues}
    mmu: dict[str, Any] = {"active_profile": names.QUEUE_PROFILE, "queue_profiles": [profile]}
    if priorities := _priorities(settings):
        alpha = _alpha(settings.buffers.ingress_dynamic_threshold)
        profile["ingress"] = {
            "headroom": {
                "unit": "bytes",
                "memory": max([0, *(pfc_profile.headroom_bytes for pfc_profile in settings.profiles)]),
            },
            "priority_groups": [{"id": priority, "threshold": alpha} for priority in priorities],
        }
        if (model := catalog().switches.get(config.model)) is not None:
            one_percent = Fraction(str(model.buffer.shared_mb)) * 10_000  # in bytes
            mmu["headroom_pool"] = {"unit": "bytes", "limit": round(one_percent * settings.buffers.headroom)}
    return mmu


def _alpha(index: int | None) -> str:
    """Return the alpha of a dynamic threshold as a fraction. The indexes 0 to 10 mean 1/128 to 8; None means alpha 1."""
    return "1" if index is None else str(Fraction(2) ** (min(max(index, LEAST_ALPHA), MOST_ALPHA) - 7))


def _watchdog(watchdog: Watchdog) -> dict[str, str]:
    return {
        "action": {"drop": "drop", "forward": "notify-only"}[watchdog.action],
        "timeout": _seconds(watchdog.detection * watchdog.poll_interval),
        "recovery_time": _seconds(watchdog.recovery),
        "polling_interval": _seconds(watchdog.poll_interval),
    }


def _seconds(milliseconds: int) -> str:
    return f"{(Decimal(milliseconds) / 1000).normalize():f}"
