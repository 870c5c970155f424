"""Rules, routes and neighbors that are not planned and take a server's traffic from the planned path.

The kernel asks rules in their order, and the first whose table has a route decides (ip-rule(8)). So a rule before a planned one
is stray if it selects any of the packets that the planned one is for. A route is stray if it is in a planned table and not planned.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .entries import SYSTEM_TABLES, Route, Rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

MAIN, LOCAL = 254, 255
MAIN_PRIORITY = 32766
"""Priority of the kernel's own rule for the main table (net/ipv6/fib6_rules.c, net/ipv4/fib_rules.c)."""


@dataclass(frozen=True)
class Stray:
    """An entry that is not planned: ``what`` is wrong with the entry, and ``remedy`` is the command that fixes it.

    An entry that is not ``certain`` takes packets in some cases only, for example those that a program marks. ``table`` is the planned
    table whose packets the entry takes, ``place`` the entry's own place (``Rule.place``, ``Route.place``), ``dev`` a neighbor's device.
    """

    what: str
    remedy: str
    certain: bool = True
    table: int = 0
    place: tuple[Any, ...] = ()
    dev: str = ""


def stray_rules(planned: Sequence[Rule], there: Sequence[Rule], prefixes: Iterable[str]) -> list[Stray]:
    """Return the rules that are asked before a planned one about its packets.

    ``prefixes`` are those of the server's own addresses: packets from one without a planned rule are for the main table.
    """
    every = list(planned)
    for prefix in prefixes:
        if not any(one.family == _family(prefix) and _overlap(one.from_, prefix) and not one.to for one in every):
            every.append(Rule(_family(prefix), MAIN_PRIORITY, prefix, "", MAIN))
    found: list[Stray] = []
    for family in (4, 6):
        kernel = sorted((one for one in there if one.family == family), key=lambda one: one.priority or 0)
        ours = [one for one in every if one.family == family]
        place = {rule: _place(rule, kernel) for rule in ours}
        for number, one in enumerate(kernel):
            if _harmless(one) or any(one.does(wanted) for wanted in ours):
                continue
            before = [wanted for wanted in ours if number < place[wanted] and _takes(one, wanted)]
            if before:
                first = before[0]
                which = f"{_selector(first)} lookup {first.table}" + (
                    f" and {len(before) - 1} more" if len(before) > 1 else ""
                )
                what = f"stray rule {one.priority}: {_selector(one)}{_action(one)} comes before {which}"
                found.append(
                    Stray(
                        what, f"sudo {_delete(one)}", not _only_some(one), first.table, one.place if one.plain else ()
                    )
                )
    return found


def stray_routes(
    planned: Sequence[Route], there: Iterable[Route], sources: Mapping[int, Collection[str]]
) -> list[Stray]:
    """Return the routes of planned tables that are not as planned; of the system's tables those in the place of a planned one.

    ``sources`` are the prefixes of each table's own addresses: a route may prefer such an address, and no other.
    """
    tables = {one.table for one in planned} - SYSTEM_TABLES
    at: dict[tuple[int, int, str], list[Route]] = {}
    for one in planned:
        at.setdefault(one.place, []).append(one)
    right = {one.place: one.metric for one in there if any(one.does(wanted) for wanted in at.get(one.place, ()))}
    found: list[Stray] = []
    for one in there:
        wanted = at.get(one.place, [])
        if one.table not in tables and not (wanted and one.metric <= right.get(one.place, one.metric)):
            continue
        certain = True
        if not wanted:
            why = "no route to there is planned in this table"
        elif not any(one.does(each) for each in wanted):
            why = f"the plan has {_way(wanted[0])}"
        elif (source := _source(one)) and not any(_within(source, each) for each in sources.get(one.table, ())):
            why = f"its source {source} is no address of this table's path"
        elif "encap" in one.opaque:
            why = "it wraps packets, and the plan does not"
        elif one.metric != wanted[0].metric:
            why, certain = f"its metric is {one.metric}, the plan has {wanted[0].metric}", False
        else:
            continue
        what = f"stray route to {one.destination}{_way(one, kind=True)} in table {one.table}: {why}"
        remedy = f"sudo ip -{one.family} {' '.join(one.words('del'))}"
        found.append(Stray(what, remedy, certain, one.table, one.place))
    return found


