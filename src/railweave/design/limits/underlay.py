"""What the routing protocol of a fabric asks of the rest of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.design.context import Context
    from railweave.design.shape.equipment import Equipment
    from railweave.intent.fabric import Fabric


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
            context.problem(where, "IS-IS is for leaves, spines and an interconnect only", "use `protocol: bgp`")
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
    """Note switches whose operating system does not have the underlay's protocol."""
    if fabric.underlay.protocol != "isis":
        return
    for one in equipment:
        if not context.catalog.systems[one.role.nos].isis:
            context.problem(
                ("fabrics", name, "underlay", "protocol"),
                f"no public document has IS-IS on {one.role.nos}, which {one.role.device} is to run",
                "set `underlay: {protocol: bgp}`, or another system for that switch",
            )
