"""AVD: access lists of the control plane, and of what servers may send to the switch."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from railweave.systems.eos.names import CONTROL_PLANE_LISTS, MANAGEMENT_LISTS, MANAGEMENT_VRF, SERVER_LISTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.control_plane import ControlRule
    from railweave.model.device.model import DeviceConfig, Gateway


def control_plane(config: DeviceConfig) -> dict[str, Any]:
    """``access_lists``, ``ipv6_access_lists`` and ``system.control_plane``."""
    if config.protection is None:
        return {}
    tenants = [vrf.name for vrf in config.vrfs]
    found: dict[str, Any] = {"access_lists": [], "ipv6_access_lists": []}
    groups: dict[str, Any] = {}
    for key, version, schema in (("ipv4", "ip", "access_lists"), ("ipv6", "ipv6", "ipv6_access_lists")):
        own = {CONTROL_PLANE_LISTS[key]: "network", MANAGEMENT_LISTS[key]: "management"}
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
            found[schema].append(_numbered(SERVER_LISTS[key], [*blocked, f"permit {version} any any"]))
        groups[f"{key}_access_groups"] = [
            {"acl_name": CONTROL_PLANE_LISTS[key]},
            *({"acl_name": CONTROL_PLANE_LISTS[key], "vrf": tenant} for tenant in tenants),
            {"acl_name": MANAGEMENT_LISTS[key], "vrf": MANAGEMENT_VRF},
        ]
    return {**found, "system": {"control_plane": groups}}


def at_gateway(config: DeviceConfig, gateway: Gateway) -> dict[str, Any]:
    """The lists of the interface of a gateway."""
    dropped = {rule.family for rule in (config.protection.server_ports if config.protection else ())}
    return {
        "ipv6_access_group_in" if one == "ipv6" else "access_group_in": SERVER_LISTS[one]
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
