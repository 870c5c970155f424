"""Routing tables of the servers: each its own number and name, over all fabrics a server is on."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from railweave.host.values import a_table_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.model.network.devices import Server
    from railweave.model.network.fabric import Fabric

FIRST_TABLE = 10000
"""The first routing table on servers (RLB document, Table 8)."""

TABLES_PER_FABRIC = 1000
"""Room for the tables of one fabric on a server, where the file does not number them."""

LAST_TABLE = 2**32 - 1
"""Table numbers have 32 bits (rtnetlink, RTA_TABLE)."""

LAST_RULE = 32765
"""The last priority before the rule of the main table, 32766."""

RESERVED = range(253, 256)
"""Tables of the kernel's own: default, main and local (iproute2, rt_tables)."""


def check_host_tables(context: Context, fabrics: Sequence[Fabric], servers: Sequence[Server]) -> None:
    """Note problems where tables of a server would share a number or a name, or rules would not act as meant."""
    for one in fabrics:
        _check_priority(context, one)
    used: dict[str, int] = {}
    names: dict[str, set[str]] = {}
    together: set[tuple[str, str]] = set()
    for server in servers:
        count: dict[str, int] = {}
        for nic in server.nics:
            count[nic.fabric] = count.get(nic.fabric, 0) + len(nic.addresses)
        together.update(combinations(count, 2))
        for fabric, tables in count.items():
            used[fabric] = max(used.get(fabric, 0), tables)
            if fabric not in names:
                names[fabric] = _names(context, next(one for one in fabrics if one.name == fabric), server)
    spans = {one.name: range(one.first_table, one.first_table + used[one.name]) for one in fabrics if one.name in used}
    for fabric, tables in spans.items():
        at = ("fabrics", fabric, "host_routing", "first_table")
        if tables.stop > LAST_TABLE + 1:
            what = f"routing tables from {tables.start} do not fit: a server needs {len(tables)}, and the last is {LAST_TABLE}"
            context.problem(at, what, f"begin at {LAST_TABLE + 1 - len(tables)} or below")
        if tables.start <= RESERVED.stop - 1 and tables.stop > RESERVED.start:
            shown = f"{tables.start} to {tables.stop - 1}"
            context.problem(at, f"routing tables {shown} take the kernel's own, 253 to 255", "begin at 256 or above")
    for one, other in together:
        at = ("fabrics", other, "host_routing")
        if spans[one].start < spans[other].stop and spans[other].start < spans[one].stop:
            context.problem(
                (*at, "first_table"),
                f"fabrics {one!r} and {other!r} share servers and the routing tables from {spans[other].start}",
                f"begin at {spans[one].stop} or above",
            )
        elif shared := names[one] & names[other]:
            context.problem(
                (*at, "table_name"),
                f"fabrics {one!r} and {other!r} share servers and the table name {min(shared)!r}",
                "give each fabric names of its own",
            )
    context.check()


def _check_priority(context: Context, fabric: Fabric) -> None:
    """On routed links a second rule sends what is bound to no address into the fabric; it must come after all others."""
    priority = fabric.host_routing.rule_priority
    if fabric.server_link == "routed" and (priority is None or priority >= LAST_RULE):
        shown = "null" if priority is None else str(priority)
        context.problem(
            ("fabrics", fabric.name, "host_routing", "rule_priority"),
            f"rule_priority {shown} gives no order on routed links: rules to the pool, one number higher, must come after "
            "those from an address and before the main table's",
            f"use 0 to {LAST_RULE - 1}",
        )


def _names(context: Context, fabric: Fabric, server: Server) -> set[str]:
    """The table names of a fabric's NICs. Notes a name that two tables would have."""
    found: set[str] = set()
    for nic in server.nics:
        if nic.fabric != fabric.name:
            continue
        for path, one in enumerate(nic.addresses, 1):
            name = fabric.table_name(nic.name, nic.rail, path, fabric.color_name(one.color))
            try:
                a_table_name(name)
            except ValueError as error:
                context.problem(
                    ("fabrics", fabric.name, "host_routing", "table_name"),
                    f"{name!r} {error}",
                    "begin with a letter, and leave main, default, local and unspec to the system",
                )
                context.check()
            if name in found:
                context.problem(
                    ("fabrics", fabric.name, "host_routing", "table_name"),
                    f"table name {name!r} stands for two tables of a server",
                    "use {rail}, {gpu} or {nic}, and {path} where a NIC has several addresses",
                )
            found.add(name)
    return found
