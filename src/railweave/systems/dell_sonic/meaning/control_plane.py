"""Conversion between the control-plane rules of a device and its access lists (``statements.control_plane``).

A rule contains more than its access list entries show (a name, a plane, a hop limit). Therefore the reader derives the
rules that railweave would design for this device, and compares their entries with the lists in the configuration. If
all entries of a rule are in a list, the device has this rule. Every other entry becomes a rule of its own.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, TypeVar

from railweave.model.config.addresses import FAMILIES, Prefix
from railweave.model.config.sections import select
from railweave.model.device.control_plane import ControlPlane, ControlRule, ServerPortRule, Sources
from railweave.model.device.management import Security, Services, Snmp
from railweave.model.device.protection import control_plane
from railweave.systems.dell_sonic.meaning.ports import FILTERS
from railweave.systems.dell_sonic.statements.control_plane import ANY, AccessList, Entry, Lists, Terminal, Use
from railweave.systems.dell_sonic.statements.ports import FAMILY
from railweave.systems.dell_sonic.words import interface

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Family
    from railweave.model.config.sections import Section
    from railweave.model.device.management import Management
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.dell_sonic.statements.ports import Lines

NAMES: dict[Family, str] = {"ipv4": "control-plane-v4", "ipv6": "control-plane-v6"}
SSH, NETCONF, BGP, SNMP = 22, 830, 179, 161
NO_MORE, THE_REST = Entry("deny", every=True), Entry("permit", every=True)
"""Entries that match all remaining packets: the last entry of a list for packets to the switch (``NO_MORE``), and of a gateway's list
(``THE_REST``).
"""

Key = tuple["Family", str]
"""The key of an access list: (family, name)."""
Rule = TypeVar("Rule", ControlRule, ServerPortRule)


def lists_of(config: DeviceConfig) -> Lists:
    """Return the access lists of a device. One list has the rules for both network and management packets, as the system requires."""
    protection = config.protection
    if protection is None:
        return Lists()
    lists: dict[Family, dict[str, AccessList]] = {}
    for family, name in NAMES.items():
        rules = protection.together(family)
        permits = [entry for rule in rules for entry in _permits(rule, protection.source(rule).prefixes)]
        drops = [entry for rule in protection.server_ports if rule.family == family for entry in _discards(rule)]
        lists[family] = {name: _numbered([*permits, NO_MORE])}
        lists[family] |= {FILTERS[family]: _numbered([*drops, THE_REST])} if drops else {}
    return Lists(lists["ipv4"], lists["ipv6"], (Terminal(tuple(Use(*key) for key in NAMES.items())),))


def _numbered(entries: Iterable[Entry]) -> AccessList:
    return AccessList(tuple(replace(entry, number=10 * place) for place, entry in enumerate(entries, 1)))


def _permits(rule: ControlRule, sources: tuple[Prefix, ...]) -> list[Entry]:
    """Return the access list entries of a rule: one for each combination of source, port ranges and ICMP type."""
    plain = Entry("permit", established=rule.established or None)
    plain = replace(plain, icmp=True) if rule.protocol == "icmp" else replace(plain, protocol=rule.protocol)
    return [
        replace(plain, sender=sender, sent=sent, received=received, icmp_type=icmp_type)
        for sender, sent, received, icmp_type in product(
            sources or (ANY,),
            rule.source_ports or (None,),
            rule.destination_ports or (None,),
            rule.icmp_types or (None,),
        )
    ]


def _discards(rule: ServerPortRule) -> list[Entry]:
    """Return the access list entries of a rule for server ports: one for each combination of destination and port range."""
    ends = product(rule.destinations, rule.destination_ports)
    return [Entry("discard", protocol=rule.protocol, target=target, received=ports) for target, ports in ends]


def protected(
    config: DeviceConfig, lists: Lists, lines: Mapping[str, Lines], sections: Sequence[Section]
) -> tuple[DeviceConfig, list[Section]]:
    """Return (the configuration with the rules that its access lists contain, the lines that ``DeviceConfig`` cannot represent).

    ``lines`` are the settings of interfaces by name, and ``sections`` the sections of the configuration.
    """
    every: dict[Key, tuple[Entry, ...]] = {("ipv4", name): entries.entries for name, entries in lists.ipv4.items()}
    every |= {("ipv6", name): entries.entries for name, entries in lists.ipv6.items()}
    uses = [use for terminal in lists.terminals for use in terminal.lists]
    bound = {(use.family, use.name) for use in uses}
    gateways = {key for each in lines.values() for key in each.filters.items()}
    ordered = {key: _ordered(entries) for key, entries in every.items()}
    of_switch = {key: entries for key, entries in ordered.items() if key in bound}
    open_lists = {key for key, entries in ordered.items() if of_switch and entries and entries[-1] == THE_REST}
    unrepresented = [use.section for use in uses if (use.family, use.name) not in every]
    unrepresented += _filters(sections, open_lists, {port.name for port in config.interfaces if port.kind != "server"})
    understood: set[int] = set()
    if of_switch:
        designed, management = _designed(config, of_switch.values())
        rules, sources = _rules(designed, of_switch, understood)
        server_ports = _server_rules(designed, {key: ordered[key] for key in ordered if key in gateways}, understood)
        management = replace(management, snmp=config.management.snmp, security=management.security or Security())
        protection = replace(designed, rules=rules, sources=sources, server_ports=server_ports)
        config = replace(config, protection=protection, management=management)
    unrepresented += [
        each.section for entries in every.values() for each in entries if id(each.section) not in understood
    ]
    return config, [section for section in unrepresented if section is not None]


def _ordered(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries in the order of their numbers, without the numbers. If several entries have the same number, the last one is kept.

    If an entry other than the last matches every packet, it and all later entries are left out.
    """
    latest = {entry.number: entry for entry in entries}
    ordered = [replace(latest[number], number=0) for number in sorted(latest)]
    return ordered[: next((place for place, entry in enumerate(ordered[:-1]) if entry.every), None)]


