"""Derivation of the management plane (names, time, logins, syslog, SNMP, LLDP, the banner, APIs) and of the access lists of the control plane."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

from railweave.model.config.secret_words import UNKNOWN_SECRET, reference
from railweave.model.device.control_plane import ControlPlane, ControlRule, PortRange, ServerPortRule, Sources
from railweave.model.device.management import (
    Aaa,
    EdgePorts,
    Login,
    LoginServer,
    Management,
    Security,
    Services,
    Snmp,
    SnmpUser,
    Syslog,
    User,
)
from railweave.systems.eos.read.ports import vrfs
from railweave.systems.eos.read.values import Stanzas, number, prefix
from railweave.systems.eos.statements import read_lldp

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.config.sections import SectionReader, SelectedLine


_METHODS = ("aaa authentication login default **", "aaa authorization exec default **")
_TIMEOUT = LoginServer("", "").timeout
_FLOODS = ("broadcast", "multicast", "unknown-unicast")


def security(reader: SectionReader, stanzas: Stanzas, *, protected: bool) -> Security | None:
    """Return the settings of logins and of the protection of server ports, or None if neither is configured.

    ``protected`` is True if the control plane has rules; the result is then never None. ``stanzas`` are the lines of all ``interface``
    sections. ``reader`` has the lines of the configuration.
    """
    settings = Security(_login(reader), _aaa(reader), _edge_ports(reader, stanzas))
    return settings if protected or settings != Security() else None


def _login(reader: SectionReader) -> Login | None:
    limit = reader.last("aaa authentication policy lockout failure <attempts> duration <seconds>")
    idle = list(reader.each("management console", "idle-timeout <minutes>"))
    idle += reader.each("management ssh", "idle-timeout <minutes>")
    if len({line["minutes"] for line in idle}) > 1:  # `DeviceConfig` has one limit for both
        for line in idle:
            reader.mark_unknown(line)
    if limit is None:
        return None
    attempts, seconds = number(limit["attempts"], 1, 255), number(limit["seconds"])
    minutes = number(idle[-1]["minutes"], 0, 100_000) if idle else 0
    if attempts is None or seconds is None or minutes is None or seconds % 60:
        reader.mark_unknown(limit)
        return None
    return Login(attempts, seconds // 60, minutes)


def _aaa(reader: SectionReader) -> Aaa | None:
    tacacs = tuple(_servers(reader, "tacacs-server", "port"))
    radius = tuple(_servers(reader, "radius-server", "auth-port"))
    role = reader.last("aaa authorization policy local default-role <role>")
    local = {"group tacacs+ local", "group radius local", "group tacacs+ group radius local", "local"}
    asked = False
    for form in _METHODS:
        for line in reader.each(form):
            asked = asked or (" login default group " in line.line)
            if line.line.split(" default ", 1)[-1] not in local:
                reader.mark_unknown(line)
    for line in reader.each("ip tacacs|radius vrf * source-interface *"):
        del line  # the source interface of the management port
    if not asked or not (tacacs or radius):  # servers that no method asks
        return None
    return Aaa(tacacs, radius, "super-user" if role and role["role"] == "network-admin" else "read-only")


def _servers(reader: SectionReader, word: str, port_word: str) -> Iterator[LoginServer]:
    for line in reader.each(f"{word} host <host> **"):
        words = line.line.split()[3:]
        before, key = words, list[str]()
        if "key" in words:
            before, key = words[: words.index("key")], words[words.index("key") + 1 :]
        options = dict(zip(before[::2], before[1::2], strict=False))
        timeout = number(options.get("timeout", str(_TIMEOUT)), 1, 1000)
        port = number(options[port_word], 1, 65535) if port_word in options else None
        if timeout is None or options.keys() - {"vrf", "timeout", port_word} or len(before) % 2:
            reader.mark_unknown(line)
        yield LoginServer(line["host"], reference(key[-1] if key else ""), port, timeout or _TIMEOUT)


def _edge_ports(reader: SectionReader, stanzas: Stanzas) -> EdgePorts | None:
    """Return the protection of server ports, or None if no port has any.

    ``DeviceConfig`` has only one storm-control limit. A line with a second limit for the same port is marked as not understood. ``stanzas``
    are the lines of all ``interface`` sections. ``reader`` has the lines of the configuration.
    """
    guarded = any(stanzas.flag("spanning-tree bpduguard enable").values())
    stanzas.flag("spanning-tree portfast")
    levels: dict[str, int] = {}
    for kind in _FLOODS:
        for name, line in stanzas.each(f"storm-control {kind} level <value>"):
            value = number(line["value"], 0, 100)
            if value is None or levels.setdefault(name, value) != value:
                reader.mark_unknown(line)
    if not guarded and not levels:
        return None
    return EdgePorts(guarded, next(iter(levels.values()), None))


def snmp_clients(reader: SectionReader, community: SelectedLine | None) -> tuple[Prefix, ...]:
    """Return the prefixes from which clients may use the SNMP community.

    They are in the access lists that the line of the community (``community``) names. ``reader`` has the lines of the configuration.
    """
    words = community.line.split()[4:] if community else []
    lists = {"ip": "", "ipv6": ""}
    if words[:1] == ["ipv6"] and len(words) > 1:
        lists["ipv6"], words = words[1], words[2:]
    if words:
        lists["ip"], words = words[0], words[1:]
    if words and community is not None:
        reader.mark_unknown(community)
    prefixes: list[Prefix] = []
    for word, name in lists.items():
        for header in reader.each(f"{word} access-list standard {name}") if name else ():
            for line in reader.each("** permit <words...>", below=header):
                value = _source(line["words"])
                if value is None:
                    reader.mark_unknown(line)
                else:
                    prefixes.append(value)
            for _ in reader.each("* deny any", below=header):
                pass  # packets that no line permits are denied anyway
    return tuple(prefixes)


def _source(words: str) -> Prefix | None:
    """Return the prefix in words such as ``10.0.0.0/8`` or ``host 10.0.0.1``, or None for other words."""
    host = words.removeprefix("host ")
    if host != words:
        return prefix(f"{host}/{128 if ':' in host else 32}")
    return prefix(words)


Plane = Literal["network", "management"]
_FAMILIES: dict[str, Family] = {"ip": "ipv4", "ipv6": "ipv6"}
_PROTOCOLS: dict[str, Literal["tcp", "udp", "icmp"]] = {"tcp": "tcp", "udp": "udp", "icmp": "icmp", "icmpv6": "icmp"}
_PORTS = {
    "bgp": 179,
    "ssh": 22,
    "snmp": 161,
    "ntp": 123,
    "domain": 53,
    "tacacs": 49,
    "bfd": 3784,
    "bfd-echo": 3785,
    "multihop-bfd": 4784,
    "vxlan": 4789,
    "radius": 1812,
    "https": 443,
    "www": 80,
}
"""The port number of each name that EOS uses in access lists."""


def control_plane(
    reader: SectionReader, stanzas: Stanzas, management: str, links: Collection[str]
) -> ControlPlane | None:
    """Return the control-plane rules, or None if no access list is applied to the control plane.

    ``management`` is the VRF of the management port. ``links`` are the names of ports that do not lead to servers. ``stanzas`` are the
    lines of all ``interface`` sections. ``reader`` has the lines of the configuration.
    """
    network, managed = _bound(reader, management)
    dropped: dict[str, Family] = {}
    for name, line in stanzas.each("ip|ipv6 access-group <name> in"):
        word, bound = line.line.split()[0], line["name"]
        ours = (network or managed) and bound not in network.keys() | managed.keys()
        if not ours or name in links or not _passes(reader, word, bound):  # a list with a different purpose
            reader.mark_unknown(line)
        else:
            dropped[bound] = _FAMILIES[word]
    if not network and not managed:
        return None
    rules: list[ControlRule] = []
    sources: list[Sources] = []
    planes: tuple[tuple[Plane, dict[str, Family]], ...] = (("network", network), ("management", managed))
    for plane, names in planes:
        for name, family in names.items():
            for rule, prefixes in _rules(reader, name, family, plane):
                rules.append(rule)
                if prefixes:
                    sources.append(Sources(rule.sources, family, prefixes))
    return ControlPlane(tuple(rules), tuple(sources), (), tuple(_server_ports(reader, dropped)))


def _passes(reader: SectionReader, word: str, name: str) -> bool:
    """Return True if the last line of the access list ``name`` permits all packets. ``word`` is ``ip`` or ``ipv6``.

    ``reader`` has the lines of the configuration.
    """
    header = reader.last(f"{word} access-list {name}")
    lines = list(reader.each("<number> permit|deny <words...>", below=header)) if header else []
    last = max(lines, key=_number_of, default=None)
    for line in lines:
        reader.mark_unknown(line)
    return last is not None and last.line.endswith(f" permit {word} any any")


def _number_of(line: SelectedLine) -> int:
    return number(line["number"]) or 0


def _bound(reader: SectionReader, management: str) -> tuple[dict[str, Family], dict[str, Family]]:
    """Return two dictionaries with the access lists of the control plane: the address family of each list, by its name.

    The first dictionary has the lists for packets on fabric ports, the second those for packets on the management port.
    ``management`` is the VRF of the management port. ``reader`` has the lines of the configuration.
    """
    network: dict[str, Family] = {}
    managed: dict[str, Family] = {}
    for header in reader.each("system control-plane"):
        for word, family in _FAMILIES.items():
            for form in (f"{word} access-group <name> in", f"{word} access-group <name> vrf <vrf> in"):
                for line in reader.each(form, below=header):
                    vrf, name = line.words.get("vrf", ""), line["name"]
                    if reader.last(f"{word} access-list {name}") is None:
                        reader.mark_unknown(line)
                    else:
                        (managed if vrf and vrf == management else network)[name] = family
    return network, managed


def _rules(
    reader: SectionReader, name: str, family: Family, plane: Plane
) -> Iterator[tuple[ControlRule, tuple[Prefix, ...]]]:
    word = "ip" if family == "ipv4" else "ipv6"
    for header in reader.each(f"{word} access-list {name}"):
        for _ in reader.each("counters per-entry", below=header):
            pass  # counters do not affect packets
        permits = reader.each("<number> permit <words...>", below=header)
        last = max(map(_number_of, permits), default=0)
        for line in reader.each(f"<number> deny {word} any any", below=header):
            if _number_of(line) < last:  # at the end, such a line only repeats the default
                reader.mark_unknown(line)
        for line in reader.each("<number> permit <protocol> <words...>", below=header):
            rule = _permitted(line, f"{name}-{line['number']}", family, plane)
            if rule is None:
                reader.mark_unknown(line)
            else:
                yield rule


def _permitted(
    line: SelectedLine, name: str, family: Family, plane: Plane
) -> tuple[ControlRule, tuple[Prefix, ...]] | None:
    """Return (the rule of a permit line, its source prefixes), or None if the line has words that a rule cannot represent.

    - ``name``: the name of the rule.
    - ``family``: the address family of the access list.
    - ``plane``: ``network`` or ``management``, the ports on which the packets arrive.
    """
    protocol = _PROTOCOLS.get(line["protocol"])
    words = line["words"].split()
    source = _address(words)
    sent = _port(words)
    target = _address(words)
    received = _port(words)
    if protocol is None or source is None or target is None or sent is None or received is None or target:
        return None
    rule = ControlRule(name, plane, family, protocol, f"{name}-from" if source else "", sent, received)
    if words[:1] == ["established"]:
        rule, words = replace(rule, established=True), words[1:]
    if words[:1] in (["ttl"], ["hop-limit"]) and words[1:2] == ["eq"] and len(words) == 3:
        rule, words = replace(rule, hop_limit=number(words[2], 0, 255)), []
    return None if words else (rule, source)


def _address(words: list[str]) -> tuple[Prefix, ...] | None:
    """Remove an address or a prefix from the beginning of ``words``, and return it as a tuple with one prefix.

    The tuple is empty for ``any``. The result is None for other words.
    """
    word = words.pop(0) if words else ""
    if word == "any":
        return ()
    if word == "host" and words:
        address = words.pop(0)
        word = f"{address}/{128 if ':' in address else 32}"
    source = prefix(word)
    return None if source is None else (source,)


def _port(words: list[str]) -> tuple[PortRange, ...] | None:
    """Remove a condition on port numbers from the beginning of ``words``, and return the ranges of ports.

    The result is empty if there is no such condition, and None if it is invalid.
    """
    if words[:1] == ["eq"] and len(words) > 1:
        ranges: list[PortRange] = []
        del words[0]
        while words and (value := _number(words[0])) is not None:
            ranges.append((value, value))
            del words[0]
        return tuple(ranges) or None
    if words[:1] == ["range"] and len(words) > 2:
        low, high = _number(words[1]), _number(words[2])
        del words[:3]
        return None if low is None or high is None else ((low, high),)
    return ()


def _number(word: str) -> int | None:
    return _PORTS.get(word, number(word, 0, 65535))


def _server_ports(reader: SectionReader, names: dict[str, Family]) -> Iterator[ServerPortRule]:
    """Yield the rules that drop packets from servers. Lines with the same protocol and port form one rule.

    ``names`` has the address family of each access list, by its name. ``reader`` has the lines of the configuration.
    """
    for name, family in names.items():
        word = "ip" if family == "ipv4" else "ipv6"
        rules: dict[tuple[str, PortRange], list[Prefix]] = {}
        for header in reader.each(f"{word} access-list {name}"):
            for form in ("counters per-entry", f"* permit {word} any any"):
                for _ in reader.each(form, below=header):
                    pass
            for line in reader.each("* deny tcp|udp any <words...>", below=header):
                words = line["words"].split()
                target, received = _address(words), _port(words)
                if not target or not received or words:
                    reader.mark_unknown(line)
                else:
                    protocol = "tcp" if " deny tcp " in line.line else "udp"
                    rules.setdefault((protocol, received[0]), []).append(target[0])
        for (protocol, ports), prefixes in rules.items():
            label = "bgp" if ports == (179, 179) else "bfd" if ports[0] == 3784 else f"{protocol}-{ports[0]}"
            kind = cast('Literal["tcp", "udp"]', protocol)
            yield ServerPortRule(f"{label}-v{family[-1]}", family, kind, tuple(prefixes), (ports,))


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
"""The default TCP port of gNMI (EOS user manual, "management api gnmi")."""


def management(reader: SectionReader, stanzas: Stanzas, *, protected: bool) -> Management:
    """Return the settings of the management plane. ``protected`` is True if the control plane has rules.

    ``stanzas`` are the lines of all ``interface`` sections. ``reader`` has the lines of the configuration.
    """
    return Management(
        domain=_one(reader, "dns domain <value>", "ip domain-name <value>"),
        dns=tuple(_hosts(reader, "ip name-server **")),
        ntp=tuple(_hosts(reader, "ntp server **")),
        time_zone=_one(reader, "clock timezone <value>") or "UTC",
        users=_users(reader),
        syslog=tuple(_syslog(reader)),
        snmp=_snmp(reader),
        services=_services(reader),
        **read_lldp(reader),
        banner=_banner(reader),
        security=security(reader, stanzas, protected=protected),
    )


def _one(reader: SectionReader, *forms: str) -> str:
    values = [line["value"] for form in forms for line in reader.each(form)]
    return values[-1] if values else ""


def _hosts(reader: SectionReader, form: str) -> Iterator[str]:
    """Yield the DNS or NTP servers, as addresses or names, in the lines that match the pattern ``form``. The VRF in the line is left out.

    ``reader`` has the lines of the configuration.
    """
    for line in reader.each(form):
        words = line.line.split()[2:]
        words = words[2:] if words[:1] == ["vrf"] else words
        if not words:
            reader.mark_unknown(line)
        elif form.startswith("ntp"):
            yield words[0]
        else:
            yield from words


_USER = re.compile(
    r"(privilege (\d|1[0-5]) ?)?(role \S+ ?)?(shell \S+ ?)?(secret (0 |5 |sha512 |\* ?)?\S*|nopassword)?"
)
"""A pattern of the words after a user name that railweave understands, in EOS's order."""


