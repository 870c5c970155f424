"""``DeviceState``: the answers of one device, typed, and the same for every operating system.

None is an absent answer: not asked, not given, or not understood. None is never zero. An empty table is an answer: the device gave a
table without entries. Times are seconds since 1970 (UTC) by the device's own clock. Counters count since the device last cleared
them. Names of ports, VRFs and queues are those that the device uses.
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
        Ipv6Neighbor,
        IsisAdjacency,
        LldpNeighbor,
        Route,
        RouterAdvertising,
        VniState,
        VrfState,
    )


@dataclass(frozen=True, slots=True)
class Note:
    """Something in an answer that could not be read: which device, which question, where in the answer, and what is wrong."""

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
    """The device's clock when it was asked; ``synchronized`` says whether it follows another."""

    time: float | None = None
    synchronized: bool | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """The last change of the configuration: when, by whom, under which name. ``pending`` is one that goes back by itself."""

    time: float | None = None
    user: str | None = None
    revision: str | None = None
    comment: str | None = None
    pending: bool | None = None


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm that is raised; ``severity`` is the device's own word in small letters."""

    severity: str | None
    text: str
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of the packet buffer: bytes that are used, and the most that were."""

    used_bytes: int | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Watchdog:
    """The PFC watchdog of one queue: storms detected, storms that ended, and whether one lasts."""

    detected: int | None = None
    recovered: int | None = None
    storming: bool | None = None


@dataclass(frozen=True, slots=True)
class DeviceState:
    """The answers of one device. Tables are by the device's own names; ``notes`` are the parts of its answers that could not be read.

    ``answered`` are the questions that have an answer. ``queues`` are by port, ``pfc`` by port and priority, ``watchdog`` by port and
    queue, ``neighbors`` by local port. ``routes`` are the routes that were asked for, and static routes. ``not_forwarding`` is by
    address family (``ipv4``, ``ipv6``): the ports from which no packet is forwarded; ``all`` stands for all ports.
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
    ipv6_neighbors: tuple[Ipv6Neighbor, ...] | None = None
    advertising: dict[str, RouterAdvertising] | None = None
    bgp: tuple[BgpSession, ...] | None = None
    bfd: tuple[BfdSession, ...] | None = None
    isis: tuple[IsisAdjacency, ...] | None = None
    routes: tuple[Route, ...] | None = None
    not_forwarding: dict[str, tuple[str, ...]] | None = None
    vrfs: dict[str, VrfState] | None = None
    vnis: dict[int, VniState] | None = None
    evpn: EvpnRoutes | None = None
    queues: dict[str, PortQueues] | None = None
    pfc: dict[str, dict[int, PfcCounters]] | None = None
    pools: dict[str, Pool] | None = None
    watchdog: dict[str, dict[int, Watchdog]] | None = None
    notes: tuple[Note, ...] = field(default=())
