"""The sections of a text, however it is written: our files, what a switch prints, what people paste.

A switch closes a section by what comes next, or by ``!``; scripts close it with ``exit``. Where every line begins at the same
column, as in many documents, the commands themselves tell what stands below what: ``SECTIONS`` has those that open a section.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from railweave.errors import RenderError
from railweave.model.config.sections import CLOSERS, Section

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
"""What opens a section: its kind, how its header begins, and the kinds of section that it stands in; none: it stands at the top."""

_TOP = re.compile(
    r"(hostname|ip (vrf (?!forwarding)|prefix-list|route |name-server|anycast-mac|anycast-address enable|load-share|dhcp snooping|forward|reserve|sla)"
    r"|ipv6 (prefix-list|route |anycast-address enable|load-share|dhcp snooping)|bgp |ntp|snmp-server|username|aaa|tacacs-server|radius-server|logging|clock"
    r"|ars bind profile|buffer (pool|profile|init)|interface-naming|login|ldap-server|lldp (enable|timer|multiplier|tlv|system)"
    r"|spanning-tree (mode|enable|vlan|priority|hello)|errdisable|priority-flow-control watchdog (polling|counter)|mac address|roce|port-group"
    r"|authentication|no (lldp|ip |spanning)|crypto|banner|telemetry|rest-server|switch-profile)"
)
"""What stands at the top, and so ends a section whose lines are not indented."""

_HEADER = re.compile(r"interface |router |route-map \S+ (permit|deny) \d+$")
"""What stands at the top, however far it is indented."""

_PROMPT = re.compile(r"[\w.-]+(?:@[\w.-]+)?\((?:conf|config)[^)]*\)# ?|\(conf\w*\)[#$] ?")
_LEAVES = re.compile(
    r"(end|(?:do )?show .*|conf|config|configure|configure terminal|conf t|sonic-cli|write memory|write mem"
    r"|copy running-config\S* startup-config\S*|[\w.@:~-]+[#$] ?(.*))$"
)
"""What is typed beside the configuration: it leaves every section."""

MOST_LEVELS = 32
"""Sections below this depth are taken for lines of the one above: no configuration is so deep."""


@dataclass(slots=True)
class _Open:
    """A section that may go on: its column, its kind (empty: a plain line), and whether ``!`` stood below it."""

    column: int
    section: Section
    kind: str
    parted: bool = False
    indented: bool = False


def sections(text: str) -> list[Section]:
    """The sections of a text, each line with its number. Raises ``RenderError`` with the line where it is no such text."""
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
            for one in open_:
                one.parted = one.parted or one.column >= column
        elif words in CLOSERS:
            _close(open_, column)
        elif _LEAVES.fullmatch(words):
            open_.clear()
        else:
            _add(top, open_, Section(words, at=number), column)
    return top.body or []


def _close(open_: list[_Open], column: int) -> None:
    """Close what ``exit`` closes: it is a section, also where nothing is in it."""
    here = [one for one in open_ if one.column == column]
    known = [one for one in open_ if one.kind]
    ends = next((one for one in reversed(here) if one.kind or one.section.body is not None), None)
    if ends is None and len(here) == 1 and not any(one.column < column for one in known):
        ends = here[0]  # a section of a kind that is not known
    if ends is None and known:
        ends = known[-1]
    if ends is not None:
        ends.section.body = ends.section.body or []
        del open_[open_.index(ends) :]


def _add(top: Section, open_: list[_Open], made: Section, column: int) -> None:
    kind, inside = _kind(made.line)
    if kind and not inside and _HEADER.match(made.line):
        open_.clear()
    while open_ and open_[-1].column > column:
        open_.pop()
    above = next((one for one in reversed(open_) if one.column < column), None)
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
    """The kind of section that a line opens, and those that it stands in; the empty word: none."""
    return next(((kind, inside) for kind, begins, inside in _SECTIONS if begins.match(line)), ("", ()))


def _flat(open_: list[_Open], line: str, inside: tuple[str, ...], *, opens: bool) -> _Open | None:
    """The section that a line belongs to which stands in the column of its header; None: none."""
    headers = [one for one in open_ if one.kind and not one.indented]
    last = headers[-1] if headers else None
    if last is None:
        return None
    if line.startswith("peer-group ") and not last.parted and last.section.line.startswith("neighbor "):
        return last
    if inside:
        return next((one for one in reversed(headers) if one.kind in inside), None)
    if opens or last.parted or _TOP.match(line):
        return None
    return last


_SECTIONS = tuple((kind, re.compile(begins), inside) for kind, begins, inside in SECTIONS)
