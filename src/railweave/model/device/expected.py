"""Expected states of switches, such as a session that must be up, each with the part of the fabric file that requires the state."""

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
"""The path of keys to a value in the fabric file, for example ``("fabrics", "backend", "underlay")``."""

PAM4_GBPS = (200, 400, 800)
"""Port speeds that use RS(544,514) forward error correction (IEEE 802.3, clause 119)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A state that ``device`` must have. ``because`` is the path of keys to the value in the fabric file that requires the state."""

    device: str
    because: Keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Expectation):
    """The expected model, operating system, release and serial number of a switch. ``serial`` is empty if the inventory has none."""

    model: str
    nos: str
    release: str
    serial: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Port(Expectation):
    """The expectation that a port is up and, if the design has a cable on it, that LLDP shows ``peer_port`` of ``peer`` at the other end.

    A port to an external router (``external``) has no cable in the design. A server need not send LLDP.

    - ``mtu``: the MTU of the Ethernet frame, as in ``DeviceConfig``.
    - ``ip_mtu``: the MTU of the gateway on the port, if the port routes for a server.
    - ``switched``: True if the port is a member of a VLAN.
    - ``optic``: the name of the optical module in the catalog.
    - ``fec``: the forward error correction that both ends must show: RS(544,514) on PAM4 lanes (IEEE 802.3, clause 119).
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
        """The name that the device uses for the port."""
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Expectation):
    """The expectation that a BGP session is established, with these numbers of prefixes.

    - ``received`` and ``sent``: prefixes before the receiver's policy. A switch's own prefixes are not included: Junos
      does not send them back, and FRR does not count them.
    - ``accepted``: received prefixes that remain after the policy.
    - ``used``: received prefixes for which the session's link is a next hop.
    - ``shared``: True if any used prefix also has other next hops.
    - ``echoed``: the number of the receiver's own prefixes that FRR sends back and counts as sent.
    - ``color``: the path color of the link; empty if the link has none.
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
    """The expectation that an EVPN session between loopbacks is established."""

    session: BgpSession
    bfd: Bfd | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjacency(Expectation):
    """The expectation that a level-2 IS-IS adjacency is up."""

    interface: str
    link: str
    peer: str
    metric: int
    bfd: Bfd | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route(Expectation):
    """The expectation of a route to a prefix of another switch, ``leaf``. ``ports`` are the local ports on the paths to ``leaf``.

    ``color`` is the path color of the prefix; empty if the prefix has none.
    """

    prefix: Prefix
    color: str
    leaf: str
    ports: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColorPath(Expectation):
    """A BGP path that a switch must accept from a neighbor, with the attributes that mark its path color.

    - ``color`` and ``leaf``: the color of the prefix, and the leaf that originates the prefix.
    - ``communities``, ``aigp``, ``local_preference``: the attributes after the import policy (RFC 8092, RFC 7311); ``aigp`` is None if it
      is absent.
    """

    prefix: str
    color: str
    leaf: str
    session: BgpSession
    communities: frozenset[str]
    aigp: int | None
    local_preference: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway(Expectation):
    """A server-facing interface and the addresses that it must have.

    ``advertisements`` are the IPv6 router advertisements that the interface sends; None if it sends none.
    """

    name: str
    addresses: tuple[InterfaceAddress, ...]
    prefixes: tuple[Prefix, ...]
    advertisements: RouterAdvertisements | None
    vrf: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant(Expectation):
    """The expected VRF of a tenant. Its prefixes must be exactly ``own_prefixes`` (of this switch) and ``learned`` (from other leaves)."""

    vrf: str
    vni: int
    route_distinguisher: str
    import_targets: tuple[str, ...]
    export_targets: tuple[str, ...]
    own_prefixes: tuple[Prefix, ...]
    learned: tuple[Prefix, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPrefix(Expectation):
    """A prefix in a VRF. The leaves ``leaves`` announce the prefix, and this switch has no gateway in it."""

    vrf: str
    prefix: Prefix
    leaves: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues(Expectation):
    """The expected queues of a port.

    - ``lossless``: the PFC priority of each lossless queue, by queue number.
    - ``marked``: the ECN settings of each queue that marks, by queue number.
    - ``buffers``: the partition of the packet buffer.
    """

    port: str
    lossless: dict[int, int]
    marked: dict[int, Ecn]
    buffers: Buffers
    watchdog: Watchdog | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock(Expectation):
    """The expectation that the clock is synchronized with one of the NTP servers ``servers``."""

    servers: tuple[Address | str, ...]


@dataclass(frozen=True, slots=True)
class ExpectedRouting:
    """The routing state that a switch must show, as printed in a runbook.

    - ``sessions``: BGP sessions on links.
    - ``examples``: routes to the server prefixes of one other leaf.
    - ``underlay``: example routes in the default VRF. With an overlay, these are routes to tunnel endpoints instead of
      tenants' prefixes.
    - ``tenants``: VRFs with the prefixes that they must hold.
    - ``shared``: prefixes of VRFs that other leaves announce. This switch has no gateway in these prefixes.
    - ``bridged``: by the VNI of each layer-2 network, the leaves that the network spans.
    """

    sessions: tuple[Session, ...]
    examples: tuple[Route, ...]
    underlay: tuple[Route, ...]
    tenants: tuple[Tenant, ...]
    shared: tuple[SharedPrefix, ...]
    bridged: Mapping[int, tuple[str, ...]]
