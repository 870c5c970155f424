"""Expectations: each is about one thing of one switch, and names the part of the fabric file that it follows from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
    from railweave.model.device.model import BgpGroup
    from railweave.model.device.model import Session as BgpSession
    from railweave.model.device.qos_model import Buffers, Ecn, Watchdog
    from railweave.model.device.timers import Bfd, RouterAdvertisements

Keys = tuple[str, ...]
"""The keys that lead to a part of the fabric file: ``("fabrics", "backend", "underlay")``."""

PAM4_GBPS = (200, 400, 800)
"""Speeds of ports that have RS(544,514) as their forward error correction (IEEE 802.3, clause 119)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A condition that must hold on ``device``; ``because`` leads to the part of the fabric file that asks for it."""

    device: str
    because: Keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Expectation):
    """The model, the operating system's release, and the serial number (empty: the inventory has none)."""

    model: str
    nos: str
    release: str
    serial: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Port(Expectation):
    """A cabled port that is up, with ``peer_port`` of ``peer`` at the other end of its cable, as LLDP shows it.

    A port to a router outside (``external``) has no cable in the design. Servers need not speak LLDP.
    ``mtu`` counts the Ethernet frame, as ``DeviceConfig`` does; ``ip_mtu`` is that of the gateway on it, where it routes for a
    server, and ``switched`` says that it is a port of a VLAN. ``optic`` is the module's name in the catalog; ``fec`` is
    the forward error correction that both ends must show: RS(544,514) on PAM4 lanes (IEEE 802.3, clause 119).
    """

    name: str
    link: str
    kind: Literal["server", "fabric", "external"]
    peer: str
    peer_port: str
    speed_gbps: int
    lanes: int
    mtu: int
    ip_mtu: int | None
    switched: bool
    optic: str
    fec: Literal["rs544"] | None

    @property
    def said_as(self) -> str:
        """The device's own name for the port."""
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Expectation):
    """An established BGP session with the prefixes that it carries, and how many of those received are ``used``.

    ``received`` and ``sent`` count before the receiver's policy, ``accepted`` is what is left of those received after it. A switch's own prefixes do not come back to it: Junos does
    not send them, FRR does not count them. A prefix is used where the session's link is a next hop of it; ``shared`` says
    whether any of these has other next hops besides. ``echoed`` are the receiver's own prefixes, which FRR sends back and
    counts as sent. ``color`` is the path color of the link (empty: not colored).
    """

    group: BgpGroup
    session: BgpSession
    received: int
    accepted: int
    sent: int
    echoed: int
    used: int
    shared: bool
    color: str
    bfd: Bfd | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlaySession(Expectation):
    """An established EVPN session between loopbacks."""

    session: BgpSession
    bfd: Bfd | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjacency(Expectation):
    """An IS-IS adjacency of level 2 that is up."""

    interface: str
    link: str
    peer: str
    metric: int
    bfd: Bfd | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route(Expectation):
    """A prefix of another switch, ``leaf``, its path color (empty: not colored), and the local ports that lead there."""

    prefix: Prefix
    color: str
    leaf: str
    ports: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway(Expectation):
    """A server-facing interface with its addresses, and the router advertisements that it sends (None: none)."""

    name: str
    addresses: tuple[InterfaceAddress, ...]
    prefixes: tuple[Prefix, ...]
    advertisements: RouterAdvertisements | None
    vrf: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant(Expectation):
    """The VRF of a tenant with the prefixes it must hold: ``own_prefixes``, and ``learned`` from other leaves; no others."""

    vrf: str
    vni: int
    route_distinguisher: str
    import_targets: tuple[str, ...]
    export_targets: tuple[str, ...]
    own_prefixes: tuple[Prefix, ...]
    learned: tuple[Prefix, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPrefix(Expectation):
    """A prefix that a VRF shares with other leaves and that no gateway here has, and the leaves that lead to it."""

    vrf: str
    prefix: Prefix
    leaves: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues(Expectation):
    """The expected queues of a port: the lossless queues with their PFC priorities, and those that mark ECN, by queue number.

    ``buffers`` is the partition of the packet buffer.
    """

    port: str
    lossless: dict[int, int]
    marked: dict[int, Ecn]
    buffers: Buffers
    watchdog: Watchdog | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock(Expectation):
    """A clock that is synchronised with one of these servers."""

    servers: tuple[Address | str, ...]


@dataclass(frozen=True, slots=True)
class ExpectedRouting:
    """The state of routing that a switch must show: what a runbook prints of it.

    - ``sessions``: BGP sessions on links;
    - ``examples``: routes to the prefixes of one other leaf, as its servers have them;
    - ``underlay``: the same in the default VRF, where an overlay has tunnel endpoints in place of tenants' prefixes;
    - ``tenants``: VRFs with the prefixes they must hold; ``shared`` are those that are no gateway's here;
    - ``bridged``: the leaves of each layer-2 network, by VNI.
    """

    sessions: tuple[Session, ...]
    examples: tuple[Route, ...]
    underlay: tuple[Route, ...]
    tenants: tuple[Tenant, ...]
    shared: tuple[SharedPrefix, ...]
    bridged: Mapping[int, tuple[str, ...]]
