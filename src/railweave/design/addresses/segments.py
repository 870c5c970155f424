"""Segments with their VLANs and prefixes, and the division of pools that several fabrics share.

A segment is a VLAN or routed link between servers and a leaf.
"""

from __future__ import annotations

import difflib
import ipaddress
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from railweave.design.addresses import server_prefixes
from railweave.design.addresses.links import edge_segments
from railweave.design.shape.numbers import vlan_number
from railweave.model.config.naming import named
from railweave.model.network.devices import Cable, Color, Fabric, Segment, Subnet, Switch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from railweave.design.addresses.server_prefixes import Place
    from railweave.design.context import Context
    from railweave.design.shape.placing import PlacedServer
    from railweave.design.shape.topology import Layout, Leaf
    from railweave.design.tenancy.tenants import Owner
    from railweave.model.intent.fabric import Fabric as FabricSpec
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.overlay import Tenant, VirtualNetwork

    Prefix = ipaddress.IPv4Network | ipaddress.IPv6Network
    Held = tuple[Prefix, str, Location]
    """An allocated prefix, its owner, and the place in the fabric file from which the prefix follows."""

BLOCKS = 8
"""The number of parts into which a shared pool is divided. It is a power of two, so that each part is a prefix."""


def with_own_pools(context: Context) -> dict[str, FabricSpec]:
    """Return the fabrics by name, each with its own part of every pool that several fabrics use.

    Records a problem for each pool that cannot be divided. Raises ``DesignError`` if there is any problem.
    """
    fabrics = dict(context.source.spec.fabrics)
    if len(fabrics) < 2 and "fabrics" not in context.lock.pools:
        return fabrics
    slots = context.lock.allot("fabrics", fabrics)
    for part, key in (
        ("pools", "leaf_asn"),
        ("pools", "spine_asn"),
        ("pools", "super_spine_asn"),
        ("pools", "fabric_links"),
        ("overlay", "vni"),
        ("overlay", "network_vni"),
    ):
        asked = {name: _value(fabric, part, key) for name, fabric in context.source.spec.fabrics.items()}
        users = {name: value for name, value in asked.items() if value is not None}
        for (first, mine), (other, theirs) in combinations(users.items(), 2):
            if mine != theirs and _overlap(mine, theirs):
                message = f"{key} of fabrics {first!r} and {other!r} overlap: {_shown(mine)} and {_shown(theirs)}"
                context.problem(
                    ("fabrics", other, part, key),
                    message,
                    "name the same pool to share it, or choose pools that do not overlap",
                )
        for name, value in users.items():
            if sum(1 for other in users.values() if other == value) > 1:
                if slots[name] > BLOCKS:
                    message = f"{key}: fabric number {slots[name]} gets no part of the pool, which has {BLOCKS} parts"
                    context.problem(("fabrics", name, part, key), message, "give the fabric its own pool")
                    continue
                block = _block(value, slots[name] - 1)
                at = fabrics[name]
                inner = at.pools if part == "pools" else at.evpn()
                assert inner is not None  # noqa: S101 - it has a value
                fabrics[name] = at.model_copy(update={part: inner.model_copy(update={key: block})})
    context.check()
    return fabrics


def _value(fabric: FabricSpec, part: str, key: str) -> tuple[int, int] | str | None:
    """Return a fabric's pool at ``part`` and ``key``, such as ``pools`` and ``vlan``.

    It is (first, last) for numbers, and a prefix for addresses. Return None if the fabric allocates nothing from the pool.
    """
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


def _overlap(pool: tuple[int, int] | str, other: tuple[int, int] | str) -> bool:
    if isinstance(pool, str) or isinstance(other, str):
        mine, theirs = ipaddress.ip_network(str(pool)), ipaddress.ip_network(str(other))
        return mine.version == theirs.version and mine.overlaps(theirs)
    return pool[0] <= other[1] and other[0] <= pool[1]


def _shown(value: tuple[int, int] | str) -> str:
    return value if isinstance(value, str) else f"{value[0]}-{value[1]}"


