"""Rendering of ``nftables.conf``: the rules for packets to the Linux host on which FRR runs, not for packets that the host forwards.

``nft -f`` loads the file completely or not at all. The file first removes the rules that an earlier version of the file
loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.frr.tree import PROTECTION_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.addresses import Family
    from railweave.model.device.control_plane import ControlPlane, ControlRule, PortRange
    from railweave.model.device.model import DeviceConfig

FILE = "nftables.conf"

_WORDS: dict[Family, tuple[str, str, str]] = {"ipv4": ("ip", "ttl", "icmp"), "ipv6": ("ip6", "hoplimit", "icmpv6")}
"""The keywords of nft, by address family: (keyword for the IP header, for the hop limit, for ICMP)."""


def nftables(config: DeviceConfig) -> list[str]:
    """Return the lines of the nftables file; empty if nothing is protected."""
    wanted = config.protection
    if wanted is None:
        return []
    limits = [
        f" limit {policer.name} {{ rate {policer.rate_bps // 8} bytes/second burst {policer.burst_bytes} bytes; }}"
        for policer in wanted.policers
    ]
    return [
        # The table is created before it is deleted, because deleting a missing table is an error.
        f"table inet {PROTECTION_TABLE} {{}}",
        f"delete table inet {PROTECTION_TABLE}",
        f"table inet {PROTECTION_TABLE} {{",
        *limits,
        " counter dropped { }",
        " chain input {",
        "  type filter hook input priority filter; policy drop;",
        '  iifname "lo" accept',
        *(f"  {_rule(wanted, rule)}" for family in _WORDS for rule in wanted.together(family)),
        "  counter name dropped drop",
        " }",
        "}",
    ]


def to_text(lines: Iterable[str]) -> str:
    """Return lines as the text of a file."""
    return "".join(f"{line}\n" for line in lines)


def _rule(wanted: ControlPlane, rule: ControlRule) -> str:
    return " ".join([*_conditions(wanted, rule), "accept", f'comment "{rule.name}"'])


def _conditions(wanted: ControlPlane, rule: ControlRule) -> Iterator[str]:
    family, hop_limit, icmp = _WORDS[rule.family]
    source = wanted.source(rule)
    if source.interfaces:
        yield f"iifname {_set(f'{chr(34)}{interface}{chr(34)}' for interface in source.interfaces)}"
    if source.prefixes:
        yield f"{family} saddr {_set(source.prefixes)}"
    elif rule.protocol != "icmp":
        yield f"meta nfproto {'ipv6' if rule.family == 'ipv6' else 'ipv4'}"
    if rule.hop_limit is not None:
        yield f"{family} {hop_limit} {rule.hop_limit}"
    if rule.protocol == "icmp":
        yield f"{icmp} type {_set(map(str, rule.icmp_types))}"
    if rule.source_ports:
        yield f"{rule.protocol} sport {_set(map(_port, rule.source_ports))}"
    if rule.destination_ports:
        yield f"{rule.protocol} dport {_set(map(_port, rule.destination_ports))}"
    if rule.established:
        yield "tcp flags & (ack | rst) != 0"
    if rule.policer:
        yield f'limit name "{rule.policer}"'


def _port(ports: PortRange) -> str:
    first, last = ports
    return str(first) if first == last else f"{first}-{last}"


def _set(words: Iterable[str]) -> str:
    members = list(words)
    return members[0] if len(members) == 1 else f"{{ {', '.join(members)} }}"
