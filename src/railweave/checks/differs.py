"""What is wrong where a device's configuration is not the designed one: a rule for each subject of its fields.

A difference of fields is named by the field (``of_field``); a statement that changes no field which is read, by its words
(``of_statement``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.findings.registry import Rule

if TYPE_CHECKING:
    from railweave.device.fields import FieldDifference
    from railweave.findings import Severity

FIX = "put the designed statement back, or change the fabric file and build again"


def _rule(name: str, says: str, why: str, severity: Severity = "error") -> Rule:
    return Rule(f"{name}-differs", severity, "folder", f"{says} is not the designed one", why, FIX)


AS = _rule(
    "as",
    "an AS number of a device or of its peers",
    "a session opens only where each end has the AS number that the other expects (RFC 4271, section 6.2)",
)
SESSION = _rule(
    "session",
    "a BGP session, its address, its policies or an address family of it",
    "the session does not come up, or does not carry what it should",
)
BFD = _rule(
    "bfd",
    "BFD of a session",
    "a dead link is found late, or not at all, where one end lacks BFD (RFC 5880, section 6.2)",
)
POLICY = _rule(
    "policy",
    "a routing policy, a prefix list of it, or the order of its terms",
    "routes are advertised or accepted that should not be, or the other way round",
)
COLOR = _rule(
    "color",
    "a path color: its community, its preference, or what is advertised with it",
    "queue pairs no longer go by the path that their address stands for",
)
MTU = _rule(
    "mtu", "an MTU", "packets longer than the smaller MTU of a link's two ends are dropped, or routing does not come up"
)
ADDRESS = _rule("address", "an address or prefix", "what is designed to have the address cannot be reached by it")
ADVERTISEMENT = _rule(
    "advertisement",
    "what a gateway advertises to servers",
    "servers take addresses and routes from router advertisements (RFC 4861, RFC 4191)",
)
VLAN = _rule("vlan", "a VLAN, or a port's membership in it", "servers on it lose their gateway, or see another rail's")
PORT = _rule("port", "a port: its speed, its channels, or whether it is configured", "its link does not come up")
CLASSIFIER = _rule(
    "classifier",
    "the class, the queue or the priority of a DSCP",
    "RDMA packets or congestion notifications get another queue than NIC and peers expect",
)
SCHEDULER = _rule(
    "scheduler", "the share or the priority of a queue", "a class gets more or less of a link than designed"
)
PFC = _rule(
    "pfc",
    "PFC of a priority or a port",
    "a lossless class is dropped where a port does not pause (IEEE 802.1Q, clause 36)",
)
HEADROOM = _rule(
    "headroom",
    "PFC headroom, or the cable length and MRU that it follows from",
    "packets that are under way when a pause is sent do not fit, and are dropped",
)
ECN = _rule("ecn", "ECN marking of a queue", "senders slow down too early, too late, or never")
BUFFER = _rule("buffer", "the partition of the packet buffer", "lossless and lossy classes take each other's room")
WATCHDOG = _rule(
    "watchdog", "the PFC watchdog", "a stuck queue pauses the fabric for longer than designed, or for ever"
)
BALANCING = _rule("balancing", "load balancing", "next-hop groups share their links in another way than predicted")
TARGET = _rule(
    "route-target",
    "a route target or route distinguisher",
    "a tenant's routes leak into another VRF, or are missing in its own (RFC 4364, section 4.3)",
)
OVERLAY = _rule("overlay", "a VRF, a VNI or a tunnel endpoint", "a tenant's servers do not reach each other")
ISIS = _rule("isis", "IS-IS", "an adjacency does not come up, or routes go another way")
LOGIN = _rule("login", "who may log in, and how", "somebody gets in who should not, or nobody does")
MANAGEMENT = _rule(
    "management", "management: names, time, logs, SNMP, services", "the device is not seen or reached as designed"
)
PROTECTION = _rule(
    "protection",
    "what may reach the device itself",
    "its control plane is open to servers, or sessions of the fabric are cut",
)
MACSEC = _rule("macsec", "MACsec of a link", "the link carries nothing, or carries it in the clear")
STATEMENT = _rule("statement", "a statement that is designed", "nothing that is read of it says what it changes")
EXTRA = Rule(
    "statement-not-designed",
    "warning",
    "folder",
    "a statement stands that is not designed",
    "nothing that is read of it says what it changes; the next build or deployment takes it away",
    "put it under `extra:` of the role to keep it",
)
TEXT = Rule(
    "text-differs",
    "warning",
    "folder",
    "a description, banner or comment is not the designed one",
    "people and tools read it; no packet does",
    FIX,
)

_FIELDS = (
    (r"(interfaces|gateways)\.(description|peer|peer_port|vlan_name)$|management\.banner|.*\.description$", TEXT),
    (r".*\.as_lists|.*(\.|^)(asn|peer_as|local_as|peer_as_list)$", AS),
    (r".*(\.|^)bfd(\.|$)", BFD),
    (r"bgp\.communities|bgp\.fabric_advertise|bgp\.groups\.(fabric_color|aigp)$|bgp\.compare_aigp", COLOR),
    (
        r"bgp\.policies\.terms\.action\.(add_communities|aigp|local_preference)|bgp\.policies\.terms\.match\.community",
        COLOR,
    ),
    (r"bgp\.(policies|prefix_lists|redistribute_connected|default_accept)", POLICY),
    (r"bgp\.groups\.(import_policy|export_policy)", POLICY),
    (r"bgp\.maximum_ecmp|isis\.maximum_ecmp", BALANCING),
    (
        r".*\.router_id|loopback|management_(address|gateway)|.*(\.|^)addresses(\.|$)|gateways\.(mac|proxy_arp)",
        ADDRESS,
    ),
    (r"bgp|overlay\.(neighbors|reflects|from_spine)", SESSION),
    (r"interfaces\.macsec", MACSEC),
    (r"(interfaces|gateways)\.(mtu)$", MTU),
    (r"interfaces\.pauses", PFC),
    (r"interfaces\.(vlan|native_vlan|unit_vlan)$|gateways\.vlan$", VLAN),
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
    (r"vrfs|mac_vrf|overlay", OVERLAY),
    (r"isis", ISIS),
    (r"management\.(users|root_password|security)", LOGIN),
    (r"management|name$", MANAGEMENT),
    (r"protection", PROTECTION),
)
_WORDS = (
    (r"(.* / )?(neighbor \S+ )?(description|banner|remark|alias)\b(?!.* / )", TEXT),
    (r"bfd", BFD),
    (r"\bpeer-as\b|remote-as|local-as|autonomous-system|as-list|bgp_asn", AS),
    (r"encrypted-password|authentication-order|tacplus|tacacs|radius|\buser(name)?\b|\blogin\b|\bssh\b|aaa\b|secret 0|root-auth", LOGIN),
    (r"ecn|wred|drop-profile|random-detect", ECN),
    (r"watchdog|PFC_WD", WATCHDOG),
    (r"headroom|cable-length|BUFFER_PG|CABLE_LENGTH|xon|xoff", HEADROOM),
    (r"priority-flow-control|pfc|congestion-notification|flow-control|PORT_QOS_MAP", PFC),
    (r"classifier|dscp|forwarding-class|code-point|DSCP_TO_TC|TC_TO|rewrite|traffic-class|trust", CLASSIFIER),
    (r"schedul|transmit-rate|bandwidth percent|DWRR|QUEUE\b", SCHEDULER),
    (r"shared-buffer|dedicated-buffer|buffer-partition|BUFFER_|buffer", BUFFER),
    (r"load-balanc|ecmp|hash|dlb|spray|maximum-paths", BALANCING),
    (r"route-target|vrf-target|route-distinguisher|\brd\b", TARGET),
    (r"router-advertisement|ipv6 nd\b|RADV|prefix [0-9a-f:]+/", ADVERTISEMENT),
    (r"fabric-color|fabric-advertise|community|color|aigp", COLOR),
    (r"policy-statement|route-map|prefix-list|ROUTE_MAP|PREFIX", POLICY),
    (r"filter|access-list|access-group|ACL_|policer|CONTROL|nft", PROTECTION),
    (r"macsec|MACSEC", MACSEC),
    (r"isis|IS-IS", ISIS),
    (r"vxlan|vni|evpn|VXLAN|VRF|vrf", OVERLAY),
    (r"\bmtu\b", MTU),
    (r"neighbor|bgp|BGP", SESSION),
    (r"vlan|VLAN", VLAN),
    (r"\baddress\b|INTERFACE\|", ADDRESS),
    (r"speed|breakout|BREAKOUT|PORT|number-of-sub-ports|fec|interface", PORT),
    (r"system|snmp|ntp|syslog|lldp|hostname|NTP|SNMP|SYSLOG|logging|management|clock", MANAGEMENT),
)  # fmt: skip


def of_field(difference: FieldDifference) -> Rule:
    """The rule that a difference of fields falls under."""
    return next((rule for pattern, rule in _FIELDS if re.match(pattern, difference.field)), STATEMENT)


def of_statement(statement: str) -> Rule:
    """The rule that a statement falls under by its words, those of what it stands in included."""
    return next(
        (rule for pattern, rule in _WORDS if (re.match if rule is TEXT else re.search)(pattern, statement)), STATEMENT
    )


RANK = {
    rule: place
    for place, rule in enumerate(
        (
            TARGET,
            AS,
            BFD,
            MACSEC,
            ECN,
            WATCHDOG,
            HEADROOM,
            PFC,
            CLASSIFIER,
            SCHEDULER,
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
            SESSION,
            ADDRESS,
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
