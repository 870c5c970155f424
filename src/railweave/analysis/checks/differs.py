"""The rules (kinds of findings) for differences between a device's configuration and the design.

The field that differs determines the rule (``of_field``). If a statement changes no field, its text determines the rule
(``of_statement``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.fields import FieldDifference


FIX = "put the designed statement back, or change the fabric file and build again"


AS = Rule(
    "as-differs",
    "error",
    "folder",
    "an AS number of a device or of one of its peers differs from the design",
    "a session is established only if each end has the AS number that the other end expects (RFC 4271, section 6.2)",
    FIX,
)
SESSION = Rule(
    "session-differs",
    "error",
    "folder",
    "the address, a policy or an address family of a BGP session differs from the design",
    "the session is not established, or exchanges the wrong routes",
    FIX,
)
BFD = Rule(
    "bfd-differs",
    "error",
    "folder",
    "the BFD settings of a session differ from the design",
    "if one end lacks BFD, a link failure is detected late or never (RFC 5880, section 6.2)",
    FIX,
)
POLICY = Rule(
    "policy-differs",
    "error",
    "folder",
    "the terms of a routing policy, their order or its prefix lists differ from the design",
    "the switch advertises or accepts routes that it should not, or rejects routes that it should accept",
    FIX,
)
COLOR = Rule(
    "color-differs",
    "error",
    "folder",
    "the community or preference of a path color, or the routes advertised with the color, differ from the design",
    "queue pairs no longer take the path that belongs to their address",
    FIX,
)
MTU = Rule(
    "mtu-differs",
    "error",
    "folder",
    "an MTU differs from the design",
    "packets longer than the smaller MTU of a link are dropped, or routing sessions are not established",
    FIX,
)
ADDRESS = Rule(
    "address-differs",
    "error",
    "folder",
    "an address or prefix differs from the design",
    "other devices send to the designed address, which no device has",
    FIX,
)
ADVERTISEMENT = Rule(
    "advertisement-differs",
    "error",
    "folder",
    "the router advertisements of a gateway differ from the design",
    "servers derive addresses and routes from router advertisements (RFC 4861, RFC 4191)",
    FIX,
)
VLAN = Rule(
    "vlan-differs",
    "error",
    "folder",
    "a VLAN, or a port's membership in one, differs from the design",
    "servers in the VLAN lose their gateway, or get the gateway of a different rail",
    FIX,
)
PORT = Rule(
    "port-differs",
    "error",
    "folder",
    "the speed or breakout of a port differs from the design, or the port is missing or shut down",
    "the link of this port does not come up",
    FIX,
)
CLASSIFIER = Rule(
    "classifier-differs",
    "error",
    "folder",
    "the class, the queue or the priority of a DSCP differs from the design",
    "RDMA packets or congestion notifications enter a different queue than NICs and neighbors expect",
    FIX,
)
SCHEDULER = Rule(
    "scheduler-differs",
    "error",
    "folder",
    "the share or the priority of a queue differs from the design",
    "the class gets more or less bandwidth than designed",
    FIX,
)
PFC = Rule(
    "pfc-differs",
    "error",
    "folder",
    "PFC of a priority or a port differs from the design",
    "if a port does not pause its sender, packets of a lossless class are dropped (IEEE 802.1Q, clause 36)",
    FIX,
)
HEADROOM = Rule(
    "headroom-differs",
    "error",
    "folder",
    "PFC headroom differs from the design, or the cable length or MRU from which headroom is calculated",
    "packets in flight when a pause is sent do not fit into the buffer, and are dropped",
    FIX,
)
ECN = Rule(
    "ecn-differs",
    "error",
    "folder",
    "ECN marking of a queue differs from the design",
    "senders slow down too early, too late or never",
    FIX,
)
BUFFER = Rule(
    "buffer-differs",
    "error",
    "folder",
    "the partition of the packet buffer differs from the design",
    "lossless and lossy classes take buffer from each other",
    FIX,
)
WATCHDOG = Rule(
    "watchdog-differs",
    "error",
    "folder",
    "the PFC watchdog differs from the design",
    "a stuck queue pauses the fabric for longer than designed, or forever",
    FIX,
)
BALANCING = Rule(
    "balancing-differs",
    "error",
    "folder",
    "load balancing differs from the design",
    "traffic is distributed over links differently than predictions assume",
    FIX,
)
TARGET = Rule(
    "route-target-differs",
    "error",
    "folder",
    "a route target or route distinguisher differs from the design",
    "a tenant's routes leak into a different VRF, or are missing from the tenant's own VRF (RFC 4364, section 4.3)",
    FIX,
)
OVERLAY = Rule(
    "overlay-differs",
    "error",
    "folder",
    "a VRF, a VNI or a tunnel endpoint differs from the design",
    "servers of the tenant cannot reach each other",
    FIX,
)
ISIS = Rule(
    "isis-differs",
    "error",
    "folder",
    "IS-IS or OSPF differs from the design",
    "an adjacency does not come up, or traffic takes a different path",
    FIX,
)
LOGIN = Rule(
    "login-differs",
    "error",
    "folder",
    "the users of a device, or their methods of login, differ from the design",
    "unauthorized users can log in, or authorized users cannot",
    FIX,
)
MANAGEMENT = Rule(
    "management-differs",
    "error",
    "folder",
    "a management setting differs from the design: names, time, logs, SNMP or services",
    "the device cannot be monitored or reached as designed",
    FIX,
)
PROTECTION = Rule(
    "protection-differs",
    "error",
    "folder",
    "the filter that protects the device's control plane differs from the design",
    "servers can reach the control plane, or sessions between switches are blocked",
    FIX,
)
MACSEC = Rule(
    "macsec-differs",
    "error",
    "folder",
    "MACsec of a link differs from the design",
    "the link carries no traffic, or carries it unencrypted",
    FIX,
)
STATEMENT = Rule(
    "statement-differs",
    "error",
    "folder",
    "a statement of the design is missing or has a different value",
    "railweave does not know the effect of this statement",
    FIX,
)
EXTRA = Rule(
    "statement-not-designed",
    "warning",
    "folder",
    "the configuration has a statement that the design does not have",
    "railweave does not know the effect of this statement; the next build or deployment removes it",
    "to keep the statement, add it under `extra:` of the role",
)
TEXT = Rule(
    "text-differs",
    "warning",
    "folder",
    "a description, banner or comment differs from the design",
    "only people and tools read this text; traffic is not affected",
    FIX,
)


_FIELDS = (
    (r"(interfaces|gateways)\.(description|peer|peer_port)$|management\.banner|.*\.description$", TEXT),
    (r".*\.as_lists|.*(\.|^)(asn|peer_as|local_as|peer_as_list)$", AS),
    (r".*(\.|^)bfd(\.|$)", BFD),
    (r"bgp\.communities|bgp\.fabric_advertise|bgp\.groups\.(fabric_color|aigp)$|bgp\.compare_aigp", COLOR),
    (
        r"bgp\.policies\.terms\.action\.(add_communities|aigp|local_preference)|bgp\.policies\.terms\.match\.community",
        COLOR,
    ),
    (r"bgp\.(policies|prefix_lists|entry_lists|redistribute_connected|default_accept)|overlay\.from_spine", POLICY),
    (r"bgp\.groups\.(import_policy|export_policy)", POLICY),
    (r"bgp\.maximum_ecmp|(isis|ospf)\.maximum_ecmp", BALANCING),
    (
        r".*\.router_id|(overlay\.)?loopback|management_(address|gateway)|.*(\.|^)addresses(\.|$)|gateways\.(mac|proxy_arp)",
        ADDRESS,
    ),
    (r"bgp|overlay\.(neighbors|links|reflects)", SESSION),
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
    (r"\bfirewall / |\baccess-list\b|\bACL_", PROTECTION),
    (r"\b(snmp|SNMP)", MANAGEMENT),
    (r"bfd", BFD),
    (r"\bpeer-as\b|remote-as|local-as|autonomous-system|as-list|bgp_asn", AS),
    (r"encrypted-password|authentication-order|tacplus|tacacs|radius|\buser(name)?\b|\blogin\b|\bssh\b|aaa\b|secret 0|root-auth", LOGIN),
    (r"ecn|wred|drop-profile|random-detect", ECN),
    (r"watchdog|PFC_WD|pfcwd", WATCHDOG),
    (r"headroom|cable-length|BUFFER_PG|CABLE_LENGTH|xon|xoff", HEADROOM),
    (r"priority-flow-control|pfc|PFC_PRIORITY|congestion-notification|flow-control|PORT_QOS_MAP", PFC),
    (r"schedul|transmit-rate|bandwidth percent|DWRR|QUEUE\b|\btx-queue \d+ / ", SCHEDULER),
    (r"classifier|service-profile|dscp|forwarding-class|code-point|DSCP_TO_TC|TC_TO|rewrite|traffic-class|trust", CLASSIFIER),
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
    (r"system|snmp|ntp|syslog|lldp|hostname|NTP|SNMP|SYSLOG|logging|management|clock|telemetry|gnmi|GNMI|TELEMETRY|FEATURE", MANAGEMENT),
)  # fmt: skip


OF_PORTS = (ECN, SCHEDULER, HEADROOM, PFC, BUFFER)
"""The rules about QoS settings that are bound to ports, so that a single port may lack them."""

_TELLING = re.compile(
    r"(interfaces|gateways)\.vrf$|bgp\.maximum_ecmp$|interfaces\.(vlan|mtu)$|gateways\.advertisements$"
)
"""A pattern of fields whose change causes differences in other fields.