def _filters(sections: Iterable[Section], open_lists: Collection[Key], links: Collection[str]) -> Iterator[Section]:
    """Yield the lines that apply access lists which may drop forwarded packets.

    On a port in ``links`` (a link to a switch or router), every such line is yielded. On other ports, a line is left out if its list is in
    ``open_lists``: the last entry of these lists permits all other packets.
    """
    for line in select(sections, "interface <name...>", "ip|ipv6 access-group <list> *"):
        key = FAMILY.read(line.line.split()[0]), line["list"]
        name = interface(line["name"])
        if key not in open_lists or name is None or name.partition(".")[0] in links:
            yield line.chain[-1]


def _designed(config: DeviceConfig, lists: Iterable[Sequence[Entry]]) -> tuple[ControlPlane, Management]:
    """Return (the control plane that railweave would design for this configuration, the management settings).

    The management settings are those of ``config``, changed so that they have exactly the services whose ports the access lists open.
    """
    asked = [entry for entries in lists for entry in entries if entry.sender != ANY and entry.received]
    to_ssh = (entry for entry in asked if entry.protocol == "tcp" and entry.received == (SSH, SSH))
    managers = tuple(dict.fromkeys(Prefix(entry.sender) for entry in to_ssh))
    inside = [entry for entry in asked if entry.sender in managers]
    ports = {entry.received[0] for entry in inside if entry.received and entry.protocol == "tcp"} - {SSH, BGP}
    others = sorted(ports - {NETCONF})
    services = config.management.services
    services = Services(
        netconf=NETCONF in ports,
        grpc_certificate=(services.grpc_certificate or "secret:?") if others else None,
        grpc_port=others[0] if others else services.grpc_port,
    )
    is_polled = any(entry.received == (SNMP, SNMP) for entry in inside)
    snmp = (config.management.snmp or Snmp()) if is_polled else None
    management = replace(config.management, services=services, snmp=snmp)
    served = replace(config, management=management)
    return control_plane(served, managers, sees_interfaces=False, holds_sessions=True, in_kernel=False), management


