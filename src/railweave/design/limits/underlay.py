"""What the routing protocol of a fabric asks of the rest of it."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.design.context import Context
    from railweave.design.shape.equipment import Equipment
    from railweave.model.intent.fabric import Fabric

DPF_RELEASE = Rule(
    id="dpf-release",
    severity="warning",
    applies="design",
    says="`path_color: dpf` on a release before the first that documents agree on",
    why="it is rendered because the fabric file asks for it by name; a release that lacks it refuses the commit",
    fix="check one leaf and one spine with `commit check`, or leave `path_color` at auto",
)

IPV6_OVER_IPV4 = Rule(
    id="ipv6-over-ipv4-links",
    severity="warning",
    applies="design",
    says="switches are to exchange IPv6 routes over links that have IPv4 addresses alone",
    why="the next hop of such a route is the IPv4 address written as an IPv6 one, which is on no link: Junos ignores the route, and no "
    "public document shows what other systems do",
    fix="give `pools.fabric_links` an IPv6 prefix, or use `peering: auto-discovered`: IPv4 routes then have IPv6 next hops (RFC 8950)",
)

LINKS_AMONG_SERVERS = Rule(
    id="links-among-servers",
    severity="warning",
    applies="design",
    says="links between switches have addresses of a pool of servers",
    why="a leaf originates what its ports have of these pools: on Junos it then advertises its links, too",
    fix="give `pools.fabric_links` a prefix of its own",
)


def check_underlay(context: Context, name: str, fabric: Fabric) -> None:
    """Note where path colors, tenants or addresses ask for what IS-IS, or an interconnect of leaves, does not have."""
    at = ("fabrics", name)
    colored = fabric.load_balancing.mode == "rlb"
    if fabric.underlay.protocol == "isis":
        where = (*at, "underlay", "protocol")
        if colored:
            context.problem(
                where, "IS-IS has no policies to carry path colors by", "use `protocol: bgp`, or another mode"
            )
        if fabric.evpn() is not None:
            context.problem(where, "tenants need BGP for their routes", "use `protocol: bgp`, or leave tenants out")
        if fabric.underlay.peering != "numbered":
            what = "IS-IS needs addresses on its links"
            context.problem(where, what, "set `peering: numbered` and `pools: {fabric_links: 10.254.0.0/16}`")
        if fabric.topology.planes or fabric.topology.super_spines:
            part = "planes" if fabric.topology.planes else "super-spines"
            what = f"IS-IS is not designed for a fabric with {part}: it is for one set of spines, or an interconnect"
            context.problem(where, what, f"use `protocol: bgp`, or leave {part} out")
    across = fabric.topology.interconnect
    if across is not None and not across.routers and colored:
        context.problem(
            (*at, "load_balancing", "mode"),
            "there are no spines that path colors could lead to",
            "use spray, dlb-flowlet or ecmp",
        )
    if across is not None and colored and fabric.underlay.path_color == "dpf":
        context.problem(
            (*at, "underlay", "path_color"),
            "dpf does not reach over an interconnect: its routers pass on one copy of a prefix, with one color",
            "use `path_color: local-preference`, or leave it empty",
        )
    if across is not None and fabric.evpn() is not None:
        context.problem(
            (*at, "topology", "interconnect"),
            "tenants over an interconnect are not designed: their overlay ends at the spines",
            "leave tenants out, or give each site a fabric of its own",
        )
    context.check()


def check_systems(context: Context, name: str, fabric: Fabric, equipment: Iterable[Equipment]) -> None:
    """Note switches whose operating system does not have the underlay's protocol, or perhaps not its path colors."""
    equipment = list(equipment)
    if fabric.underlay.path_color == "dpf" and fabric.load_balancing.mode == "rlb":
        _note_dpf(context, name, equipment)
    _note_links(context, name, fabric, equipment)
    if fabric.underlay.protocol != "isis":
        return
    for one in equipment:
        if not context.catalog.systems[one.role.nos].isis:
            context.problem(
                ("fabrics", name, "underlay", "protocol"),
                f"no public document has IS-IS on {one.role.nos}, which {one.role.device} is to run",
                "set `underlay: {protocol: bgp}`, or another system for that switch",
            )


def _note_dpf(context: Context, name: str, equipment: Iterable[Equipment]) -> None:
    said: set[str] = set()
    for one in equipment:
        system = context.catalog.systems[one.role.nos]
        entry, release = system.capabilities.get("path-color-dpf"), one.role.release or system.release
        if entry is None or system.has("path-color-dpf", release) or release in said:
            continue
        said.add(release)
        what = f"`path_color: dpf` on {system.description} {release}, which may not have it ({entry.source})"
        context.finding(DPF_RELEASE, name, ("fabrics", name, "underlay", "path_color"), what)


def _note_links(context: Context, name: str, fabric: Fabric, equipment: Iterable[Equipment]) -> None:
    """Note links with addresses of servers, and IPv6 routes that would go over sessions of IPv4, where that is not known to work."""
    underlay, overlay, links = fabric.underlay, fabric.evpn(), fabric.pools.fabric_links
    if underlay.protocol != "bgp" or underlay.peering != "numbered":
        return
    own = [fabric.addressing, *fabric.addressing.other_links.values()]
    pools = [pool for one in own for pool in one.pools()] if overlay is None else []
    around = next((pool for pool in pools if _overlap(pool, links)), None)
    if around is not None:
        what = f"links have addresses of {links}, and servers of {around}"
        context.finding(LINKS_AMONG_SERVERS, name, ("fabrics", name, "pools", "fabric_links"), what)
    routed = [":" in pool for pool in pools] if overlay is None else [overlay.vtep == "ipv6"]
    if ":" in links or not any(routed):
        return
    systems = dict.fromkeys(one.role.nos for one in equipment)
    lacking = [one for one in systems if not context.catalog.systems[one].has("ipv6-over-ipv4")]
    if lacking:
        what = f"links have IPv4 addresses alone, and {' and '.join(lacking)} switches are to exchange IPv6 routes over them"
        context.finding(IPV6_OVER_IPV4, name, ("fabrics", name, "pools", "fabric_links"), what)


def _overlap(one: str, other: str) -> bool:
    mine, theirs = ipaddress.ip_network(one), ipaddress.ip_network(other)
    return mine.version == theirs.version and mine.overlaps(theirs)
