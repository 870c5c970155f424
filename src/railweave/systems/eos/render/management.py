"""Management plane: identity, logins, name servers, time, syslog, SNMP, LLDP, APIs; all in the VRF ``MGMT``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, line, section
from railweave.systems.eos.names import MANAGEMENT_PORT, MANAGEMENT_VRF, SNMP_GROUP, SSL_PROFILE, secret
from railweave.systems.eos.render.access import community, idle_timeout, logins, snmp_lists
from railweave.systems.eos.render.keys import key_profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.management import Management
    from railweave.model.device.model import DeviceConfig

ROLES = {"super-user": (15, "network-admin"), "operator": (1, "network-operator"), "read-only": (1, "network-operator")}
"""Privilege and role of a login, by what its user may do. EOS has two roles of its own."""

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
"""EOS's words for severities, the gravest first."""


def trap_level(wanted: Management) -> str | None:
    """The level of remote logging: EOS has one for all servers, so the one that sends most."""
    order = list(SEVERITIES)
    levels = [order.index(one.severity) for one in wanted.syslog]
    return SEVERITIES[order[max(levels)]] if levels else None


def management(config: DeviceConfig) -> Iterator[Section]:
    """Everything but the management port and its route."""
    wanted = config.management
    yield line(f"hostname {config.name}")
    if wanted.domain:
        yield line(f"dns domain {wanted.domain}")
    for server in wanted.dns:
        yield line(f"ip name-server vrf {MANAGEMENT_VRF} {server}")
    yield line("no aaa root")  # nobody logs in as root: operators have names
    yield from _users(wanted)
    yield from logins(wanted)
    yield line(f"clock timezone {wanted.time_zone}")
    for server in wanted.ntp:
        yield line(f"ntp server vrf {MANAGEMENT_VRF} {server}")
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
        how = f"secret sha512 {secret(user.password)}" if user.password else "nopassword"
        yield line(f"username {name} privilege {privilege} role {role} {how}")
        for place, key in enumerate(user.ssh_keys[:2]):
            yield line(f"username {name} ssh-key {'secondary ' if place else ''}{key}")


def _logging(wanted: Management) -> Iterator[Section]:
    level = trap_level(wanted)
    if level is None:
        return
    yield line(f"logging trap {level}")
    for server in wanted.syslog:
        yield line(f"logging vrf {MANAGEMENT_VRF} host {server.host} {server.port}")
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
        yield line(f"snmp-server group {SNMP_GROUP} v3 priv")
    for name, user in snmp.users.items():
        keys = f"auth sha256 {secret(user.auth)} priv aes {secret(user.privacy)}"
        yield line(f"snmp-server user {name} {SNMP_GROUP} v3 {keys}")
    if snmp.community or snmp.users:
        for target in snmp.trap_targets:
            yield line(f"snmp-server host {target} vrf {MANAGEMENT_VRF} {trap_form(wanted)}")
        if snmp.trap_targets:
            yield line("snmp-server enable traps")
    # The agent listens in the default VRF too unless it is told not to (aristanetworks/avd, examples of `snmp_server.vrfs`).
    yield line("no snmp-server vrf default")
    yield line(f"snmp-server vrf {MANAGEMENT_VRF}")


def trap_form(wanted: Management) -> str:
    """How traps are sent: with the community, else as the first user."""
    snmp = wanted.snmp
    if snmp is None or not (snmp.community or snmp.users):
        return ""
    return f"version 2c {secret(snmp.community)}" if snmp.community else f"version 3 priv {next(iter(snmp.users))}"


def _lldp(config: DeviceConfig) -> Iterator[Section]:
    if not config.management.lldp:
        yield line("no lldp run")
        return
    yield line(f"lldp management-address {config.management_address.partition('/')[0]}")
    yield line(f"lldp management-address vrf {MANAGEMENT_VRF}")


def _apis(config: DeviceConfig) -> Iterator[Section]:
    wanted = config.management
    yield section(
        "management ssh",
        idle_timeout(wanted),
        "authentication empty-passwords deny",
        "shutdown",  # in the default VRF, where servers and fabric links are
        section(f"vrf {MANAGEMENT_VRF}", "no shutdown"),
    )
    if wanted.services.netconf:
        yield section("management api netconf", section("transport ssh default", f"vrf {MANAGEMENT_VRF}"))
    if wanted.services.eapi:
        yield section("management api http-commands", "no shutdown", section(f"vrf {MANAGEMENT_VRF}", "no shutdown"))
    profiles = list(key_profile(config))
    if wanted.services.grpc_certificate:
        certificate = f"certificate {SSL_PROFILE}.pem key {SSL_PROFILE}.key"
        profiles.append(section(f"ssl profile {SSL_PROFILE}", certificate))
    if profiles:
        yield section("management security", *profiles)
    if wanted.services.grpc_certificate:
        grpc = (f"ssl profile {SSL_PROFILE}", f"port {wanted.services.grpc_port}", f"vrf {MANAGEMENT_VRF}")
        yield section("management api gnmi", section("transport grpc default", *grpc), "provider eos-native")


def management_port(config: DeviceConfig) -> Iterator[Section]:
    """The management port in its VRF, and the way out of it."""
    family, default = ("ipv6", "::/0") if config.management_address.family == "ipv6" else ("ip", "0.0.0.0/0")
    yield section(
        f"interface {MANAGEMENT_PORT}", f"vrf {MANAGEMENT_VRF}", f"{family} address {config.management_address}"
    )
    yield line(f"{family} route vrf {MANAGEMENT_VRF} {default} {config.management_gateway}")