def _users(reader: SectionReader) -> dict[str, User]:
    users: dict[str, User] = {}
    keys: dict[str, list[str]] = {}
    for line in reader.each("username <name> <words...>"):
        words = line["words"].split()
        if words[0] in {"ssh-key", "sshkey"} and len(words) > 1:
            keys.setdefault(line["name"], []).append(" ".join(words[2 if words[1] == "secondary" else 1 :]))
            continue
        options = dict(itertools.pairwise(words))
        if not _USER.fullmatch(line["words"]) or (
            options.get("role") == "network-admin" and options.get("privilege", "15") != "15"
        ):
            reader.mark_unknown(line)
        privilege, role = options.get("privilege", "1"), options.get("role", "")
        password = None
        if "secret" in words and len(words) > words.index("secret") + 1:
            password = reference(words[-1])
        elif words[-1] != "nopassword":
            reader.mark_unknown(line)
            continue
        most = role == "network-admin" or (not role and privilege == "15")
        users[line["name"]] = User("super-user" if most else "operator", password)
    return {name: User(user.role, user.password, tuple(keys.get(name, ()))) for name, user in users.items()}


def _syslog(reader: SectionReader) -> Iterator[Syslog]:
    level = reader.last("logging trap <value>")
    if level is not None and level["value"] not in _SEVERITIES:
        reader.mark_unknown(level)
    severity = _SEVERITIES.get(level["value"] if level else "informational", "info")
    for form in ("logging vrf <vrf> host <host> **", "logging host <host> **"):
        for line in reader.each(form):
            words = line.line.split(f" host {line['host']}", 1)[1].split()
            port = number(words[0], 1, 65535) if words else _SYSLOG
            if port is None or (words[1:] and words[1:] != ["protocol", "udp"]):
                reader.mark_unknown(line)
            yield Syslog(line["host"], port or _SYSLOG, severity)


