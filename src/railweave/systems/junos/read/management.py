"""The management plane (identity, logins, services, time, syslog, SNMP), and filters that protect the device."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import Address, Family, InterfaceAddress, Prefix
from railweave.model.device.control_plane import ControlPlane, ControlRule, Policer, PortRange, ServerPortRule, Sources
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
from railweave.systems.junos.names import MANAGEMENT_INSTANCE
from railweave.systems.junos.read import policies
from railweave.systems.junos.read.balancing import bind
from railweave.systems.junos.read.ports import MANAGEMENT, Port
from railweave.systems.junos.read.words import FAMILIES, NO_ADDRESS, Word, address, prefix, secret, unprinted, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from railweave.systems.junos.read.policies import PolicyOptions


Protocol = Literal["tcp", "udp", "icmp"]
_PROTOCOLS: dict[str, Protocol] = {"tcp": "tcp", "udp": "udp", "icmp": "icmp", "icmp6": "icmp"}
_PORTS = {
    "ssh": 22,
    "telnet": 23,
    "tacacs": 49,
    "domain": 53,
    "bootps": 67,
    "bootpc": 68,
    "dhcp": 67,
    "http": 80,
    "ntp": 123,
    "snmp": 161,
    "snmptrap": 162,
    "bgp": 179,
    "https": 443,
    "radius": 1812,
    "radacct": 1813,
    "ldp": 646,
}
_ICMP = {
    "echo-reply": 0,
    "unreachable": 3,
    "redirect": 5,
    "echo-request": 8,
    "router-advertisement": 9,
    "router-solicit": 10,
    "time-exceeded": 11,
    "parameter-problem": 12,
}
_ICMP6 = {
    "membership-query": 130,
    "membership-report": 131,
    "membership-termination": 132,
    "destination-unreachable": 1,
    "packet-too-big": 2,
    "time-exceeded": 3,
    "parameter-problem": 4,
    "echo-request": 128,
    "echo-reply": 129,
    "router-solicit": 133,
    "router-advertisement": 134,
    "neighbor-solicit": 135,
    "neighbor-advertisement": 136,
}
_PREFIX = "from-"
_DROP = "drop-"


@dataclass
class Filters:
    """The rules of filters by where they are bound, and the prefix lists that they have taken."""

    rules: list[ControlRule] = field(default_factory=list[ControlRule])
    drops: dict[str, ServerPortRule] = field(default_factory=dict[str, ServerPortRule])
    lists: dict[str, Family] = field(default_factory=dict[str, "Family"])


def protection(
    top: Word, ports: Mapping[str, Port], options: PolicyOptions, served: Collection[str]
) -> tuple[ControlPlane | None, frozenset[str]]:
    """The rules of a device, and the names of the prefix lists that they refer to; None without filters on ``lo0``.

    ``served`` are the ports through which servers reach their gateways: others have no filter of theirs.
    """
    own = list(_bound(top, ports, lambda name: name == "lo0"))
    if not own:
        return None, frozenset()
    found = Filters()
    managed = [
        rule
        for family, word in _bound(top, ports, lambda name: bool(MANAGEMENT.fullmatch(name)))
        for rule in _rules(word, family, "management", found)
    ]
    for family, word in own:
        found.rules += _rules(word, family, "network", found)
    known = {(one.family, one.name) for one in managed}
    network = [one for one in found.rules if (one.family, one.name) not in known]
    others = [replace(one, plane="management") for one in network if _of_management(one)]
    network = [one for one in network if not _of_management(one)]
    of_device = {word.text for word in _filters(top) if word.kind == "understood"}
    for family, word in _bound(top, ports, lambda name: name in served):
        if word.text not in of_device:
            _drops(word, family, found)
    understood = [word.text for word in _filters(top) if word.kind == "understood"]
    bind([port for name, port in ports.items() if name == "lo0" or MANAGEMENT.fullmatch(name)], of_device)
    bind([port for name, port in ports.items() if name in served], set(understood) - of_device)
    return (
        ControlPlane(
            (*network, *managed, *others),
            tuple(_sources(options, found)),
            tuple(_policers(top)),
            tuple(found.drops.values()),
        ),
        frozenset(found.lists),
    )


def _filters(top: Word) -> Iterator[Word]:
    """The filters of the families that are routed."""
    for family in FAMILIES:
        yield from (top.at_path("firewall", "family", family, "filter") or Word("")).below.values()


def _of_management(rule: ControlRule) -> bool:
    """Whether a rule of the loopback's filter is there for what comes in by the management port."""
    return rule.sources.startswith("management")


