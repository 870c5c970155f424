"""The state of the Linux kernel below FRRouting and SONiC: the answers of ``ip -j`` (iproute2), and the clock."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.device_state import Clock
from railweave.model.state.field_maps import Fields, choice, column, keyed, listed, texts
from railweave.model.state.ports import Errors, InterfaceState
from railweave.model.state.protocols import NeighborEntry, NextHop, PacketFilter, Route
from railweave.model.state.question import asked_about
from railweave.systems.state_table import Ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.model.state.values import Answers, Value


DROPPING = {"blackhole", "unreachable", "prohibit"}
"""The kernel's names for the kinds of routes and rules that drop packets, some with a message to the sender (ip-route(8))."""

FORWARDING = tuple(
    Ask(f"{name}-{family}", f"ip -j -{number} {subject}", by="shell")
    for family, number in (("ipv4", 4), ("ipv6", 6))
    for name, subject in (("forwarding", "netconf"), ("rules", "rule"))
)
"""The queries that show on which network interfaces the kernel forwards packets."""

KERNEL_ROUTES = (
    Ask("fib{about}", "ip -j -{version} route show exact {prefix} {of_vrf}", each="counted route", by="shell"),
    Ask("fib-{family}@{vrf}", "ip -j -{version} route show {of_vrf}", each="tables", by="shell"),
)
"""The queries for the routes by which the kernel forwards: whole tables, or the example prefixes if tables are large (ip-route(8))."""


links = keyed(
    "[]",
    Fields(
        InterfaceState,
        "name!=ifname admin_up=flags oper_up=operstate mtu mac=address:mac "
        "in_bytes=stats64/rx/bytes out_bytes=stats64/tx/bytes",
        admin_up=lambda flags: "UP" in listed if (listed := texts(flags)) else None,
        oper_up=choice({"up": True, "down": False, "lowerlayerdown": False}),
        addresses=lambda link: column("addr_info[]/local")(link) if "addr_info" in link.keys else None,
        errors=Fields(
            Errors,
            "in_errors=stats64/rx/errors out_errors=stats64/tx/errors "
            "in_discards=stats64/rx/dropped out_discards=stats64/tx/dropped",
        ),
    ),
)
"""Return the interfaces in ``ip -j -s link``, or in ``ip -j address``, which also has their addresses."""

neighbors = listed(
    "[]",
    Fields(
        NeighborEntry,
        "address!=dst interface=dev mac=lladdr:mac state",
        state=lambda states: next((text.lower() for text in texts(states)), None),
        router=lambda entry: "router" in entry.keys,
    ),
)
"""Return the neighbor cache in ``ip -j -6 neigh`` or ``ip -j -4 neigh``. Failed entries have no ``mac``."""

_OF_THE_KERNEL = {"kernel", "ra", "redirect"}
"""The protocols of routes that the kernel makes by itself: for its addresses, and from router advertisements."""


def in_kernel(shown: Iterable[Route], answers: Answers) -> tuple[Route, ...]:
    """Return the routes that zebra shows (``shown``), changed to what the kernel does if its tables differ.

    - A route that the kernel lacks is not installed.
    - A route whose entry in the kernel has other ports, or drops packets, gets these ports or drops packets.
    - Prefixes that only the kernel has are added as routes of the protocol ``kernel``, if zebra showed the whole table of the VRF.

    zebra shows most foreign routes itself. It ignores those with the protocol number of an FRR daemon, such as ``proto bgp``.
    """
    tables: dict[tuple[str, str], dict[str, Route]] = {}
    single: dict[tuple[str, str], dict[str, Route]] = {}
    for name in answers.texts:
        if not name.startswith("fib") or (answer := answers.tree(name)) is None:
            continue
        asked = asked_about(name)
        if asked is not None:
            single[asked[1], asked[2]] = _first_entries(answer, asked[1])
        else:
            kind, _, vrf = name.partition("@")
            tables[vrf, kind.removeprefix("fib-")] = _first_entries(answer, vrf)
    made: list[Route] = []
    known: set[tuple[str, str]] = set()
    for route in shown:
        known.add((route.vrf, route.prefix))
        table = tables.get((route.vrf, family_of(route.prefix)), single.get((route.vrf, route.prefix)))
        made.append(route if table is None else _as_forwarded(route, table.get(route.prefix)))
    for (vrf, family), table in tables.items():
        if f"routes-{family}@{vrf}" in answers.texts:
            strange = (entry for entry in table.values() if (vrf, entry.prefix) not in known)
            made += [entry for entry in strange if entry.protocol == "kernel"]
    return tuple(made)


