"""Telemetry of FRRouting. FRR has no gNMI and streams nothing, so railweave queries its daemons and the kernel at regular intervals."""

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
    """Return None for every telemetry path (``elements``), because FRRouting streams no time series."""
    del elements
    return None
