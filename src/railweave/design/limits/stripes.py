"""Stripes of a fabric that no server is in, and servers whose order leads from stripe to stripe more often than it has to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule
from railweave.model.network.rank_order import crossings, fewest_crossings

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout

STRIPE_EMPTY = Rule(
    id="stripe-empty",
    severity="warning",
    applies="design",
    says="a stripe has no servers",
    why="its leaves are bought, cabled to every spine and carry nothing",
    fix="put servers there with `stripe:`, or leave the stripe out until they come: the lock keeps every number as it is (docs/lock.md)",
)

RANK_ORDER_CROSSES = Rule(
    id="rank-order-crosses",
    severity="info",
    applies="design",
    says="a ring over the servers in their order in the file crosses the spines more often than it has to",
    why="NCCL keeps the order of nodes, so more NICs of a leaf share its uplinks, where servers of a stripe are not together",
    fix="name the servers of a stripe one after another, or give `mpirun.sh` and `sim` an order with `--hosts`",
)


def note_rank_order(context: Context, layout: Layout) -> None:
    """Note where the servers' order makes more hops between stripes than there have to be; tenants' jobs have orders of their own."""
    if layout.spec.tenants or layout.rails < 2:  # rings run where servers have a NIC for each GPU, or for a few of them
        return
    stripes = {server.name: server.stripe for server in layout.servers}
    crossing, least = crossings(list(stripes), stripes), fewest_crossings(list(stripes), stripes)
    if crossing > least:
        what = f"{crossing} of {len(stripes)} hops of a ring cross the spines, {least} would do"
        context.finding(RANK_ORDER_CROSSES, layout.name, ("servers",), what)


def note_empty_stripes(context: Context, layout: Layout) -> None:
    """Note the stripes without servers, where the fabric has servers at all."""
    if not layout.servers:
        return
    used = {server.stripe for server in layout.servers}
    empty = [name for name in dict.fromkeys(leaf.stripe for leaf in layout.leaves) if name not in used]
    at = ("fabrics", layout.name, "topology", "stripes")
    kept = sum(len(context.source.lock.pools.get(f"{layout.name}/servers/{one}", {})) for one in used)
    lock = context.source.path.with_suffix(".lock").name
    held = f": {lock} keeps those that were placed before where they are" if kept else ""
    if empty and not any(group.stripe for group in context.source.spec.servers):
        # Nobody chose where servers stand, so that what is left over is a number that is too high: said once.
        stripes = f"stripe {empty[0]!r} has" if len(empty) == 1 else f"{len(empty)} stripes from {empty[0]!r} on have"
        fix = f"count {len(used)} in `stripes` until more servers come: the lock keeps every number as it is"
        context.finding(STRIPE_EMPTY, layout.name, at, f"{stripes} no servers{held}", fix=fix)
        return
    for name in empty:
        context.finding(STRIPE_EMPTY, f"{layout.name} {name}", at, f"stripe {name!r} has no servers{held}")