def family_of(prefix: str) -> str:
    """Return the address family of a prefix: ``ipv4`` or ``ipv6``."""
    return "ipv6" if ":" in prefix else "ipv4"


def _first_entries(answer: Value, vrf: str) -> dict[str, Route]:
    """Return the entry that the kernel uses for each prefix in ``ip -j route``: the entry with the lowest metric.

    Entries with the same metric share the packets: IPv6 may show each next hop as a separate entry.
    """
    first: dict[str, tuple[int, Route]] = {}
    for entry in answer.each():
        to, metric = entry.get("dst").text(), entry.get("metric").integer() or 0
        if to is None or to == "default":
            continue
        prefix = to if "/" in to else f"{to}/{128 if ':' in to else 32}"
        kind = entry.get("type").lower()
        dropped = kind if kind in DROPPING else None
        hops = tuple(
            _KERNEL_HOP(hop)
            for hop in (entry.all("nexthops") or [entry])
            if hop.get("dev").there and not {"dead", "linkdown"}.intersection(texts(hop.get("flags")))
        )
        protocol = "connected" if entry.get("protocol").lower() in _OF_THE_KERNEL else "kernel"
        route = Route(prefix, vrf, protocol, True, () if dropped else hops, drops=dropped)
        known = first.get(prefix)
        if known is None or metric < known[0]:
            first[prefix] = metric, route
        elif metric == known[0]:
            first[prefix] = metric, replace(known[1], next_hops=(*known[1].next_hops, *route.next_hops))
    return {prefix: route for prefix, (_, route) in first.items()}


def _as_forwarded(route: Route, entry: Route | None) -> Route:
    """Return a route of zebra as the kernel forwards its packets. ``entry`` is the kernel's entry for the prefix, or None."""
    if not route.next_hops or route.drops:
        return route
    if entry is None:
        return replace(route, installed=False)
    if entry.drops:
        return replace(route, protocol="kernel", next_hops=(), drops=entry.drops)
    ports = {hop.interface for hop in route.next_hops if hop.interface and hop.active is not False}
    has = {hop.interface for hop in entry.next_hops}
    return replace(route, next_hops=entry.next_hops) if ports and has and ports != has else route


_KERNEL_HOP = Fields(NextHop, "address=gateway interface=dev weight")

_NARROWER = {"dst", "fwmark", "oif", "dport", "sport", "ipproto"}
"""The conditions of a routing policy rule that limit the rule to some packets."""


def not_forwarding(answers: Answers) -> dict[str, tuple[str, ...]] | None:
    """Return the network interfaces that forward no packets, by address family.

    ``all`` means every interface. None if no query was answered. The answers are those of ``ip -j netconf`` and ``ip -j rule``. Linux
    enables forwarding of IPv6 by one setting for all interfaces, and of IPv4 by one setting for each interface
    (Documentation/networking/ip-sysctl.rst). A rule of the routing policy can drop packets from an interface, or all packets, before the
    routes apply (ip-rule(8)).
    """
    made: dict[str, tuple[str, ...]] = {}
    for family in ("ipv4", "ipv6"):
        settings, rules = answers.tree(f"forwarding-{family}"), answers.tree(f"rules-{family}")
        off = {
            name
            for setting in (settings.each() if settings else [])
            if setting.get("forwarding").flag() is False and (name := setting.get("interface").text())
        }
        off = off - {"default", "lo"} if family == "ipv4" else off & {"all"}
        for rule in rules.each() if rules else []:
            whole = rule.get("src").text() == "all" and not rule.keys & _NARROWER
            if whole and rule.get("action").lower() in DROPPING:
                off.add(rule.get("iif").text() or "all")
        if settings is not None or rules is not None:
            made[family] = tuple(sorted(off))
    return made or None


REVERSE_PATH = {"off": "0", "strict": "1", "loose": "2"}
"""The value of ``rp_filter`` (Documentation/networking/ip-sysctl.rst) for each of its names in ``ip -j netconf``."""
_PARAMETER = re.compile(r"^/proc/sys/(net/[\w/-]+):(\w+)$", re.MULTILINE)
"""A pattern of a line of ``grep`` output: a file of ``/proc/sys``, a colon and its value."""


def kernel(answers: Answers) -> dict[str, str] | None:
    """Return the values of the kernel parameters that control forwarding, by name such as ``net.ipv4.ip_forward``.

    Return None if the query was not answered.
    """
    text, settings = answers.text("parameters"), answers.tree("forwarding-ipv4")
    if text is None:
        return None
    parameters = {name.replace("/", "."): value for name, value in _PARAMETER.findall(text)}
    if text.strip() and not parameters:
        answers.note("parameters", "", "no line of the form `/proc/sys/NAME:VALUE` is in it")
        return None
    for setting in settings.each() if settings is not None else []:
        interface, value = setting.get("interface").text(), REVERSE_PATH.get(setting.get("rp_filter").lower() or "")
        if interface and value:
            parameters[f"net.ipv4.conf.{interface}.rp_filter"] = value
    return parameters


