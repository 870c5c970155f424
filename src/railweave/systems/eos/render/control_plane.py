"""What may reach the switch itself: access lists of the control plane in every VRF, and of interfaces of gateways.

EOS has a list of its own where none is configured (``default-control-plane-acl``); these take its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, section
from railweave.systems.eos.names import CONTROL_PLANE_LISTS, MANAGEMENT_LISTS, MANAGEMENT_VRF, SERVER_LISTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.device.control_plane import ControlPlane, ControlRule, PortRange
    from railweave.model.device.model import DeviceConfig, Gateway

IP: dict[Family, str] = {"ipv4": "ip", "ipv6": "ipv6"}
_ICMP: dict[Family, str] = {"ipv4": "icmp", "ipv6": "icmpv6"}
_HOP_LIMIT: dict[Family, str] = {"ipv4": "ttl", "ipv6": "hop-limit"}


def control_plane(config: DeviceConfig) -> Iterator[Section]:
    """The lists, and where those of the control plane are in use."""
    wanted = config.protection
    if wanted is None:
        return
    for family, ip in IP.items():
        yield _list(ip, CONTROL_PLANE_LISTS[family], _permitted(wanted, wanted.of("network", family)))
        yield _list(ip, MANAGEMENT_LISTS[family], _permitted(wanted, wanted.of("management", family)))
        if drops := _dropped(wanted, family):
            yield _list(ip, SERVER_LISTS[family], [*drops, f"permit {ip} any any"])
    bound: list[str] = []
    for family, ip in IP.items():
        bound += [f"{ip} access-group {CONTROL_PLANE_LISTS[family]}{vrf} in" for vrf in _vrfs(config)]
        bound.append(f"{ip} access-group {MANAGEMENT_LISTS[family]} vrf {MANAGEMENT_VRF} in")
    yield section("system control-plane", bound)


def on_gateway(config: DeviceConfig, gateway: Gateway) -> list[str]:
    """The list of a gateway's interface, where something is dropped there."""
    dropped = {one.family for one in (config.protection.server_ports if config.protection else ())}
    return [f"{IP[one]} access-group {SERVER_LISTS[one]} in" for one in sorted(gateway.families) if one in dropped]


def _vrfs(config: DeviceConfig) -> list[str]:
    return ["", *(f" vrf {vrf.name}" for vrf in config.vrfs)]


def _list(ip: str, name: str, lines: Iterable[str]) -> Section:
    numbered = [f"{10 * place} {line}" for place, line in enumerate(lines, 1)]
    return section(f"{ip} access-list {name}", "counters per-entry", numbered)


def _permitted(wanted: ControlPlane, rules: Iterable[ControlRule]) -> list[str]:
    """A line for each source and range of ports; the rest is denied, and counted because it is written."""
    lines: list[str] = []
    family: Family = "ipv4"
    for rule in rules:
        family = rule.family
        lines += _lines(rule, wanted.source(rule).prefixes)
    return [*dict.fromkeys(lines), f"deny {IP[family]} any any"]


def _lines(rule: ControlRule, sources: tuple[Prefix, ...]) -> Iterator[str]:
    if rule.protocol == "icmp":
        # As EOS's own list has it: all types, for ICMP is policed by the switch itself.
        yield f"permit {_ICMP[rule.family]} any any"
        return
    hop_limit = f" {_HOP_LIMIT[rule.family]} eq {rule.hop_limit}" if rule.hop_limit is not None else ""
    more = (" established" if rule.established else "") + hop_limit
    for source in map(_address, sources or ("any",)):
        for sent in map(_port, rule.source_ports or (None,)):
            for received in map(_port, rule.destination_ports or (None,)):
                yield f"permit {rule.protocol} {source}{sent} any{received}{more}"


def _dropped(wanted: ControlPlane, family: Family) -> list[str]:
    rules = [one for one in wanted.server_ports if one.family == family]
    return [
        f"deny {rule.protocol} any {_address(where)}{_port(ports)}"
        for rule in rules
        for where in rule.destinations
        for ports in rule.destination_ports
    ]


def _address(prefix: str) -> str:
    address, _, length = prefix.partition("/")
    return f"host {address}" if length == ("128" if ":" in address else "32") else prefix


def _port(ports: PortRange | None) -> str:
    if ports is None:
        return ""
    first, last = ports
    return f" eq {first}" if first == last else f" range {first} {last}"
