"""Names that both ``eos.conf`` (``render``) and ``avd.json`` (``avd``) use: names of profiles, groups, route maps and interfaces.

``avd.json`` validates ``eos.conf``, so the two may share only names. No number, order or list may be computed here.
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
"""The QoS profile without PFC, for links between sites that do not use PFC, and for ports to external routers."""

QUEUE_PROFILE = "railweave"
MACSEC_PROFILE = "interconnect"
ISIS_INSTANCE = "underlay"

ROUTER_LOOPBACK = "Loopback0"
"""The loopback with the router id. Its address is the source of overlay sessions."""

TUNNEL_LOOPBACK = "Loopback1"
"""The loopback with the addresses of tunnel endpoints, if they differ from the addresses of ``ROUTER_LOOPBACK``."""

OVERLAY_GROUP = "overlay"
FROM_SPINE = "from-spine-evpn"
"""The community that spines add to EVPN routes. Leaves do not advertise routes with this community back to spines."""

TO_NEIGHBORS = "evpn-to-neighbors"

CONTROL_PLANE_LISTS = {"ipv4": "control-plane-v4", "ipv6": "control-plane-v6"}
MANAGEMENT_LISTS = {"ipv4": "management-v4", "ipv6": "management-v6"}
SERVER_LISTS = {"ipv4": "from-servers-v4", "ipv6": "from-servers-v6"}
"""The names of the access lists for packets that servers send, by address family.

The two dictionaries above name access lists for packets to the switch itself: ``CONTROL_PLANE_LISTS`` for those that arrive on network
ports, ``MANAGEMENT_LISTS`` for those that arrive on the management port.
"""


def external_policy(direction: str, vrf: str, router: str) -> str:
    """Return the name that a route map and its prefix list share. Both select the routes of an external router.

    ``direction`` is ``from`` for routes that the router sends, and ``to`` for routes that are sent to the router.
    """
    return f"{direction}-{vrf}-{router}"


def secret(reference: str) -> str:
    """Return the placeholder ``<secret:NAME>`` of a secret. ``build --secrets`` replaces the placeholder with the value.

    ``reference`` is ``secret:NAME``, as in the fabric file.
    """
    return f"<{reference}>"
