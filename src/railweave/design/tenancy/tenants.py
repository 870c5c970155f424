"""Tenants: their numbers, networks, slices, VRFs and external routers, and the tenant of each NIC."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from railweave.design.addresses.server_prefixes import inside, is_host, tenant_pools
from railweave.design.cabling.ports import Conflict, Panel, panels_of, port_named
from railweave.design.cabling.ports import Owner as PortOwner
from railweave.model.config.naming import named, target_value
from railweave.model.intent.base import check_name
from railweave.model.intent.formula import distinguisher_of, filled, target_of
from railweave.model.intent.tenants import ExternalLink as LinkIntent
from railweave.model.intent.tenants import Tenant as TenantIntent
from railweave.model.network.overlay import ExternalLink, ExternalRouter, Tenant, TenantLeaf, VirtualNetwork

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.fabric import Fabric, FabricFile, ServerGroup
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.tenants import Overlay, TenantSlices
    from railweave.model.intent.tenants import VirtualNetwork as Intent
    from railweave.model.network.devices import Cable, Segment, Switch


Shared = dict[tuple[str, str], list[tuple[str, int, int | None]]]
"""The links to external routers, by (leaf, port). Each link is (router, speed in Gb/s, VLAN tag or None)."""

DEFAULT_ROUTES = {4: "0.0.0.0/0", 6: "::/0"}


def with_external(
    context: Context,
    layout: Layout,
    tenants: Sequence[Tenant],
    segments: Sequence[Segment],
    cables: Sequence[Cable],
    switches: Sequence[Switch],
) -> tuple[Tenant, ...]:
    """Return the tenants with their external routers.

    Records a problem if a link's port is in use or does not exist, or if a router's AS number is already in use. Raises ``DesignError`` if
    there is any problem.
    """
    if not any(layout.spec.tenants[tenant.name].external for tenant in tenants):
        return tuple(tenants)
    panels = panels_of(layout, cables)
    shared: Shared = {}
    numbers = {switch.asn: switch.name for switch in reversed(switches)}
    result: list[Tenant] = []
    for tenant in tenants:
        prefixes = dict.fromkeys(
            s.prefix for segment in segments if segment.tenant == tenant.name for s in segment.subnets
        )
        routers: list[ExternalRouter] = []
        for name, intent in layout.spec.tenants[tenant.name].external.items():
            at: Location = ("fabrics", layout.name, "tenants", tenant.name, "external", name)
            links = [
                _link(context, layout, (*at, "links", place), name, link, panels, shared)
                for place, link in enumerate(intent.links)
            ]
            version = ipaddress.ip_network(intent.links[0].prefix).version
            if intent.asn in numbers:
                message = f"external router {name} has AS number {intent.asn}, which {numbers[intent.asn]} has, too"
                fix = "choose another AS number: a switch rejects routes whose path contains its own AS number"
                context.problem((*at, "asn"), message, fix)
            advertise = intent.advertise or _summary(layout, tenant.name, tuple(prefixes), version)
            if not advertise:
                message = f"tenant {tenant.name!r} has no IPv{version} prefix to advertise over the IPv{version} links of external router {name}"
                fix = (
                    f"give the links IPv{10 - version} prefixes, or list the prefixes to send to the router under "
                    "`advertise:`"
                )
                context.problem((*at, "links", 0, "prefix"), message, fix)
            routers.append(
                ExternalRouter(
                    name=name,
                    asn=intent.asn,
                    links=tuple(link for link in links if link is not None),
                    accept=intent.accept or (DEFAULT_ROUTES[version],),
                    advertise=advertise,
                )
            )
        result.append(replace(tenant, external=tuple(routers)))
    context.check()
    return tuple(result)


def _summary(layout: Layout, tenant: str, prefixes: Sequence[str], version: int) -> tuple[str, ...]:
    """Return a tenant's prefixes of one IP version (4 or 6), shortened: a server pool replaces all prefixes that come from the pool."""
    networks = [network for network in map(ipaddress.ip_network, prefixes) if network.version == version]
    pools = [tenant_pool.network for tenant_pool in tenant_pools(layout, tenant)]
    covering = [next((pool for pool in pools if inside(network, pool)), network) for network in networks]
    return tuple(dict.fromkeys(map(str, covering)))


