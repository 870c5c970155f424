"""The management plane of the switches: what the fabric file says of it, what is a default, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.intent.management import Management
from railweave.outputs.report.decisions.statement import Decision

if TYPE_CHECKING:
    from railweave.model.network.model import Network


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
    known = any("eapi" in catalog().systems[one].capabilities for one in {switch.nos for switch in network.switches})
    services += ["eAPI"] if management.services.eapi and known else []
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
            *_protection(management),
            ("Root password", "given as a secret" if management.root_password else "none"),
            ("Services", ", ".join(services) + ("; LLDP on every cabled port" if management.lldp else "; no LLDP")),
            (
                "Time zone",
                management.time_zone + (", the default" if management.time_zone == defaults.time_zone else ""),
            ),
        ),
    )


def _protection(management: Management) -> list[tuple[str, str]]:
    """What `security` of the file protects; nothing is said where the file has none."""
    security = management.security
    if security is None:
        return []
    found: list[tuple[str, str]] = []
    if security.aaa and (security.aaa.tacacs or security.aaa.radius):
        servers = [f"TACACS+ {one.host}" for one in security.aaa.tacacs]
        servers += [f"RADIUS {one.host}" for one in security.aaa.radius]
        found.append(("Login servers", f"{', then '.join(servers)}; local users where none answers"))
    if security.login:
        limits = security.login
        locked = f"{limits.attempts} wrong passwords, {limits.lockout} minutes of lockout"
        found.append(("Login limits", f"{locked}, {limits.idle} minutes until an idle session ends"))
    if security.control_plane:
        given = security.control_plane.management_prefixes
        prefixes = ", ".join(given) or f"{management.pool}, the management network"
        found.append(
            ("Control plane", f"filtered: managed from {prefixes}; the switch's own sessions; the rest is dropped")
        )
    if security.edge_ports:
        edge = security.edge_ports
        guards = ["shut where a bridge is heard"] if edge.bpdu_guard else []
        guards += [f"floods up to {edge.storm_control} %"] if edge.storm_control is not None else []
        found.append(("Layer-2 server ports", ", ".join(guards) or "not guarded"))
    return found


def _snmp(management: Management) -> str:
    snmp = management.snmp
    if snmp is None:
        return "off"
    found = ["community (v2c, read-only)"] if snmp.community else []
    if snmp.community and snmp.clients:
        found[0] += f" for {', '.join(snmp.clients)}"
    found += [f"v3 users {', '.join(snmp.users)}"] if snmp.users else []
    found += [f"traps to {', '.join(map(str, snmp.trap_targets))}"] if snmp.trap_targets else []
    return ", ".join(found) or "on, without a community or user"
