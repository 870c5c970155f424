"""Rendering of management in the VRF ``MGMT`` (identity, logins, time, syslog, SNMP, LLDP, APIs), and of the control plane's access lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, line, section
from railweave.systems.eos import names
from railweave.systems.eos.render.keys import key_profile
from railweave.systems.eos.statements import lldp_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.device.control_plane import ControlPlane, ControlRule, PortRange
    from railweave.model.device.management import LoginServer, Management, Snmp
    from railweave.model.device.model import DeviceConfig, Gateway, Interface


REMOTE_ROLES = {"super-user": "network-admin", "operator": "network-operator", "read-only": "network-operator"}


def logins(wanted: Management) -> Iterator[Section]:
    """Yield the lines about the order of login methods, the login servers, and the limits of sessions.

    EOS accepts local users if no login server answers. ``wanted`` has the management settings of the device.
    """
    servers, limits = wanted.aaa(), wanted.login()
    methods = "local"
    if servers:
        methods = " ".join((*(f"group {group}" for group in servers.groups()), "local"))
        for server in servers.tacacs:
            yield line(_server("tacacs-server", server, "port"))
        for server in servers.radius:
            yield line(_server("radius-server", server, "auth-port"))
        for word in servers.groups():
            yield line(f"ip {word.rstrip('+')} vrf {names.MANAGEMENT_VRF} source-interface {names.MANAGEMENT_PORT}")
        yield line(f"aaa authorization policy local default-role {REMOTE_ROLES[servers.role]}")
    if limits:
        yield line(f"aaa authentication policy lockout failure {limits.attempts} duration {60 * limits.lockout}")
        yield section("management console", f"idle-timeout {limits.idle}")
    if wanted.users or servers:
        yield line(f"aaa authentication login default {methods}")
        yield line(f"aaa authorization exec default {methods}")


def _server(word: str, server: LoginServer, port: str) -> str:
    """Return the line of a login server (EOS manual, User Security).

    - ``word``: the protocol, for example ``radius-server``.
    - ``port``: the keyword before the port number. The line has a port only if it is not the default of the protocol.
    """
    ported = f" {port} {server.port}" if server.port else ""
    return f"{word} host {server.host} vrf {names.MANAGEMENT_VRF}{ported} timeout {server.timeout} key 0 {names.secret(server.key)}"


def idle_timeout(wanted: Management) -> str | None:
    """Return the line with the idle time of an SSH session in minutes, or None if idle sessions have no limit.

    ``wanted`` has the management settings of the device.
    """
    limits = wanted.login()
    return f"idle-timeout {limits.idle}" if limits else None


def snmp_lists(snmp: Snmp | None) -> Iterator[Section]:
    """Yield the access lists of the clients that may use the SNMP community.

    There is a list for each address family, because without a list EOS would accept all clients of the family.
    """
    if snmp is None or not snmp.community or not snmp.clients:
        return
    for word, family in (("ip", "ipv4"), ("ipv6", "ipv6")):
        prefixes = [client for client in snmp.clients if client.family == family]
        entries = [f"permit {prefix}" for prefix in prefixes] + ["deny any"]
        numbered = [f"{10 * place} {text}" for place, text in enumerate(entries, 1)]
        yield section(f"{word} access-list standard {names.SNMP_CLIENTS}", numbered)


def community(snmp: Snmp) -> str:
    """Return the line of the SNMP community."""
    lists = f" ipv6 {names.SNMP_CLIENTS} {names.SNMP_CLIENTS}" if snmp.clients else ""
    return f"snmp-server community {names.secret(snmp.community or '')} ro{lists}"


def edge_port(config: DeviceConfig, port: Interface) -> list[str]:
    """Return the lines that protect a layer-2 server port: storm control and BPDU guard.

    BPDU guard shuts down the port if a bridge is detected.
    """
    if port not in config.edge_ports():
        return []
    percent = config.storm_control()
    kinds = ("broadcast", "multicast", "unknown-unicast") if percent else ()
    lines = [f"storm-control {kind} level {percent}" for kind in kinds]
    guard = ["spanning-tree portfast", "spanning-tree bpduguard enable"] if config.bpdu_guard() else []
    return [*lines, *guard]


IP: dict[Family, str] = {"ipv4": "ip", "ipv6": "ipv6"}
_ICMP: dict[Family, str] = {"ipv4": "icmp", "ipv6": "icmpv6"}
_HOP_LIMIT: dict[Family, str] = {"ipv4": "ttl", "ipv6": "hop-limit"}


def control_plane(config: DeviceConfig) -> Iterator[Section]:
    """Yield the access lists, and the lines that apply them to the control plane."""
    wanted = config.protection
    if wanted is None:
        return
    for family, ip in IP.items():
        yield _list(ip, names.CONTROL_PLANE_LISTS[family], _permitted(wanted, wanted.of("network", family)))
        yield _list(ip, names.MANAGEMENT_LISTS[family], _permitted(wanted, wanted.of("management", family)))
        if drops := _dropped(wanted, family):
            yield _list(ip, names.SERVER_LISTS[family], [*drops, f"permit {ip} any any"])
    bound: list[str] = []
    for family, ip in IP.items():
        bound += [f"{ip} access-group {names.CONTROL_PLANE_LISTS[family]}{vrf} in" for vrf in _vrfs(config)]
        bound.append(f"{ip} access-group {names.MANAGEMENT_LISTS[family]} vrf {names.MANAGEMENT_VRF} in")
    yield section("system control-plane", bound)


def on_gateway(config: DeviceConfig, gateway: Gateway) -> list[str]:
    """Return the line that applies an access list to a gateway's interface; empty if nothing is dropped there."""
    dropped = {rule.family for rule in (config.protection.server_ports if config.protection else ())}
    return [
        f"{IP[family]} access-group {names.SERVER_LISTS[family]} in"
        for family in sorted(gateway.families)
        if family in dropped
    ]