def _beside(link: tuple[str, int, int | None], router: str, speed: int, vlan: int) -> bool:
    """Return True if a new link can share a port with ``link``: the same router, the same speed, and different VLAN tags.

    ``router``, ``speed`` and ``vlan`` describe the new link.
    """
    return link[0] == router and link[1] == speed and link[2] not in {None, vlan}


def _link(
    context: Context,
    layout: Layout,
    at: Location,
    router: str,
    link: LinkIntent,
    panels: dict[str, Panel],
    shared: Shared,
) -> ExternalLink | None:
    panel = panels.get(link.leaf)
    if panel is None:
        known = ", ".join(list(panels)[:8]) + (", …" if len(panels) > 8 else "")
        context.problem((*at, "leaf"), f"fabric {layout.name!r} has no leaf {link.leaf!r}", f"its leaves are {known}")
        return None
    equipment = layout.equipment[link.leaf]
    role, model = equipment.role, equipment.model
    system = context.catalog.systems[role.nos]
    speed = link.speed or model.ports[0].speed_gbps
    port = port_named(context, (*at, "port"), role.device, model, system, link.port, speed)
    if port is None:
        return None
    before = shared.setdefault((link.leaf, link.port), [])
    joins = (
        bool(before) and link.vlan is not None and all(_beside(earlier, router, speed, link.vlan) for earlier in before)
    )
    before.append((router, speed, link.vlan))
    conflict = None if joins else panel.take(port, PortOwner(f"external router {router}", at, "server_ports"))
    if conflict is not None:
        message, fix = _refused(link, router, before, conflict)
        context.problem((*at, "port"), message, fix)
    network = ipaddress.ip_network(link.prefix)
    first = network.network_address + (0 if network.num_addresses == 2 else 1)
    return ExternalLink(
        leaf=link.leaf,
        port=link.port,
        physical=port.physical,
        channel=port.channel,
        speed_gbps=speed,
        address=str(first),
        peer_address=str(first + 1),
        prefix_length=network.prefixlen,
        vlan=link.vlan,
    )


def _refused(
    link: LinkIntent, router: str, on_port: Sequence[tuple[str, int, int | None]], conflict: Conflict
) -> tuple[str, str]:
    """Return (problem, fix) for a link to an external router whose port is taken.

    ``on_port`` holds the links on that port, this link last. ``conflict`` is the reason why the port cannot be reserved.
    """
    message = f"{link.leaf} {link.port} for external router {router} {conflict.text}"
    others = on_port[:-1]
    if not others:
        return message, "choose another port, or end the range of server or uplink ports before it"
    if any(other[0] != router for other in others):
        return message, "choose another port: links to two routers need two ports"
    if link.vlan is not None and link.vlan in {other[2] for other in others}:
        return (
            f"{link.leaf} {link.port} has two links to external router {router} with VLAN {link.vlan}",
            "give each link a different VLAN",
        )
    if link.vlan is not None and all(other[2] for other in others):
        return (
            f"{link.leaf} {link.port} has links to external router {router} with two speeds",
            "give them the same speed",
        )
    message = f"{link.leaf} {link.port} has several links to external router {router}, but one of them has no VLAN"
    return message, "give each link its own `vlan:`, or choose another port"


