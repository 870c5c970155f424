"""Names of objects in an FRR configuration, shared by the renderer and the checks of a running router."""

from __future__ import annotations

BFD_PROFILE = "fabric"
OVERLAY_GROUP = "overlay"
OVERLAY_BFD_PROFILE = "overlay"
FROM_SPINE = "from-spine-evpn"
"""The community list with the community that spines add to EVPN routes."""
TO_NEIGHBORS = "evpn-to-neighbors"
"""The route-map for EVPN routes that are sent to neighbors."""
PROTECTION_TABLE = "railweave"
"""The nftables table with the rules for packets to the host itself."""