def check_apart(
    context: Context,
    fabrics: Sequence[Fabric],
    switches: Sequence[Switch],
    segments: Sequence[Segment],
    cables: Sequence[Cable],
) -> None:
    """Record a problem if a prefix overlaps another prefix, or is allocated twice.

    All fabrics and the management network are compared. Then raise ``DesignError`` if there is any problem.
    """
    held = sorted(
        _held(context, fabrics, switches, segments, cables),
        key=lambda holding: (holding[0].version, int(holding[0].network_address), holding[0].prefixlen),
    )
    widest: Held | None = None
    for previous, other in pairwise(held):
        if (
            widest is None
            or widest[0].version != previous[0].version
            or int(widest[0].broadcast_address) < int(previous[0].broadcast_address)
        ):
            widest = previous
        if widest[0].version == other[0].version and int(widest[0].broadcast_address) >= int(other[0].network_address):
            message = f"overlapping prefixes: {widest[0]} of {widest[1]} and {other[0]} of {other[1]}"
            # An edge port's prefix is written for it alone, a pool for many: so that is the one to change.
            edge = next((held[2] for held in (other, widest) if "edge_ports" in held[2]), None)
            links = all(held[1].startswith("link ") and held[2] == other[2] for held in (widest, other))
            fix = (
                "give the edge port another prefix, outside the pools"
                if edge
                else "use {leaf}, {spine} and {link} in `fabric_link`, so that each link gets its own pair"
                if links and any(fabric.pools.fabric_link for fabric in context.source.spec.fabrics.values())
                else "choose pools that do not overlap"
            )
            context.problem(edge or other[2], message, fix)
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
        addresses = dict.fromkeys(
            (switch.router_id, switch.loopback, *(endpoint.address for endpoint in switch.endpoints))
        )
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
    """Yield (prefix, description, key path in the file) of each tenant prefix.

    These are the prefixes of layer-2 networks, VRF loopbacks, and links to external routers.
    """
    for fabric in fabrics:
        at: Location = ("fabrics", fabric.name)
        for tenant in fabric.tenants:
            tenant_at = (*at, "tenants", tenant.name)
            for virtual_network in tenant.networks:
                where = (*tenant_at, "networks", virtual_network.name, "prefix")
                yield (
                    ipaddress.ip_network(virtual_network.prefix),
                    f"network {virtual_network.name!r} of fabric {fabric.name!r}",
                    where,
                )
            for part in tenant.on_leaves:
                for address in part.loopbacks:
                    yield ipaddress.ip_network(address), f"the loopback of {tenant.name!r} on {part.leaf}", tenant_at
            for router in tenant.external:
                for place, link in enumerate(router.links):
                    network = ipaddress.ip_network(f"{link.address}/{link.prefix_length}", strict=False)
                    where = (*tenant_at, "external", router.name, "links", place, "prefix")
                    yield network, f"the link of {link.leaf} to {router.name!r}", where


def check_tagged(context: Context, layout: Layout, all_segments: Iterable[Segment]) -> None:
    """Record a problem for each tagged VLAN that is also the VLAN of a server segment.

    Trunk ports would carry this VLAN both tagged and untagged. Then raise ``DesignError`` if there is any problem.
    """
    tagged = layout.spec.addressing.tagged_vlans
    if not tagged:
        return
    holders: dict[int, Segment] = {}
    for segment in all_segments:
        if segment.vlan is not None:
            holders.setdefault(segment.vlan, segment)
    free = next(vlan for vlan in range(4094, 0, -1) if vlan not in holders and vlan not in tagged)
    for place, vlan in enumerate(tagged):
        if (holder := holders.get(vlan)) is None:
            continue
        whose = f"network {holder.network!r}" if holder.network else f"{holder.stripe} rail {holder.rail}"
        context.problem(
            ("fabrics", layout.name, "addressing", "tagged_vlans", place),
            f"tagged VLAN {vlan} is also the VLAN that {holder.leaf} uses for the prefixes of {whose}",
            f"choose another number, such as {free}, or begin `pools.vlan` above {vlan}",
        )
    context.check()


if TYPE_CHECKING:
    Cutters = tuple[Callable[[Place], Subnet], ...]
    """The functions that return the prefixes for a place, one for each address family."""


