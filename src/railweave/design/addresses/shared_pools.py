"""Pools that several fabrics of a file share, and that nothing allotted overlaps.

Fabrics that name the same pool share it: each has an eighth of it, by its slot in the lock, so that a new fabric moves
none before it. Pools that overlap otherwise are a mistake.
"""

from __future__ import annotations

import ipaddress
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.design.context import Context
    from railweave.model.intent.fabric import Fabric as FabricSpec
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.devices import Cable, Segment, Switch
    from railweave.model.network.fabric import Fabric

    Prefix = ipaddress.IPv4Network | ipaddress.IPv6Network
    Held = tuple[Prefix, str, Location]
    """A prefix that is allotted, to whom, and where the file says from what."""

BLOCKS = 8
"""Parts that a shared pool is cut into: a power of two, so that prefixes are cut evenly."""


def with_own_pools(context: Context) -> dict[str, FabricSpec]:
    """The fabrics by name, each with its own part of the pools it shares. Notes problems."""
    found = dict(context.source.spec.fabrics)
    if len(found) < 2 and "fabrics" not in context.lock.pools:
        return found
    slots = context.lock.allot("fabrics", found)
    for part, key in (
        ("pools", "leaf_asn"),
        ("pools", "spine_asn"),
        ("pools", "super_spine_asn"),
        ("pools", "fabric_links"),
        ("overlay", "vni"),
        ("overlay", "network_vni"),
    ):
        asked = {name: _value(one, part, key) for name, one in context.source.spec.fabrics.items()}
        users = {name: value for name, value in asked.items() if value is not None}
        for (one, mine), (other, theirs) in combinations(users.items(), 2):
            if mine != theirs and _overlap(mine, theirs):
                what = f"{key} of fabrics {one!r} and {other!r} overlap: {_shown(mine)} and {_shown(theirs)}"
                context.problem(
                    ("fabrics", other, part, key), what, "name the same pool to share it, or move them apart"
                )
        for name, value in users.items():
            if sum(1 for other in users.values() if other == value) > 1:
                if slots[name] > BLOCKS:
                    what = f"{key}: fabric number {slots[name]} has no part of a pool that is cut in {BLOCKS}"
                    context.problem(("fabrics", name, part, key), what, "give it a pool of its own")
                    continue
                own = _block(value, slots[name] - 1)
                at = found[name]
                inner = at.pools if part == "pools" else at.evpn()
                assert inner is not None  # noqa: S101 - it has a value
                found[name] = at.model_copy(update={part: inner.model_copy(update={key: own})})
    context.check()
    return found


def _value(fabric: FabricSpec, part: str, key: str) -> tuple[int, int] | str | None:
    """A pool, where the fabric takes something from it."""
    if part == "overlay":
        overlay = fabric.evpn()
        networks = any(tenant.networks for tenant in fabric.tenants.values())
        return None if overlay is None or (key == "network_vni" and not networks) else getattr(overlay, key)
    idle = (key == "super_spine_asn" and not fabric.topology.super_spines) or (
        key == "fabric_links" and fabric.underlay.peering != "numbered"
    )
    return None if idle else getattr(fabric.pools, key)


def _block(value: tuple[int, int] | str, place: int) -> tuple[int, int] | str:
    if isinstance(value, str):
        pool = ipaddress.ip_network(value)
        length = pool.prefixlen + BLOCKS.bit_length() - 1
        if length > pool.max_prefixlen:
            return value  # too small for anything: whoever takes from it says so
        size = 1 << (pool.max_prefixlen - length)
        return f"{pool.network_address + place * size}/{length}"
    first, last = value
    size = (last - first + 1) // BLOCKS
    return (first + place * size, first + (place + 1) * size - 1)


