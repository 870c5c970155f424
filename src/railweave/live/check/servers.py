"""Checks of servers: NIC addresses and GIDs, rules and routes that separate paths, unplanned (stray) entries, and lost packets."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from railweave.host.entries import Route, planned_route, spelled
from railweave.host.entries import Rule as KernelRule
from railweave.host.entries import Rule as PlannedRule
from railweave.host.strays import Stray, stray_neighbors, stray_routes, stray_rules
from railweave.live.check.living import OF_NIC_ADDRESS, Deviation, NetworkStates, Part, link_and_ends
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from railweave.analysis.expect.hosts import ExpectedHost, Nic, PathAddress
    from railweave.model.state.host_state import HostState, RdmaPort
    from railweave.model.state.ports import InterfaceState


STRAY_RULE = Rule(
    "server-rule-stray",
    "error",
    "living",
    "A server has an unplanned rule that takes packets of a planned rule with lower priority; severity "
    "warning if the unplanned rule takes only some of these packets.",
    why="the first rule that matches a packet selects its routing table: traffic leaves by a different NIC or color",
    fix="delete the rule, and the program or file that creates it at boot",
    sometimes="warning",
    asked=(".host_routing.rule_priority",),
)
STRAY_ROUTE = Rule(
    "server-route-stray",
    "error",
    "living",
    "The routing table of a path has an unplanned route, or a route with a different source, device, gateway "
    "or metric than planned.",
    why="packets of that path leave by a different NIC or gateway than planned",
    fix="delete the route, and the program or file that creates it at boot",
    sometimes="warning",
    asked=(".host_routing.first_table",),
)
NEIGHBOR = Rule(
    "server-neighbor-permanent",
    "error",
    "living",
    "A server has a permanent neighbor entry on a NIC of the design.",
    why="the kernel never refreshes the entry: after a NIC or leaf is replaced, packets to it are lost",
    fix="delete the entry, and the program or file that creates it at boot",
    asked=(".addressing.server_mode",),
)
FIREWALL = Rule(
    "server-filter-stray",
    "error",
    "living",
    "A firewall rule of a server drops RoCE packets (UDP port 4791).",
    why="RDMA packets cannot reach the server's kernel devices, and jobs over sockets or soft RoCE hang",
    fix="delete the rule, and the program or file that creates it at boot",
    asked=("servers.{server}.names",),
)
DUPLICATE = Rule(
    "server-address-duplicate",
    "error",
    "living",
    "A NIC has the address of a different server, or an address that the design gives to a different server.",
    why="packets for one server may reach the other, depending on neighbor caches",
    fix="remove the address from the server to which the design does not give it",
    asked=OF_NIC_ADDRESS,
)


def strays(wanted: ExpectedHost, state: HostState) -> list[tuple[Rule, Stray]]:
    """Return (rule of the check, stray) for each unplanned rule, route or neighbor that diverts a server's traffic.

    ``wanted`` is the designed, ``state`` the reported state of the server.
    """
    entries: list[tuple[Rule, Stray]] = []
    if state.rules is not None:
        planned = [
            KernelRule(
                _family(rule.from_, rule.to), rule.priority, str(rule.from_ or ""), str(rule.to or ""), rule.table
            )
            for rule in wanted.rules
        ]
        there = [
            KernelRule(
                rule.family,
                rule.priority,
                rule.from_,
                rule.to,
                rule.table or 0,
                plain=rule.plain is not False,
                more=rule.more,
            )
            for rule in state.rules
            if rule.family in {4, 6} and _prefix(rule.from_) and _prefix(rule.to)
        ]
        prefixes = {str(path.prefix): None for nic in wanted.nics for path in nic.addresses}
        entries += [(STRAY_RULE, stray_rule) for stray_rule in stray_rules(planned, there, prefixes)]
    if state.routes is not None:
        routes = [
            planned_route(
                _family(route.via if route.to == "default" else route.to),
                route.table,
                _spelled(str(route.to)),
                route.dev,
                str(route.via or ""),
            )
            for route in wanted.routes
        ]
        have = [
            Route(
                _family(route.to),
                route.table or 0,
                route.to,
                route.interface,
                route.via,
                route.metric or 0,
                kind=route.kind or "unicast",
                rest=route.rest,
                opaque=route.opaque,
            )
            for route in state.routes
            if _prefix(route.to)
        ]
        sources: dict[int, list[str]] = {}
        for nic in wanted.nics:
            for path in nic.addresses:
                sources.setdefault(path.table, []).append(str(path.prefix))
        entries += [(STRAY_ROUTE, stray_route) for stray_route in stray_routes(routes, have, sources)]
    rows = [(neighbor.interface, neighbor.address, neighbor.mac) for neighbor in state.permanent or ()]
    return entries + [
        (NEIGHBOR, stray_neighbor) for stray_neighbor in stray_neighbors(rows, {nic.netdev for nic in wanted.nics})
    ]


def seen(wanted: ExpectedHost, entries: list[tuple[Rule, Stray]]) -> Iterator[Deviation]:
    """Yield a finding for each stray in ``entries`` (a result of ``strays``), at the NIC whose traffic the stray diverts.

    ``wanted`` is the designed state of the server.
    """
    names = {nic.netdev: nic.name for nic in wanted.nics}
    devices = {planned.table: planned.dev for planned in (*wanted.rules, *wanted.routes)}
    for kind, stray in entries:
        port = names.get(stray.dev or devices.get(stray.table, ""), "")
        severity = None if stray.certain else "warning"
        yield Deviation(kind, wanted.device, stray.what, wanted.because, port, severity=severity, fix=stray.remedy)


def duplicates(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for each address of a NIC if the design gives the address to another server, or if two servers have it at the same time.

    ``living`` has the expected and the reported states.
    """
    owners: dict[str, tuple[str, str]] = {
        _address(address.address): (server.name, nic.name)
        for server in living.network.servers
        for nic in server.nics
        for address in nic.addresses
        if not nic.mac_is_placeholder or address.origin != "slaac"
    }
    holders: dict[str, list[tuple[ExpectedHost, str, bool]]] = {}
    for wanted, state in living.servers():
        nics = {nic.netdev: nic for nic in wanted.nics}
        for assigned in state.addresses or ():
            nic, address = nics.get(assigned.interface), _address(assigned.address)
            if nic is not None and address and not ipaddress.ip_address(address).is_link_local:
                inside = any(_in(address, str(path.prefix)) for path in nic.addresses)
                holders.setdefault(address, []).append((wanted, nic.name, inside))
    for address, held in holders.items():
        at_home = [(wanted.device, name) for wanted, name, inside in held if inside]
        owner = owners.get(address) or (at_home[0] if len(held) > 1 and len(at_home) == 1 else None)
        others = [(wanted, name) for wanted, name, _ in held if owner is None or wanted.device != owner[0]]
        if owner is None and len({wanted.device for wanted, _, _ in held}) < 2:
            continue
        for wanted, name in others if owner else others[:1]:
            has = " and ".join(f"{holder.device} {nic}" for holder, nic, _ in held if holder.device != wanted.device)
            description = (
                f"{name} has {address}, which is that of {' '.join(owner)}"
                if owner
                else f"{name} and {has} have {address}"
            )
            fix = f"ip addr del {address} on {wanted.device}" if owner else "find out which of them formed it, and why"
            needs: frozenset[Part] = frozenset([("nic", f"{wanted.device} {name} {address}")])
            yield Deviation(DUPLICATE, wanted.device, description, wanted.because, name, fix=fix, needs=needs)


