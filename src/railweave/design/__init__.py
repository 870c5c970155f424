"""From a fabric file to a ``Network``: one module per decision.

``design(source)`` is a pure function of fabric file, inventory and lock: the same three give the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.design.addressing import nics, segments
from railweave.design.cabling import cable
from railweave.design.colors import color
from railweave.design.context import Context
from railweave.design.identity import check_distinct, number_links, switches
from railweave.design.limits import check_limits
from railweave.design.network import Fabric, Network, RoleIntent, Server
from railweave.design.topology import lay_out

if TYPE_CHECKING:
    from railweave.design.network import Cable, Color, Nic, Segment, Switch
    from railweave.design.topology import Layout
    from railweave.spec.lock import Lock
    from railweave.spec.source import Source

__all__ = ["Network", "design"]


def design(source: Source) -> tuple[Network, Lock]:
    """Design the network a source describes, and the lock with every allocation made.

    The source's own lock is left as it is. Raises ``DesignError`` with file and line of everything that stands in
    the way.
    """
    context = Context(source, source.lock.copy())
    _check_sites(context)
    fabrics: list[Fabric] = []
    all_switches: list[Switch] = []
    all_segments: list[Segment] = []
    all_cables: list[Cable] = []
    found_nics: dict[str, list[Nic]] = {}
    for name, spec in source.spec.fabrics.items():
        layout = lay_out(context, name, spec)
        colors, uplink_colors = color(context, layout)
        cables = cable(context, layout, uplink_colors)
        if spec.underlay.peering == "numbered":
            cables = number_links(context, layout, cables)
        found = segments(context, layout, colors)
        all_switches += switches(context, layout)
        for server, made in nics(context, layout, cables, found, colors).items():
            found_nics.setdefault(server, []).extend(made)
        check_limits(context, layout, cables, colors)
        fabrics.append(_fabric(source, layout, colors))
        all_segments += found
        all_cables += cables
    check_distinct(context, all_switches)
    _check_overlaps(context, all_switches, all_segments)
    network = Network(
        name=source.spec.name,
        description=source.spec.description,
        management=source.spec.management,
        fabrics=tuple(fabrics),
        switches=tuple(all_switches),
        segments=tuple(all_segments),
        servers=_servers(context, found_nics),
        cables=tuple(all_cables),
        findings=tuple(context.findings),
    )
    return network, context.lock.finished()


def _check_sites(context: Context) -> None:
    """Everything stands in one site, and says which where there are several; a NIC is on one fabric, a server there once."""
    spec = context.source.spec
    items = [(("fabrics", name), f"fabric {name!r}", fabric.site) for name, fabric in spec.fabrics.items()]
    items += [(("servers", index), "this group of servers", group.site) for index, group in enumerate(spec.servers)]
    for location, label, site in items:
        if site is None and len(spec.sites) > 1:
            context.problem(
                location,
                f"{label} has no site, and there are {len(spec.sites)}",
                f"add `site:`, one of {', '.join(spec.sites)}",
            )
        if site is not None and site not in spec.sites:
            context.problem((*location, "site"), f"site {site!r} is not defined", f"sites are {', '.join(spec.sites)}")
    seen: dict[str, int] = {}
    for index, group in enumerate(spec.servers):
        for name in group.names:
            if name in seen:
                first = context.source.document.line(("servers", seen[name]))
                context.problem(
                    ("servers", index, "names"), f"duplicate server {name!r}", f"it is first given on line {first}"
                )
            seen.setdefault(name, index)
    served: dict[tuple[str | None, str], str] = {}
    for name, fabric in context.source.spec.fabrics.items():
        other = served.setdefault((fabric.site, fabric.nics), name)
        if other != name:
            context.problem(
                ("fabrics", name, "nics"),
                f"duplicate: fabrics {other!r} and {name!r} both connect the {fabric.nics!r} NICs of the same servers",
                "choose another NIC group with `nics:`, or put them on different sites",
            )
    context.check()


def _check_overlaps(context: Context, found: list[Switch], prefixes: list[Segment]) -> None:
    """Fabrics of one file share no device name and no server prefix."""
    names: dict[str, str] = {}
    for switch in found:
        other = names.setdefault(switch.name, switch.fabric)
        if other != switch.fabric:
            context.problem(
                ("fabrics", switch.fabric, "naming", switch.role),
                f"duplicate name: fabrics {other!r} and {switch.fabric!r} both have a switch {switch.name!r}",
                'name them apart, for example `naming: {leaf: "{fabric}-{stripe}-leaf{leaf}", spine: "{fabric}-{spine}"}`',
            )
            break
    owners: dict[str, str] = {}
    for segment in prefixes:
        for subnet in segment.subnets:
            other = owners.setdefault(subnet.prefix, segment.fabric)
            if other != segment.fabric:
                context.problem(
                    ("fabrics", segment.fabric, "addressing", "server_pool"),
                    f"duplicate prefix: fabrics {other!r} and {segment.fabric!r} both use {subnet.prefix}",
                    "give each a server_pool of its own",
                )
                context.check()
    context.check()


def _fabric(source: Source, layout: Layout, colors: tuple[Color, ...]) -> Fabric:
    spec = layout.spec
    spine = spec.spine_role()
    return Fabric(
        name=layout.name,
        site=spec.site or next(iter(source.spec.sites)),
        nics=spec.nics,
        colors=colors,
        leaf=RoleIntent(spec.leaf.device, spec.leaf.nos, spec.leaf.qos or spec.qos, spec.leaf.extra),
        spine=RoleIntent(spine.device, spine.nos, spine.qos or spec.qos, spine.extra),
        underlay=spec.underlay,
        router_advertisements=spec.router_advertisements,
        load_balancing=spec.load_balancing,
        mtu=spec.mtu,
        naming=spec.naming,
        server_mode=spec.addressing.server_mode,
        server_pool=spec.addressing.server_pool,
        local_prefixes=spec.addressing.local_prefixes or (spec.addressing.server_pool,),
        leaf_asns=spec.pools.leaf_asn,
        spine_asns=spec.pools.spine_asn,
        emulation=spec.emulation.path_color,
    )


def _servers(context: Context, nics_of: dict[str, list[Nic]]) -> tuple[Server, ...]:
    """Every server of the file, in its order, with its NICs of all fabrics."""
    sites = next(iter(context.source.spec.sites))
    known = {f"{server}:{nic.name}" for server, made in nics_of.items() for nic in made}
    for key in context.source.spec.overrides.nics:
        if key not in known:
            context.problem(("overrides", "nics", key), f"there is no NIC {key!r}", "write it as SERVER:NIC")
    context.check()
    return tuple(
        Server(
            name=name,
            site=group.site or sites,
            model=group.model,
            serial=context.source.inventory.get(name).serial,
            nics=tuple(nics_of.get(name, ())),
        )
        for group in context.source.spec.servers
        for name in group.names
    )
