"""Ordered rules for traffic to a device itself: BGP and other sessions, neighbor discovery, diagnosis, management.

Packets that match no rule are counted and dropped. The rules do not apply to packets that a device forwards, for example RoCE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from railweave.model.config.addresses import Family, Prefix

PortRange = tuple[int, int]
"""The first and the last TCP or UDP port number of a range."""


@dataclass(frozen=True, slots=True)
class Policer:
    """A rate limit that several rules share: the rate in bits per second, and the burst size in bytes."""

    name: str
    rate_bps: int
    burst_bytes: int


@dataclass(frozen=True, slots=True)
class Sources:
    """The senders and ingress interfaces from which a rule accepts packets.

    - ``prefixes``: the source prefixes; empty means any.
    - ``interfaces``: the ingress interfaces, for systems that can match them; empty means any.
    """

    name: str
    family: Family
    prefixes: tuple[Prefix, ...]
    interfaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ControlRule:
    """A rule that accepts packets. A packet must meet all conditions that are set.

    If a condition has several values, the packet must match one of the values.

    - ``plane``: the ports on which the packets arrive: ``network`` for fabric and server ports, or the management port.
    - ``sources`` and ``policer``: names of a ``Sources`` and a ``Policer``.
    - ``icmp_types``: ICMPv6 types if the family is IPv6.
    - ``hop_limit``: the required TTL or hop limit.
    - ``established``: True to exclude the first packet of a TCP connection.
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
    """A rule that drops packets that arrive on server ports. Systems need it if their control-plane rules cannot match the ingress port."""

    name: str
    family: Family
    protocol: Literal["tcp", "udp"]
    destinations: tuple[Prefix, ...]
    destination_ports: tuple[PortRange, ...]


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """The rules for traffic to a device, in order, with the sources and rate limits that they name.

    ``server_ports`` apply to the interfaces through which servers reach their gateway.
    """

    rules: tuple[ControlRule, ...]
    sources: tuple[Sources, ...]
    policers: tuple[Policer, ...]
    server_ports: tuple[ServerPortRule, ...] = ()

    def of(self, plane: Literal["network", "management"], family: Family) -> tuple[ControlRule, ...]:
        """Return the rules of one address family for packets that arrive on fabric and server ports (``network``) or on the management port."""
        return tuple(rule for rule in self.rules if rule.plane == plane and rule.family == family)

    def together(self, family: Family) -> tuple[ControlRule, ...]:
        """Return the rules of an address family as one list, network rules first, for systems that cannot keep separate lists.

        Management rules that name no sources are left out: in one list they would admit every sender on network ports.
        """
        management = (rule for rule in self.of("management", family) if rule.sources)
        return (*self.of("network", family), *management)

    def source(self, rule: ControlRule) -> Sources:
        """Return the ``Sources`` that a rule names: the prefixes and ingress interfaces from which the rule accepts packets."""
        anywhere = Sources("", rule.family, ())
        return (
            next((source for source in self.sources if source.name == rule.sources), anywhere)
            if rule.sources
            else anywhere
        )
