"""The file ``access.yaml``: addresses, protocols and logins for devices.

The file contains no passwords, only references to them: a password in it is refused. So others may read ``access.yaml`` itself.
The files of passwords and of private keys that it names are refused if others can read them.
"""

from __future__ import annotations

import getpass
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from railweave.errors import SpecError
from railweave.live.reach.failure import ReachError
from railweave.live.reach.target import PORTS, MachineLogin, Password, Snmp, Target
from railweave.model.intent.base import Model, WrongValueError
from railweave.model.intent.reading.document import Document, read_document, validate
from railweave.model.state.question import PROTOCOLS, Protocol
from railweave.reading import readable_by_others

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping


class Ports(Model):
    """The ports on which a device listens. If a port is not configured, the protocol's default port is used."""

    ssh: int | None = Field(default=None, ge=1, le=65535, description="usually 22")
    netconf: int | None = Field(default=None, ge=1, le=65535, description="usually 830")
    eapi: int | None = Field(default=None, ge=1, le=65535, description="usually 443, and 80 without `tls`")
    restconf: int | None = Field(default=None, ge=1, le=65535, description="usually 443")
    gnmi: int | None = Field(
        default=None, ge=1, le=65535, description="usually 32767 on Junos, 6030 on EOS, 8080 on SONiC"
    )


def _reference(value: str | None) -> str | None:
    """Return the reference to a secret unchanged. Raise ``WrongValueError`` if the value is the secret itself."""
    if value is not None and not value.startswith(("env:", "file:")):
        raise WrongValueError(
            "a password stands here", "write env:NAME or file:PATH, and change the password: this file showed it"
        )
    return value


_WHERE = "`env:NAME` in the environment, `file:PATH` in a file that you alone can read"


class SnmpLogin(Model):
    """The SNMP login of a device: version 2c by `community`, or version 3 by `user` with two passwords (SHA-256, AES-128)."""

    community: str | None = Field(default=None, description=f"where the community of version 2c is: {_WHERE}")
    user: str | None = Field(default=None, min_length=1, max_length=32, description="user of version 3")
    authentication: str | None = Field(default=None, description="where the user's authentication password is")
    privacy: str | None = Field(default=None, description="where the user's privacy password is")
    port: int = Field(default=161, ge=1, le=65535, description="UDP port")

    _secrets = field_validator("community", "authentication", "privacy", mode="after")(_reference)

    @model_validator(mode="after")
    def _one_version(self) -> Self:
        of_three = [credential is not None for credential in (self.user, self.authentication, self.privacy)]
        if any(of_three) != all(of_three) or any(of_three) == (self.community is not None):
            raise WrongValueError(
                "it is neither version 2c nor version 3", "give `community`, or `user`, `authentication` and `privacy`"
            )
        return self


class Login(Model):
    """The login of a group of devices. A missing field is taken from the section that this section overrides."""

    protocols: tuple[Literal["ssh", "netconf", "eapi", "restconf"], ...] | None = Field(
        default=None,
        min_length=1,
        description="each question is asked by the first of these that can; usually what the system has: eapi for EOS, ssh and restconf for Enterprise SONiC, ssh for the others",
    )
    ports: Ports | None = Field(default=None, description="ports other than the usual ones")
    user: str | None = Field(default=None, min_length=1, description="login name; usually yours on this machine")
    key: str | None = Field(
        default=None,
        description="file of a private key; without it, and without `password`, the ssh-agent's keys are tried",
    )
    password: str | None = Field(
        default=None,
        description="where the password is: `env:NAME` in the environment, `file:PATH` in a file that you alone can read",
    )
    known_hosts: str | None = Field(
        default=None, description="file of the host keys that are trusted; usually ~/.ssh/known_hosts"
    )
    certificates: str | None = Field(
        default=None,
        description="file of the authorities that sign the certificates of eAPI, RESTCONF and gNMI; usually the system's",
    )
    tls: bool | None = Field(
        default=None,
        description="false: eAPI by plain HTTP, and gNMI without TLS, which is possible on this machine alone",
    )
    gnmi: bool | None = Field(
        default=None, description="false: `watch` asks this device, where it would else subscribe to it by gNMI"
    )
    snmp: SnmpLogin | None = Field(default=None, description="how `watch` asks it by SNMP; usually not at all")
    jump: str | None = Field(default=None, description="name of a jump host, under `jump_hosts`")

    _secrets = field_validator("password", mode="after")(_reference)


class DeviceLogin(Login):
    """The login of one device or jump host, with its address."""

    address: str | None = Field(
        default=None,
        min_length=1,
        description="address or name; usually the designed management address; a server's is its name",
    )