def _rules(
    designed: ControlPlane, lists: Mapping[Key, Sequence[Entry]], understood: set[int]
) -> tuple[tuple[ControlRule, ...], tuple[Sources, ...]]:
    """Return (rules, their sources) that access lists contain. ``designed`` has the rules that railweave would design.

    ``lists`` has the entries of each list. The Python ``id`` of every understood line is added to ``understood``.
    """
    gone = {rule.name for family in FAMILIES for rule in designed.together(family)}
    more: list[ControlRule] = []
    sources = [*designed.sources]
    for (family, _), entries in lists.items():
        wanted = designed.together(family)
        kept, others = _matched(entries, wanted, lambda rule: _permits(rule, designed.source(rule).prefixes))
        gone -= {rule.name for rule in kept}
        permits = [entry for entry in others if entry.verdict == "permit" and entry.target == ANY and not entry.every]
        for entry in permits:
            name = _title(entry)
            more.append(_rule(name, family, entry))
            sources += [Sources(name, family, (Prefix(entry.sender),))] if entry.sender != ANY else []
        unknown = {*others} - {*permits, NO_MORE}
        understood |= {id(entry.section) for entry in entries if entry not in unknown}
    return (*(rule for rule in designed.rules if rule.name not in gone), *more), tuple(sources)


def _server_rules(
    designed: ControlPlane, lists: Mapping[Key, Sequence[Entry]], understood: set[int]
) -> tuple[ServerPortRule, ...]:
    rules: list[ServerPortRule] = []
    for (family, _), entries in lists.items():
        wanted = [rule for rule in designed.server_ports if rule.family == family]
        kept, others = _matched(entries, wanted, _discards)
        rules += kept
        for entry in [*others]:
            drop = Entry(entry.verdict, protocol=entry.protocol, target=entry.target, received=entry.received)
            is_drop = entry == drop and entry.verdict != "permit" and entry.target != ANY
            if is_drop and entry.protocol and entry.received:
                ends = (Prefix(entry.target),), (entry.received,)
                rules.append(ServerPortRule(_title(entry), family, entry.protocol, *ends))
                others.remove(entry)
        understood |= {id(entry.section) for entry in entries if entry not in others or entry == THE_REST}
    return tuple(rules)


def _matched(
    entries: Sequence[Entry], wanted: Iterable[Rule], entries_of: Callable[[Rule], list[Entry]]
) -> tuple[list[Rule], list[Entry]]:
    """Return (the rules of ``wanted`` whose entries are in the list one after another, the entries that belong to no such rule).

    ``entries_of`` returns the entries of a rule.
    """
    places: dict[Entry, list[int]] = {}
    for place, entry in enumerate(entries):
        places.setdefault(entry, []).append(place)
    kept: list[Rule] = []
    others: list[Entry] = []
    at = 0
    for rule in wanted:
        its = entries_of(rule)
        begins = (place for place in places.get(its[0], ()) if place >= at and entries[place : place + len(its)] == its)
        begin = next(begins, None)
        if begin is not None:
            kept.append(rule)
            others += entries[at:begin]
            at = begin + len(its)
    return kept, [*others, *entries[at:]]


def _title(entry: Entry) -> str:
    """Return the line of an entry without its first two words (``seq`` and the number). It becomes the name of a rule made from the entry."""
    return entry.section.line.split(maxsplit=2)[2] if entry.section else ""


def _rule(name: str, family: Family, entry: Entry) -> ControlRule:
    """Return a control-plane rule with the given name that consists of one access list entry for packets of ``family``."""
    return ControlRule(
        name=name,
        plane="network",
        family=family,
        protocol=entry.protocol or "icmp",
        sources="" if entry.sender == ANY else name,
        source_ports=(entry.sent,) if entry.sent else (),
        destination_ports=(entry.received,) if entry.received else (),
        icmp_types=() if entry.icmp_type is None else (entry.icmp_type,),
        established=bool(entry.established),
    )
