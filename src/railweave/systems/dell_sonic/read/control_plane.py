"""What may reach the switch itself: access lists of the control plane, and of interfaces of gateways.

The design's rules follow from the rest of a configuration, and say more than their commands do (names, planes, hop limits).
So the rules that this device would have are worked out, and held against the lists: rules whose commands stand there are those;
other commands are rules by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from railweave.model.config.addresses import BITS, Family, Prefix
from railweave.model.device.control_plane import ControlPlane, ControlRule, PortRange, ServerPortRule, Sources
from railweave.model.device.management import Security, Services, Snmp
from railweave.model.device.protection import control_plane
from railweave.systems.dell_sonic.render.control_plane import IP, discards, permits
from railweave.systems.dell_sonic.words import address, interface, number, prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from railweave.model.config.sections import Section, SectionReader
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.dell_sonic.statements.ports import Lines

_FAMILIES: dict[str, Family] = {word: family for family, word in IP.items()}
_ICMP = {"icmp": "icmp", "icmpv6": "icmp", "tcp": "tcp", "udp": "udp"}
SSH, NETCONF, BGP, SNMP = 22, 830, 179, 161

Rule = TypeVar("Rule", ControlRule, ServerPortRule)


@dataclass(slots=True)
class _Words:
    """A command of a list, word by word: both ends with their ports, and what is left."""

    protocol: str
    source: Prefix | None
    sent: PortRange | None
    target: Prefix | None
    received: PortRange | None
    rest: list[str]


@dataclass(slots=True)
class _List:
    """An access list: its commands in order, without their numbers."""

    family: Family
    commands: dict[int, tuple[str, Section]] = field(default_factory=dict[int, "tuple[str, Section]"])

    def texts(self) -> list[str]:
        """The commands but for what ends the list."""
        word = IP[self.family]
        ends = {f"deny {word} any any", f"permit {word} any any"}
        return [text for _, (text, _) in sorted(self.commands.items()) if text not in ends]

    @property
    def last(self) -> str:
        """The last command."""
        return self.commands[max(self.commands)][0] if self.commands else ""

    def lets_the_rest(self) -> bool:
        """Return whether the last command permits all packets that no other command matches."""
        return self.last == f"permit {IP[self.family]} any any"

    def understood(self, texts: Iterable[str]) -> list[Section]:
        """The lines of commands, and that which ends the list."""
        word, last = IP[self.family], max(self.commands, default=0)
        known = {*texts}
        ends = {f"deny {word} any any", f"permit {word} any any"}
        return [
            section
            for place, (text, section) in self.commands.items()
            if text in known or (place == last and text in ends)
        ]


def protection(taking: SectionReader, config: DeviceConfig, lines: Mapping[str, Lines]) -> DeviceConfig:
    """The configuration with what protects it."""
    lists = _lists(taking)
    bound = _bound(taking, lists)
    inside = {(family, name) for one in lines.values() for family, name in one.filters.items()}
    own = [one for key, one in lists.items() if key in bound]
    edges = [one for key, one in lists.items() if key in inside]
    ours = {key for key, one in lists.items() if own and one.lets_the_rest()}
    _leave_filters(taking, ours, {port.name for port in config.interfaces if port.kind != "server"})
    if not own:
        return config
    designed, found = _designed(config, own)
    rules, sources = _rules(taking, designed, own)
    protected = replace(
        designed,
        rules=rules,
        sources=(*designed.sources, *sources),
        server_ports=_server_rules(taking, designed, edges),
    )
    wanted = replace(found.management, snmp=config.management.snmp, security=found.management.security or Security())
    return replace(config, protection=protected, management=wanted)


def _lists(taking: SectionReader) -> dict[tuple[Family, str], _List]:
    found: dict[tuple[Family, str], _List] = {}
    for one in taking.sections:
        match one.line.split():
            case ["ip" | "ipv6" as word, "access-list", name]:
                here = found.setdefault((_FAMILIES[word], name), _List(_FAMILIES[word]))
            case _:
                continue
        taking.take(one)
        for inner in one.body or ():
            match inner.line.split(maxsplit=2):
                case ["seq", value, text] if (place := number(value)) is not None:
                    here.commands[place] = (text, inner)
                case _:
                    continue
    return found


def _leave_filters(taking: SectionReader, ours: Collection[tuple[Family, str]], links: Collection[str]) -> None:
    """Leave bindings of lists to links, and of lists that are not ``ours``: they may drop what the switch forwards."""
    for header in taking.sections:
        for line in header.body or () if header.line.startswith("interface ") else ():
            match line.line.split():
                case ["ip" | "ipv6" as word, "access-group", name, _]:
                    named = interface(header.line.removeprefix("interface "))
                    if (_FAMILIES[word], name) not in ours or named is None or named.partition(".")[0] in links:
                        taking.give_back(line)
                case _:
                    continue


def _bound(taking: SectionReader, lists: Collection[tuple[Family, str]]) -> set[tuple[Family, str]]:
    """Lists that are in use for packets to the switch itself; one that is not there is not understood."""
    found: set[tuple[Family, str]] = set()
    for one in taking.sections:
        if one.line != "line vty":
            continue
        taking.take(one)
        for inner in one.body or ():
            match inner.line.split():
                case ["ip" | "ipv6" as word, "access-group", name, "in"] if (_FAMILIES[word], name) in lists:
                    found.add((_FAMILIES[word], name))
                    taking.take(inner)
                case _:
                    continue
    return found


def _designed(config: DeviceConfig, lists: Sequence[_List]) -> tuple[ControlPlane, DeviceConfig]:
    """The rules that a device with this configuration would have, and the services that its lists let in."""
    commands = [found for one in lists for text in one.texts() if (found := _command(text)) is not None]
    managers = dict.fromkeys(
        one.source for one in commands if one.source and one.protocol == "tcp" and one.received == (SSH, SSH)
    )
    inside = [one for one in commands if one.source in managers and one.received]
    ports = {one.received[0] for one in inside if one.received and one.protocol == "tcp"} - {SSH, BGP}
    others = sorted(ports - {NETCONF})
    services = config.management.services
    services = Services(
        netconf=NETCONF in ports,
        grpc_certificate=(services.grpc_certificate or "secret:?") if others else None,
        grpc_port=others[0] if others else services.grpc_port,
    )
    asked = any(one.received == (SNMP, SNMP) for one in inside)
    snmp = (config.management.snmp or Snmp()) if asked else None
    found = replace(config, management=replace(config.management, services=services, snmp=snmp))
    return control_plane(found, tuple(managers), sees_interfaces=False, holds_sessions=True, in_kernel=False), found


def _rules(
    taking: SectionReader, designed: ControlPlane, lists: Iterable[_List]
) -> tuple[tuple[ControlRule, ...], list[Sources]]:
    gone: set[str] = {one.name for family in _FAMILIES.values() for one in designed.together(family)}
    more: list[ControlRule] = []
    sources: list[Sources] = []
    for one in lists:
        wanted = designed.together(one.family)
        kept, others = _matched(one.texts(), wanted, lambda rule: list(permits(rule, designed.source(rule).prefixes)))
        gone -= {rule.name for rule in kept}
        understood = {text for rule in kept for text in permits(rule, designed.source(rule).prefixes)}
        for text in others:
            made = _rule(text, one.family)
            if made is not None:
                understood.add(text)
                more.append(made[0])
                sources += made[1]
        taking.take(*one.understood(understood))
    return (*(one for one in designed.rules if one.name not in gone), *more), sources


def _server_rules(taking: SectionReader, designed: ControlPlane, lists: Iterable[_List]) -> tuple[ServerPortRule, ...]:
    found: list[ServerPortRule] = []
    for one in lists:
        wanted = [rule for rule in designed.server_ports if rule.family == one.family]
        kept, others = _matched(one.texts(), wanted, lambda rule: list(discards(rule)))
        found += kept
        understood = {text for rule in kept for text in discards(rule)}
        for text in others:
            words = _command(text)
            if words is None or not text.startswith(("discard ", "deny ")) or words.received is None:
                continue
            if words.source is not None or words.target is None or words.protocol not in {"tcp", "udp"} or words.rest:
                continue
            protocol = cast('Literal["tcp", "udp"]', words.protocol)
            found.append(ServerPortRule(text, one.family, protocol, (words.target,), (words.received,)))
            understood.add(text)
        taking.take(*one.understood(understood))
    return tuple(found)


def _matched(
    texts: Sequence[str], wanted: Iterable[Rule], commands: Callable[[Rule], list[str]]
) -> tuple[list[Rule], list[str]]:
    """The rules whose commands stand in the list, in order, and the commands that are none of theirs."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(text, []).append(place)
    kept: list[Rule] = []
    others: list[str] = []
    at = 0
    for rule in wanted:
        own = commands(rule)
        begin = next(
            (one for one in places.get(own[0], ()) if one >= at and list(texts[one : one + len(own)]) == own), None
        )
        if begin is not None:
            kept.append(rule)
            others += texts[at:begin]
            at = begin + len(own)
    return kept, [*others, *texts[at:]]


