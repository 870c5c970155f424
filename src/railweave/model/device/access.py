"""Who may talk to a device: keys of its BGP sessions, servers that know logins, limits of logins, server ports.

Secrets are references, ``secret:NAME``; what each field means is in docs/fabric-file.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
