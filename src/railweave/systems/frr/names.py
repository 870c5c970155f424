"""Names of what an FRR configuration defines: whoever renders it or looks at a running router uses the same."""

from __future__ import annotations

BFD_PROFILE = "fabric"
OVERLAY_GROUP = "overlay"
OVERLAY_BFD_PROFILE = "overlay"
PROTECTION_TABLE = "railweave"
"""The nftables table of what may reach the host itself."""