def segments(
    context: Context, layout: Layout, colors: Sequence[Color], owners: Mapping[str, Owner]
) -> tuple[Segment, ...]:
    """Return the segments of every leaf with their VLANs and prefixes: one per rail of a stripe, or one per NIC on routed links.

    ``owners`` gives the tenant of each NIC by ``server:nic``.

    - Each tenant's NICs have their own segments. NICs on a layer-2 network share one segment per leaf.
    - In a fabric with an overlay, NICs without a tenant are in a segment without subnets.
    - With dual stack, prefixes of the first address family come before prefixes of the second.

    Records a problem if a pool is too small.
    """
    of_fabric, of_tenants = _cutters(context, layout, colors)
    of_others = _other_cutters(context, layout, colors)
    links = {name: other_link.server_link for name, other_link in layout.spec.addressing.other_links.items()}
    usual = layout.spec.addressing.server_link
    server_prefixes.check_slaac(context, layout)
    server_prefixes.check_own_pools(context, layout)
    kind_of = _kinds(layout)
    indexes = [color.index for color in colors] or [None]
    overlay = layout.spec.evpn() is not None
    all_segments: list[Segment] = []

    def subnets(leaf: Leaf, owner: Tenant | None, rail: int, server: int, kind: str = "") -> tuple[Subnet, ...]:
        numbers = (leaf, owner.slot if owner else 0, rail, server)
        cuts = of_tenants.get(owner.name, of_fabric) if owner else of_others.get(kind, of_fabric)
        return tuple(cut((*numbers, index)) for cut in cuts for index in indexes)

    for leaf in layout.leaves:
        here = [server for server in layout.servers if server.stripe == leaf.stripe]
        for rail in leaf.rails:
            slots = {
                f"{server.name}:{server.nics.names[rail - 1]}": server.slot
                for server in here
                if rail <= len(server.nics.names)
            }
            place = (layout.name, leaf.stripe, rail, leaf.name)
            if overlay:
                all_segments += [Segment(*place, None, "", (), nic) for nic in slots if nic not in owners]
                slots = {nic: slot for nic, slot in slots.items() if nic in owners and owners[nic].network is None}
            kinds = {nic: kind_of(nic.partition(":")[0]) for nic in slots} if links else {}
            for nic, slot in slots.items():
                kind = kinds.get(nic, "")
                if links.get(kind, usual) in {"routed", "proxy-arp"}:
                    owner = owners[nic].tenant if overlay else None
                    segment_subnets = subnets(leaf, owner, rail, slot, kind)
                    all_segments.append(Segment(*place, None, "", segment_subnets, nic, owner.name if owner else ""))
            shared = next((kind for kind in ("", *links) if links.get(kind, usual) in {"access", "trunk"}), None)
            if shared is None:
                continue
            sharing = dict.fromkeys(owners[nic].tenant for nic in slots) if overlay else {None: None}
            for owner in sorted(sharing, key=lambda tenant: tenant.slot if tenant else 0):
                vlan = _vlan(context, layout, leaf, rail, owner)
                name = named(layout.spec.naming.vlan, fabric=layout.name, stripe=leaf.stripe, rail=rail, vlan=vlan)
                segment_subnets = subnets(leaf, owner, rail, 0, shared)
                all_segments.append(Segment(*place, vlan, name, segment_subnets, "", owner.name if owner else ""))
        all_segments += _shared(layout.name, leaf, here, owners)
    check_tagged(context, layout, all_segments)
    all_segments += edge_segments(context, layout)
    _check_gateway(context, layout, all_segments)
    _check_pairs(context, layout, all_segments)
    for pool in server_prefixes.every_pool(layout):
        if pool.addressing.server_prefix:
            _check_apart(context, pool, all_segments)
    _check_local_prefixes(context, layout, all_segments)
    return tuple(all_segments)


def _cutters(context: Context, layout: Layout, colors: Sequence[Color]) -> tuple[Cutters, dict[str, Cutters]]:
    """Return (functions for the fabric's pools, functions for the pools of each tenant that has its own pools, by tenant name).

    There is one function per pool. It returns the prefix of a segment from this pool.
    """
    of_fabric = tuple(
        server_prefixes.cutter(context, layout, colors, pool) for pool in server_prefixes.fabric_pools(layout)
    )
    of_tenants = {
        tenant: tuple(
            server_prefixes.cutter(context, layout, colors, pool)
            for pool in server_prefixes.tenant_pools(layout, tenant)
        )
        for tenant, intent in layout.spec.tenants.items()
        if intent.server_pools
    }
    return of_fabric, of_tenants


