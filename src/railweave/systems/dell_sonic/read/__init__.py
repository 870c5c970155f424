"""Reader of Enterprise SONiC's commands, from railweave's files or from a switch's printed running configuration.

Each module reads the lines about one topic, and marks the lines that it understands. All other lines are reported as not understood.
``reads`` in system.yaml has the defaults of values that no line sets.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.model.catalog import catalog
from railweave.model.config.addresses import InterfaceAddress
from railweave.model.config.section_tree import sections as as_sections
from railweave.model.config.sections import CLOSERS, Section, SectionReader, select
from railweave.model.device.model import DeviceConfig, Interface
from railweave.model.device.reading import Reading, ReadStatement, classify_statements
from railweave.systems.dell_sonic.changes import config_tree
from railweave.systems.dell_sonic.meaning.balancing import balancing_config_of, in_use, unrepresented_ars
from railweave.systems.dell_sonic.meaning.control_plane import protected
from railweave.systems.dell_sonic.meaning.management import management_of
from railweave.systems.dell_sonic.meaning.ports import unrepresented_at_ports
from railweave.systems.dell_sonic.meaning.qos import qos_config_of, unrepresented
from railweave.systems.dell_sonic.read import devices
from railweave.systems.dell_sonic.read.routing import Routing
from railweave.systems.dell_sonic.statements.bgp import ROUTING
from railweave.systems.dell_sonic.statements.control_plane import LISTS
from railweave.systems.dell_sonic.statements.management import SYSTEM, ManagementPort
from railweave.systems.dell_sonic.statements.policy import POLICIES
from railweave.systems.dell_sonic.statements.ports import INTERFACES, MOST_VLAN, SHARED, SPLITS, Lines, Tunnel
from railweave.systems.dell_sonic.statements.qos import BALANCING, QOS, Balancing
from railweave.systems.dell_sonic.tree import to_text
from railweave.systems.dell_sonic.words import interface, numbers
from railweave.systems.frr.meaning.policy import lists, profiles
from railweave.systems.frr.read.sessions import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.config.sections import Known
    from railweave.model.config.tree import ConfigTree, Node


def spelled(reader: SectionReader) -> list[Section]:
    """Return the sections at the top level, with interface names in headers spelled as railweave's statements spell them (``Vlan 10``).

    ``reader`` has the sections, and marks each replaced header as understood. A section for a range of interfaces becomes one section for
    each interface.
    """
    every: list[Section] = []
    for header in reader.sections:
        names = _names(header.line.removeprefix("interface ")) if header.line.startswith("interface ") else ()
        lines = [f"interface {_spelled(name)}" for name in names]
        if lines in ([], [header.line]):
            every.append(header)
        else:
            reader.mark_understood(header)
            every += [Section(line, header.body) for line in lines]
    return every


def _spelled(name: str) -> str:
    """Return an interface name as statements spell it: ``Vlan 10`` in two words, a port in one word."""
    return re.sub(r"(?<=^Vlan)|(?<=^Loopback)|(?<=^Management)", " ", name)


def _names(words: str) -> Iterator[str]:
    """Yield the name of each interface in the words after ``interface`` in a section header, such as ``Eth1/1`` or ``range Eth 1/1-1/4``."""
    if not words.startswith("range "):
        name = interface(words)
        if name:
            yield name
        return
    words = words.removeprefix("range ").removeprefix("create ")
    kind = re.match(r"[A-Za-z-]+", words)
    for part in words[kind.end() :].split(",") if kind else ():
        yield from _range(kind[0] if kind else "", part.strip())


def _range(kind: str, part: str) -> Iterator[str]:
    """Yield the interface names in a range: the kind ``Eth`` and the part ``1/1-1/4`` give four names."""
    first, dash, last = part.partition("-")
    last = re.sub(r"^[A-Za-z]+", "", last) if dash else first
    stem, slash, low = first.rpartition("/")
    with suppress(ValueError):
        every = numbers(f"{low}-{last.rpartition('/')[2]}", MOST_VLAN)
        yield from filter(None, (interface(f"{kind}{stem}{slash}{number}") for number in every))


SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("interface", r"interface (?!breakout |media-fec )", ()),
    ("bgp", r"router bgp ", ()),
    ("router", r"router ", ()),
    ("route-map", r"route-map \S+ (permit|deny) \d+$", ()),
    ("list", r"(ip|ipv6|mac) access-list \S+$", ()),
    ("map", r"qos (map|wred-policy) ", ()),
    ("scheduler", r"qos scheduler-policy ", ()),
    ("ars", r"ars (profile|port-profile|object) ", ()),
    ("bfd", r"bfd$", ()),
    ("line", r"line ", ()),
    ("vlan", r"vlan \d+$", ()),
    ("domain", r"(mclag domain|policy-map|class-map|link state track|mirror-session|dhcp|hardware|tcam|copp) ?", ()),
    ("queue", r"queue \d+$", ("scheduler",)),
    ("profile", r"(profile|peer) \S+", ("bfd",)),
    ("peer", r"(neighbor|peer-group) ", ("bgp",)),
    ("family", r"address-family ", ("peer", "bgp")),
    ("vni", r"vni \d+$", ("family",)),
)
"""The kinds of sections, as (kind, pattern of the beginning of the header, kinds of sections in which such a section may be).