_CHANGING = {"drop", "reject", "queue", "dnat", "snat", "masquerade", "redirect", "tproxy", "fwd"}
"""The nftables actions that drop a packet or divert it from its route (libnftables-json(5))."""
_PORT_KEYS = {"iifname", "iif", "oifname", "oif"}


def filters(answer: Value) -> tuple[PacketFilter, ...]:
    """Return the packet filters in ``nft -j list ruleset``: base chains that drop or divert packets, with the network interfaces in their rules.

    A base chain is a chain that the kernel calls by a hook. Its policy and the chains to which it jumps count as parts of the base chain.
    """
    entries = answer.all("nftables")
    rules: dict[tuple[str, ...], list[Value]] = {}
    for entry in entries:
        if "rule" in entry.keys:
            rules.setdefault(_chain(entry.get("rule"), "chain"), []).append(entry.get("rule"))
    filters: list[PacketFilter] = []
    for chain in (entry.get("chain") for entry in entries if "chain" in entry.keys):
        if not chain.get("hook").there:
            continue
        ports = _changed_on(_chain(chain, "name"), rules, frozenset())
        if chain.get("policy").lower() == "drop":
            ports = ()
        if ports is not None:
            family, table, name = _chain(chain, "name")
            bound = (device,) if (device := chain.get("dev").text()) else ports
            filters.append(PacketFilter(f"table {family} {table}, chain {name}", bound))
    return tuple(filters)


def _chain(row: Value, name: str) -> tuple[str, ...]:
    return tuple(row.get(key).text() or "" for key in ("family", "table", name))


def _changed_on(
    chain: tuple[str, ...], rules: Mapping[tuple[str, ...], Sequence[Value]], above: frozenset[tuple[str, ...]]
) -> tuple[str, ...] | None:
    """Return the network interfaces on which ``chain`` drops or diverts packets, () if it does on all, or None if it does not.

    Chains to which ``chain`` jumps count, too. ``rules`` has the rules of each chain. ``above`` are the chains
    from which it is called.
    """
    places: list[tuple[str, ...]] = []
    for rule in rules.get(chain, ()):
        statements = rule.all("expr")
        here = any(statement.keys & _CHANGING or _changing_map(statement) for statement in statements)
        inside: list[tuple[str, ...]] = [()] if here else []
        for statement in statements:
            for verb in ("jump", "goto"):
                target = (*chain[:2], statement.get(verb, "target").text() or "")
                if (
                    target[-1]
                    and target not in above
                    and (deeper := _changed_on(target, rules, above | {chain})) is not None
                ):
                    inside.append(deeper)
        matches = (statement.get("match") for statement in statements if "match" in statement.keys)
        on = [
            match
            for match in matches
            if match.get("left", "meta", "key").text() in _PORT_KEYS and match.get("op").text() != "!="
        ]
        named = tuple(name for match in on for name in _names(match.get("right")))
        if any(
            name.startswith("@") or name.endswith("*") for name in named
        ):  # a set or a pattern: any port may be in it
            named = ()
        if inside:
            places += [named] if named else inside
    if not places:
        return None
    return () if () in places else tuple(dict.fromkeys(name for place in places for name in place))


def _changing_map(statement: Value) -> bool:
    """Return True if a verdict map (``vmap``) of a rule drops packets or sends them to a chain. A map with a name counts, too: its verdicts are elsewhere."""
    if "vmap" not in statement.keys:
        return False
    data = statement.get("vmap", "data")
    verdicts = (part.keys for pair in data.all("set") for part in pair.each()[-1:])
    return (data.text() or "").startswith("@") or any(keys & {*_CHANGING, "jump", "goto"} for keys in verdicts)


def _names(value: Value) -> tuple[str, ...]:
    return texts(value.get("set")) if "set" in value.keys else texts(value)


def clock(answers: Answers) -> Clock | None:
    """Return the clock from ``date -u +%s``, or None if the query was not answered.

    If the answer is not a number, add a note to ``answers`` and return None.
    """
    text = answers.text("clock")
    if text is None:
        return None
    word = text.strip()
    if not word.isascii() or not word.isdecimal() or len(word) > 12:
        answers.note("clock", "", f"seconds since 1970 were expected, and it is {word[:60]!r}")
        return None
    return Clock(float(word))
