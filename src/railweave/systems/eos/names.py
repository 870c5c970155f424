"""Names that both ``eos.conf`` (``render``) and ``avd.json`` (``avd``) use: names of profiles, groups, route maps and interfaces.

The two share nothing else, because one validates the other: no number, order or list may be computed here.
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
"""The same profile without PFC: for links between sites that are not paused, and for ports to external routers."""

QUEUE_PROFILE = "railweave"
MACSEC_PROFILE = "interconnect"
ISIS_INSTANCE = "underlay"

ROUTER_LOOPBACK = "Loopback0"
"""The loopback with the router id, from which overlay sessions start."""

TUNNEL_LOOPBACK = "Loopback1"
"""The loopback with the addresses of tunnel endpoints, if these are separate addresses."""

OVERLAY_GROUP = "overlay"
FROM_SPINE = "from-spine-evpn"
"""The community that spines add to EVPN routes. Leaves send no route with this community back to spines."""

TO_NEIGHBORS = "evpn-to-neighbors"

CONTROL_PLANE_LISTS = {"ipv4": "control-plane-v4", "ipv6": "control-plane-v6"}
MANAGEMENT_LISTS = {"ipv4": "management-v4", "ipv6": "management-v6"}
SERVER_LISTS = {"ipv4": "from-servers-v4", "ipv6": "from-servers-v6"}
"""The access lists for packets to the switch itself (through its ports, and through the management port), and for packets that servers send."""


def external_policy(direction: str, vrf: str, router: str) -> str:
    """Return the name of the route map and prefix list for routes from or to an external router. ``direction`` is ``from`` or ``to``."""
    return f"{direction}-{vrf}-{router}"


def secret(reference: str) -> str:
    """Return the placeholder of a secret, ``<secret:NAME>``, which ``build --secrets`` replaces with the value."""
    return f"<{reference}>"
