"""The checks of Junos OS Evolved on routers that join sites: IS-IS, MACsec, spraying."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.systems.junos.names import SPRAYING_FILTER, SPRAYING_INSTANCE
from railweave.systems.runbook import Check, IsisWords

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig


ISIS = IsisWords(
    ("show isis adjacency", "show isis interface", "show isis overview"), "show bfd session", "lo0.0", "{port}.0"
)
"""IS-IS in the words of Junos."""


def macsec_checks(config: DeviceConfig) -> list[Check]:
    """MACsec on the long links; none where they are not encrypted."""
    ports = [one for one in config.interfaces if one.macsec is not None]
    wanted = ports[0].macsec if ports else None
    if wanted is None:
        return []
    points = (
        f"{counted(len(ports), 'interface')} secured: {', '.join(one.name for one in ports)}",
        f"cipher suite {wanted.cipher_suite}, key name {wanted.key_name}, the same on both ends",
        "no link comes up where the keys differ: IS-IS, BGP and LLDP stay silent there",
    )
    return [Check("MACsec", ("show security mka sessions", "show security macsec connections"), points)]


def spraying_checks(config: DeviceConfig) -> list[Check]:
    """That packets of the wanted opcodes alone are sprayed."""
    if not config.balancing.sprays_by_opcode:
        return []
    codes = ", ".join(map(str, config.balancing.opcodes))
    points = (
        "the instance has the routes of the main table; its next hops are shared at random, the main table's by flow",
        f"packets with RDMA opcode {codes} that come in by {', '.join(config.balancing.filtered_ports)} take it",
        "under load every port towards the other site carries the same rate, to a few percent",
    )
    commands = (
        f"show route table {SPRAYING_INSTANCE}.inet.0",
        f"show route forwarding-table table {SPRAYING_INSTANCE}",
        f"show configuration firewall | match {SPRAYING_FILTER}",
        "monitor interface traffic",
    )
    return [Check("Spraying by opcode", commands, points)]
