"""The management plane of a device: how operators and tools reach it, and the keys that control access.

A secret is a reference such as ``secret:NAME``. docs/fabric-file.md (``management``) explains each field.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from railweave.model.config.addresses import Prefix
from railweave.model.network.overlay import Rare


@dataclass(frozen=True, slots=True)
class Authentication:
    """The key of BGP sessions: TCP MD5 (RFC 2385), or TCP-AO with a key ID (RFC 5925)."""

    key: str
    algorithm: Literal["md5", "ao-aes-128-cmac", "ao-hmac-sha-1"] = "md5"
    key_id: int = 1


@dataclass(frozen=True, slots=True)
class LoginServer:
    """An authentication server. If ``port`` is None, the protocol's default port is used. ``timeout`` is in seconds."""

    host: str
    key: str
    port: int | None = None
    timeout: int = 5


@dataclass(frozen=True, slots=True)
class Aaa:
    """The authentication servers. The device asks TACACS+ servers first, then RADIUS servers, each in the order of the tuple.

    ``role`` is the role of users that exist only on these servers.
    """

    tacacs: tuple[LoginServer, ...] = ()
    radius: tuple[LoginServer, ...] = ()
    role: Literal["super-user", "operator", "read-only"] = "read-only"

    def groups(self) -> tuple[str, ...]:
        """Return the protocols that have servers (``tacacs+``, ``radius``), in the order in which the device asks them."""
        return tuple(name for name, servers in (("tacacs+", self.tacacs), ("radius", self.radius)) if servers)


@dataclass(frozen=True, slots=True)
class Login:
    """Limits of logins.

    - ``attempts``: the number of wrong passwords before a lockout.
    - ``lockout``: the duration of a lockout, in minutes.
    - ``idle``: the minutes without a keystroke after which a session ends.
    """

    attempts: int = 3
    lockout: int = 5
    idle: int = 15


@dataclass(frozen=True, slots=True)
class EdgePorts:
    """Protection against unwanted traffic from layer-2 server ports.

    ``storm_control`` is a limit in percent of a port's speed; None means no limit.
    """

    bpdu_guard: bool = True
    storm_control: int | None = 1


@dataclass(frozen=True, slots=True)
class Security:
    """Protection of a device. docs/fabric-file.md (``management.security``) explains each field."""

    login: Login | None = None
    aaa: Aaa | None = None
    edge_ports: EdgePorts | None = None


@dataclass(frozen=True, slots=True)
class User:
    """A user account. ``password`` is a reference to a crypt(3) hash. ``ssh_keys`` are public keys in the format of authorized_keys."""

    role: Literal["super-user", "operator", "read-only"] = "super-user"
    password: str | None = None
    ssh_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Syslog:
    """A remote syslog server, by address or name. ``port`` is its UDP port. ``severity`` is the lowest severity that is sent."""

    host: str
    port: int = 514
    severity: Literal["emergency", "alert", "critical", "error", "warning", "notice", "info", "any"] = "notice"


@dataclass(frozen=True, slots=True)
class SnmpUser:
    """An SNMPv3 user, with references to its SHA-256 authentication key and its AES-128 privacy key."""

    auth: str = "secret:?"
    privacy: str = "secret:?"


@dataclass(frozen=True, slots=True)
class Snmp:
    """The SNMP agent.

    - ``community``: a reference to a read-only v2c community.
    - ``users``: SNMPv3 users, by name.
    - ``clients``: the prefixes that may query with the community; if empty, any client may.
    """

    location: str = ""
    contact: str = ""
    community: str | None = None
    users: dict[str, SnmpUser] = field(default_factory=dict[str, SnmpUser])
    trap_targets: tuple[str, ...] = ()
    clients: tuple[Prefix, ...] = ()


@dataclass(frozen=True, slots=True)
class Services:
    """The services to enable: NETCONF over SSH (RFC 6242), Arista's eAPI, and gRPC.

    gRPC is enabled if ``grpc_certificate`` has the name of a certificate.
    """

    netconf: bool = True
    netconf_rfc_compliant: bool = False
    grpc_certificate: str | None = None
    grpc_port: int = 32767
    eapi: bool = False


LLDP = ("lldp", "lldp_interval", "lldp_hold")
"""The names of the ``Management`` fields that configure LLDP. Statement tables have fields of the same names."""


@dataclass(frozen=True, slots=True)
class Management:
    """The management plane. ``dns``, ``ntp`` and the hosts of ``syslog`` are addresses or names.

    - ``lldp_interval``: the seconds between LLDP messages; None means the device's default.
    - ``lldp_hold``: the number of intervals for which neighbors keep the content of a message; None means the device's
      default.
    """

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
    lldp_interval: Annotated[int | None, Rare] = None
    lldp_hold: Annotated[int | None, Rare] = None
    banner: str = ""
    security: Security | None = None

    @staticmethod
    def lldp_of(value: object) -> dict[str, Any]:
        """Return the LLDP settings of ``value``, a ``Management`` or an object with the same fields. The keys are field names."""
        return {name: getattr(value, name) for name in LLDP}

    def login(self) -> Login | None:
        """Return the limits on logins, or None if none are set."""
        return self.security.login if self.security else None

    def aaa(self) -> Aaa | None:
        """Return the authentication servers, or None if there are none."""
        return self.security.aaa if self.security and self.security.aaa and self.security.aaa.groups() else None
