"""The overlay part of a ``Network``: tenants with their networks and external routers, and tunnel endpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from railweave.model.intent.underlay import Bfd

Rare = Field(exclude_if=lambda value: value in ("", None, ()))
"""A part that most networks lack; it is left out of the file form then."""
RareFlag = Field(exclude_if=lambda value: value is False)
"""The same for what is true in few."""


@dataclass(frozen=True, slots=True)
class VirtualNetwork:
    """A layer-2 network of a tenant: a VLAN on every leaf with a member, stretched between them by EVPN."""

    name: str
    slot: int
    vlan: int
    vlan_name: str
    vni: int
    route_target: str
    prefix: str
    gateway: str


@dataclass(frozen=True, slots=True)
class ExternalLink:
    """A leaf's link to an external router: addresses without a length, ``vlan`` None where it is untagged."""

    leaf: str
    port: str
    physical: int
    channel: int | None
    speed_gbps: int
    address: str
    peer_address: str
    prefix_length: int
    vlan: int | None


EDGE = "edge-port"
"""The placeholder for the far port of an edge port, which has no name in the design."""


@dataclass(frozen=True, slots=True)
class EdgePort:
    """A routed port of a leaf to what is no server of the file, and speaks no BGP; its prefixes are those of a segment."""

    name: str
    leaf: str
    port: str
    physical: int
    channel: int | None
    speed_gbps: int
    length_m: float

    @property
    def link(self) -> str:
        """The name of the edge port's link."""
        return f"{self.leaf}:{self.port}--{self.name}"

    @property
    def nic(self) -> str:
        """The replacement for ``server:nic`` in the edge port's segment."""
        return f"{self.name}:{EDGE}"


@dataclass(frozen=True, slots=True)
class ExternalRouter:
    """A router outside the fabric. ``accept`` is taken from it exactly; ``advertise``, and what is inside, it is sent."""

    name: str
    asn: int
    links: tuple[ExternalLink, ...]
    accept: tuple[str, ...]
    advertise: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TenantLeaf:
    """A tenant's VRF on a leaf, where the file says more of it: its route distinguisher (empty: by slot), its loopbacks."""

    leaf: str
    route_distinguisher: str = ""
    loopbacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant of a fabric. ``slot`` (1-based) is its place in prefixes and VLANs; ``route_target`` is ``target:A:B``."""

    name: str
    fabric: str
    slot: int
    vni: int
    route_target: str
    networks: Annotated[tuple[VirtualNetwork, ...], Rare] = ()
    external: Annotated[tuple[ExternalRouter, ...], Rare] = ()
    server_pools: Annotated[tuple[str, ...], Rare] = ()
    """Pools of its own that the prefixes of its routed members are cut from; empty: the fabric's."""
    leaks: Annotated[tuple[str, ...], Rare] = ()
    """Tenants whose prefixes it takes, and that take its own, by a statement of the file."""
    on_leaves: Annotated[tuple[TenantLeaf, ...], Rare] = ()
    """Its VRFs, where route distinguishers are by a formula, or VRFs have loopbacks."""

    def on(self, leaf: str) -> TenantLeaf:
        """Return the settings of the tenant's VRF on a leaf."""
        return next((port for port in self.on_leaves if port.leaf == leaf), TenantLeaf(leaf))


@dataclass(frozen=True, slots=True)
class Overlay:
    """EVPN-VXLAN over a fabric: the address family of loopbacks and tunnels, and BFD of its sessions.

    ``gateway_mac`` is that of the gateways of layer-2 networks; empty where there are none.
    """

    vtep: Literal["ipv4", "ipv6"]
    bfd: Bfd
    gateway_mac: Annotated[str, Rare] = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A tunnel endpoint of a leaf (VTEP). ``color`` is a ``Color.index``, or None where paths are not colored."""

    address: str
    color: int | None