If the last member is empty, sections of the kind are at the top level.
"""

_TOP = re.compile(
    r"(hostname|ip (vrf (?!forwarding)|prefix-list|route |name-server|anycast-mac|anycast-address enable|load-share|dhcp snooping|forward|reserve|sla)"
    r"|ipv6 (prefix-list|route |anycast-address enable|load-share|dhcp snooping)|bgp |ntp|snmp-server|username|aaa|tacacs-server|radius-server|logging|clock"
    r"|ars bind profile|buffer (pool|profile|init)|interface-naming|login|ldap-server|lldp (enable|timer|multiplier|tlv|system)"
    r"|spanning-tree (mode|enable|vlan|priority|hello)|errdisable|priority-flow-control watchdog (polling|counter)|mac address|roce|port-group"
    r"|authentication|no (lldp|ip |spanning)|crypto|banner|telemetry|rest-server|switch-profile)"
)
"""A pattern of top-level lines. In a text without indentation, such a line ends the section before it."""

_HEADER = re.compile(r"interface |router |route-map \S+ (permit|deny) \d+$")
"""A pattern of section headers that are at the top level even if they are indented."""

_PROMPT = re.compile(r"[\w.-]+(?:@[\w.-]+)?\((?:conf|config)[^)]*\)# ?|\(conf\w*\)[#$] ?")
_LEAVES = re.compile(
    r"(end|(?:do )?show .*|conf|config|configure|configure terminal|conf t|sonic-cli|write memory|write mem"
    r"|copy running-config\S* startup-config\S*|[\w.@:~-]+[#$] ?(.*))$"
)
"""A pattern of commands that are not configuration, such as ``show``. In a text, such a line ends all open sections."""

MOST_LEVELS = 32
"""The greatest depth to which sections are nested when a text is read. No real configuration is so deep.