def _vrfs(config: DeviceConfig) -> list[str]:
    return ["", *(f" vrf {vrf.name}" for vrf in config.vrfs)]


def _list(ip: str, name: str, lines: Iterable[str]) -> Section:
    numbered = [f"{10 * place} {line}" for place, line in enumerate(lines, 1)]
    return section(f"{ip} access-list {name}", "counters per-entry", numbered)


def _permitted(wanted: ControlPlane, rules: Iterable[ControlRule]) -> list[str]:
    """Return a permit line for each source and port range of ``rules``, then a line that denies all other packets.

    ``wanted`` has the source prefixes of each rule. All rules have the same address family.
    """
    lines: list[str] = []
    family: Family = "ipv4"
    for rule in rules:
        family = rule.family
        lines += _lines(rule, wanted.source(rule).prefixes)
    return [*dict.fromkeys(lines), f"deny {IP[family]} any any"]


def _lines(rule: ControlRule, sources: tuple[Prefix, ...]) -> Iterator[str]:
    if rule.protocol == "icmp":
        # As in EOS's own list: all ICMP types, because the switch itself limits the rate of ICMP.
        yield f"permit {_ICMP[rule.family]} any any"
        return
    hop_limit = f" {_HOP_LIMIT[rule.family]} eq {rule.hop_limit}" if rule.hop_limit is not None else ""
    more = (" established" if rule.established else "") + hop_limit
    for source in map(_address, sources or ("any",)):
        for sent in map(_port, rule.source_ports or (None,)):
            for received in map(_port, rule.destination_ports or (None,)):
                yield f"permit {rule.protocol} {source}{sent} any{received}{more}"


def _dropped(wanted: ControlPlane, family: Family) -> list[str]:
    rules = [rule for rule in wanted.server_ports if rule.family == family]
    return [
        f"deny {rule.protocol} any {_address(where)}{_port(ports)}"
        for rule in rules
        for where in rule.destinations
        for ports in rule.destination_ports
    ]


def _address(prefix: str) -> str:
    address, _, length = prefix.partition("/")
    return f"host {address}" if length == ("128" if ":" in address else "32") else prefix


def _port(ports: PortRange | None) -> str:
    if ports is None:
        return ""
    first, last = ports
    return f" eq {first}" if first == last else f" range {first} {last}"


ROLES = {"super-user": (15, "network-admin"), "operator": (1, "network-operator"), "read-only": (1, "network-operator")}
"""The (privilege level, role) of a user, by the user's rights. EOS has two predefined roles."""

SEVERITIES = {
    "emergency": "emergencies",
    "alert": "alerts",
    "critical": "critical",
    "error": "errors",
    "warning": "warnings",
    "notice": "notifications",
    "info": "informational",
    "any": "debugging",
}
"""EOS's name of each syslog severity. The most severe comes first."""


def trap_level(wanted: Management) -> str | None:
    """Return EOS's name of the severity down to which messages are sent to log servers, or None if there is no server.

    EOS has one level for all servers, so the most detailed level that a server needs applies. ``wanted`` has the management settings of the
    device.
    """
    order = list(SEVERITIES)
    levels = [order.index(syslog.severity) for syslog in wanted.syslog]
    return SEVERITIES[order[max(levels)]] if levels else None


def management(config: DeviceConfig) -> Iterator[Section]:
    """Yield the lines about management, except the management port and its route."""
    wanted = config.management
    yield line(f"hostname {config.name}")
    if wanted.domain:
        yield line(f"dns domain {wanted.domain}")
    for server in wanted.dns:
        yield line(f"ip name-server vrf {names.MANAGEMENT_VRF} {server}")
    yield line("no aaa root")  # operators have their own names
    yield from _users(wanted)
    yield from logins(wanted)
    yield line(f"clock timezone {wanted.time_zone}")
    for server in wanted.ntp:
        yield line(f"ntp server vrf {names.MANAGEMENT_VRF} {server}")
    yield from _logging(wanted)
    yield from snmp_lists(wanted.snmp)
    yield from _snmp(wanted)
    yield from _lldp(config)
    if wanted.banner:
        yield line("\n".join(("banner login", *wanted.banner.splitlines(), "EOF")))
    yield from _apis(config)


