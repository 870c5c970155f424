"""Addresses of numbered links between switches, of loopbacks and tunnel endpoints, and of edge ports."""

from __future__ import annotations

import ipaddress
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from railweave.counting import counted
from railweave.design.addresses.identity import listed
from railweave.design.addresses.server_prefixes import inside
from railweave.design.cabling.ports import Owner, panels_of, port_named
from railweave.model.intent.formula import filled
from railweave.model.network.devices import Cable, Color, Segment, Subnet, Switch
from railweave.model.network.overlay import EDGE, EdgePort, Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.tenants import EdgePort as EdgePortIntent


def edge_segments(context: Context, layout: Layout) -> list[Segment]:
    """Return a segment (a VLAN or link with its prefixes) for each edge port.

    The leaf has the first address of the segment. Records a problem for each unknown leaf or tenant. Raises ``DesignError`` if there is any
    problem.
    """
    leaves = {leaf.name: leaf for leaf in layout.leaves}
    overlay = layout.spec.evpn() is not None
    segments: list[Segment] = []
    for name, intent in layout.spec.edge_ports.items():
        at: Location = ("fabrics", layout.name, "edge_ports", name)
        leaf = leaves.get(intent.leaf)
        if leaf is None:
            known = ", ".join(list(leaves)[:8]) + (", …" if len(leaves) > 8 else "")
            context.problem(
                (*at, "leaf"), f"fabric {layout.name!r} has no leaf {intent.leaf!r}", f"its leaves are {known}"
            )
            continue
        if overlay and intent.tenant is None:
            context.problem(
                at, f"edge port {name!r} has no tenant", "name the tenant whose VRF the port is in: `tenant:`"
            )
        elif intent.tenant is not None and intent.tenant not in layout.spec.tenants:
            message = f"there is no tenant {intent.tenant!r}"
            context.problem((*at, "tenant"), message, f"tenants are {', '.join(layout.spec.tenants) or 'none'}")
        subnets = tuple(_subnet(prefix) for prefix in intent.prefixes)
        place = (layout.name, leaf.stripe, 0, leaf.name)
        segments.append(Segment(*place, None, "", subnets, f"{name}:{EDGE}", intent.tenant or ""))
    if segments and layout.spec.load_balancing.mode == "rlb":
        message = "edge ports need a fabric without path colors, because devices behind them have only one address"
        context.problem(("fabrics", layout.name, "edge_ports"), message, "use mode ecmp, dlb-flowlet or dlb-per-packet")
    context.check()
    return segments


def _subnet(prefix: str) -> Subnet:
    network = ipaddress.ip_network(prefix)
    first = network.network_address + (0 if network.num_addresses == 2 else 1)
    return Subnet(prefix, str(first), None)


def edge_length(layout: Layout, intent: EdgePortIntent) -> float:
    """Return the cable length of an edge port (``intent``) in metres: from the file, or else the planned length of server cables."""
    return layout.spec.cabling.server.length if intent.length is None else intent.length


def edge_ports(context: Context, layout: Layout, cables: Sequence[Cable]) -> tuple[EdgePort, ...]:
    """Return the edge ports of a fabric. Records a problem for each port that is in use or does not exist.

    Raises ``DesignError`` if there is any problem.
    """
    if not layout.spec.edge_ports:
        return ()
    panels = panels_of(layout, cables)
    ports: list[EdgePort] = []
    for name, intent in layout.spec.edge_ports.items():
        at: Location = ("fabrics", layout.name, "edge_ports", name, "port")
        equipment = layout.equipment[intent.leaf]
        system = context.catalog.systems[equipment.role.nos]
        speed = intent.speed or equipment.model.ports[0].speed_gbps
        port = port_named(context, at, equipment.role.device, equipment.model, system, intent.port, speed)
        if port is None:
            continue
        conflict = panels[intent.leaf].take(port, Owner(f"edge port {name}", at, "server_ports"))
        if conflict is not None:
            message = f"{intent.leaf} {intent.port} for edge port {name} {conflict.text}"
            context.problem(at, message, "choose another port, or end the range of server or uplink ports before it")
        length = edge_length(layout, intent)
        ports.append(EdgePort(name, intent.leaf, intent.port, port.physical, port.channel, speed, length))
    context.check()
    return tuple(ports)


