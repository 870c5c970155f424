"""The size of a fabric with one shape (kind of topology): its numbers of switches, cables and ports, calculated without a design."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.intent.topology import Topology


MOST_COLORS = 8
"""The maximum number of path colors of a NIC. Linux allows 16 addresses, including the link-local address.

If there are more uplinks than colors, several uplinks have the same color.
"""

LEAST_COLORS = 4
"""The minimum number of path colors of a NIC.

With fewer colors, the distribution of traffic would depend too much on hashing.
"""

MOST_LINKS = 64
"""The largest number of parallel links between two switches (``links_per_spine``)."""


def colors_of(uplinks: int) -> int:
    """Return the number of path colors per NIC.

    With up to eight uplinks, this is the number of uplinks. With more, it is the largest number up to eight that
    divides the number of uplinks.
    """
    return next((count for count in range(min(uplinks, MOST_COLORS), 0, -1) if uplinks % count == 0), 1)


def shared(uplinks: int) -> bool:
    """Return True if this number of uplinks gives enough path colors: at least ``LEAST_COLORS``, or one color for each uplink."""
    return colors_of(uplinks) >= min(uplinks, LEAST_COLORS)


def spread(need: int, most: int, links: int, *, colored: bool = True) -> tuple[int, int]:
    """Return (number of upper switches, number of links to each), with the fewest upper switches for ``need`` links of a lower switch.

    The lower switch has ports for at most ``most`` links, and an upper switch accepts at most ``links`` of them. If ``most`` is more
    than 1, there are at least two upper switches, so that one may fail. With ``colored``, path colors must divide the uplinks
    equally. Raises ``ValueError`` if no numbers fit.
    """
    links = min(links, MOST_LINKS)
    for count in range(max(-(-need // links), min(2, most)), most + 1):
        for each in range(max(1, -(-need // count)), min(links, most // count) + 1):
            if not colored or shared(count * each):
                return count, each
    raise ValueError(f"{need} links of at most {most}, {links} to a switch")


def default_server_first(model: SwitchModel, topology: Topology) -> int:
    """Return the number of the first server port of a leaf, by default.

    The lower ports are for uplinks; the oversubscription in ``topology`` determines their number.
    """
    group = model.ports[0]
    if topology.spine_names() == []:
        across = topology.interconnect  # the first ports lead to other sites
        return group.first + ((len(across.sites) - 1) * across.links if across else 0)
    return group.first + round(group.count / (1 + topology.oversubscription))


Balancing = Literal["rlb", "dlb-flowlet", "ecmp"]
"""The load balancing of a sized fabric over its uplinks: ``load_balancing.mode`` of the fabric file."""

Shape = Literal["port-planes", "one-leaf", "two-tier", "rail-planes", "super-spine"]
SHAPES: tuple[Shape, ...] = ("port-planes", "one-leaf", "two-tier", "rail-planes", "super-spine")


@dataclass(frozen=True, slots=True)
class SizeRequest:
    """A request for a fabric of a given size.

    - ``growth``: the factor by which the number of GPUs can increase later without moving a cable.
    - ``stripes``: the number of stripes over which the servers are spread; 0 means as few as possible.
    - ``balancing``: the load balancing. Without ``rlb``, NICs have only one path color.
    - ``nos``: the operating system of the switches; if empty, the model's usual one (``fabric_file.system_of``).
    """

    gpus: int
    server: str
    switch: str
    oversubscription: float = 1.0
    growth: float = 1.0
    stripes: int = 0
    balancing: Balancing = "rlb"
    nos: str = ""

    @property
    def ratio(self) -> Fraction:
        """The oversubscription as an exact fraction of its decimal number: 1.1 is 11/10."""
        return Fraction(f"{self.oversubscription:g}")

    def grown(self, servers: int) -> int:
        """Return the number of servers after growth."""
        return math.ceil(servers * Fraction(f"{self.growth:g}"))


@dataclass(frozen=True, slots=True)
class Ports:
    """The use of switch ports, counted in links at ``speed_gbps``.

    - ``total``: all links of a switch. Without spines, all of them may go to servers.
    - ``down_built``: the links of a leaf that go to servers.
    - ``up``: the largest number of links from a leaf to spines that path colors can divide equally.
    - ``down``: the largest number of links to servers for which ``up`` uplinks suffice.
    - ``per_module``: the number of links in one pluggable module of a switch.
    - ``rails``: the number of NIC ports of a server, with ``nic_ports`` on each NIC.
    - ``group``: the maximum width of a next-hop group.
    - ``unit``: the number of servers that must stay in one stripe: the servers of an NVLink domain, or 1.
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
    unit: int = 1

    def whole(self, servers: int) -> int:
        """Return the number of servers, rounded up to whole NVLink domains."""
        return -(-servers // self.unit) * self.unit

    @property
    def nics(self) -> int:
        """The number of NICs of a server."""
        return self.rails // self.nic_ports

    @property
    def half(self) -> int:
        """The number of links of a spine that go down in a fabric with super-spines. The number that goes up is the same."""
        return self.total // self.per_module // 2 * self.per_module


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a fabric with one shape (kind of topology) for the request ``wanted``.

    - ``servers_per_stripe``: the number of servers in the fullest stripe.
    - ``spines``: the number of spines to which each leaf connects, with ``links_per_spine`` links to each.
    - ``stripes_per_pod``: the number of stripes in a pod; 0 without super-spines.
    - ``super_spines``: the number of super-spines to which each spine connects, with ``links_per_super_spine`` links to each.
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
        """The number of GPUs in all servers; at least the requested number."""
        return self.servers * self.ports.gpus_per_server

    @property
    def pods(self) -> int:
        """The number of pods under super-spines; 1 if there are none."""
        return -(-self.stripes // self.stripes_per_pod) if self.stripes_per_pod else 1

    @property
    def blocks(self) -> int:
        """The number of sets of spines: one per plane or pod."""
        return {"rail-planes": self.ports.rails, "port-planes": self.ports.nic_ports}.get(self.shape, self.pods)

    @property
    def uplinks(self) -> int:
        """The number of uplinks of a leaf."""
        return self.spines * self.links_per_spine

    @property
    def spine_uplinks(self) -> int:
        """The number of links from a spine to super-spines."""
        return self.super_spines * self.links_per_super_spine

    @property
    def colors(self) -> int:
        """The number of path colors per NIC; 1 without RDMA-aware load balancing."""
        return colors_of(self.uplinks) if self.wanted.balancing == "rlb" else 1

    @property
    def leaf_switches(self) -> int:
        """The number of leaves in the fabric."""
        return self.stripes * self.leaves_per_stripe

    @property
    def leaves_per_stripe(self) -> int:
        """The number of leaves in a stripe.

        With spines, there is one leaf per rail. Without spines there is one leaf, or one per plane if NIC ports have
        planes.
        """
        if self.shape == "port-planes" and not self.spines:
            return self.ports.nic_ports
        return 1 if self.shape == "one-leaf" else self.ports.rails

    @property
    def leaves_of_block(self) -> int:
        """The number of leaves of a stripe that share one set of spines."""
        return self.leaves_per_stripe // (1 if self.shape == "super-spine" else self.blocks)

    @property
    def spine_switches(self) -> int:
        """The number of spines in the fabric."""
        return self.spines * self.blocks

    @property
    def super_spine_switches(self) -> int:
        """The number of super-spines in the fabric."""
        return self.spines * self.super_spines

    @property
    def switches(self) -> int:
        """The number of switches in the fabric."""
        return self.leaf_switches + self.spine_switches + self.super_spine_switches

    @property
    def server_cables(self) -> int:
        """The number of cables from servers to leaves."""
        return self.servers * self.ports.rails

    @property
    def leaf_cables(self) -> int:
        """The number of cables from leaves to spines."""
        return self.leaf_switches * self.uplinks

    @property
    def fabric_cables(self) -> int:
        """The number of cables between switches."""
        return self.leaf_cables + self.spine_switches * self.spine_uplinks

    @property
    def modules(self) -> int:
        """The number of pluggable modules: one per NIC port, and one for every ``per_module`` links of a switch."""
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
        """The number of ports of a leaf for links to servers."""
        return self.ports.down_built if self.spines else self.ports.total

    @property
    def free_server_ports(self) -> int:
        """The number of server ports on existing leaves that no server uses yet."""
        return self.leaf_switches * self.room - self.server_cables

    @property
    def spare_leaf_ports(self) -> int:
        """The number of unused server ports whose traffic the existing uplinks can also carry, at the requested oversubscription."""
        carried = math.floor(self.uplinks * self.wanted.ratio) if self.spines else self.room
        return self.leaf_switches * min(self.room, carried) - self.server_cables

    @property
    def leaf_used(self) -> int:
        """The number of ports in use on the fullest leaf."""
        return self.servers_per_stripe * self.ports.rails // self.leaves_per_stripe + self.uplinks

    @property
    def spine_used(self) -> int:
        """The number of ports in use on the fullest spine, to leaves and to super-spines."""
        leaves = self.stripes * self.leaves_of_block
        if self.shape == "super-spine":
            leaves = min(self.stripes, self.stripes_per_pod) * self.ports.rails
        return leaves * self.links_per_spine + self.spine_uplinks if self.spines else 0

    @property
    def top_used(self) -> int:
        """The number of ports in use on a switch of the top tier."""
        return self.pods * self.links_per_super_spine if self.super_spines else self.spine_used

    @property
    def spare_top_ports(self) -> int:
        """The number of free ports on each switch of the top tier, for further leaves or pods."""
        return self.ports.total - self.top_used if self.spines else 0


@dataclass(frozen=True, slots=True)
class RefusedShape:
    """A shape (kind of topology) that does not fit the request, with the reason."""

    shape: Shape
    why: str
