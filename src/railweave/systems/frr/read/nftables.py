"""``nftables.conf``: the rules of what may reach the host itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from railweave.errors import RenderError
from railweave.model.config.sections import Section
from railweave.model.device.control_plane import ControlPlane, ControlRule, Policer, PortRange, Sources
from railweave.systems.frr.read.text import number, prefix
from railweave.systems.frr.render.control_plane import FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.addresses import Family, Prefix

__all__ = ["FILE", "blocks", "control_plane", "is_one", "to_text"]

Line = tuple[int, str, str, bool]

_BEGINS = re.compile(
    r"(?:\s|#[^\n]*\n)*(?:flush ruleset|(?:add |delete |destroy )?table (?:inet|ip6?|arp|bridge|netdev) \S)"
)
_WORD = re.compile(r'"[^"]*"|[{}();,|&]|!=|[^\s{}();,|&]+')
_HOOK = "type filter hook input priority filter; policy drop;"
_NETWORK = re.compile(r"(?:bgp-replies|bgp|bfd-echo|bfd|vxlan|discovery|advertisements|icmp|traceroute)-")
"""Beginnings of the names of our rules that are not for services of management."""


def is_one(text: str) -> bool:
    """Whether a text is of nftables."""
    return bool(_BEGINS.match(text))


def blocks(text: str) -> list[Section]:
    """The text as sections: a block is a section, a statement a line. Raises ``RenderError`` where braces do not match."""
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


def _put(above: Section, one: Section) -> None:
    above.body = above.body if above.body is not None else []
    above.body.append(one)


def to_text(sections: Iterable[Section]) -> str:
    """Sections as nft takes them."""
    return "".join(f"{line}\n" for line in _printed(sections, 0))


def _printed(sections: Iterable[Section], depth: int) -> Iterator[str]:
    for one in sections:
        if one.body is None:
            yield f"{' ' * depth}{one.line}"
        else:
            yield f"{' ' * depth}{one.line} {{"
            yield from _printed(one.body, depth + 1)
            yield f"{' ' * depth}}}"


@dataclass
class _Rule:
    """A rule while it is read."""

    family: Family | None = None
    protocol: Literal["tcp", "udp", "icmp"] | None = None
    prefixes: tuple[Prefix, ...] = ()
    interfaces: tuple[str, ...] = ()
    values: dict[str, tuple[PortRange, ...]] = field(default_factory=dict[str, "tuple[PortRange, ...]"])
    hop_limit: int | None = None
    established: bool = False
    policer: str = ""
    name: str = ""
    accepts: bool = False


def control_plane(text: str) -> tuple[ControlPlane | None, list[Line]]:
    """The rules of the chain for what comes in, and every statement with whether it was understood."""
    lines: list[Line] = []
    rules: list[_Rule] = []
    policers: list[Policer] = []
    complete = False
    for table in blocks(text):
        plain = table.body is None
        lines.append(
            (table.at, "table", table.line, not plain or table.line.startswith(("table inet ", "delete table inet ")))
        )
        for one in table.body or ():
            here = f"{table.line} / {one.line}"
            policer = _policer(one.line)
            if policer:
                policers.append(policer)
            chain = one.line == "chain input"
            lines.append((one.at, "table", here, policer is not None or chain or one.line.startswith("counter ")))
            for statement in one.body or ():
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
    found = re.fullmatch(r"limit (\S+) \{ rate (\d{1,15}) bytes/second burst (\d{1,15}) bytes;? \}", line)
    return Policer(found[1], int(found[2]) * 8, int(found[3])) if found else None


def _plane(rules: Iterable[_Rule], policers: Iterable[Policer]) -> ControlPlane:
    """Rules with their sources, named by the first rule that has them."""
    sources: dict[tuple[Family, tuple[Prefix, ...], tuple[str, ...]], Sources] = {}
    made: list[ControlRule] = []
    for one in rules:
        if one.family is None or one.protocol is None:
            continue
        named = ""
        managed = not _NETWORK.match(one.name)
        if one.prefixes or one.interfaces:
            key = (one.family, one.prefixes, one.interfaces)
            source = sources.setdefault(key, Sources(_source_name(one), one.family, one.prefixes, one.interfaces))
            named = source.name
        made.append(
            ControlRule(
                name=one.name,
                plane="management" if managed else "network",
                family=one.family,
                protocol=one.protocol,
                sources=named,
                source_ports=one.values.get("sport", ()),
                destination_ports=one.values.get("dport", ()),
                icmp_types=tuple(low for low, _ in one.values.get("type", ())),
                hop_limit=one.hop_limit,
                established=one.established,
                policer=one.policer,
            )
        )
    return ControlPlane(tuple(made), tuple(sources.values()), tuple(policers))


def _source_name(one: _Rule) -> str:
    """What our rules call where packets come from: the name without that of the protocol."""
    version = one.name.rpartition("-")[2]
    for begins in ("bgp-replies-", "bgp-", "bfd-echo-", "bfd-"):
        if one.name.startswith(begins):
            return one.name.removeprefix(begins)
    return f"fabric-{version}" if one.name.startswith("vxlan-") else f"management-{version}"


def _rule(line: str) -> _Rule | None:
    """A rule that accepts; None where a word of it is not understood."""
    words = _WORD.findall(line)
    found = _Rule()
    while words:
        taken = _condition(found, words)
        if not taken:
            return None
        words = words[taken:]
    return found if found.accepts and found.family and found.protocol else None


def _condition(found: _Rule, words: list[str]) -> int:
    """Take one condition; how many words it has, 0: it is not understood."""
    match words:
        case ["iifname", *rest]:
            names, taken = _set(rest)
            found.interfaces = tuple(one.strip('"') for one in names)
            return taken and 1 + taken
        case ["ip" | "ip6" as word, "saddr", *rest]:
            found.family = "ipv6" if word == "ip6" else "ipv4"
            texts, taken = _set(rest)
            prefixes = [prefix(one if "/" in one else f"{one}/{128 if word == 'ip6' else 32}") for one in texts]
            found.prefixes = tuple(one for one in prefixes if one is not None)
            return taken and len(found.prefixes) == len(prefixes) and 2 + taken
        case ["meta", "nfproto", "ipv4" | "ipv6" as family, *_]:
            found.family = family
            return 3
        case ["ip" | "ip6" as word, "ttl" | "hoplimit", text, *_] if (value := number(text)) is not None:
            found.family, found.hop_limit = "ipv6" if word == "ip6" else "ipv4", value
            return 3
        case ["icmp" | "icmpv6" as word, "type", *rest]:
            found.family, found.protocol = "ipv6" if word == "icmpv6" else "ipv4", "icmp"
            return _ranges(found, "type", rest)
        case ["tcp" | "udp" as protocol, "sport" | "dport" as which, *rest]:
            found.protocol = protocol
            return _ranges(found, which, rest)
        case ["tcp", "flags", "&", "(", "ack", "|", "rst", ")", "!=", "0", *_]:
            found.protocol, found.established = "tcp", True
            return 10
        case ["limit", "name", text, *_]:
            found.policer = text.strip('"')
            return 3
        case ["accept", *_]:
            found.accepts = True
            return 1
        case ["comment", text, *_]:
            found.name = text.strip('"')
            return 2
        case _:
            return 0


def _ranges(found: _Rule, which: str, words: list[str]) -> int:
    texts, taken = _set(words)
    ranges = [tuple(map(number, (text.split("-", 1) * 2)[:2])) for text in texts]
    values = tuple((low, high) for low, high in ranges if low is not None and high is not None)
    found.values[which] = values
    return 2 + taken if taken and len(values) == len(texts) else 0


def _set(words: list[str]) -> tuple[list[str], int]:
    """One word, or those in braces; and how many words that takes: 0 where it is neither."""
    if not words:
        return [], 0
    if words[0] != "{":
        return words[:1], 1
    if "}" not in words:
        return [], 0
    end = words.index("}")
    return [one for one in words[1:end] if one != ","], end + 1
