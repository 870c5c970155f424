"""``Network``: everything that is decided about a network, vendor-neutral, immutable and complete.

Its file form is ``design.json``; ``Network.from_json(network.to_json())`` gives an equal value.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import TypeAdapter

from railweave.design.overlay_model import Endpoint, ExternalLink, ExternalRouter, Overlay, Rare, Tenant
from railweave.findings import Finding
from railweave.intent.balancing import LoadBalancing
from railweave.intent.hosts import HostRouting, Hosts
from railweave.intent.interconnect import Interconnect
from railweave.intent.management import Management
from railweave.intent.qos import Buffers, Qos
from railweave.intent.topology import Mtu, Naming
from railweave.intent.underlay import RouterAdvertisements, Underlay

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = 2
"""Version of ``design.json``; raised when its meaning changes."""

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


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch: identity and numbers. ``rails`` are the rails a leaf serves (empty on a spine).

    ``pod`` is that of leaves and spines under super-spines. ``plane`` is the rail plane of leaves and spines that serve
    one rail, or that of a super-spine and the spines it joins.
    With an overlay, ``loopback`` is the address its sessions run between, and a leaf has ``endpoints``.
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
    def routed_by(self) -> str:
        """The prefix whose routes lead to the servers of this leaf."""
        return f"{self.tunnel}/{128 if ':' in self.tunnel else 32}" if self.tunnel else self.prefix


@dataclass(frozen=True, slots=True)
class Segment:
    """The server-facing subnets of a leaf, one prefix per path color.

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
    def key(self) -> tuple[str, str, int, str, str]:
        """What tells it from every other segment."""
        if self.network:
            return (self.fabric, self.leaf, 0, self.tenant, self.network)
        return (self.fabric, self.stripe, self.rail, self.tenant, self.nic)


@dataclass(frozen=True, slots=True)
class NicAddress:
    """An address of a NIC. ``origin`` says how it comes to be: by SLAAC, static, or a user's override (static too)."""

    address: str
    prefix_length: int
    color: int | None
    origin: Literal["slaac", "static", "override"]


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


