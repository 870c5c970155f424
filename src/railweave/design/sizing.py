"""From "I have so many GPUs and these switches" to a fabric: every shape counted, and the one to take.

Arithmetic on the catalog alone. But for the first, shapes are rail-optimised with one leaf a rail and stripe:

- ``one-leaf``: every NIC on one switch.
- ``two-tier``: one set of spines joins all leaves. It ends where a spine has a port for every leaf.
- ``rail-planes``: each rail has spines of its own, so there are as many times more leaves as rails; no path from rail to
  rail. A rail of one leaf needs no spines.
- ``super-spine``: pods of stripes with spines of their own, half of whose ports go up to super-spines.

A spine takes the same number of links from every leaf it joins, a power of two, as many as its ports allow once grown;
then growth up to the size asked for moves no cable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from railweave.design.ports import breakout_of, default_server_first
from railweave.spec.topology import PortRange, Topology

if TYPE_CHECKING:
    from railweave.catalog.models import Catalog

Shape = Literal["one-leaf", "two-tier", "rail-planes", "super-spine"]
SHAPES: tuple[Shape, ...] = ("one-leaf", "two-tier", "rail-planes", "super-spine")

MOST_COLORS = 8
"""Path colors per NIC: with more uplinks a color spans several (16 addresses are Linux's default, the link-local counts)."""

MOST_LINKS = 64
"""Most parallel links between two switches (``links_per_spine``)."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for: ``growth`` is how many times as many GPUs the fabric is to take without moving a cable."""

    gpus: int
    server: str
    switch: str
    oversubscription: float = 1.0
    growth: float = 1.0


@dataclass(frozen=True, slots=True)
class Ports:
    """How the ports of the switches are used.

    ``down_built`` of a leaf's ports face servers, ``down`` of them are used where the uplinks are to suffice.
    ``per_module`` is how many links a pluggable at a switch carries.
    """

    speed_gbps: int
    total: int
    down_built: int
    down: int
    up: int
    per_module: int
    rails: int
    gpus_per_server: int


@dataclass(frozen=True, slots=True)
class Size:
    """A fabric of one shape, counted. ``spines`` are those a leaf sees; ``super_spines`` those a spine sees."""

    shape: Shape
    wanted: Wanted
    ports: Ports
    servers: int
    stripes: int
    servers_per_stripe: int
    spines: int
    links_per_spine: int
    stripes_per_pod: int = 0
    super_spines: int = 0
    links_per_super_spine: int = 0

    @property
    def pods(self) -> int:
        """Pods under super-spines, else 1."""
        return -(-self.stripes // self.stripes_per_pod) if self.stripes_per_pod else 1

    @property
    def blocks(self) -> int:
        """Sets of spines: one a rail plane, one a pod."""
        return self.ports.rails if self.shape == "rail-planes" else self.pods

    @property
    def uplinks(self) -> int:
        """Uplinks of a leaf."""
        return self.spines * self.links_per_spine

    @property
    def colors(self) -> int:
        """Path colors per NIC."""
        return colors_of(self.uplinks)

    @property
    def leaf_switches(self) -> int:
        """Leaves in all."""
        return self.stripes * self.leaves_per_stripe

    @property
    def leaves_per_stripe(self) -> int:
        """One leaf a rail, or one for all."""
        return 1 if self.shape == "one-leaf" else self.ports.rails

    @property
    def spine_switches(self) -> int:
        """Spines in all."""
        return self.spines * self.blocks

    @property
    def super_spine_switches(self) -> int:
        """Super-spines in all."""
        return self.spines * self.super_spines

    @property
    def switches(self) -> int:
        """Switches in all."""
        return self.leaf_switches + self.spine_switches + self.super_spine_switches

    @property
    def server_cables(self) -> int:
        """Cables from servers to leaves."""
        return self.servers * self.ports.rails

    @property
    def fabric_cables(self) -> int:
        """Cables between switches."""
        return self.leaf_switches * self.uplinks + self.spine_switches * self.super_spines * self.links_per_super_spine

    @property
    def modules(self) -> int:
        """Pluggables: one a NIC, and one for every ``per_module`` links of a switch."""
        each = self.ports.per_module
        full, rest = divmod(self.servers, self.servers_per_stripe)
        rails = self.ports.rails // self.leaves_per_stripe
        per_leaf = full * -(-self.servers_per_stripe * rails // each) + -(-rest * rails // each)
        leaf_down = self.leaves_per_stripe * per_leaf
        leaf_up = self.leaf_switches * -(-self.uplinks // each)
        above = self.super_spines * self.links_per_super_spine
        spine_up = self.spine_switches * -(-above // each)
        last = self.stripes - (self.pods - 1) * self.stripes_per_pod if self.stripes_per_pod else 0
        if self.shape == "super-spine":
            used = [self.stripes_per_pod * self.ports.rails] * (self.pods - 1) + [last * self.ports.rails]
        elif self.shape == "rail-planes":
            used = [self.stripes] * self.ports.rails
        else:
            used = [self.leaf_switches]
        spine_down = sum(self.spines * -(-leaves * self.links_per_spine // each) for leaves in used)
        top = self.super_spine_switches * -(-self.pods * self.links_per_super_spine // each)
        return self.server_cables + leaf_down + leaf_up + spine_down + spine_up + top

    @property
    def spare_leaf_ports(self) -> int:
        """Server ports of the leaves in place that no server has yet."""
        return self.stripes * self.servers_per_stripe * self.ports.rails - self.server_cables

    @property
    def top_used(self) -> int:
        """Ports in use on a switch of the top tier."""
        if self.shape == "super-spine":
            return self.pods * self.links_per_super_spine
        return (self.stripes if self.shape == "rail-planes" else self.leaf_switches) * self.links_per_spine

    @property
    def spare_top_ports(self) -> int:
        """Ports free on each switch of the top tier: what more leaves or pods are cabled to."""
        return self.ports.total - self.top_used if self.spines else 0


@dataclass(frozen=True, slots=True)
class Refused:
    """A shape that does not fit, and why."""

    shape: Shape
    why: str


def colors_of(uplinks: int) -> int:
    """Path colors per NIC for so many uplinks of a leaf: one each up to eight, else the most that divide them equally."""
    return next((count for count in range(min(uplinks, MOST_COLORS), 0, -1) if uplinks % count == 0), 1)


def ports_of(catalog: Catalog, wanted: Wanted) -> Ports:
    """How a switch's ports serve a server's NICs. Raises ``ValueError`` where they have no speed in common."""
    server, model = catalog.servers[wanted.server], catalog.switches[wanted.switch]
    nics = server.nics["gpu"]
    speed = catalog.nics[nics.nic].speed_gbps
    breakout = breakout_of(model, PortRange(), speed)
    if breakout is None:
        raise ValueError(f"{wanted.switch} has no {speed}G ports for {nics.nic}")
    group = model.ports[0]
    first = default_server_first(model, Topology(spines=1, oversubscription=wanted.oversubscription)) - group.first
    up, down = first * breakout.channels, (group.count - first) * breakout.channels
    return Ports(
        speed_gbps=speed,
        total=group.count * breakout.channels,
        down_built=down,
        down=min(down, math.floor(up * wanted.oversubscription)),
        up=up,
        per_module=breakout.channels,
        rails=len(nics.names),
        gpus_per_server=server.gpus,
    )


def size(catalog: Catalog, wanted: Wanted, shape: Shape) -> Size | Refused:
    """The fabric of one shape for what is wanted, or why there is none."""
    ports = ports_of(catalog, wanted)
    servers = -(-wanted.gpus // ports.gpus_per_server)
    grown = math.ceil(servers * wanted.growth)
    if shape == "one-leaf":
        need = grown * ports.rails
        if need > ports.total:
            return Refused(shape, f"{need} NICs{_grown(wanted)} on a switch of {ports.total} ports")
        return Size(shape, wanted, ports, servers, 1, ports.total // ports.rails, 0, 0)
    each = min(ports.down, grown)
    stripes, later = -(-servers // each), -(-grown // each)
    need = max(1, math.ceil(each / wanted.oversubscription))
    base = Size(shape, wanted, ports, servers, stripes, each, 0, 0)
    if shape == "super-spine":
        return _super_spine(base, later, need)
    leaves = later if shape == "rail-planes" else later * ports.rails
    if leaves > ports.total:
        most = _most(ports, shape)
        gpus = grown * ports.gpus_per_server
        why = f"{gpus:,} GPUs{_grown(wanted)} put {leaves:,} leaves on a spine of {ports.total} ports; it ends at {most:,}"
        return Refused(shape, why)
    if shape == "rail-planes" and later == 1:
        return base  # one leaf a rail joins all its NICs
    found = _spread(need, ports.up, ports.total // leaves)
    return replace(base, spines=found[0], links_per_spine=found[1])


def sizes(catalog: Catalog, wanted: Wanted) -> dict[Shape, Size | Refused]:
    """Every shape for what is wanted."""
    return {shape: size(catalog, wanted, shape) for shape in SHAPES}


def choose(found: dict[Shape, Size | Refused]) -> Size | None:
    """The shape to take: the first that fits, for each costs more or promises less than the one before; None: none does."""
    return next((one for one in found.values() if isinstance(one, Size)), None)


def _grown(wanted: Wanted) -> str:
    return f" (grown {wanted.growth:g}x)" if wanted.growth > 1 else ""


def _most(ports: Ports, shape: Shape) -> int:
    """Most GPUs of a shape of two tiers, at its oversubscription."""
    leaves = ports.total * (ports.rails if shape == "rail-planes" else 1)
    return leaves // ports.rails * ports.down * ports.gpus_per_server


def _spread(need: int, most: int, links: int) -> tuple[int, int]:
    """Upper switches and links to each: at least ``need`` links, at most ``most``, at most ``links`` to each switch.

    The links to a switch are a power of two, so that growth can halve them; there are two switches where two links
    allow it, and the colors divide the links equally.
    """
    each = 1 << (min(links, MOST_LINKS).bit_length() - 1)
    while each > 1 and (-(-need // each) < 2 or -(-need // each) * each > most):
        each //= 2
    count = max(-(-need // each), 2 if most >= 2 * each else 1)
    while count * each < most and count * each > MOST_COLORS and colors_of(count * each) < MOST_COLORS // 2:
        count += 1
    return count, each


def _super_spine(base: Size, later: int, need: int) -> Size | Refused:
    ports = base.ports
    half = ports.total // 2
    per_pod = half // ports.rails
    if per_pod == 0:
        return Refused("super-spine", f"half a spine, {half} ports, joins no stripe of {ports.rails} leaves")
    if later <= per_pod:
        return Refused("super-spine", f"{later} of the {per_pod} stripes that one pod holds: super-spines join nothing")
    spines, _ = _spread(need, ports.up, 1)
    pods = -(-later // per_pod)
    if pods > ports.total:
        return Refused("super-spine", f"{pods} pods on a super-spine of {ports.total} ports")
    above, links = _spread(per_pod * ports.rails, half, ports.total // pods)
    return replace(
        base,
        spines=spines,
        links_per_spine=1,
        stripes_per_pod=per_pod,
        super_spines=above,
        links_per_super_spine=links,
    )