def virtual_networks(context: Context, layout: Layout, overlay: Overlay) -> dict[str, tuple[VirtualNetwork, ...]]:
    """Return the layer-2 networks of each tenant that has any, by tenant name, in the order of their numbers in the lock.

    ``overlay`` holds the pools of VNIs. Records a problem if two networks share a name, a VLAN, a VNI or addresses, or if a pool of
    numbers is too small. Raises ``DesignError`` if there is any problem.
    """
    intents: dict[str, tuple[str, Intent]] = {}
    for tenant, intent in layout.spec.tenants.items():
        for name, network in intent.networks.items():
            at: Location = ("fabrics", layout.name, "tenants", tenant, "networks", name)
            other = intents.setdefault(name, (tenant, network))
            if other[0] != tenant:
                context.problem(at, f"tenants {other[0]!r} and {tenant!r} both have a network {name!r}", "rename one")
    if not intents:
        return {}
    if layout.spec.load_balancing.mode == "rlb":
        message = (
            "layer-2 networks need a fabric without path colors, because a leaf has only one tunnel address "
            "for all of them"
        )
        context.problem(
            ("fabrics", layout.name, "load_balancing"), message, "use mode ecmp, dlb-flowlet or dlb-per-packet"
        )
    slots = context.lock.allot(f"{layout.name}/networks", intents)
    networks: dict[str, list[VirtualNetwork]] = {}
    vlans = _rail_vlans(context, layout)
    vnis: dict[int, str] = {}
    for name, slot in sorted(slots.items(), key=lambda item: item[1]):
        tenant, intent = intents[name]
        at = ("fabrics", layout.name, "tenants", tenant, "networks", name)
        vlan, vni = _numbers(context, layout, overlay, name, slot, intent)
        for label, number, taken in (("VLAN", vlan, vlans), ("VNI", vni, vnis)):
            other = taken.setdefault(number, name)
            if other != name:
                context.problem(
                    at, f"duplicate {label} {number}: {other} and {name}", "give each network a different one"
                )
        subnet = ipaddress.ip_network(intent.prefix)
        if not is_host(subnet, intent.gateway_host):
            message = f"gateway_host {intent.gateway_host} is not a host in {subnet}"
            context.problem((*at, "gateway_host"), message, "use a number from 1 to the last but one address")
        label = named(layout.spec.naming.vlan, fabric=layout.name, stripe="", rail=0, vlan=vlan)
        target = f"target:{overlay.route_target_as}:{vni}"
        gateway = str(subnet.network_address + intent.gateway_host)
        made = VirtualNetwork(name, slot, vlan, label, vni, target, intent.prefix, gateway)
        networks.setdefault(tenant, []).append(made)
    context.check()
    return {tenant: tuple(tenant_networks) for tenant, tenant_networks in networks.items()}


def _numbers(
    context: Context, layout: Layout, overlay: Overlay, name: str, slot: int, intent: Intent
) -> tuple[int, int]:
    """Return (VLAN, VNI) of a layer-2 network: as given in the file, or else from the pools. Records a problem if a pool is too small.

    ``name`` and ``intent`` are the network's name and settings in the file, and ``slot`` is its number in the lock. VLANs are taken from
    the end of their pool, because rails take theirs from the beginning. VNIs are taken in order.
    """
    low, high = layout.spec.pools.vlan
    first, last = overlay.network_vni
    vlan, vni = intent.vlan or high - slot + 1, intent.vni or first + slot - 1
    if vlan < low and intent.vlan is None:
        message = f"pool too small: VLANs {low}-{high} have no id for network number {slot}, {name}"
        context.problem(
            ("fabrics", layout.name, "pools", "vlan"), message, "widen it, or give the network its own `vlan:`"
        )
    if vni > last and intent.vni is None:
        message = f"pool too small: VNIs {first}-{last} have no VNI for network number {slot}, {name}"
        context.problem(
            ("fabrics", layout.name, "overlay", "network_vni"), message, f"widen it to at least {first}-{vni}"
        )
    return vlan, vni


def _rail_vlans(context: Context, layout: Layout) -> dict[int, str]:
    """Return a description of each VLAN of the tenants' rails, by VLAN ID.

    The result is empty on routed links, which have no VLANs.
    """
    if layout.spec.addressing.server_link == "routed":
        return {}
    first, _ = layout.spec.pools.vlan
    slots = context.lock.allot(f"{layout.name}/tenants", layout.spec.tenants)
    return {
        first + (slot - 1) * layout.rails + rail: f"rail {rail + 1} of tenant {tenant}"
        for tenant, slot in slots.items()
        if layout.spec.tenants[tenant].members
        for rail in range(layout.rails)
    }


def with_slices(context: Context, spec: FabricFile) -> FabricFile:
    """Return the fabric file with a tenant added for each slice (group of GPUs in every server) that ``tenant_slices`` requests.

    Slices come after the tenants of ``tenants``. Raises ``DesignError`` for an unknown server, for a server whose GPUs or NICs cannot
    be divided into such slices, and for a name that is already in use.
    """
    fabrics = {
        name: fabric.model_copy(update={"tenants": {**fabric.tenants, **_made(context, spec, name, fabric)}})
        if fabric.tenant_slices
        else fabric
        for name, fabric in spec.fabrics.items()
    }
    context.check()
    return spec if fabrics == spec.fabrics else spec.model_copy(update={"fabrics": fabrics})


