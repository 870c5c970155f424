"""Who logs in and how, who may ask by SNMP, and what server ports may send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.access import Aaa, EdgePorts, Login, LoginServer
from railweave.model.device.security import Security
from railweave.systems.eos.read.values import number, prefix, secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.addresses import Prefix
    from railweave.model.config.select import Selected
    from railweave.model.config.taking import Taking
    from railweave.systems.eos.read.stanzas import Stanzas

_METHODS = ("aaa authentication login default **", "aaa authorization exec default **")
_TIMEOUT = LoginServer("", "").timeout
_FLOODS = ("broadcast", "multicast", "unknown-unicast")


def security(taking: Taking, stanzas: Stanzas, *, protected: bool) -> Security | None:
    """What protects logins and server ports; None where nothing does, nor the control plane has rules of its own."""
    found = Security(_login(taking), _aaa(taking), _edge_ports(taking, stanzas))
    return found if protected or found != Security() else None


def _login(taking: Taking) -> Login | None:
    limit = taking.last("aaa authentication policy lockout failure <attempts> duration <seconds>")
    idle = list(taking.each("management console", "idle-timeout <minutes>"))
    idle += taking.each("management ssh", "idle-timeout <minutes>")
    if limit is None:
        return None
    attempts, seconds = number(limit["attempts"], 1, 255), number(limit["seconds"])
    minutes = number(idle[-1]["minutes"], 0, 100_000) if idle else 0
    if attempts is None or seconds is None or minutes is None or seconds % 60:
        taking.leave(limit)
        return None
    return Login(attempts, seconds // 60, minutes)


def _aaa(taking: Taking) -> Aaa | None:
    tacacs = tuple(_servers(taking, "tacacs-server", "port"))
    radius = tuple(_servers(taking, "radius-server", "auth-port"))
    role = taking.last("aaa authorization policy local default-role <role>")
    local = {"group tacacs+ local", "group radius local", "group tacacs+ group radius local", "local"}
    asked = False
    for form in _METHODS:
        for one in taking.each(form):
            asked = asked or (" login default group " in one.line)
            if one.line.split(" default ", 1)[-1] not in local:
                taking.leave(one)
    for one in taking.each("ip tacacs|radius vrf * source-interface *"):
        del one  # that of the management port
    if not asked or not (tacacs or radius):  # nobody asks servers that are only there
        return None
    return Aaa(tacacs, radius, "super-user" if role and role["role"] == "network-admin" else "read-only")


def _servers(taking: Taking, word: str, port_word: str) -> Iterator[LoginServer]:
    for one in taking.each(f"{word} host <host> **"):
        words = one.line.split()[3:]
        options = dict(zip(words[::2], words[1::2], strict=False)) if "key" not in words else {}
        if "key" in words:
            before, key = words[: words.index("key")], words[words.index("key") + 1 :]
            options = dict(zip(before[::2], before[1::2], strict=False)) | {"key": key[-1] if key else ""}
        timeout = number(options.get("timeout", str(_TIMEOUT)), 1, 1000)
        port = number(options[port_word], 1, 65535) if port_word in options else None
        if timeout is None or options.keys() - {"vrf", "timeout", "key", port_word} or len(words) % 2 != len(words) % 2:
            taking.leave(one)
        yield LoginServer(one["host"], secret(options.get("key", "")), port, timeout or _TIMEOUT)


def _edge_ports(taking: Taking, stanzas: Stanzas) -> EdgePorts | None:
    """Limits of floods and the guard of server ports, where there are any; those of a port stand for all."""
    guarded = any(stanzas.flag("spanning-tree bpduguard enable").values())
    stanzas.flag("spanning-tree portfast")
    levels: dict[str, int] = {}
    for kind in _FLOODS:
        for name, one in stanzas.each(f"storm-control {kind} level <value>"):
            value = number(one["value"], 0, 100)
            if value is None or levels.setdefault(name, value) != value:
                taking.leave(one)
    if not guarded and not levels:
        return None
    return EdgePorts(guarded, next(iter(levels.values()), None))


def snmp_clients(taking: Taking, community: Selected | None) -> tuple[Prefix, ...]:
    """The prefixes that may ask with the community: those of the lists that its line names."""
    words = community.line.split()[4:] if community else []
    lists = {"ip": "", "ipv6": ""}
    if words[:1] == ["ipv6"] and len(words) > 1:
        lists["ipv6"], words = words[1], words[2:]
    if words:
        lists["ip"], words = words[0], words[1:]
    if words and community is not None:
        taking.leave(community)
    found: list[Prefix] = []
    for word, name in lists.items():
        for header in taking.each(f"{word} access-list standard {name}") if name else ():
            for one in taking.each("** permit <words...>", below=header):
                value = _source(one["words"])
                if value is None:
                    taking.leave(one)
                else:
                    found.append(value)
            for _ in taking.each("* deny any", below=header):
                pass  # what no line permits is denied
    return tuple(found)


def _source(words: str) -> Prefix | None:
    """Where packets may come from: a prefix, or ``host`` and an address."""
    host = words.removeprefix("host ")
    if host != words:
        return prefix(f"{host}/{128 if ':' in host else 32}")
    return prefix(words)
