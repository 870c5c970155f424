"""``DeviceConfig``: the typed, vendor-neutral configuration of one switch, resolved per port.

Renderers print it, ``routes`` computes what it does, ``verify`` checks it. Nothing in it is a decision left to a
renderer: path colors are already in the form that the device's operating system has (``fabric_color`` or policies).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.device.balancing import BalancingConfig
from railweave.model.device.bgp_model import (
    Action,
    Bgp,
    BgpGroup,
    Community,
    FabricAdvertise,
    Match,
    NumberedSession,
    Policy,
    Session,
    Term,
)
from railweave.model.device.control_plane import ControlPlane
from railweave.model.device.link_state_model import Isis, IsisPort, Ospf, OspfPort
from railweave.model.device.management import Management
from railweave.model.device.port_model import Gateway, Interface, Macsec, Split
from railweave.model.device.qos_model import Marking, PfcProfile, QosConfig
from railweave.model.device.tenant_model import BridgedVlan, ExternalPeer, MacVrf, OverlayConfig, TunnelEndpoint, Vrf

__all__ = [
    "Action",
    "Bgp",
    "BgpGroup",
    "BridgedVlan",
    "Community",
    "DeviceConfig",
    "ExternalPeer",
    "FabricAdvertise",
    "Gateway",
    "Interface",
    "Isis",
    "IsisPort",
    "MacVrf",
    "Macsec",
    "Marking",
    "Match",
    "NumberedSession",
    "Ospf",
    "OspfPort",
    "OverlayConfig",
    "PfcProfile",
    "Policy",
    "QosConfig",
    "Session",
    "Split",
    "Term",
    "TunnelEndpoint",
    "Vrf",
]


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """The whole configuration of one switch. ``left_out`` is what is wanted of it and its platform lacks.

    ``protection`` is what may reach the switch itself; None: anything.
    ``schema`` is the version of its file form (``config_file``), raised when its meaning changes.
    """

    schema: Literal[1] = field(default=1, kw_only=True)
    name: str
    role: Literal["leaf", "spine", "super-spine", "dci"]
    model: str
    nos: str
    release: str
    management: Management
    management_address: InterfaceAddress
    management_gateway: Address
    loopback: Prefix
    splits: tuple[Split, ...]
    interfaces: tuple[Interface, ...]
    gateways: tuple[Gateway, ...]
    bgp: Bgp | None
    qos: QosConfig | None
    balancing: BalancingConfig
    extra: str
    overlay: OverlayConfig | None = None
    vrfs: tuple[Vrf, ...] = ()
    mac_vrf: MacVrf | None = None
    left_out: tuple[str, ...] = ()
    isis: Isis | None = None
    protection: ControlPlane | None = None
    ospf: Ospf | None = None

    def loopbacks(self) -> tuple[Prefix, ...]:
        """Addresses of the loopback as prefixes, that of the router id first."""
        return tuple(dict.fromkeys((self.loopback, *(self.overlay.prefixes() if self.overlay else ()))))

    def edge_ports(self) -> tuple[Interface, ...]:
        """Layer-2 server ports, where they are to be protected."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return tuple(one for one in self.interfaces if one.kind == "server" and one.vlan) if wanted else ()

    def bpdu_guard(self) -> bool:
        """Whether a layer-2 server port that hears a bridge is shut."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return wanted is not None and wanted.bpdu_guard and bool(self.edge_ports())

    def storm_control(self) -> int | None:
        """The percentage of a layer-2 server port's speed that floods may take; None without a limit."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return wanted.storm_control if wanted and self.edge_ports() else None

    def maximum_ecmp(self) -> int | None:
        """The widest next-hop group; None without a routing protocol."""
        running = self.bgp or self.isis or self.ospf
        return running.maximum_ecmp if running else None

    def carried(self, port: Interface) -> tuple[int, ...]:
        """The numbers of the VLANs that a server port carries: the one without a tag first, the others as they stand."""
        named = next((one.vlan for one in self.gateways if one.vlan is not None and one.vlan_name == port.vlan), None)
        first = port.native_vlan if named is None else named
        return tuple(dict.fromkeys((*(() if first is None or first in port.tagged else (first,)), *port.tagged)))

    def bare_vlans(self) -> tuple[int, ...]:
        """VLANs that ports carry with a tag, and that have no gateway here."""
        routed = {one.vlan for one in self.gateways}
        return tuple(sorted({one for port in self.interfaces for one in port.tagged} - routed))

    def fabric_interfaces(self) -> list[Interface]:
        """Ports towards other switches."""
        return [one for one in self.interfaces if one.kind == "fabric"]
