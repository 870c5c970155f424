"""Tenants: their numbers, and whose each NIC is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from railweave.design.tenancy.virtual_networks import virtual_networks
from railweave.model.intent.formula import filled, target_of
from railweave.model.network.overlay import Tenant

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.overlay import VirtualNetwork


class Owner(NamedTuple):
    """Whose a NIC is: its tenant, and where it is on a layer-2 network that network and its number there, from 1."""

    tenant: Tenant
    network: VirtualNetwork | None = None
    number: int = 0


def tenants(context: Context, layout: Layout) -> tuple[tuple[Tenant, ...], dict[str, Owner]]:
    """The tenants of a fabric by slot, and the owner of each NIC (``server:nic``) that has one.

    Notes problems where a member is not there or has two tenants, or VNIs run out or are given twice.
    """
    spec, name = layout.spec, layout.name
    overlay = spec.evpn()
    if overlay is None:
        return (), {}
    slots = context.lock.allot(f"{name}/tenants", spec.tenants)
    networks = virtual_networks(context, layout, overlay)
    first, last = overlay.vni
    found: list[Tenant] = []
    targets = {one.route_target: f"network {one.name}" for own in networks.values() for one in own}
    owners: dict[int, str] = {one.vni: f"network {one.name}" for own in networks.values() for one in own}
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
        _check_name(context, layout, tenant)
        target = f"target:{_target(context, layout, tenant, slot, vni)}"
        whose = targets.setdefault(target, tenant)
        if whose != tenant and (
            intent.route_target or overlay.route_target or other == tenant
        ):  # one VNI for two is said above
            what = f"duplicate route target {target.removeprefix('target:')}: {whose} and {tenant}"
            key = "route_target" if intent.route_target else "vni"
            where = (*at, key) if intent.route_target or not overlay.route_target else _formula_at(layout)
            context.problem(where, what, "give each its own: tenants with one target reach each other")
        own = networks.get(tenant, ())
        leaks = _leaks(context, layout, tenant)
        found.append(Tenant(tenant, name, slot, vni, target, own, server_pools=intent.server_pools, leaks=leaks))
    members = _members(context, layout, {one.name: one for one in found})
    context.check()
    return tuple(found), members


def _check_name(context: Context, layout: Layout, tenant: str) -> None:
    """Note a problem where a tenant's name cannot be that of a VRF on the systems of the leaves."""
    at: Location = ("fabrics", layout.name, "tenants", tenant)
    for nos in dict.fromkeys(layout.equipment[leaf.name].role.nos for leaf in layout.leaves):
        system = context.catalog.systems[nos]
        names = system.vrf_names
        if len(tenant) > names.most:
            what = f"{tenant!r} is too long for a VRF of {system.description}, which has the tenant's name"
            context.problem(at, what, f"use at most {names.most} characters")
        elif tenant in names.reserved:
            what = f"a VRF of {system.description} cannot be called {tenant!r}: that is {names.reserved[tenant]}"
            context.problem(at, what, "give the tenant another name")


def _leaks(context: Context, layout: Layout, tenant: str) -> tuple[str, ...]:
    """The tenants that one shares prefixes with: those that it names, and those that name it."""
    every = layout.spec.tenants
    for other in every[tenant].leaks:
        at: Location = ("fabrics", layout.name, "tenants", tenant, "leaks")
        if other not in every:
            context.problem(at, f"there is no tenant {other!r}", f"tenants are {', '.join(every)}")
        elif other == tenant:
            context.problem(at, f"{tenant!r} leaks to itself", "name another tenant")
    own = [other for other in every[tenant].leaks if other in every]
    return tuple(dict.fromkeys([*own, *(name for name, one in every.items() if tenant in one.leaks)]))


def _formula_at(layout: Layout) -> Location:
    return ("fabrics", layout.name, "overlay", "route_target")