For example, an address moves to a different VRF, or a prefix is no longer advertised.
"""


def of_field(difference: FieldDifference) -> Rule:
    """Return the rule (kind of finding) for a difference in a field."""
    return next((rule for pattern, rule in _FIELDS if re.match(pattern, difference.field)), STATEMENT)


def foremost(fields: Iterable[FieldDifference], by_words: Rule) -> list[FieldDifference]:
    """Return the field differences of a statement, most informative first. The first difference determines the rule of the finding.

    ``by_words`` is the rule that the statement's text determines. Differences with this rule come first, because other
    differences may be consequences: for example, a port without its neighbor also has a different kind and different addresses.
    """

    def rank(difference: FieldDifference) -> tuple[bool, bool, int]:
        rule = of_field(difference)
        return rule is not by_words, not _TELLING.match(difference.field), RANK[rule]

    return sorted(fields, key=rank)


def of_statement(statement: str) -> Rule:
    """Return the rule (kind of finding) for a differing statement, from its text with its parent statements."""
    return next(
        (rule for pattern, rule in _WORDS if (re.match if rule is TEXT else re.search)(pattern, statement)), STATEMENT
    )


_LETS_IN = re.compile(r"root-authentication|\bssh-(rsa|dsa|ecdsa|ed25519|key)|\bauthorized|\busername\b|login / user\b")


def lets_in(statement: str) -> bool:
    """Return True if a statement creates a login. A login outside the design is more serious than other additional statements."""
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
"""The rank of each rule (kind of finding), from 0. A statement that changes fields of several rules gets the rule with the lowest rank."""
