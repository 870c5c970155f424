"""Access lists of the control plane, and of gateways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, section
from railweave.systems.dell_sonic.meaning.ports import FILTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.device.control_plane import ControlPlane, ControlRule, PortRange, ServerPortRule
    from railweave.model.device.model import DeviceConfig


IP: dict[Family, str] = {"ipv4": "ip", "ipv6": "ipv6"}
_NUMBER: dict[Family, str] = {"ipv4": "v4", "ipv6": "v6"}
_ICMP: dict[Family, str] = {"ipv4": "icmp", "ipv6": "icmpv6"}
_BITS: dict[Family, int] = {"ipv4": 32, "ipv6": 128}


def lists(config: DeviceConfig) -> Iterator[Section]:
    """The lists, and where that of the control plane is in use: of both planes, for the system has one for both."""
    wanted = config.protection
    if wanted is None:
        return
    for family, ip in IP.items():
        permitted = [line for rule in wanted.together(family) for line in permits(rule, wanted.source(rule).prefixes)]
        yield _list(ip, f"control-plane-{_NUMBER[family]}", [*permitted, f"deny {ip} any any"])
        if dropped := list(drops(wanted, family)):
            yield _list(ip, FILTERS[family], [*dropped, f"permit {ip} any any"])
    yield section("line vty", [f"{ip} access-group control-plane-{_NUMBER[family]} in" for family, ip in IP.items()])


def _list(ip: str, name: str, lines: Iterable[str]) -> Section:
    numbered = [f"seq {10 * place} {line}" for place, line in enumerate(lines, 1)]
    return section(f"{ip} access-list {name}", numbered)


def permits(rule: ControlRule, sources: tuple[Prefix, ...]) -> Iterator[str]:
    """A command for each source, range of ports and type of ICMP."""
    protocol = _ICMP[rule.family] if rule.protocol == "icmp" else rule.protocol
    types = [f" type {one}" for one in rule.icmp_types] or [""]
    more = " established" if rule.established else ""
    for source in map(_address, sources or ("any",)):
        for sent in map(_port, rule.source_ports or (None,)):
            for received in map(_port, rule.destination_ports or (None,)):
                yield from (f"permit {protocol} {source}{sent} any{received}{more}{one}" for one in types)


def drops(wanted: ControlPlane, family: Family) -> Iterator[str]:
    """The commands that drop what servers may not send."""
    for rule in wanted.server_ports:
        if rule.family == family:
            yield from discards(rule)


def discards(rule: ServerPortRule) -> Iterator[str]:
    """A command for each destination and range of ports."""
    for where in map(_address, rule.destinations):
        yield from (f"discard {rule.protocol} any {where}{_port(ports)}" for ports in rule.destination_ports)


def _address(prefix: str) -> str:
    address, _, length = prefix.partition("/")
    return f"host {address}" if length == str(_BITS["ipv6" if ":" in address else "ipv4"]) else prefix


def _port(ports: PortRange | None) -> str:
    if ports is None:
        return ""
    first, last = ports
    return f" eq {first}" if first == last else f" range {first} {last}"
