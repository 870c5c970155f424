"""Names of what an FRR configuration defines: the renderer and the checks of a running router use the same."""

from __future__ import annotations

BFD_PROFILE = "fabric"
OVERLAY_GROUP = "overlay"
OVERLAY_BFD_PROFILE = "overlay"
FROM_SPINE = "from-spine-evpn"
"""The list of the community that spines put on EVPN's routes."""
TO_NEIGHBORS = "evpn-to-neighbors"
"""The route-map for EVPN's routes to neighbors."""
PROTECTION_TABLE = "railweave"
"""The nftables table of what may reach the host itself."""