def _target(context: Context, layout: Layout, tenant: str, slot: int, vni: int) -> str:
    """The route target of a tenant: its own, by the overlay's formula, or of the VNI."""
    overlay, own = layout.spec.evpn(), layout.spec.tenants[tenant].route_target
    formula = own or (overlay.route_target if overlay else None)
    if formula is None:
        return f"{overlay.route_target_as if overlay else 0}:{vni}"
    try:
        return target_of(filled(formula, {"tenant": slot, "vni": vni}))
    except ValueError as error:
        where: Location = ("fabrics", layout.name, "tenants", tenant, "route_target") if own else _formula_at(layout)
        context.problem(where, f"route_target {formula} gives none for {tenant} ({error})", "use smaller numbers")
        context.check()
        raise


def _members(context: Context, layout: Layout, known: dict[str, Tenant]) -> dict[str, Owner]:
    result: dict[str, Owner] = {}
    for name, intent in layout.spec.tenants.items():
        at: Location = ("fabrics", layout.name, "tenants", name)
        for nic in _nics(context, layout, (*at, "members"), intent.members):
            _own(context, (*at, "members"), result, nic, Owner(known[name]))
        for network in known[name].networks:
            where = (*at, "networks", network.name, "members")
            nics = _nics(context, layout, where, intent.networks[network.name].members)
            numbers = context.lock.allot(f"{layout.name}/networks/{network.name}", nics)
            for nic in nics:
                _own(context, where, result, nic, Owner(known[name], network, numbers[nic]))
    if layout.ports > 1:
        _whole_nics(context, layout, result)
    return result


def _whole_nics(context: Context, layout: Layout, owners: dict[str, Owner]) -> None:
    """Note NICs whose ports are in two tenants: their GPU would be in both, and libraries merge no ports of two jobs."""
    noted: set[str] = set()
    for server in layout.servers:
        names = server.nics.names
        for place, port in enumerate(names):
            first = names[place % server.nics.adapters]
            pair = [owners.get(f"{server.name}:{one}") for one in (first, port)]
            one, other = (owner.tenant.name if owner else "" for owner in pair)
            if not one or not other or one == other or other in noted:
                continue
            noted.add(other)  # members are often alike on all servers: the first tells enough
            own = " and ".join(f"{server.name}:{name}" for name in (first, port))
            what = f"{own} are ports of one NIC, and belong to tenants {one!r} and {other!r}"
            fix = "give all ports of a NIC to one tenant: the GPU beside it is in one tenant only"
            context.problem(("fabrics", layout.name, "tenants", other, "members"), what, fix)


def _nics(context: Context, layout: Layout, at: Location, members: tuple[str, ...]) -> list[str]:
    """The NICs (``server:nic``) that members stand for. Notes a problem where a member is not there."""
    nics = {server.name: server.nics.names for server in layout.servers}
    found: list[str] = []
    for member in members:
        server, colon, nic = member.partition(":")
        if server not in nics:
            what = f"there is no server {server!r} on fabric {layout.name!r}"
            context.problem(at, what, "members are servers of the file")
        elif colon and nic not in nics[server]:
            context.problem(at, f"{server} has no NIC {nic!r}", f"its NICs are {', '.join(nics[server])}")
        else:
            found += [f"{server}:{one}" for one in ([nic] if colon else nics[server])]
    return found


def _own(context: Context, at: Location, result: dict[str, Owner], nic: str, owner: Owner) -> None:
    other = result.setdefault(nic, owner)
    if other.tenant.name != owner.tenant.name:
        what = f"{nic} belongs to tenants {other.tenant.name!r} and {owner.tenant.name!r}"
        context.problem(at, what, "a NIC belongs to one tenant")
    elif other.network != owner.network:
        names = [f"network {one.network.name!r}" if one.network else "the routed members" for one in (other, owner)]
        context.problem(at, f"{nic} is in {names[0]} and in {names[1]}", "a NIC is in one place of its tenant")
