"""A fabric of one shape, counted: what sizing finds, before there is a design."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.intent.topology import Topology


MOST_COLORS = 8
"""Path colors per NIC: with more uplinks a color spans several (16 addresses are Linux's default, the link-local counts)."""

LEAST_COLORS = 4
"""Fewer would leave hashing to share what colors are there to share."""

MOST_LINKS = 64
"""Most parallel links between two switches (``links_per_spine``)."""


def colors_of(uplinks: int) -> int:
    """Path colors per NIC for so many uplinks of a leaf: one each up to eight, else the most that divide them equally."""
    return next((count for count in range(min(uplinks, MOST_COLORS), 0, -1) if uplinks % count == 0), 1)


def shared(uplinks: int) -> bool:
    """Return whether path colors share this number of uplinks equally and are not too few."""
    return colors_of(uplinks) >= min(uplinks, LEAST_COLORS)


def spread(need: int, most: int, links: int, *, colored: bool = True) -> tuple[int, int]:
    """The fewest upper switches, and the fewest links to each, that carry ``need`` links of a lower switch.

    It has ports for at most ``most`` links, an upper switch for at most ``links`` of them. There are at least two upper
    switches, so that one may fail, and ``colored`` uplinks are so many as path colors share equally. Raises
    ``ValueError`` where there is no such number, which cannot be where ``most`` is one.
    """
    links = min(links, MOST_LINKS)
    for count in range(max(-(-need // links), min(2, most)), most + 1):
        for each in range(max(1, -(-need // count)), min(links, most // count) + 1):
            if not colored or shared(count * each):
                return count, each
    raise ValueError(f"{need} links of at most {most}, {links} to a switch")


def default_server_first(model: SwitchModel, topology: Topology) -> int:
    """Where server ports begin by default: uplinks take the first ports, in the proportion asked for."""
    group = model.ports[0]
    if topology.spine_names() == []:
        across = topology.interconnect  # the first ports lead to other sites
        return group.first + ((len(across.sites) - 1) * across.links if across else 0)
    return group.first + round(group.count / (1 + topology.oversubscription))


Shape = Literal["port-planes", "one-leaf", "two-tier", "rail-planes", "super-spine"]
SHAPES: tuple[Shape, ...] = ("port-planes", "one-leaf", "two-tier", "rail-planes", "super-spine")


@dataclass(frozen=True, slots=True)
class SizeRequest:
    """The size asked for; ``growth`` is the factor by which the GPUs can increase without moving a cable.

    ``stripes`` is the number of stripes that the servers are spread over; 0: as few as fit.
    """

    gpus: int
    server: str
    switch: str
    oversubscription: float = 1.0
    growth: float = 1.0
    stripes: int = 0

    @property
    def ratio(self) -> Fraction:
        """The oversubscription as a fabric file says it, exactly: 1.1 is 11/10."""
        return Fraction(f"{self.oversubscription:g}")

    def grown(self, servers: int) -> int:
        """So many servers once grown."""
        return math.ceil(servers * Fraction(f"{self.growth:g}"))


@dataclass(frozen=True, slots=True)
class Ports:
    """The use of the ports of the switches.

    ``down_built`` of a leaf's links face servers. At most ``up`` go to spines, a number that path colors share equally; ``up``
    uplinks suffice for ``down`` of the links to servers. Without spines servers may have all ``total`` links. ``per_module`` is the
    number of links that a pluggable at a switch carries, and ``group`` the widest group of next hops. A server has ``rails`` ports
    of NICs, ``nic_ports`` on each NIC.
    """

    speed_gbps: int
    total: int
    down_built: int
    down: int
    up: int
    per_module: int
    rails: int
    gpus_per_server: int
    group: int
    nic_ports: int = 1

    @property
    def nics(self) -> int:
        """NICs of a server."""
        return self.rails // self.nic_ports

    @property
    def half(self) -> int:
        """Links of a spine under super-spines that go down, and as many up."""
        return self.total // self.per_module // 2 * self.per_module


@dataclass(frozen=True, slots=True)
class Size:
    """A fabric of one shape, counted.

    ``servers_per_stripe`` are those of the fullest stripe, ``spines`` those that a leaf sees, ``super_spines`` those that a
    spine sees.
    """

    shape: Shape
    wanted: SizeRequest
    ports: Ports
    servers: int
    stripes: int
    servers_per_stripe: int
    spines: int = 0
    links_per_spine: int = 0
    stripes_per_pod: int = 0
    super_spines: int = 0
    links_per_super_spine: int = 0

    @property
    def gpus(self) -> int:
        """GPUs of its servers: at least those asked for."""
        return self.servers * self.ports.gpus_per_server

    @property
    def pods(self) -> int:
        """Pods under super-spines, else 1."""
        return -(-self.stripes // self.stripes_per_pod) if self.stripes_per_pod else 1

    @property
    def blocks(self) -> int:
        """Sets of spines: one a plane, one a pod."""
        return {"rail-planes": self.ports.rails, "port-planes": self.ports.nic_ports}.get(self.shape, self.pods)

    @property
    def uplinks(self) -> int:
        """Uplinks of a leaf."""
        return self.spines * self.links_per_spine

    @property
    def spine_uplinks(self) -> int:
        """Links of a spine to super-spines."""
        return self.super_spines * self.links_per_super_spine

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
        """One leaf a rail, or one for all; with planes of NIC ports one for all of each plane."""
        if self.shape == "port-planes" and not self.spines:
            return self.ports.nic_ports
        return 1 if self.shape == "one-leaf" else self.ports.rails

    @property
    def leaves_of_block(self) -> int:
        """Leaves of a stripe under one set of spines."""
        return self.leaves_per_stripe // (1 if self.shape == "super-spine" else self.blocks)

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
    def leaf_cables(self) -> int:
        """Cables from leaves to spines."""
        return self.leaf_switches * self.uplinks

    @property
    def fabric_cables(self) -> int:
        """Cables between switches."""
        return self.leaf_cables + self.spine_switches * self.spine_uplinks

    @property
    def modules(self) -> int:
        """Pluggables: one a NIC, and one for every ``per_module`` links of a switch."""
        each = self.ports.per_module
        full, rest = divmod(self.servers, self.servers_per_stripe)
        rails = self.ports.rails // self.leaves_per_stripe
        per_leaf = full * -(-self.servers_per_stripe * rails // each) + -(-rest * rails // each)
        leaf_down = self.leaves_per_stripe * per_leaf
        leaf_up = self.leaf_switches * -(-self.uplinks // each)
        spine_up = self.spine_switches * -(-self.spine_uplinks // each)
        last = self.stripes - (self.pods - 1) * self.stripes_per_pod if self.stripes_per_pod else 0
        if self.shape == "super-spine":
            used = [self.stripes_per_pod * self.ports.rails] * (self.pods - 1) + [last * self.ports.rails]
        else:
            used = [self.stripes * self.leaves_of_block] * self.blocks
        spine_down = sum(self.spines * -(-leaves * self.links_per_spine // each) for leaves in used)
        top = self.super_spine_switches * -(-self.pods * self.links_per_super_spine // each)
        return self.server_cables + leaf_down + leaf_up + spine_down + spine_up + top

    @property
    def room(self) -> int:
        """Links to servers that a leaf has ports for."""
        return self.ports.down_built if self.spines else self.ports.total

    @property
    def free_server_ports(self) -> int:
        """Server ports of the leaves in place that no server has yet."""
        return self.leaf_switches * self.room - self.server_cables

    @property
    def spare_leaf_ports(self) -> int:
        """Those of them that the uplinks in place carry at the oversubscription asked for."""
        carried = math.floor(self.uplinks * self.wanted.ratio) if self.spines else self.room
        return self.leaf_switches * min(self.room, carried) - self.server_cables

    @property
    def leaf_used(self) -> int:
        """Ports in use on the fullest leaf."""
        return self.servers_per_stripe * self.ports.rails // self.leaves_per_stripe + self.uplinks

    @property
    def spine_used(self) -> int:
        """Ports in use on the fullest spine, up and down."""
        leaves = self.stripes * self.leaves_of_block
        if self.shape == "super-spine":
            leaves = min(self.stripes, self.stripes_per_pod) * self.ports.rails
        return leaves * self.links_per_spine + self.spine_uplinks if self.spines else 0

    @property
    def top_used(self) -> int:
        """Ports in use on a switch of the top tier."""
        return self.pods * self.links_per_super_spine if self.super_spines else self.spine_used

    @property
    def spare_top_ports(self) -> int:
        """Ports free on each switch of the top tier: what more leaves or pods are cabled to."""
        return self.ports.total - self.top_used if self.spines else 0


@dataclass(frozen=True, slots=True)
class RefusedShape:
    """A shape that does not fit, and why."""

    shape: Shape
    why: str
