"""Management: names, time, logs, SNMP, gNMI, logins, and access lists of the control plane."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.device import protection
from railweave.model.device.management import (
    Aaa,
    EdgePorts,
    Login,
    LoginServer,
    Management,
    Security,
    Services,
    Snmp,
    SnmpUser,
    Syslog,
)
from railweave.systems.frr.read.text import address, interface_address, prefix
from railweave.systems.frr.statements.words import secret
from railweave.systems.sonic.render.system import MOST_KBPS, STORMS
from railweave.systems.sonic.render.system import control_plane as rendered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.device.control_plane import ControlPlane
    from railweave.model.device.model import DeviceConfig, Interface
    from railweave.systems.sonic.read.rows import Row, Rows
    from railweave.systems.sonic.tables import Row as Fields


_SOURCES = ("SRC_IP", "SRC_IPV6")


def control_plane(tables: Rows, config: DeviceConfig) -> ControlPlane | None:
    """The rules of the design that the lists' rows are those of; None where there are no lists of the control plane."""
    services = {row.key: row.words("services") for row in tables.rows("ACL_TABLE") if row.text("type") == "CTRLPLANE"}
    managers: dict[Prefix, None] = {}
    for row in tables.rows("ACL_RULE"):
        if "SSH" in services.get(row.parts()[0], ()):
            found = [prefix(row.text(name)) for name in _SOURCES if name in row.fields]
            managers.update({one: None for one in found if one is not None})
    for row in (*tables.rows("ACL_TABLE"), *tables.rows("ACL_RULE")):
        row.taken.clear()
    if not managers:
        return None
    rules = protection.control_plane(
        config, tuple(managers), sees_interfaces=False, holds_sessions=False, in_kernel=False
    )
    wanted = rendered(replace(config, protection=rules))
    missing = _compare(tables, "ACL_TABLE", wanted["ACL_TABLE"]) + _compare(tables, "ACL_RULE", wanted["ACL_RULE"])
    return replace(rules, rules=(), server_ports=()) if missing else rules


def _compare(tables: Rows, table: str, wanted: dict[str, Fields]) -> int:
    """Take the fields that are as wanted; how many are missing or otherwise."""
    missing = 0
    for key, fields in wanted.items():
        row: Row = tables.row(table, key)
        for name, value in fields.items():
            if row.fields.get(name) == value:
                row.taken.add(name)
            else:
                missing += 1
    return missing


UNKNOWN = InterfaceAddress("0.0.0.0/0")

_SEVERITIES: Mapping[str, Literal["critical", "error", "warning", "notice", "info", "any"]] = {
    "crit": "critical",
    "error": "error",
    "warn": "warning",
    "notice": "notice",
    "info": "info",
    "debug": "any",
}
_TACACS, _RADIUS = 49, 1812
_FIRST = 64
"""The priority of the server that is asked first, of those that we write."""


def port(tables: Rows) -> tuple[InterfaceAddress, Address]:
    """The address of the management port, and its gateway."""
    for row in tables.rows("MGMT_PORT"):
        row.text("alias")
        if row.text("admin_status") == "down":
            row.leave("admin_status")
    tables.row("MGMT_VRF_CONFIG", "vrf_global").text("mgmtVrfEnabled")
    found: tuple[InterfaceAddress, Address] | None = None
    for row in tables.rows("MGMT_INTERFACE"):
        _, bar, text = row.key.partition("|")
        if not bar:
            continue
        own = interface_address(text)
        gateway = address(row.text("gwaddr"))
        if gateway is None:
            row.leave("gwaddr")
        row.known = own is not None
        if own is not None and found is None:
            found = own, gateway or UNKNOWN.address
    return found or (UNKNOWN, UNKNOWN.address)


def management(tables: Rows, interfaces: Sequence[Interface]) -> Management:
    """The management plane."""
    dns = tuple(row.key for row in tables.rows("DNS_NAMESERVER"))
    tables.row("NTP", "global").text("vrf")
    tables.row("NTP", "global").text("src_intf")
    search = tables.row("DNS_OPTIONS", "GLOBAL").words("search")
    banner = tables.row("BANNER_MESSAGE", "global")
    banner.text("state")
    ntp: list[str] = []
    for row in tables.rows("NTP_SERVER"):
        row.text("iburst")
        ntp.append(row.key)
    return Management(
        domain=search[0] if search else "",
        dns=dns,
        ntp=tuple(ntp),
        time_zone=tables.row("DEVICE_METADATA", "localhost").text("timezone") or "UTC",
        syslog=tuple(_syslog(row) for row in tables.rows("SYSLOG_SERVER")),
        snmp=_snmp(tables),
        services=_services(tables),
        lldp=_lldp(tables),
        banner=banner.text("login"),
        security=_security(tables, interfaces),
    )


def _syslog(row: Row) -> Syslog:
    row.text("vrf")
    severity = _SEVERITIES.get(row.text("severity").casefold() or "notice")
    if severity is None:
        row.leave("severity")
    given = row.number("port") if "port" in row.fields else None
    return Syslog(row.key, given or 514, severity or "notice")


def _lldp(tables: Rows) -> bool:
    """Return whether LLDP runs: its container does; no daemon reads the table ``LLDP``."""
    state = tables.row("FEATURE", "lldp").text("state") if tables.has("FEATURE") else "enabled"
    return state != "disabled"


