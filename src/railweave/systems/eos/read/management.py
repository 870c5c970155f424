"""The management plane: names, time, logins, syslog, SNMP, LLDP, the banner, APIs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Literal

from railweave.model.device.management import Management, Services, Snmp, SnmpUser, Syslog, User
from railweave.systems.eos.read.access import security, snmp_clients
from railweave.systems.eos.read.values import UNKNOWN_SECRET, number, secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.taking import Taking
    from railweave.systems.eos.read.stanzas import Stanzas

Severity = Literal["emergency", "alert", "critical", "error", "warning", "notice", "info", "any"]
_SEVERITIES: dict[str, Severity] = {
    "emergencies": "emergency",
    "alerts": "alert",
    "critical": "critical",
    "errors": "error",
    "warnings": "warning",
    "notifications": "notice",
    "informational": "info",
    "debugging": "any",
}
_SYSLOG = 514
_GNMI = 6030
"""The port of gNMI where none is given (EOS user manual, "management api gnmi")."""


def management(taking: Taking, stanzas: Stanzas, *, protected: bool) -> Management:
    """The management plane. ``protected``: the control plane has rules of its own."""
    return Management(
        domain=_one(taking, "dns domain <value>", "ip domain-name <value>"),
        dns=tuple(_hosts(taking, "ip name-server **")),
        ntp=tuple(_hosts(taking, "ntp server **")),
        time_zone=_one(taking, "clock timezone <value>") or "UTC",
        users=_users(taking),
        syslog=tuple(_syslog(taking)),
        snmp=_snmp(taking),
        services=_services(taking),
        lldp=taking.last("no lldp run") is None,
        banner=_banner(taking),
        security=security(taking, stanzas, protected=protected),
    )


def _one(taking: Taking, *forms: str) -> str:
    found = [one["value"] for form in forms for one in taking.each(form)]
    return found[-1] if found else ""


def _hosts(taking: Taking, form: str) -> Iterator[str]:
    """Servers by address or name, behind the VRF that they are asked in."""
    for one in taking.each(form):
        words = one.line.split()[2:]
        words = words[2:] if words[:1] == ["vrf"] else words
        if not words:
            taking.leave(one)
        elif form.startswith("ntp"):
            yield words[0]
        else:
            yield from words


def _users(taking: Taking) -> dict[str, User]:
    found: dict[str, User] = {}
    keys: dict[str, list[str]] = {}
    for one in taking.each("username <name> <words...>"):
        words = one["words"].split()
        if words[0] in {"ssh-key", "sshkey"} and len(words) > 1:
            keys.setdefault(one["name"], []).append(" ".join(words[2 if words[1] == "secondary" else 1 :]))
            continue
        options = dict(itertools.pairwise(words))
        privilege, role = options.get("privilege", "1"), options.get("role", "")
        password = None
        if "secret" in words and len(words) > words.index("secret") + 1:
            password = secret(words[-1])
        elif words[-1] != "nopassword":
            taking.leave(one)
            continue
        most = role == "network-admin" or (not role and privilege == "15")
        found[one["name"]] = User("super-user" if most else "operator", password)
    return {name: User(user.role, user.password, tuple(keys.get(name, ()))) for name, user in found.items()}


def _syslog(taking: Taking) -> Iterator[Syslog]:
    level = taking.last("logging trap <value>")
    if level is not None and level["value"] not in _SEVERITIES:
        taking.leave(level)
    severity = _SEVERITIES.get(level["value"] if level else "informational", "info")
    for form in ("logging vrf <vrf> host <host> **", "logging host <host> **"):
        for one in taking.each(form):
            words = one.line.split(f" host {one['host']}", 1)[1].split()
            port = number(words[0], 1, 65535) if words else _SYSLOG
            if port is None or (words[1:] and words[1:] != ["protocol", "udp"]):
                taking.leave(one)
            yield Syslog(one["host"], port or _SYSLOG, severity)


def _snmp(taking: Taking) -> Snmp | None:
    place = taking.last("snmp-server location <text...>")
    contact = taking.last("snmp-server contact <text...>")
    community = taking.last("snmp-server community <name> ro **")
    users: dict[str, SnmpUser] = {}
    for one in taking.each("snmp-server user <name> <group> v3 **"):
        words = one.line.split()
        own = dict(zip(words, words[2:], strict=False))  # ``auth sha256 KEY``: the key is two words on
        if own.get("auth") and own.get("priv"):
            users[one["name"]] = SnmpUser(secret(own["auth"]), secret(own["priv"]))
        else:
            taking.leave(one)
    targets = [one["host"] for one in taking.each("snmp-server host <host> **")]
    there = [one for form in ("snmp-server vrf *", "snmp-server group **") for one in taking.each(form)]
    if not (place or contact or community or users or targets or there):
        return None
    return Snmp(
        location=place["text"] if place else "",
        contact=contact["text"] if contact else "",
        community=secret(community["name"]) if community else None,
        users=users,
        trap_targets=tuple(dict.fromkeys(targets)),
        clients=snmp_clients(taking, community),
    )


def _services(taking: Taking) -> Services:
    netconf = list(taking.each("management api netconf", "transport ssh *"))
    eapi = list(taking.each("management api http-commands", "no shutdown"))
    list(taking.each("management api http-commands", "vrf *", "no shutdown"))
    certificate: str | None = None
    port = Services().grpc_port
    for header in taking.each("management api gnmi"):
        for transport in taking.each("transport grpc *", below=header):
            given = taking.last("port <value>", below=transport)
            profile = taking.last("ssl profile <value>", below=transport)
            value = number(given["value"], 1, 65535) if given else _GNMI
            if value is None and given is not None:
                taking.leave(given)
            port = value or _GNMI
            certificate = UNKNOWN_SECRET if profile else certificate
    return Services(netconf=bool(netconf), grpc_certificate=certificate, grpc_port=port, eapi=bool(eapi))


def _banner(taking: Taking) -> str:
    """The text that a login shows: between its first line and ``EOF``."""
    found = [one for one in taking.sections if one.line.startswith("banner login\n")]
    for one in found:
        taking.take(one)
    return "\n".join(found[-1].line.split("\n")[1:-1]) if found else ""
