"""Design of a ``Network`` from a fabric file, with one module per kind of design decision.

``design(source)`` is a pure function of fabric file, inventory and lock (the file of allocated numbers): the same inputs
give an identical ``design.json``.

Imports: ``host``, ``model``, ``nics``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from railweave.design.addresses.identity import check_distinct, check_management, switches
from railweave.design.addresses.links import edge_ports, number_links, with_endpoints, with_tunnels
from railweave.design.addresses.nics import FIRST_TABLE, TABLES_PER_FABRIC, check_addresses, check_host_tables, nics
from railweave.design.addresses.segments import check_apart, segments, with_own_pools
from railweave.design.cabling.cables import cable
from railweave.design.cabling.switch_ports import CableOverrides
from railweave.design.colors import color
from railweave.design.context import Context
from railweave.design.inventory import check_domains, check_inventory, positions
from railweave.design.limits.classes import check_port_qos, check_roles, with_lengths
from railweave.design.limits.devices import check_limits
from railweave.design.limits.growth import growth, note_empty_stripes, note_growth, note_rank_order
from railweave.design.limits.headroom import note_long_links
from railweave.design.limits.management_reach import check_reach
from railweave.design.limits.platform import note_not_rendered, note_unused_ports, with_platform_defaults
from railweave.design.limits.traffic import check_balancing, check_job
from railweave.design.named_models import check_nic_vendors, note_outside, note_words, used_hardware, with_catalog_names
from railweave.design.references import check_color_names, check_references
from railweave.design.retarget import rename_ports
from railweave.design.shape.tiers import check_names
from railweave.design.shape.topology import Layout, lay_out
from railweave.design.status import not_active
from railweave.design.tenancy.tenants import tenants, with_external, with_leaves, with_slices
from railweave.errors import DesignError
from railweave.model.network.devices import Cable, Color, Fabric, Nic, RoleIntent, RoleName, Segment, Server, Switch
from railweave.model.network.model import Network
from railweave.model.network.overlay import Overlay, Tenant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.errors import FileLine, Problem
    from railweave.model.intent.fabric import Fabric as FabricSpec
    from railweave.model.intent.fabric import ServerGroup
    from railweave.model.intent.lock import Lock
    from railweave.model.intent.reading.source import Source
    from railweave.model.intent.tenants import Overlay as OverlayIntent
    from railweave.model.intent.topology import Role

__all__ = ["Network", "design"]


def design(source: Source, described: Mapping[tuple[str, str], FileLine] | None = None) -> tuple[Network, Lock]:
    """Design the network that a source describes. Return the network, and the lock with every allocation.

    A source is a fabric file with its inventory and lock. The hardware comes from the current catalog. ``described`` gives the
    file and line of each model that is not in the packaged catalog, by (section, model name). The source's own lock does not change.
    Raises ``DesignError`` with the file and line of every problem that prevents the design. If a problem is caused by numbers that
    the lock keeps for removed names, its fix says how to free them.
    """
    context = Context(source, source.lock.copy())
    try:
        return _network(context, source, described)
    except DesignError as error:
        gone = context.lock.unused()
        if not gone or source.lock.compacting:
            raise
        raise DesignError(_with_freeing(error.problems, source, gone)) from None


def _with_freeing(problems: Sequence[Problem], source: Source, gone: Sequence[str]) -> list[Problem]:
    """Return the problems, with an additional fix for each that disappears if the lock frees the numbers of removed names (``gone``).

    The function repeats the design with these numbers freed, so the fix is given only if it works.
    """
    freed = Context(source, source.lock.copy())
    freed.lock.compacting = True
    try:
        _network(freed, source, None)
        remaining: set[str] = set()
    except DesignError as error:
        remaining = {str(problem.place) for problem in error.problems}
    names = f"{', '.join(gone[:4])}{', …' * (len(gone) > 4)}"
    build = f"`railweave build {source.path.name} --compact -o OUT`"
    fix = f"free what the lock keeps for parts that are gone or moved ({names}): {build}"
    if not source.own_lock:
        fix += f"; first put {source.path.name} in the place of the fabric file whose lock this is"
    return [
        problem
        if str(problem.place) in remaining
        else replace(problem, fix=f"{problem.fix}\n    or {fix}" if problem.fix else fix)
        for problem in problems
    ]


def _network(
    context: Context, source: Source, described: Mapping[tuple[str, str], FileLine] | None
) -> tuple[Network, Lock]:
    """Design the network that a source describes. Return the network and its lock. ``context`` is new and collects problems.

    ``described`` gives the file and line of each model that is not in the packaged catalog, by (section, model name).
    """
    note_words(context, source.spec)
    context.source = source = replace(source, spec=with_catalog_names(source.spec, context.catalog))
    context.source = source = replace(source, spec=with_slices(context, source.spec))
    check_references(context)
    check_nic_vendors(context)
    layouts = [lay_out(context, name, spec) for name, spec in with_own_pools(context).items()]
    check_names(context, layouts)
    layouts = rename_ports(context, layouts)
    overrides = CableOverrides(context)
    places = positions(context, layouts)
    fabrics: list[Fabric] = []
    all_switches: list[Switch] = []
    all_segments: list[Segment] = []
    all_cables: list[Cable] = []
    found_nics: dict[str, list[Nic]] = {}
    for layout in layouts:
        colors, uplink_colors = color(context, layout)
        cables = cable(context, layout, uplink_colors, overrides, places)
        if layout.spec.underlay.peering == "numbered":
            cables = number_links(context, layout, cables)
        known, owners = tenants(context, layout)
        fabric_segments = segments(context, layout, colors, owners)
        made_switches = with_endpoints(context, layout, switches(context, layout), colors)
        fabric_segments = with_tunnels(fabric_segments, made_switches)
        known = with_external(context, layout, known, fabric_segments, cables, made_switches)
        known = with_leaves(context, layout, known, fabric_segments, made_switches)
        all_switches += made_switches
        for server, made in nics(context, layout, cables, fabric_segments, colors, owners).items():
            found_nics.setdefault(server, []).extend(made)
        check_port_qos(context, layout, made_switches, cables)
        check_balancing(context, layout, cables)
        check_limits(context, layout, cables, colors)
        note_long_links(context, layout, cables)
        note_not_rendered(context, layout)
        note_unused_ports(context, layout)
        note_empty_stripes(context, layout)
        note_rank_order(context, layout)
        between = [link for link in cables if link.kind == "fabric"]
        by_port = layout.spec.topology.port_planes > 1
        note_growth(context, growth(layout.name, made_switches, between, colors, by_port=by_port), layout)
        made = _fabric(context, layout, colors, known, cables)
        fabrics.append(replace(made, edge_ports=edge_ports(context, layout, cables)))
        all_segments += fabric_segments
        all_cables += cables
    check_color_names(context, fabrics)
    overrides.check_all_taken(context)
    check_distinct(context, all_switches)
    check_apart(context, fabrics, all_switches, all_segments, all_cables)
    servers = _servers(context, found_nics)
    check_addresses(context, servers)
    check_management(context, all_switches, servers)
    check_reach(context)
    check_job(context, fabrics)
    check_host_tables(context, fabrics, servers)
    check_inventory(context, servers, all_switches, all_cables)
    check_domains(context, servers, places)
    absent = not_active(context, all_switches, servers, all_cables)
    context.check()
    hardware = used_hardware(context, all_switches, servers, all_cables)
    note_outside(context, hardware, described or {})
    network = Network(
        name=source.spec.name,
        description=source.spec.description,
        management=source.spec.management,
        hosts=source.spec.hosts,
        fabrics=tuple(fabrics),
        switches=tuple(all_switches),
        segments=tuple(all_segments),
        servers=servers,
        cables=tuple(all_cables),
        findings=tuple(context.findings),
        not_active=absent,
        hardware=hardware,
        positions=places,
    )
    return network, context.lock.finished()


def _fabric(
    context: Context,
    layout: Layout,
    colors: tuple[Color, ...],
    tenants: tuple[Tenant, ...],
    cables: Sequence[Cable],
) -> Fabric:
    source, spec = context.source, layout.spec
    roles = _intents(context, layout, cables)
    overlay = spec.evpn()
    return Fabric(
        name=layout.name,
        site=spec.site or next(iter(source.spec.sites)),
        nics=spec.nics,
        colors=colors,
        leaf=roles["leaf"],
        spine=roles["spine"],
        underlay=spec.underlay,
        router_advertisements=spec.router_advertisements,
        load_balancing=spec.load_balancing,
        mtu=spec.mtu,
        naming=spec.naming,
        server_mode=spec.addressing.server_mode,
        server_pool=spec.addressing.server_pool,
        local_prefixes=spec.addressing.local_prefixes or _local(spec)
        if overlay is None
        else _overlay_prefixes(overlay, spec.pools.router_id, colored=bool(colors)),
        leaf_asns=spec.pools.leaf_asn,
        spine_asns=spec.pools.spine_asn,
        emulation=spec.emulation.path_color,
        server_link=spec.addressing.server_link,
        host_routing=spec.host_routing,
        super_spine=roles["super-spine"] if layout.super_spines else None,
        super_spine_asns=spec.pools.super_spine_asn if layout.super_spines else None,
        dci=roles["dci"] if layout.dci else None,
        dci_asns=spec.pools.dci_asn if layout.dci else None,
        interconnect=spec.topology.interconnect,
        first_table=spec.host_routing.first_table
        or FIRST_TABLE + TABLES_PER_FABRIC * list(source.spec.fabrics).index(layout.name),
        overlay=_overlay(overlay, tenants) if overlay else None,
        tenants=tenants,
        other_link=_other_link(spec),
        other_pools=tuple(
            pool
            for other_link in spec.addressing.other_links.values()
            for pool in other_link.beside(spec.addressing).pools()
        ),
        tagged_vlans=spec.addressing.tagged_vlans,
        adapters=layout.rails // layout.ports if layout.ports > 1 else None,
        second_server_pool=spec.addressing.dual_stack.server_pool if spec.addressing.dual_stack else "",
    )


def _local(spec: FabricSpec) -> tuple[str, ...]:
    """Return the prefixes that leaves may originate: the server pools, the pools in ``other_links``, and the prefixes of edge ports."""
    others = (
        pool
        for other_link in spec.addressing.other_links.values()
        for pool in other_link.beside(spec.addressing).pools()
    )
    edges = (prefix for edge_port in spec.edge_ports.values() for prefix in edge_port.prefixes)
    return tuple(dict.fromkeys((*spec.addressing.pools(), *others, *edges)))


def _other_link(spec: FabricSpec) -> Literal["", "access", "trunk", "routed"]:
    """Return the link type of the servers in ``other_links`` if it differs from ``server_link``. Return "" otherwise."""
    for other_link in spec.addressing.other_links.values():
        if other_link.server_link != spec.addressing.server_link:
            return other_link.server_link
    return ""


def _overlay(intent: OverlayIntent, tenants: tuple[Tenant, ...]) -> Overlay:
    anycast = any(tenant.networks for tenant in tenants)
    return Overlay(intent.vtep, intent.bfd, intent.gateway_mac if anycast else "")


def _overlay_prefixes(overlay: OverlayIntent, router_ids: str, *, colored: bool) -> tuple[str, ...]:
    """Return the pools that the underlay routes for an overlay: loopbacks and, if ``colored``, the tunnel endpoints of path colors.

    ``router_ids`` is the pool of router IDs, which are also the IPv4 loopbacks.
    """
    loopbacks = router_ids if overlay.vtep == "ipv4" else overlay.loopbacks
    return (loopbacks, overlay.endpoint_pool()) if colored else (loopbacks,)


def _intents(context: Context, layout: Layout, cables: Sequence[Cable]) -> dict[RoleName, RoleIntent]:
    """Return the settings of every switch role. Roles without switches in the fabric are included, but not checked.

    Records a problem if only some tiers send pause frames.
    """
    spec = layout.spec
    given: dict[RoleName, tuple[str, Role]] = {
        "leaf": ("leaf", spec.leaf),
        "spine": ("spine", spec.spine_role()),
        "super-spine": ("super_spine", spec.super_spine_role()),
        "dci": ("dci", spec.dci_role()),
    }
    speed = max((link.speed_gbps for link in cables), default=0)
    intents: dict[RoleName, RoleIntent] = {}
    for name, (key, role) in given.items():
        qos = with_platform_defaults(role.qos or spec.qos, role.device)
        if name in layout.tiers and speed:
            at = ("fabrics", layout.name, *((key,) if role.qos else ()), "qos")
            qos = with_lengths(context, qos, role, speed, at)
        intents[name] = RoleIntent(role.device, role.nos, qos, role.extra)
    lossless: list[RoleName] = [name for name in layout.tiers if intents[name].qos.lossless_class()]
    pausing: list[RoleName] = [name for name in lossless if intents[name].qos.pfc.pauses("fabric")]
    for name in lossless if pausing else ():
        if name not in pausing:
            at = ("fabrics", layout.name, *((given[name][0],) if given[name][1].qos else ()), "qos", "pfc", "ports")
            message = f"{name} switches send no pause frames on ports between switches, but {pausing[0]} switches do"
            context.problem(
                at, message, "give all tiers the same setting: both ends of a link send pause frames, or neither"
            )
    check_roles(context, layout, intents)
    context.check()
    return intents


def _site(context: Context, group: ServerGroup, nics: Sequence[Nic]) -> str:
    """Return the site of a server in ``group``.

    In a fabric that spans sites, this is the site of the server's stripe. Raises ``DesignError`` if the file gives the server a site
    other than the stripe's. In other fabrics, it is the site in the file, or "" if the file gives none.
    """
    for nic in nics:
        across = context.source.spec.fabrics[nic.fabric].topology.interconnect
        there = across.site_of(nic.stripe) if across else ""
        if there and group.site not in {None, there}:
            index = context.source.spec.servers.index(group)
            message = f"site {group.site!r} differs from the site of stripe {nic.stripe!r}, which is {there!r}"
            context.problem(("servers", index, "site"), message, "remove `site:`, or choose a stripe at that site")
            context.check()
        if there:
            return there
    return group.site or ""


def _servers(context: Context, nics_of: dict[str, list[Nic]]) -> tuple[Server, ...]:
    """Return every server, in file order, with its NICs on all fabrics.

    ``nics_of`` holds the NICs by server name. Records a problem for each override of an unknown NIC.
    """
    sites = next(iter(context.source.spec.sites))
    known = {f"{server}:{nic.name}" for server, made in nics_of.items() for nic in made}
    for key in context.source.spec.overrides.nics:
        if key not in known:
            context.problem(("overrides", "nics", key), f"there is no NIC {key!r}", "write it as SERVER:NIC")
    context.check()
    return tuple(
        Server(
            name=name,
            site=_site(context, group, nics_of.get(name, ())) or sites,
            model=group.model,
            serial=context.source.inventory.get(name).serial,
            nics=tuple(nics_of.get(name, ())),
        )
        for group in context.source.spec.servers
        for name in group.names
    )
