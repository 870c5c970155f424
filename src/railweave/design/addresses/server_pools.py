"""Server pools: what prefixes are cut from, for the fabric and for tenants with pools of their own, in both address families."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.addressing import Addressing
    from railweave.model.intent.reading.document import Location

LENGTHS = {4: 24, 6: 64}
"""Lengths of server prefixes of a tenant's own pool, where the fabric has no pool of that family; on routed links 31 for IPv4."""


class ServerPool(NamedTuple):
    """A pool, as the addressing it is cut by, and where the file says so. ``tenant`` is empty where it is the fabric's."""

    addressing: Addressing
    at: Location
    tenant: str = ""

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """The pool itself."""
        return ipaddress.ip_network(self.addressing.server_pool)

    @property
    def slaac(self) -> bool:
        """Whether NICs form its addresses themselves: IPv4 addresses are numbered whatever the mode."""
        return self.addressing.server_mode == "slaac" and self.network.version == 6


def fabric_pools(layout: Layout) -> tuple[ServerPool, ...]:
    """The pools of a fabric: one, or with dual stack one of each family, that of ``server_pool`` first."""
    addressing, at = layout.spec.addressing, ("fabrics", layout.name, "addressing")
    second = addressing.of_second()
    first = ServerPool(addressing, at)
    return (first,) if second is None else (first, ServerPool(second, (*at, "dual_stack")))


def other_pools(layout: Layout) -> dict[str, tuple[ServerPool, ...]]:
    """The pools of servers that are on their leaves in another way, by the name of that."""
    base, found = layout.spec.addressing, dict[str, tuple[ServerPool, ...]]()
    for name, one in base.other_links.items():
        at: Location = ("fabrics", layout.name, "addressing", "other_links", name)
        first = one.beside(base)
        second = first.of_second()
        found[name] = (ServerPool(first, at), *(() if second is None else (ServerPool(second, (*at, "dual_stack")),)))
    return found


def every_pool(layout: Layout) -> tuple[ServerPool, ...]:
    """The pools of a fabric, and those of its other links."""
    return (*fabric_pools(layout), *(one for pools in other_pools(layout).values() for one in pools))


def tenant_pools(layout: Layout, tenant: str) -> tuple[ServerPool, ...]:
    """The pools of a tenant: its own where it has some, else the fabric's."""
    intent = layout.spec.tenants.get(tenant)
    if intent is None or not intent.server_pools:
        return fabric_pools(layout)
    at: Location = ("fabrics", layout.name, "tenants", tenant, "server_pools")
    like = {one.network.version: one.addressing for one in fabric_pools(layout)}
    base = layout.spec.addressing
    found: list[ServerPool] = []
    for place, pool in enumerate(intent.server_pools):
        version = ipaddress.ip_network(pool).version
        usual = 31 if base.own_links and version == 4 else LENGTHS[version]
        alike = like.get(version)
        own = {
            "server_pool": pool,
            "prefix_length": alike.length() if alike else usual,
            "gateway_host": alike.gateway_host if alike else 1,
            "bits": None,
            "server_prefix": None,
            "dual_stack": None,
        }
        found.append(ServerPool(base.model_copy(update=own), (*at, place), tenant))
    return tuple(found)


def check_slaac(context: Context, layout: Layout) -> None:
    """Note a problem where NICs should form addresses and no pool gives them IPv6 prefixes of /64."""
    pools = fabric_pools(layout)
    if pools[0].addressing.server_mode != "slaac":
        return
    wrong = [one for one in pools if one.slaac and one.addressing.length() != 64]
    if not any(one.slaac for one in pools):
        wrong = [pools[0]]
    wrong += [one for one in _own(layout) if one.slaac and one.addressing.length() != 64]
    for one in wrong:
        context.problem(
            one.at,
            f"SLAAC needs IPv6 prefixes of /64, not {one.network} cut in /{one.addressing.length()}",
            "use an IPv6 pool and prefix_length 64, or server_mode: static",
        )
    context.check()


def check_own_pools(context: Context, layout: Layout) -> None:
    """Note pools of tenants that overlap the fabric's or each other: prefixes cut later could be the same."""
    known = [(one, "the fabric's server pool") for one in fabric_pools(layout)]
    for pool in _own(layout):
        for other, whose in known:
            if pool.network.version == other.network.version and pool.network.overlaps(other.network):
                what = f"{pool.network} of tenant {pool.tenant!r} overlaps {whose} {other.network}"
                context.problem(pool.at, what, "choose one apart from it")
        known.append((pool, f"that of tenant {pool.tenant!r},"))
    context.check()


def _own(layout: Layout) -> Iterator[ServerPool]:
    """The pools that tenants have of their own."""
    for tenant in layout.spec.tenants:
        yield from (one for one in tenant_pools(layout, tenant) if one.tenant)
