"""A BGP routing instance as its lines have it: neighbors, peer groups, address families."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import Address, Family, Prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.select import Selected
    from railweave.model.device.timers import Bfd

EVPN = "evpn"
INTERNAL = -1
"""The AS number of a neighbor that has the device's own."""

AddressFamily = Literal["ipv4", "ipv6", "evpn"]


@dataclass
class InFamily:
    """What a neighbor or a peer group has in an address family. ``active`` None: it is not said."""

    active: bool | None = None
    imports: str | None = None
    exports: str | None = None
    next_hop_kept: bool = False
    reflected: bool = False


@dataclass
class Neighbor:
    """A neighbor, by address or interface, or a peer group, as its lines say; None: they do not say."""

    name: str
    is_group: bool = False
    group: str | None = None
    peer_as: int | None = None
    on_interface: bool = False
    description: str | None = None
    local_as: int | None = None
    multihop: bool = False
    source: str | None = None
    bfd: str | Bfd | None = None
    """BFD: the name of its profile, or its timers."""
    bfd_lines: list[Selected] = field(default_factory=list["Selected"])
    key: str | None = None
    one_hop: bool = False
    shut: bool = False
    passive: bool = False
    families: dict[AddressFamily, InFamily] = field(default_factory=dict[AddressFamily, InFamily])

    def within(self, family: AddressFamily) -> InFamily:
        """What it has in a family."""
        return self.families.setdefault(family, InFamily())


@dataclass
class InstanceFamily:
    """An address family of an instance. ``connected`` None: connected routes are not redistributed; empty: all of them."""

    connected: str | None = None
    networks: list[Prefix] = field(default_factory=list[Prefix])
    width: int | None = None


@dataclass
class Vni:
    """A VNI below ``address-family l2vpn evpn``."""

    number: int
    distinguisher: str = ""
    imports: list[str] = field(default_factory=list[str])
    exports: list[str] = field(default_factory=list[str])


@dataclass
class Instance:
    """A BGP instance: of the default VRF, or of another. ``distinguisher`` and targets are those of its VRF."""

    asn: int
    vrf: str = ""
    router_id: Address | None = None
    unicast_by_default: bool = True
    policy_required: bool | None = None
    compare_aigp: bool = False
    fast: bool = False
    restart: bool = False
    neighbors: dict[str, Neighbor] = field(default_factory=dict[str, Neighbor])
    families: dict[Family, InstanceFamily] = field(default_factory=dict[Family, InstanceFamily])
    evpn: bool = False
    all_vnis: bool = False
    advertised: list[Family] = field(default_factory=list[Family])
    distinguisher: str = ""
    imports: list[str] = field(default_factory=list[str])
    exports: list[str] = field(default_factory=list[str])
    vnis: dict[int, Vni] = field(default_factory=dict[int, Vni])
    ranges: list[tuple[Prefix, str]] = field(default_factory=list[tuple[Prefix, str]])

    def neighbor(self, name: str) -> Neighbor:
        """A neighbor or peer group by its name."""
        return self.neighbors.setdefault(name, Neighbor(name))

    def groups(self) -> Iterator[Neighbor]:
        """Its peer groups."""
        return (one for one in self.neighbors.values() if one.is_group)

    def peers(self) -> Iterator[Neighbor]:
        """Its neighbors that are no groups."""
        return (one for one in self.neighbors.values() if not one.is_group)

    def group_of(self, one: Neighbor) -> Neighbor | None:
        """The peer group of a neighbor."""
        found = self.neighbors.get(one.group) if one.group else None
        return found if found and found.is_group else None

    def active(self, one: Neighbor, family: AddressFamily) -> bool:
        """Whether routes of a family go over a session."""
        group = self.group_of(one)
        for level in (one, group):
            if level and family in level.families and (said := level.families[family].active) is not None:
                return said
        return family == "ipv4" and self.unicast_by_default
