"""The checks of Arista EOS where sites are joined: IS-IS, MACsec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.render.eos.macsec import CIPHERS, MACSEC_PROFILE
from railweave.runbook.check import Check

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig


def isis_checks(config: DeviceConfig) -> list[Check]:
    """Adjacencies, and BFD where it runs."""
    found = config.isis
    if found is None:
        return []
    rows = tuple((port.interface, port.peer, port.metric) for port in found.ports)
    points = (
        f"{counted(len(rows), 'adjacency', 'adjacencies')}, level 2, all up",
        f"network entity title {found.net}; {counted(len(found.passive), 'server port')} and Loopback0 passive",
    )
    commands = ("show isis neighbors", "show isis interface", "show isis summary")
    made = [Check("IS-IS adjacencies", commands, points, ("Interface", "Neighbor", "Metric"), rows)]
    if found.bfd:
        timers = f"{found.bfd.minimum_interval} ms x {found.bfd.multiplier}, down after {found.bfd.detection_ms():,} ms"
        made.append(Check("BFD", ("show bfd peers",), (f"{counted(len(rows), 'session')} up", timers)))
    return made


def macsec_checks(config: DeviceConfig) -> list[Check]:
    """MACsec on the long links; none where they are not encrypted."""
    ports = [one for one in config.interfaces if one.macsec is not None]
    wanted = ports[0].macsec if ports else None
    if wanted is None:
        return []
    points = (
        f"profile {MACSEC_PROFILE} secures {counted(len(ports), 'interface')}: {', '.join(one.name for one in ports)}",
        f"cipher {CIPHERS[wanted.cipher_suite]}, key name {wanted.key_name}, the same on both ends",
        "no link comes up where the keys differ: IS-IS, BGP and LLDP stay silent there",
    )
    return [Check("MACsec", ("show mac security interface", "show mac security participants"), points)]
