"""The state of protocols in a ``DeviceState``: neighbors, sessions, routes and overlay.

None means that the device gave no value.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LldpNeighbor:
    """An LLDP neighbor on a port (IEEE 802.1AB): its system name, its port's id and description, and its chassis id.

    The port id may be a name, a MAC address, or a number that is meaningful only to the neighbor. ``port_kind`` is the
    device's term for the type of id.
    """

    system: str | None = None
    port: str | None = None
    port_kind: str | None = None
    port_description: str | None = None
    chassis: str | None = None


@dataclass(frozen=True, slots=True)
class NeighborEntry:
    """An entry of the neighbor cache (RFC 4861) or of the ARP table (RFC 826).

    ``mac`` is None if the address is not resolved. ``state`` is in lower case; None if the system shows no state. The
    state ``stale`` is normal: the device has sent nothing to the neighbor for a while.
    """

    address: str
    interface: str | None = None
    mac: str | None = None
    state: str | None = None
    router: bool | None = None


@dataclass(frozen=True, slots=True)
class AdvertisedPrefix:
    """A prefix in a router advertisement (RFC 4861, section 4.6.2). Lifetimes are in seconds."""

    prefix: str
    valid_s: int | None = None
    preferred_s: int | None = None
    on_link: bool | None = None
    autonomous: bool | None = None


@dataclass(frozen=True, slots=True)
class HeardAdvertisement:
    """The last router advertisement received from a neighbor.

    ``conflicts`` lists the fields that, according to the device, disagree with the device's own advertisement.
    """

    source: str
    lifetime_s: int | None = None
    prefixes: tuple[AdvertisedPrefix, ...] = ()
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouterAdvertising:
    """The router advertisements on an interface: the numbers sent and received, the contents, and the last one from each neighbor.

    ``interval_s`` is the longest time between two advertisements, and ``lifetime_s`` is the router lifetime, both in
    seconds. RFC 4861, section 4.2, explains the other fields.
    """

    sent: int | None = None
    received: int | None = None
    heard: tuple[HeardAdvertisement, ...] = ()
    interval_s: int | None = None
    lifetime_s: int | None = None
    hop_limit: int | None = None
    reachable_ms: int | None = None
    retransmit_ms: int | None = None


@dataclass(frozen=True, slots=True)
class FamilyState:
    """The numbers of prefixes of one address family in a BGP session: received (before the policy), accepted, sent, and in use (``active``)."""

    received: int | None = None
    accepted: int | None = None
    sent: int | None = None
    active: int | None = None


@dataclass(frozen=True, slots=True)
class BgpSession:
    """A BGP session.

    - ``peer``: the neighbor's address without zone and port, or None if the device identifies it only by its port.
    - ``interface``: the port of the session, if the device gives it. Unnumbered or auto-discovered neighbors have one.
    - ``state``: the state of RFC 4271 in lower case (``established``, ``opensent``, ``idle``).
    - ``families``: the numbers of prefixes, by ``ipv4``, ``ipv6``, ``evpn``, or the device's own table name.
    - ``policy_missing``: True if no routes are exchanged because a policy is missing (RFC 8212).
    - ``discovered``: True if the device discovered the neighbor.
    - ``flaps``: the number of times that the session left the established state.
    """

    peer: str | None
    interface: str | None = None
    vrf: str | None = None
    state: str | None = None
    peer_as: int | None = None
    local_as: int | None = None
    group: str | None = None
    description: str | None = None
    host_name: str | None = None
    discovered: bool | None = None
    established_since: float | None = None
    flaps: int | None = None
    last_error: str | None = None
    bfd: str | None = None
    policy_missing: bool | None = None
    families: dict[str, FamilyState] = field(default_factory=dict[str, FamilyState])

    @property
    def established(self) -> bool | None:
        """True if the session is established; None if its state is not known."""
        return None if self.state is None else self.state == "established"


@dataclass(frozen=True, slots=True)
class BfdSession:
    """A BFD session (RFC 5880). ``state`` is in lower case, and times are in milliseconds."""

    peer: str
    interface: str | None = None
    vrf: str | None = None
    state: str | None = None
    tx_ms: float | None = None
    rx_ms: float | None = None
    multiplier: int | None = None
    detection_ms: float | None = None
    diagnostic: str | None = None


@dataclass(frozen=True, slots=True)
class IsisAdjacency:
    """An IS-IS adjacency (ISO/IEC 10589).

    - ``system``: the neighbor's host name or system id.
    - ``state``: in lower case.
    - ``level``: 1, 2, or 3 for both levels.
    """

    interface: str
    system: str | None = None
    state: str | None = None
    level: int | None = None


@dataclass(frozen=True, slots=True)
class NextHop:
    """A next hop.

    - ``active``: True if the device forwards packets to the next hop.
    - ``vtep``: the far end of a VXLAN tunnel.
    - ``weight``: its share of the packets, relative to the other next hops of the route.
    """

    address: str | None = None
    interface: str | None = None
    active: bool | None = None
    vtep: str | None = None
    vni: int | None = None
    weight: int | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """One BGP path to a prefix.

    - ``best``: True for the selected path.
    - ``multipath``: True for a path that is used in addition to the best path.
    - ``hidden``: the device's reason for not using the path.
    """

    peer: str | None = None
    best: bool | None = None
    multipath: bool | None = None
    valid: bool | None = None
    hidden: str | None = None
    as_path: str | None = None
    local_preference: int | None = None
    aigp: int | None = None
    communities: tuple[str, ...] = ()
    large_communities: tuple[str, ...] = ()
    extended_communities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """A route in an answer of the device.

    - ``next_hops``: the next hops of the selected route. Empty if the device has no route to the prefix.
    - ``installed``: True if the device reports that it uses this route for forwarding.
    - ``drops``: the device's term for a next hop that drops every packet.
    """

    prefix: str
    vrf: str
    protocol: str | None = None
    installed: bool | None = None
    next_hops: tuple[NextHop, ...] = ()
    paths: tuple[Path, ...] | None = None
    drops: str | None = None


@dataclass(frozen=True, slots=True)
class PacketFilter:
    """A filter of packets that is in force on a device: a chain of nftables, an access list, a firewall filter.

    ``ports`` are the ports that the filter names or is bound to. Empty if the filter applies to all ports, or if the
    device does not show the ports.
    """

    name: str
    ports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VrfState:
    """A VRF: its route distinguisher, VNI, state and interfaces, and its route targets in the form ``64512:20001``."""

    name: str
    route_distinguisher: str | None = None
    vni: int | None = None
    up: bool | None = None
    interfaces: tuple[str, ...] | None = None
    import_targets: tuple[str, ...] | None = None
    export_targets: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class VniState:
    """A VXLAN network identifier. ``layer`` is 2 for a VNI with a VLAN, or 3 for a VNI with a VRF.

    - ``router_mac``: the MAC address that EVPN announces for the VRF (RFC 9135, section 8.1).
    - ``bridge``: the routed interface of the VRF's VNI. It has the MAC address ``router_mac``.
    """

    vni: int
    layer: int | None = None
    vrf: str | None = None
    vlan: int | None = None
    up: bool | None = None
    router_mac: str | None = None
    bridge: str | None = None


@dataclass(frozen=True, slots=True)
class EvpnRoutes:
    """The number of EVPN routes that the device holds: ``type2`` (MAC and IP) and ``type5`` (IP prefixes).

    ``type5_prefixes`` holds the type-5 prefixes by VRF or by route distinguisher, depending on the device's output.
    """

    type2: int | None = None
    type5: int | None = None
    type5_prefixes: dict[str, tuple[str, ...]] | None = None
