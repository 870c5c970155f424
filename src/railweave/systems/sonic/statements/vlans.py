"""Statements about VLANs, their ports and gateways, about VRFs, and about the VXLAN tunnel with its VNIs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from railweave.model.config.codecs import choice, number
from railweave.model.config.statements import Codec, Statements, line
from railweave.systems.sonic import statements
from railweave.systems.sonic.branches import MASTER
from railweave.systems.sonic.statements import ADDRESS, INTERFACE_ADDRESS, TEXT

if TYPE_CHECKING:
    from railweave.model.config.addresses import Address, InterfaceAddress


@dataclass(frozen=True, slots=True)
class Vlan:
    """A VLAN with its number and settings."""

    number: int | None = None
    description: str = ""
    mtu: int | None = None
    up: bool | None = None


@dataclass(frozen=True, slots=True)
class Gateway:
    """The settings of a VLAN's routed interface. Its addresses are in ``Assigned``."""

    vrf: str = ""
    anycast: bool | None = None
    proxy_arp: bool | None = None


@dataclass(frozen=True, slots=True)
class Assigned:
    """An address of a VLAN's routed interface."""

    name: str
    address: InterfaceAddress


@dataclass(frozen=True, slots=True)
class Mapped:
    """The mapping of a VLAN to a VNI on a VXLAN tunnel. ``name`` is the name of the mapping."""

    tunnel: str
    name: str
    vlan: str = ""
    vni: int | None = None


@dataclass(frozen=True, slots=True)
class Vlans:
    """The VLANs of a device, its VRFs with their VNIs, and its tunnels with their source addresses.

    - ``mac``: the MAC address that gateways have on every leaf.
    - ``endpoints``: the tunnel of each EVPN endpoint (``VXLAN_EVPN_NVO``).
    - ``mapped``: the mappings of VLANs to VNIs.
    """

    vlans: dict[str, Vlan] = field(default_factory=dict[str, Vlan])
    members: dict[str, bool] = field(default_factory=dict[str, bool])
    """The members of VLANs, by ``VLAN PORT`` such as ``Vlan2 Ethernet0``. The value is True if the port is a tagged member."""
    gateways: dict[str, Gateway] = field(default_factory=dict[str, Gateway])
    addresses: tuple[Assigned, ...] = ()
    mac: str = ""
    vrfs: dict[str, int] = field(default_factory=dict[str, int])
    tunnels: dict[str, Address] = field(default_factory=dict[str, "Address"])
    endpoints: dict[str, str] = field(default_factory=dict[str, str])
    mapped: tuple[Mapped, ...] = ()


TWO = Codec(r"[A-Za-z]+\d+ [A-Za-z]+\d+", word=r"\S+ \S+", shown_as="VLAN port")
TAGGED = choice({True: "tagged", False: "untagged"})
VNI = number(0, 16_777_215)
row = partial(
    statements.row,
    codecs={
        "number": number(1, 4094),
        "description": TEXT,
        "mtu": number(1, 9216),
        "up": choice({True: "up", False: "down"}),
        "proxy_arp": choice({True: "enabled", False: "disabled"}),
        "address": INTERFACE_ADDRESS,
        "vni": VNI,
    },
)
ANYCAST = line(
    "static_anycast_gateway <anycast>", statements.MODELS, since=MASTER, anycast=choice({True: "true", False: "false"})
)
"""The field for anycast gateways. Only the branch master supports it: in its models, ``intfmgrd`` and orchagent, together with ``SAG``."""

VLANS = Statements(
    Vlans,
    (
        row(
            "VLAN <name>",
            "vlanid <number>; description <description>; mtu <mtu>; admin_status <up>",
            into="vlans",
            made=Vlan,
            by="name",
        ),
        row("VLAN_MEMBER <name>", "tagging_mode <it>", into="members", by="name", name=TWO, it=TAGGED),
        row(
            "VLAN_INTERFACE <name>",
            "vrf_name <vrf>",
            ANYCAST,
            "proxy_arp <proxy_arp>",
            into="gateways",
            made=Gateway,
            by="name",
        ),
        row("VLAN_INTERFACE <name> <address>", into="addresses", made=Assigned),
        row("SAG GLOBAL", "gateway_mac <mac>", since=MASTER),
        row("VRF <name>", "vni <it>", into="vrfs", by="name", it=VNI),
        row("VXLAN_TUNNEL <name>", "src_ip <it>", into="tunnels", by="name", it=ADDRESS),
        row("VXLAN_EVPN_NVO <name>", "source_vtep <it>", into="endpoints", by="name"),
        row("VXLAN_TUNNEL_MAP <tunnel> <name>", "vlan <vlan>; vni <vni>", into="mapped", made=Mapped),
    ),
)
"""The table of statements about VLANs, VRFs and the VXLAN tunnel."""
