"""Server prefixes: what is cut for every server-facing segment, and its VLAN."""

from __future__ import annotations

import ipaddress
from itertools import pairwise
from typing import TYPE_CHECKING

from railweave.config.addresses import Address
from railweave.intent.formula import fields_of, fill
from railweave.network.devices import Segment, Subnet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.placing import PlacedServer
    from railweave.design.shape.topology import Layout, Leaf
    from railweave.design.tenancy.tenants import Owner
    from railweave.intent.addressing import Addressing, FieldBits
    from railweave.network.fabric import Color
    from railweave.network.overlay import Tenant, VirtualNetwork

    Prefix = ipaddress.IPv4Network | ipaddress.IPv6Network
    Place = tuple[Leaf, int, int, int, int | None]
    """What numbers a prefix: leaf, tenant slot (0: none), rail, server slot (0 on a shared VLAN), color index."""


def segments(
    context: Context, layout: Layout, colors: Sequence[Color], owners: Mapping[str, Owner]
) -> tuple[Segment, ...]:
    """The segments of every leaf, with VLAN and prefixes: one a rail of a stripe, or one a NIC on routed links.

    ``owners`` gives the tenant of a NIC (``server:nic``): each tenant's NICs have segments of their own, those on a
    layer-2 network one a leaf, and NICs without a tenant, where there is an overlay, one without subnets. Notes problems
    where a pool is too small.
    """
    addressing = layout.spec.addressing
    cut = _formula(context, layout, addressing) if addressing.server_prefix else _bits(context, layout, colors)
    _check_slaac(context, layout)
    indexes = [one.index for one in colors] or [None]
    overlay = layout.spec.evpn() is not None
    found: list[Segment] = []
    for leaf in layout.leaves:
        here = [server for server in layout.servers if server.stripe == leaf.stripe]
        for rail in leaf.rails:
            slots = {f"{server.name}:{server.nics.names[rail - 1]}": server.slot for server in here}
            place = (layout.name, leaf.stripe, rail, leaf.name)
            if overlay:
                found += [Segment(*place, None, "", (), nic) for nic in slots if nic not in owners]
                slots = {nic: slot for nic, slot in slots.items() if nic in owners and owners[nic].network is None}
            if addressing.own_links:
                for nic, slot in slots.items():
                    owner = owners[nic].tenant if overlay else None
                    numbers = (leaf, owner.slot if owner else 0, rail, slot)
                    subnets = tuple(cut((*numbers, index)) for index in indexes)
                    found.append(Segment(*place, None, "", subnets, nic, owner.name if owner else ""))
                continue
            sharing = dict.fromkeys(owners[nic].tenant for nic in slots) if overlay else {None: None}
            for owner in sorted(sharing, key=lambda one: one.slot if one else 0):
                vlan = _vlan(context, layout, leaf, rail, owner)
                name = layout.spec.naming.vlan.format(fabric=layout.name, stripe=leaf.stripe, rail=rail, vlan=vlan)
                subnets = tuple(cut((leaf, owner.slot if owner else 0, rail, 0, index)) for index in indexes)
                found.append(Segment(*place, vlan, name, subnets, "", owner.name if owner else ""))
        found += _shared(layout.name, leaf, here, owners)
    _check_gateway(context, layout, found)
    _check_pairs(context, layout, found)
    if addressing.server_prefix:
        _check_apart(context, layout, found)
    _check_local_prefixes(context, layout, found)
    return tuple(found)


