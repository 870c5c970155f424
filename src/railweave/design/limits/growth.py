"""Findings about growth, empty stripes, the server order between stripes, and paths that are not fixed to links.

The function ``growth`` depends only on a fabric's switches and cables.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.design.sizing.shapes import growth_steps, ports_of
from railweave.design.sizing.size import Shape as SizedShape
from railweave.design.sizing.size import Size, SizeRequest
from railweave.design.sizing.words import growth_lines
from railweave.model.catalog import catalog
from railweave.model.findings.registry import Rule
from railweave.model.intent.topology import PortRange
from railweave.model.network.devices import Cable, Color, RoleName, Switch, crossings, fewest_crossings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.catalog.models import Catalog


def size_of(catalog: Catalog, layout: Layout) -> Size | None:
    """Return the size of a two- or three-tier fabric (``design.sizing``), or None if sizing does not support one of its features.

    These features are not supported:

    - several models of switches or servers
    - links at a different speed than the NICs
    - ports or servers whose positions the file sets
    - several rails on a leaf
    - several sites
    """
    topology, kinds = layout.spec.topology, layout.kinds()
    models, servers = {kind.role.device for kind in kinds}, {server.model for server in layout.servers}
    if len(models) != 1 or len(servers) != 1 or not layout.spines or topology.interconnect or layout.spec.nics != "gpu":
        return None
    roles = [kind.role for kind in kinds]
    if any([role.server_ports, role.uplink_ports, role.leaf_ports] != [PortRange()] * 3 for role in roles):
        return None
    if (
        topology.port_planes > 1
        or any(len(leaf.rails) > 1 for leaf in layout.leaves)
        or set(layout.nic_speeds.values()) != {topology.link_speed}
    ):
        return None
    placed = Counter(server.stripe for server in layout.servers)
    server = servers.pop()
    gpus = len(layout.servers) * catalog.servers[server].gpus
    wanted = SizeRequest(gpus, server, models.pop(), max(1.0, topology.oversubscription))
    ports, fullest = ports_of(catalog, wanted), max(placed.values())
    uplinks = len(topology.spine_names()) * topology.links_per_spine
    if fullest > ports.down or uplinks > ports.up:
        return None
    shape: SizedShape = "rail-planes" if topology.planes else "super-spine" if layout.super_spines else "two-tier"
    return Size(
        shape,
        wanted,
        ports,
        len(layout.servers),
        len(topology.stripe_names()),
        fullest,
        len(topology.spine_names()),
        topology.links_per_spine,
        topology.stripes_per_pod or 0,
        topology.super_spines,
        topology.links_per_super_spine if topology.super_spines else 0,
    )


STRIPE_EMPTY = Rule(
    id="stripe-empty",
    severity="warning",
    applies="design",
    fault="a stripe has no servers",
    why="the leaves of this stripe are paid for and cabled to every spine, but carry no traffic",
    fix="put servers there with `stripe:`, or leave the stripe out until they come: the lock keeps every number as it is (docs/day-two.md#change-the-design-diff-lock-status)",
)

RANK_ORDER_CROSSES = Rule(
    id="rank-order-crosses",
    severity="info",
    applies="design",
    fault="a ring over the servers, in the order of the fabric file, crosses the spines more often than necessary",
    why="NCCL keeps the order of servers; if servers of a stripe are not next to each other, more NICs of a leaf "
    "share its uplinks",
    fix="list the servers of a stripe one after another, or set the order with `--hosts` of `mpirun.sh` and `sim`",
)


def note_rank_order(context: Context, layout: Layout) -> None:
    """Record a finding if the order of servers in the file makes a ring of all servers cross the spines more often than necessary.

    Fabrics with tenants are not checked, because each tenant's jobs have a separate server order.
    """
    if layout.spec.tenants or layout.rails < 2:  # rings run where servers have a NIC for each GPU, or for a few of them
        return
    stripes = {server.name: server.stripe for server in layout.servers}
    crossing, least = crossings(list(stripes), stripes), fewest_crossings(list(stripes), stripes)
    if crossing > least:
        message = f"{crossing} of {len(stripes)} hops of a ring cross the spines, but {least} would be enough"
        context.finding(RANK_ORDER_CROSSES, layout.name, ("servers",), message)


def note_empty_stripes(context: Context, layout: Layout) -> None:
    """Record a finding for each stripe without servers, or one finding for all if no server group names its stripe.

    A fabric without any servers gets no finding.
    """
    if not layout.servers:
        return
    used = {server.stripe for server in layout.servers}
    empty = [name for name in dict.fromkeys(leaf.stripe for leaf in layout.leaves) if name not in used]
    at = ("fabrics", layout.name, "topology", "stripes")
    kept = sum(len(context.source.lock.pools.get(f"{layout.name}/servers/{stripe}", {})) for stripe in used)
    lock = context.source.path.with_suffix(".lock").name
    held = f": {lock} keeps earlier servers where they are" if kept else ""
    if empty and not any(group.stripe for group in context.source.spec.servers):
        # Nobody chose where servers stand, so that what is left over is a number that is too high: said once.
        stripes = f"stripe {empty[0]!r} has" if len(empty) == 1 else f"{len(empty)} stripes from {empty[0]!r} on have"
        fix = f"set `stripes` to {len(used)} until there are more servers: the lock keeps every number"
        context.finding(STRIPE_EMPTY, layout.name, at, f"{stripes} no servers{held}", fix=fix)
        return
    for name in empty:
        context.finding(STRIPE_EMPTY, f"{layout.name} {name}", at, f"stripe {name!r} has no servers{held}")


Pinned = Literal["link", "color", "spine"]
Shape = Literal["one-stripe", "two-tier", "rail-planes", "super-spines", "sites"]


SPINES_FULL = Rule(
    id="spines-full",
    severity="info",
    applies="design",
    fault="the spines (or super-spines) have no free port for a further stripe; `init` prints the cost of twice the "
    "servers",
    why="no further stripe can be connected without recabling",
    fix="for growth, use one plane per rail, super-spines, or spines with more ports; the finding has the numbers",
)
RAIL_PLANES = Rule(
    id="rail-planes",
    severity="info",
    applies="design",
    fault="each rail is a separate network; traffic between rails passes through servers",
    why="between rails, NCCL forwards traffic over the links between the GPUs of a server (PXN)",
    fix="leave PXN enabled (NCCL_PXN_DISABLE=0, the default), or join the rails by common spines as long as these "
    "have free ports",
)
PINNED_TO_THE_SPINE = Rule(
    id="pinned-to-the-spine",
    severity="info",
    applies="design",
    fault="in a network with super-spines, the path of a queue pair is fixed only up to the spine",
    why="queue pairs of different path colors never share a spine of their pod or site, but may share links above it",
    fix="keep jobs inside a pod or site if they need fixed paths",
)


@dataclass(frozen=True, slots=True)
class Growth:
    """The free capacity of a fabric for growth.

    - ``shape``: the kind of topology, for example ``two-tier``.
    - ``top``: the role of the top tier.
    - ``ports`` and ``used``: the number of all ports (at link speed) and of used ports of the fullest switch in the top tier.
    - ``free_stripes``: the number of stripes that can be added without moving a cable.
    - ``pinned``: the part of a queue pair's path that is fixed. ``link``: one link in each hop. ``color``: the uplinks
      of its color. ``spine``: only the path up to the spine.
    """

    fabric: str
    shape: Shape
    top: RoleName
    ports: int
    used: int
    free_stripes: int
    pinned: Pinned

    @property
    def full(self) -> bool:
        """True if no more stripes can be connected."""
        return self.top != "leaf" and self.free_stripes == 0


def growth(
    fabric: str, switches: Sequence[Switch], cables: Sequence[Cable], colors: Sequence[Color], *, by_port: bool = False
) -> Growth:
    """Return the free capacity of a fabric for growth, from its switches and the cables between them.

    ``by_port`` is True if each port of a NIC has its own plane. Each plane then connects all rails.
    """
    roles = {switch.role for switch in switches}
    top: RoleName = "super-spine" if "super-spine" in roles else "spine" if "spine" in roles else "leaf"
    shape: Shape = "two-tier"
    if top == "super-spine":
        shape = "super-spines"
    elif any(switch.plane for switch in switches) and not by_port:
        shape = "rail-planes"
    elif top == "leaf":
        shape = "one-stripe"
    elif "dci" in roles:
        shape = "sites"
    members = {switch.name: switch for switch in switches if switch.role == top}
    taken: dict[str, int] = dict.fromkeys(members, 0)
    uplinks: dict[tuple[str, int | None], int] = {}
    leaves = {switch.name for switch in switches if switch.role == "leaf"}
    for cable in cables:
        if cable.b.device in taken:
            taken[cable.b.device] += 1
        if cable.a.device in leaves:
            uplinks[cable.a.device, cable.color] = uplinks.get((cable.a.device, cable.color), 0) + 1
    below = [cable.speed_gbps for cable in cables if cable.b.device in members]  # not those between sites
    speed = max(below, default=0)
    room = {model: _ports(model, speed) for model in {switch.model for switch in members.values()}}
    fullest = min(taken, key=lambda name: room[members[name].model] - taken[name])
    ports = room[members[fullest].model] if cables else 0
    ports -= sum(cable.a.device == fullest for cable in cables)  # where what is on top of stripes has links onwards
    used = taken[fullest]
    blocks, stripes = _below(switches, shape, members[fullest])
    # a stripe takes as many ports of the fullest switch as those that are there; a pod brings as many stripes as others
    free = (ports - used) // max(1, -(-used // blocks)) * (stripes // blocks) if used else 0
    pinned: Pinned = "link" if colors and max(uplinks.values(), default=1) == 1 else "color"
    return Growth(fabric, shape, top, ports, used, free, "spine" if shape in {"super-spines", "sites"} else pinned)


def _below(switches: Sequence[Switch], shape: Shape, top: Switch) -> tuple[int, int]:
    """Return (number of stripes or pods connected to ``top``, number of stripes that they contain).

    ``top`` is the fullest switch of the top tier, and ``shape`` the kind of topology. With several sites, only stripes at the site of
    ``top`` count.
    """
    stripes = len({switch.stripe for switch in switches if switch.role == "leaf"})
    if shape == "super-spines":
        return len({switch.pod for switch in switches if switch.role == "spine" and switch.plane == top.plane}), stripes
    if shape == "sites":
        stripes = len({switch.stripe for switch in switches if switch.role == "leaf" and switch.pod == top.pod})
    return max(1, stripes), max(1, stripes)


def _ports(model: str, speed_gbps: int) -> int:
    """Return the number of links of ``speed_gbps`` that a switch model can have, with its ports split into channels of this speed."""
    switch_model = catalog().switches.get(model)
    ports = [
        group.count * mode.channels
        for group in (switch_model.ports if switch_model else ())
        for mode in group.modes()
        if mode.speed_gbps == speed_gbps
    ]
    return max(ports, default=0)


def note_growth(context: Context, fabric_growth: Growth, layout: Layout) -> None:
    """Record findings about limits of the fabric's topology, from its free capacity (``fabric_growth``).

    There is a finding if the fabric cannot grow, if no path connects its rails, and if path colors fix only the path up to the spine.
    """
    spread = layout.spine_uplinks
    at = ("fabrics", fabric_growth.fabric, "topology")
    tier = f"{fabric_growth.top}s"
    if fabric_growth.full:
        context.finding(
            SPINES_FULL,
            fabric_growth.fabric,
            at,
            f"the {tier} are full: {fabric_growth.used} of the {fabric_growth.ports} ports of each "
            f"{fabric_growth.top} are in use",
            fix=ways_out(layout, fabric_growth),
        )
    if fabric_growth.shape == "rail-planes":
        context.finding(
            RAIL_PLANES,
            fabric_growth.fabric,
            at,
            "each rail is a separate network: a NIC reaches only NICs of its own rail",
        )
    if fabric_growth.shape == "sites":
        context.finding(
            PINNED_TO_THE_SPINE,
            fabric_growth.fabric,
            at,
            "between sites, the path of a queue pair is fixed only up to the spine. The spine's hash then "
            f"selects one of {spread} links to the routers of the interconnect, and another hash selects a "
            "link on the way down",
            why="queue pairs with different path colors never share a spine of their site, but they may share a "
            "link between sites",
            fix="keep jobs inside a site if they need fixed paths",
        )
    elif fabric_growth.pinned == "spine":
        context.finding(
            PINNED_TO_THE_SPINE,
            fabric_growth.fabric,
            at,
            "between pods, the path of a queue pair is fixed only up to the spine. The spine's hash then "
            f"selects one of {spread} links to super-spines, and another hash selects a link on the way down",
            why="queue pairs of different path colors never share a spine of their pod, but two of the same color "
            "may share links above it",
            fix="keep jobs inside a pod if they need fixed paths, or use rail planes (`planes: rail`)",
        )


def ways_out(layout: Layout, fabric_growth: Growth) -> str:
    """Return advice on extending a full fabric: the steps to twice the number of servers.

    If these steps cannot be computed, return general advice that depends on ``fabric_growth``, the fabric's free capacity.
    """
    counted = size_of(catalog(), layout)
    if counted is not None:
        return "; or ".join(growth_lines(growth_steps(catalog(), counted, 2.0, every=True), 2.0))
    ways: list[str] = []
    topology = layout.spec.topology
    links = topology.links_per_super_spine if fabric_growth.shape == "super-spines" else topology.links_per_spine
    if links > 1:
        ways.append(
            f"more {fabric_growth.top}s with fewer than {links} links to each (most cables to them must be laid again)"
        )
    by_port = topology.port_planes > 1
    if fabric_growth.shape == "two-tier" and not by_port and layout.rails > len(layout.leaves[0].rails):
        ways.append("one plane per rail (`planes: rail`; every leaf-spine cable must be laid again)")
    if fabric_growth.shape == "two-tier" and not by_port:
        ways.append("super-spines (`stripes_per_pod`, `super_spines`), which need half the ports of every spine")
    return "growth takes " + ", or ".join([*ways, f"{fabric_growth.top}s with more ports"])