Deeper lines are added to the last section of this depth.
"""


@dataclass(slots=True)
class _Open:
    """A section of a text that is being read, to which lines may still be added.

    - ``column``: the column of its header.
    - ``kind``: the kind of the section, as in ``SECTIONS``; empty for a plain line.
    - ``parted``: True if a line ``!`` follows the header or a line of the section.
    - ``indented``: True if the lines of the section are indented.
    """

    column: int
    section: Section
    kind: str
    parted: bool = False
    indented: bool = False


def sections(text: str) -> list[Section]:
    """Return the sections of a configuration text, with the number of every line.

    Raises ``RenderError``, with the line number, if the text is malformed.
    """
    top = Section("", [])
    open_: list[_Open] = []
    for number, raw in enumerate(text.splitlines(), 1):
        if "\0" in raw or (not top.body and not open_ and raw.lstrip()[:1] in {"{", "<", "["}):
            raise RenderError("these are no commands of Enterprise SONiC's command line", number)
        line = raw.expandtabs()
        words = line.strip()
        column = len(line) - len(line.lstrip(" "))
        prompt = _PROMPT.match(words)
        if prompt:
            words, column = words[prompt.end() :].strip(), 0
        if not words:
            continue
        if words.startswith("!"):
            for opened in open_:
                opened.parted = opened.parted or opened.column >= column
        elif words in CLOSERS:
            _close(open_, column)
        elif _LEAVES.fullmatch(words):
            open_.clear()
        else:
            _add(top, open_, Section(words, at=number), column)
    return top.body or []


def _close(open_: list[_Open], column: int) -> None:
    """Close the open section to which an ``exit`` in this column belongs, and all sections inside it. ``open_`` are the open sections."""
    here = [opened for opened in open_ if opened.column == column]
    known = [opened for opened in open_ if opened.kind]
    ends = next((opened for opened in reversed(here) if opened.kind or opened.section.body is not None), None)
    if ends is None and len(here) == 1 and not any(opened.column < column for opened in known):
        ends = here[0]  # a section of an unknown kind
    if ends is None and known:
        ends = known[-1]
    if ends is not None:
        ends.section.body = ends.section.body or []
        del open_[open_.index(ends) :]


def _add(top: Section, open_: list[_Open], made: Section, column: int) -> None:
    kind, inside = _kind(made.line)
    if kind and _is_setting(open_, made.line, column):
        kind, inside = "", ()
    if kind and not inside and _HEADER.match(made.line):
        open_.clear()
    while open_ and open_[-1].column > column:
        open_.pop()
    above = next((opened for opened in reversed(open_) if opened.column < column), None)
    if above is None and open_:
        above = _flat(open_, made.line, inside, opens=bool(kind))
        del open_[0 if above is None else open_.index(above) + 1 :]
    while open_ and above is not None and open_[-1] is not above:
        open_.pop()
    parent = top if above is None else above.section
    if above is not None and column > above.column:
        above.indented = True
    parent.body = parent.body or []
    parent.body.append(made)
    if len(open_) < MOST_LEVELS:
        open_.append(_Open(column, made, kind))


def _kind(line: str) -> tuple[str, tuple[str, ...]]:
    """Return (the kind of section that a line opens, the kinds of sections that may contain it). Both are empty for other lines."""
    if _OPENS.match(line) is None:
        return "", ()
    return next(((kind, inside) for kind, begins, inside in _SECTIONS if begins.match(line)), ("", ()))


def _is_setting(open_: list[_Open], line: str, column: int) -> bool:
    """Return True if ``bfd`` or ``peer-group`` in a text without indentation is a setting of the neighbor above and does not open a section.

    ``open_`` are the open sections.
    """
    if line != "bfd" and not line.startswith("peer-group "):
        return False
    last = next((opened for opened in reversed(open_) if opened.kind and not opened.indented), None)
    if last is None or last.kind != "peer" or last.column != column or last.parted:
        return False
    return line == "bfd" or last.section.line.startswith("neighbor ")


def _flat(open_: list[_Open], line: str, inside: tuple[str, ...], *, opens: bool) -> _Open | None:
    """Return the open section to which a line belongs in a text without indentation, or None if the line is at the top level.

    ``inside`` are the kinds of sections that may contain the line. ``opens`` is True if the line opens a section.
    """
    headers = [opened for opened in open_ if opened.kind and not opened.indented]
    last = headers[-1] if headers else None
    if last is None:
        return None
    if inside:
        return next((opened for opened in reversed(headers) if opened.kind in inside), None)
    if opens or last.parted or _TOP.match(line):
        return None
    return last


_SECTIONS = tuple((kind, re.compile(begins), inside) for kind, begins, inside in SECTIONS)
_OPENS = re.compile("|".join(f"(?:{begins})" for _, begins, _ in SECTIONS))
"""A pattern that matches all section headers of ``SECTIONS``. With it, railweave quickly skips lines that are not headers."""


NOS = "dell_sonic"


def read(texts: Mapping[str, str]) -> Reading:
    """Return the configuration of one device, read from all its texts together. ``texts`` are by file name.

    Raises ``RenderError`` if a text is malformed.
    """
    of_file = {file: sections(text) for file, text in texts.items()}
    reader = SectionReader([section for some in of_file.values() for section in some])
    config = _config(reader)
    statements: list[ReadStatement] = []
    irrelevant = catalog().systems[NOS].reads.irrelevant
    lines = list(reader.lines())
    place = 0
    for file, some in of_file.items():
        count = _count(some)
        named = _named(lines[place : place + count])
        file_lines: list[tuple[int, str, str, Known]] = [
            (section.at, top, path, known) for section, path, known, top in named
        ]
        statements += classify_statements(file, file_lines, irrelevant)
        place += count
    return Reading(config, tuple(statements))


def parsed(file: str, text: str) -> ConfigTree:
    """Return a text as a tree of commands. ``file`` has no effect.

    Raises ``RenderError``, with the line number, if the text is malformed.
    """
    del file
    return config_tree(sections(text))


def printed(file: str, nodes: Sequence[Node]) -> str:
    """Return the commands of a tree, given by its ``nodes``, as a file's text, as railweave writes it. ``file`` has no effect."""
    del file
    return to_text(as_sections(nodes))


