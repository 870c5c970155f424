"""The checks of Arista EOS where sites are joined: IS-IS, MACsec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.systems.eos.names import MACSEC_PROFILE
from railweave.systems.eos.render.macsec import CIPHERS
from railweave.systems.runbook import Check, IsisWords

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig


ISIS = IsisWords(("show isis neighbors", "show isis interface", "show isis summary"), "show bfd peers", "Loopback0")
"""IS-IS in the words of EOS."""


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
