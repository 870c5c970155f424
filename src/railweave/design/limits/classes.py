"""Lossless classes that do not get what they are for: nothing classified into them, no share, marking or buffers on one tier alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.qos import Qos
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.fabric import RoleIntent, RoleName

LOSSLESS_NO_DSCP = Rule(
    id="lossless-no-dscp",
    severity="warning",
    applies="design",
    says="a lossless class beside that of RDMA data has no DSCP",
    why="no packet is classified into it, and switches and NICs keep headroom, a queue and a share for it",
    fix="give it `dscp:`, or remove the class",
)
LOSSLESS_NO_SHARE = Rule(
    id="lossless-no-share",
    severity="warning",
    applies="design",
    says="one of several lossless classes has no `bandwidth`",
    why="a NIC divides what the other classes leave between it and all other traffic, and SONiC gives it the least weight there is",
    fix="give each lossless class a `bandwidth`, so that together with the other classes they are at most 100",
)
MARKED_ON_ONE_TIER = Rule(
    id="marked-on-one-tier",
    severity="warning",
    applies="design",
    says="switches of one role mark a lossless class (ECN), and those of another do not",
    why="senders do not slow down for congestion where nothing is marked, so that PFC spreads it",
    fix="give the class `ecn` in the `qos` of every role, or in none: a role with a `qos` of its own takes nothing of the fabric's",
)
LOSSLESS_POOL_IDLE = Rule(
    id="lossless-pool-idle",
    severity="warning",
    applies="design",
    says="switches that pause on none of their ports keep most of their buffer for lossless classes",
    why="with `pfc.ports` all their classes are lossy, RDMA data too, and share the pool of lossy classes",
    fix="give that role a `qos` of its own with the same classes and `pfc`, and `buffers: {lossless: 5, headroom: 5, lossy: 90, "
    "egress_lossless: 5, egress_lossy: 85, egress_multicast: 10}`",
)


def check_lossless(context: Context, layout: Layout, base: Location, qos: Qos) -> None:
    """Findings of lossless classes that nothing is classified into, or that have no share of a NIC."""
    shares = qos.nic_shares(context.source.spec.hosts.roce_bandwidth)
    for name, one in qos.classes.items():
        if not one.lossless:
            continue
        at = (*base, "classes", name)
        if not one.dscp and name != qos.rdma_name():
            context.finding(LOSSLESS_NO_DSCP, layout.name, at, f"lossless class {name} has no DSCP")
        if one.nic_share is None and len(shares) > 1:
            what = f"lossless class {name} has no `bandwidth`: NICs give it {shares[name]} %"
            context.finding(LOSSLESS_NO_SHARE, layout.name, at, what)


def check_roles(context: Context, layout: Layout, roles: Mapping[RoleName, RoleIntent]) -> None:
    """Findings of roles that treat a lossless class otherwise than leaves do, and of buffers that nothing uses."""
    at = ("fabrics", layout.name)
    able: list[RoleName] = [name for name in layout.tiers if context.catalog.systems[roles[name].nos].queues]
    leaf = roles["leaf"].qos if "leaf" in able else None
    for name in able:
        qos = roles[name].qos
        for key, one in leaf.classes.items() if leaf and name != "leaf" else ():
            other = qos.classes.get(key)
            if one.lossless and other and (one.ecn is None) != (other.ecn is None):
                marks, not_ = (name, "leaf") if one.ecn is None else ("leaf", name)
                what = f"{marks} switches mark class {key} (ECN), and {not_} switches do not"
                context.finding(MARKED_ON_ONE_TIER, layout.name, (*at, name.replace("-", "_"), "qos"), what)
        if (
            name != "leaf"
            and qos.lossless_class()
            and not qos.pfc.pauses("fabric")
            and qos.buffers.lossless > qos.buffers.lossy
        ):
            what = (
                f"{name} switches pause on no port, and keep {qos.buffers.lossless} % of their buffer for lossless classes "
                f"and {qos.buffers.lossy} % for all others"
            )
            context.finding(LOSSLESS_POOL_IDLE, layout.name, (*at, "qos", "pfc", "ports"), what)