ENDPOINTS_PER_LEAF = 64
"""The number of tunnel endpoint addresses reserved for each leaf.

This is the maximum of ``paths_per_nic``, so that a new color changes no existing address.
"""


def with_endpoints(
    context: Context, layout: Layout, switches: Sequence[Switch], colors: Sequence[Color]
) -> list[Switch]:
    """Return the switches with their loopback addresses for overlay sessions. Leaves also get the addresses of their tunnel endpoints.

    Without path colors, a leaf's only endpoint is its loopback. With path colors, a leaf also has one endpoint address per color, so that a
    tunnel follows the path of its color. Records a problem for each pool that is too small. Raises ``DesignError`` if there is any problem.
    """
    overlay = layout.spec.evpn()
    if overlay is None:
        return list(switches)
    slots = context.lock.allot("router-ids", [switch.name for switch in switches], shared=True)
    loopbacks, endpoints = ipaddress.ip_network(overlay.loopbacks), ipaddress.ip_network(overlay.endpoint_pool())
    at = ("fabrics", layout.name, "overlay")
    if endpoints.version != (4 if overlay.vtep == "ipv4" else 6):
        context.problem(
            (*at, "color_endpoints"),
            f"{endpoints} is not {overlay.vtep}, but `vtep` asks for that family",
            "use a pool of this address family",
        )
    if loopbacks.version != 6:
        context.problem((*at, "loopbacks"), f"{loopbacks} is not IPv6", "IPv4 loopbacks are always the router ids")
    context.check()
    result: list[Switch] = []
    for switch in switches:
        slot = slots[switch.name]
        loopback = switch.router_id
        if overlay.vtep == "ipv6":
            if slot >= loopbacks.num_addresses:
                context.problem((*at, "loopbacks"), f"pool too small: {loopbacks} has no address for {switch.name}", "")
                context.check()
            own_list = listed(
                context,
                layout,
                ("overlay", "loopback_lists"),
                overlay.loopback_lists,
                switch.role,
                switch.number,
                switch.name,
            )
            loopback = own_list or str(loopbacks.network_address + slot)
        switch_endpoints = [Endpoint(loopback, None)] if switch.role == "leaf" and not colors else []
        for color in colors if switch.role == "leaf" else ():
            host = (slot - 1) * ENDPOINTS_PER_LEAF + color.index
            if host >= endpoints.num_addresses:
                message = f"pool too small: {endpoints} has fewer than {ENDPOINTS_PER_LEAF} addresses for {switch.name}"
                context.problem((*at, "color_endpoints"), message, "use a shorter prefix")
                context.check()
            switch_endpoints.append(Endpoint(str(endpoints.network_address + host), color.index))
        result.append(replace(switch, loopback=loopback, endpoints=tuple(switch_endpoints)))
    return result


def with_tunnels(segments: Sequence[Segment], switches: Sequence[Switch]) -> tuple[Segment, ...]:
    """Return the segments (server subnets). Subnets of layer-2 networks get the address of their leaf's tunnel endpoint."""
    endpoint = {switch.name: switch.endpoints[0].address for switch in switches if switch.endpoints}
    return tuple(
        replace(segment, subnets=tuple(replace(subnet, tunnel=endpoint[segment.leaf]) for subnet in segment.subnets))
        if segment.network
        else segment
        for segment in segments
    )


class Pair(NamedTuple):
    """The addresses of the lower and the upper end of a link, and their prefix length."""

    low: str
    high: str
    length: int


class _Numbered(NamedTuple):
    """A cable between two switches, with its number among the parallel cables of these switches (from 1)."""

    cable: Cable
    link: int


