"""Reader of ``nftables.conf``: the rules for packets to the host itself."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.model.config.addresses import BITS, Family, InterfaceAddress
from railweave.model.config.codecs import whole
from railweave.model.config.sections import Section
from railweave.model.device.control_plane import ControlPlane, ControlRule, Policer, Sources
from railweave.systems.frr.render.control_plane import FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.device.control_plane import PortRange


__all__ = ["FILE", "blocks", "control_plane", "is_one", "to_text"]

Line = tuple[int, str, str, bool]

_BEGINS = re.compile(
    r"(?:\s|#[^\n]*\n)*(?:flush ruleset|(?:add |delete |destroy )?table (?:inet|ip6?|arp|bridge|netdev) \S)"
)
_HOOK = "type filter hook input priority filter; policy drop;"
_NETWORK = re.compile(r"(?:bgp-replies|bgp|bfd-echo|bfd|vxlan|discovery|advertisements|icmp|traceroute)-")
"""A pattern of the prefixes in names of rules for network protocols. All other rules are for management services."""


def is_one(text: str) -> bool:
    """Return True if a text is a file of nftables."""
    return bool(_BEGINS.match(text))


def blocks(text: str) -> list[Section]:
    """Return a text as sections: a block is a section, and a statement is a line. Raises ``RenderError`` if braces do not match."""
    top = Section("", [])
    stack = [top]
    for at, raw in enumerate(text.splitlines(), 1):
        line = " ".join(raw.split("#", 1)[0].split()) if '"' not in raw else " ".join(raw.split())
        if not line:
            continue
        if line in {"}", "};"}:
            if len(stack) == 1:
                raise RenderError("`}` closes nothing", at)
            stack.pop()
        elif line.endswith("{"):
            made = Section(line[:-1].rstrip(), [], at=at)
            _put(stack[-1], made)
            stack.append(made)
        else:
            _put(stack[-1], Section(line, at=at))
    if len(stack) > 1:
        raise RenderError(f"`{stack[-1].line} {{` is not closed", stack[-1].at)
    return top.body or []


def _put(above: Section, section: Section) -> None:
    above.body = above.body if above.body is not None else []
    above.body.append(section)


def to_text(sections: Iterable[Section]) -> str:
    """Return sections as text that ``nft`` reads."""
    return "".join(f"{line}\n" for line in _printed(sections, 0))


def _printed(sections: Iterable[Section], depth: int) -> Iterator[str]:
    for section in sections:
        if section.body is None:
            yield f"{' ' * depth}{section.line}"
        else:
            yield f"{' ' * depth}{section.line} {{"
            yield from _printed(section.body, depth + 1)
            yield f"{' ' * depth}}}"


def control_plane(text: str) -> tuple[ControlPlane | None, list[Line]]:
    """Return (control-plane rules or None, statements). The rules are None if the text has no input chain.

    Each statement says whether it was understood. Raises ``RenderError`` if braces do not match.
    """
    lines: list[Line] = []
    rules: list[tuple[ControlRule, Sources]] = []
    policers: list[Policer] = []
    complete = False
    for table in blocks(text):
        plain = table.body is None
        lines.append(
            (table.at, "table", table.line, not plain or table.line.startswith(("table inet ", "delete table inet ")))
        )
        for section in table.body or ():
            here = f"{table.line} / {section.line}"
            policer = _policer(section.line)
            if policer:
                policers.append(policer)
            chain = section.line == "chain input"
            lines.append(
                (section.at, "table", here, policer is not None or chain or section.line.startswith("counter "))
            )
            for statement in section.body or ():
                rule = _rule(statement.line) if chain else None
                if rule:
                    rules.append(rule)
                closed = chain and statement.line == _HOOK
                complete = complete or closed
                fixed = chain and statement.line in {'iifname "lo" accept', "counter name dropped drop"}
                known = rule is not None or closed or fixed
                lines.append((statement.at, "chain", f"{here} / {statement.line}", known))
    return (_plane(rules, policers) if complete else None), lines


def _policer(line: str) -> Policer | None:
    match = re.fullmatch(r"limit (\S+) \{ rate (\d{1,15}) bytes/second burst (\d{1,15}) bytes;? \}", line)
    return Policer(match[1], int(match[2]) * 8, int(match[3])) if match else None


def _plane(rules: Iterable[tuple[ControlRule, Sources]], policers: Iterable[Policer]) -> ControlPlane:
    """Return the control plane with these rules and rate limits (``policers``). Each rule comes with the prefixes of its packets' sources.

    The sources are named after the first rule that uses them.
    """
    named: dict[Sources, Sources] = {}
    made: list[ControlRule] = []
    for rule, sources in rules:
        if sources.prefixes or sources.interfaces:
            stands = named.setdefault(sources, replace(sources, name=_source_name(rule.name)))
            made.append(replace(rule, sources=stands.name))
        else:
            made.append(rule)
    return ControlPlane(tuple(made), tuple(named.values()), tuple(policers))


def _source_name(name: str) -> str:
    """Return the name of a rule's packet sources in railweave's files: the name of the rule without its protocol."""
    version = name.rpartition("-")[2]
    for begins in ("bgp-replies-", "bgp-", "bfd-echo-", "bfd-"):
        if name.startswith(begins):
            return name.removeprefix(begins)
    return f"fabric-{version}" if name.startswith("vxlan-") else f"management-{version}"


_RULE = re.compile(
    r"(?:iifname (?P<interfaces>{SET}) )?(?:(?P<ip>ip6?) saddr (?P<prefixes>{SET}) )?(?:meta nfproto (?P<nfproto>ipv[46]) )?"
    r"(?:(?P<hops>ip ttl|ip6 hoplimit) (?P<hop_limit>\d{1,3}) )?(?:(?P<icmp>icmp(?:v6)?) type (?P<types>{SET}) )?"
    r"(?:(?P<sending>tcp|udp) sport (?P<sent>{SET}) )?(?:(?P<receiving>tcp|udp) dport (?P<received>{SET}) )?"
    r"(?P<established>tcp flags & \(ack \| rst\) != 0 )?(?:limit name \"?(?P<policer>[^\" ]+)\"? )?"
    r"accept(?: comment (?P<name>\"[^\"]*\"|\S+))?".replace("{SET}", r"(?:[^{}\s]+|\{[^{}]*\})")
)
"""A pattern of a rule that accepts packets. The conditions are in the order in which railweave writes them."""


def _rule(line: str) -> tuple[ControlRule, Sources] | None:
    """Return (a rule that accepts packets, the sources of these packets), or None if the line has unknown words."""
    match = _RULE.fullmatch(line)
    if match is None:
        return None
    versions = {"6" in word for slot in ("ip", "nfproto", "hops", "icmp") if (word := match[slot])}
    protocols = {"icmp" if match["icmp"] else None, match["sending"], match["receiving"]} - {None}
    protocols |= {"tcp"} if match["established"] else set[str]()
    if len(versions) != 1 or len(protocols) != 1:
        return None
    family: Family = "ipv6" if versions == {True} else "ipv4"
    name = (match["name"] or "").strip('"')
    try:
        sources = Sources(
            "",
            family,
            tuple(
                InterfaceAddress.read(f"{each}{'' if '/' in each else f'/{BITS[family]}'}").prefix
                for each in _set(match["prefixes"])
            ),
            tuple(each.strip('"') for each in _set(match["interfaces"])),
        )
        ranges = {slot: tuple(map(_range, _set(match[slot]))) for slot in ("types", "sent", "received")}
    except ValueError:
        return None
    rule = ControlRule(
        name=name,
        plane="network" if _NETWORK.match(name) else "management",
        family=family,
        protocol="icmp" if match["icmp"] else "udp" if "udp" in protocols else "tcp",
        sources="",
        source_ports=ranges["sent"],
        destination_ports=ranges["received"],
        icmp_types=tuple(low for low, _ in ranges["types"]),
        hop_limit=int(match["hop_limit"]) if match["hop_limit"] else None,
        established=bool(match["established"]),
        policer=match["policer"] or "",
    )
    return rule, sources


def _range(text: str) -> PortRange:
    first, dash, last = text.partition("-")
    return whole(first), whole(last if dash else first)


def _set(words: str | None) -> list[str]:
    """Return the members of a set in braces. A word without braces is returned as the only member."""
    return words.strip("{} ").replace(",", " ").split() if words else []