class Access(Model):
    """The content of ``access.yaml``.

    Later sections override earlier ones, in the order `defaults`, `systems`, `roles`, `devices`.
    """

    defaults: Login = Field(default=Login(), description="every device")
    systems: dict[str, Login] = Field(
        default_factory=dict[str, Login], description="devices by operating system, as `eos`"
    )
    roles: dict[str, Login] = Field(
        default_factory=dict[str, Login], description="devices by role: `leaf`, `spine`, `super-spine`, `dci`, `server`"
    )
    devices: dict[str, DeviceLogin] = Field(default_factory=dict[str, DeviceLogin], description="devices by name")
    jump_hosts: dict[str, DeviceLogin] = Field(
        default_factory=dict[str, DeviceLogin], description="machines that devices are reached through, by name"
    )
    at_once: int = Field(default=64, ge=1, le=1024, description="devices that are asked at the same time")
    attempts: int = Field(
        default=3,
        ge=1,
        le=10,
        description="how often a device is tried that does not answer, with 1, 2, 4, … seconds in between",
    )
    connect_seconds: float = Field(default=10, gt=0, le=600, description="how long a device may take to let in")
    answer_seconds: float = Field(default=60, gt=0, le=3600, description="how long it may take to answer one question")


_ROLES = {"leaf", "spine", "super-spine", "dci", "server"}


class AccessFile:
    """The file ``access.yaml`` with its lines, or the defaults if no file is given."""

    def __init__(self, access: Access, document: Document | None = None) -> None:
        self.access = access
        self._document = document
        self._folder = Path(document.file).parent if document else Path()

    def check(self, devices: Iterable[str], systems: Iterable[str]) -> None:
        """Raise ``SpecError`` for unknown devices, systems, roles and jump hosts, and for loops of jump hosts, each with its line.

        ``devices`` and ``systems`` are the valid names.
        """
        known = {"devices": set(devices), "systems": set(systems), "roles": _ROLES}
        given = {"devices": self.access.devices, "systems": self.access.systems, "roles": self.access.roles}
        problems = [
            self._problem((section, name), f"the network has no {section.removesuffix('s')} {name!r}")
            for section, names in given.items()
            for name in names
            if name not in known[section]
        ]
        problems += [
            self._problem((*at, "jump"), f"there is no jump host {login.jump!r} under jump_hosts")
            for at, login in self._logins()
            if login.jump is not None and login.jump not in self.access.jump_hosts
        ]
        problems += [
            self._problem(("jump_hosts", name), "it is reached through itself")
            for name in self.access.jump_hosts
            if self._circle(name)
        ]
        if problems:
            raise SpecError(problems)

    def check_there(self, targets: Iterable[Target]) -> None:
        """Raise ``SpecError`` if a key file or password that the devices ``targets`` need is missing, with its line in access.yaml.

        Also raise it if others can read such a file. Without this check, every device would report the error separately. Keys and passwords that no device needs may be missing.
        """
        ways = [way for target in targets for way in _with_jumps(target.way)]
        keys = {way.key: wrong for way in ways if way.key is not None and (wrong := _wrong_key(way.key))}
        passwords = {
            password: why
            for password in {way.password for way in ways}
            if password is not None and (why := _missing(password))
        }
        problems = [
            self._problem((*at, "key"), *keys[path])
            for at, login in self._logins()
            if (path := self._path(login.key)) is not None and path in keys
        ]
        problems += [
            self._problem((*at, "password"), passwords[where].what, passwords[where].fix)
            for at, login in self._logins()
            if (where := self._password(login.password)) in passwords
        ]
        if problems:
            raise SpecError(problems)

    def has_login(self, servers: Container[str]) -> bool:
        """Return True if the file has a login for servers: for the role ``server``, or for one of these names."""
        return "server" in self.access.roles or any(name in servers for name in self.access.devices)

    def _logins(self) -> list[tuple[tuple[str, ...], Login]]:
        """Return (keys of the section, login) for every login of the file."""
        given = {"systems": self.access.systems, "roles": self.access.roles, "devices": self.access.devices}
        named = [((section, name), login) for section, names in given.items() for name, login in names.items()]
        jumps = [(("jump_hosts", name), login) for name, login in self.access.jump_hosts.items()]
        return [(("defaults",), self.access.defaults), *named, *jumps]

    def _problem(self, at: tuple[str, ...], message: str, fix: str = "") -> Any:  # noqa: ANN401 - a Problem
        document = self._document or Document("access.yaml", None)
        return document.problem(at, message, fix)

    def _circle(self, name: str) -> bool:
        seen: set[str] = set()
        at: str | None = name
        while at is not None and at in self.access.jump_hosts:
            if at in seen:
                return True
            seen.add(at)
            at = self.access.jump_hosts[at].jump
        return False

    def target(self, name: str, role: str, system: str, address: str, usual: tuple[Protocol, ...]) -> Target:
        """Return the address, protocols and login of one device.

        ``address`` and ``usual`` are the address and the protocols to use if access.yaml has none for the device.
        """
        device_login = self.access.devices.get(name, DeviceLogin())
        logins = [
            self.access.defaults,
            self.access.systems.get(system, Login()),
            self.access.roles.get(role, Login()),
            device_login,
        ]
        merged = _merged(logins)
        jump = merged.get("jump")
        way = self._way(merged, device_login.address or address)
        if jump:
            way = replace(way, jump=self._jump(jump))
        protocols = tuple(merged.get("protocols") or usual)
        return Target(name, protocols, way, self.access.connect_seconds, self.access.answer_seconds)

    def _jump(self, name: str) -> MachineLogin:
        login = self.access.jump_hosts[name]
        way = self._way(_merged([self.access.defaults, login]), login.address or name)
        return replace(way, jump=self._jump(login.jump)) if login.jump else way

    def _way(self, merged: Mapping[str, Any], address: str) -> MachineLogin:
        tls = merged.get("tls", True)
        ports: dict[Protocol, int] = {
            **PORTS,
            **({} if tls else {"eapi": 80, "restconf": 80}),
            **{name: port for name, port in merged.get("ports", {}).items() if name != "gnmi"},
        }
        return MachineLogin(
            address,
            merged.get("user") or getpass.getuser(),
            ports,
            self._path(merged.get("key")),
            self._password(merged.get("password")),
            self._path(merged.get("known_hosts")),
            self._path(merged.get("certificates")),
            tls,
            gnmi=merged.get("gnmi", True),
            gnmi_port=merged.get("ports", {}).get("gnmi"),
            snmp=self._snmp(merged.get("snmp")),
        )

    def _snmp(self, given: Mapping[str, Any] | None) -> Snmp | None:
        if given is None:
            return None
        community, authentication, privacy = (
            self._password(given.get(key)) for key in ("community", "authentication", "privacy")
        )
        return Snmp(community, given.get("user", ""), authentication, privacy, given["port"])

    def _path(self, given: str | None) -> Path | None:
        """Return a path from the file; a relative path starts in the folder of access.yaml. Return None if no path is given."""
        return None if given is None else self._folder / Path(given).expanduser()

    def _password(self, given: str | None) -> Password | None:
        if given is None:
            return None
        kind, _, name = given.partition(":")
        return Password(kind, name if kind == "env" else str(self._path(name)))


