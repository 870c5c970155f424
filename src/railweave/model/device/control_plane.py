"""Ordered rules for what may reach a device itself: its own sessions, neighbor discovery, diagnosis, management.

Packets that no rule takes are counted and dropped. Packets that a device forwards, for example RoCE, meet none of these rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from railweave.model.config.addresses import Family, Prefix

PortRange = tuple[int, int]
"""The first and the last TCP or UDP port."""


@dataclass(frozen=True, slots=True)
class Policer:
    """The limit on the packets of some rules together: bits per second, and bytes at once."""

    name: str
    rate_bps: int
    burst_bytes: int


@dataclass(frozen=True, slots=True)
class Sources:
    """Where packets may come from: ``prefixes`` (empty: any), by ``interfaces`` (empty: any) on systems that can tell."""

    name: str
    family: Family
    prefixes: tuple[Prefix, ...]
    interfaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ControlRule:
    """Packets that are accepted: all conditions that are set must hold; of several values, one.

    ``plane`` says where they come in: by ports of the fabric and of servers, or by the management port. ``sources`` and
    ``policer`` are names. ``icmp_types`` are of ICMPv6 where the family is IPv6. ``hop_limit`` is what the TTL or hop limit
    must be. ``established`` leaves out the first packet of a TCP connection.
    """

    name: str
    plane: Literal["network", "management"]
    family: Family
    protocol: Literal["tcp", "udp", "icmp"]
    sources: str = ""
    source_ports: tuple[PortRange, ...] = ()
    destination_ports: tuple[PortRange, ...] = ()
    icmp_types: tuple[int, ...] = ()
    hop_limit: int | None = None
    established: bool = False
    policer: str = ""


@dataclass(frozen=True, slots=True)
class ServerPortRule:
    """Packets that are dropped where servers are connected, for rules of the control plane do not see which port they came by."""

    name: str
    family: Family
    protocol: Literal["tcp", "udp"]
    destinations: tuple[Prefix, ...]
    destination_ports: tuple[PortRange, ...]


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """The rules of a device, in order. ``server_ports`` are for the interfaces that servers reach their gateway by."""

    rules: tuple[ControlRule, ...]
    sources: tuple[Sources, ...]
    policers: tuple[Policer, ...]
    server_ports: tuple[ServerPortRule, ...] = ()

    def of(self, plane: Literal["network", "management"], family: Family) -> tuple[ControlRule, ...]:
        """The rules of one plane and address family."""
        return tuple(rule for rule in self.rules if rule.plane == plane and rule.family == family)

    def together(self, family: Family) -> tuple[ControlRule, ...]:
        """The rules of a family where one list is for both planes: of management, those that say where packets come from."""
        management = (rule for rule in self.of("management", family) if rule.sources)
        return (*self.of("network", family), *management)

    def source(self, rule: ControlRule) -> Sources:
        """Where packets that a rule accepts may come from."""
        anywhere = Sources("", rule.family, ())
        return (
            next((source for source in self.sources if source.name == rule.sources), anywhere)
            if rule.sources
            else anywhere
        )