@dataclass(frozen=True)
class Network:
    """A designed network. Tuples are in a stable order: fabrics and servers as in the file, devices by number."""

    name: str
    description: str
    management: Management
    hosts: Hosts
    fabrics: tuple[Fabric, ...]
    switches: tuple[Switch, ...]
    segments: tuple[Segment, ...]
    servers: tuple[Server, ...]
    cables: tuple[Cable, ...]
    findings: tuple[Finding, ...]
    schema: int = SCHEMA

    def to_json(self) -> bytes:
        """The file form, ending in a newline."""
        return _adapter().dump_json(self, indent=1) + b"\n"

    @staticmethod
    def from_json(data: bytes) -> Network:
        """Read the file form back. Raises ``pydantic.ValidationError`` where it is not one."""
        return _adapter().validate_json(data)

    @cached_property
    def _by_name(self) -> dict[str, Any]:
        return {
            "fabric": {fabric.name: fabric for fabric in self.fabrics},
            "switch": {switch.name: switch for switch in self.switches},
            "server": {server.name: server for server in self.servers},
            "cable": {cable.name: cable for cable in self.cables},
        }

    @cached_property
    def _systems(self) -> dict[str, frozenset[tuple[str, str]]]:
        found: dict[str, set[tuple[str, str]]] = {}
        for one in self.switches:
            if one.role != "super-spine":
                found.setdefault(one.fabric, set()).add((one.nos, one.release))
        return {fabric: frozenset(systems) for fabric, systems in found.items()}

    @cached_property
    def _cables_of(self) -> dict[str, list[Cable]]:
        result: dict[str, list[Cable]] = {}
        for cable in self.cables:
            result.setdefault(cable.a.device, []).append(cable)
            result.setdefault(cable.b.device, []).append(cable)
        return result

    @cached_property
    def _segments_of(self) -> dict[str, list[Segment]]:
        result: dict[str, list[Segment]] = {}
        for segment in self.segments:
            result.setdefault(segment.leaf, []).append(segment)
        return result

    @cached_property
    def _segment_by(self) -> dict[tuple[str, str, int, str, str], Segment]:
        return {one.key: one for one in self.segments}

    @cached_property
    def _long_links(self) -> dict[str, list[Cable]]:
        site = {switch.name: switch.site for switch in self.switches}
        result: dict[str, list[Cable]] = {}
        for cable in self.cables if len(set(site.values())) > 1 else ():
            if cable.kind == "fabric" and site[cable.a.device] != site[cable.b.device]:
                result.setdefault(cable.fabric, []).append(cable)
        return result

    @cached_property
    def _far_apart(self) -> frozenset[str]:
        return frozenset(cable.name for cables in self._long_links.values() for cable in cables)

    @cached_property
    def most_nics(self) -> dict[str, tuple[int, int]]:
        """Of each fabric, the most NICs that a server has on it, and the speed of the fastest in Gb/s."""
        result: dict[str, tuple[int, int]] = {}
        for server in self.servers:
            for fabric, count in Counter(nic.fabric for nic in server.nics).items():
                speed = max(nic.speed_gbps for nic in server.nics if nic.fabric == fabric)
                most, fastest = result.get(fabric, (0, 0))
                result[fabric] = (max(most, count), max(fastest, speed))
        return result

    @cached_property
    def rail_sizes(self) -> Counter[tuple[str, str, int]]:
        """How many NICs there are, by fabric, stripe and rail."""
        return Counter((nic.fabric, nic.stripe, nic.rail) for server in self.servers for nic in server.nics)

    @cached_property
    def network_sizes(self) -> Counter[tuple[str, str]]:
        """How many NICs each layer-2 network has, by fabric and name."""
        return Counter((nic.fabric, nic.network) for server in self.servers for nic in server.nics if nic.network)

    def segment_of(self, server: str, nic: Nic) -> Segment:
        """The segment a NIC is on; ``KeyError`` where there is none."""
        if nic.network:
            return self._segment_by[nic.fabric, nic.leaf, 0, nic.tenant, nic.network]
        link = "" if nic.vlan else f"{server}:{nic.name}"
        return self._segment_by[nic.fabric, nic.stripe, nic.rail, nic.tenant, link]

    def external_links(self) -> Iterator[tuple[Fabric, Tenant, ExternalRouter, ExternalLink]]:
        """Every link to a router outside, with its fabric, tenant and router."""
        for fabric in self.fabrics:
            for tenant in fabric.tenants:
                for router in tenant.external:
                    for link in router.links:
                        yield fabric, tenant, router, link

    def dangling(self) -> str:
        """The first name that refers to nothing, as a phrase; empty where the network is whole."""
        devices = {device.name for device in (*self.switches, *self.servers)}
        leaves = {switch.name for switch in self.switches if switch.role == "leaf"}
        fabrics = {fabric.name for fabric in self.fabrics}
        named = [(f"cable {cable.name}", end.device, devices) for cable in self.cables for end in (cable.a, cable.b)]
        named += [(f"VLAN {segment.vlan} of {segment.stripe}", segment.leaf, leaves) for segment in self.segments]
        named += [(f"{s.name}:{nic.name}", nic.leaf, leaves) for s in self.servers for nic in s.nics]
        named += [(f"switch {switch.name}", switch.fabric, fabrics) for switch in self.switches]
        return next(
            (f"{what} names {name!r}, which is not there" for what, name, known in named if name not in known), ""
        )

    def fabric(self, name: str) -> Fabric:
        """A fabric by name; ``KeyError`` where there is none."""
        return self._by_name["fabric"][name]

    def switch(self, name: str) -> Switch:
        """A switch by name; ``KeyError`` where there is none."""
        return self._by_name["switch"][name]

    def server(self, name: str) -> Server:
        """A server by name; ``KeyError`` where there is none."""
        return self._by_name["server"][name]

    def cable(self, name: str) -> Cable:
        """A cable by name; ``KeyError`` where there is none."""
        return self._by_name["cable"][name]

    def between_sites(self, cable: Cable) -> bool:
        """Whether a cable joins switches of two sites."""
        return bool(self._far_apart) and cable.name in self._far_apart

    def long_links(self, fabric: str) -> list[Cable]:
        """The cables of a fabric between sites."""
        return self._long_links.get(fabric, [])

    def systems_of(self, fabric: str) -> frozenset[tuple[str, str]]:
        """The operating systems, with their releases, of the switches of a fabric that look at path colors."""
        return self._systems.get(fabric, frozenset())

    def cables_of(self, device: str) -> list[Cable]:
        """Every cable of a device, server cables first."""
        return self._cables_of.get(device, [])

    def segments_of(self, leaf: str) -> list[Segment]:
        """The segments of a leaf, by rail."""
        return self._segments_of.get(leaf, [])


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Network]:
    return TypeAdapter(Network)
