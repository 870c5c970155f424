"""Names, logins, time, SNMP, services, and who may ask whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.addresses import InterfaceAddress
from railweave.model.device.access import Aaa, EdgePorts, Login, LoginServer
from railweave.model.device.management import Management, Services, Snmp, Syslog, User
from railweave.model.device.security import Security
from railweave.systems.dell_sonic.read.ports import fewest
from railweave.systems.dell_sonic.read.routing import NOWHERE
from railweave.systems.dell_sonic.read.words import after, number, options, secret

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.addresses import Address
    from railweave.model.config.taking import Taking
    from railweave.systems.dell_sonic.read.ports import Lines

_ROLES = {"admin": "super-user", "operator": "operator", "netadmin": "operator", "secadmin": "operator"}
_SERVER = (
    "host",
    "timeout",
    "key",
    "port",
    "auth-port",
    "vrf",
    "priority",
    "auth-type",
    "source-interface",
    "re-transmit",
)


@dataclass(slots=True)
class _Said:
    """What lines say, until all are read."""

    name: str = ""
    users: dict[str, User] = field(default_factory=dict[str, User])
    dns: list[str] = field(default_factory=list[str])
    ntp: list[str] = field(default_factory=list[str])
    syslog: list[Syslog] = field(default_factory=list[Syslog])
    lldp: bool = True
    snmp: dict[str, str] = field(default_factory=dict[str, str])
    traps: list[str] = field(default_factory=list[str])
    certificate: str | None = None
    tacacs: list[LoginServer] = field(default_factory=list[LoginServer])
    radius: list[LoginServer] = field(default_factory=list[LoginServer])
    asks: bool = False
    login: dict[str, int] = field(default_factory=dict[str, int])


def management(taking: Taking, ports: Iterable[Lines], *, protected: bool) -> tuple[str, Management]:
    """The device's name, and its management plane."""
    said = _Said()
    for one in taking.sections:
        if _read(one.line, said):
            taking.take(one)
    wanted = bool(said.snmp or said.traps)
    snmp = Snmp(
        location=said.snmp.get("location", ""),
        contact=said.snmp.get("contact", ""),
        community=said.snmp.get("community"),
        trap_targets=tuple(said.traps),
    )
    aaa = Aaa(tuple(said.tacacs), tuple(said.radius)) if said.asks and (said.tacacs or said.radius) else None
    usual = Login()
    login = Login(
        attempts=said.login.get("max-retries", usual.attempts),
        lockout=said.login.get("period", usual.lockout),
        idle=said.login.get("exec-timeout", 60 * usual.idle) // 60,
    )
    edge = _edge_ports(ports)
    security = Security(login if said.login else None, aaa, edge)
    return said.name, Management(
        dns=tuple(said.dns),
        ntp=tuple(said.ntp),
        users=said.users,
        syslog=tuple(said.syslog),
        snmp=snmp if wanted else None,
        services=Services(grpc_certificate=said.certificate),
        lldp=said.lldp,
        security=security if protected or said.login or aaa or edge else None,
    )


def _read(line: str, said: _Said) -> bool:
    words = line.split()
    match words:
        case ["hostname", name]:
            said.name = name
        case ["ip", "vrf", "mgmt"] | ["interface-naming", "standard", *_] | ["ntp", "vrf", "mgmt"]:
            pass
        case ["username", name, "password", value, "role", role] if role in _ROLES:
            said.users[name] = User("super-user" if role == "admin" else "operator", secret(value))
        case ["ip", "name-server", *rest]:
            hosts = [one for one in rest if one not in {"vrf", "mgmt"}]
            said.dns += hosts
        case ["ntp", "server", host, *rest] if _known_ntp(rest):
            said.ntp.append(host)
        case ["logging", "server", host, *rest]:
            given = options(rest, "remote-port", "source-interface", "vrf", "message-type", "severity", "protocol")
            if given is None:
                return False
            said.syslog.append(Syslog(host, port=number(given.get("remote-port", "")) or 514))
        case ["lldp", "enable"] | ["no", "lldp", "enable"]:
            said.lldp = words[0] == "lldp"
        case ["ip", "telemetry", "security-profile", _]:
            said.certificate = "secret:?"
        case ["snmp-server", *_]:
            return _snmp(line, words, said)
        case _:
            return _access(words, said)
    return True


def _known_ntp(rest: list[str]) -> bool:
    flags = {"iburst", "prefer", "true", "false"}
    return options([one for one in rest if one not in flags], "minpoll", "maxpoll", "key", "version") is not None


def _snmp(line: str, words: list[str], said: _Said) -> bool:
    match words:
        case ["snmp-server", "location" | "contact" as kind, *_]:
            said.snmp[kind] = after(line, 2)
        case ["snmp-server", "community", value] | ["snmp-server", "community", value, "group", _]:
            said.snmp["community"] = secret(value)
        case ["snmp-server", "host", host, "community", value, *_]:
            said.snmp.setdefault("community", secret(value))
            said.traps.append(host)
        case _:
            return False
    return True


def _access(words: list[str], said: _Said) -> bool:
    match words:
        case ["tacacs-server" | "radius-server" as protocol, "host", *rest]:
            given = options(["host", *[one for one in rest if one != "encrypted"]], *_SERVER)
            if given is None:
                return False
            port, timeout = number(given.get("port", given.get("auth-port", ""))), number(given.get("timeout", ""))
            key = secret(given["key"]) if "key" in given else "secret:?"
            server = LoginServer(given["host"], key, port, 5 if timeout is None else timeout)
            (said.tacacs if protocol == "tacacs-server" else said.radius).append(server)
        case ["aaa", "authentication", "login", "default", *_]:
            said.asks = True
        case ["login", "lockout", "period" | "max-retries" as kind, value] if (found := number(value)) is not None:
            said.login[kind] = found
        case ["login", "exec-timeout", value] if (found := number(value)) is not None:
            said.login["exec-timeout"] = found
        case _:
            return False
    return True


def _edge_ports(ports: Iterable[Lines]) -> EdgePorts | None:
    """Limits of floods, as a percentage of the port's speed, of several the odd one; and whether bridges are shut out."""
    every = list(ports)
    guarded = any(one.guarded for one in every)
    limited = [(one, limit) for one in every for limit in one.floods.values() if one.speed_mbps]
    if not limited:
        return EdgePorts(guarded, None) if guarded else None
    percent = fewest(round(100 * limit / (1000 * (one.speed_mbps or 1))) for one, limit in limited)
    return EdgePorts(guarded, percent if isinstance(percent, int) else None)


def management_port(interfaces: dict[str, Lines]) -> tuple[InterfaceAddress, Address]:
    """The address of the management port, and its gateway."""
    one = next((lines for name, lines in interfaces.items() if name.startswith("Management")), None)
    if one is None or not one.addresses:
        return InterfaceAddress(f"{NOWHERE}/0"), NOWHERE
    return one.addresses[0], one.gateway or NOWHERE