def _bound(top: Word, ports: Mapping[str, Port], wanted: Callable[[str], bool]) -> Iterator[tuple[Family, Word]]:
    """Filters on what comes in, once each, by family."""
    seen: set[tuple[str, str]] = set()
    for port in ports.values():
        if not wanted(port.name):
            continue
        for unit in port.units.values():
            for family in unit.families:
                bound = unit.word.at_path("family", family, "filter", "input")
                for name in bound.below.values() if bound is not None else ():
                    word = top.at_path("firewall", "family", family, "filter", name.text)
                    if word is None and family == "inet":
                        word = top.at_path("firewall", "filter", name.text)
                    if word is not None and family in FAMILIES and (family, name.text) not in seen:
                        seen.add((family, name.text))
                        yield FAMILIES[family], word


def _rules(
    word: Word, family: Family, plane: Literal["network", "management"], found: Filters
) -> Iterator[ControlRule]:
    """The terms of a filter that let packets in; the last one drops the rest."""
    word.take()
    terms = list(word.entries("term"))
    for term in terms:
        asked, then = term.at_path("from"), term.block("then")
        if asked is None and term is terms[-1] and then.flag("discard"):
            then.value("count")
            continue
        if asked is None or "accept" not in then.below:
            continue
        rule = _rule(term.text, asked, family, plane, found)
        if rule is None:
            continue
        then.flag("accept")
        policer = then.value("policer")
        then.value("count")
        yield replace(rule, policer=policer or "")


def _rule(
    name: str, asked: Word, family: Family, plane: Literal["network", "management"], found: Filters
) -> ControlRule | None:
    protocol = _PROTOCOLS.get(asked.value("next-header" if family == "ipv6" else "protocol") or "")
    if protocol is None:
        return None
    sources = asked.names("source-prefix-list")
    for one in sources:
        found.lists.setdefault(one, family)
    return ControlRule(
        name=name,
        plane=plane,
        family=family,
        protocol=protocol,
        sources=sources[0].removeprefix(_PREFIX) if sources else "",
        source_ports=tuple(_ranges(asked, "source-port")),
        destination_ports=tuple(_ranges(asked, "destination-port")),
        icmp_types=tuple(low for low, _ in _ranges(asked, "icmp-type", _ICMP6 if family == "ipv6" else _ICMP)),
        hop_limit=asked.number("hop-limit" if family == "ipv6" else "ttl"),
        established=asked.flag("tcp-established"),
    )


def _number(text: str, names: Mapping[str, int]) -> int:
    return names[text] if text in names else whole(text)


def _ranges(asked: Word, word: str, names: Mapping[str, int] = _PORTS) -> Iterator[PortRange]:
    found = asked.at_path(word)
    for one in found.below.values() if found is not None else ():
        low, _, high = (one.text, "", "") if one.text in names else one.text.partition("-")
        try:
            yield _number(low, names), _number(high or low, names)
        except ValueError:
            continue
        one.take()