def _other_cutters(context: Context, layout: Layout, colors: Sequence[Color]) -> dict[str, Cutters]:
    """Return one function per pool under ``other_links``, by key. Each forms a server prefix from its pool.

    ``other_links`` is for servers whose link type differs from the fabric's ``server_link``. Records a problem for each unknown server
    in it, and if the fabric has ``other_links`` and tenants. Raises ``DesignError`` if there is any problem.
    """
    others = layout.spec.addressing.other_links
    at = ("fabrics", layout.name, "addressing", "other_links")
    if others and layout.spec.evpn() is not None:
        message = "tenants have routed members and layer-2 networks on one leaf without other_links"
        context.problem(at, message, "remove it: list NICs as members of a tenant, or under a network")
    there = [server.name for server in layout.servers]
    for name, other_link in others.items():
        for server in other_link.servers:
            if server not in there:
                message = f"there is no server {server!r} on fabric {layout.name!r}"
                close = difflib.get_close_matches(server, there, 1)
                more = "remove it, or add the server to this fabric under `servers:`"
                fix = f"did you mean {close[0]!r}? Otherwise {more}" if close else more
                context.problem((*at, name, "servers"), message, fix)
    context.check()
    return {
        name: tuple(server_prefixes.cutter(context, layout, colors, pool) for pool in pools)
        for name, pools in server_prefixes.other_pools(layout).items()
    }


def _kinds(layout: Layout) -> Callable[[str], str]:
    """Return a function that returns the key under ``other_links`` that lists a server, or "" if no key does."""
    others = layout.spec.addressing.other_links
    by_server = {server: name for name, other_link in others.items() for server in other_link.servers}
    return lambda server: by_server.get(server, "")


def _shared(fabric: str, leaf: Leaf, here: Sequence[PlacedServer], owners: Mapping[str, Owner]) -> list[Segment]:
    """Return a segment (VLAN between servers and a leaf) for each layer-2 network that has members on this leaf.

    ``here`` holds the servers of the leaf's stripe, and ``owners`` the tenant of each NIC.
    """
    first: dict[tuple[str, VirtualNetwork], int] = {}
    for rail in leaf.rails:
        for server in here:
            owner = owners.get(f"{server.name}:{server.nics.names[rail - 1]}")
            if owner is not None and owner.network is not None:
                first.setdefault((owner.tenant.name, owner.network), rail)
    return [
        Segment(
            *(fabric, leaf.stripe, rail, leaf.name, network.vlan, network.vlan_name),
            (Subnet(network.prefix, network.gateway, None),),
            tenant=tenant,
            network=network.name,
        )
        for (tenant, network), rail in sorted(first.items(), key=lambda item: item[0][1].slot)
    ]


def _vlan(context: Context, layout: Layout, leaf: Leaf, rail: int, owner: Tenant | None) -> int:
    """Return the VLAN of a rail on a leaf. VLANs differ between stripes or, with tenants, between tenants.

    ``owner`` is the tenant, or None. With tenants, all stripes have the same VLANs, which is possible because only routes connect
    stripes. Raises ``DesignError`` if the VLAN pool is too small.
    """
    first, last = layout.spec.pools.vlan
    group = leaf.stripe_slot if owner is None else owner.slot
    vlan = first + vlan_number(context, layout.name, group, rail, layout.rails) - 1
    if vlan > last and owner is not None:
        context.problem(
            ("fabrics", layout.name, "pools", "vlan"),
            f"pool too small: VLANs {first}-{last} do not have room for the {layout.rails} rails of tenant "
            f"{owner.name}",
            f"widen it to at least {first}-{first + owner.slot * layout.rails - 1}",
        )
        context.check()
    if vlan > last:
        context.problem(
            ("fabrics", layout.name, "pools", "vlan"),
            f"pool too small: VLANs {first}-{last} do not have room for the {layout.rails} rails of {leaf.stripe}",
            f"widen it to at least {first}-{first + server_prefixes.stripes(layout) * layout.rails - 1}",
        )
        context.check()
    return vlan