def _users(wanted: Management) -> Iterator[Section]:
    for name, user in wanted.users.items():
        privilege, role = ROLES[user.role]
        how = f"secret sha512 {names.secret(user.password)}" if user.password else "nopassword"
        yield line(f"username {name} privilege {privilege} role {role} {how}")
        for place, key in enumerate(user.ssh_keys[:2]):
            yield line(f"username {name} ssh-key {'secondary ' if place else ''}{key}")


def _logging(wanted: Management) -> Iterator[Section]:
    level = trap_level(wanted)
    if level is None:
        return
    yield line(f"logging trap {level}")
    for server in wanted.syslog:
        yield line(f"logging vrf {names.MANAGEMENT_VRF} host {server.host} {server.port}")
    yield line("logging format rfc5424")


def _snmp(wanted: Management) -> Iterator[Section]:
    snmp = wanted.snmp
    if snmp is None:
        return
    if snmp.contact:
        yield line(f"snmp-server contact {snmp.contact}")
    if snmp.location:
        yield line(f"snmp-server location {snmp.location}")
    if snmp.community:
        yield line(community(snmp))
    if snmp.users:
        yield line(f"snmp-server group {names.SNMP_GROUP} v3 priv")
    for name, user in snmp.users.items():
        keys = f"auth sha256 {names.secret(user.auth)} priv aes {names.secret(user.privacy)}"
        yield line(f"snmp-server user {name} {names.SNMP_GROUP} v3 {keys}")
    if snmp.community or snmp.users:
        for target in snmp.trap_targets:
            yield line(f"snmp-server host {target} vrf {names.MANAGEMENT_VRF} {trap_form(wanted)}")
        if snmp.trap_targets:
            yield line("snmp-server enable traps")
    # Without this line, the agent listens also in the default VRF (aristanetworks/avd, examples of `snmp_server.vrfs`).
    yield line("no snmp-server vrf default")
    yield line(f"snmp-server vrf {names.MANAGEMENT_VRF}")


def trap_form(wanted: Management) -> str:
    """Return the last words of the ``snmp-server host`` statement for traps: the version, and the community or the first user.

    The result is empty if there is neither a community nor a user. ``wanted`` has the management settings of the device.
    """
    snmp = wanted.snmp
    if snmp is None or not (snmp.community or snmp.users):
        return ""
    return (
        f"version 2c {names.secret(snmp.community)}" if snmp.community else f"version 3 priv {next(iter(snmp.users))}"
    )


def _lldp(config: DeviceConfig) -> Iterator[Section]:
    yield from lldp_lines(config.management)
    if not config.management.lldp:
        return
    yield line(f"lldp management-address {config.management_address.partition('/')[0]}")
    yield line(f"lldp management-address vrf {names.MANAGEMENT_VRF}")


def _apis(config: DeviceConfig) -> Iterator[Section]:
    wanted = config.management
    yield section(
        "management ssh",
        idle_timeout(wanted),
        "authentication empty-passwords deny",
        "shutdown",  # applies to the default VRF, with its servers and fabric links
        section(f"vrf {names.MANAGEMENT_VRF}", "no shutdown"),
    )
    if wanted.services.netconf:
        yield section("management api netconf", section("transport ssh default", f"vrf {names.MANAGEMENT_VRF}"))
    if wanted.services.eapi:
        yield section(
            "management api http-commands", "no shutdown", section(f"vrf {names.MANAGEMENT_VRF}", "no shutdown")
        )
    profiles = list(key_profile(config))
    if wanted.services.grpc_certificate:
        certificate = f"certificate {names.SSL_PROFILE}.pem key {names.SSL_PROFILE}.key"
        profiles.append(section(f"ssl profile {names.SSL_PROFILE}", certificate))
    if profiles:
        yield section("management security", *profiles)
    if wanted.services.grpc_certificate:
        grpc = (f"ssl profile {names.SSL_PROFILE}", f"port {wanted.services.grpc_port}", f"vrf {names.MANAGEMENT_VRF}")
        yield section("management api gnmi", section("transport grpc default", *grpc), "provider eos-native")


def management_port(config: DeviceConfig) -> Iterator[Section]:
    """Yield the management port in its VRF, and the default route of this VRF."""
    family, default = ("ipv6", "::/0") if config.management_address.family == "ipv6" else ("ip", "0.0.0.0/0")
    yield section(
        f"interface {names.MANAGEMENT_PORT}",
        f"vrf {names.MANAGEMENT_VRF}",
        f"{family} address {config.management_address}",
    )
    yield line(f"{family} route vrf {names.MANAGEMENT_VRF} {default} {config.management_gateway}")