def _drops(word: Word, family: Family, found: Filters) -> None:
    """Add the rules of a filter at servers' gateways to ``found``. A filter that does not pass all other packets is not understood."""
    passes = False
    for term in word.entries("term"):
        asked, then = term.at_path("from"), term.at_path("then") or Word("")
        if asked is None:
            if set(then.below) == {"accept"}:
                then.flag("accept")
                word.take()
                passes = True
            continue
        protocol = _PROTOCOLS.get(asked.value("next-header" if family == "ipv6" else "protocol") or "")
        if "discard" not in then.below or protocol not in {"tcp", "udp"}:
            continue
        then.flag("discard")
        then.value("count")
        word.take()
        name = term.text.removeprefix(_DROP)
        to = tuple(prefix(one) for one in asked.names("destination-address"))
        found.drops.setdefault(
            name,
            ServerPortRule(
                name, family, "tcp" if protocol == "tcp" else "udp", to, tuple(_ranges(asked, "destination-port"))
            ),
        )
    if not passes:
        word.leave()


def _sources(options: PolicyOptions, found: Filters) -> Iterable[Sources]:
    """The prefix lists of filters, in the order of the text."""
    for name, word in options.prefix_lists.items():
        if name in found.lists:
            yield Sources(name.removeprefix(_PREFIX), found.lists[name], policies.prefix_list(word))


def _policers(top: Word) -> Iterator[Policer]:
    for one in top.entries("firewall", "policer"):
        rate, burst = (
            one.read(_bits, "if-exceeding", "bandwidth-limit"),
            one.read(_bits, "if-exceeding", "burst-size-limit"),
        )
        if rate is None or burst is None or not one.flag("then", "discard"):
            one.leave()
            continue
        yield Policer(one.text, rate, burst)


def _bits(text: str) -> int:
    """A number with ``k``, ``m`` or ``g`` behind it. Raises ``ValueError``."""
    factor = {"k": 1000, "m": 1_000_000, "g": 1_000_000_000}.get(text[-1:].lower())
    return whole(text) if factor is None else whole(text[:-1]) * factor


REMOTE_USER = "remote"
Class = Literal["super-user", "operator", "read-only"]
Severity = Literal["emergency", "alert", "critical", "error", "warning", "notice", "info", "any"]
_CLASSES: dict[str, Class] = {
    "super-user": "super-user",
    "superuser": "super-user",
    "operator": "operator",
    "read-only": "read-only",
}
_SEVERITIES: tuple[Severity, ...] = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "any")
_KEYS = frozenset({"ssh-rsa", "ssh-ed25519", "ssh-ecdsa", "ssh-dsa"})


def management(top: Word, ports: Iterable[Port], *, protected: bool) -> Management:
    """The management plane. ``protected``: filters say what may reach the device."""
    system = top.block("system") if "system" in top.below else Word("")
    login = system.block("login") if "login" in system.below else Word("")
    users = dict(_users(login))
    aaa = _aaa(system, login, users)
    limits = _limits(login)
    edge = _edge_ports(top, ports)
    return Management(
        domain=system.value("domain-name") or "",
        dns=_servers(system, "name-server"),
        ntp=_ntp(system),
        time_zone=system.value("time-zone") or "UTC",
        root_password=system.read(secret, "root-authentication", "encrypted-password"),
        users=users,
        syslog=tuple(_syslog(system)),
        snmp=_snmp(top),
        services=_services(top, system),
        lldp=_lldp(top),
        banner=login.value("message") or "",
        security=Security(limits, aaa, edge) if protected or limits or aaa or edge else None,
    )


def identity(top: Word) -> tuple[str, str]:
    """The name of the device, and the release that its configuration is of."""
    return top.value("system", "host-name") or "", top.value("version") or ""


def own_address(ports: Mapping[str, Port]) -> InterfaceAddress:
    """The address of the management port; 0.0.0.0/0 where it has none."""
    for port in ports.values():
        if MANAGEMENT.fullmatch(port.name):
            for unit in port.units.values():
                if unit.every_address():
                    return unit.every_address()[0]
    return InterfaceAddress("0.0.0.0/0")


