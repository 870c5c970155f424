"""The management section of the fabric file: the operators' access to the switches, and the protection of switches and logins."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from railweave.model.intent.addresses import ManagementAddress, Prefix
from railweave.model.intent.base import Line, Model, Name, WrongValueError, check_name, secret_reference


class LoginServer(Model):
    """An authentication server."""

    host: ManagementAddress = Field(description="its address")
    port: int | None = Field(
        default=None,
        ge=1,
        le=65535,
        description="port of the server; empty: 49 for TACACS+, 1812 for RADIUS (authentication)",
    )
    key: str = Field(description="secret:NAME of the key that the server and the switches share")
    timeout: int = Field(
        default=5, ge=1, le=60, description="seconds to wait for an answer before the next server is asked"
    )

    _key = field_validator("key")(secret_reference)


def _each_once(value: tuple[LoginServer, ...]) -> tuple[LoginServer, ...]:
    hosts = [server.host for server in value]
    twice = next((host for host in hosts if hosts.count(host) > 1), None)
    if twice is not None:
        raise WrongValueError(f"server {twice} is listed twice", "name each server once")
    return value


LoginServers = Annotated[tuple[LoginServer, ...], AfterValidator(_each_once)]


class Aaa(Model):
    """The authentication servers, in the order in which switches query them: TACACS+ (RFC 8907), then RADIUS (RFC 2865).

    If no server answers, the users in the fabric file can log in. A user whom a server rejects cannot log in.
    """

    tacacs: LoginServers = Field(default=(), description="TACACS+ servers")
    radius: LoginServers = Field(default=(), description="RADIUS servers")
    role: Literal["super-user", "operator", "read-only"] = Field(
        default="read-only", description="rights of users whom the servers know but this file does not"
    )


class Login(Model):
    """The limits on logins."""

    attempts: int = Field(default=3, ge=2, le=10, description="number of wrong passwords after which the session ends")
    lockout: int = Field(default=5, ge=1, le=60, description="minutes for which the account is locked then")
    idle: int = Field(default=15, ge=1, le=60, description="minutes without input after which a session ends")


class EdgePorts(Model):
    """Protection of a switch and of other servers against harmful traffic from layer-2 server ports."""

    bpdu_guard: bool = Field(
        default=True,
        description="shut a server port that receives spanning-tree packets (BPDU): they mean that a switch is connected "
        "there",
    )
    storm_control: int | None = Field(
        default=1,
        ge=1,
        le=100,
        description="largest share of a port's speed for broadcast, multicast and unknown unicast together, percent; "
        "empty: no limit",
    )


class ControlPlane(Model):
    """The filter for traffic to the switch itself.

    The filter accepts the switch's own sessions, neighbor discovery, diagnosis and management, and counts and drops all other packets.
    """

    management_prefixes: tuple[Prefix, ...] = Field(
        default=(),
        description="prefixes from which SSH, NETCONF, gNMI and SNMP may be used, and which the NTP, DNS, TACACS+ and "
        "RADIUS servers are in; empty: `management.pool`",
    )


class Security(Model):
    """The protection of every switch in the fabric file."""

    control_plane: ControlPlane | None = Field(
        default=ControlPlane(),
        description="filter the packets to the switch itself (docs/switch-security.md); empty: no filter",
    )
    login: Login | None = Field(default=Login(), description="limits for logins; empty: the system's defaults")
    aaa: Aaa | None = Field(default=None, description="servers that check logins; empty: only `users` can log in")
    edge_ports: EdgePorts | None = Field(
        default=EdgePorts(), description="protection of layer-2 server ports; empty: none"
    )


def _host(value: str) -> str:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        return check_name(value)


Host = Annotated[str, AfterValidator(_host)]
"""An IP address or a host name."""


class User(Model):
    """A user account on every switch."""

    role: Literal["super-user", "operator", "read-only"] = Field(default="super-user", description="rights of the user")
    password: str | None = Field(default=None, description="secret:NAME of a crypt(3) hash")
    ssh_keys: tuple[Line, ...] = Field(default=(), description="public keys, as in authorized_keys")

    _password = field_validator("password")(secret_reference)


class Syslog(Model):
    """A remote syslog server."""

    host: Host = Field(description="address or name")
    port: int = Field(default=514, ge=1, le=65535, description="UDP port")
    severity: Literal["emergency", "alert", "critical", "error", "warning", "notice", "info", "any"] = Field(
        default="notice", description="lowest severity of the messages that are sent"
    )


class SnmpUser(Model):
    """An SNMPv3 user."""

    auth: str = Field(description="secret:NAME of the SHA-256 authentication key")
    privacy: str = Field(description="secret:NAME of the AES-128 privacy key")

    _secrets = field_validator("auth", "privacy")(secret_reference)


class Snmp(Model):
    """The settings of the SNMP agent."""

    location: Line = Field(default="", description="sysLocation")
    contact: Line = Field(default="", description="sysContact")
    community: str | None = Field(default=None, description="secret:NAME of a read-only v2c community")
    users: dict[Name, SnmpUser] = Field(default_factory=dict[Name, SnmpUser], description="v3 users by name")
    clients: tuple[Prefix, ...] = Field(
        default=(),
        exclude_if=lambda value: not value,
        description="prefixes that may use the community; required with `security`, because a community is sent "
        "unencrypted",
    )
    trap_targets: tuple[ManagementAddress, ...] = Field(default=(), description="addresses that receive traps")

    _community = field_validator("community")(secret_reference)


class Services(Model):
    """The management services that are enabled."""

    netconf: bool = Field(default=True, description="NETCONF over SSH (RFC 6242)")
    netconf_rfc_compliant: bool = Field(
        default=False,
        description="answers of NETCONF follow RFC 4741 and 6241 strictly (Junos rfc-compliant); most tools for Junos "
        "expect the other form",
    )
    eapi: bool = Field(
        default=True,
        exclude_if=lambda value: value,
        description="Arista's eAPI over HTTPS in the management VRF; railweave uses it to reach EOS. Other systems ignore "
        "it",
    )
    grpc_certificate: str | None = Field(
        default=None,
        description="secret:NAME of a PEM certificate with its key; it turns gNMI/gRPC telemetry on; empty: off",
    )
    grpc_port: int = Field(default=32767, ge=1024, le=65535, description="gRPC port")

    _grpc_certificate = field_validator("grpc_certificate")(secret_reference)


class Management(Model):
    """The management plane of every switch in the fabric file."""

    pool: Prefix = Field(
        default="172.20.0.0/16", description="pool of management addresses; the lock keeps the address of each device"
    )
    gateway: ManagementAddress | None = Field(
        default=None, description="default gateway; empty: the first address of the pool"
    )
    domain: Line = Field(default="", description="DNS domain")
    dns: tuple[ManagementAddress, ...] = Field(default=(), description="name servers")
    ntp: tuple[Host, ...] = Field(default=(), description="NTP servers")
    time_zone: Line = Field(default="UTC", description="time zone")
    root_password: str | None = Field(default=None, description="secret:NAME of root's crypt(3) hash")
    users: dict[Name, User] = Field(default_factory=dict[Name, User], description="logins by name")
    syslog: tuple[Syslog, ...] = Field(default=(), description="remote syslog servers")
    snmp: Snmp | None = Field(default=None, description="settings of the SNMP agent; empty: no agent")
    services: Services = Field(default=Services(), description="management services")
    lldp: bool = Field(default=True, description="LLDP on every cabled port, so that railweave can check the cabling")
    lldp_interval: int | None = Field(
        default=None,
        ge=5,
        le=254,
        exclude_if=lambda value: value is None,
        description="seconds between LLDP messages; empty: the switch's default, usually 30",
    )
    lldp_hold: int | None = Field(
        default=None,
        ge=2,
        le=10,
        exclude_if=lambda value: value is None,
        description="number of such intervals for which neighbors keep a message (IEEE 802.1AB, msgTxHold); empty: the "
        "switch's default, usually 4",
    )
    banner: str = Field(default="", description="login banner")

    @field_validator("banner")
    @classmethod
    def _not_ended(cls, value: str) -> str:
        if any(line.strip() == "EOF" for line in value.splitlines()):
            raise WrongValueError("a line of the banner is `EOF`", "remove the line: it ends the banner on EOS")
        return value

    security: Security | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="protection of the switches themselves; empty: none. `init` writes this section into new files",
    )

    @model_validator(mode="after")
    def _timers_of_lldp(self) -> Management:
        timers = [name for name in ("lldp_interval", "lldp_hold") if getattr(self, name) is not None]
        if timers and not self.lldp:
            raise WrongValueError(
                f"`{timers[0]}` is given, but `lldp` is off", f"leave `{timers[0]}` out, or turn `lldp` on"
            )
        return self

    @model_validator(mode="after")
    def _community_of_clients(self) -> Management:
        if self.security and self.snmp and self.snmp.community and not self.snmp.clients:
            raise WrongValueError(
                "anyone who reads the traffic learns the SNMP community and may use it, because it is sent unencrypted",
                "limit the clients with `snmp: {clients: [PREFIX]}`, or use v3 `users` instead",
            )
        return self

    _root_password = field_validator("root_password")(secret_reference)

    @field_validator("gateway")
    @classmethod
    def _in_the_pool(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and "pool" in info.data:  # a pool that is wrong has been reported
            pool = ipaddress.ip_network(info.data["pool"])
            if ipaddress.ip_address(value) not in pool:
                raise WrongValueError(
                    f"{value} is not in the pool {pool}",
                    f"use an address of the pool, or leave it out to use {pool.network_address + 1}",
                )
        return value
