"""What matters in ``config_db.json``; ``frr.conf`` is as it is for FRR."""

from __future__ import annotations

from tests.mutants import frr
from tests.mutants.kinds import Kind
from tests.mutants.rows import Row, address, bit, flipped, larger, near, numbered, of, percent, smaller, word

_PREFIX = r"[0-9a-f:.]+/\d+"

ROWS = (
    *(row for row in frr.ROWS if row.kind not in {Kind.NAME, Kind.RA, Kind.RA_PREFIX, Kind.GATEWAY, Kind.LINK_ADDRESS, Kind.LOOPBACK, Kind.VRF, Kind.PROTECTION}),
    Row(Kind.LOOPBACK, r"router bgp \d+ / bgp router-id (?P<value>\S+)", address, drops=False),
    Row(Kind.RA, r"interface Vlan\S+( vrf \S+)? / no ipv6 nd suppress-ra"),
    Row(Kind.RA, r"interface Vlan\S+( vrf \S+)? / ipv6 nd (ra-interval|ra-lifetime|ra-hop-limit) (?P<value>\d+)", larger),
    Row(Kind.RA_PREFIX, rf"interface Vlan\S+( vrf \S+)? / ipv6 nd prefix (?P<value>{_PREFIX}) \d+ \d+", address),
    Row(Kind.MTU, r"PORT / (?P<port>Ethernet\d+) / mtu (?P<value>\d+)", smaller),
    Row(Kind.MTU, r"VLAN / Vlan\d+ / mtu (?P<value>\d+)", smaller),
    Row(Kind.PORT, r"PORT / (?P<port>Ethernet\d+) / speed (?P<value>\d+)", of("100000", "200000")),
    Row(Kind.PORT, r"PORT / (?P<port>Ethernet\d+) / admin_status (?P<value>up)", of("down")),
    Row(Kind.PORT, r"BREAKOUT_CFG / (?P<port>Ethernet\d+) / brkout_mode (?P<value>\S+)", word),
    Row(Kind.LINK_ADDRESS, rf"INTERFACE / Ethernet\d+\|(?P<value>{_PREFIX}) .*", address),
    Row(Kind.LOOPBACK, rf"LOOPBACK_INTERFACE / Loopback0\|(?P<value>{_PREFIX}).*", address),
    Row(Kind.GATEWAY, rf"VLAN_INTERFACE / Vlan\d+\|(?P<value>{_PREFIX}).*", address),
    Row(Kind.VLAN, r"VLAN_MEMBER / Vlan(?P<value>\d+)\|Ethernet\d+", near),
    Row(Kind.VRF, r"(VLAN_INTERFACE|INTERFACE|VLAN_SUB_INTERFACE) / \S+ / vrf_name (?P<value>\S+)", word),
    Row(Kind.CNP_QUEUE, r"DSCP_TO_TC_MAP / \S+ / 48 (?P<value>\d)", of("3"), drops=False),
    Row(Kind.DSCP_MAP, r"DSCP_TO_TC_MAP / \S+ / \d+ (?P<value>\d)", bit),
    Row(Kind.QUEUE_MAP, r"(TC_TO_QUEUE_MAP|TC_TO_PRIORITY_GROUP_MAP|MAP_PFC_PRIORITY_TO_QUEUE) / \S+ / \d (?P<value>\d)", bit),
    Row(Kind.SCHEDULER, r"SCHEDULER / \S+ / weight (?P<value>\d+)", percent),
    Row(Kind.SCHEDULER, r"SCHEDULER / \S+ / type (?P<value>\S+)", of("STRICT", "DWRR"), drops=False),
    Row(Kind.SCHEDULER, r"QUEUE / \S+ / scheduler (?P<value>\S+)", word),
    Row(Kind.ECN, r"WRED_PROFILE / \S+ / green_(min|max)_threshold (?P<value>\d+)", larger),
    Row(Kind.ECN, r"WRED_PROFILE / \S+ / (ecn|wred_green_enable) (?P<value>\S+)", of("ecn_none", "false")),
    Row(Kind.ECN, r"QUEUE / \S+ / wred_profile (?P<value>\S+)", word),
    Row(Kind.PFC, r"PORT_QOS_MAP / (?P<port>Ethernet\d+) / pfc_enable (?P<value>\S+)", bit),
    Row(Kind.QOS_PORT, r"PORT_QOS_MAP / (?P<port>Ethernet\d+) / (?!pfc_enable|pfcwd)\S+ (?P<value>\S+)", word),
    Row(Kind.HEADROOM, r"BUFFER_PROFILE / pg_lossless\S+ / xoff (?P<value>\d+)", larger),
    Row(Kind.HEADROOM, r"BUFFER_PG / \S+ / profile (?P<value>pg_lossless\S+)", of("ingress_lossy_profile")),
    Row(Kind.BUFFER, r"BUFFER_POOL / \S+ / (size|xoff) (?P<value>\d+)", larger),
    Row(Kind.BUFFER, r"BUFFER_PROFILE / \S+ / (dynamic_th|size) (?P<value>\d+)", larger),
    Row(Kind.WATCHDOG, r"PFC_WD / (?P<port>Ethernet\d+) / (detection_time|restoration_time) (?P<value>\d+)", larger),
    Row(Kind.WATCHDOG, r"PFC_WD / (?P<port>Ethernet\d+) / action (?P<value>\S+)", of("forward", "alert")),
    Row(Kind.WATCHDOG, r"PFC_WD / GLOBAL / POLL_INTERVAL (?P<value>\d+)", larger),
    Row(Kind.WATCHDOG, r"PORT_QOS_MAP / (?P<port>Ethernet\d+) / pfcwd_sw_enable (?P<value>\S+)", bit),
    Row(Kind.VNI, r"VXLAN_TUNNEL_MAP / \S+ / (vni|vlan) (?P<value>\S+)", numbered),
    Row(Kind.VNI, r"VXLAN_TUNNEL / \S+ / src_ip (?P<value>\S+)", address),
    Row(Kind.VNI, r"VRF / \S+ / vni (?P<value>\d+)", numbered),
    Row(Kind.ANYCAST, r"SAG / GLOBAL / gateway_mac (?P<value>\S+)", numbered),
    Row(Kind.AS, r"DEVICE_METADATA / localhost / bgp_asn (?P<value>\d+)", near),
    Row(Kind.NAME, r"DEVICE_METADATA / localhost / hostname (?P<value>\S+)", word),
    Row(Kind.MANAGEMENT_PORT, r"MGMT_INTERFACE / eth0\|\S+ / gwaddr (?P<value>\S+)", address),
    Row(Kind.SNMP, r"SNMP(_COMMUNITY|_AGENT_ADDRESS_CONFIG)? / \S+ / \S+ (?P<value>.*)", word, changes=False),
    Row(Kind.TIME, r"(NTP_SERVER|DNS_NAMESERVER) / (?P<value>[\d.]+).*", address),
    Row(Kind.LOG, r"SYSLOG_SERVER / (?P<value>[\d.]+)", address),
    Row(Kind.SESSION, r"FEATURE / bgp / state (?P<value>\S+)", word),
    Row(Kind.SERVICE, r"(FEATURE|GNMI|TELEMETRY) / \S+ / (state|port) (?P<value>\S+)", word),
    Row(Kind.PROTECTION, r"ACL_RULE / \S+ / (L4_DST_PORT|SRC_IP|SRC_IPV6|PRIORITY|L4_DST_PORT_RANGE) (?P<value>\S*\d\S*)", numbered),
    Row(Kind.PROTECTION, r"ACL_RULE / \S+ / PACKET_ACTION (?P<value>\S+)", of("DROP", "ACCEPT")),
)  # fmt: skip
_ = flipped
