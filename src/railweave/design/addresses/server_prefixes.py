"""Server pools, and the server prefixes that are formed from them with bit fields or with the fabric file's formula."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, NamedTuple

from railweave.model.config.addresses import Address
from railweave.model.intent.formula import fields_of, fill
from railweave.model.network.devices import Color, Subnet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout, Leaf
    from railweave.model.intent.addressing import Addressing, FieldBits
    from railweave.model.intent.reading.document import Location


LENGTHS = {4: 24, 6: 64}
"""The length of server prefixes, by IP version, in a tenant's pool of an address family for which the fabric has no pool.

Routed IPv4 links use /31.
"""


class ServerPool(NamedTuple):
    """A pool from which server prefixes are formed.

    - ``addressing``: the section of the fabric file that specifies how prefixes are formed from the pool.
    - ``at``: the key path of the pool in the file.
    - ``tenant``: the tenant that owns the pool; empty for the fabric's pools.
    """

    addressing: Addressing
    at: Location
    tenant: str = ""

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """The prefix of the pool."""
        return ipaddress.ip_network(self.addressing.server_pool)

    @property
    def slaac(self) -> bool:
        """True if NICs form their own addresses from the prefix (SLAAC). It is always False for IPv4."""
        return self.addressing.server_mode == "slaac" and self.network.version == 6


def fabric_pools(layout: Layout) -> tuple[ServerPool, ...]:
    """Return the pools of a fabric, ``server_pool`` first. With dual stack there is one for each address family."""
    addressing, at = layout.spec.addressing, ("fabrics", layout.name, "addressing")
    second = addressing.of_second()
    first = ServerPool(addressing, at)
    return (first,) if second is None else (first, ServerPool(second, (*at, "dual_stack")))


def other_pools(layout: Layout) -> dict[str, tuple[ServerPool, ...]]:
    """Return the pools for servers with a link type other than ``server_link``, by the key that lists the servers in ``other_links``."""
    base, pools = layout.spec.addressing, dict[str, tuple[ServerPool, ...]]()
    for name, other_link in base.other_links.items():
        at: Location = ("fabrics", layout.name, "addressing", "other_links", name)
        first = other_link.beside(base)
        second = first.of_second()
        pools[name] = (ServerPool(first, at), *(() if second is None else (ServerPool(second, (*at, "dual_stack")),)))
    return pools


def every_pool(layout: Layout) -> tuple[ServerPool, ...]:
    """Return the pools of a fabric, followed by the pools under ``other_links``.

    ``other_links`` is for servers with a link type other than ``server_link``.
    """
    return (*fabric_pools(layout), *(pool for pools in other_pools(layout).values() for pool in pools))


def tenant_pools(layout: Layout, tenant: str) -> tuple[ServerPool, ...]:
    """Return the pools of a tenant: its own pools if it has any, or else the fabric's pools."""
    intent = layout.spec.tenants.get(tenant)
    if intent is None or not intent.server_pools:
        return fabric_pools(layout)
    at: Location = ("fabrics", layout.name, "tenants", tenant, "server_pools")
    like = {fabric_pool.network.version: fabric_pool.addressing for fabric_pool in fabric_pools(layout)}
    base = layout.spec.addressing
    pools: list[ServerPool] = []
    for place, pool in enumerate(intent.server_pools):
        version = ipaddress.ip_network(pool).version
        usual = 31 if base.own_links and version == 4 else LENGTHS[version]
        alike = like.get(version)
        changes = {
            "server_pool": pool,
            "prefix_length": alike.length() if alike else usual,
            "gateway_host": alike.gateway_host if alike else 1,
            "bits": None,
            "server_prefix": None,
            "dual_stack": None,
        }
        pools.append(ServerPool(base.model_copy(update=changes), (*at, place), tenant))
    return tuple(pools)


def check_slaac(context: Context, layout: Layout) -> None:
    """Record a problem if SLAAC is requested but the pools have no IPv6 prefixes of length 64.

    Then raise ``DesignError`` if there is any problem.
    """
    pools = fabric_pools(layout)
    if pools[0].addressing.server_mode != "slaac":
        return
    wrong = [pool for pool in pools if pool.slaac and pool.addressing.length() != 64]
    if not any(pool.slaac for pool in pools):
        wrong = [pools[0]]
    wrong += [pool for pool in _own(layout) if pool.slaac and pool.addressing.length() != 64]
    for pool in wrong:
        context.problem(
            pool.at,
            f"SLAAC needs IPv6 prefixes of length 64, but {pool.network} is divided into /{pool.addressing.length()}",
            "use an IPv6 pool and prefix_length 64, or server_mode: static",
        )
    context.check()


