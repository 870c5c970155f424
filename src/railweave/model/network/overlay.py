"""The overlay of a ``Network``: tenants with their networks and external routers, and tunnel endpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from railweave.model.intent.underlay import Bfd

Rare = Field(exclude_if=lambda value: value in ("", None, ()))
"""The options of a field that is empty in most networks. ``design.json`` leaves out empty values."""
RareFlag = Field(exclude_if=lambda value: value is False)
"""The options of a flag that is False in most networks. ``design.json`` leaves out False."""


@dataclass(frozen=True, slots=True)
class VirtualNetwork:
    """A layer-2 network of a tenant: a VLAN on every leaf with a member. EVPN extends the VLAN between the leaves.

    ``slot`` is the network's number, from which the VLAN and the VNI are derived by default.
    """

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
    """A leaf's link to an external router. ``address`` is the leaf's, and ``peer_address`` the router's, both without prefix length.

    ``vlan`` is None if the link is untagged.
    """

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
"""The name that stands for the device at the far end of an edge port, because this device is not known."""


@dataclass(frozen=True, slots=True)
class EdgePort:
    """A routed port of a leaf to equipment without BGP that is not a server of the fabric file.

    The prefixes of the port are in its segment.
    """

    name: str
    leaf: str
    port: str
    physical: int
    channel: int | None
    speed_gbps: int
    length_m: float

    @property
    def link(self) -> str:
        """The name of the edge port's link, ``leaf:port--name``."""
        return f"{self.leaf}:{self.port}--{self.name}"

    @property
    def nic(self) -> str:
        """The text that identifies the edge port in the field ``nic`` of its segment, as ``server:nic`` identifies a NIC."""
        return f"{self.name}:{EDGE}"


@dataclass(frozen=True, slots=True)
class ExternalRouter:
    """A router outside the fabric.

    The fabric accepts exactly the prefixes in ``accept`` from the router. To the router, the fabric advertises the prefixes in
    ``advertise``, and more specific prefixes inside them.
    """

    name: str
    asn: int
    links: tuple[ExternalLink, ...]
    accept: tuple[str, ...]
    advertise: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TenantLeaf:
    """The settings of a tenant's VRF on a leaf: the route distinguisher and the loopbacks.

    If the route distinguisher is empty, it is derived from the tenant's number (``Tenant.slot``).
    """

    leaf: str
    route_distinguisher: str = ""
    loopbacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant of a fabric. ``slot`` (from 1) is its number in prefixes and VLANs. ``route_target`` has the form ``target:A:B``."""

    name: str
    fabric: str
    slot: int
    vni: int
    route_target: str
    networks: Annotated[tuple[VirtualNetwork, ...], Rare] = ()
    external: Annotated[tuple[ExternalRouter, ...], Rare] = ()
    server_pools: Annotated[tuple[str, ...], Rare] = ()
    """The pools for the prefixes of the tenant's routed members. If empty, the fabric's pools are used."""
    leaks: Annotated[tuple[str, ...], Rare] = ()
    """The names of the tenants with which this tenant exchanges prefixes, as requested in the fabric file."""
    on_leaves: Annotated[tuple[TenantLeaf, ...], Rare] = ()
    """The VRF settings on each leaf. Empty unless route distinguishers follow a formula or VRFs have loopbacks."""

    def on(self, leaf: str) -> TenantLeaf:
        """Return the settings of the tenant's VRF on a leaf."""
        return next((port for port in self.on_leaves if port.leaf == leaf), TenantLeaf(leaf))


@dataclass(frozen=True, slots=True)
class Overlay:
    """The EVPN-VXLAN overlay of a fabric: the address family of loopbacks and tunnels, and BFD for the overlay sessions.

    ``gateway_mac`` is the MAC address of the gateways of layer-2 networks, or empty without such networks.
    """

    vtep: Literal["ipv4", "ipv6"]
    bfd: Bfd
    gateway_mac: Annotated[str, Rare] = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A tunnel endpoint of a leaf (VTEP). ``color`` is a ``Color.index``, or None if paths are not colored."""

    address: str
    color: int | None