def _family(*words: object) -> int:
    return 6 if any(":" in str(word) for word in words if word) else 4


def _prefix(text: str) -> bool:
    """Return True if a text that a server reported is a prefix or empty."""
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
    host_address, network = ipaddress.ip_address(address), ipaddress.ip_network(prefix)
    return host_address.version == network.version and host_address in network


ABSENT = Rule(
    "nic-absent",
    "error",
    "living",
    "A server has no network device with the designed name of a NIC.",
    why="the addresses, rules and routes of this NIC cannot be configured",
    fix=(
        "install the server's link files (`railweave build` writes them), or write the device's real name into "
        "the inventory"
    ),
    asked=("servers.{server}.model",),
)
DOWN = Rule(
    "nic-down",
    "error",
    "living",
    "A NIC of the design is down.",
    why="the GPU next to this NIC cannot reach other servers through it",
    fix="check the module, the cable and the leaf's port; replace one after the other",
    asked=("servers.{server}.names",),
)
MAC = Rule(
    "nic-mac-differs",
    "warning",
    "living",
    "The MAC address of a NIC differs from the inventory.",
    why="two servers may be swapped, or the NIC was replaced: its SLAAC addresses then differ from the design",
    fix="read the label on the NIC; `railweave inventory fill` records the new address",
    asked=("inventory.mac.{server}.{interface}",),
)
SPEED = Rule(
    "nic-speed-differs",
    "error",
    "living",
    "The speed of a NIC differs from the design.",
    why="load shares and predictions depend on the speed",
    fix="check the cable, and the configured speed at both ends",
    asked=("servers.{server}.model",),
)
MTU = Rule(
    "nic-mtu-differs",
    "error",
    "living",
    "The MTU of a NIC differs from the design.",
    why="full-size packets are dropped at the end with the smaller MTU, while small packets pass: jobs hang",
    fix="install the server's files again (`hosts/NAME/` of the build folder)",
    asked=(".mtu.server",),
)
ADDRESS = Rule(
    "nic-address-missing",
    "error",
    "living",
    "A NIC lacks an address of the design.",
    why="no queue pair can use the path of this address",
    fix=(
        "if addresses come from SLAAC, check whether the leaf sends router advertisements with the prefix; "
        "otherwise install the server's files again"
    ),
    asked=OF_NIC_ADDRESS,
)
GID = Rule(
    "gid-missing",
    "error",
    "living",
    "An RDMA device has no RoCE v2 GID for an address of the design.",
    why="no queue pair can use the path of this address",
    fix="check whether the RDMA driver is loaded and RoCE v2 is enabled: `railweave-host gids --check`",
    asked=OF_NIC_ADDRESS,
)
RULE = Rule(
    "server-rule-missing",
    "error",
    "living",
    "A server lacks a rule that selects the routing table of a path.",
    why="packets of that path leave by a different NIC or color",
    fix="run `railweave-host plan` on the server to see the reason, then `railweave-host apply`",
    asked=(".host_routing.rule_priority",),
)
ROUTE = Rule(
    "server-route-missing",
    "error",
    "living",
    "A server lacks a route of a path's routing table.",
    why="packets of that path leave by a different NIC, or not at all",
    fix="run `railweave-host plan` on the server to see the reason, then `railweave-host apply`",
    asked=(".host_routing.first_table",),
)
RETRANSMITTED = Rule(
    "rdma-retransmitted",
    "warning",
    "living",
    "Between two captures, an RDMA device sent packets again, or received packets out of sequence.",
    why=(
        "after a loss, RDMA sends all later packets again: throughput drops by much more than the share of lost packets"
    ),
    fix="look at the drops, bit errors and link failures that the same check reports on the device's path",
    asked=(".qos.classes",),
)

