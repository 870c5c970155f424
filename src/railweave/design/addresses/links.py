"""Addresses of links between switches, for numbered peering: by port, one cable after another, or by the file's formula."""

from __future__ import annotations

import ipaddress
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from railweave.counting import counted
from railweave.design.addresses.server_prefixes import inside
from railweave.model.intent.formula import filled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.devices import Cable


class Pair(NamedTuple):
    """The addresses of the lower and the upper end of a link, and the length of its prefix."""

    low: str
    high: str
    length: int


class _Numbered(NamedTuple):
    """A cable between switches, and which of several parallel ones it is, from 1."""

    cable: Cable
    link: int


def number_links(context: Context, layout: Layout, cables: Sequence[Cable]) -> list[Cable]:
    """Give every leaf-spine cable an address pair, for numbered peering (RFC 3021, RFC 6164).

    Addresses that ``overrides.cables`` fixes come first; the others are dealt as ``pools`` says. Notes problems where a pool is
    too small.
    """
    fixed = {(*one.between, one.link): one.addresses for one in context.source.spec.overrides.cables if one.addresses}
    links: Counter[tuple[str, str]] = Counter()
    found: list[_Numbered] = []
    for cable in cables:
        joined = (cable.a.device, cable.b.device)
        links[joined] += cable.kind == "fabric"
        found.append(_Numbered(cable, links[joined]))
    between = [one for one in found if one.cable.kind == "fabric"]
    pools = layout.spec.pools
    if pools.fabric_link is not None:
        deal = _by_formula(context, layout, pools.fabric_link)
    elif pools.fabric_links_by == "cable":
        deal = _by_cable(context, layout, between)
    else:
        deal = _by_port(context, layout)
    result: list[Cable] = []
    for one in found:
        cable = one.cable
        joined = (cable.a.device, cable.b.device)
        if cable.kind != "fabric":
            result.append(cable)
            continue
        own = fixed.get((*joined, one.link))
        if own:
            (low, _, length), (high, _, _) = (own[end].partition("/") for end in joined)
            pair = Pair(low, high, int(length))
        else:
            pair = deal(one)
        ends = replace(cable.a, address=pair.low), replace(cable.b, address=pair.high)
        result.append(replace(cable, a=ends[0], b=ends[1], prefix_length=pair.length))
    return result


def _at(layout: Layout, key: str) -> Location:
    return ("fabrics", layout.name, "pools", key)


def _by_port(context: Context, layout: Layout) -> Callable[[_Numbered], Pair]:
    """A pair's place in the pool follows from the leaf's number and the uplink's port, so that it never moves.

    Links of spines to what is above them have the second half of the pool, those between routers of two sites the end of it.
    """
    pool = ipaddress.ip_network(layout.spec.pools.fabric_links)
    half = pool.num_addresses // 2
    numbers = {leaf.name: (0, leaf.number) for leaf in layout.leaves}
    numbers |= {spine.name: (half, spine.number) for spine in layout.spines}
    numbers |= {one.name: (half + half // 2, one.number) for one in layout.dci}
    above = bool(layout.super_spines or layout.dci)
    ends = {0: half if above else pool.num_addresses}
    ends |= {half: half + half // 2 if layout.dci else pool.num_addresses}
    lower = [one for one in layout.kinds() if one.role_name in {"leaf", "dci"} or (one.role_name == "spine" and above)]
    groups = [layout.roles["leaf"].model.ports[0], *(one.model.ports[0] for one in lower)]
    widest = max(mode.channels for group in groups for mode in group.modes())
    stride = 1 << (max(group.count for group in groups) * widest - 1).bit_length()

    def deal(one: _Numbered) -> Pair:
        cable = one.cable
        place = (cable.a.physical or 0) * widest + (cable.a.channel or 0)
        base, number = numbers[cable.a.device]
        offset = 2 * ((number - 1) * stride + place)
        if base + offset + 1 >= ends.get(base, pool.num_addresses):
            context.problem(
                _at(layout, "fabric_links"),
                f"pool too small: {pool} has no address pair for {cable.name}",
                f"it must hold {2 * stride} addresses for each of {max(leaf.number for leaf in layout.leaves)} leaves, or deal "
                "them one after another with `fabric_links_by: cable`",
            )
            context.check()
        return _pair(pool, base + offset)

    return deal


def _by_cable(context: Context, layout: Layout, between: Sequence[_Numbered]) -> Callable[[_Numbered], Pair]:
    """Pairs one after another, in the order of the cables; the lock keeps them, also for a cable that has others by an override."""
    pool = ipaddress.ip_network(layout.spec.pools.fabric_links)
    slots = context.lock.allot(f"{layout.name}/links", [_label(one) for one in between])
    need = 2 * max(slots.values(), default=0)
    if need > pool.num_addresses:
        gone = len(context.lock.pools[f"{layout.name}/links"]) - len(slots)
        kept = f" beside {counted(gone, 'former link')} that the lock still has" if gone else ""
        freed = ", or free the addresses of the former links with `railweave build --compact`" if gone else ""
        context.problem(
            _at(layout, "fabric_links"),
            f"pool too small: {pool} has {pool.num_addresses} addresses, and {len(slots)} links take {need}{kept}",
            f"use a /{pool.max_prefixlen - (need - 1).bit_length()}{freed}",
        )
        context.check()
    return lambda one: _pair(pool, 2 * (slots[_label(one)] - 1))


def _label(one: _Numbered) -> str:
    more = f" {one.link}" if one.link > 1 else ""
    return f"{one.cable.a.device}--{one.cable.b.device}{more}"


def _by_formula(context: Context, layout: Layout, formula: str) -> Callable[[_Numbered], Pair]:
    pool, at = ipaddress.ip_network(layout.spec.pools.fabric_links), _at(layout, "fabric_link")
    leaves = {leaf.name: leaf.number for leaf in layout.leaves}
    spines = {spine.name: spine.number for spine in layout.spines}

    def deal(one: _Numbered) -> Pair:
        ends = one.cable.a.device, one.cable.b.device
        if ends[0] not in leaves or ends[1] not in spines:
            what = f"fabric_link is a formula of leaves and spines, and {one.cable.name} joins others"
            context.problem(at, what, "use `fabric_links_by: cable` in its place")
            context.check()
        values = {"leaf": leaves[ends[0]], "spine": spines[ends[1]], "link": one.link}
        try:
            network = ipaddress.ip_network(filled(formula, values, "x" if ":" in formula else "d"))
        except ValueError as error:
            shown = ", ".join(f"{name} {value}" for name, value in values.items())
            context.problem(at, f"fabric_link {formula} gives no prefix for {shown} ({error})", "use other factors")
            context.check()
            raise
        if not inside(network, pool):
            what = f"fabric_link gives {network} to {one.cable.name}, which is not in fabric_links {pool}"
            context.problem(at, what, "write the pool that holds every link as `fabric_links:`")
            context.check()
        first = 0 if network.num_addresses == 2 else 1
        low = network.network_address + first
        return Pair(str(low), str(low + 1), network.prefixlen)

    return deal


def _pair(pool: ipaddress.IPv4Network | ipaddress.IPv6Network, offset: int) -> Pair:
    low = pool.network_address + offset
    return Pair(str(low), str(low + 1), pool.max_prefixlen - 1)
