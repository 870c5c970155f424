"""VRFs, bridged VLANs and tunnels of a switch as they are configured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from railweave.model.config.addresses import Address, Family, Prefix
from railweave.model.device.bgp_model import NumberedSession
from railweave.model.device.timers import Bfd
from railweave.model.network.overlay import Rare


@dataclass(frozen=True, slots=True)
class ExternalPeer:
    """A BGP session of a VRF with a router outside: ``accept`` is taken exactly, ``advertise`` sent with what is inside."""

    router: str
    session: NumberedSession
    accept: tuple[Prefix, ...]
    advertise: tuple[Prefix, ...]


@dataclass(frozen=True, slots=True)
class Vrf:
    """An IP-VRF of a tenant on a leaf; ``prefixes`` are those of its gateways (``Gateway.vrf`` is its name).

    ``external`` are its sessions with routers outside the fabric. ``loopbacks`` are the addresses of its loopback interface, whose
    number is ``unit``; None: it has none.
    """

    name: str
    vni: int
    route_distinguisher: str
    import_targets: tuple[str, ...]
    export_targets: tuple[str, ...]
    prefixes: tuple[Prefix, ...]
    external: tuple[ExternalPeer, ...] = ()
    loopbacks: Annotated[tuple[Prefix, ...], Rare] = ()
    unit: Annotated[int | None, Rare] = None

    def families(self) -> tuple[Family, ...]:
        """The address families it routes, IPv4 first."""
        outside = (one.session.local_address for one in self.external)
        return tuple(sorted({one.family for one in (*self.own(), *outside)}))

    def own(self) -> tuple[Prefix, ...]:
        """What it has connected and tells other leaves: the prefixes of its gateways, and its loopbacks."""
        return (*self.prefixes, *self.loopbacks)


@dataclass(frozen=True, slots=True)
class BridgedVlan:
    """A VLAN that EVPN joins with the same on other leaves: MAC and IP routes with its VNI and route target (type 2)."""

    vlan: int
    name: str
    vni: int
    route_target: str


@dataclass(frozen=True, slots=True)
class MacVrf:
    """The bridging instance of a leaf (RFC 7432, section 6.3: VLAN-aware bundle); ``ports`` are those on its VLANs."""

    name: str
    route_distinguisher: str
    route_target: str
    vlans: tuple[BridgedVlan, ...]
    ports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TunnelEndpoint:
    """An address that VXLAN tunnels end on; ``color`` is the name of its path color."""

    address: Address
    color: str | None


@dataclass(frozen=True, slots=True)
class OverlayConfig:
    """The EVPN overlay as a device sees it: sessions from ``loopback`` to the loopbacks of ``neighbors``.

    Leaves have ``endpoints``; spines pass routes on with the next hop unchanged (``reflects``), and with the
    community ``from_spine``, by which leaves know what not to send back. ``tunnel_dscp``: the model needs statements by which a
    tunnel's header has the DSCP of the packet in it.
    """

    loopback: Address
    neighbors: tuple[NumberedSession, ...]
    endpoints: tuple[TunnelEndpoint, ...]
    reflects: bool
    from_spine: str
    bfd: Bfd | None
    tunnel_dscp: bool = False

    def prefixes(self) -> tuple[Prefix, ...]:
        """The addresses that the overlay stands on as prefixes: of its sessions, and of its tunnels."""
        return tuple(dict.fromkeys(one.prefix for one in (self.loopback, *(end.address for end in self.endpoints))))
