"""Names that ``eos.conf`` (``render``) and ``avd.json`` (``avd``) both use: of profiles, groups, route maps, interfaces.

Nothing else is shared between the two, for one is validated by the other: no number, order or list may be computed here.
"""

from __future__ import annotations

MANAGEMENT_VRF = "MGMT"
MANAGEMENT_PORT = "Management1"
SSL_PROFILE = "railweave"
SNMP_GROUP = "railweave"
KEY_PROFILE = "fabric"
SNMP_CLIENTS = "SNMP-CLIENTS"

QOS_PROFILE = "ROCE"
UNPAUSED_PROFILE = "ROCE-UNPAUSED"
"""The same without PFC: for links between sites that are not paused, and for ports to routers outside."""

QUEUE_PROFILE = "railweave"
MACSEC_PROFILE = "interconnect"
ISIS_INSTANCE = "underlay"

ROUTER_LOOPBACK = "Loopback0"
"""The loopback of the router id and of overlay sessions."""

TUNNEL_LOOPBACK = "Loopback1"
"""The loopback that tunnels end on, where they have addresses of their own."""

OVERLAY_GROUP = "overlay"
FROM_SPINE = "from-spine-evpn"
"""The community that spines add to EVPN routes, and that leaves send back to none of them."""

TO_NEIGHBORS = "evpn-to-neighbors"

CONTROL_PLANE_LISTS = {"ipv4": "control-plane-v4", "ipv6": "control-plane-v6"}
MANAGEMENT_LISTS = {"ipv4": "management-v4", "ipv6": "management-v6"}
SERVER_LISTS = {"ipv4": "from-servers-v4", "ipv6": "from-servers-v6"}
"""Access lists of what may reach the switch itself by its ports, by the management port; and of what servers may send."""


def external_policy(direction: str, vrf: str, router: str) -> str:
    """Return the name of the route map and prefix list for routes from an external router, or to it. ``direction``: ``from`` or ``to``."""
    return f"{direction}-{vrf}-{router}"


def secret(reference: str) -> str:
    """Return the mark of a secret in a file until ``build --secrets`` puts its value in: ``<secret:NAME>``."""
    return f"<{reference}>"