def _made(context: Context, spec: FabricFile, fabric_name: str, fabric: Fabric) -> dict[str, TenantIntent]:
    wanted, at = fabric.tenant_slices, ("fabrics", fabric_name, "tenant_slices")
    if wanted is None:
        return {}
    members: dict[int, list[str]] = {}
    groups = {name: group for group in spec.servers for name in group.names}
    for server in wanted.servers:
        group = groups.get(server)
        if group is None:
            context.problem((*at, "servers"), f"there is no server {server!r}", "use names of servers of the file")
            continue
        for place, nics in enumerate(_nics_of_slices(context, at, wanted, group, server, fabric.nics), 1):
            members.setdefault(place, []).extend(f"{server}:{nic}" for nic in nics)
    intents: dict[str, TenantIntent] = {}
    for place, slice_members in members.items():
        name = check_name(named(wanted.name, slice=place))
        if name in fabric.tenants or name in intents:
            context.problem(
                (*at, "name"),
                f"two tenants would have the name {name!r}",
                "use {slice} in the pattern, and names that no other tenant has",
            )
        intents[name] = TenantIntent(members=tuple(slice_members))
    return intents


def _nics_of_slices(
    context: Context, at: Location, wanted: TenantSlices, group: ServerGroup, server: str, kind: str
) -> list[tuple[str, ...]]:
    """Return the NICs of each slice (group of GPUs) of a server, or an empty list if its GPUs or NICs cannot be divided equally.

    All ports of a NIC are in the same slice. ``wanted`` has the number of GPUs per slice, and ``group`` the server's model. ``at`` is
    the key path of the slices in the file, and ``kind`` the NIC group. Records a problem if the division is not possible.
    """
    model = context.catalog.servers.get(group.model)
    if model is None or kind not in model.nics:
        return []  # said where servers are placed
    nics = model.nics[kind]
    slices = model.gpus // wanted.gpus if model.gpus else 0
    if not slices or model.gpus % wanted.gpus or nics.adapters % slices:
        message = (
            f"{server} has {model.gpus} GPUs and {nics.adapters} NICs, which cannot both be divided into slices of "
            f"{wanted.gpus} GPUs"
        )
        context.problem((*at, "gpus"), message, "use a number that divides both numbers")
        return []
    each = nics.adapters // slices
    return [
        tuple(name for place, name in enumerate(nics.names) if place % nics.adapters // each == number)
        for number in range(slices)
    ]


FIRST_BRIDGED = 60_000
"""The first number, after the router ID, in the route distinguishers of bridged VLANs and of their bridging instance."""


def with_leaves(
    context: Context, layout: Layout, tenants: Sequence[Tenant], segments: Sequence[Segment], switches: Sequence[Switch]
) -> tuple[Tenant, ...]:
    """Return the tenants with the VRF settings on each leaf.

    Records a problem if two VRFs would have the same route distinguisher or loopback. Raises ``DesignError`` if there is any problem.
    """
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
        there = {segment.leaf for segment in segments if segment.tenant == tenant.name}
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
                message = (
                    f"route_distinguisher {formula} gives no valid value for {tenant.name} on {switch.name} ({error})"
                )
                context.problem(where, message, "use smaller numbers")
                context.check()
            name = f"{tenant.name} on {switch.name}"
            other = owners.setdefault(rd, name)
            if formula and other != name:
                message = f"duplicate route distinguisher {rd}: {other} and {name}"
                fix = (
                    "use every number in the formula that differs between VRFs: {tenant} or {vni}, and "
                    "{router_id}, {asn} or {leaf}"
                )
                context.problem(where, message, fix)
                context.check()
            router, _, number = rd.rpartition(":")
            if formula and router == switch.router_id and int(number) >= FIRST_BRIDGED:
                message = f"route distinguisher {rd} is in the range from {FIRST_BRIDGED}, which bridged VLANs use"
                context.problem(where, message, "use smaller numbers")
                context.check()
            where = (*at, "loopbacks") if own_loopbacks is not None else (*above, "tenant_loopbacks")
            addresses = tuple(_address(context, where, loopback, values, name) for loopback in loopbacks)
            for address in addresses:
                other = alike.setdefault(address, name)
                if other != name:
                    message = f"one loopback {address} for two VRFs: {other} and {name}"
                    context.problem(where, message, "use {tenant} and {leaf} in the formula")
                    context.check()
            made.append(TenantLeaf(switch.name, rd if formula else "", addresses))
        result.append(replace(tenant, on_leaves=tuple(made) if formula or loopbacks else ()))
    context.check()
    return tuple(result)


def _address(context: Context, at: Location, formula: str, values: dict[str, int], name: str) -> str:
    try:
        return str(ipaddress.ip_network(filled(formula, values, "x" if ":" in formula else "d")).network_address)
    except ValueError as error:
        context.problem(at, f"the formula {formula} gives no valid loopback for {name} ({error})", "use other factors")
        context.check()
        raise


class Owner(NamedTuple):
    """The owner of a NIC: its tenant.

    A NIC on a layer-2 network also has this network (``network``), and its ``number`` among the NICs in the network, from 1.
    """

    tenant: Tenant
    network: VirtualNetwork | None = None
    number: int = 0


def tenants(context: Context, layout: Layout) -> tuple[tuple[Tenant, ...], dict[str, Owner]]:
    """Return (the tenants of a fabric in the order of their numbers, the owner of each NIC that has an owner, by ``server:nic``).

    Records a problem if a member does not exist or has two tenants, and if VNIs run out or are used twice. Raises ``DesignError`` if there
    is any problem.
    """
    spec, name = layout.spec, layout.name
    overlay = spec.evpn()
    if overlay is None:
        return (), {}
    slots = context.lock.allot(f"{name}/tenants", spec.tenants)
    networks = virtual_networks(context, layout, overlay)
    first, last = overlay.vni
    all_tenants: list[Tenant] = []
    targets = {
        virtual_network.route_target: f"network {virtual_network.name}"
        for network in networks.values()
        for virtual_network in network
    }
    owners: dict[int, str] = {
        virtual_network.vni: f"network {virtual_network.name}"
        for network in networks.values()
        for virtual_network in network
    }
    for tenant, slot in sorted(slots.items(), key=lambda item: item[1]):
        intent = spec.tenants[tenant]
        at: Location = ("fabrics", name, "tenants", tenant)
        vni = intent.vni or first + slot - 1
        if intent.vni is None and vni > last:
            context.problem(
                ("fabrics", name, "overlay", "vni"),
                f"pool too small: VNIs {first}-{last} have no VNI for tenant number {slot}",
                f"widen it to at least {first}-{vni}",
            )
        other = owners.setdefault(vni, tenant)
        if other != tenant:
            context.problem(
                (*at, "vni"), f"duplicate VNI {vni}: {other} and {tenant}", "give each tenant a different one"
            )
        _check_name(context, layout, tenant)
        target = f"target:{_target(context, layout, tenant, slot, vni)}"
        whose = targets.setdefault(target, tenant)
        if whose != tenant and (
            intent.route_target or overlay.route_target or other == tenant
        ):  # one VNI for two is said above
            message = f"duplicate route target {target_value(target)}: {whose} and {tenant}"
            key = "route_target" if intent.route_target else "vni"
            where = (*at, key) if intent.route_target or not overlay.route_target else _formula_at(layout)
            context.problem(
                where, message, "give each tenant a different one: tenants with the same target reach each other"
            )
        tenant_networks = networks.get(tenant, ())
        leaks = _leaks(context, layout, tenant)
        all_tenants.append(
            Tenant(tenant, name, slot, vni, target, tenant_networks, server_pools=intent.server_pools, leaks=leaks)
        )
    members = _members(context, layout, {new_tenant.name: new_tenant for new_tenant in all_tenants})
    context.check()
    return tuple(all_tenants), members


def _check_name(context: Context, layout: Layout, tenant: str) -> None:
    """Record a problem if the operating system of a leaf does not accept the tenant's name as a VRF name."""
    at: Location = ("fabrics", layout.name, "tenants", tenant)
    for nos in dict.fromkeys(layout.equipment[leaf.name].role.nos for leaf in layout.leaves):
        system = context.catalog.systems[nos]
        names = system.vrf_names
        if len(tenant) > names.most:
            message = (
                f"{tenant!r} is too long for the name of a VRF on {system.description}, and a VRF has its tenant's name"
            )
            context.problem(at, message, f"use at most {names.most} characters")
        elif tenant in names.reserved:
            message = (
                f"a VRF of {system.description} cannot have the name {tenant!r}, because that is "
                f"{names.reserved[tenant]}"
            )
            context.problem(at, message, "give the tenant another name")


def _leaks(context: Context, layout: Layout, tenant: str) -> tuple[str, ...]:
    """Return the tenants that exchange prefixes with ``tenant``, because one of the two tenants lists the other under ``leaks``.

    Records a problem if the tenant's ``leaks`` list an unknown tenant or the tenant itself.
    """
    every = layout.spec.tenants
    for other in every[tenant].leaks:
        at: Location = ("fabrics", layout.name, "tenants", tenant, "leaks")
        if other not in every:
            context.problem(at, f"there is no tenant {other!r}", f"tenants are {', '.join(every)}")
        elif other == tenant:
            context.problem(at, f"{tenant!r} leaks to itself", "name another tenant")
    leaks = [other for other in every[tenant].leaks if other in every]
    return tuple(dict.fromkeys([*leaks, *(name for name, intent in every.items() if tenant in intent.leaks)]))


def _formula_at(layout: Layout) -> Location:
    return ("fabrics", layout.name, "overlay", "route_target")


def _target(context: Context, layout: Layout, tenant: str, slot: int, vni: int) -> str:
    """Return the route target of a tenant: as the file sets it, or else from the overlay's formula, or else from the VNI.

    ``slot`` is the tenant's number. Raises ``DesignError`` if a formula gives no valid route target.
    """
    overlay, own_target = layout.spec.evpn(), layout.spec.tenants[tenant].route_target
    formula = own_target or (overlay.route_target if overlay else None)
    if formula is None:
        return f"{overlay.route_target_as if overlay else 0}:{vni}"
    try:
        return target_of(filled(formula, {"tenant": slot, "vni": vni}))
    except ValueError as error:
        where: Location = (
            ("fabrics", layout.name, "tenants", tenant, "route_target") if own_target else _formula_at(layout)
        )
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
    """Record a problem if the ports of a NIC belong to two tenants. ``owners`` gives the owner of each port by ``server:nic``.

    Both tenants would use the same GPU, and collective libraries could not merge the ports of the NIC.
    """
    noted: set[str] = set()
    for server in layout.servers:
        names = server.nics.names
        for place, port in enumerate(names):
            first = names[place % server.nics.adapters]
            pair = [owners.get(f"{server.name}:{port_name}") for port_name in (first, port)]
            tenant, other = (owner.tenant.name if owner else "" for owner in pair)
            if not tenant or not other or tenant == other or other in noted:
                continue
            noted.add(other)  # members are often alike on all servers: the first tells enough
            both_ports = " and ".join(f"{server.name}:{name}" for name in (first, port))
            message = f"{both_ports} are ports of one NIC, but belong to tenants {tenant!r} and {other!r}"
            fix = "give all ports of a NIC to the same tenant, because the GPU next to it belongs to one tenant only"
            context.problem(("fabrics", layout.name, "tenants", other, "members"), message, fix)


def _nics(context: Context, layout: Layout, at: Location, members: tuple[str, ...]) -> list[str]:
    """Return the NICs (``server:nic``) that ``members`` describe. Records a problem at ``at``, a key path, for each that does not exist."""
    nics = {server.name: server.nics.names for server in layout.servers}
    member_nics: list[str] = []
    for member in members:
        server, colon, nic = member.partition(":")
        if server not in nics:
            message = f"there is no server {server!r} on fabric {layout.name!r}"
            context.problem(at, message, "members must be servers of the file")
        elif colon and nic not in nics[server]:
            context.problem(at, f"{server} has no NIC {nic!r}", f"its NICs are {', '.join(nics[server])}")
        else:
            member_nics += [f"{server}:{nic_name}" for nic_name in ([nic] if colon else nics[server])]
    return member_nics


def _own(context: Context, at: Location, result: dict[str, Owner], nic: str, owner: Owner) -> None:
    other = result.setdefault(nic, owner)
    if other.tenant.name != owner.tenant.name:
        message = f"{nic} belongs to both tenants {other.tenant.name!r} and {owner.tenant.name!r}"
        context.problem(at, message, "put each NIC in one tenant only")
    elif other.network != owner.network:
        names = [
            f"network {holder.network.name!r}" if holder.network else "the routed members" for holder in (other, owner)
        ]
        context.problem(at, f"{nic} is in both {names[0]} and {names[1]}", "list each NIC only once in its tenant")
