"""A tenant's VRF on each leaf: its route distinguisher and its loopbacks, where the file has formulas for them."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.intent.formula import distinguisher_of, filled
from railweave.model.network.overlay import TenantLeaf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.devices import Segment, Switch
    from railweave.model.network.overlay import Tenant

FIRST_BRIDGED = 60_000
"""Second halves of route distinguishers from here on are those of bridged VLANs and their instance, beside a router id."""


def with_leaves(
    context: Context, layout: Layout, tenants: Sequence[Tenant], segments: Sequence[Segment], switches: Sequence[Switch]
) -> tuple[Tenant, ...]:
    """The tenants with what is theirs on each leaf that has their VRF. Notes problems where two VRFs would have the same."""
    overlay, spec = layout.spec.evpn(), layout.spec
    if overlay is None:
        return tuple(tenants)
    owners: dict[str, str] = {}
    alike: dict[str, str] = {}
    result: list[Tenant] = []
    numbers = {leaf.name: leaf.number for leaf in layout.leaves}
    for tenant in tenants:
        intent = spec.tenants[tenant.name]
        own_rd, own_loopbacks = intent.route_distinguisher, intent.loopbacks
        formula = own_rd or overlay.route_distinguisher
        loopbacks = overlay.tenant_loopbacks if own_loopbacks is None else own_loopbacks
        there = {one.leaf for one in segments if one.tenant == tenant.name}
        there |= {link.leaf for router in tenant.external for link in router.links}
        at: Location = ("fabrics", layout.name, "tenants", tenant.name)
        above: Location = ("fabrics", layout.name, "overlay")
        made: list[TenantLeaf] = []
        for switch in switches:
            if switch.name not in there:
                continue
            values = {"leaf": numbers[switch.name], "tenant": tenant.slot}
            more = {**values, "vni": tenant.vni, "router_id": switch.router_id, "asn": switch.asn}
            where = (*(at if own_rd else above), "route_distinguisher")
            rd = f"{switch.router_id}:{tenant.slot}"
            try:
                rd = distinguisher_of(formula, more) if formula else rd
            except ValueError as error:
                what = f"route_distinguisher {formula} gives none for {tenant.name} on {switch.name} ({error})"
                context.problem(where, what, "use smaller numbers")
                context.check()
            name = f"{tenant.name} on {switch.name}"
            other = owners.setdefault(rd, name)
            if formula and other != name:
                what = f"duplicate route distinguisher {rd}: {other} and {name}"
                fix = (
                    "let it use every number that tells VRFs apart: {tenant} or {vni}, and {router_id}, {asn} or {leaf}"
                )
                context.problem(where, what, fix)
                context.check()
            router, _, number = rd.rpartition(":")
            if formula and router == switch.router_id and int(number) >= FIRST_BRIDGED:
                what = f"route distinguisher {rd} is one of those from {FIRST_BRIDGED} on, which bridged VLANs have"
                context.problem(where, what, "use smaller numbers")
                context.check()
            where = (*at, "loopbacks") if own_loopbacks is not None else (*above, "tenant_loopbacks")
            addresses = tuple(_address(context, where, one, values, name) for one in loopbacks)
            for one in addresses:
                other = alike.setdefault(one, name)
                if other != name:
                    what = f"one loopback for two VRFs, {one}: {other} and {name}"
                    context.problem(where, what, "let the formula use {tenant} and {leaf}")
                    context.check()
            made.append(TenantLeaf(switch.name, rd if formula else "", addresses))
        result.append(replace(tenant, on_leaves=tuple(made) if formula or loopbacks else ()))
    context.check()
    return tuple(result)


def _address(context: Context, at: Location, formula: str, values: dict[str, int], name: str) -> str:
    try:
        return str(ipaddress.ip_network(filled(formula, values, "x" if ":" in formula else "d")).network_address)
    except ValueError as error:
        context.problem(at, f"the formula {formula} gives no loopback to {name} ({error})", "use other factors")
        context.check()
        raise
