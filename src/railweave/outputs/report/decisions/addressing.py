"""Decisions about the addresses of servers (prefixes, VLANs, address mode) and about the management of switches."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.device.host import host_config
from railweave.model.intent.management import Management
from railweave.outputs.report.decisions.statement import Decision, Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.network.devices import Fabric, Segment
    from railweave.model.network.model import Network


def management_decision(network: Network) -> Decision:
    """Return the decision about management: addresses, time, names, logs, logins and services, and the effect of missing settings."""
    management = network.management
    defaults = Management()
    gateways = dict.fromkeys(switch.management_gateway for switch in network.switches)
    pool = str(management.pool) + (", the default" if management.pool == defaults.pool else "")
    gateway = ", ".join(gateways) + ("" if management.gateway else ", the first address of the pool, a default")
    logs = ", ".join(f"{server.host}:{server.port} from {server.severity} on" for server in management.syslog)
    users = ", ".join(f"{name} ({user.role})" for name, user in management.users.items())
    services = ["SSH", *(["NETCONF over SSH"] if management.services.netconf else [])]
    known = any("eapi" in catalog().systems[nos].capabilities for nos in {switch.nos for switch in network.switches})
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
    """Return the protections that ``management`` has from the fabric file's `security` block, as (title, text); [] without such a block."""
    security = management.security
    if security is None:
        return []
    facts: list[tuple[str, str]] = []
    if security.aaa and (security.aaa.tacacs or security.aaa.radius):
        servers = [f"TACACS+ {server.host}" for server in security.aaa.tacacs]
        servers += [f"RADIUS {radius_server.host}" for radius_server in security.aaa.radius]
        facts.append(("Login servers", f"{', then '.join(servers)}; local users where none answers"))
    if security.login:
        limits = security.login
        locked = f"{limits.attempts} wrong passwords, {limits.lockout} minutes of lockout"
        facts.append(("Login limits", f"{locked}, {limits.idle} minutes until an idle session ends"))
    if security.control_plane:
        given = security.control_plane.management_prefixes
        prefixes = ", ".join(given) or f"{management.pool}, the management network"
        facts.append(
            ("Control plane", f"filtered: managed from {prefixes}; the switch's own sessions; the rest is dropped")
        )
    if security.edge_ports:
        edge = security.edge_ports
        guards = ["shut where a bridge is heard"] if edge.bpdu_guard else []
        guards += [f"floods up to {edge.storm_control} %"] if edge.storm_control is not None else []
        facts.append(("Layer-2 server ports", ", ".join(guards) or "not guarded"))
    return facts


def _snmp(management: Management) -> str:
    snmp = management.snmp
    if snmp is None:
        return "off"
    parts = ["community (v2c, read-only)"] if snmp.community else []
    if snmp.community and snmp.clients:
        parts[0] += f" for {', '.join(snmp.clients)}"
    parts += [f"v3 users {', '.join(snmp.users)}"] if snmp.users else []
    parts += [f"traps to {', '.join(map(str, snmp.trap_targets))}"] if snmp.trap_targets else []
    return ", ".join(parts) or "on, without a community or user"


def addressing_decision(network: Network, fabric: Fabric) -> Decision:
    """Return the decision about servers' prefixes and VLANs, and about the method by which servers get their addresses."""
    mine = [segment for segment in network.segments if segment.fabric == fabric.name]
    servers = [segment for segment in mine if not segment.edge]
    on_vlans = [server for server in servers if server.vlan is not None]
    routed = [server for server in servers if server.vlan is None]
    facts = _prefixes(fabric, on_vlans, routed)
    if servers:
        facts += _vlans(fabric, on_vlans, routed)
    if fabric.edge_ports:
        ends = ", ".join(
            f"{edge_port.name} on {edge_port.leaf} {edge_port.port}" for edge_port in fabric.edge_ports[:8]
        )
        more = f" and {len(fabric.edge_ports) - 8} more" if len(fabric.edge_ports) > 8 else ""
        prefixes = counted(
            sum(len(edge_segment.subnets) for edge_segment in mine if edge_segment.edge), "prefix", "prefixes"
        )
        facts.append(("Edge ports", f"{ends}{more}: routed, with {prefixes} of the fabric file"))
    facts.append(("Allowed prefixes", f"{', '.join(fabric.local_prefixes)}: policies let in nothing else"))
    chosen, why, of_mode = _mode(fabric)
    rows = [row for kind in (on_vlans, routed) for row in _examples(fabric, kind)]
    return Decision(
        "Addressing",
        chosen,
        why,
        tuple(facts + of_mode + _tables(network, fabric)),
        (Grid(("Example", "Path color", "Prefix", "Gateway"), tuple(rows)),) if rows else (),
    )


def _prefixes(fabric: Fabric, on_vlans: Sequence[Segment], routed: Sequence[Segment]) -> list[tuple[str, str]]:
    """Return the number and the address pools of server prefixes as (title, text), separately for VLANs and routed ports.

    ``on_vlans`` and ``routed`` are the segments (a leaf port or VLAN with its servers) of these two kinds.
    """
    if on_vlans and routed:
        return [
            ("Server prefixes on VLANs", _prefixes_of(fabric, on_vlans, "rail, stripe")),
            ("Server prefixes on routed ports", _prefixes_of(fabric, routed, "NIC")),
        ]
    of_nics = bool(routed) or fabric.own_links
    return [("Server prefixes", _prefixes_of(fabric, on_vlans or routed, "NIC" if of_nics else "rail, stripe"))]