def _check_gateway(context: Context, layout: Layout, all_segments: Sequence[Segment]) -> None:
    mixed = bool(layout.spec.addressing.other_links)
    for pool in server_prefixes.every_pool(layout):
        prefix = next(
            (
                subnet.prefix
                for segment in all_segments
                if not segment.network and not segment.edge
                for subnet in segment.subnets
                if (":" in subnet.prefix) == (pool.network.version == 6)
                and (not mixed or server_prefixes.inside(ipaddress.ip_network(subnet.prefix), pool.network))
            ),
            None,
        )
        host = pool.addressing.gateway_host
        if prefix is not None and not server_prefixes.is_host(ipaddress.ip_network(prefix), host):
            context.problem(
                (*pool.at, "gateway_host"),
                f"gateway_host {host} is not a host in {prefix}: the leaf would have the network address, the "
                "broadcast address, or an address outside the prefix",
                "use 0 or 1 in a /31 or /127, else a number from 1 to the last but one address",
            )
            context.check()


def _check_pairs(context: Context, layout: Layout, all_segments: Sequence[Segment]) -> None:
    """Record a problem if a NIC would get the network or broadcast address of a pool with proxy ARP.

    NICs treat such a pool as one subnet. Then raise ``DesignError`` if there is any problem.
    """
    addressing = layout.spec.addressing
    if addressing.server_link != "proxy-arp":
        return
    pool = ipaddress.ip_network(addressing.server_pool)
    for segment in all_segments:
        for subnet in segment.subnets:
            pair = ipaddress.ip_network(subnet.prefix)
            if pair.network_address == pool.network_address or pair.broadcast_address == pool.broadcast_address:
                context.problem(
                    ("fabrics", layout.name, "addressing", "server_prefix" if addressing.server_prefix else "bits"),
                    f"{pair} of {segment.nic} contains the network or the broadcast address of {pool}, which "
                    "NICs treat as their subnet",
                    "use prefixes from the middle of the pool, for example `server_prefix: "
                    "10.50.0.{stripe*16+server*4+rail*2}/31`",
                )
                context.check()


def _check_apart(context: Context, pool: server_prefixes.ServerPool, all_segments: Iterable[Segment]) -> None:
    """Record a problem if two prefixes that the fabric file's formula forms from ``pool`` overlap.

    This happens if the formula omits a number that distinguishes segments, such as the rail. Then raise ``DesignError`` if there is
    any problem.
    """
    version = pool.network.version
    nets = sorted(
        (
            (network, segment)
            for segment in all_segments
            if not segment.network and not segment.edge
            for subnet in segment.subnets
            for network in [ipaddress.ip_network(subnet.prefix)]
            if network.version == version
        ),
        key=lambda item: (int(item[0].network_address), item[0].prefixlen),
    )
    for (network, owner), (other, another) in pairwise(nets):
        if int(network.broadcast_address) >= int(other.network_address):
            names = " and ".join(
                s.nic or f"{s.stripe} rail {s.rail}" + (f" of {s.tenant}" if s.tenant else "") for s in (owner, another)
            )
            context.problem(
                (*pool.at, "server_prefix"),
                f"server_prefix gives overlapping prefixes {network} and {other} to {names}",
                "use every number in the formula that differs between the prefixes: {stripe}, {rail}, "
                "{color}, {server} or {tenant}",
            )
            context.check()


def _check_local_prefixes(context: Context, layout: Layout, all_segments: Sequence[Segment]) -> None:
    """Record a problem if a server prefix is outside the local prefixes. A leaf originates only local prefixes.

    Then raise ``DesignError`` if there is any problem.
    """
    local = [ipaddress.ip_network(prefix) for prefix in layout.spec.addressing.local_prefixes]
    if layout.spec.evpn() is not None or not local:
        return  # tenants' prefixes go by EVPN, the underlay has loopbacks only
    for pool in server_prefixes.every_pool(layout):
        if any(server_prefixes.inside(pool.network, prefix) for prefix in local):
            continue
        for segment in all_segments:
            for subnet in segment.subnets:
                network = ipaddress.ip_network(subnet.prefix)
                if network.version == pool.network.version and not any(
                    server_prefixes.inside(network, prefix) for prefix in local
                ):
                    context.problem(
                        ("fabrics", layout.name, "addressing", "local_prefixes"),
                        f"local_prefixes do not contain {subnet.prefix}, so {segment.leaf} would not originate it",
                        f"add the server pool {pool.network}",
                    )
                    context.check()
