"""Load balancing that only some switch models, releases and topologies have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.network.devices import Cable

MOST_LEAVES = 64
"""Leaves of a fabric with global load balancing (Juniper, Global Load Balancing: "Considerations")."""

NIC_ADAPTIVE_ROUTING = "nic-adaptive-routing"
"""The feature of switch models that a document has behind NICs with adaptive routing."""

SPRAYING = ("dlb-per-packet", "spray")
"""Modes under which packets of a queue pair take several paths, for which NICs turn adaptive routing on."""

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


DLB_INACTIVITY_SHORT = Rule(
    id="dlb-inactivity-short",
    severity="warning",
    applies="design",
    says="flowlets end after a pause that is shorter than any of the test reports'",
    why="a flow that moves to another link after so short a pause can overtake itself: packets out of order, which queue pairs "
    "answer by sending again (Apstra test report, known limitations: seen with 16 microseconds)",
    fix="use 256us, the recommended default, or 128us, which the EVPN test report measured",
)
DLB_MIXED_SPEEDS = Rule(
    id="dlb-mixed-speeds",
    severity="warning",
    applies="design",
    says="dynamic load balancing over uplinks of different speeds",
    why="it rates links by what they send and what waits for them, not by their speed: flows may be put on the slower one "
    "(Apstra test report, known limitations)",
    fix="give uplinks of a next-hop group one speed (`link_speed`, switch models), or use `reassignment` where it is documented",
)
ADAPTIVE_ROUTING_UNDOCUMENTED = Rule(
    id="adaptive-routing-undocumented",
    severity="warning",
    applies="design",
    says="NICs use adaptive routing behind switches that are not documented for it",
    why="the NICs then send every packet so that it may take any path, which adds 16 bytes to each and bounds what is under way "
    "(512 packets a queue pair), and no document says that these switches spread such packets as the NICs expect",
    fix="use mode dlb-flowlet, or try one pair of leaves first",
)
SHORTEST_TRIED_US = 128
"""The shortest pause between flowlets of the test reports' tables, microseconds (EVPN test report, Tables 1.1 to 3.1)."""


def check_balancing(context: Context, layout: Layout, cables: Sequence[Cable]) -> None:
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
    if wanted.group_mode() == "dlb-flowlet" and wanted.dlb.inactivity_interval < SHORTEST_TRIED_US:
        context.finding(
            DLB_INACTIVITY_SHORT,
            layout.name,
            (*at, "dlb", "inactivity_interval"),
            f"`inactivity_interval` is {wanted.dlb.inactivity_interval} us",
        )
    if wanted.group_mode().startswith("dlb"):
        _check_speeds(context, layout, cables)
    _check_adaptive_routing(context, layout)
    if wanted.dlb.reassignment and wanted.group_mode() == "dlb-flowlet":
        for device in _without(context, layout, "path-rebalancing"):
            context.finding(
                PATH_REBALANCING_UNDOCUMENTED,
                f"{layout.name} {device}",
                (*at, "dlb", "reassignment"),
                f"reactive path rebalancing is documented for QFX5240, not for {device}",
            )


def _check_speeds(context: Context, layout: Layout, cables: Sequence[Cable]) -> None:
    """Note next-hop groups that span speeds: the uplinks of a switch, of one path color where there are such."""
    found: dict[tuple[str, int | None], set[int]] = {}
    for one in cables:
        if one.kind == "fabric":
            found.setdefault((one.a.device, one.color), set()).add(one.speed_gbps)
    mixed: dict[tuple[int, ...], list[str]] = {}
    for (device, _), speeds in found.items():
        if len(speeds) > 1 and "dlb" not in layout.equipment[device].model.platform.lacks:
            mixed.setdefault(tuple(sorted(speeds)), []).append(device)
    for speeds, devices in mixed.items():
        first, *others = dict.fromkeys(devices)
        more = f" and {len(others)} more" if others else ""
        shown = " and ".join(f"{speed}G" for speed in speeds)
        what = f"uplinks of {shown} in one group of {first}{more}"
        context.finding(DLB_MIXED_SPEEDS, layout.name, ("fabrics", layout.name, "topology", "link_speed"), what)


def _check_adaptive_routing(context: Context, layout: Layout) -> None:
    """Note models behind which the NICs would use adaptive routing, and which no document has with it."""
    if layout.spec.load_balancing.group_mode() not in SPRAYING:
        return
    nics = {context.catalog.nics[server.nics.nic].vendor for server in layout.servers}
    if "NVIDIA" not in nics:
        return
    kinds = (kind for kind in layout.kinds() if NIC_ADAPTIVE_ROUTING not in kind.model.features)
    for device in dict.fromkeys(kind.role.device for kind in kinds):
        what = f"ConnectX NICs send for adaptive routing, and no document has {device} with that"
        where = ("fabrics", layout.name, "load_balancing", "mode")
        context.finding(ADAPTIVE_ROUTING_UNDOCUMENTED, f"{layout.name} {device}", where, what)


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
