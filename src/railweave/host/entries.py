"""Routes and rules of the kernel as objects, converted from ``ip -j`` and back to the arguments of ``ip``.

Three questions about an entry (a route or a rule) are separate:

- Does the entry *do* what is planned, no matter who made it (``does``)?
- Does the entry *conflict* with a planned entry (``conflicts``)? Only two entries with an equal ``place``, which match the same packets,
  can conflict.
- Is it *the same* entry (``identity``)? railweave removes an entry as its own only if it is the same as an entry that railweave made.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Union


def spelled(text: str, *, strict: bool = False) -> str:
    """Return a prefix as ``str(ipaddress.ip_network(text, strict))`` does: host bits cleared, and /32 or /128 for a plain address.

    Raises ValueError for any other text, and with ``strict`` also if a host bit is set.
    """
    address, slash, length = text.partition("/")
    family, bits = (socket.AF_INET6, 128) if ":" in address else (socket.AF_INET, 32)
    if slash and not (length.isascii() and length.isdecimal() and int(length) <= bits):
        return str(ipaddress.ip_network(text, strict))  # a netmask, or an error to be told
    host_bits = bits - int(length) if slash else 0
    try:
        value = int.from_bytes(socket.inet_pton(family, address), "big")
    except (OSError, ValueError):
        return str(ipaddress.ip_network(text, strict))
    cleared = value >> host_bits << host_bits
    shown = socket.inet_ntop(family, cleared.to_bytes(bits // 8, "big"))
    if (strict and cleared != value) or (bits == 128 and "." in shown):  # inet_ntop ends some in IPv4
        return str(ipaddress.ip_network(text, strict))
    return f"{shown}/{bits - host_bits}"


UNICAST = "unicast"
STATIC = "4"
"""The number of the route protocol RTPROT_STATIC. Netplan's routes have the same protocol.