def _shared(fabric: str, leaf: Leaf, here: Sequence[PlacedServer], owners: Mapping[str, Owner]) -> list[Segment]:
    """A leaf's parts of layer-2 networks that it has members of."""
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
    """The VLAN of a rail: its own in every stripe; with tenants, which routes join and VLANs do not, in every tenant."""
    first, last = layout.spec.pools.vlan
    group = leaf.stripe_slot if owner is None else owner.slot
    vlan = first + (group - 1) * layout.rails + rail - 1
    if vlan > last and owner is not None:
        context.problem(
            ("fabrics", layout.name, "pools", "vlan"),
            f"pool too small: VLANs {first}-{last} do not hold the {layout.rails} rails of tenant {owner.name}",
            f"widen it to at least {first}-{first + owner.slot * layout.rails - 1}",
        )
        context.check()
    if vlan > last:
        context.problem(
            ("fabrics", layout.name, "pools", "vlan"),
            f"pool too small: VLANs {first}-{last} do not hold the {layout.rails} rails of {leaf.stripe}",
            f"widen it to at least {first}-{first + _stripes(layout) * layout.rails - 1}",
        )
        context.check()
    return vlan


def _subnet(addressing: Addressing, prefix: str, color: int | None) -> Subnet:
    address, _, length = prefix.partition("/")
    if addressing.gateway_host and Address(address).family == "ipv6" and length == "64":
        return Subnet(prefix, f"{address}{addressing.gateway_host:x}", color)  # most are so, and ipaddress is slow
    return Subnet(prefix, str(ipaddress.ip_network(prefix).network_address + addressing.gateway_host), color)


def is_host(network: Prefix, host: int) -> bool:
    """Whether the ``host``-th address of a prefix can be an interface's.

    Both addresses of a /31 or /127 can (RFC 3021, RFC 6164); of other prefixes not the first (the network's, or the
    subnet-router anycast address, RFC 4291 section 2.6.1), nor the last of IPv4 (broadcast).
    """
    if network.num_addresses <= 2:
        return 0 <= host < network.num_addresses
    return 0 < host < network.num_addresses - (network.version == 4)


def _check_gateway(context: Context, layout: Layout, found: Sequence[Segment]) -> None:
    addressing = layout.spec.addressing
    prefix = next((subnet.prefix for one in found if not one.network for subnet in one.subnets), None)
    if prefix is not None and not is_host(ipaddress.ip_network(prefix), addressing.gateway_host):
        context.problem(
            ("fabrics", layout.name, "addressing", "gateway_host"),
            f"gateway_host {addressing.gateway_host} is no host of {prefix}: the leaf would have the network's own address, "
            "the broadcast address, or one outside",
            "use 0 or 1 in a /31 or /127, else 1 to the last but one",
        )
        context.check()


def _check_pairs(context: Context, layout: Layout, found: Sequence[Segment]) -> None:
    """With proxy ARP the pool is one subnet to NICs, so its own and its broadcast address are nobody's."""
    addressing = layout.spec.addressing
    if addressing.server_link != "proxy-arp":
        return
    pool = ipaddress.ip_network(addressing.server_pool)
    for segment in found:
        for subnet in segment.subnets:
            pair = ipaddress.ip_network(subnet.prefix)
            if pair.network_address == pool.network_address or pair.broadcast_address == pool.broadcast_address:
                context.problem(
                    ("fabrics", layout.name, "addressing", "server_prefix" if addressing.server_prefix else "bits"),
                    f"{pair} of {segment.nic} holds the own or the broadcast address of {pool}, which NICs take for their subnet",
                    "deal the prefixes from the middle, for example `server_prefix: 10.50.0.{stripe*16+server*4+rail*2}/31`",
                )
                context.check()


def _formula(context: Context, layout: Layout, addressing: Addressing) -> Callable[[Place], Subnet]:
    """Prefixes by the user's formula."""
    formula = addressing.server_prefix or ""
    at = ("fabrics", layout.name, "addressing", "server_prefix")
    if "server" in fields_of(formula) and not addressing.own_links:
        context.problem(at, "{server} numbers prefixes that servers share", "leave it out, or use server_link: routed")
    pool = ipaddress.ip_network(addressing.server_pool)
    context.check()

    def cut(place: Place) -> Subnet:
        leaf, tenant, rail, server, color = place
        values = {
            "stripe": leaf.stripe_slot,
            "rail": rail,
            "server": server,
            "color": color or 1,
            "tenant": tenant,
        }
        try:
            prefix = fill(formula, values)
        except ValueError as error:
            numbers = ", ".join(f"{name} {value}" for name, value in values.items() if name in fields_of(formula))
            context.problem(
                at, f"server_prefix {formula} gives no prefix for {numbers} ({error})", "use smaller factors"
            )
            context.check()
            raise
        if not _inside(ipaddress.ip_network(prefix), pool):
            context.problem(
                (*at[:-1], "server_pool"),
                f"server_prefix gives {prefix}, which is not in server_pool {pool}",
                "write the pool that holds every server prefix",
            )
            context.check()
        return _subnet(addressing, prefix, color)

    return cut