def _count(some: Sequence[Section]) -> int:
    return sum(1 + _count(section.body or ()) for section in some)


_NAMED = {"interface": 1, "hostname": 1, "route-map": 1, "username": 1, "bfd": 1}
"""The number of words that name a part of the configuration, by the first word of a top-level line; 2 for all other first words."""


def _named(lines: Sequence[tuple[Section, str, Known]]) -> Iterator[tuple[Section, str, Known, str]]:
    """Yield (section, path, known, part of the configuration) for each of ``lines``, which have the first three of these members.

    ``path`` is the line after its headers, and ``known`` tells if the line was understood. The part is the first words of the top-level
    line, such as ``router bgp``.
    """
    for section, path, known in lines:
        words = path.partition(" / ")[0].split()
        yield section, path, known, " ".join(words[: _NAMED.get(words[0], 2)])


def _config(reader: SectionReader) -> DeviceConfig:
    sections = spelled(reader)
    interfaces = INTERFACES.read(sections, reader)
    lines, shared = interfaces.every, SHARED.read(sections, reader)
    policies = POLICIES.read(reader.sections, reader)
    listed, bfd = lists(policies, reader, NOS, numbered=False), profiles(policies, reader)
    tunnelled = next(iter(interfaces.tunnels.values()), Tunnel())
    system = SYSTEM.read(sections, reader)
    routers = ROUTING.read(reader.sections, reader).routers.values()
    routing = Routing(reader, interfaces, routers, listed, bfd, dict.fromkeys(system.vrfs))
    split, qos = devices.breakouts(SPLITS.read(sections, reader)), QOS.read(reader.sections, reader)
    balancing = BALANCING.read(reader.sections, reader)
    balancing = in_use(
        balancing, {entry.shared_by for entry in policies.maps}, {port.qos.ars for port in lines.values()}
    )
    hashed = balancing_config_of(balancing)

    cages = [port for name, port in lines.items() if devices.is_port(name)]
    model = devices.model(split.values(), cages, qos.headroom)
    cabled = _interfaces(lines, routing)
    gateways = devices.gateways(interfaces, cabled, tunnelled.transit(), shared)
    _mark_shutdowns_unknown(reader, tunnelled.transit())
    management = system.port or ManagementPort()
    vrfs = routing.tenants(gateways)
    names = {gateway.vlan: gateway.vlan_name for gateway in gateways if gateway.vlan}
    config = DeviceConfig(
        name=system.name,
        role="leaf" if gateways or vrfs or any(port.kind == "server" for port in cabled) else "spine",
        model=model,
        nos=NOS,
        release=catalog().systems[NOS].release,
        management=management_of(system, cages, protected=False),
        management_address=management.address or InterfaceAddress(f"{UNKNOWN}/0"),
        management_gateway=management.gateway or UNKNOWN,
        loopback=routing.loopback(),
        splits=devices.splits(split, cages, model),
        interfaces=cabled,
        gateways=gateways,
        bgp=routing.bgp(),
        qos=qos_config_of(qos, lines, cabled, model),
        balancing=hashed if _shared(lines, cabled, routing, balancing) else replace(hashed, group_mode="ecmp"),
        extra="",
        overlay=routing.tunnelled(),
        vrfs=vrfs,
        mac_vrf=routing.bridged(names, cabled),
    )
    in_ports = (*unrepresented(qos, lines, reader.sections, config), *unrepresented_at_ports(interfaces, config))
    in_ports += tuple(unrepresented_ars(balancing, reader.sections))
    config, in_lists = protected(config, LISTS.read(reader.sections, reader), lines, reader.sections)
    for section in (*in_ports, *in_lists):
        reader.mark_unknown(section)
    return config