def _overlap(one: tuple[int, int] | str, other: tuple[int, int] | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        mine, theirs = ipaddress.ip_network(str(one)), ipaddress.ip_network(str(other))
        return mine.version == theirs.version and mine.overlaps(theirs)
    return one[0] <= other[1] and other[0] <= one[1]


def _shown(value: tuple[int, int] | str) -> str:
    return value if isinstance(value, str) else f"{value[0]}-{value[1]}"


def check_apart(
    context: Context,
    fabrics: Sequence[Fabric],
    switches: Sequence[Switch],
    segments: Sequence[Segment],
    cables: Sequence[Cable],
) -> None:
    """Note prefixes that are allotted twice or lie inside each other, of all fabrics and the management network."""
    held = sorted(
        _held(context, fabrics, switches, segments, cables),
        key=lambda one: (one[0].version, int(one[0].network_address), one[0].prefixlen),
    )
    widest: Held | None = None
    for one, other in pairwise(held):
        if (
            widest is None
            or widest[0].version != one[0].version
            or int(widest[0].broadcast_address) < int(one[0].broadcast_address)
        ):
            widest = one
        if widest[0].version == other[0].version and int(widest[0].broadcast_address) >= int(other[0].network_address):
            what = f"overlapping prefixes: {widest[0]} of {widest[1]} and {other[0]} of {other[1]}"
            # An edge port's prefix is written for it alone, a pool for many: so that is the one to change.
            edge = next((held[2] for held in (other, widest) if "edge_ports" in held[2]), None)
            fix = "give the edge port a prefix of its own, outside the pools" if edge else "move the pools apart"
            context.problem(edge or other[2], what, fix)
            break
    context.check()


def _held(
    context: Context,
    fabrics: Sequence[Fabric],
    switches: Sequence[Switch],
    segments: Sequence[Segment],
    cables: Sequence[Cable],
) -> Iterator[Held]:
    yield ipaddress.ip_network(context.source.spec.management.pool), "the management network", ("management", "pool")
    yield from _of_tenants(fabrics)
    for switch in switches:
        pools: Location = ("fabrics", switch.fabric, "pools", "router_id")
        addresses = dict.fromkeys((switch.router_id, switch.loopback, *(one.address for one in switch.endpoints)))
        for address in addresses:
            if address:
                yield ipaddress.ip_network(address), f"a loopback of {switch.name}", pools
    for segment in segments:
        where: Location = ("fabrics", segment.fabric, "addressing", "server_pool")
        whose = f"servers of fabric {segment.fabric!r}"
        if segment.edge:
            name = segment.nic.partition(":")[0]
            where, whose = ("fabrics", segment.fabric, "edge_ports", name, "prefixes"), f"edge port {name!r}"
        for subnet in segment.subnets if not segment.network else ():
            yield ipaddress.ip_network(subnet.prefix), whose, where
    for cable in cables:
        if cable.prefix_length is not None:
            where = ("fabrics", cable.fabric, "pools", "fabric_links")
            yield (
                ipaddress.ip_network(f"{cable.a.address}/{cable.prefix_length}", strict=False),
                f"link {cable.name}",
                where,
            )


def _of_tenants(fabrics: Sequence[Fabric]) -> Iterator[Held]:
    """Layer-2 networks, loopbacks of VRFs, and links to routers outside."""
    for fabric in fabrics:
        at: Location = ("fabrics", fabric.name)
        for tenant in fabric.tenants:
            own = (*at, "tenants", tenant.name)
            for one in tenant.networks:
                where = (*own, "networks", one.name, "prefix")
                yield ipaddress.ip_network(one.prefix), f"network {one.name!r} of fabric {fabric.name!r}", where
            for part in tenant.on_leaves:
                for address in part.loopbacks:
                    yield ipaddress.ip_network(address), f"the loopback of {tenant.name!r} on {part.leaf}", own
            for router in tenant.external:
                for place, link in enumerate(router.links):
                    network = ipaddress.ip_network(f"{link.address}/{link.prefix_length}", strict=False)
                    where = (*own, "external", router.name, "links", place, "prefix")
                    yield network, f"the link of {link.leaf} to {router.name!r}", where
