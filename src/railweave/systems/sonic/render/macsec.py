"""MACsec on the long links: a profile with the pre-shared key, which ports name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.sonic.tables import Tables

PROFILE = "interconnect"
KEY_NAME_DIGITS = 64
"""Digits of a key's name (sonic-macsec.yang: 32 or 64)."""


def macsec(config: DeviceConfig) -> Tables:
    """``MACSEC_PROFILE``.

    A shorter key name is filled up with zeros at its end, as Junos fills it up (connectivity-association, ckn).
    """
    wanted = next((one.macsec for one in config.interfaces if one.macsec), None)
    if wanted is None:
        return {}
    return {
        "MACSEC_PROFILE": {
            PROFILE: {
                "cipher_suite": wanted.cipher_suite.upper(),
                "primary_cak": f"<{wanted.key}>",
                "primary_ckn": wanted.key_name.ljust(KEY_NAME_DIGITS, "0"),
                "policy": "security",
            }
        }
    }
