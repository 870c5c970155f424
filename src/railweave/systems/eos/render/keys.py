"""Rendering of secret keys, and of MACsec, which uses a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, section
from railweave.systems.eos.names import KEY_PROFILE, MACSEC_PROFILE, secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig, Macsec


CIPHERS = {
    "gcm-aes-128": "aes128-gcm",
    "gcm-aes-256": "aes256-gcm",
    "gcm-aes-xpn-128": "aes128-gcm-xpn",
    "gcm-aes-xpn-256": "aes256-gcm-xpn",
}
"""EOS's names of MACsec ciphers, by the name in the design."""


def wanted(config: DeviceConfig) -> Macsec | None:
    """Return the MACsec settings of links between sites, or None if no port is encrypted. All links have the same settings."""
    return next((port.macsec for port in config.interfaces if port.macsec), None)


def key_line(profile: Macsec) -> str:
    """Return the line with a placeholder for the key of a MACsec profile in clear text (type 0). EOS encrypts the key when it reads the line.

    In ``avd.json``, the same line is in ``eos_cli``, because AVD's schema accepts only encrypted keys.
    """
    return f"key {profile.key_name} 0 {secret(profile.key)}"


def macsec(config: DeviceConfig) -> list[Section]:
    """Return the section ``mac security``; empty if no link is encrypted."""
    profile = wanted(config)
    if profile is None:
        return []
    body = (f"cipher {CIPHERS[profile.cipher_suite]}", key_line(profile))
    return [section("mac security", section(f"profile {MACSEC_PROFILE}", *body))]


def key_profile(config: DeviceConfig) -> Iterator[Section]:
    """Yield the TCP-AO key in ``session shared-secret profile`` of ``management security``."""
    key = config.bgp.authentication if config.bgp else None
    if key and key.algorithm != "md5":
        always = "receive-lifetime infinite transmit-lifetime infinite"
        yield section(
            f"session shared-secret profile {KEY_PROFILE}", f"secret {key.key_id} 0 {secret(key.key)} {always}"
        )
