"""The members of a ``Network``: fabrics with their path colors, switches, servers and their NICs, subnets and cables.

A path color is a class of paths that BGP keeps apart. A stripe is a group of servers that share leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from railweave.model.config.addresses import Address, Family, Prefix
from railweave.model.intent.balancing import LoadBalancing
from railweave.model.intent.buffers import Buffers
from railweave.model.intent.hosts import HostRouting
from railweave.model.intent.qos import Qos
from railweave.model.intent.status import Status
from railweave.model.intent.topology import Interconnect, Mtu, Naming
from railweave.model.intent.underlay import RouterAdvertisements, Underlay
from railweave.model.network.overlay import EDGE, EdgePort, Endpoint, Overlay, Rare, Tenant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def alternating(stripes: Mapping[str, str]) -> list[str]:
    """Return the servers in an order that alternates between the stripes. A stripe that has no server left is skipped.

    ``stripes`` maps each server to its stripe.
    """
    by_stripe: dict[str, list[str]] = {}
    for name, stripe in stripes.items():
        by_stripe.setdefault(stripe, []).append(name)
    turns = max(map(len, by_stripe.values()), default=0)
    return [names[turn] for turn in range(turns) for names in by_stripe.values() if turn < len(names)]


def crossings(order: Sequence[str], stripes: Mapping[str, str]) -> int:
    """Return the number of hops between servers of different stripes in a ring of the servers in this order.

    ``stripes`` maps each server to its stripe.
    """
    return sum(stripes[server] != stripes[other] for server, other in zip(order, [*order[1:], *order[:1]], strict=True))


def fewest_crossings(order: Sequence[str], stripes: Mapping[str, str]) -> int:
    """Return the smallest possible number of hops between stripes in a ring over the servers in ``order``.

    This is the number of stripes: if the servers of a stripe are adjacent in the ring, one hop leaves the stripe. With
    only one stripe, the result is 0. ``stripes`` maps each server to its stripe.
    """
    count = len({stripes[server] for server in order})
    return count if count > 1 else 0


TABLE_NAMES = {"gpu": "gpu{gpu}_subnet{path}"}
"""The default names of routing tables on servers, by kind of NIC (RLB document, Table 8)."""

RoleName = Literal["leaf", "spine", "super-spine", "dci"]


@dataclass(frozen=True, slots=True)
class Color:
    """A path color. ``number`` is N of the community ``color:0:N``. ``index`` is the color's number, from 1, in server prefixes."""

    index: int
    number: int
    name: str


@dataclass(frozen=True, slots=True)
class RoleIntent:
    """The model, operating system and settings that all switches of a role (leaf, spine, …) share.

    ``extra`` holds the operator's own statements, by operating system.
    """

    model: str
    nos: str
    qos: Qos
    extra: dict[str, str]


