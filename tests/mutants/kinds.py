"""Kinds of mistakes that are made in a device's configuration, and the rules that name each."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """A kind of mistake."""

    AS = "wrong AS number, of a device or of its peer"
    BFD = "BFD missing at one end or both, or other timers"
    SESSION = "a neighbor, a peer group or an address family that is missing"
    POLICY = "a route-map or policy that is not applied, or another one"
    TERM_ORDER = "terms of a policy in another order"
    TERM = "a term that is missing, or lets through what it should not"
    PREFIX = "a prefix of a list that is missing, another, or one too many"
    COLOR = "a path color: its community, its preference, or its advertisement"
    MARK = "the community by which leaves know what not to send back to spines"
    REDISTRIBUTION = "connected routes that are not advertised, or all of them"
    ECMP = "too few paths to a prefix"
    DLB = "dynamic load balancing that is off, or has other values"
    HASH = "fields of the static hash"
    MTU = "an MTU at one end or both"
    LINK_ADDRESS = "the address of a link between switches"
    LOOPBACK = "a router id, or the address of a loopback"
    GATEWAY = "a gateway's address"
    RA = "router advertisements: off, or with other timers and flags"
    RA_PREFIX = "a prefix that is advertised to servers"
    VLAN = "a port on another VLAN, or on none"
    PORT = "a port that is shut or has another speed, or is split otherwise"
    DSCP_MAP = "a DSCP in another class"
    CNP_QUEUE = "congestion notifications in the lossless queue"
    QUEUE_MAP = "a class in another queue or priority group"
    SCHEDULER = "the share or the priority of a queue"
    ECN = "levels of ECN that are reversed, others, or off"
    PFC = "PFC that is off on a port, or of another priority"
    HEADROOM = "headroom of PFC, or the cable length and MRU behind it"
    BUFFER = "the partition of the packet buffer"
    WATCHDOG = "the PFC watchdog: off, or with other values"
    QOS_PORT = "a port without its maps or its scheduler"
    TARGET = "a route target that leaks, or is missing; a route distinguisher"
    VNI = "a VNI, a tunnel's address, or a VRF that is missing"
    VRF = "an interface in another VRF, or in none"
    ANYCAST = "the MAC address of gateways that every leaf has"
    LOGIN = "who may log in, and how"
    SNMP = "SNMP: who may ask, where traps go"
    TIME = "time and name servers"
    LOG = "log servers"
    NAME = "the device's own name"
    MANAGEMENT_PORT = "the address of the management port, or its gateway"
    SERVICE = "LLDP, NETCONF, telemetry"
    PROTECTION = "what may reach the switch itself"


_QUEUES = ("classifier-differs", "pfc-differs")
_ROUTES = ("policy-differs", "color-differs")

NAMED_BY: dict[Kind, tuple[str, ...]] = {
    Kind.AS: ("as-differs",),
    Kind.BFD: ("bfd-differs",),
    Kind.SESSION: ("session-differs", "as-differs"),
    Kind.POLICY: ("policy-differs",),
    Kind.TERM_ORDER: _ROUTES,
    Kind.TERM: _ROUTES,
    Kind.PREFIX: (*_ROUTES, "route-target-differs", "overlay-differs"),
    Kind.COLOR: _ROUTES,
    Kind.MARK: (*_ROUTES, "session-differs", "overlay-differs"),
    Kind.REDISTRIBUTION: ("policy-differs", "session-differs"),
    Kind.ECMP: ("balancing-differs",),
    Kind.DLB: ("balancing-differs",),
    Kind.HASH: ("balancing-differs",),
    Kind.MTU: ("mtu-differs",),
    Kind.LINK_ADDRESS: ("address-differs", "session-differs"),
    Kind.LOOPBACK: ("address-differs",),
    Kind.GATEWAY: ("address-differs",),
    Kind.RA: ("advertisement-differs",),
    Kind.RA_PREFIX: ("advertisement-differs", "address-differs"),
    Kind.VLAN: ("vlan-differs",),
    Kind.PORT: ("port-differs",),
    Kind.DSCP_MAP: _QUEUES,
    Kind.CNP_QUEUE: _QUEUES,
    Kind.QUEUE_MAP: _QUEUES,
    Kind.SCHEDULER: ("scheduler-differs",),
    Kind.ECN: ("ecn-differs",),
    Kind.PFC: _QUEUES,
    Kind.HEADROOM: ("headroom-differs", "pfc-differs", "buffer-differs"),
    Kind.BUFFER: ("buffer-differs", "headroom-differs"),
    Kind.WATCHDOG: ("watchdog-differs",),
    Kind.QOS_PORT: (*_QUEUES, "scheduler-differs"),
    Kind.TARGET: ("route-target-differs",),
    Kind.VNI: ("overlay-differs", "address-differs"),
    Kind.VRF: ("overlay-differs",),
    Kind.ANYCAST: ("address-differs",),
    Kind.LOGIN: ("login-differs",),
    Kind.SNMP: ("management-differs",),
    Kind.TIME: ("management-differs",),
    Kind.LOG: ("management-differs",),
    Kind.NAME: ("management-differs",),
    Kind.MANAGEMENT_PORT: ("address-differs", "management-differs"),
    Kind.SERVICE: ("management-differs",),
    Kind.PROTECTION: ("protection-differs",),
}
"""The rules by which a mistake is named rightly; of several any one, for two people would call it by either."""
