"""The effect on traffic of each configuration field: none, through routes, unknown, or on a named topic such as BFD."""

from __future__ import annotations

import re

NOTHING, ROUTES, UNKNOWN = "nothing", "routes", "unknown"
"""The general kinds of configuration fields in ``FIELDS``.

- ``NOTHING``: fields without effect on traffic.
- ``ROUTES``: fields whose effect railweave computes with routing and checks.
- ``UNKNOWN``: fields whose effect railweave does not compute.
"""
FIELDS = (
    (r".*\bdescription|.*\.order", NOTHING),
    (r"(overlay\.neighbors|bgp\.groups\.sessions)\.peer", NOTHING),  # the name of a neighbor, which routing knows by address or link
    (r"management\.security\.edge_ports.*", UNKNOWN),
    (r"management(_address|_gateway)?\b.*|left_out|release|model|role|name|nos|schema", NOTHING),
    (r"interfaces\.(copper|length_m|between_sites|lanes)|qos\.buffer_monitor|qos\.ports|qos\.profiles\.cable_length_m", NOTHING),
    (r"(bgp|bgp\.groups|isis|overlay)\.bfd\b.*", "BFD"),
    (r"bgp\.graceful_restart\b.*", "graceful restart"),
    (r"(bgp\.(authentication|ttl_security)|isis\.key)\b.*", "protection of routing sessions"),
    (r"interfaces\.macsec\b.*", "MACsec"),
    (r"(interfaces|gateways)\.mtu", "MTU"),
    (r"interfaces\.speed_gbps|splits\b.*", "port speed"),
    (r"interfaces\.pauses|qos\b.*|overlay\.tunnel_dscp", "traffic classes"),
    (r"balancing\b.*|(bgp|isis|ospf)\.maximum_ecmp", "load balancing"),
    (r"gateways\.(advertisements|proxy_arp)\b.*", "what servers receive from gateways"),
    (r"(bgp|vrfs|overlay|mac_vrf|isis|ospf|loopback|gateways|interfaces)\b.*", ROUTES),
    (r"(protection|extra)\b.*", UNKNOWN),
)  # fmt: skip
"""The kind of each configuration field, by a pattern of the field's name. The first pattern that matches applies.

A kind other than ``NOTHING``, ``ROUTES`` and ``UNKNOWN`` is a topic, for example BFD, that a deployment plan names.
"""
UNROUTED = {NOTHING, "BFD", "graceful restart", "traffic classes"}
"""The kinds of fields that routing does not use. Two networks that differ only in such fields have the same routes."""
_FIELDS = [(re.compile(pattern), kind) for pattern, kind in FIELDS]


def kind_of(name: str) -> str:
    """Return the kind of a configuration field. A field that no pattern in ``FIELDS`` matches is ``UNKNOWN``."""
    return next((kind for pattern, kind in _FIELDS if pattern.fullmatch(name)), UNKNOWN)
