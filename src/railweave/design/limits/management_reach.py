"""Checks that find management servers and clients which the switches' control-plane filter would block."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.design.context import Context
    from railweave.model.intent.management import Management
    from railweave.model.intent.reading.document import Location

SHUT_OUT = Rule(
    id="management-shut-out",
    severity="warning",
    applies="design",
    fault="a server or SNMP client under `management` is outside the prefixes that the control-plane filter accepts",
    why="the switch sends requests but drops the answers: clocks drift, names are not resolved, logins wait until "
    "the server times out",
    fix="add its address to `management.security.control_plane.management_prefixes`; that list must then contain "
    "your own prefixes too",
)
BY_NAME = Rule(
    id="management-by-name",
    severity="info",
    applies="design",
    fault="an NTP server is given by name, but the control-plane filter works by address",
    why="railweave cannot tell whether the filter accepts the server's answers; answers from outside "
    "`management_prefixes` are dropped",
    fix="give the server's address, or make sure that the addresses behind the name are inside `management_prefixes`",
)


def check_reach(context: Context) -> None:
    """Record a finding for each management host that the control-plane filter blocks.

    A host given by name cannot be compared, and also gets a finding. The filter admits the prefixes that it lists or, if it lists
    none, the management pool.
    """
    management = context.source.spec.management
    control_plane = management.security.control_plane if management.security else None
    if control_plane is None:
        return
    inside = control_plane.management_prefixes or (management.pool,)
    for description, value, at in _asked(management):
        if not _is_address(value):
            context.finding(BY_NAME, "management", at, f"{description} {value} is a name, not an address")
        elif not any(_holds(prefix, value) for prefix in inside):
            context.finding(SHUT_OUT, "management", at, f"{description} {value} is not in {', '.join(inside)}")


def _is_address(value: str) -> bool:
    try:
        ip_network(value)
    except ValueError:
        return False
    return True


def _holds(prefix: str, value: str) -> bool:
    """Return True if a prefix contains an address or another prefix."""
    outer, inner = ip_network(prefix), ip_network(value)
    if isinstance(outer, IPv6Network):
        return isinstance(inner, IPv6Network) and inner.subnet_of(outer)
    return isinstance(inner, IPv4Network) and inner.subnet_of(outer)


def _asked(management: Management) -> Iterator[tuple[str, str, Location]]:
    """Yield (description, host, key path in the file) for each host in ``management`` with which switches exchange queries.

    The host is an address, a prefix or a name. Syslog servers and SNMP trap receivers are left out, because they only receive.
    """
    for place, host in enumerate(management.ntp):
        yield "NTP server", host, ("management", "ntp", place)
    for place, host in enumerate(management.dns):
        yield "name server", host, ("management", "dns", place)
    aaa = management.security.aaa if management.security else None
    for kind, servers in (("tacacs", aaa.tacacs), ("radius", aaa.radius)) if aaa else ():
        word = {"tacacs": "TACACS+", "radius": "RADIUS"}[kind]
        for place, server in enumerate(servers):
            yield f"{word} server", server.host, ("management", "security", "aaa", kind, place, "host")
    for place, prefix in enumerate(management.snmp.clients if management.snmp else ()):
        yield "SNMP client", prefix, ("management", "snmp", "clients", place)
