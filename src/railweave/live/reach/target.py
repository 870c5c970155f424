"""The login data of a device (address, protocols, user), and the interface of all connections that send queries."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from typing import Protocol as TypingProtocol

from railweave.errors import InputError, Option, Problem
from railweave.live.reach.failure import ReachError
from railweave.secret_url import SecretError, secret

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.state.question import Protocol, Question

PORTS: dict[Protocol, int] = {"ssh": 22, "netconf": 830, "eapi": 443, "restconf": 443}


@dataclass(frozen=True, slots=True)
class Password:
    """The source of a password: an environment variable, or a file that only its owner can read.

    ``kind`` says which of the two, and ``name`` is the variable or the path. The password is never printed.
    """

    kind: str
    name: str

    def value(self) -> str:
        """Return the password. Raises ``ReachError`` if it is missing or empty, or if other users can read its file."""
        try:
            return secret(self.kind, self.name)
        except SecretError as error:
            raise ReachError("login", error.what, error.fix) from None


def password_of(given: str, option: str = "--password") -> str:
    """Return the password that the value ``given`` of an option names as ``env:NAME`` or ``file:PATH``.

    Raises ``InputError`` if the text has neither form. Raises ``ReachError`` if the password is missing, empty or unreadable, or if other
    users can read the file.
    """
    kind, _, name = given.partition(":")
    if kind not in {"env", "file"} or not name:
        fix = "write env:NAME or file:PATH"
        raise InputError([Problem(Option(option), "it is neither env:NAME nor file:PATH", fix)])
    return Password(kind, name).value()


@dataclass(frozen=True, slots=True)
class Snmp:
    """The SNMP login of a device.

    SNMP is version 2c by a community, or version 3 by a user with two passwords (SHA-256 and AES-128).
    """

    community: Password | None = None
    user: str = ""
    authentication: Password | None = None
    privacy: Password | None = None
    port: int = 161


@dataclass(frozen=True, slots=True)
class MachineLogin:
    """The login of one machine.

    - ``key``: the file of the private key; None means the keys of the ssh-agent.
    - ``known_hosts``: the file of trusted host keys; None means the user's.
    - ``certificates``: the file of the authorities that sign the machine's certificate; None means the system's.
    - ``tls``: False if eAPI and RESTCONF use plain HTTP.
    - ``jump``: the jump host through which the machine is reached.
    """

    address: str
    user: str
    ports: dict[Protocol, int] = field(default_factory=lambda: dict(PORTS))
    key: Path | None = None
    password: Password | None = None
    known_hosts: Path | None = None
    certificates: Path | None = None
    tls: bool = True
    jump: MachineLogin | None = None
    gnmi: bool = True
    """True if gNMI subscriptions to the device are allowed."""
    gnmi_port: int | None = None
    """The port on which the device listens for gNMI; None means the usual port of its system."""
    snmp: Snmp | None = None
    """The SNMP login of the device; None means that SNMP is not used."""


@dataclass(frozen=True, slots=True)
class Target:
    """A device to query: its name in the design, the protocols in the order in which they are tried, and its login (``way``).

    ``connect_s`` and ``answer_s`` are the time limits for the login and for each answer, in seconds.
    """

    name: str
    protocols: tuple[Protocol, ...]
    way: MachineLogin
    connect_s: float = 10
    answer_s: float = 60


class Transport(TypingProtocol):
    """An open connection to one device by one protocol."""

    async def ask(self, question: Question) -> str:
        """Return the answer to the query ``question``.

        Raises ``ReachError`` if the device refuses the query, does not answer in time, or the connection ends.
        """
        ...

    async def close(self) -> None:
        """Close the connection. This raises no error."""
        ...


def on_this_machine(host: str) -> bool:
    """Return True if a host, given by address or name, is this machine: a loopback address, or ``localhost``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