def check_own_pools(context: Context, layout: Layout) -> None:
    """Record a problem for each tenant pool that overlaps the fabric's pools or another tenant's pools.

    Prefixes from overlapping pools could be equal. Then raise ``DesignError`` if there is any problem.
    """
    known = [(fabric_pool, "the fabric's server pool") for fabric_pool in fabric_pools(layout)]
    for pool in _own(layout):
        for other, whose in known:
            if pool.network.version == other.network.version and pool.network.overlaps(other.network):
                message = f"{pool.network} of tenant {pool.tenant!r} overlaps {whose} {other.network}"
                context.problem(pool.at, message, "choose a pool that does not overlap with it")
        known.append((pool, f"that of tenant {pool.tenant!r},"))
    context.check()


def _own(layout: Layout) -> Iterator[ServerPool]:
    """Yield the tenants' own pools. Tenants that use the fabric's pools are left out."""
    for tenant in layout.spec.tenants:
        yield from (tenant_pool for tenant_pool in tenant_pools(layout, tenant) if tenant_pool.tenant)


if TYPE_CHECKING:
    Prefix = ipaddress.IPv4Network | ipaddress.IPv6Network
    Place = tuple[Leaf, int, int, int, int | None]
    """The numbers that determine a prefix: the leaf, the tenant's slot (0: no tenant), the rail, the server's slot (0 on a shared VLAN), and the color index."""


MOST_BITS = 32
"""The maximum width in bits of each field of a prefix that is formed with bit fields, such as the stripe or the rail."""


def cutter(context: Context, layout: Layout, colors: Sequence[Color], pool: ServerPool) -> Callable[[Place], Subnet]:
    """Return a function that returns the prefix, from a pool, for given numbers of the stripe, rail, color and so on.

    Raises ``DesignError`` if the pool is too small.
    """
    if pool.addressing.server_prefix:
        return _formula(context, pool)
    return _bits(context, layout, colors, pool)


def _subnet(addressing: Addressing, prefix: str, color: int | None) -> Subnet:
    address, _, length = prefix.partition("/")
    if addressing.gateway_host and Address(address).family == "ipv6" and length == "64":
        return Subnet(prefix, f"{address}{addressing.gateway_host:x}", color)  # most are so, and ipaddress is slow
    return Subnet(prefix, str(ipaddress.ip_network(prefix).network_address + addressing.gateway_host), color)


def is_host(network: Prefix, host: int) -> bool:
    """Return True if an interface can have address ``host`` of a prefix (from 0).

    An interface can have either address of a /31 or /127 (RFC 3021, RFC 6164). In other prefixes, the first address is
    the network address or the subnet-router anycast address (RFC 4291, section 2.6.1). In IPv4, the last address is the
    broadcast address.
    """
    if network.num_addresses <= 2:
        return 0 <= host < network.num_addresses
    return 0 < host < network.num_addresses - (network.version == 4)


def _formula(context: Context, pool: ServerPool) -> Callable[[Place], Subnet]:
    """Return a function that computes a prefix, from the numbers of the stripe, rail and so on, by the pool's formula in the fabric file.

    The function raises ``DesignError`` if the formula gives no prefix, or a prefix outside the pool.
    """
    addressing, at = pool.addressing, pool.at
    formula = addressing.server_prefix or ""
    where, whole = (*at, "server_prefix"), pool.network
    if "server" in fields_of(formula) and not addressing.own_links:
        context.problem(
            where, "the formula uses {server}, but servers share the prefixes", "remove it, or set server_link: routed"
        )
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
                where, f"server_prefix {formula} gives no prefix for {numbers} ({error})", "use smaller factors"
            )
            context.check()
            raise
        if not inside(ipaddress.ip_network(prefix), whole):
            context.problem(
                (*at, "server_pool"),
                f"server_prefix gives {prefix}, which is not inside server_pool {whole}",
                "write a pool that contains every server prefix",
            )
            context.check()
        return _subnet(addressing, prefix, color)

    return cut


def _bits(context: Context, layout: Layout, colors: Sequence[Color], of: ServerPool) -> Callable[[Place], Subnet]:
    """Return a function that computes a prefix: the pool's prefix, followed by bit fields with the stripe, rail and other numbers.

    ``of`` is the pool. Raises ``DesignError`` if the pool is too small.
    """
    addressing, pool = of.addressing, of.network
    length = addressing.prefix_length
    free = length - pool.prefixlen
    if length > pool.max_prefixlen or free < 0 or (free == 0 and not of.tenant):
        fix = f"use a pool whose length is less than {length}"
        if length > pool.max_prefixlen:
            fix = (
                "for an IPv4 pool, set server_mode: static and a shorter prefix_length, such as 24; or use an IPv6 pool"
            )
        context.problem((*of.at, "server_pool"), f"pool too small: {pool} contains no /{length}", fix)
        context.check()
    tenants = layout.spec.evpn() is not None and not of.tenant
    bits = addressing.bits or usual_bits(free, routed=addressing.own_links, tenants=tenants)
    _check_bits(context, layout, bits, free, max((c.index for c in colors), default=1), of)
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
    """Return the default widths of the bit fields of server prefixes.

    The fields share the ``free`` bits between the end of the pool's prefix and the end of a server prefix. ``routed`` is True if
    every NIC has its own prefix, and ``tenants`` is True if tenants share the pool.
    """
    return _routed_bits(free) if routed else _tenant_bits(free) if tenants else _default_bits(free)


