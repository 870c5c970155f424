"""Unplanned rules, routes and neighbors that divert a server's traffic from the planned path, and firewalls that drop it.

The kernel evaluates rules in order, and the first rule whose table has a route decides (ip-rule(8)). So an unplanned
rule before a planned rule is stray if both rules match some of the same packets. A route is stray if it is in a
planned table and not planned.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .entries import SYSTEM_TABLES, Route, Rule
from .machine import objects

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from .machine import Machine

MAIN, LOCAL = 254, 255
MAIN_PRIORITY = 32766
"""The priority of the kernel's own rule for the main table (net/ipv6/fib6_rules.c, net/ipv4/fib_rules.c)."""


@dataclass(frozen=True)
class Stray:
    """An unplanned rule, route or neighbor that diverts traffic.

    - ``what``: a description of the fault.
    - ``remedy``: the command that fixes it.
    - ``certain``: False if only some packets are diverted, for example packets that a program marks.
    - ``table``: the table that the diverted packets should use; 0 for a neighbor.
    - ``place``: the packets that the rule or route matches, as in ``Rule.place`` or ``Route.place``; empty for a neighbor.
    - ``dev``: the device of a neighbor.
    """

    what: str
    remedy: str
    certain: bool = True
    table: int = 0
    place: tuple[Any, ...] = ()
    dev: str = ""


def stray_rules(planned: Sequence[Rule], there: Sequence[Rule], prefixes: Iterable[str]) -> list[Stray]:
    """Return the unplanned rules that match packets of a planned rule and that the kernel evaluates before this planned rule.

    ``there`` has the kernel's rules, and ``prefixes`` the prefixes of the server's own addresses. Packets from a prefix without a planned
    rule should use the main table.
    """
    every = list(planned)
    for prefix in prefixes:
        if not any(rule.family == _family(prefix) and _overlap(rule.from_, prefix) and not rule.to for rule in every):
            every.append(Rule(_family(prefix), MAIN_PRIORITY, prefix, "", MAIN))
    strays: list[Stray] = []
    for family in (4, 6):
        kernel = sorted((rule for rule in there if rule.family == family), key=lambda rule: rule.priority or 0)
        ours = [rule for rule in every if rule.family == family]
        place = {rule: _place(rule, kernel) for rule in ours}
        for number, rule in enumerate(kernel):
            if _harmless(rule) or any(rule.does(wanted) for wanted in ours):
                continue
            before = [wanted for wanted in ours if number < place[wanted] and _takes(rule, wanted)]
            if before:
                first = before[0]
                which = f"{_selector(first)} lookup {first.table}" + (
                    f" and {len(before) - 1} more" if len(before) > 1 else ""
                )
                description = f"stray rule {rule.priority}: {_selector(rule)}{_action(rule)} comes before {which}"
                strays.append(
                    Stray(
                        description,
                        f"sudo {_delete(rule)}",
                        not _only_some(rule),
                        first.table,
                        rule.place if rule.plain else (),
                    )
                )
    return strays


def stray_routes(
    planned: Sequence[Route], there: Iterable[Route], sources: Mapping[int, Collection[str]]
) -> list[Stray]:
    """Return the unplanned routes in planned tables, and routes in system tables that are used instead of a planned route.

    ``there`` has the kernel's routes. ``sources`` has, for each table, the prefixes of the server's addresses that use the table. A planned
    route is also returned if it sets a source address outside these prefixes.
    """
    tables = {route.table for route in planned} - SYSTEM_TABLES
    at: dict[tuple[int, int, str], list[Route]] = {}
    for route in planned:
        at.setdefault(route.place, []).append(route)
    right = {
        route.place: route.metric for route in there if any(route.does(wanted) for wanted in at.get(route.place, ()))
    }
    strays: list[Stray] = []
    for route in there:
        wanted = at.get(route.place, [])
        if route.table not in tables and not (wanted and route.metric <= right.get(route.place, route.metric)):
            continue
        certain = True
        if not wanted:
            why = "no route to there is planned in this table"
        elif not any(route.does(each) for each in wanted):
            why = f"the plan has {_way(wanted[0])}"
        elif (source := _source(route)) and not any(_within(source, each) for each in sources.get(route.table, ())):
            why = f"its source {source} is no address of this table's path"
        elif "encap" in route.opaque:
            why = "it wraps packets, and the plan does not"
        elif route.metric != wanted[0].metric:
            why, certain = f"its metric is {route.metric}, the plan has {wanted[0].metric}", False
        else:
            continue
        description = f"stray route to {route.destination}{_way(route, kind=True)} in table {route.table}: {why}"
        remedy = f"sudo ip -{route.family} {' '.join(route.words('del'))}"
        strays.append(Stray(description, remedy, certain, route.table, route.place))
    return strays


def stray_neighbors(there: Iterable[tuple[str, str, str]], devices: Collection[str]) -> list[Stray]:
    """Return the permanent neighbors on planned devices. ``there`` has all neighbors, as device, address and MAC address.

    No plan has permanent neighbors. The kernel never resolves them again, so a wrong MAC address stays.
    """
    return [
        Stray(
            f"permanent neighbor {address} ({mac or 'no MAC address'}) on {dev}: nobody asks where it is now",
            f"sudo ip neigh del {address} dev {dev}",
            dev=dev,
        )
        for dev, address, mac in there
        if dev in devices
    ]


def _family(prefix: str) -> int:
    return 6 if ":" in prefix else 4


