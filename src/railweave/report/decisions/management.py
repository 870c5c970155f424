"""The management plane of the switches: what the fabric file says of it, what is a default, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.intent.management import Management
from railweave.report.decisions.statement import Decision

if TYPE_CHECKING:
    from railweave.network.model import Network


def management_decision(network: Network) -> Decision:
    """Addresses, time, names, logs, logins and services, each with what a switch does without it."""
    management = network.management
    defaults = Management()
    gateways = dict.fromkeys(one.management_gateway for one in network.switches)
    pool = str(management.pool) + (", the default" if management.pool == defaults.pool else "")
    gateway = ", ".join(gateways) + ("" if management.gateway else ", the first address of the pool, a default")
    logs = ", ".join(f"{one.host}:{one.port} from {one.severity} on" for one in management.syslog)
    users = ", ".join(f"{name} ({one.role})" for name, one in management.users.items())
    services = ["SSH", *(["NETCONF over SSH"] if management.services.netconf else [])]
    services += [f"gNMI on port {management.services.grpc_port}"] if management.services.grpc_certificate else []
    missing = [
        word
        for word, given in (("time", management.ntp), ("names", management.dns), ("logs", management.syslog))
        if not given
    ]
    return Decision(
        "Management",
        f"management network {pool}"
        + (f"; no server for {', '.join(missing)} is in the fabric file" if missing else ""),
        "Switches are reached over their management ports, in a network of its own that carries no GPU traffic.",
        (
            ("Gateway", gateway),
            ("Time (NTP)", ", ".join(management.ntp) or "none: clocks drift apart, and logs cannot be put in order"),
            ("Names (DNS)", ", ".join(management.dns) or "none"),
            ("Domain", management.domain or "none"),
            ("Remote syslog", logs or "none: logs stay on the switch"),
            ("SNMP", _snmp(management)),
            ("Logins", users or "none"),
            ("Root password", "given as a secret" if management.root_password else "none"),
            ("Services", ", ".join(services) + ("; LLDP on every cabled port" if management.lldp else "; no LLDP")),
            (
                "Time zone",
                management.time_zone + (", the default" if management.time_zone == defaults.time_zone else ""),
            ),
        ),
    )


def _snmp(management: Management) -> str:
    snmp = management.snmp
    if snmp is None:
        return "off"
    found = ["community (v2c, read-only)"] if snmp.community else []
    found += [f"v3 users {', '.join(snmp.users)}"] if snmp.users else []
    found += [f"traps to {', '.join(map(str, snmp.trap_targets))}"] if snmp.trap_targets else []
    return ", ".join(found) or "on, without a community or user"