def _rule(text: str, family: Family) -> tuple[ControlRule, list[Sources]] | None:
    """A command as a rule by itself, called by its words; None where it is none that a rule can say."""
    words = _command(text)
    if words is None or not text.startswith("permit ") or words.protocol not in _ICMP or words.target is not None:
        return None
    types: tuple[int, ...] = ()
    match words.rest:
        case []:
            established = False
        case ["established"]:
            established = True
        case ["type", value] if (found := number(value)) is not None:
            established, types = False, (found,)
        case _:
            return None
    made = ControlRule(
        name=text,
        plane="network",
        family=family,
        protocol=cast('Literal["tcp", "udp", "icmp"]', _ICMP[words.protocol]),
        sources=text if words.source else "",
        source_ports=(words.sent,) if words.sent else (),
        destination_ports=(words.received,) if words.received else (),
        icmp_types=types,
        established=established,
    )
    return made, [Sources(text, family, (words.source,))] if words.source else []


def _command(text: str) -> _Words | None:
    """A command's words: ``permit tcp 10.0.0.0/8 any eq 22``; None where they are not those of one."""
    words = text.split()
    if len(words) < len(("permit", "tcp", "any", "any")) or words[0] not in {"permit", "deny", "discard"}:
        return None
    rest = words[2:]
    ends: list[tuple[Prefix | None, PortRange | None]] = []
    for _ in range(2):
        taken = _end(rest)
        if taken is None:
            return None
        ends.append(taken)
    return _Words(words[1], *ends[0], *ends[1], rest)


def _end(rest: list[str]) -> tuple[Prefix | None, PortRange | None] | None:
    """Take an address and its ports off the front of the words; None where there is no such."""
    where: Prefix | None = None
    match rest:
        case ["any", *_]:
            used = 1
        case ["host", value, *_] if (one := address(value)) is not None:
            where, used = Prefix(f"{one}/{BITS[one.family]}"), 2
        case [value, *_] if (found := prefix(value)) is not None:
            where, used = found, 1
        case _:
            return None
    del rest[:used]
    match rest:
        case ["eq", value, *_] if (port := number(value)) is not None:
            del rest[:2]
            return where, (port, port)
        case ["range", low, high, *_] if (first := number(low)) is not None and (last := number(high)) is not None:
            del rest[:3]
            return where, (first, last)
        case _:
            return where, None