def _prefixes_of(fabric: Fabric, segments: Sequence[Segment], each: str) -> str:
    pools = _pools(fabric, segments)
    prefixes = counted(sum(len(segment.subnets) for segment in segments), "prefix", "prefixes")
    family = ", address family" if len({":" in pool for pool in pools}) > 1 else ""
    return f"{prefixes} from {' and '.join(pools)}, one per {each}{family} and path color"


def _pools(fabric: Fabric, segments: Sequence[Segment]) -> list[str]:
    """Return the address pools of the server prefixes of segments.

    These are the pools of the segments' tenants or, if these tenants have no pools, the server pools of the fabric. If the fabric file also
    has ``other_links`` with address pools, return only those of all these pools that contain a gateway of the segments.
    """
    used = (fabric.pools_of(segment.tenant) for segment in segments if segment.subnets and not segment.network)
    pools = list(dict.fromkeys(pool for of_tenant in used for pool in of_tenant)) or list(fabric.server_pools)
    if not fabric.other_pools:
        return pools
    gateways = [ipaddress.ip_address(net.gateway) for segment in segments for net in segment.subnets]
    every = [ipaddress.ip_network(pool) for pool in (*pools, *fabric.other_pools)]
    return [str(pool) for pool in every if any(gateway in pool for gateway in gateways)]


def _vlans(fabric: Fabric, on_vlans: Sequence[Segment], routed: Sequence[Segment]) -> list[tuple[str, str]]:
    """Return the VLANs of servers as (title, text): VLANs with prefixes, and tagged VLANs without a gateway.

    ``on_vlans`` and ``routed`` are the fabric's segments on VLANs and on routed ports.
    """
    if not on_vlans:
        return [("VLANs", "none: every NIC is on a routed port of its leaf")]
    first, last = on_vlans[0].vlan, on_vlans[-1].vlan
    native = ", the native one of trunk ports" if fabric.link_of(first) == "trunk" else ""
    words = f"{first} to {last}, one per rail and stripe, local to its leaf{native}"
    if routed:
        words += f"; {counted(len(routed), 'NIC')} on routed ports of leaves without a VLAN"
    facts = [("VLANs", words)]
    if fabric.tagged_vlans:
        numbers = ", ".join(str(tagged_vlan) for tagged_vlan in fabric.tagged_vlans)
        facts.append(
            ("Tagged VLANs", f"{numbers} on the same trunk ports: layer 2 inside each leaf, without a gateway")
        )
    return facts


def _examples(fabric: Fabric, segments: Sequence[Segment]) -> list[tuple[str, ...]]:
    """Return table rows with the first eight prefixes of the first segment (a leaf port or VLAN with its servers), as an example.

    Each row has four texts: the NIC (for a VLAN, the stripe and the rail), the path color, the prefix, and the gateway. Return an empty
    list without segments.
    """
    return [
        (
            first.nic.replace(":", " ") or f"{first.stripe} rail {first.rail}",
            fabric.color_name(subnet.color),
            subnet.prefix,
            subnet.gateway,
        )
        for first in segments[:1]
        for subnet in first.subnets[:8]
    ]


def _mode(fabric: Fabric) -> tuple[str, str, list[tuple[str, str]]]:
    """Return (how NICs get their addresses, the reason, further facts as (title, text))."""
    if fabric.server_mode == "slaac":
        advertised = fabric.router_advertisements
        words = (
            f"every {advertised.min_interval} to {advertised.max_interval} s, "
            f"prefix valid {advertised.prefix_valid_lifetime:,} s, preferred "
            f"{advertised.prefix_preferred_lifetime:,} s, router lifetime {advertised.router_lifetime:,} s"
        )
        return (
            "SLAAC: NICs form their addresses from router advertisements",
            (
                "An address per path color needs no address server: the leaf advertises one prefix per color, "
                "and the NIC's MAC does the rest."
            ),
            [("Router advertisements", words)],
        )
    facts: list[tuple[str, str]] = []
    if fabric.server_link == "proxy-arp":
        subnet = (
            f"every NIC has {fabric.server_pool} as its subnet; leaves answer for what is not on the link (proxy ARP)"
        )
        facts.append(("One subnet", subnet))
    return (
        "static: NIC addresses are numbered by server",
        "Addresses follow from the number that the server was allocated and do not change with the NIC's MAC.",
        facts,
    )


def _tables(network: Network, fabric: Fabric) -> list[tuple[str, str]]:
    """Return the facts, as (title, text), about the servers' routing tables, one for each source address.

    With these tables, a server replies from the address to which a packet was sent. The list is empty if no NIC has an address.
    """
    server = next((server for server in network.servers if any(nic.fabric == fabric.name for nic in server.nics)), None)
    nics = host_config(network, server.name).nics_of(fabric.name) if server else []
    nics = [nic for nic in nics if nic.addresses]  # NICs that are reserved for a tenant have no addresses
    if not nics:
        return []
    first, last = nics[0].addresses[0], nics[-1].addresses[-1]
    words = (
        f"a table per address: {first.table} ({first.table_name}) to {last.table} "
        f"({last.table_name}) on every server, chosen by rules on the source"
    )
    return [("Source routing on servers", words)]