def _check_apart(context: Context, layout: Layout, found: Iterable[Segment]) -> None:
    """Prefixes of a formula may overlap, where it leaves out a number that tells segments apart."""
    nets = sorted(
        ((ipaddress.ip_network(subnet.prefix), one) for one in found if not one.network for subnet in one.subnets),
        key=lambda item: (int(item[0].network_address), item[0].prefixlen),
    )
    for (one, owner), (other, another) in pairwise(nets):
        if int(one.broadcast_address) >= int(other.network_address):
            names = " and ".join(
                s.nic or f"{s.stripe} rail {s.rail}" + (f" of {s.tenant}" if s.tenant else "") for s in (owner, another)
            )
            context.problem(
                ("fabrics", layout.name, "addressing", "server_prefix"),
                f"server_prefix gives overlapping prefixes {one} and {other} to {names}",
                "let it use every number that tells them apart: {stripe}, {rail}, {color}, {server}, {tenant}",
            )
            context.check()


def _bits(context: Context, layout: Layout, colors: Sequence[Color]) -> Callable[[Place], Subnet]:
    """Prefixes by numbers in bit fields after the pool."""
    addressing = layout.spec.addressing
    pool = ipaddress.ip_network(addressing.server_pool)
    length = addressing.prefix_length
    free = length - pool.prefixlen
    if length > pool.max_prefixlen or free <= 0:
        context.problem(
            ("fabrics", layout.name, "addressing", "server_pool"),
            f"pool too small: {pool} holds no /{length}",
            f"use a pool shorter than /{length}",
        )
        context.check()
    routed = addressing.own_links
    bits = addressing.bits or usual_bits(free, routed=routed, tenants=layout.spec.evpn() is not None)
    _check_bits(context, layout, bits, free, max((c.index for c in colors), default=1))
    context.check()
    address = ipaddress.IPv6Address if pool.version == 6 else ipaddress.IPv4Address

    def cut(place: Place) -> Subnet:
        leaf, tenant, rail, server, color = place
        field = tenant if bits.tenant else 0
        field = field << bits.stripe | (leaf.stripe_slot if bits.stripe else 0)
        field = field << bits.server | (server if bits.server else 0)
        field = field << bits.rail | (rail if bits.rail else 0)
        field = field << bits.color | ((color or 1) if bits.color else 0)
        base = int(pool.network_address) | field << (pool.max_prefixlen - length)
        return _subnet(addressing, f"{address(base)}/{length}", color)

    return cut


def usual_bits(free: int, *, routed: bool, tenants: bool) -> FieldBits:
    """How the bits between a pool and its prefixes are dealt where the fabric file does not say."""
    return _routed_bits(free) if routed else _tenant_bits(free) if tenants else _default_bits(free)


