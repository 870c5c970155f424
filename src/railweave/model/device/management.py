"""The management plane of a device: how operators and tools reach it, and keys of who may talk to it.

Secrets are references, ``secret:NAME``; what each field means is in docs/fabric-file.md (``management``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from railweave.model.config.addresses import Prefix


@dataclass(frozen=True, slots=True)
class Authentication:
    """The key of BGP sessions: TCP MD5 (RFC 2385), or TCP-AO with the number of the key (RFC 5925)."""

    key: str
    algorithm: Literal["md5", "ao-aes-128-cmac", "ao-hmac-sha-1"] = "md5"
    key_id: int = 1


@dataclass(frozen=True, slots=True)
class LoginServer:
    """A server that knows logins; ``port`` None is its protocol's own, ``timeout`` is in seconds."""

    host: str
    key: str
    port: int | None = None
    timeout: int = 5


@dataclass(frozen=True, slots=True)
class Aaa:
    """Servers that know logins, in the order asked; ``role`` is that of users whom only servers know."""

    tacacs: tuple[LoginServer, ...] = ()
    radius: tuple[LoginServer, ...] = ()
    role: Literal["super-user", "operator", "read-only"] = "read-only"

    def groups(self) -> tuple[str, ...]:
        """The protocols that have servers, in the order asked: ``tacacs+`` and ``radius``."""
        return tuple(name for name, servers in (("tacacs+", self.tacacs), ("radius", self.radius)) if servers)


@dataclass(frozen=True, slots=True)
class Login:
    """Limits of logins: wrong passwords, and minutes of a lockout and of a session without a key."""

    attempts: int = 3
    lockout: int = 5
    idle: int = 15


@dataclass(frozen=True, slots=True)
class EdgePorts:
    """Protection from what layer-2 server ports send; ``storm_control`` is a percentage of a port's speed."""

    bpdu_guard: bool = True
    storm_control: int | None = 1


@dataclass(frozen=True, slots=True)
class Security:
    """Protection of a device; what each field means is in docs/fabric-file.md (``management.security``)."""

    login: Login | None = None
    aaa: Aaa | None = None
    edge_ports: EdgePorts | None = None


@dataclass(frozen=True, slots=True)
class User:
    """A login. ``password`` refers to a crypt(3) hash; ``ssh_keys`` are public keys as in authorized_keys."""

    role: Literal["super-user", "operator", "read-only"] = "super-user"
    password: str | None = None
    ssh_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Syslog:
    """A remote syslog server, by address or name; ``severity`` is the lowest that is sent to its UDP port."""

    host: str
    port: int = 514
    severity: Literal["emergency", "alert", "critical", "error", "warning", "notice", "info", "any"] = "notice"


@dataclass(frozen=True, slots=True)
class SnmpUser:
    """An SNMPv3 user: references to its SHA-256 authentication key and its AES-128 privacy key."""

    auth: str
    privacy: str


@dataclass(frozen=True, slots=True)
class Snmp:
    """The SNMP agent: ``community`` refers to a read-only v2c community, ``users`` are those of v3 by name.

    ``clients`` may ask with the community; without one of them, everybody.
    """

    location: str = ""
    contact: str = ""
    community: str | None = None
    users: dict[str, SnmpUser] = field(default_factory=dict[str, SnmpUser])
    trap_targets: tuple[str, ...] = ()
    clients: tuple[Prefix, ...] = ()


@dataclass(frozen=True, slots=True)
class Services:
    """Services that are switched on: NETCONF over SSH (RFC 6242), Arista's eAPI, and gRPC where ``grpc_certificate`` refers to a certificate."""

    netconf: bool = True
    netconf_rfc_compliant: bool = False
    grpc_certificate: str | None = None
    grpc_port: int = 32767
    eapi: bool = False


@dataclass(frozen=True, slots=True)
class Management:
    """The management plane. ``dns``, ``ntp``, and hosts of ``syslog`` are addresses or names."""

    domain: str = ""
    dns: tuple[str, ...] = ()
    ntp: tuple[str, ...] = ()
    time_zone: str = "UTC"
    root_password: str | None = None
    users: dict[str, User] = field(default_factory=dict[str, User])
    syslog: tuple[Syslog, ...] = ()
    snmp: Snmp | None = None
    services: Services = Services()
    lldp: bool = True
    banner: str = ""
    security: Security | None = None

    def login(self) -> Login | None:
        """Limits of logins, where there are any."""
        return self.security.login if self.security else None

    def aaa(self) -> Aaa | None:
        """Servers that know logins, where there are any."""
        return self.security.aaa if self.security and self.security.aaa and self.security.aaa.groups() else None
