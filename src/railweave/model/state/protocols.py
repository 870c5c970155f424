"""The part of a ``DeviceState`` that is about protocols: neighbors, sessions, routes, overlay. None is what the device did not say."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LldpNeighbor:
    """An LLDP neighbor on a port (IEEE 802.1AB): its system name, its port's id and description, and its chassis id.

    The id of a port may be its name, a MAC address, or a number that has a meaning only to the neighbor. ``port_kind`` is the
    device's word for the kind of id.
    """

    system: str | None = None
    port: str | None = None
    port_kind: str | None = None
    port_description: str | None = None
    chassis: str | None = None


@dataclass(frozen=True, slots=True)
class Ipv6Neighbor:
    """An entry of the neighbor cache (RFC 4861): ``mac`` is None where it is not resolved; ``state`` is in small letters.

    ``stale`` is healthy: nothing was sent to the neighbor for a while. A system that shows no state has None.
    """

    address: str
    interface: str | None = None
    mac: str | None = None
    state: str | None = None
    router: bool | None = None


@dataclass(frozen=True, slots=True)
class AdvertisedPrefix:
    """A prefix of a router advertisement (RFC 4861, section 4.6.2); lifetimes in seconds."""

    prefix: str
    valid_s: int | None = None
    preferred_s: int | None = None
    on_link: bool | None = None
    autonomous: bool | None = None


@dataclass(frozen=True, slots=True)
class HeardAdvertisement:
    """The last router advertisement of one neighbor. ``conflicts`` are fields in which the device sees it disagree with its own."""

    source: str
    lifetime_s: int | None = None
    prefixes: tuple[AdvertisedPrefix, ...] = ()
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouterAdvertising:
    """Router advertisements on an interface: how many were sent and received, what is sent, and what neighbors said last.

    ``interval_s`` is the longest time between two, ``lifetime_s`` that of the router, and the others as RFC 4861, section 4.2, has them.
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
    """Prefixes of one address family of a session: received before policy, accepted by it, sent, and in use."""

    received: int | None = None
    accepted: int | None = None
    sent: int | None = None
    active: int | None = None


@dataclass(frozen=True, slots=True)
class BgpSession:
    """A BGP session. ``peer`` is the neighbor's address without zone and port; None where the device names it by its port alone.

    ``interface`` is the port it runs over where the device says so: that of an unnumbered or auto-discovered neighbor.
    ``state`` is the state of RFC 4271 in small letters (``established``, ``opensent``, ``idle``). ``families`` are by
    ``ipv4``, ``ipv6``, ``evpn``, or the device's own name of a table. ``policy_missing``: nothing is exchanged for want of a policy (RFC 8212).
    ``discovered``: the device found the neighbor by itself. ``flaps`` counts how often it was established and no longer was.
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
    """A BFD session (RFC 5880); ``state`` in small letters, times in milliseconds."""

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
    """An IS-IS adjacency (ISO/IEC 10589); ``system`` is the neighbor's host name or system id, ``state`` in small letters.

    ``level`` is 1, 2, or 3 for both.
    """

    interface: str
    system: str | None = None
    state: str | None = None
    level: int | None = None


@dataclass(frozen=True, slots=True)
class NextHop:
    """One next hop. ``active`` is whether it is forwarded to; ``vtep`` is the far end of a tunnel."""

    address: str | None = None
    interface: str | None = None
    active: bool | None = None
    vtep: str | None = None
    vni: int | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """One BGP path to a prefix. ``best`` is the chosen one, ``multipath`` one that is used beside it; ``hidden`` with the device's reason."""

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
    """A route that was asked for. ``next_hops`` are those of the chosen route; none: the device has no route to it.

    ``installed`` is whether the device says that it forwards by it; ``drops`` is its word for a next hop that drops every packet.
    """

    prefix: str
    vrf: str
    protocol: str | None = None
    installed: bool | None = None
    next_hops: tuple[NextHop, ...] = ()
    paths: tuple[Path, ...] | None = None
    drops: str | None = None


@dataclass(frozen=True, slots=True)
class VrfState:
    """A VRF: its route distinguisher, the number of its VNI, whether it is up, its interfaces, its route targets as ``64512:20001``."""

    name: str
    route_distinguisher: str | None = None
    vni: int | None = None
    up: bool | None = None
    interfaces: tuple[str, ...] | None = None
    import_targets: tuple[str, ...] | None = None
    export_targets: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class VniState:
    """A VXLAN network identifier: ``layer`` 2 with its VLAN, or 3 with its VRF."""

    vni: int
    layer: int | None = None
    vrf: str | None = None
    vlan: int | None = None
    up: bool | None = None


@dataclass(frozen=True, slots=True)
class EvpnRoutes:
    """The number of EVPN routes that the device holds: ``type2`` MAC and IP, ``type5`` IP prefixes.

    ``type5_prefixes`` are the prefixes of type 5, by VRF or by route distinguisher, depending on the device's list.
    """

    type2: int | None = None
    type5: int | None = None
    type5_prefixes: dict[str, tuple[str, ...]] | None = None