def _snmp(tables: Rows) -> Snmp | None:
    """The agent: it runs where its container does."""
    state = tables.row("FEATURE", "snmp").text("state")
    location, contact = tables.row("SNMP", "LOCATION").text("Location"), tables.row("SNMP", "CONTACT")
    names = [contact.text(name) for name in contact.fields]
    communities: list[str] = []
    for row in tables.rows("SNMP_COMMUNITY"):
        if not row.says("TYPE", "ro"):
            row.leave("TYPE")
        communities.append(secret(row.key))
    users = {row.key: _snmp_user(row) for row in tables.rows("SNMP_USER")}
    if state == "disabled" or not (state or location or names or communities or users):
        return None
    return Snmp(location, names[0] if names else "", communities[0] if communities else None, users)


def _snmp_user(row: Row) -> SnmpUser:
    expected = {
        "SNMP_USER_TYPE": "Priv",
        "SNMP_USER_PERMISSION": "RO",
        "SNMP_USER_AUTH_TYPE": "HMAC-SHA-2",
        "SNMP_USER_ENCRYPTION_TYPE": "AES",
    }
    for name, value in expected.items():
        if row.text(name) != value:
            row.leave(name)
    return SnmpUser(secret(row.text("SNMP_USER_AUTH_PASSWORD")), secret(row.text("SNMP_USER_ENCRYPTION_PASSWORD")))


def _services(tables: Rows) -> Services:
    """gNMI, where its container runs; which certificate it has the text does not say."""
    for name in ("ca_crt", "server_crt", "server_key"):
        tables.row("GNMI", "certs").text(name)
    given = tables.row("GNMI", "gnmi")
    given.text("client_auth")
    given.text("vrf")
    on = tables.row("FEATURE", "gnmi").says("state", "enabled")
    port = given.number("port") if given.line else None
    usual = Services()
    return Services(
        netconf=False, grpc_certificate="secret:?" if on and given.line else None, grpc_port=port or usual.grpc_port
    )


def _security(tables: Rows, interfaces: Sequence[Interface]) -> Security | None:
    found = Security(_login(tables), _aaa(tables), _edge_ports(tables, interfaces))
    return None if found == Security() else found


def _login(tables: Rows) -> Login | None:
    ssh, serial = tables.row("SSH_SERVER", "POLICIES"), tables.row("SERIAL_CONSOLE", "POLICIES")
    if not ssh.line:
        return None
    usual = Login()
    attempts = ssh.number("authentication_retries") if "authentication_retries" in ssh.fields else None
    idle = ssh.number("inactivity_timeout") if "inactivity_timeout" in ssh.fields else None
    if serial.text("inactivity_timeout") != ssh.text("inactivity_timeout"):
        serial.leave("inactivity_timeout")
    return Login(attempts=usual.attempts if attempts is None else attempts, idle=usual.idle if idle is None else idle)


def _aaa(tables: Rows) -> Aaa | None:
    """Servers that know logins, in the order asked: the highest priority first."""
    own = tables.row("TACPLUS", "global")
    own.text("src_intf")
    common = own.text("passkey")
    row = tables.row("AAA", "authentication")
    asked = row.words("login")
    if not row.says("failthrough", "false", ""):
        row.leave("failthrough")
    tacacs = _servers(tables, "TACPLUS_SERVER", "tcp_port", _TACACS, common)
    radius = _servers(tables, "RADIUS_SERVER", "auth_port", _RADIUS, tables.row("RADIUS", "global").text("passkey"))
    found = Aaa(tacacs=tacacs, radius=radius)
    if asked and asked != [*found.groups(), "local"]:
        row.leave("login")
    return found if found.groups() else None


def _servers(tables: Rows, table: str, port_field: str, usual: int, common: str) -> tuple[LoginServer, ...]:
    found: list[tuple[int, LoginServer]] = []
    for row in tables.rows(table):
        row.text("vrf")
        given = row.number(port_field) if port_field in row.fields else None
        timeout = row.number("timeout") if "timeout" in row.fields else None
        order = row.number("priority") if "priority" in row.fields else None
        key = secret(row.text("passkey") or common)
        server = LoginServer(row.key, key, None if given in {usual, None} else given, 5 if timeout is None else timeout)
        found.append((_FIRST if order is None else order, server))
    return tuple(server for _, server in sorted(found, key=lambda one: -one[0]))


def _edge_ports(tables: Rows, interfaces: Sequence[Interface]) -> EdgePorts | None:
    """The limit of floods on server ports, as a percentage of their speed, where all have the same."""
    speeds = {one.name: one.speed_gbps for one in interfaces}
    percents: dict[int, list[Row]] = {}
    for row in tables.rows("PORT_STORM_CONTROL"):
        name, _, kind = row.key.partition("|")
        kbps = row.number("kbps")
        speed = speeds.get(name)
        if kbps is None or not speed or kind not in STORMS:
            row.leave("kbps")
        elif kbps != MOST_KBPS:
            percents.setdefault(kbps // (speed * 10_000), []).append(row)
    if not percents:
        return None
    most = max(percents, key=lambda one: len(percents[one]))
    for percent, rows in percents.items():
        for row in rows if percent != most else ():
            row.leave("kbps")
    return EdgePorts(bpdu_guard=False, storm_control=most)
