"""Entries of servers that the design does not have: rules before the planned ones, routes in their tables, permanent neighbors, others' addresses."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from railweave.host.entries import Route, planned_route
from railweave.host.entries import Rule as KernelRule
from railweave.host.prefixes import spelled
from railweave.host.strays import stray_neighbors, stray_routes, stray_rules
from railweave.live.check.living import Seen
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.expect.hosts import ExpectedHost
    from railweave.host.strays import Stray
    from railweave.live.check.living import Living
    from railweave.model.state.host_state import HostState

RULE = Rule(
    "server-rule-stray",
    "error",
    "living",
    "A server has a rule that is not planned and takes packets before a planned one does; a warning where only some packets are meant.",
    why="the first rule that selects a packet chooses its table: traffic leaves by another NIC or color",
    fix="delete the rule, and what makes it at boot",
    sometimes="warning",
)
ROUTE = Rule(
    "server-route-stray",
    "error",
    "living",
    "A table of a path has a route that is not planned, or has another source, device, gateway or metric.",
    why="packets of that path leave by another way than planned",
    fix="delete the route, and what makes it at boot",
    sometimes="warning",
)
NEIGHBOR = Rule(
    "server-neighbor-permanent",
    "error",
    "living",
    "A server has a permanent neighbor on a NIC of the design.",
    why="the kernel never asks again where it is: after a NIC or leaf is exchanged, its packets are lost",
    fix="delete the entry, and what makes it at boot",
)
DUPLICATE = Rule(
    "server-address-duplicate",
    "error",
    "living",
    "A NIC has an address that another server has, or is to have by the design.",
    why="packets for one server reach the other, as neighbor caches happen to be",
    fix="take the address off the server that the design does not give it to",
)


def strays(wanted: ExpectedHost, state: HostState) -> list[tuple[Rule, Stray]]:
    """Return the entries of a server that divert its traffic from the planned path, each with its kind."""
    found: list[tuple[Rule, Stray]] = []
    if state.rules is not None:
        planned = [
            KernelRule(_family(one.from_, one.to), one.priority, str(one.from_ or ""), str(one.to or ""), one.table)
            for one in wanted.rules
        ]
        there = [
            KernelRule(
                one.family, one.priority, one.from_, one.to, one.table or 0, plain=one.plain is not False, more=one.more
            )
            for one in state.rules
            if one.family in {4, 6} and _prefix(one.from_) and _prefix(one.to)
        ]
        prefixes = {str(path.prefix): None for nic in wanted.nics for path in nic.addresses}
        found += [(RULE, one) for one in stray_rules(planned, there, prefixes)]
    if state.routes is not None:
        routes = [
            planned_route(
                _family(one.via if one.to == "default" else one.to),
                one.table,
                _spelled(str(one.to)),
                one.dev,
                str(one.via or ""),
            )
            for one in wanted.routes
        ]
        have = [
            Route(
                _family(one.to),
                one.table or 0,
                one.to,
                one.interface,
                one.via,
                one.metric or 0,
                kind=one.kind or "unicast",
                rest=one.rest,
                opaque=one.opaque,
            )
            for one in state.routes
            if _prefix(one.to)
        ]
        sources: dict[int, list[str]] = {}
        for nic in wanted.nics:
            for path in nic.addresses:
                sources.setdefault(path.table, []).append(str(path.prefix))
        found += [(ROUTE, one) for one in stray_routes(routes, have, sources)]
    rows = [(one.interface, one.address, one.mac) for one in state.permanent or ()]
    return found + [(NEIGHBOR, one) for one in stray_neighbors(rows, {nic.netdev for nic in wanted.nics})]


def seen(wanted: ExpectedHost, found: list[tuple[Rule, Stray]]) -> Iterator[Seen]:
    """The findings of a server's strays, at the NIC whose traffic they take."""
    names = {nic.netdev: nic.name for nic in wanted.nics}
    devices = {one.table: one.dev for one in (*wanted.rules, *wanted.routes)}
    for kind, one in found:
        port = names.get(one.dev or devices.get(one.table, ""), "")
        severity = None if one.certain else "warning"
        yield Seen(kind, wanted.device, one.what, wanted.because, port, severity=severity, fix=one.remedy)


def duplicates(living: Living) -> Iterator[Seen]:
    """Addresses of the design's prefixes on NICs, that another server has or is to have."""
    owners: dict[str, tuple[str, str]] = {
        _address(one.address): (server.name, nic.name)
        for server in living.network.servers
        for nic in server.nics
        for one in nic.addresses
        if not nic.mac_is_placeholder or one.origin != "slaac"
    }
    holders: dict[str, list[tuple[ExpectedHost, str]]] = {}
    for wanted, state in living.servers():
        nics = {nic.netdev: nic for nic in wanted.nics}
        for one in state.addresses or ():
            nic = nics.get(one.interface)
            address = _address(one.address)
            if nic is not None and address and any(_in(address, str(path.prefix)) for path in nic.addresses):
                holders.setdefault(address, []).append((wanted, nic.name))
    for address, held in holders.items():
        owner = owners.get(address)
        others = [(wanted, name) for wanted, name in held if owner is None or wanted.device != owner[0]]
        if owner is None and len({wanted.device for wanted, _ in held}) < 2:
            continue
        for wanted, name in others if owner else others[:1]:
            has = " and ".join(f"{one.device} {nic}" for one, nic in held if one.device != wanted.device)
            what = (
                f"{name} has {address}, which is that of {' '.join(owner)}"
                if owner
                else f"{name} and {has} have {address}"
            )
            fix = f"ip addr del {address} on {wanted.device}" if owner else "find out which of them formed it, and why"
            yield Seen(DUPLICATE, wanted.device, what, wanted.because, name, fix=fix)


def _family(*words: object) -> int:
    return 6 if any(":" in str(one) for one in words if one) else 4


def _prefix(text: str) -> bool:
    """Return whether a server said a prefix, or nothing."""
    try:
        return not text or bool(spelled(text))
    except ValueError:
        return False


def _spelled(text: str) -> str:
    return text if text == "default" else spelled(text)


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def _in(address: str, prefix: str) -> bool:
    one, network = ipaddress.ip_address(address), ipaddress.ip_network(prefix)
    return one.version == network.version and one in network
