"""Routing by link state as it is configured."""

from __future__ import annotations

from dataclasses import dataclass

from railweave.model.config.addresses import Address, Family
from railweave.model.device.timers import Bfd


@dataclass(frozen=True, slots=True)
class IsisPort:
    """A link that IS-IS runs on, point to point."""

    interface: str
    link: str
    peer: str
    metric: int


@dataclass(frozen=True, slots=True)
class Isis:
    """The IS-IS configuration of a device: level 2, wide metrics. ``passive`` are interfaces whose prefixes are advertised.

    ``key`` refers to the secret that authenticates (``secret:NAME``).
    """

    net: str
    router_id: Address
    ports: tuple[IsisPort, ...]
    passive: tuple[str, ...]
    families: tuple[Family, ...]
    maximum_ecmp: int
    key: str | None
    bfd: Bfd | None


@dataclass(frozen=True, slots=True)
class OspfPort:
    """A link that OSPF has a neighbor on, in an area."""

    interface: str
    link: str
    peer: str
    area: str
    metric: int


@dataclass(frozen=True, slots=True)
class Ospf:
    """OSPF version 2 of the default VRF (RFC 2328), as it is read: no design has it, and nothing renders it.

    ``passive`` are interfaces whose prefixes are advertised.
    """

    router_id: Address
    ports: tuple[OspfPort, ...]
    passive: tuple[str, ...]
    maximum_ecmp: int