@dataclass(frozen=True, slots=True)
class Fabric:
    """One fabric, and the settings that all of its devices share.

    - ``nics``: the kind of NICs that connect to the fabric, for example ``gpu``.
    - ``local_prefixes``: the prefixes of the fabric that its switches exchange; they contain all server prefixes or, with an
      overlay, the addresses of its sessions and tunnels.
    - ``leaf_asns`` and similar fields: the first and the last AS number of the role's range.
    - ``emulation``: the BGP attribute that carries path colors in the lab.
    - ``server_mode``: the assignment of server addresses. ``server_link``: the type of the servers' links.
    - ``first_table``: the number of the first routing table for the fabric's NICs on a server.
    """

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
    """The server pool of the second address family, if NICs have addresses of both families (dual stack)."""
    adapters: Annotated[int | None, Rare] = None
    """The number of NICs in each server if NICs have several ports, or None if each NIC has one port.

    The first ports of the NICs are on rails 1 to ``adapters``, the second ports on the next rails, and so on.
    """

    other_link: Annotated[Literal["", "access", "trunk", "routed"], Rare] = ""
    """The link type of servers whose link is not of the type ``server_link``; empty if there are none. One of the two types is ``routed``."""
    other_pools: Annotated[tuple[str, ...], Rare] = ()
    """The server pools of the servers with the link type ``other_link``."""
    tagged_vlans: Annotated[tuple[int, ...], Rare] = ()
    edge_ports: Annotated[tuple[EdgePort, ...], Rare] = ()

    def link_of(self, vlan: int | None) -> str:
        """Return the link type of a NIC in the VLAN ``vlan``. None means that the NIC has a routed port."""
        if self.other_link and (self.server_link == "routed") != (vlan is None):
            return self.other_link
        return self.server_link

    @property
    def server_pools(self) -> tuple[str, ...]:
        """The server pools, one for each address family of the NICs."""
        return (self.server_pool, self.second_server_pool) if self.second_server_pool else (self.server_pool,)

    def nic_number(self, rail: int) -> int:
        """Return the number, from 1, of the NIC whose port is on a rail. Ports of the same NIC have the same number."""
        return (rail - 1) % self.adapters + 1 if self.adapters else rail

    def pools_of(self, tenant: str) -> tuple[str, ...]:
        """Return the server pools of a tenant.

        These are the fabric's pools if the tenant has no pools of its own, or if ``tenant`` is empty.
        """
        pools = next((candidate.server_pools for candidate in self.tenants if candidate.name == tenant), ())
        return pools or self.server_pools

    def apart(self, name: str, other: str) -> bool:
        """Return True if traffic between the tenants ``name`` and ``other`` must be blocked.

        Traffic between different tenants is blocked unless the fabric file lets prefixes leak between them.
        """
        first_tenant = next((tenant for tenant in self.tenants if tenant.name == name), None)
        return name != other and (first_tenant is None or other not in first_tenant.leaks)

    @property
    def own_links(self) -> bool:
        """True if every NIC has a routed port, with prefixes that it shares with no other NIC."""
        return self.server_link in {"routed", "proxy-arp"}

    def role(self, name: RoleName) -> RoleIntent:
        """Return the settings of one role.

        Super-spines and interconnect routers without settings have the settings of the spines.
        """
        if name == "super-spine":
            return self.super_spine or self.spine
        if name == "dci":
            return self.dci or self.spine
        return self.leaf if name == "leaf" else self.spine

    def intent(self, switch: Switch) -> RoleIntent:
        """Return the settings of one switch: those of its role, with the switch's own model, system, buffers and marking."""
        role = self.role(switch.role)
        qos = role.qos if switch.buffers is None else role.qos.model_copy(update={"buffers": switch.buffers})
        if switch.marking:
            fill = dict(switch.marking)
            classes = {
                name: traffic_class.model_copy(
                    update={"ecn": traffic_class.ecn.model_copy(update={"min_fill": fill[name]})}
                )
                if traffic_class.ecn is not None and name in fill
                else traffic_class
                for name, traffic_class in qos.classes.items()
            }
            qos = qos.model_copy(update={"classes": classes})
        if qos is role.qos and switch.model == role.model and switch.nos == role.nos:
            return role
        return replace(role, model=switch.model, nos=switch.nos, qos=qos)

    def color_name(self, index: int | None) -> str:
        """Return the name of the path color with this index. For None (a fabric without colors), return ``default``."""
        return "default" if index is None else next(c.name for c in self.colors if c.index == index)

    def table_name(self, nic: str, rail: int, path: int, color: str) -> str:
        """Return the name of the routing table on a server for the address number ``path`` of a NIC.

        ``color`` is the name of the path color.
        """
        default = "{nic}_subnet{path}" if self.adapters else TABLE_NAMES.get(self.nics, "{nic}_subnet{path}")
        pattern = self.host_routing.table_name or default
        return pattern.format(nic=nic, rail=rail, gpu=self.nic_number(rail) - 1, path=path, color=color)


@dataclass(frozen=True, slots=True)
class InactivePart:
    """A planned, drained or failed switch, server or cable, by name."""

    name: str
    status: Status | Literal["draining"]
    """The status of the switch, server or cable.

    ``draining`` is the status of a drained device during a change of the network. Such a device is present, and its
    configuration diverts traffic.
    """


