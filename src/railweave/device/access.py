"""Who may talk to a device: keys of its BGP sessions, servers that know logins, limits of logins, server ports.

Secrets are references, ``secret:NAME``; what each field means is in docs/fabric-file.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Authentication:
    """The key of BGP sessions: TCP MD5 (RFC 2385), or TCP-AO with the number of the key (RFC 5925)."""

    key: str
    algorithm: Literal["md5", "ao-aes-128-cmac", "ao-hmac-sha-1"] = "md5"
    key_id: int = 1
