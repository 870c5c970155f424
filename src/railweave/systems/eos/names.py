"""Names that both ``eos.conf`` (``render``) and ``avd.json`` (``avd``) use: names of profiles, groups, route maps and interfaces.

Since ``avd.json`` validates ``eos.conf``, the two share nothing else: no number, order or list may be computed here.
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
"""The QoS profile without PFC. It is for links between sites that do not use PFC, and for ports to external routers."""

QUEUE_PROFILE = "railweave"
MACSEC_PROFILE = "interconnect"
ISIS_INSTANCE = "underlay"

ROUTER_LOOPBACK = "Loopback0"
"""The loopback with the router id. Overlay sessions start from it."""

TUNNEL_LOOPBACK = "Loopback1"
"""The loopback with the addresses of tunnel endpoints, if they differ from the addresses of ``ROUTER_LOOPBACK``."""

OVERLAY_GROUP = "overlay"
FROM_SPINE = "from-spine-evpn"
"""The community that spines add to EVPN routes. Leaves do not advertise routes with this community back to spines."""

TO_NEIGHBORS = "evpn-to-neighbors"

CONTROL_PLANE_LISTS = {"ipv4": "control-plane-v4", "ipv6": "control-plane-v6"}
MANAGEMENT_LISTS = {"ipv4": "management-v4", "ipv6": "management-v6"}
SERVER_LISTS = {"ipv4": "from-servers-v4", "ipv6": "from-servers-v6"}
"""The names of access lists by address family.

``CONTROL_PLANE_LISTS`` are for packets to the switch itself through its ports, ``MANAGEMENT_LISTS`` for those through
the management port, and ``SERVER_LISTS`` for packets that servers send.
"""


def external_policy(direction: str, vrf: str, router: str) -> str:
    """Return the name that a route map and a prefix list share, for routes from (``from``) or to (``to``) an external router."""
    return f"{direction}-{vrf}-{router}"


def secret(reference: str) -> str:
    """Return a reference to a secret as the placeholder ``<secret:NAME>``, which ``build --secrets`` replaces with the value."""
    return f"<{reference}>"
