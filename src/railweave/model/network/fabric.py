"""A fabric of a ``Network``: its path colors, the intent that its devices share, by role, and orders of its servers as ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from railweave.model.intent.balancing import LoadBalancing
from railweave.model.intent.hosts import HostRouting
from railweave.model.intent.qos import Qos
from railweave.model.intent.topology import Interconnect, Mtu, Naming
from railweave.model.intent.underlay import RouterAdvertisements, Underlay
from railweave.model.network.overlay import EdgePort, Overlay, Rare, Tenant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.network.devices import Switch


def alternating(stripes: Mapping[str, str]) -> list[str]:
    """The servers taken from each stripe in turn, as long as it has any."""
    by_stripe: dict[str, list[str]] = {}
    for name, stripe in stripes.items():
        by_stripe.setdefault(stripe, []).append(name)
    turns = max(map(len, by_stripe.values()), default=0)
    return [names[turn] for turn in range(turns) for names in by_stripe.values() if turn < len(names)]


def crossings(order: Sequence[str], stripes: Mapping[str, str]) -> int:
    """How many hops of a ring over servers in this order lead from one stripe to another."""
    return sum(stripes[one] != stripes[other] for one, other in zip(order, [*order[1:], *order[:1]], strict=True))


def fewest_crossings(order: Sequence[str], stripes: Mapping[str, str]) -> int:
    """The same where servers of a stripe follow one another: one hop out of each stripe, none where there is only one."""
    count = len({stripes[one] for one in order})
    return count if count > 1 else 0


TABLE_NAMES = {"gpu": "gpu{gpu}_subnet{path}"}
"""How tables are called by NIC group (RLB document, Table 8), where the file does not say."""

RoleName = Literal["leaf", "spine", "super-spine", "dci"]


@dataclass(frozen=True, slots=True)
class Color:
    """A path color: ``number`` is N of the community ``color:0:N``; ``index`` (1-based) is its place in a prefix."""

    index: int
    number: int
    name: str


@dataclass(frozen=True, slots=True)
class RoleIntent:
    """What every device of a role is and does."""

    model: str
    nos: str
    qos: Qos
    extra: dict[str, str]


@dataclass(frozen=True, slots=True)
class Fabric:
    """One fabric and the intent that its devices share."""

    name: str
    site: str
    nics: str
    colors: tuple[Color, ...]
    leaf: RoleIntent
    spine: RoleIntent
    underlay: Underlay
    router_advertisements: RouterAdvertisements
    load_balancing: LoadBalancing
    mtu: Mtu
    naming: Naming
    server_mode: Literal["slaac", "static"]
    server_pool: str
    local_prefixes: tuple[str, ...]
    leaf_asns: tuple[int, int]
    spine_asns: tuple[int, int]
    emulation: Literal["local-preference", "aigp"]
    server_link: Literal["access", "trunk", "routed", "proxy-arp"]
    host_routing: HostRouting
    first_table: int
    overlay: Annotated[Overlay | None, Rare] = None
    tenants: Annotated[tuple[Tenant, ...], Rare] = ()
    super_spine: Annotated[RoleIntent | None, Rare] = None
    super_spine_asns: Annotated[tuple[int, int] | None, Rare] = None
    dci: Annotated[RoleIntent | None, Rare] = None
    dci_asns: Annotated[tuple[int, int] | None, Rare] = None
    interconnect: Annotated[Interconnect | None, Rare] = None
    second_server_pool: Annotated[str, Rare] = ""
    """The pool of the other address family, where NICs have addresses of both (dual stack)."""
    adapters: Annotated[int | None, Rare] = None
    """NICs of each server where they have several ports: their first ports are on rails 1 to ``adapters``, their second ones on
    the next rails. None: each NIC has one port."""

    other_link: Annotated[Literal["", "access", "trunk", "routed"], Rare] = ""
    """How some servers are on their leaves, where the rest is as ``server_link`` says: either of the two is routed."""
    other_pools: Annotated[tuple[str, ...], Rare] = ()
    """The server pools of those servers."""
    tagged_vlans: Annotated[tuple[int, ...], Rare] = ()
    edge_ports: Annotated[tuple[EdgePort, ...], Rare] = ()

    def link_of(self, vlan: int | None) -> str:
        """How a NIC is on its leaf, by its VLAN: None where it has a routed port."""
        if self.other_link and (self.server_link == "routed") != (vlan is None):
            return self.other_link
        return self.server_link

    @property
    def server_pools(self) -> tuple[str, ...]:
        """The server pools: one of each address family that NICs have."""
        return (self.server_pool, self.second_server_pool) if self.second_server_pool else (self.server_pool,)

    def nic_number(self, rail: int) -> int:
        """Which NIC of a server, from 1, has its port on a rail: ports with one number are of one NIC."""
        return (rail - 1) % self.adapters + 1 if self.adapters else rail

    def pools_of(self, tenant: str) -> tuple[str, ...]:
        """The server pools of a tenant: its own where it has some, else the fabric's; also where ``tenant`` is empty."""
        own = next((one.server_pools for one in self.tenants if one.name == tenant), ())
        return own or self.server_pools

    def apart(self, one: str, other: str) -> bool:
        """Whether two tenants are to be kept apart: others than those that the file lets leak into each other."""
        found = next((tenant for tenant in self.tenants if tenant.name == one), None)
        return one != other and (found is None or other not in found.leaks)

    @property
    def own_links(self) -> bool:
        """Whether every NIC has a routed port and prefixes of its own."""
        return self.server_link in {"routed", "proxy-arp"}

    def role(self, name: RoleName) -> RoleIntent:
        """The intent of one role."""
        if name == "super-spine":
            return self.super_spine or self.spine
        if name == "dci":
            return self.dci or self.spine
        return self.leaf if name == "leaf" else self.spine

    def intent(self, switch: Switch) -> RoleIntent:
        """The intent of one switch: its role's, with what is its own."""
        role = self.role(switch.role)
        qos = role.qos if switch.buffers is None else role.qos.model_copy(update={"buffers": switch.buffers})
        if switch.marking:
            fill = dict(switch.marking)
            classes = {
                name: one.model_copy(update={"ecn": one.ecn.model_copy(update={"min_fill": fill[name]})})
                if one.ecn is not None and name in fill
                else one
                for name, one in qos.classes.items()
            }
            qos = qos.model_copy(update={"classes": classes})
        return replace(role, model=switch.model, nos=switch.nos, qos=qos)

    def color_name(self, index: int | None) -> str:
        """The name of a path color by its index; ``default`` for the only path of an uncolored fabric."""
        return "default" if index is None else next(c.name for c in self.colors if c.index == index)

    def table_name(self, nic: str, rail: int, path: int, color: str) -> str:
        """The name of the routing table of a NIC's ``path``-th address, on a server; ``color`` is its path color's name."""
        default = "{nic}_subnet{path}" if self.adapters else TABLE_NAMES.get(self.nics, "{nic}_subnet{path}")
        pattern = self.host_routing.table_name or default
        return pattern.format(nic=nic, rail=rail, gpu=self.nic_number(rail) - 1, path=path, color=color)