@dataclass(frozen=True, slots=True)
class PortQos:
    """An exception to the QoS settings for one port.

    - ``pauses``: True if PFC pauses traffic on the port, False if not, and None if the port has no exception for PFC.
    - ``bound``: False if no QoS settings apply to the port.
    """

    port: str
    pauses: bool | None
    bound: bool


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch.

    - ``rails``: the rails that a leaf serves. Empty on a spine.
    - ``pod``: the pod of a leaf or spine, in a fabric with super-spines.
    - ``plane``: the plane of a leaf or spine. On a super-spine, the plane of the spines that it connects.
    - ``loopback``: the address of the overlay sessions, if the fabric has an overlay.
    - ``endpoints``: the tunnel endpoints of a leaf, if the fabric has an overlay.
    - ``extra``: the operator's own statements for this switch, by operating system. They replace the statements of the role.
    - ``buffers``: the partition of the packet buffer, if it differs from the role's.
    - ``marking``: (class, fill level at which marking starts) for classes whose level differs from the role's.
    - ``port_qos``: the ports whose QoS differs from other ports.
    """

    name: str
    fabric: str
    site: str
    role: RoleName
    stripe: str
    number: int
    rails: tuple[int, ...]
    model: str
    nos: str
    release: str
    asn: int
    router_id: str
    management_address: str
    management_gateway: str
    serial: str
    loopback: Annotated[str, Rare] = ""
    endpoints: Annotated[tuple[Endpoint, ...], Rare] = ()
    pod: Annotated[str, Rare] = ""
    plane: Annotated[str, Rare] = ""
    buffers: Annotated[Buffers | None, Rare] = None
    marking: Annotated[tuple[tuple[str, int], ...], Rare] = ()
    extra: Annotated[tuple[tuple[str, str], ...], Rare] = ()
    port_qos: Annotated[tuple[PortQos, ...], Rare] = ()


@dataclass(frozen=True, slots=True)
class Subnet:
    """A server prefix, and the leaf's address in it. ``color`` is a ``Color.index``, or None if paths are not colored.

    ``tunnel`` is the address of the leaf's tunnel endpoint for packets to its servers. It is set only on a layer-2
    network that several leaves share, because such a network's prefix does not identify a leaf. Otherwise ``tunnel`` is
    empty.
    """

    prefix: str
    gateway: str
    color: int | None
    tunnel: Annotated[str, Rare] = ""

    @property
    def family(self) -> Family:
        """The address family of the prefix."""
        return "ipv6" if ":" in self.prefix else "ipv4"

    @property
    def routed_by(self) -> Prefix:
        """The prefix by which other switches route to this leaf's servers: ``tunnel`` as a host prefix if it is set, else the subnet's prefix."""
        return Address(self.tunnel).prefix if self.tunnel else Prefix(self.prefix)


@dataclass(frozen=True, slots=True)
class Segment:
    """The server-facing subnets of a leaf: one for each path color. With dual stack, there is one for each color and address family.

    A segment is one of these:

    - the VLAN of one rail in one stripe (and of one tenant, if the fabric has tenants);
    - a leaf's part of a tenant's layer-2 ``network``;
    - the routed link of one NIC. ``vlan`` is then None, ``vlan_name`` is empty and ``nic`` is ``server:nic``.

    The segment of a NIC that has no tenant yet has no subnets.
    """

    fabric: str
    stripe: str
    rail: int
    leaf: str
    vlan: int | None
    vlan_name: str
    subnets: tuple[Subnet, ...]
    nic: str = ""
    tenant: Annotated[str, Rare] = ""
    network: Annotated[str, Rare] = ""

    @property
    def edge(self) -> bool:
        """True if the segment belongs to an edge port."""
        return self.nic.endswith(f":{EDGE}")

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        """The values that identify the segment among all segments: fabric, stripe, rail, tenant, and the NIC, which is empty in a VLAN.

        A segment of a tenant's layer-2 network has the leaf in place of the stripe, 0 in place of the rail, and the network in place of the
        NIC.
        """
        if self.network:
            return (self.fabric, self.leaf, 0, self.tenant, self.network)
        return (self.fabric, self.stripe, self.rail, self.tenant, self.nic)

    def subnet_of(self, address: NicAddress) -> Subnet:
        """Return the subnet for a NIC's address: the one with the same path color and address family, or else the first with the same color."""
        return next(
            (subnet for subnet in self.subnets if (subnet.color, subnet.family) == (address.color, address.family)),
            next(subnet for subnet in self.subnets if subnet.color == address.color),
        )