def _default_bits(free: int) -> FieldBits:
    from railweave.intent.addressing import FieldBits

    if free >= 48:
        return FieldBits(stripe=free - 32, rail=16, color=16)
    if free >= 24:
        return FieldBits(stripe=free - 16, rail=8, color=8)
    color = 4 if free >= 12 else 0
    return FieldBits(stripe=max(0, (free - color) // 2), rail=max(0, free - color - (free - color) // 2), color=color)


def _tenant_bits(free: int) -> FieldBits:
    """Bits where tenants share the pool."""
    from railweave.intent.addressing import FieldBits

    if free >= 40:
        return FieldBits(tenant=free - 32, stripe=16, rail=8, color=8)
    rail = min(4, free)
    tenant = (free - rail) // 2
    return FieldBits(tenant=tenant, stripe=free - rail - tenant, rail=rail, color=0)


def _routed_bits(free: int) -> FieldBits:
    """Bits where every NIC has a prefix of its own."""
    from railweave.intent.addressing import FieldBits

    color = 8 if free >= 40 else 4 if free >= 20 else 0
    rail = min(4, free - color)
    server = min(16 if free >= 40 else 8, free - color - rail)
    return FieldBits(stripe=free - color - rail - server, server=server, rail=rail, color=color)


def _check_bits(context: Context, layout: Layout, bits: FieldBits, free: int, colors: int) -> None:
    at = ("fabrics", layout.name, "addressing")
    addressing = layout.spec.addressing
    pool = addressing.server_pool
    routed = addressing.own_links
    if bits.stripe + bits.rail + bits.color + bits.server + bits.tenant != free:
        shown = f"{bits.stripe} + {bits.rail} + {bits.color}"
        shown += "".join(f" + {width}" for width in (bits.server, bits.tenant) if width)
        context.problem(
            (*at, "bits"),
            f"bits {shown} do not fill the {free} between {pool} and /{addressing.prefix_length}",
            "make them add up",
        )
        return
    slots = max((server.slot for server in layout.servers), default=1)
    needs = [
        ("stripes", _stripes(layout), bits.stripe),
        ("rails", layout.rails, bits.rail),
        ("path colors", colors, bits.color),
        *([("servers of a stripe", slots, bits.server)] if routed else []),
        *([("tenants", _tenants(context, layout), bits.tenant)] if not routed and layout.spec.tenants else []),
    ]
    for label, most, width in needs:
        if most >= 1 << width and not (width == 0 and most <= 1):
            context.problem(
                (*at, "server_pool"),
                f"pool too small: {pool} leaves {width} bits for {label}, and the highest is number {most}",
                "use a shorter pool, or deal the bits with `bits:`",
            )


def _check_slaac(context: Context, layout: Layout) -> None:
    addressing = layout.spec.addressing
    pool = ipaddress.ip_network(addressing.server_pool)
    if addressing.server_mode == "slaac" and (pool.version, addressing.length()) != (6, 64):
        context.problem(
            ("fabrics", layout.name, "addressing"),
            f"SLAAC needs IPv6 prefixes of /64, not {pool} cut in /{addressing.length()}",
            "use an IPv6 pool and prefix_length 64, or server_mode: static",
        )
        context.check()


def _tenants(context: Context, layout: Layout) -> int:
    """The highest number of a tenant."""
    return max(context.lock.allot(f"{layout.name}/tenants", layout.spec.tenants).values())


def _check_local_prefixes(context: Context, layout: Layout, found: Sequence[Segment]) -> None:
    """A leaf originates what is in its local prefixes only, so they must hold the prefixes of its servers."""
    local = [ipaddress.ip_network(prefix) for prefix in layout.spec.addressing.local_prefixes]
    pool = layout.spec.addressing.server_pool
    if layout.spec.evpn() is not None:
        return  # tenants' prefixes go by EVPN, the underlay has loopbacks only
    if not local or any(_inside(ipaddress.ip_network(pool), prefix) for prefix in local):
        return
    for segment in found:
        for subnet in segment.subnets:
            if not any(_inside(ipaddress.ip_network(subnet.prefix), prefix) for prefix in local):
                context.problem(
                    ("fabrics", layout.name, "addressing", "local_prefixes"),
                    f"local_prefixes do not contain {subnet.prefix}, so {segment.leaf} would not originate it",
                    f"add the server pool {pool}",
                )
                context.check()


def _inside(inner: Prefix, outer: Prefix) -> bool:
    return inner.version == outer.version and inner.prefixlen >= outer.prefixlen and inner.network_address in outer


def _stripes(layout: Layout) -> int:
    """The highest number of a stripe."""
    return max(leaf.stripe_slot for leaf in layout.leaves)