def gateway(top: Word, own: InterfaceAddress) -> Address:
    """The next hop of the default route of the management port, whose address is ``own``; 0.0.0.0 where there is none.

    In the main table it is a next hop that the port itself reaches: other static routes there are the fabric's, and not understood.
    """
    named = top.at_path("routing-instances", MANAGEMENT_INSTANCE)
    if named is not None:
        named.take()
        named.value("description")
    options = top.block("routing-options")
    for place in (
        named.at_path("routing-options") if named is not None else None,
        named.at_path("routing-options", "rib", f"{MANAGEMENT_INSTANCE}.inet6.0") if named is not None else None,
        options.at_path("rib", f"{MANAGEMENT_INSTANCE}.inet6.0"),
        options,
    ):
        for everything in ("0.0.0.0/0", "::/0"):
            route = place.at_path("static", "route", everything) if place is not None else None
            hop = route.holds("next-hop") if route is not None else None
            found = _address(hop.text) if hop is not None else None
            if hop is not None and found and (place is not options or (own.length and own.prefix.holds(found))):
                hop.take()
                return found
    return NO_ADDRESS


def _address(text: str) -> Address | None:
    try:
        return address(text)
    except ValueError:
        return None


def _users(login: Word) -> Iterator[tuple[str, User]]:
    for one in login.entries("user"):
        role = one.value("class")
        if role is not None and role not in _CLASSES:
            one.block("class").leave()
        keys = [key.text for kind in _KEYS for key in one.entries("authentication", kind)]
        yield (
            one.text,
            User(
                _CLASSES.get(role or "", "read-only"),
                one.read(secret, "authentication", "encrypted-password"),
                tuple(keys),
            ),
        )


def _limits(login: Word) -> Login | None:
    options = login.at_path("retry-options")
    idle = login.number("idle-timeout")
    if options is None and idle is None:
        return None
    tries = options.number("tries-before-disconnect") if options is not None else None
    lockout = options.number("lockout-period") if options is not None else None

    def given(value: int | None, name: str) -> int:
        return unprinted(f"management.security.login.{name}") if value is None else value

    return Login(given(tries, "attempts"), given(lockout, "lockout"), given(idle, "idle"))


def _aaa(system: Word, login: Word, users: dict[str, User]) -> Aaa | None:
    order = [one.text for one in system.entries("authentication-order")]
    tacacs = tuple(_login_servers(system, "tacplus-server")) if "tacplus" in order else ()
    radius = tuple(_login_servers(system, "radius-server")) if "radius" in order else ()
    if not tacacs and not radius:
        return None
    template = users.get(REMOTE_USER)
    plain = template is not None and template.password is None and not template.ssh_keys
    if template is not None and plain:
        del users[REMOTE_USER]
    del login
    return Aaa(tacacs, radius, template.role if template is not None and plain else "read-only")


def _login_servers(system: Word, kind: str) -> Iterator[LoginServer]:
    for one in system.entries(kind):
        key = one.read(secret, "secret")
        timeout = one.number("timeout")
        port = one.number("port")
        one.value("routing-instance")
        usual = unprinted("management.security.aaa.radius.timeout")
        yield LoginServer(one.text, key or "", port, usual if timeout is None else timeout)


def _servers(system: Word, word: str) -> tuple[str, ...]:
    found = list(system.entries(word))
    for one in found:
        one.value("routing-instance")
    return tuple(one.text for one in found)


def _ntp(system: Word) -> tuple[str, ...]:
    found = list(system.entries("ntp", "server"))
    for one in found:
        one.spread({"routing-instance": 1, "prefer": 0, "version": 1})
        one.value("routing-instance")
    return tuple(one.text for one in found)


def _syslog(system: Word) -> Iterator[Syslog]:
    usual = unprinted("management.syslog.port")
    for one in system.entries("syslog", "host"):
        severity: Severity = "notice"
        for level in _SEVERITIES:
            severity = level if one.flag("any", level) else severity
        port = one.number("port")
        one.value("routing-instance")
        one.flag("structured-data")
        yield Syslog(one.text, usual if port is None else port, severity)


