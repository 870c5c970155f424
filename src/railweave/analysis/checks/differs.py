"""Which rule names what is not as designed in a device's configuration.

A difference of fields is named by the field (``of_field``); a statement that changes no field which is read, by its words
(``of_statement``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.analysis.checks.differ_rules import (
    ADDRESS,
    ADVERTISEMENT,
    AS,
    BALANCING,
    BFD,
    BUFFER,
    CLASSIFIER,
    COLOR,
    ECN,
    EXTRA,
    HEADROOM,
    ISIS,
    LOGIN,
    MACSEC,
    MANAGEMENT,
    MTU,
    OVERLAY,
    PFC,
    POLICY,
    PORT,
    PROTECTION,
    SCHEDULER,
    SESSION,
    STATEMENT,
    TARGET,
    TEXT,
    VLAN,
    WATCHDOG,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.fields import FieldDifference
    from railweave.model.findings.registry import Rule

_FIELDS = (
    (r"(interfaces|gateways)\.(description|peer|peer_port)$|management\.banner|.*\.description$", TEXT),
    (r".*\.as_lists|.*(\.|^)(asn|peer_as|local_as|peer_as_list)$", AS),
    (r".*(\.|^)bfd(\.|$)", BFD),
    (r"bgp\.communities|bgp\.fabric_advertise|bgp\.groups\.(fabric_color|aigp)$|bgp\.compare_aigp", COLOR),
    (
        r"bgp\.policies\.terms\.action\.(add_communities|aigp|local_preference)|bgp\.policies\.terms\.match\.community",
        COLOR,
    ),
    (r"bgp\.(policies|prefix_lists|redistribute_connected|default_accept)", POLICY),
    (r"bgp\.groups\.(import_policy|export_policy)", POLICY),
    (r"bgp\.maximum_ecmp|(isis|ospf)\.maximum_ecmp", BALANCING),
    (
        r".*\.router_id|loopback|management_(address|gateway)|.*(\.|^)addresses(\.|$)|gateways\.(mac|proxy_arp)",
        ADDRESS,
    ),
    (r"bgp|overlay\.(neighbors|reflects|from_spine)", SESSION),
    (r"interfaces\.macsec", MACSEC),
    (r"(interfaces|gateways)\.(mtu)$", MTU),
    (r"interfaces\.pauses", PFC),
    (r"interfaces\.(vlan|native_vlan|unit_vlan|tagged)$|gateways\.vlan(_name)?$", VLAN),
    (r"interfaces\.vrf|gateways\.vrf", OVERLAY),
    (r"splits|interfaces", PORT),
    (r"gateways\.(advertisements|prefixes)", ADVERTISEMENT),
    (r"gateways", ADDRESS),
    (r"qos\.classes\.ecn|qos\.marking", ECN),
    (r"qos\.classes\.(dscp|queue|pfc_priority|lossless)|qos\.default_class|qos\.ports", CLASSIFIER),
    (r"qos\.classes\.(transmit_percent|priority)", SCHEDULER),
    (r"qos\.classes\.(buffer_percent|dynamic_threshold)|qos\.(buffers|shared_buffer|buffer_monitor)", BUFFER),
    (r"qos\.profiles\.(cable_length_m|mru_bytes|headroom_bytes)|qos\.xon_offset_cells", HEADROOM),
    (r"qos\.profiles", PFC),
    (r"qos\.watchdog", WATCHDOG),
    (r"qos\.classes", CLASSIFIER),
    (r"balancing", BALANCING),
    (r"(vrfs|mac_vrf)\.(.*\.)?(route_distinguisher|import_targets|export_targets|route_target)", TARGET),
    (r"vrfs\.prefixes", ADDRESS),
    (r"vrfs|mac_vrf|overlay", OVERLAY),
    (r"isis|ospf", ISIS),
    (r"management\.(users|root_password|security)", LOGIN),
    (r"management|name$", MANAGEMENT),
    (r"protection", PROTECTION),
)
_WORDS = (
    (r"(.* / )?(neighbor \S+ )?(description|banner|remark|alias)\b(?!.* / )", TEXT),
    (r"\b(snmp|SNMP)", MANAGEMENT),
    (r"bfd", BFD),
    (r"\bpeer-as\b|remote-as|local-as|autonomous-system|as-list|bgp_asn", AS),
    (r"encrypted-password|authentication-order|tacplus|tacacs|radius|\buser(name)?\b|\blogin\b|\bssh\b|aaa\b|secret 0|root-auth", LOGIN),
    (r"ecn|wred|drop-profile|random-detect", ECN),
    (r"watchdog|PFC_WD", WATCHDOG),
    (r"headroom|cable-length|BUFFER_PG|CABLE_LENGTH|xon|xoff", HEADROOM),
    (r"priority-flow-control|pfc|congestion-notification|flow-control|PORT_QOS_MAP", PFC),
    (r"classifier|dscp|forwarding-class|code-point|DSCP_TO_TC|TC_TO|rewrite|traffic-class|trust", CLASSIFIER),
    (r"schedul|transmit-rate|bandwidth percent|DWRR|QUEUE\b", SCHEDULER),
    (r"shared-buffer|dedicated-buffer|buffer-partition|BUFFER_|buffer|\bmmu\b", BUFFER),
    (r"load-balanc|ecmp|hash|dlb|spray|maximum-paths|multipath|\bars\b", BALANCING),
    (r"route-target|vrf-target|route-distinguisher|\brd\b", TARGET),
    (r"router-advertisement|ipv6 nd\b|RADV|prefix [0-9a-f:]+/", ADVERTISEMENT),
    (r"fabric-color|fabric-advertise|community|color|aigp", COLOR),
    (r"policy-statement|route-map|prefix-list|ROUTE_MAP|PREFIX", POLICY),
    (r"filter|access-list|access-group|ACL_|policer|CONTROL|nft", PROTECTION),
    (r"macsec|MACSEC", MACSEC),
    (r"isis|IS-IS|ospf", ISIS),
    (r"vxlan|vni|evpn|VXLAN|VRF|vrf", OVERLAY),
    (r"\bmtu\b", MTU),
    (r"neighbor|bgp|BGP", SESSION),
    (r"[vV]lan|VLAN", VLAN),
    (r"\baddress\b|router-id|INTERFACE\|", ADDRESS),
    (r"speed|breakout|BREAKOUT|PORT|number-of-sub-ports|fec|interface", PORT),
    (r"system|snmp|ntp|syslog|lldp|hostname|NTP|SNMP|SYSLOG|logging|management|clock|telemetry|gnmi|GNMI|TELEMETRY", MANAGEMENT),
)  # fmt: skip


_TELLING = re.compile(
    r"(interfaces|gateways)\.vrf$|bgp\.maximum_ecmp$|interfaces\.(vlan|mtu)$|gateways\.advertisements$"
)
"""Fields whose change brings changes of others along: an address in another VRF, or one that is no longer advertised."""


def of_field(difference: FieldDifference) -> Rule:
    """The rule that a difference of fields falls under."""
    return next((rule for pattern, rule in _FIELDS if re.match(pattern, difference.field)), STATEMENT)


def foremost(fields: Iterable[FieldDifference]) -> list[FieldDifference]:
    """Differences by what a statement is called by, where it changes several fields: the one that says most is first."""
    return sorted(fields, key=lambda one: (not _TELLING.match(one.field), RANK[of_field(one)]))


def of_statement(statement: str) -> Rule:
    """The rule that a statement falls under by its words, those of what it stands in included."""
    return next(
        (rule for pattern, rule in _WORDS if (re.match if rule is TEXT else re.search)(pattern, statement)), STATEMENT
    )


_LETS_IN = re.compile(r"root-authentication|\bssh-(rsa|dsa|ecdsa|ed25519|key)|\bauthorized|\busername\b|login / user\b")


def lets_in(statement: str) -> bool:
    """Whether a statement gives somebody a login: one that nobody designed is more than a line to keep."""
    return _LETS_IN.search(statement) is not None


RANK = {
    rule: place
    for place, rule in enumerate(
        (
            TARGET,
            AS,
            ADDRESS,
            SESSION,
            BFD,
            MACSEC,
            ECN,
            WATCHDOG,
            SCHEDULER,
            CLASSIFIER,
            PFC,
            HEADROOM,
            BUFFER,
            ADVERTISEMENT,
            LOGIN,
            PROTECTION,
            COLOR,
            POLICY,
            MTU,
            VLAN,
            OVERLAY,
            ISIS,
            PORT,
            BALANCING,
            MANAGEMENT,
            STATEMENT,
            EXTRA,
            TEXT,
        )
    )
}
"""Which rule names a statement that changes fields of several subjects: the one that says most."""