Its name is not used, because /etc/iproute2 can change protocol names.
"""

SYSTEM_TABLES = frozenset({0, 253, 254, 255})
"""The tables unspec, default, main and local, which railweave never changes."""

_METRIC = {4: 0, 6: 1024}  # what the kernel gives a route without one
_METRICS = {"mtu", "advmss", "hoplimit", "initcwnd", "initrwnd", "window", "cwnd", "quickack"}
_KINDS = dict(
    enumerate(
        [
            "unspec",
            "unicast",
            "local",
            "broadcast",
            "anycast",
            "multicast",
            "blackhole",
            "unreachable",
            "prohibit",
            "throw",
            "nat",
        ]
    )
)
"""The names of route types by number. ``ip -N`` prints numbers, but ``ip route add`` accepts only names."""
_SCOPES = {"global": "0", "link": "253", "host": "254"}
_PLAIN_ROUTE = {
    "type", "dst", "gateway", "via", "dev", "table", "protocol", "scope", "metric", "prefsrc", "flags", "metrics", "pref",
    "nexthops",
}  # fmt: skip
_FIRSTS = {
    "uid_start": ("uidrange", "uid_end"),
    "sport_start": ("sport", "sport_end"),
    "dport_start": ("dport", "dport_end"),
}
_SECONDS = {"fwmask", "iif_detached", "oif_detached", *(end for _, end in _FIRSTS.values())}
_PLAIN_RULE = {"priority", "src", "srclen", "dst", "dstlen", "table", "protocol"}


@lru_cache(maxsize=1 << 18)  # the kernel's tables are read before and after a change, and have the planned prefixes
def network(text: str, family: int | None = None) -> str:
    """Return a prefix in canonical form, with host bits cleared. ``default`` becomes the prefix of all addresses of ``family`` (4 or 6).

    An address without a length gets the full length.
    """
    if text in {"default", "all"}:
        return "0.0.0.0/0" if family == 4 else "::/0"
    return spelled(text)


@dataclass(frozen=True)
class Route:
    """A route.

    - ``to``: the destination prefix.
    - ``via``: the next hop; empty if the destination is on the link.
    - ``rest``: further arguments of ``ip route``.
    - ``opaque``: the attributes that ``ip route`` shows but cannot set.
    """

    family: int
    table: int
    to: str
    dev: str
    via: str
    metric: int
    protocol: str = STATIC
    kind: str = UNICAST
    rest: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()

    @cached_property  # it is compared many times
    def place(self) -> tuple[int, int, str]:
        """The family, table and destination of the route. No two routes should have the same three values."""
        return (self.family, self.table, self.to)

    @property
    def destination(self) -> str:
        """The destination in the notation of ``ip``."""
        return "default" if self.to in {"0.0.0.0/0", "::/0"} else self.to

    @property
    def identity(self) -> tuple[Any, ...]:
        """All attributes of the route. Two routes with equal values are the same route."""
        return (*self.place, self.dev, self.via, self.metric, self.protocol, self.kind, self.rest, self.opaque)

    def does(self, planned: Route) -> bool:
        """Return True if this route forwards packets as the planned route does, no matter who made it and with what metric."""
        return (self.place, self.kind, self.dev, self.via) == (planned.place, planned.kind, planned.dev, planned.via)

    def conflicts(self, planned: Route) -> bool:
        """Return True if this route has the table and destination of the planned route, but forwards differently."""
        return self.place == planned.place and not self.does(planned)

    def words(self, verb: str) -> list[str]:
        """Return the arguments after ``ip -4`` or ``ip -6`` that add or delete this route; ``verb`` is ``add`` or ``del``."""
        kind = [] if self.kind == UNICAST else [self.kind]
        via = ["via", *self.via.split()] if self.via else []
        dev = ["dev", self.dev] if self.dev else []
        metric = [] if self.metric == _METRIC[self.family] else ["metric", str(self.metric)]
        table = ["table", str(self.table), "proto", self.protocol]
        return ["route", verb, *kind, self.destination, *via, *dev, *table, *metric, *self.rest]


@dataclass(frozen=True)
class Rule:
    """A rule that selects packets by source, destination or both, and looks up a table for them.

    Selectors have the kernel's notation; an empty selector matches any address.

    - ``priority``: None lets the kernel choose.
    - ``from_``, ``to``: the source and destination prefixes.
    - ``plain``: True if the rule has no further selectors or actions. Railweave never changes a rule that is not plain.
    - ``more``: the further selectors and actions in the notation of ``ip``, with ``not`` first.
    """

    family: int
    priority: int | None
    from_: str
    to: str
    table: int
    protocol: str = STATIC
    plain: bool = True
    more: str = ""

    @cached_property
    def place(self) -> tuple[int, str, str]:
        """The family, source and destination of the rule, in canonical form.

        The kernel keeps host bits, and shows no prefix for a rule that matches every address, so both are normalized
        here.
        """
        return (self.family, _selected(self.from_), _selected(self.to))

    @property
    def identity(self) -> tuple[Any, ...]:
        """The attributes by which the kernel distinguishes rules. Two rules with equal values are the same rule."""
        return (*self.place, self.priority, self.table, self.plain, self.more)

    def does(self, planned: Rule) -> bool:
        """Return True if this rule does what the planned rule does, no matter who made it."""
        same = self.plain and (self.place, self.table) == (planned.place, planned.table)
        return same and planned.priority in {None, self.priority}

    def conflicts(self, planned: Rule) -> bool:
        """Return True if this rule matches the planned rule's packets, is evaluated before the planned rule, and looks up a different table."""
        rival = self.plain and self.place == planned.place and self.table != planned.table
        return rival and (planned.priority is None or (self.priority or 0) <= planned.priority)

    def words(self, verb: str) -> list[str]:
        """Return the arguments after ``ip -4`` or ``ip -6`` that add or delete this rule; ``verb`` is ``add`` or ``del``."""
        priority = [] if self.priority is None else ["priority", str(self.priority)]
        selector = (["from", self.from_] if self.from_ else []) + (["to", self.to] if self.to else [])
        protocol = ["protocol", self.protocol] if verb == "add" and self.protocol not in {"", "0"} else []
        return ["rule", verb, *(selector or ["from", "all"]), "table", str(self.table), *priority, *protocol]


Entry = Union[Route, Rule]


def planned_route(family: int, table: int, to: str, dev: str, via: str) -> Route:
    """Return a route as railweave creates it. ``to`` and ``via`` are in canonical form; ``to`` may be ``default``.

    ``family`` is 4 or 6, ``dev`` the interface, and ``via`` the next hop.
    """
    return Route(family, table, network(to, family) if to == "default" else to, dev, via, _METRIC[family])