def number_links(context: Context, layout: Layout, cables: Sequence[Cable]) -> list[Cable]:
    """Return the cables, with an address pair for every cable between switches if links are numbered (RFC 3021, RFC 6164).

    A cable in ``overrides.cables`` has the addresses given there. The other cables get addresses from the pool that
    ``pools`` specifies. Records a problem if a pool is too small.
    """
    fixed = {
        (*cable.between, cable.link): cable.addresses
        for cable in context.source.spec.overrides.cables
        if cable.addresses
    }
    links: Counter[tuple[str, str]] = Counter()
    numbered_cables: list[_Numbered] = []
    for cable in cables:
        joined = (cable.a.device, cable.b.device)
        links[joined] += cable.kind == "fabric"
        numbered_cables.append(_Numbered(cable, links[joined]))
    between = [numbered for numbered in numbered_cables if numbered.cable.kind == "fabric"]
    pools = layout.spec.pools
    if pools.fabric_link is not None:
        deal = _by_formula(context, layout, pools.fabric_link)
    elif pools.fabric_links_by == "cable":
        deal = _by_cable(context, layout, between)
    else:
        deal = _by_port(context, layout, between)
    result: list[Cable] = []
    for numbered in numbered_cables:
        cable = numbered.cable
        joined = (cable.a.device, cable.b.device)
        if cable.kind != "fabric":
            result.append(cable)
            continue
        fixed_addresses = fixed.get((*joined, numbered.link))
        if fixed_addresses:
            (low, _, length), (high, _, _) = (fixed_addresses[end].partition("/") for end in joined)
            pair = Pair(low, high, int(length))
        else:
            pair = deal(numbered)
        ends = replace(cable.a, address=pair.low), replace(cable.b, address=pair.high)
        result.append(replace(cable, a=ends[0], b=ends[1], prefix_length=pair.length))
    return result


def _at(layout: Layout, key: str) -> Location:
    return ("fabrics", layout.name, "pools", key)


