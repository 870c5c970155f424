"""Keys of BGP sessions: TCP MD5, and TCP-AO by a profile of shared secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, section
from railweave.systems.eos.names import KEY_PROFILE, secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import Bgp, DeviceConfig

_AO = {"ao-aes-128-cmac": "aes-128-cmac-96", "ao-hmac-sha-1": "hmac-sha1-96"}


def keyed(bgp: Bgp, group: str) -> list[str]:
    """The key of a peer group's sessions, given in the clear (type 0): EOS stores it in its own form."""
    key = bgp.authentication
    if key is None:
        return []
    if key.algorithm == "md5":
        return [f"neighbor {group} password 0 {secret(key.key)}"]
    return [f"neighbor {group} password shared-secret profile {KEY_PROFILE} algorithm {_AO[key.algorithm]}"]


def key_profile(config: DeviceConfig) -> Iterator[Section]:
    """``session shared-secret profile``, of ``management security``: the key of TCP-AO under its number."""
    key = config.bgp.authentication if config.bgp else None
    if key and key.algorithm != "md5":
        always = "receive-lifetime infinite transmit-lifetime infinite"
        yield section(
            f"session shared-secret profile {KEY_PROFILE}", f"secret {key.key_id} 0 {secret(key.key)} {always}"
        )