def _services(top: Word, system: Word) -> Services:
    services = system.block("services") if "services" in system.below else Word("")
    netconf = services.at_path("netconf")
    grpc = services.at_path("extension-service", "request-response", "grpc")
    usual = unprinted("management.services.grpc_port")
    certificate = port = None
    if grpc is not None:
        grpc.value("routing-instance")
        named = grpc.value("ssl", "local-certificate")
        port = grpc.number("ssl", "port")
        certificate = next(iter(_certificates(top, named)), None) if named is not None else None
    return Services(
        netconf=netconf is not None and netconf.flag("ssh"),
        netconf_rfc_compliant=netconf is not None and netconf.flag("rfc-compliant"),
        grpc_certificate=certificate,
        grpc_port=usual if port is None else port,
    )


def _certificates(top: Word, name: str) -> Iterator[str]:
    for one in top.entries("security", "certificates", "local", name):
        yield secret(one.text)


def _snmp(top: Word) -> Snmp | None:
    word = top.at_path("snmp")
    if word is None:
        return None
    word.take()
    community, clients = _community(word)
    users = dict(_snmp_users(word))
    targets: list[str] = []
    for group in word.entries("trap-group"):
        group.value("version")
        group.value("routing-instance")
        targets += group.names("targets")
    return Snmp(
        location=word.value("location") or "",
        contact=word.value("contact") or "",
        community=community,
        users=users,
        trap_targets=tuple(targets),
        clients=clients,
    )


def _community(word: Word) -> tuple[str | None, tuple[Prefix, ...]]:
    """The community that may be read with; a second one, and one that may write, are not understood."""
    for one in (word.at_path("community") or Word("")).below.values():
        if one.value("authorization") == "read-write":
            one.leave()
            continue
        one.take()
        clients: list[Prefix] = []
        for place in (one, *one.entries("routing-instance")):
            for client in place.entries("clients"):
                try:
                    clients.append(prefix(client.text))
                except ValueError:
                    client.leave()
        return secret(one.text), tuple(dict.fromkeys(clients))
    return None, ()


def _snmp_users(word: Word) -> Iterator[tuple[str, SnmpUser]]:
    for one in word.entries("v3", "usm", "local-engine", "user"):
        auth = one.read(secret, "authentication-sha256", "authentication-key")
        privacy = one.read(secret, "privacy-aes128", "privacy-key")
        if auth is None or privacy is None:
            one.leave()
            continue
        yield one.text, SnmpUser(auth, privacy)
    for model in word.entries("v3", "vacm", "security-to-group", "security-model"):
        for name in model.entries("security-name"):
            name.value("group")
    for view in word.entries("view"):
        for oid in view.entries("oid"):
            oid.flag("include")
    for group in word.entries("v3", "vacm", "access", "group"):
        for model in group.entries("default-context-prefix", "security-model"):
            for level in model.entries("security-level"):
                level.value("read-view")


def _lldp(top: Word) -> bool:
    """Whether neighbors are told of on every port."""
    return (
        top.flag("protocols", "lldp", "interface", "all")
        and "disable" not in (top.at_path("protocols", "lldp", "interface", "all") or Word("")).below
    )


def _edge_ports(top: Word, ports: Iterable[Port]) -> EdgePorts | None:
    """What protects layer-2 server ports: those that hear a bridge are shut, and floods are limited."""
    guarded = top.at_path("protocols", "layer2-control", "bpdu-block")
    profiles = {unit.storm for port in ports for unit in port.units.values() if unit.storm is not None}
    storm: int | None = None
    for name in sorted(profiles):
        storm = top.number("forwarding-options", "storm-control-profiles", name, "all", "bandwidth-percentage") or storm
    if guarded is not None:
        guarded.names("interface")
        guarded.number("disable-timeout")
    if guarded is None and storm is None:
        return None
    return EdgePorts(guarded is not None, storm)
