"""The class ``DeviceState``: the typed answers of one device, in the same form for every operating system.

- None means that there is no answer: the device was not asked, did not answer, or was not understood. None never means zero.
- An empty table is an answer: the device's table has no entries.
- Times are seconds since 1970 (UTC) by the device's own clock.
- Counters count since the device last cleared them.
- Ports, VRFs and queues have the names that the device uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.state.ports import InterfaceState, Optic, PfcCounters, PortQueues
    from railweave.model.state.protocols import (
        BfdSession,
        BgpSession,
        EvpnRoutes,
        IsisAdjacency,
        LldpNeighbor,
        NeighborEntry,
        PacketFilter,
        Route,
        RouterAdvertising,
        VniState,
        VrfState,
    )


@dataclass(frozen=True, slots=True)
class Note:
    """A note that railweave could not read something in an answer.

    It has the device, the question, the place in the answer, and the fault (``what``).
    """

    device: str
    question: str
    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.device}: {self.question}{f' ({self.place})' if self.place else ''}: {self.what}"


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity that the device reports. ``booted`` is the time of its last start."""

    host_name: str | None = None
    model: str | None = None
    serial: str | None = None
    version: str | None = None
    booted: float | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """The device's clock when the device answered. ``synchronized`` is True if the clock follows a time server."""

    time: float | None = None
    synchronized: bool | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """The last commit of the configuration: its time, user, revision and comment.

    ``pending`` is True if the device will roll the commit back unless an operator confirms it.
    """

    time: float | None = None
    user: str | None = None
    revision: str | None = None
    comment: str | None = None
    pending: bool | None = None


@dataclass(frozen=True, slots=True)
class Alarm:
    """An active alarm. ``severity`` is the device's own term, in lower case."""

    severity: str | None
    text: str
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of the packet buffer: the bytes in use, and the peak."""

    used_bytes: int | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Watchdog:
    """The PFC watchdog of one queue: the number of storms detected and ended, and True if a storm is in progress."""

    detected: int | None = None
    recovered: int | None = None
    storming: bool | None = None


@dataclass(frozen=True, slots=True)
class DeviceState:
    """The answers of one device. Tables use the device's own names.

    - ``answered``: the questions that have an answer.
    - ``queues``: by port. ``pfc``: by port and priority. ``watchdog``: by port and queue. ``neighbors``: by local port.
    - ``routes``: the routes to prefixes that were queried one by one, the routes of complete tables, and static routes.
    - ``route_counts``: the number of BGP and IS-IS routes that the device uses for forwarding, by VRF and address family.
    - ``filters``: the packet filters in force. Chains of nftables are included only if they can drop packets.
    - ``not_forwarding``: the ports that forward no packets, by address family (``ipv4``, ``ipv6``). ``all`` means all
      ports.
    - ``kernel``: the parameters of a Linux kernel that decide how the device forwards, by their names in sysctl(8).
    - ``notes``: the places in the answers that could not be read.
    """

    device: str
    system: str
    answered: frozenset[str] = frozenset()
    identity: Identity | None = None
    clock: Clock | None = None
    commit: Commit | None = None
    alarms: tuple[Alarm, ...] | None = None
    neighbors: dict[str, tuple[LldpNeighbor, ...]] | None = None
    interfaces: dict[str, InterfaceState] | None = None
    optics: dict[str, Optic] | None = None
    ipv6_neighbors: tuple[NeighborEntry, ...] | None = None
    ipv4_neighbors: tuple[NeighborEntry, ...] | None = None
    advertising: dict[str, RouterAdvertising] | None = None
    bgp: tuple[BgpSession, ...] | None = None
    bfd: tuple[BfdSession, ...] | None = None
    isis: tuple[IsisAdjacency, ...] | None = None
    routes: tuple[Route, ...] | None = None
    route_counts: dict[str, dict[str, int]] | None = None
    not_forwarding: dict[str, tuple[str, ...]] | None = None
    kernel: dict[str, str] | None = None
    filters: tuple[PacketFilter, ...] | None = None
    vrfs: dict[str, VrfState] | None = None
    vnis: dict[int, VniState] | None = None
    evpn: EvpnRoutes | None = None
    queues: dict[str, PortQueues] | None = None
    pfc: dict[str, dict[int, PfcCounters]] | None = None
    pools: dict[str, Pool] | None = None
    watchdog: dict[str, dict[int, Watchdog]] | None = None
    notes: tuple[Note, ...] = field(default=())