def route_of(family: int, shown: dict[str, Any]) -> Route:
    """Return the route that ``shown`` describes, a row of ``ip -N -d -j route``. ``family`` is 4 or 6."""
    opaque = sorted(set(shown) - _PLAIN_ROUTE)
    rest: list[str] = []
    scope = str(shown.get("scope", "0"))
    scope = _SCOPES.get(scope, scope)
    via = _address(shown["gateway"]) if "gateway" in shown else ""
    if "via" in shown:  # IPv4 by an IPv6 next hop
        via = f"{shown['via']['family']} {shown['via']['host']}"
    kind = str(shown.get("type", UNICAST))
    kind = _KINDS.get(int(kind), kind) if kind.isdecimal() else kind
    if family == 4 and kind == UNICAST and scope != ("0" if via or "nexthops" in shown else "253"):
        rest += ["scope", scope]
    if "prefsrc" in shown:
        rest += ["src", shown["prefsrc"]]
    if "onlink" in shown.get("flags", []):
        rest += ["onlink"]
    if shown.get("pref", "medium") != "medium":
        rest += ["pref", shown["pref"]]
    for metrics in shown.get("metrics", []):
        rest += [word for key, value in metrics.items() for word in (key, str(value))]
        opaque += sorted(set(metrics) - _METRICS)
    for hop in shown.get("nexthops", []):
        rest += _hop(hop)
    return Route(
        family,
        int(shown.get("table", "254")),
        network(shown["dst"], family),
        shown.get("dev", ""),
        via,
        int(shown.get("metric", 0)),
        str(shown.get("protocol", "3")),
        kind,
        tuple(rest),
        tuple(opaque),
    )


def _hop(hop: dict[str, Any]) -> list[str]:
    via = [hop["gateway"]] if "gateway" in hop else [hop["via"]["family"], hop["via"]["host"]] if "via" in hop else []
    onlink = ["onlink"] if "onlink" in hop.get("flags", []) else []
    return ["nexthop", *(["via", *via] if via else []), "dev", hop["dev"], "weight", str(hop.get("weight", 1)), *onlink]


@lru_cache(maxsize=1 << 10)
def _address(text: str) -> str:
    """Return an address in Python's canonical form. ``ip`` writes the end of some IPv6 addresses as IPv4."""
    return str(ipaddress.ip_address(text))


@lru_cache(maxsize=1 << 18)
def _selected(end: str) -> str:
    """Return a rule's source or destination (``end``) in canonical form; empty if it matches every address, for example ``0.0.0.0/0``."""
    prefix = spelled(end) if end else ""
    return "" if prefix.endswith("/0") else prefix


def rule_of(family: int, shown: dict[str, Any]) -> Rule:
    """Return the rule that ``shown`` describes, a row of ``ip -N -d -j rule``. ``family`` is 4 or 6."""

    def prefix(key: str, length: str) -> str:
        text = shown.get(key, "all")
        return "" if text == "all" else f"{text}/{shown[length]}" if length in shown else text

    return Rule(
        family,
        int(shown["priority"]),
        prefix("src", "srclen"),
        prefix("dst", "dstlen"),
        int(shown.get("table", 0)),
        str(shown.get("protocol", "")),
        plain=set(shown) <= _PLAIN_RULE and "table" in shown,
        more=" ".join(_more(shown)),
    )


def _more(shown: dict[str, Any]) -> list[str]:
    """Return a rule's selectors and actions beyond source, destination and table, as ``ip rule add`` accepts them.

    ``shown`` is a row of ``ip -N -d -j rule``. Source: iproute2, ip/iprule.c.
    """
    words = ["not"] if "not" in shown else []
    for key in sorted(set(shown) - _PLAIN_RULE - {"not"}):
        value = shown[key]
        text = "" if value is None else str(value)
        if key == "fwmark":
            words += [key, f"{text}/{shown['fwmask']}" if "fwmask" in shown else text]
        elif key in _FIRSTS:
            name, end = _FIRSTS[key]
            words += [name, f"{text}-{shown.get(end, text)}"]
        elif key == "ipproto":
            words += [key, text[len(key) + 1 :] if text.startswith(f"{key}-") else text]
        elif key == "suppress_prefixlen":
            words += ["suppress_prefixlength", text]
        elif key == "action":
            words.append(_KINDS.get(int(text), text) if text.isdecimal() else text)
        elif key not in _SECONDS:
            words += [key, text] if text else [key]
    return words
