"""Load balancing that only some switch models, releases and topologies have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.findings.registry import Rule

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout

MOST_LEAVES = 64
"""Leaves of a fabric with global load balancing (Juniper, Global Load Balancing: "Considerations")."""


SELECTIVE_DLB_ABSENT = Rule(
    id="selective-dlb-absent",
    severity="warning",
    applies="design",
    says="a switch model or release is not documented to pick packets for DLB by RDMA opcode; it balances all",
    why="it balances all packets by the mode of the group",
    fix="choose other models or a later release, or leave `selective:` away",
)
PATH_REBALANCING_UNDOCUMENTED = Rule(
    id="path-rebalancing-undocumented",
    severity="info",
    applies="design",
    says="`reassignment` on a switch model that it is not documented for",
    why="the switch may refuse or ignore `reassignment`",
    fix="check one with `commit check`",
)


def check_balancing(context: Context, layout: Layout) -> None:
    """Note where switches lack a form of load balancing that was asked for, and where a topology rules it out."""
    wanted = layout.spec.load_balancing
    at = ("fabrics", layout.name, "load_balancing")
    if wanted.global_balancing:
        _check_global(context, layout)
    if wanted.selective:
        for device in _without(context, layout, "selective-dlb"):
            context.finding(
                SELECTIVE_DLB_ABSENT,
                f"{layout.name} {device}",
                (*at, "selective"),
                f"{device} is not documented to pick packets for DLB by RDMA opcode (`selective`)",
                why=f"it balances all packets by {wanted.group_mode()}",
            )
    if wanted.dlb.reassignment and wanted.group_mode() == "dlb-flowlet":
        for device in _without(context, layout, "path-rebalancing"):
            context.finding(
                PATH_REBALANCING_UNDOCUMENTED,
                f"{layout.name} {device}",
                (*at, "dlb", "reassignment"),
                f"reactive path rebalancing is documented for QFX5240, not for {device}",
            )


def _without(context: Context, layout: Layout, feature: str) -> list[str]:
    """The models and releases that lack a feature, as they are called; emulation is not asked."""
    systems = context.catalog.systems
    return list(
        dict.fromkeys(
            f"{kind.role.device} on {kind.role.nos} {kind.role.release or systems[kind.role.nos].release}"
            for kind in layout.kinds()
            if feature not in kind.model.features or not systems[kind.role.nos].has(feature, kind.role.release)
        )
    )


def _check_global(context: Context, layout: Layout) -> None:
    topology = layout.spec.topology
    at = ("fabrics", layout.name, "load_balancing", "global_balancing")
    reasons: list[tuple[str, str]] = [
        (f"{device} does not have it", "use QFX5240 switches and Junos 23.4 or later throughout")
        for device in _without(context, layout, "global-load-balancing")
    ]
    if topology.super_spines or not layout.spines:
        reasons.append(("it works in leaf-spine-leaf fabrics only", "turn it off"))
    if topology.links_per_spine > 1:
        what = f"it knows one link between a leaf and a spine, and there are {topology.links_per_spine}"
        reasons.append((what, "set links_per_spine: 1, with more spines"))
    if len(layout.leaves) > MOST_LEAVES:
        reasons.append((f"it takes {MOST_LEAVES} leaves, and there are {len(layout.leaves)}", "turn it off"))
    if layout.spec.evpn() is not None:
        reasons.append(("it does not act on routes of tenants and overlays", "turn it off"))
    for what, fix in reasons:
        context.problem(at, f"no global load balancing: {what}", fix)
