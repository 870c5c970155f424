"""Who logs in and how: limits, servers that know logins; who may ask by SNMP; what server ports may send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, line, section
from railweave.systems.eos.names import MANAGEMENT_PORT, MANAGEMENT_VRF, SNMP_CLIENTS, secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.access import LoginServer
    from railweave.model.device.management import Management, Snmp
    from railweave.model.device.model import DeviceConfig, Interface

REMOTE_ROLES = {"super-user": "network-admin", "operator": "network-operator", "read-only": "network-operator"}


def logins(wanted: Management) -> Iterator[Section]:
    """Order of methods, servers, and limits. Local users log in where no server answers."""
    servers, limits = wanted.aaa(), wanted.login()
    methods = "local"
    if servers:
        methods = " ".join((*(f"group {one}" for one in servers.groups()), "local"))
        for one in servers.tacacs:
            yield line(_server("tacacs-server", one, "port"))
        for one in servers.radius:
            yield line(_server("radius-server", one, "auth-port"))
        for word in servers.groups():
            yield line(f"ip {word.rstrip('+')} vrf {MANAGEMENT_VRF} source-interface {MANAGEMENT_PORT}")
        yield line(f"aaa authorization policy local default-role {REMOTE_ROLES[servers.role]}")
    if limits:
        yield line(f"aaa authentication policy lockout failure {limits.attempts} duration {60 * limits.lockout}")
        yield section("management console", f"idle-timeout {limits.idle}")
    if wanted.users or servers:
        yield line(f"aaa authentication login default {methods}")
        yield line(f"aaa authorization exec default {methods}")


def _server(word: str, one: LoginServer, port: str) -> str:
    """The line of a server (EOS manual, User Security); only another port than the protocol's own is said."""
    ported = f" {port} {one.port}" if one.port else ""
    return f"{word} host {one.host} vrf {MANAGEMENT_VRF}{ported} timeout {one.timeout} key 0 {secret(one.key)}"


def idle_timeout(wanted: Management) -> str | None:
    """How long a session over SSH may be idle, in minutes."""
    limits = wanted.login()
    return f"idle-timeout {limits.idle}" if limits else None


def snmp_lists(snmp: Snmp | None) -> Iterator[Section]:
    """Access lists of those who may ask with the community, of both families: a list that is not there stops nobody."""
    if snmp is None or not snmp.community or not snmp.clients:
        return
    for word, family in (("ip", "ipv4"), ("ipv6", "ipv6")):
        prefixes = [one for one in snmp.clients if one.family == family]
        entries = [f"permit {one}" for one in prefixes] + ["deny any"]
        numbered = [f"{10 * place} {text}" for place, text in enumerate(entries, 1)]
        yield section(f"{word} access-list standard {SNMP_CLIENTS}", numbered)


def community(snmp: Snmp) -> str:
    """The line of the community."""
    lists = f" ipv6 {SNMP_CLIENTS} {SNMP_CLIENTS}" if snmp.clients else ""
    return f"snmp-server community {secret(snmp.community or '')} ro{lists}"


def edge_port(config: DeviceConfig, port: Interface) -> list[str]:
    """Lines of a layer-2 server port: limits of floods, and shut where a bridge is heard."""
    if port not in config.edge_ports():
        return []
    percent = config.storm_control()
    kinds = ("broadcast", "multicast", "unknown-unicast") if percent else ()
    lines = [f"storm-control {kind} level {percent}" for kind in kinds]
    guard = ["spanning-tree portfast", "spanning-tree bpduguard enable"] if config.bpdu_guard() else []
    return [*lines, *guard]