def _by_port(context: Context, layout: Layout, between: Sequence[_Numbered]) -> Callable[[_Numbered], Pair]:
    """Return a function that computes a cable's address pair from the number of its lower switch and the port there.

    So a pair does not change when other cables are added or removed. ``between`` holds all cables between switches. If there is a tier
    above the spines, links between spines and that tier use the second half of the pool. Links between routers of two sites use the last
    quarter of the pool. The function raises ``DesignError`` if the pool is too small.
    """
    pool = ipaddress.ip_network(layout.spec.pools.fabric_links)
    half = pool.num_addresses // 2
    numbers = {leaf.name: (0, leaf.number) for leaf in layout.leaves}
    numbers |= {spine.name: (half, spine.number) for spine in layout.spines}
    numbers |= {border.name: (half + half // 2, border.number) for border in layout.dci}
    above = bool(layout.super_spines or layout.dci)
    ends = {0: half if above else pool.num_addresses}
    ends |= {half: half + half // 2 if layout.dci else pool.num_addresses}
    lower = [
        kind for kind in layout.kinds() if kind.role_name in {"leaf", "dci"} or (kind.role_name == "spine" and above)
    ]
    groups = [layout.roles["leaf"].model.ports[0], *(kind.model.ports[0] for kind in lower)]
    widest = max(mode.channels for group in groups for mode in group.modes())
    stride = 1 << (max(group.count for group in groups) * widest - 1).bit_length()

    length = pool.max_prefixlen - (2 * len(between) - 1).bit_length()
    packed = f"or {f'a /{length} with' if length < pool.prefixlen else 'set'} `fabric_links_by: cable`: links then get addresses one after another"

    def deal(numbered: _Numbered) -> Pair:
        cable = numbered.cable
        place = (cable.a.physical or 0) * widest + (cable.a.channel or 0)
        base, number = numbers[cable.a.device]
        offset = 2 * ((number - 1) * stride + place)
        if base + offset + 1 >= ends.get(base, pool.num_addresses):
            context.problem(
                _at(layout, "fabric_links"),
                f"pool too small: {pool} has no address pair for {cable.name}",
                f"use a /{pool.max_prefixlen - (_room(layout, 2 * stride) - 1).bit_length()}, {packed}",
            )
            context.check()
        return _pair(pool, base + offset)

    return deal


def _room(layout: Layout, each: int) -> int:
    """Return the number of addresses that ``_by_port`` needs in the pool of link addresses.

    ``each`` is the number of addresses that are reserved for each lower switch.
    """
    leaves, spines, borders = (
        each * max((end.number for end in ends), default=0) for ends in (layout.leaves, layout.spines, layout.dci)
    )
    if not layout.super_spines and not layout.dci:
        return leaves
    return max(2 * leaves, spines * (4 if layout.dci else 2), 4 * borders)


def _by_cable(context: Context, layout: Layout, between: Sequence[_Numbered]) -> Callable[[_Numbered], Pair]:
    """Return a function that gives a cable its address pair. Pairs are allocated in the order of ``between``, and the lock keeps each pair.

    ``between`` holds all cables between switches. A cable with addresses from an override also has a reserved pair. Raises
    ``DesignError`` if the pool is too small.
    """
    pool = ipaddress.ip_network(layout.spec.pools.fabric_links)
    slots = context.lock.allot(f"{layout.name}/links", [_label(numbered) for numbered in between])
    need = 2 * max(slots.values(), default=0)
    if need > pool.num_addresses:
        gone = len(context.lock.pools[f"{layout.name}/links"]) - len(slots)
        kept = f" including {counted(gone, 'former link')} that the lock still has" if gone else ""
        context.problem(
            _at(layout, "fabric_links"),
            f"pool too small: {pool} has {pool.num_addresses} addresses, but {len(slots)} links need {need}{kept}",
            f"use a /{pool.max_prefixlen - (need - 1).bit_length()}",
        )
        context.check()
    return lambda numbered: _pair(pool, 2 * (slots[_label(numbered)] - 1))


def _label(numbered: _Numbered) -> str:
    more = f" {numbered.link}" if numbered.link > 1 else ""
    return f"{numbered.cable.a.device}--{numbered.cable.b.device}{more}"


def _by_formula(context: Context, layout: Layout, formula: str) -> Callable[[_Numbered], Pair]:
    pool, at = ipaddress.ip_network(layout.spec.pools.fabric_links), _at(layout, "fabric_link")
    leaves = {leaf.name: leaf.number for leaf in layout.leaves}
    spines = {spine.name: spine.number for spine in layout.spines}

    def deal(numbered: _Numbered) -> Pair:
        ends = numbered.cable.a.device, numbered.cable.b.device
        if ends[0] not in leaves or ends[1] not in spines:
            message = (
                f"fabric_link is a formula for links of leaves and spines, but {numbered.cable.name} is another "
                "kind of link"
            )
            context.problem(at, message, "use `fabric_links_by: cable` instead")
            context.check()
        values = {"leaf": leaves[ends[0]], "spine": spines[ends[1]], "link": numbered.link}
        try:
            network = ipaddress.ip_network(filled(formula, values, "x" if ":" in formula else "d"))
        except ValueError as error:
            shown = ", ".join(f"{name} {value}" for name, value in values.items())
            context.problem(at, f"fabric_link {formula} gives no prefix for {shown} ({error})", "use other factors")
            context.check()
            raise
        if not inside(network, pool):
            message = f"fabric_link gives {network} to {numbered.cable.name}, which is not in fabric_links {pool}"
            context.problem(at, message, "write a pool that contains every link as `fabric_links:`")
            context.check()
        first = 0 if network.num_addresses == 2 else 1
        low = network.network_address + first
        return Pair(str(low), str(low + 1), network.prefixlen)

    return deal


def _pair(pool: ipaddress.IPv4Network | ipaddress.IPv6Network, offset: int) -> Pair:
    low = pool.network_address + offset
    return Pair(str(low), str(low + 1), pool.max_prefixlen - 1)
