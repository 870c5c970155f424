"""Access intent: servers that know logins, limits of logins, and what server ports may send to a switch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from railweave.model.intent.addresses import ManagementAddress
from railweave.model.intent.base import Model, WrongValueError
from railweave.model.intent.secrets import secret_reference


class LoginServer(Model):
    """A server that knows logins."""

    host: ManagementAddress = Field(description="its address")
    port: int | None = Field(
        default=None, ge=1, le=65535, description="empty: 49 of TACACS+, 1812 of RADIUS (authentication)"
    )
    key: str = Field(description="secret:NAME of the key that it shares with switches")
    timeout: int = Field(default=5, ge=1, le=60, description="seconds until the next server is asked")

    _key = field_validator("key")(secret_reference)


def _each_once(value: tuple[LoginServer, ...]) -> tuple[LoginServer, ...]:
    hosts = [one.host for one in value]
    twice = next((one for one in hosts if hosts.count(one) > 1), None)
    if twice is not None:
        raise WrongValueError(f"server {twice} is there twice", "name each server once")
    return value


LoginServers = Annotated[tuple[LoginServer, ...], AfterValidator(_each_once)]


class Aaa(Model):
    """Servers that know logins, in the order in which they are asked: TACACS+ (RFC 8907), then RADIUS (RFC 2865).

    The file's own users log in where no server answers; whom a server refuses stays out.
    """

    tacacs: LoginServers = Field(default=(), description="TACACS+ servers")
    radius: LoginServers = Field(default=(), description="RADIUS servers")
    role: Literal["super-user", "operator", "read-only"] = Field(
        default="read-only", description="what users may do whom servers know and this file does not"
    )


class Login(Model):
    """Limits of logins."""

    attempts: int = Field(default=3, ge=2, le=10, description="wrong passwords until the session ends")
    lockout: int = Field(default=5, ge=1, le=60, description="minutes that the account is locked then")
    idle: int = Field(default=15, ge=1, le=60, description="minutes without a key until a session ends")


class EdgePorts(Model):
    """Protection of the switch and of other servers from what a layer-2 server port sends."""

    bpdu_guard: bool = Field(default=True, description="a port that hears a bridge (BPDU) is shut: a cable is wrong")
    storm_control: int | None = Field(
        default=1,
        ge=1,
        le=100,
        description="percent of a port's speed that broadcast, multicast and unknown unicast may take; empty: no limit",
    )