def _snmp(reader: SectionReader) -> Snmp | None:
    place = reader.last("snmp-server location <text...>")
    contact = reader.last("snmp-server contact <text...>")
    community = reader.last("snmp-server community <name> ro **")
    users: dict[str, SnmpUser] = {}
    for line in reader.each("snmp-server user <name> <group> v3 **"):
        words = line.line.split()
        options = dict(zip(words, words[2:], strict=False))  # ``auth sha256 KEY``: skips one word
        if options.get("auth") and options.get("priv"):
            users[line["name"]] = SnmpUser(reference(options["auth"]), reference(options["priv"]))
        else:
            reader.mark_unknown(line)
    targets = [line["host"] for line in reader.each("snmp-server host <host> **")]
    there = [line for form in ("snmp-server vrf *", "snmp-server group **") for line in reader.each(form)]
    if not (place or contact or community or users or targets or there):
        return None
    return Snmp(
        location=place["text"] if place else "",
        contact=contact["text"] if contact else "",
        community=reference(community["name"]) if community else None,
        users=users,
        trap_targets=tuple(dict.fromkeys(targets)),
        clients=snmp_clients(reader, community),
    )


def _services(reader: SectionReader) -> Services:
    netconf = list(reader.each("management api netconf", "transport ssh *"))
    eapi = list(reader.each("management api http-commands", "no shutdown"))
    list(reader.each("management api http-commands", "vrf *", "no shutdown"))
    defined = {*vrfs(reader), "default"}
    for forms in (("management ssh|api **",), ("management api **", "transport **")):
        for line in reader.each(*forms, "vrf <name>"):
            if line["name"] not in defined:
                reader.mark_unknown(line)
    certificate: str | None = None
    port = Services().grpc_port
    for header in reader.each("management api gnmi"):
        for transport in reader.each("transport grpc *", below=header):
            given = reader.last("port <value>", below=transport)
            profile = reader.last("ssl profile <value>", below=transport)
            value = number(given["value"], 1, 65535) if given else _GNMI
            if value is None and given is not None:
                reader.mark_unknown(given)
            port = value or _GNMI
            certificate = UNKNOWN_SECRET if profile else certificate
    return Services(netconf=bool(netconf), grpc_certificate=certificate, grpc_port=port, eapi=bool(eapi))


def _banner(reader: SectionReader) -> str:
    """Return the text of the login banner, up to the line ``EOF``. ``reader`` has the lines of the configuration."""
    banners = [section for section in reader.sections if section.line.startswith("banner login\n")]
    for section in banners:
        reader.mark_understood(section)
    return "\n".join(banners[-1].line.split("\n")[1:-1]) if banners else ""
