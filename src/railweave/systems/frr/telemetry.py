"""Telemetry of FRRouting. FRR has no gNMI and streams nothing, so its daemons and the kernel are queried at the interval at which other systems stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.state.telemetry import Column, Elements, Series, Subscription

PORT = 0
ENCODING = ""
SNMP: tuple[Column, ...] = ()
SUBSCRIPTIONS: tuple[Subscription, ...] = ()
QUICK = frozenset({"links", "interfaces", "bgp", "bgp-neighbors", "bfd", "isis", "lldp-neighbors", "neighbors"})
NOT_STREAMED = {"everything": "FRRouting has no gNMI server: it is asked"}


def series(elements: Elements) -> Series | None:
    """Return None, because nothing is streamed."""
    del elements
    return None
