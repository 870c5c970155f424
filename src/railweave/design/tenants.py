"""Tenants: their numbers, and whose each NIC is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.design.network import Tenant

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.design.topology import Layout
    from railweave.spec.document import Location

MOST_VRF_NAME = 31
"""Letters of a VRF's name. Junos takes 128, Linux and FRR 15 for an interface: FRR's form is shortened where needed."""


def tenants(context: Context, layout: Layout) -> tuple[tuple[Tenant, ...], dict[str, Tenant]]:
    """The tenants of a fabric by slot, and the tenant of each NIC (``server:nic``) that has one.

    Notes problems where a member is not there or has two tenants, or VNIs run out or are given twice.
    """
    spec, name = layout.spec, layout.name
    overlay = spec.evpn()
    if overlay is None:
        return (), {}
    if layout.super_spines:
        what = "tenants need leaves and spines only: their overlay does not reach over super-spines"
        context.problem(("fabrics", name, "topology"), what, "use rail planes, or a fabric of two tiers")
        context.check()
    slots = context.lock.allot(f"{name}/tenants", spec.tenants)
    first, last = overlay.vni
    found: list[Tenant] = []
    owners: dict[int, str] = {}
    for tenant, slot in sorted(slots.items(), key=lambda item: item[1]):
        intent = spec.tenants[tenant]
        at: Location = ("fabrics", name, "tenants", tenant)
        vni = intent.vni or first + slot - 1
        if intent.vni is None and vni > last:
            context.problem(
                ("fabrics", name, "overlay", "vni"),
                f"pool too small: VNIs {first}-{last} do not hold tenant number {slot}",
                f"widen it to at least {first}-{vni}",
            )
        other = owners.setdefault(vni, tenant)
        if other != tenant:
            context.problem((*at, "vni"), f"duplicate VNI {vni}: {other} and {tenant}", "give each its own")
        if len(tenant) > MOST_VRF_NAME:
            context.problem(at, f"{tenant!r} is too long for a VRF", f"use at most {MOST_VRF_NAME} letters")
        found.append(Tenant(tenant, name, slot, vni, f"target:{overlay.route_target_as}:{vni}"))
    members = _members(context, layout, {one.name: one for one in found})
    context.check()
    return tuple(found), members


def _members(context: Context, layout: Layout, known: dict[str, Tenant]) -> dict[str, Tenant]:
    nics = {server.name: server.nics.names for server in layout.servers}
    result: dict[str, Tenant] = {}
    for name, intent in layout.spec.tenants.items():
        at: Location = ("fabrics", layout.name, "tenants", name, "members")
        for member in intent.members:
            server, colon, nic = member.partition(":")
            if server not in nics:
                context.problem(
                    at, f"there is no server {server!r} on fabric {layout.name!r}", "members are servers of the file"
                )
                continue
            if colon and nic not in nics[server]:
                context.problem(at, f"{server} has no NIC {nic!r}", f"its NICs are {', '.join(nics[server])}")
                continue
            for one in [nic] if colon else nics[server]:
                other = result.setdefault(f"{server}:{one}", known[name])
                if other.name != name:
                    context.problem(
                        at,
                        f"{server}:{one} belongs to tenants {other.name!r} and {name!r}",
                        "a NIC belongs to one tenant",
                    )
    return result