LOSSES = (
    "packet_seq_err",
    "out_of_sequence",
    "local_ack_timeout_err",
    "to_retransmits",
    "seq_err_naks_rcvd",
    "oos_drop_count",
)
"""RDMA counters of lost packets: the first three of mlx5, the others of bnxt_re (drivers/infiniband/hw of Linux)."""
_V2 = "roce v2"


def servers(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings about every server that answered. ``living`` has the expected and the reported states."""
    for wanted, state in living.servers():
        for nic in wanted.nics:
            yield from _nic(nic, state)
        stray = strays(wanted, state)
        taken = {entry.place for _, entry in stray}
        yield from _rules(wanted, state, taken)
        yield from _routes(wanted, state, taken)
        yield from seen(wanted, stray)
        if state.firewall:
            rules = (
                "a firewall rule drops" if len(state.firewall) == 1 else f"{len(state.firewall)} firewall rules drop"
            )
            text = f"{rules} RoCE packets (UDP port 4791)"
            yield Deviation(FIREWALL, wanted.device, text, wanted.because, fix=state.firewall[0])
    yield from duplicates(living)


def losses(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for each NIC whose counters of lost packets rose since the earlier capture.

    ``living`` has the expected and the reported states.
    """
    for wanted, now in living.servers():
        then = living.hosts_before.get(wanted.device)
        for nic in wanted.nics if then is not None else ():
            was, has = (_port(nic, state.rdma) for state in (then, now) if state is not None)
            if was is None or has is None:
                continue
            rose = {
                name: has.counters[name] - was.counters[name]
                for name in LOSSES
                if name in has.counters.keys() & was.counters.keys()
            }
            losses_text = ", ".join(f"{name} {count:,}" for name, count in rose.items() if count > 0)
            if losses_text:
                yield Deviation(RETRANSMITTED, wanted.device, f"{nic.rdma}: {losses_text}", nic.because, nic.name)


def _port(nic: Nic, ports: tuple[RdmaPort, ...] | None) -> RdmaPort | None:
    return next((port for port in ports or () if (port.device, port.port) == (nic.rdma, nic.rdma_port)), None)


def _nic(nic: Nic, state: HostState) -> Iterator[Deviation]:
    def seen(rule: Rule, description: str) -> Deviation:
        broken = rule in {ABSENT, DOWN}
        carried: list[Part] = [("link", nic.link)] if rule in {ADDRESS, GID} else []  # advertisements come over it
        return Deviation(
            rule,
            nic.device,
            f"{nic.name} {description}",
            nic.because,
            nic.name,
            breaks=frozenset([("link", nic.link), ("nic", f"{nic.device} {nic.name}")]) if broken else frozenset(),
            needs=link_and_ends(nic.link, nic.peer)
            if rule is DOWN
            else frozenset([("nic", f"{nic.device} {nic.name}"), ("gateways", nic.peer), *carried]),
        )

    if state.interfaces is not None:
        interface = state.interfaces.get(nic.netdev)
        if interface is None:
            yield seen(ABSENT, f"is not there: no network device is called {nic.netdev}")
            return
        yield from (seen(rule, description) for rule, description in _link(nic, interface))
    if state.addresses is not None:
        have = {address.address: address.doubts for address in state.addresses if address.interface == nic.netdev}
        missing = [
            _designed(path)
            for path in nic.addresses
            if not any(_is(path, address) and not have[address] for address in have)
        ]
        doubtful = [
            f"{address} is {' and '.join(doubts)}"
            for address, doubts in have.items()
            if doubts and any(_is(path, address) for path in nic.addresses)
        ]
        if missing:
            more = f"; {', '.join(doubtful)}" if doubtful else ""
            yield seen(ADDRESS, f"lacks {', '.join(missing)}{more}")
    if state.gids is not None:
        gids = [
            gid.address
            for gid in state.gids
            if (gid.device, gid.port) == (nic.rdma, nic.rdma_port) and (gid.kind or "").lower() == _V2
        ]
        missing = [_designed(path) for path in nic.addresses if not any(_is(path, gid) for gid in gids)]
        if missing:
            yield seen(GID, f"({nic.rdma}) has no GID of {', '.join(missing)}")


def _link(nic: Nic, interface: InterfaceState) -> Iterator[tuple[Rule, str]]:
    if interface.admin_up is False or interface.oper_up is False:
        yield DOWN, "is set down" if interface.admin_up is False else "has no carrier"
    elif interface.speed_gbps is not None and interface.speed_gbps != nic.speed_gbps:
        yield SPEED, f"runs at {interface.speed_gbps:g}G, the design has {nic.speed_gbps}G"
    if interface.mtu is not None and interface.mtu != nic.mtu:
        yield MTU, f"has MTU {interface.mtu}, the design has {nic.mtu}"
    if nic.mac and interface.mac and interface.mac != nic.mac.lower():
        yield MAC, f"has MAC address {interface.mac}, the inventory has {nic.mac}"


def _designed(path: PathAddress) -> str:
    color = f" (path color {path.color})" if path.color else ""
    return f"{path.address or f'an address in {path.prefix}'}{color}"


def _is(path: PathAddress, reported: str) -> bool:
    """Return True if a reported address is the address of a path.

    If the path has no planned address, its prefix must contain the reported address.
    """
    try:
        address = ipaddress.ip_address(reported)
    except ValueError:
        return False
    if path.address is not None:
        return address == ipaddress.ip_address(path.address)
    network = ipaddress.ip_network(path.prefix)
    return address.version == network.version and address in network


def _network(text: str, family: int | None) -> str:
    """Return a prefix with host bits cleared, as the kernel compares it. A text that is not a prefix is returned unchanged.

    ``default`` and an empty text become the prefix of all addresses of ``family`` (4 or 6), or an empty text if it is None.
    """
    if text in {"", "default", "all"}:
        return {4: "0.0.0.0/0", 6: "::/0"}.get(family or 0, "")
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return text


def _rules(wanted: ExpectedHost, state: HostState, taken: Collection[tuple[object, ...]]) -> Iterator[Deviation]:
    """Yield a finding for each planned rule that is missing.

    ``wanted`` is the designed state of the server. ``taken`` has the ``place`` of each stray rule: family, source and destination. A
    missing rule with the same values is left out, because the stray rule is reported.
    """
    if state.rules is None:
        return
    have = [
        (
            _network(rule.from_, rule.family),
            _network(rule.to, rule.family),
            rule.table,
            rule.priority or 0,
            rule.plain is not False,
        )
        for rule in state.rules
    ]
    names = {nic.netdev: nic.name for nic in wanted.nics}
    for rule in wanted.rules:
        family = 6 if ":" in f"{rule.from_ or ''}{rule.to or ''}" else 4
        ends = _network(rule.from_ or "", family), _network(rule.to or "", family)
        alike = sorted(
            (kernel_rule for kernel_rule in have if kernel_rule[:2] == ends and kernel_rule[4]),
            key=lambda kernel_rule: kernel_rule[3],
        )
        right = [
            kernel_rule
            for kernel_rule in alike
            if kernel_rule[2] == rule.table and rule.priority in {None, kernel_rule[3]}
        ]
        words = f"{f'from {rule.from_}' if rule.from_ else ''}{f' to {rule.to}' if rule.to else ''} lookup {rule.table}".strip()
        if not right and PlannedRule(family, None, str(rule.from_ or ""), str(rule.to or ""), 0).place not in taken:
            other = f", it has one for table {alike[0][2]} at {alike[0][3]}" if alike else ""
            yield Deviation(RULE, wanted.device, f"no rule {words}{other}", wanted.because, names[rule.dev])


def _routes(wanted: ExpectedHost, state: HostState, taken: Collection[tuple[object, ...]]) -> Iterator[Deviation]:
    """Yield a finding for each planned route that is missing.

    ``wanted`` is the designed state of the server. ``taken`` has the ``place`` of each stray route: family, table and destination. A
    missing route with the same values is left out, because the stray route is reported.
    """
    if state.routes is None:
        return
    have = {(route.table, route.to, route.interface, route.via.rpartition(" ")[2]) for route in state.routes}
    names = {nic.netdev: nic for nic in wanted.nics}
    for route in wanted.routes:
        family = 6 if ":" in (route.via or route.to) else 4
        to = _network(route.to, family)
        if (route.table, to, route.dev, str(route.via or "")) not in have and (family, route.table, to) not in taken:
            via = f" via {route.via}" if route.via else ""
            description = f"no route to {route.to}{via} on {route.dev} in table {route.table}"
            nic = names[route.dev]
            needs: frozenset[Part] = frozenset([("nic", f"{nic.device} {nic.name}")])
            yield Deviation(ROUTE, wanted.device, description, wanted.because, nic.name, needs=needs)