@dataclass(frozen=True, slots=True)
class NicAddress:
    """An address of a NIC. ``color`` is a ``Color.index``, or None if paths are not colored.

    ``origin`` says how the address was assigned: by SLAAC, statically by the design, or by a user's override.
    """

    address: str
    prefix_length: int
    color: int | None
    origin: Literal["slaac", "static", "override"]

    @property
    def family(self) -> Family:
        """The address family of the address."""
        return "ipv6" if ":" in self.address else "ipv4"


@dataclass(frozen=True, slots=True)
class Nic:
    """A NIC of a server on a fabric.

    ``name`` is its name in the design, ``netdev`` its Linux interface, and ``rdma`` its RDMA device. ``mac`` is an invented address
    if ``mac_is_placeholder``. ``vlan`` is None if the leaf's port is routed.
    """

    name: str
    netdev: str
    rdma: str
    mac: str
    mac_is_placeholder: bool
    fabric: str
    stripe: str
    rail: int
    leaf: str
    leaf_port: str
    vlan: int | None
    speed_gbps: int
    addresses: tuple[NicAddress, ...]
    tenant: Annotated[str, Rare] = ""
    network: Annotated[str, Rare] = ""

    def addresses_of(self, family: Family | None) -> tuple[NicAddress, ...]:
        """Return the addresses that queue pairs use: all of ``family``, or all addresses if the NIC has none of this family.

        If ``family`` is None, the family of the NIC's first address applies.
        """
        if not self.addresses:
            return ()
        wanted = family or self.addresses[0].family
        ipv6 = wanted == "ipv6"  # asked of every NIC: the property of each address would take most of the time
        return tuple([address for address in self.addresses if (":" in address.address) == ipv6]) or self.addresses


@dataclass(frozen=True, slots=True)
class Server:
    """A server with its NICs on all fabrics."""

    name: str
    site: str
    model: str
    serial: str
    nics: tuple[Nic, ...]

    def nic(self, name: str) -> Nic | None:
        """Return the NIC with this name, Linux interface or RDMA device, or None."""
        return next((nic for nic in self.nics if name in {nic.name, nic.netdev, nic.rdma}), None)


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable.

    - ``physical``: the port's number on the device; None for a NIC.
    - ``channel``: the number of the channel of a split port; None for other ports.
    - ``lanes``: the electrical lanes of the port, such as ``1-4``.
    - ``optic``: the catalog's name of the optic or copper cable. ``address``: the address on a numbered link, else empty.
    """

    device: str
    port: str
    physical: int | None
    channel: int | None
    lanes: str
    optic: str
    address: str = ""

    @property
    def module(self) -> tuple[str, str | int]:
        """(device, physical port or NIC) in which the pluggable module is. All channels of a port share one module."""
        return self.device, self.port if self.physical is None else self.physical


@dataclass(frozen=True, slots=True)
class Cable:
    """A cable, between a server and a leaf or between switches.

    - ``a`` is the server or the lower switch (a leaf, or a spine under a super-spine).
    - ``measured`` is True if ``length_m`` is from the inventory, and False if it is planned.
    - ``color`` is the ``Color.index`` of the path color of an uplink, or None.
    - ``delay_us`` is the measured one-way delay in microseconds, if the fabric file gives it.
    """

    kind: Literal["server", "fabric"]
    fabric: str
    a: End
    b: End
    speed_gbps: int
    length_m: float
    measured: bool
    color: int | None
    prefix_length: int | None = None
    delay_us: Annotated[int | None, Rare] = None

    @property
    def name(self) -> str:
        """The name of the link in all files and reports: ``leaf:port--spine:port``."""
        return f"{self.a.device}:{self.a.port}--{self.b.device}:{self.b.port}"

    @property
    def labels(self) -> tuple[str, str]:
        """The label texts for the two ends of the cable, such as "leaf1 et-0/0/0 > spine1 et-0/0/1, 50 m"."""
        a, b = (f"{end.device} {end.port}" for end in (self.a, self.b))
        return f"{a} > {b}, {self.length_m:g} m", f"{b} > {a}, {self.length_m:g} m"


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a device: its rack, and the lowest rack unit that it occupies."""

    rack: str
    unit: int