def _mark_shutdowns_unknown(reader: SectionReader, transit: set[int]) -> None:
    """In ``reader``, mark ``shutdown`` as not understood below each VLAN in ``transit``. These VLANs exist only for a VRF's VNI."""
    for line in select(reader.sections, "interface Vlan <vlan>", "shutdown"):
        if line["vlan"].isdecimal() and int(line["vlan"]) in transit:
            reader.mark_unknown(line)


def _interfaces(lines: Mapping[str, Lines], routing: Routing) -> tuple[Interface, ...]:
    """Return the ports in the order of their numbers.

    ``lines`` are the settings of interfaces by name, and ``routing`` has the BGP sessions. If any port has PFC settings, a port without PFC
    settings does not use PFC. If no port has PFC settings, ports to servers and switches use PFC by default.
    """
    cages = [port for name, port in lines.items() if devices.is_port(name)]
    of_vrf = {vrf: tenant.ports() for vrf, tenant in routing.sessions.items()}
    outside = {name for vrf, names in of_vrf.items() if vrf for name in names}
    sessions = devices.Sessions(of_vrf.get("", ()), outside)
    parts = devices.parts_of(lines)
    some = any(cage.qos.pauses for cage in cages)
    return tuple(
        devices.interface(
            cage,
            parts.get(cage.name, ()),
            sessions,
            pauses=bool(cage.qos.pauses) or not (some or cage.name in sessions.outside or parts.get(cage.name)),
        )
        for cage in devices.in_order(cages)
    )


def _shared(
    lines: Mapping[str, Lines], interfaces: Sequence[Interface], routing: Routing, balancing: Balancing
) -> bool:
    """Return True if adaptive routing applies to every link of the fabric, and to every route that a route-map accepts.

    ``lines`` are the settings of interfaces by name. ``balancing`` and ``routing`` have the values of the configuration lines.
    """
    profiles = {name for name, profile in balancing.port_profiles.items() if profile.enabled}
    links = [lines[port.name].qos.ars in profiles for port in interfaces if port.kind == "fabric"]
    families = routing.default.here.unicast.values() if routing.default else ()
    imports = {level.imports for family in families for level in family.peers.values() if level.imports}
    entries = [entry for name in imports for entry in routing.policies.entries(name) if entry.permits]
    return all(links) and all(entry.shared_by in balancing.objects for entry in entries)
