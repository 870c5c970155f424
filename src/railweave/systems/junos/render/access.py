"""Who logs in and how: limits, servers that know logins; what layer-2 server ports may send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.names import MANAGEMENT_INSTANCE
from railweave.systems.junos.tree import Statement, block, choices, entry, leaf

if TYPE_CHECKING:
    from railweave.model.device.management import LoginServer, Management, Snmp
    from railweave.model.device.model import DeviceConfig

REMOTE_USER = "remote"
"""Junos's name for what users get whom only a server knows."""

STORM_PROFILE = "server-ports"
SNMP_GROUP = "railweave"
VIEW = "all"
BPDU_SHUT_S = 300
"""How long a port stays shut that has heard a bridge."""


def login_limits(wanted: Management) -> list[Statement | None]:
    """Of ``system login``: wrong passwords, lockout, idle sessions."""
    limits = wanted.login()
    if limits is None:
        return []
    return [
        block(
            "retry-options",
            leaf("tries-before-disconnect", limits.attempts),
            leaf("lockout-period", limits.lockout),
        ),
        leaf("idle-timeout", limits.idle),
    ]


def remote_user(wanted: Management) -> Statement | None:
    """The template of users whom only servers know; without it Junos lets none of them in."""
    servers = wanted.aaa()
    if servers is None or REMOTE_USER in wanted.users:
        return None
    return block(("user", REMOTE_USER), leaf("class", servers.role))


def login_servers(wanted: Management) -> list[Statement | None]:
    """Order and servers. Without ``password`` in the order local users log in only where no server answers."""
    servers = wanted.aaa()
    if servers is None:
        return []
    words = {"tacacs+": "tacplus", "radius": "radius"}
    return [
        choices("authentication-order", [words[one] for one in servers.groups()]),
        *(_server("radius-server", one) for one in servers.radius),
        *(_server("tacplus-server", one) for one in servers.tacacs),
    ]


def _server(word: str, server: LoginServer) -> Statement | None:
    return block(
        (word, server.host),
        leaf("routing-instance", MANAGEMENT_INSTANCE),
        leaf("port", server.port) if server.port else None,
        leaf("secret", f"<{server.key}>"),
        leaf("timeout", server.timeout),
    )


def snmp_clients(snmp: Snmp) -> Statement | None:
    """Who may ask with the community; all others may not."""
    return block("clients", [entry(prefix) for prefix in snmp.clients]) if snmp.clients else None


def readers(snmp: Snmp) -> Statement | None:
    """``v3 vacm``: users read everything, encrypted; without it Junos answers no user (RFC 3415)."""
    level = block("security-level privacy", leaf("read-view", VIEW))
    group = block(("group", SNMP_GROUP), block("default-context-prefix", block("security-model usm", level)))
    members = [block(("security-name", name), leaf("group", SNMP_GROUP)) for name in snmp.users]
    if not members:
        return None
    return block("vacm", block("security-to-group", block("security-model usm", members)), block("access", group))


def storm_profile(config: DeviceConfig) -> Statement | None:
    """Of ``forwarding-options``: the share of a server port that floods may take."""
    percent = config.storm_control()
    if percent is None:
        return None
    return block(("storm-control-profiles", STORM_PROFILE), block("all", leaf("bandwidth-percentage", percent)))


def bpdu_block(config: DeviceConfig) -> Statement | None:
    """``protocols layer2-control``: server ports that hear a bridge are shut for a while."""
    if not config.bpdu_guard():
        return None
    ports = [entry("interface", one.name) for one in config.edge_ports()]
    return block("layer2-control", block("bpdu-block", ports, leaf("disable-timeout", BPDU_SHUT_S)))
