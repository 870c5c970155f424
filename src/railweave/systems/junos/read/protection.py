"""Derivation of access rules from the firewall filters that protect the device and the gateways for servers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.device.control_plane import ControlPlane, ControlRule, Policer, PortRange, ServerPortRule, Sources
from railweave.systems.junos.read import policies
from railweave.systems.junos.read.balancing import bind
from railweave.systems.junos.read.ports import MANAGEMENT, Port
from railweave.systems.junos.words import FAMILIES, Word, prefix, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from railweave.model.config.addresses import Family
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
    """The rules that were read from firewall filters.

    - ``rules``: the rules for packets to the device itself.
    - ``drops``: the rules that drop packets from servers, by name.
    - ``lists``: the address family of each prefix list in the rules.
    """

    rules: list[ControlRule] = field(default_factory=list[ControlRule])
    drops: dict[str, ServerPortRule] = field(default_factory=dict[str, ServerPortRule])
    lists: dict[str, Family] = field(default_factory=dict[str, "Family"])


def protection(
    top: Word, ports: Mapping[str, Port], options: PolicyOptions, served: Collection[str]
) -> tuple[ControlPlane | None, frozenset[str]]:
    """Return (control-plane rules, names of the prefix lists in the rules). The rules are None if ``lo0`` has no filters.

    ``served`` are the ports through which servers reach their gateways. Only these ports have filters for servers. ``top`` is the root of
    the configuration.
    """
    loopback_filters = list(_bound(top, ports, lambda name: name == "lo0"))
    if not loopback_filters:
        return None, frozenset()
    filters = Filters()
    managed = [
        rule
        for family, word in _bound(top, ports, lambda name: bool(MANAGEMENT.fullmatch(name)))
        for rule in _rules(word, family, "management", filters)
    ]
    for family, word in loopback_filters:
        filters.rules += _rules(word, family, "network", filters)
    known = {(rule.family, rule.name) for rule in managed}
    network = [rule for rule in filters.rules if (rule.family, rule.name) not in known]
    others = [replace(rule, plane="management") for rule in network if _of_management(rule)]
    network = [rule for rule in network if not _of_management(rule)]
    of_device = {word.text for word in _filters(top) if word.kind == "understood"}
    for family, word in _bound(top, ports, lambda name: name in served):
        if word.text not in of_device:
            _drops(word, family, filters)
    understood = [word.text for word in _filters(top) if word.kind == "understood"]
    bind([port for name, port in ports.items() if name == "lo0" or MANAGEMENT.fullmatch(name)], of_device)
    bind([port for name, port in ports.items() if name in served], set(understood) - of_device)
    return (
        ControlPlane(
            (*network, *managed, *others),
            tuple(_sources(options, filters)),
            tuple(_policers(top)),
            tuple(filters.drops.values()),
        ),
        frozenset(filters.lists),
    )


def _filters(top: Word) -> Iterator[Word]:
    """Yield the filters of the address families IPv4 and IPv6. ``top`` is the root of the configuration."""
    for family in FAMILIES:
        yield from (top.at_path("firewall", "family", family, "filter") or Word("")).below.values()


def _of_management(rule: ControlRule) -> bool:
    """Return True if a rule of the loopback's filter matches only packets from the management port."""
    return rule.sources.startswith("management")


def _bound(top: Word, ports: Mapping[str, Port], wanted: Callable[[str], bool]) -> Iterator[tuple[Family, Word]]:
    """Yield (address family, filter) for each filter that a port applies to incoming packets. A filter on several ports is yielded once.

    Only the ports for which ``wanted`` returns True are searched; it gets the name of a port. ``top`` is the root of the configuration.
    """
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
    word: Word, family: Family, plane: Literal["network", "management"], filters: Filters
) -> Iterator[ControlRule]:
    """Yield a rule for each term of a filter (``word``) that accepts packets. The last term of the filter drops all other packets.

    ``family`` is the address family of the filter. ``plane`` says where the packets arrive: on the ports of the network, or on the
    management port. The prefix lists in the rules are added to ``filters``.
    """
    word.mark()
    terms = list(word.entries("term"))
    for term in terms:
        asked, then = term.at_path("from"), term.block("then")
        if asked is None and term is terms[-1] and then.flag("discard"):
            then.value("count")
            continue
        if asked is None or "accept" not in then.below:
            continue
        rule = _rule(term.text, asked, family, plane, filters)
        if rule is None:
            continue
        then.flag("accept")
        policer = then.value("policer")
        then.value("count")
        yield replace(rule, policer=policer or "")


def _rule(
    name: str, asked: Word, family: Family, plane: Literal["network", "management"], filters: Filters
) -> ControlRule | None:
    protocol = _PROTOCOLS.get(asked.value("next-header" if family == "ipv6" else "protocol") or "")
    if protocol is None:
        return None
    sources = asked.names("source-prefix-list")
    for source in sources:
        filters.lists.setdefault(source, family)
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
    block = asked.at_path(word)
    for value in block.below.values() if block is not None else ():
        low, _, high = (value.text, "", "") if value.text in names else value.text.partition("-")
        try:
            yield _number(low, names), _number(high or low, names)
        except ValueError:
            continue
        value.mark()


def _drops(word: Word, family: Family, filters: Filters) -> None:
    """Read a filter (``word``) that drops packets from servers, and add its rules to ``filters.drops``.

    ``family`` is the address family of the filter. If the filter does not pass all other packets, it is marked as not understood.
    """
    passes = False
    for term in word.entries("term"):
        asked, then = term.at_path("from"), term.at_path("then") or Word("")
        if asked is None:
            if set(then.below) == {"accept"}:
                then.flag("accept")
                word.mark()
                passes = True
            continue
        protocol = _PROTOCOLS.get(asked.value("next-header" if family == "ipv6" else "protocol") or "")
        if "discard" not in then.below or protocol not in {"tcp", "udp"}:
            continue
        then.flag("discard")
        then.value("count")
        word.mark()
        name = term.text.removeprefix(_DROP)
        to = tuple(prefix(destination) for destination in asked.names("destination-address"))
        filters.drops.setdefault(
            name,
            ServerPortRule(
                name, family, "tcp" if protocol == "tcp" else "udp", to, tuple(_ranges(asked, "destination-port"))
            ),
        )
    if not passes:
        word.mark_unknown()


def _sources(options: PolicyOptions, filters: Filters) -> Iterable[Sources]:
    """Yield the prefix lists to which filters refer, in the order of the text."""
    for name, word in options.prefix_lists.items():
        if name in filters.lists:
            yield Sources(name.removeprefix(_PREFIX), filters.lists[name], policies.prefix_list(word))


def _policers(top: Word) -> Iterator[Policer]:
    for policer in top.entries("firewall", "policer"):
        rate, burst = (
            policer.read(_bits, "if-exceeding", "bandwidth-limit"),
            policer.read(_bits, "if-exceeding", "burst-size-limit"),
        )
        if rate is None or burst is None or not policer.flag("then", "discard"):
            policer.mark_unknown()
            continue
        yield Policer(policer.text, rate, burst)


def _bits(text: str) -> int:
    """Return the number in a text such as ``500k``; the suffixes are ``k``, ``m`` and ``g``. Raises ``ValueError`` for other texts."""
    factor = {"k": 1000, "m": 1_000_000, "g": 1_000_000_000}.get(text[-1:].lower())
    return whole(text) if factor is None else whole(text[:-1]) * factor