def _default_bits(free: int) -> FieldBits:
    if free >= 48:
        more = max(0, free - 32 - MOST_BITS)  # a field has 32 bits at most
        return _capped(stripe=free - 32 - more, rail=16 + more, color=16)
    if free >= 24:
        return _capped(stripe=free - 16, rail=8, color=8)
    color = 4 if free >= 12 else 0
    return _capped(stripe=max(0, (free - color) // 2), rail=max(0, free - color - (free - color) // 2), color=color)


def _tenant_bits(free: int) -> FieldBits:
    """Return the default bit fields for a pool that tenants share. Together they are ``free`` bits wide."""
    if free >= 40:
        more = max(0, free - 32 - MOST_BITS)
        return _capped(tenant=free - 32 - more, stripe=16 + more, rail=8, color=8)
    rail = min(4, free)
    tenant = (free - rail) // 2
    return _capped(tenant=tenant, stripe=free - rail - tenant, rail=rail, color=0)


def _routed_bits(free: int) -> FieldBits:
    """Return the default bit fields if every NIC has its own prefix (routed links). Together they are ``free`` bits wide."""
    color = 8 if free >= 40 else 4 if free >= 20 else 0
    rail = min(4, free - color)
    server = min(16 if free >= 40 else 8, free - color - rail)
    server += max(0, free - color - rail - server - MOST_BITS)
    return _capped(stripe=free - color - rail - server, server=server, rail=rail, color=color)


def _capped(*, stripe: int, rail: int, color: int, server: int = 0, tenant: int = 0) -> FieldBits:
    """Return the bit fields with the given widths in bits, but at most 32 bits each.

    Excess bits, which occur in short IPv6 pools, are given to the other fields.
    """
    from railweave.model.intent.addressing import FieldBits

    bits = {"rail": rail, "color": color, "server": server, "stripe": stripe, "tenant": tenant}
    more = sum(max(0, width - MOST_BITS) for width in bits.values())
    for name, width in bits.items():
        taken = min(MOST_BITS - min(width, MOST_BITS), more)
        bits[name] = min(width, MOST_BITS) + taken
        more -= taken
    return FieldBits(**bits)


def _check_bits(context: Context, layout: Layout, bits: FieldBits, free: int, colors: int, of: ServerPool) -> None:
    addressing = of.addressing
    pool = addressing.server_pool
    routed = addressing.own_links
    if bits.stripe + bits.rail + bits.color + bits.server + bits.tenant != free:
        shown = f"{bits.stripe} + {bits.rail} + {bits.color}"
        shown += "".join(f" + {width}" for width in (bits.server, bits.tenant) if width)
        context.problem(
            (*of.at, "bits"),
            f"bits {shown} do not add up to the {free} bits between {pool} and /{addressing.prefix_length}",
            "change the bits or prefix_length so that they add up",
        )
        return
    slots = max((server.slot for server in layout.servers), default=1)
    by_tenant = not routed and layout.spec.tenants and not of.tenant
    needs = [
        ("stripes", stripes(layout), bits.stripe),
        ("rails", layout.rails, bits.rail),
        ("path colors", colors, bits.color),
        *([("servers of a stripe", slots, bits.server)] if routed else []),
        *([("tenants", _tenants(context, layout), bits.tenant)] if by_tenant else []),
    ]
    for label, most, width in needs:
        if most >= 1 << width and not (width == 0 and most <= 1):
            context.problem(
                (*of.at, "server_pool"),
                f"pool too small: {pool} leaves {width} bits for {label}, but the highest number is {most}",
                "use a larger pool, or divide the bits with `bits:`",
            )


def _tenants(context: Context, layout: Layout) -> int:
    """Return the highest tenant number in the lock for the tenants of a fabric."""
    return max(context.lock.allot(f"{layout.name}/tenants", layout.spec.tenants).values())


def inside(inner: Prefix, outer: Prefix) -> bool:
    """Return True if the prefix ``inner`` is inside ``outer`` or equal to it."""
    return inner.version == outer.version and inner.prefixlen >= outer.prefixlen and inner.network_address in outer


def stripes(layout: Layout) -> int:
    """Return the highest stripe number of a fabric, which may exceed the number of stripes."""
    return max(leaf.stripe_slot for leaf in layout.leaves)
