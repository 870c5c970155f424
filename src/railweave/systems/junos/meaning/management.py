"""Conversion between a device's management settings and the statements of ``statements.management``."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    User,
)
from railweave.systems.junos.names import MANAGEMENT_INSTANCE
from railweave.systems.junos.statements.management import (
    GRPC_CERTIFICATE,
    NEIGHBORS,
    Account,
    Agent,
    Clients,
    Community,
    Edge,
    Key,
    Server,
    SnmpV3User,
    System,
)
from railweave.systems.junos.words import NO_ADDRESS, address, unprinted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.addresses import Address, InterfaceAddress
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.junos.read.ports import Port
    from railweave.systems.junos.words import Word

REMOTE_USER = "remote"
"""The Junos user account whose rights apply to users that exist only on a login server.

Without this account, Junos refuses such users.
"""


def system_of(config: DeviceConfig) -> System:
    """Return the statements about management. The login order has no ``password``, so local users can log in only if no server answers."""
    management = config.management
    aaa, login, services = management.aaa(), management.login(), management.services
    users = {
        name: Account(user.role, user.password, tuple(Key(key.partition(" ")[0], key) for key in user.ssh_keys))
        for name, user in management.users.items()
    }
    if aaa is not None:
        users.setdefault(REMOTE_USER, Account(aaa.role))
    certificate = services.grpc_certificate
    return System(
        name=config.name,
        domain=management.domain,
        root_password=management.root_password,
        banner=management.banner,
        attempts=login.attempts if login else None,
        lockout=login.lockout if login else None,
        idle=login.idle if login else None,
        users=users,
        order=aaa.groups() if aaa else (),
        radius=tuple(map(_server, aaa.radius)) if aaa else (),
        tacacs=tuple(map(_server, aaa.tacacs)) if aaa else (),
        netconf=services.netconf,
        netconf_rfc_compliant=services.netconf and services.netconf_rfc_compliant,
        grpc_port=services.grpc_port if certificate else None,
        certificate=GRPC_CERTIFICATE if certificate else None,
        time_zone=management.time_zone,
        dns=management.dns,
        syslog=management.syslog,
        ntp=management.ntp,
        snmp=_agent(management.snmp) if management.snmp else None,
        certificates={GRPC_CERTIFICATE: certificate} if certificate else {},
        gateway=config.management_gateway,
    )


def _server(server: LoginServer) -> Server:
    return Server(server.host, server.key, server.port or None, server.timeout)


def _agent(snmp: Snmp) -> Agent:
    inside = {MANAGEMENT_INSTANCE: Clients(snmp.clients)}
    communities = (Community(snmp.community, "read-only", snmp.clients, inside),) if snmp.community else ()
    users = {name: SnmpV3User(user.auth, user.privacy) for name, user in snmp.users.items()}
    return Agent(snmp.location, snmp.contact, communities, users, snmp.trap_targets)


def edge_of(config: DeviceConfig) -> Edge:
    """Return the statements about LLDP and about server ports with BPDU guard."""
    ports = tuple(port.name for port in config.edge_ports()) if config.bpdu_guard() else ()
    management = config.management
    address = config.management_address.address if management.lldp else None
    return Edge(address=address, guarded=ports, **Management.lldp_of(management))


def management_of(
    system: System, top: Word, ports: Iterable[Port], assigned: InterfaceAddress, *, protected: bool
) -> Management:
    """Return the management settings of a device.

    - ``top``: the root of the configuration.
    - ``assigned``: the address of the management port.
    - ``protected``: True if filters restrict access to the device.
    """
    edge = NEIGHBORS.value(top)
    if edge.address is not None and edge.address != assigned.address:
        top.add(("protocols", "lldp", "management-address", edge.address), 0, 0).mark_unknown()
    for name in system.certificates.keys() - {system.certificate}:  # a certificate for a different service
        top.add(("security", "certificates", "local", name), 0, 0).mark_unknown()
    users = {
        name: User(user.role, user.password, tuple(key.key for key in user.keys)) for name, user in system.users.items()
    }
    aaa, login, guard = _aaa(system, users), _login(system), _edge_ports(top, ports)
    certificate = system.certificates.get(system.certificate or "")
    return Management(
        domain=system.domain,
        dns=system.dns,
        ntp=system.ntp,
        time_zone=system.time_zone,
        root_password=system.root_password,
        users=users,
        syslog=system.syslog,
        snmp=_snmp(system.snmp) if system.snmp else None,
        services=Services(
            netconf=system.netconf,
            netconf_rfc_compliant=system.netconf_rfc_compliant,
            grpc_certificate=certificate,
            grpc_port=_usual(system.grpc_port, "services.grpc_port"),
        ),
        **Management.lldp_of(edge),
        banner=system.banner,
        security=Security(login, aaa, guard) if protected or login or aaa or guard else None,
    )


def _usual(value: int | None, name: str) -> int:
    return unprinted(f"management.{name}") if value is None else value


def _login(system: System) -> Login | None:
    limits = {name: getattr(system, name) for name in ("attempts", "lockout", "idle")}
    if not any(limit is not None for limit in limits.values()):
        return None
    return Login(**{name: _usual(limit, f"security.login.{name}") for name, limit in limits.items()})


def _aaa(system: System, users: dict[str, User]) -> Aaa | None:
    """Return the login servers in use, or None if there are none.

    The user account that stands for all users of these servers is removed from ``users``.
    """
    tacacs, radius = (
        tuple(
            LoginServer(
                server.host, server.key or "", server.port, _usual(server.timeout, "security.aaa.radius.timeout")
            )
            for server in servers
            if kind in system.order
        )
        for kind, servers in (("tacacs+", system.tacacs), ("radius", system.radius))
    )
    if not tacacs and not radius:
        return None
    template = users.get(REMOTE_USER)
    if template is None or template.password is not None or template.ssh_keys:
        return Aaa(tacacs, radius, "read-only")
    del users[REMOTE_USER]
    return Aaa(tacacs, radius, template.role)


def _snmp(agent: Agent) -> Snmp:
    """Return the SNMP agent with its read-only community.

    A second community, a community with write access, and users without keys are marked as not understood.
    """
    first = next((community for community in agent.communities if community.access != "read-write"), None)
    users = {
        name: SnmpUser(user.auth, user.privacy) for name, user in agent.users.items() if user.auth and user.privacy
    }
    others = (
        *(community for community in agent.communities if community is not first),
        *(user for name, user in agent.users.items() if name not in users),
    )
    for other in others:
        if other.section is not None:
            other.section.mark_unknown()
    inside = [client for clients in (first.instances.values() if first else ()) for client in clients.clients]
    return Snmp(
        location=agent.location,
        contact=agent.contact,
        community=first.name if first else None,
        users=users,
        trap_targets=agent.trap_targets,
        clients=tuple(dict.fromkeys((*first.clients, *inside))) if first else (),
    )


def gateway_of(system: System, top: Word, assigned: InterfaceAddress) -> Address:
    """Return the next hop of the management port's default route, or 0.0.0.0 if there is none. ``assigned`` is the address of this port.

    A route in the main table counts only if its next hop is in the prefix of ``assigned``. Other static routes in that table belong to the
    fabric, and are marked as not understood. ``top`` is the root of the configuration.
    """
    if system.gateway is not None:
        return system.gateway
    options = top.block("routing-options")
    for place in (options.at_path("rib", f"{MANAGEMENT_INSTANCE}.inet6.0"), options):
        for everything in ("0.0.0.0/0", "::/0"):
            route = place.at_path("static", "route", everything) if place is not None else None
            hop = route.holds("next-hop") if route is not None else None
            gateway = _address(hop.text) if hop is not None else None
            if (
                hop is not None
                and gateway
                and (place is not options or (assigned.length and assigned.prefix.holds(gateway)))
            ):
                hop.mark()
                return gateway
    return NO_ADDRESS


def _address(text: str) -> Address | None:
    try:
        return address(text)
    except ValueError:
        return None


def _edge_ports(top: Word, ports: Iterable[Port]) -> EdgePorts | None:
    """Return the protection of layer-2 server ports: BPDU guard and storm control. Return None if neither is configured.

    ``top`` is the root of the configuration.
    """
    guarded = top.at_path("protocols", "layer2-control", "bpdu-block") is not None
    profiles = {unit.storm for port in ports for unit in port.units.values() if unit.storm is not None}
    storm: int | None = None
    for name in sorted(profiles):
        storm = top.number("forwarding-options", "storm-control-profiles", name, "all", "bandwidth-percentage") or storm
    return EdgePorts(guarded, storm) if guarded or storm is not None else None
