"""The parts of a ``Network``: switches, servers and their NICs, server-facing subnets, and cables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from railweave.model.config.addresses import Address, Family, Prefix
from railweave.model.intent.buffers import Buffers
from railweave.model.intent.status import Status
from railweave.model.network.fabric import RoleName
from railweave.model.network.overlay import EDGE, Endpoint, Rare


@dataclass(frozen=True, slots=True)
class NotActive:
    """A switch, server or cable, by its name, that is not active: not there yet, or not any more."""

    name: str
    status: Status | Literal["draining"]
    """``draining``: drained, and looked at by whoever changes it: its configuration is that of a drain, and it is there."""


@dataclass(frozen=True, slots=True)
class PortQos:
    """An exception of quality of service on a port: whether it pauses (None: as others), and whether QoS is bound to it."""

    port: str
    pauses: bool | None
    bound: bool


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch: identity and numbers. ``rails`` are the rails a leaf serves (empty on a spine).

    ``pod`` is that of leaves and spines under super-spines. ``plane`` is the rail plane of leaves and spines that serve
    one rail, or that of a super-spine and the spines it joins.
    With an overlay, ``loopback`` is the address its sessions run between, and a leaf has ``endpoints``.
    ``extra`` are statements of the operator for it alone, by operating system, in place of its role's.
    ``buffers`` is the partition of its packet buffer where that is its own, ``marking`` the fill level at which it begins
    to mark each class where its platform has another default than its role's.
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
    """A server prefix and the leaf's address in it; ``color`` is a ``Color.index`` or None where paths are not colored.

    ``tunnel`` is the address of the leaf that packets to its servers are sent to, where the prefix does not tell the leaf:
    on a layer-2 network that several leaves share.
    """

    prefix: str
    gateway: str
    color: int | None
    tunnel: Annotated[str, Rare] = ""

    @property
    def family(self) -> Family:
        """The address family."""
        return "ipv6" if ":" in self.prefix else "ipv4"

    @property
    def routed_by(self) -> Prefix:
        """The prefix whose routes lead to the servers of this leaf."""
        return Address(self.tunnel).prefix if self.tunnel else Prefix(self.prefix)


@dataclass(frozen=True, slots=True)
class Segment:
    """The server-facing subnets of a leaf, one prefix per path color, with dual stack one of each address family.

    Either the VLAN of one rail of one stripe (and one tenant, where there are), or a leaf's part of a tenant's layer-2
    ``network``, or the routed link of one NIC: then ``vlan`` is None, ``vlan_name`` empty and ``nic`` is ``server:nic``.
    A NIC that waits for a tenant has no subnets.
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
        """Whether it is that of an edge port."""
        return self.nic.endswith(f":{EDGE}")

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        """What tells it from every other segment."""
        if self.network:
            return (self.fabric, self.leaf, 0, self.tenant, self.network)
        return (self.fabric, self.stripe, self.rail, self.tenant, self.nic)

    def subnet_of(self, address: NicAddress) -> Subnet:
        """The subnet that an address of a NIC on it belongs to: that of its path color and family."""
        return next(
            (one for one in self.subnets if (one.color, one.family) == (address.color, address.family)),
            next(one for one in self.subnets if one.color == address.color),
        )


@dataclass(frozen=True, slots=True)
class NicAddress:
    """An address of a NIC. ``origin`` says how it comes to be: by SLAAC, static, or a user's override (static too)."""

    address: str
    prefix_length: int
    color: int | None
    origin: Literal["slaac", "static", "override"]

    @property
    def family(self) -> Family:
        """The address family."""
        return "ipv6" if ":" in self.address else "ipv4"


@dataclass(frozen=True, slots=True)
class Nic:
    """A NIC of a server on a fabric."""

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
        """The addresses that queue pairs use: those of a family, by default of the first address's; all where it has none of it."""
        if not self.addresses:
            return ()
        wanted = family or self.addresses[0].family
        return tuple([one for one in self.addresses if one.family == wanted]) or self.addresses


@dataclass(frozen=True, slots=True)
class Server:
    """A server with its NICs on all fabrics."""

    name: str
    site: str
    model: str
    serial: str
    nics: tuple[Nic, ...]

    def nic(self, name: str) -> Nic | None:
        """A NIC by its name, its Linux interface or its RDMA device."""
        return next((nic for nic in self.nics if name in {nic.name, nic.netdev, nic.rdma}), None)


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable. ``physical`` and ``channel`` place it on the device (None: a NIC, a port not split)."""

    device: str
    port: str
    physical: int | None
    channel: int | None
    lanes: str
    optic: str
    address: str = ""

    @property
    def module(self) -> tuple[str, str | int]:
        """The device and the place of its pluggable: the physical port, or the NIC; channels of a port share it."""
        return self.device, self.port if self.physical is None else self.physical


@dataclass(frozen=True, slots=True)
class Cable:
    """A cable: server to leaf (``a`` is the server), or between switches (``a`` is the lower: leaf, or spine).

    ``delay_us`` is its measured delay, one way, where that is given.
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
        """``leaf:port--spine:port``: how a link is called everywhere."""
        return f"{self.a.device}:{self.a.port}--{self.b.device}:{self.b.port}"

    @property
    def labels(self) -> tuple[str, str]:
        """Return the texts on the labels of its two ends: this end, the other end, the length."""
        a, b = (f"{end.device} {end.port}" for end in (self.a, self.b))
        return f"{a} > {b}, {self.length_m:g} m", f"{b} > {a}, {self.length_m:g} m"


@dataclass(frozen=True, slots=True)
class Position:
    """Where a device stands: the rack, and its lowest unit in it."""

    rack: str
    unit: int