def _with_jumps(way: MachineLogin) -> Iterator[MachineLogin]:
    """Yield the login ``way``, then the logins of the jump hosts through which the machine is reached."""
    yield way
    if way.jump is not None:
        yield from _with_jumps(way.jump)


def _wrong_key(path: Path) -> tuple[str, str] | None:
    """Return (problem, correction) of a file of a private key; None if the file exists and only its owner can read it."""
    if not path.is_file():
        return f"there is no such file: {path}", "name a file that holds a private key"
    mode = readable_by_others(path)
    return (f"others can read {path} ({mode})", f"chmod 600 {path}") if mode else None


def _missing(password: Password) -> ReachError | None:
    """Return the error for a password that cannot be read; None if the password can be read."""
    try:
        password.value()
    except ReachError as error:
        return error
    return None


def _merged(logins: Iterable[Login]) -> dict[str, Any]:
    """Return the fields of ``logins`` merged; later logins override earlier ones. The fields of ``ports`` are merged one by one."""
    merged: dict[str, Any] = {}
    for login in logins:
        given = {key: value for key, value in login.model_dump(exclude_none=True).items() if key != "address"}
        if {"key", "password"} & given.keys():  # whoever names one of the two wants no inherited other
            merged = {key: value for key, value in merged.items() if key not in {"key", "password"}}
        merged |= given | ({"ports": {**merged.get("ports", {}), **given["ports"]}} if "ports" in given else {})
    return merged


def read_access(path: Path | None) -> AccessFile:
    """Return the access file at a path, or the defaults if the path is None. Raise ``SpecError`` with the lines of errors."""
    if path is None:
        return AccessFile(Access())
    document = read_document(path, start='docs/collect.md, "How devices are reached", shows an access file')
    return AccessFile(validate(Access, document), document)


def usual_protocols(questions_by: Iterable[Iterable[Protocol]]) -> tuple[Protocol, ...]:
    """Return a few protocols that together can send all queries of a system. The first protocol can send the most queries.

    ``questions_by`` has, for each query, the protocols that can send it.
    """
    asked = [set(protocols) for protocols in questions_by]
    chosen: list[Protocol] = []
    left = asked
    while left:
        best = max(PROTOCOLS, key=lambda protocol: (sum(protocol in here for here in left), protocol == "eapi"))
        if not any(best in here for here in left):
            break
        chosen.append(best)
        left = [here for here in left if best not in here]
    return tuple(chosen)