def stray_neighbors(there: Iterable[tuple[str, str, str]], devices: Collection[str]) -> list[Stray]:
    """Return the permanent neighbors (device, address, MAC address) on planned devices: no plan has any, and none is asked for again."""
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


def _overlap(one: str, other: str) -> bool:
    """Return whether two prefixes of one family have addresses in common; empty is every address."""
    if not one or not other:
        return True
    first, second = (ipaddress.ip_network(each, strict=False) for each in (one, other))
    return first.version == second.version and first.overlaps(second)


def _within(address: str, prefix: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(prefix)
    except ValueError:  # a damaged answer
        return False


def _place(wanted: Rule, kernel: Sequence[Rule]) -> int:
    """Return the place of a planned rule in the kernel's order; if the rule is missing, the place where it belongs."""
    for number, one in enumerate(kernel):
        if one.does(wanted):
            return number
    priority = MAIN_PRIORITY if wanted.priority is None else wanted.priority
    return sum((one.priority or 0) <= priority for one in kernel)


def _harmless(one: Rule) -> bool:
    """Return whether a rule decides nothing: it looks up this machine's own addresses, is a mark for others, or is for VRFs, which have their own."""
    words = one.more.split()
    return one.table == LOCAL or "nop" in words or "l3mdev" in words or ("goto" in words and "unresolved" in words)


def _takes(one: Rule, wanted: Rule) -> bool:
    """Return whether a rule selects packets that a planned one is for, and sends them elsewhere."""
    if one.plain and one.table == wanted.table:
        return False
    jump = re.search(r"\bgoto (\d+)", one.more)
    if jump and int(jump[1]) <= (wanted.priority or 0):
        return False
    if one.more.split()[:1] == ["not"]:
        return True  # all but what it names
    return _overlap(one.from_, wanted.from_) and _overlap(one.to, wanted.to)


def _only_some(one: Rule) -> bool:
    """Return whether a rule is for packets that a program marks, or that come in by another interface: what this server sends has neither by itself."""
    words = one.more.split()
    if words[:1] == ["not"]:
        return False
    mark = re.search(r"\bfwmark (\S+)", one.more)
    marked = mark is not None and re.fullmatch("(?:0x)?0+", mark[1].partition("/")[0]) is None
    foreign = "iif" in words and words[words.index("iif") + 1 :][:1] != ["lo"]
    return marked or foreign


def _selector(one: Rule) -> str:
    words = one.more.split()
    negated = "not " if words[:1] == ["not"] else ""
    rest = " ".join(words[1:] if negated else words)
    to = f" to {one.to}" if one.to else ""
    return f"{negated}from {one.from_ or 'all'}{to}{f' {rest}' if rest else ''}"


def _action(one: Rule) -> str:
    return f" lookup {one.table}" if one.table else ""


def _delete(one: Rule) -> str:
    selector = re.sub(r" unresolved\b", "", _selector(one))
    return f"ip -{one.family} rule del priority {one.priority} {selector}{_action(one)}"


def _way(one: Route, *, kind: bool = False) -> str:
    """A route's next hop in words; of the kind, where it is no plain route."""
    special = f"{one.kind} " if kind and one.kind != "unicast" else ""
    via = f"via {one.via} " if one.via else ""
    dev = f"dev {one.dev} " if one.dev else ""
    rest = f"{' '.join(one.rest)} " if kind and one.rest else ""
    text = f"{special}{via}{dev}{rest}".strip()
    return f" {text}" if kind and text else text


def _source(one: Route) -> str:
    return dict(zip(one.rest, one.rest[1:], strict=False)).get("src", "")