def _overlap(prefix: str, other: str) -> bool:
    """Return True if two prefixes of one family share addresses. An empty prefix means all addresses."""
    if not prefix or not other:
        return True
    first, second = (ipaddress.ip_network(each, strict=False) for each in (prefix, other))
    return first.version == second.version and first.overlaps(second)


def _within(address: str, prefix: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(prefix)
    except ValueError:  # a damaged answer
        return False


def _place(wanted: Rule, kernel: Sequence[Rule]) -> int:
    """Return the index of the planned rule ``wanted`` in ``kernel``, the kernel's rules in order.

    If the kernel lacks the rule, return the index at which it belongs.
    """
    for number, rule in enumerate(kernel):
        if rule.does(wanted):
            return number
    priority = MAIN_PRIORITY if wanted.priority is None else wanted.priority
    return sum((rule.priority or 0) <= priority for rule in kernel)


def _harmless(rule: Rule) -> bool:
    """Return True if a rule has no effect on the server's traffic.

    Such a rule looks up local addresses, is only a jump target for other rules, or belongs to VRFs.
    """
    words = rule.more.split()
    return rule.table == LOCAL or "nop" in words or "l3mdev" in words or ("goto" in words and "unresolved" in words)


def _takes(rule: Rule, wanted: Rule) -> bool:
    """Return True if ``rule`` would match packets of the planned rule ``wanted``, and does not simply look up the same table for them."""
    if rule.plain and rule.table == wanted.table:
        return False
    jump = re.search(r"\bgoto (\d+)", rule.more)
    if jump and int(jump[1]) <= (wanted.priority or 0):
        return False
    if rule.more.split()[:1] == ["not"]:
        return True  # all but what it names
    return _overlap(rule.from_, wanted.from_) and _overlap(rule.to, wanted.to)


def _only_some(rule: Rule) -> bool:
    """Return True if a rule matches only packets with a mark, or only packets that arrive on an interface.

    Packets that this server sends have no mark unless a program sets one, and they do not arrive on an interface.
    """
    words = rule.more.split()
    if words[:1] == ["not"]:
        return False
    mark = re.search(r"\bfwmark (\S+)", rule.more)
    marked = mark is not None and re.fullmatch("(?:0x)?0+", mark[1].partition("/")[0]) is None
    foreign = "iif" in words and words[words.index("iif") + 1 :][:1] != ["lo"]
    return marked or foreign


def _selector(rule: Rule) -> str:
    words = rule.more.split()
    negated = "not " if words[:1] == ["not"] else ""
    rest = " ".join(words[1:] if negated else words)
    to = f" to {rule.to}" if rule.to else ""
    return f"{negated}from {rule.from_ or 'all'}{to}{f' {rest}' if rest else ''}"


def _action(rule: Rule) -> str:
    return f" lookup {rule.table}" if rule.table else ""


def _delete(rule: Rule) -> str:
    selector = re.sub(r" unresolved\b", "", _selector(rule))
    return f"ip -{rule.family} rule del priority {rule.priority} {selector}{_action(rule)}"


def _way(route: Route, *, kind: bool = False) -> str:
    """Return a route's next hop as text such as ``via 10.0.0.1 dev eth0``; with ``kind``, also its type and further attributes."""
    special = f"{route.kind} " if kind and route.kind != "unicast" else ""
    via = f"via {route.via} " if route.via else ""
    dev = f"dev {route.dev} " if route.dev else ""
    rest = f"{' '.join(route.rest)} " if kind and route.rest else ""
    text = f"{special}{via}{dev}{rest}".strip()
    return f" {text}" if kind and text else text


def _source(route: Route) -> str:
    return dict(zip(route.rest, route.rest[1:], strict=False)).get("src", "")


_LEGACY_DROP = re.compile(r"-A INPUT\b.*--dports? (?:\S+,)?4791\b.*-j (?:DROP|REJECT)\b")


def firewall_drops(machine: Machine) -> tuple[list[str], list[str]]:
    """Return two lists: commands that delete the firewall rules that drop RoCE, and chains that drop incoming packets by default.

    Raises ``CannotTellError`` if the rules cannot be read.
    """
    ruleset = [inner for row in machine.rows("nft", "-j", "list", "ruleset") for inner in objects(row.get("nftables"))]
    chains = [inner for nft_object in ruleset for inner in objects(nft_object.get("chain"))]
    dropping = [
        f"{chain.get('family')} {chain.get('table')} {chain.get('name')}"
        for chain in chains
        if chain.get("hook") == "input" and chain.get("policy") == "drop"
    ]
    remedies = [
        f"sudo nft delete rule {rule.get('family')} {rule.get('table')} {rule.get('chain')} handle {rule.get('handle')}"
        for nft_object in ruleset
        for rule in objects(nft_object.get("rule"))
        if _drops_roce(rule)
    ]
    for tool in ("iptables-legacy", "ip6tables-legacy"):  # tables of the old kind, which nft does not list
        lines = machine.run(tool, "-S").out.splitlines() if machine.has(tool) else []
        dropping += [f"{tool} INPUT" for line in lines if line.split() == ["-P", "INPUT", "DROP"]]
        remedies += [f"sudo {tool} -D {line[3:]}" for line in lines if _LEGACY_DROP.match(line)]
    return remedies, dropping


def _drops_roce(rule: dict[str, Any]) -> bool:
    words = str(rule.get("expr"))
    return "4791" in words and ("'drop'" in words or "'reject'" in words)
