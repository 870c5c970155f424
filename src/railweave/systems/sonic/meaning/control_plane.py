"""Conversion between the control-plane rules of a device and the tables ``ACL_TABLE`` and ``ACL_RULE``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.config.number_ranges import numbers
from railweave.model.device import protection
from railweave.model.device.protection import LINK_LOCAL
from railweave.systems.frr.read.text import prefix as prefix_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.device.control_plane import ControlPlane, ControlRule, Sources
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.sonic.read.rows import Rows
    from railweave.systems.sonic.tables import Row, Tables


SERVICES = {"ssh": "SSH", "snmp": "SNMP", "ntp-replies": "NTP", "grpc": "EXTERNAL_CLIENT"}
"""The name of each service in ``ACL_TABLE``, by its name in railweave's rules."""

SESSIONS = "ANY"
"""The service name in ``ACL_TABLE`` for rules that apply to every protocol and port."""

_IP: dict[Family, str] = {"ipv4": "IP", "ipv6": "IPV6"}
_TYPE: dict[Family, str] = {"ipv4": "L3", "ipv6": "L3V6"}
_PROTOCOL = {"tcp": "6", "udp": "17"}
_HIGHEST = 9999


def tables_of(config: DeviceConfig) -> Tables:
    """Return the tables ``ACL_TABLE`` and ``ACL_RULE``, or an empty dictionary if the configuration does not protect the control plane."""
    wanted = config.protection
    if wanted is None:
        return {}
    tables: dict[str, Row] = {}
    rules: dict[str, Row] = {}
    for family in _IP:
        made = list(_services(wanted, family))
        made.append((SESSIONS, list(_peers(wanted, family))))
        for service, rows in made:
            if rows:
                name = f"CONTROL_{service}_{family.upper()}"
                tables[name] = {"policy_desc": f"{service} of the switch", "type": "CTRLPLANE", "services": [service]}
                rules |= _numbered(name, rows)
        drops = list(_drops(wanted, family))
        if drops:
            name = f"SERVERS_{family.upper()}"
            ports = sorted((port.name for port in config.interfaces if port.kind == "server"), key=numbers)
            about = "from servers to the switch"
            tables[name] = {"policy_desc": about, "type": _TYPE[family], "stage": "ingress", "ports": ports}
            rules |= _numbered(name, drops)
    return {"ACL_TABLE": tables, "ACL_RULE": rules}


def _numbered(table: str, rows: Iterable[Row]) -> dict[str, Row]:
    """Return the rows with a priority each, highest first, by key. Rows with equal priorities would replace each other."""
    return {f"{table}|RULE_{place}": {"PRIORITY": str(_HIGHEST - place), **row} for place, row in enumerate(rows)}


def _services(wanted: ControlPlane, family: Family) -> Iterator[tuple[str, list[Row]]]:
    for rule in wanted.of("management", family):
        service = SERVICES.get(rule.name.rpartition("-")[0])
        if service:
            more = _port(rule) if service == "EXTERNAL_CLIENT" else {}
            yield service, [_accepted(family, prefix, more) for prefix in wanted.source(rule).prefixes]


def _port(rule: ControlRule) -> Row:
    return {"L4_DST_PORT": str(rule.destination_ports[0][0])}


def _accepted(family: Family, prefix: Prefix, more: Row) -> Row:
    return {f"SRC_{_IP[family]}": prefix, **more, "PACKET_ACTION": "ACCEPT"}


def _peers(wanted: ControlPlane, family: Family) -> Iterator[Row]:
    """Yield the rows that permit packets of the address family ``family`` from peers with BFD sessions.

    ``wanted`` has the control-plane rules. If only the link-local address of a peer is known, the row permits the peer's packets by the
    port on which they arrive.
    """
    sessions = [rule for rule in wanted.of("network", family) if rule.protocol == "udp" and rule.sources]
    sources: dict[str, Sources] = {rule.sources: wanted.source(rule) for rule in sessions}
    for source in sources.values():
        for prefix in source.prefixes:
            if prefix == LINK_LOCAL:
                yield from (_accepted(family, prefix, {"IN_PORTS": port}) for port in source.interfaces)
            else:
                yield _accepted(family, prefix, {})


def _drops(wanted: ControlPlane, family: Family) -> Iterator[Row]:
    for rule in wanted.server_ports:
        if rule.family != family:
            continue
        for prefix in rule.destinations:
            for first, last in rule.destination_ports:
                ports: Row = {"L4_DST_PORT": str(first)}
                if first != last:
                    ports = {"L4_DST_PORT_RANGE": f"{first}-{last}"}
                row: Row = {f"DST_{_IP[family]}": prefix, "IP_PROTOCOL": _PROTOCOL[rule.protocol]}
                yield {**row, **ports, "PACKET_ACTION": "DROP"}


_SOURCES = ("SRC_IP", "SRC_IPV6")


def control_plane_of(tables: Rows, config: DeviceConfig) -> ControlPlane | None:
    """Return the control-plane rules of the access lists in the tables, or None if no access list allows SSH from a prefix.

    If the access lists differ from railweave's, the result has no rules, only the names and prefixes of the allowed sources.
    """
    services = {row.key: row.words("services") for row in tables.rows("ACL_TABLE") if row.text("type") == "CTRLPLANE"}
    managers: dict[Prefix, None] = {}
    for row in tables.rows("ACL_RULE"):
        if "SSH" in services.get(row.parts()[0], ()):
            prefixes = [prefix_of(row.text(name)) for name in _SOURCES if name in row.fields]
            managers.update({manager: None for manager in prefixes if manager is not None})
    for row in (*tables.rows("ACL_TABLE"), *tables.rows("ACL_RULE")):
        row.understood.clear()
    if not managers:
        return None
    rules = protection.control_plane(
        config, tuple(managers), sees_interfaces=False, holds_sessions=False, in_kernel=False
    )
    wanted = tables_of(replace(config, protection=rules))
    missing = _compare(tables, "ACL_TABLE", wanted["ACL_TABLE"]) + _compare(tables, "ACL_RULE", wanted["ACL_RULE"])
    return replace(rules, rules=(), server_ports=()) if missing else rules


def _compare(tables: Rows, table: str, wanted: dict[str, Row]) -> int:
    """Return the number of fields in ``table`` that are missing or differ from the designed rows in ``wanted``.

    Equal fields are marked as understood.
    """
    missing = 0
    for key, fields in wanted.items():
        row = tables.row(table, key)
        for name, value in fields.items():
            if row.fields.get(name) == value:
                row.understood.add(name)
            else:
                missing += 1
    return missing
