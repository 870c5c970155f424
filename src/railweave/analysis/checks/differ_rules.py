"""What is wrong where a device's configuration differs from the design: a rule for each subject."""

from __future__ import annotations

from railweave.model.findings.registry import Rule

FIX = "put the designed statement back, or change the fabric file and build again"


AS = Rule(
    "as-differs",
    "error",
    "folder",
    "an AS number of a device or of one of its peers differs from the design",
    "a session opens only where each end has the AS number that the other expects (RFC 4271, section 6.2)",
    FIX,
)
SESSION = Rule(
    "session-differs",
    "error",
    "folder",
    "a BGP session differs from the design, in its address, its policies or its address families",
    "the session does not come up, or does not carry what it should",
    FIX,
)
BFD = Rule(
    "bfd-differs",
    "error",
    "folder",
    "BFD of a session differs from the design",
    "where one end lacks BFD, a dead link is found late or not at all (RFC 5880, section 6.2)",
    FIX,
)
POLICY = Rule(
    "policy-differs",
    "error",
    "folder",
    "a routing policy differs from the design, in its terms, their order or its prefix lists",
    "the switch advertises or accepts routes that it should not, or drops routes that it should take",
    FIX,
)
COLOR = Rule(
    "color-differs",
    "error",
    "folder",
    "a path color differs from the design, in its community, its preference or what is advertised with it",
    "queue pairs no longer take the path that their address stands for",
    FIX,
)
MTU = Rule(
    "mtu-differs",
    "error",
    "folder",
    "an MTU differs from the design",
    "packets longer than the smaller of the two MTUs of a link are dropped, or routing sessions do not come up",
    FIX,
)
ADDRESS = Rule(
    "address-differs",
    "error",
    "folder",
    "an address or prefix differs from the design",
    "others send to the designed address, and nobody answers there",
    FIX,
)
ADVERTISEMENT = Rule(
    "advertisement-differs",
    "error",
    "folder",
    "what a gateway advertises to servers differs from the design",
    "servers take addresses and routes from router advertisements (RFC 4861, RFC 4191)",
    FIX,
)
VLAN = Rule(
    "vlan-differs",
    "error",
    "folder",
    "a VLAN, or a port's membership in one, differs from the design",
    "servers on it lose their gateway, or get that of another rail",
    FIX,
)
PORT = Rule(
    "port-differs",
    "error",
    "folder",
    "a port differs from the design: in its speed or its breakout, or because it is missing or shut down",
    "its link does not come up",
    FIX,
)
CLASSIFIER = Rule(
    "classifier-differs",
    "error",
    "folder",
    "the class, the queue or the priority of a DSCP differs from the design",
    "RDMA packets or congestion notifications get into another queue than NICs and neighbors expect",
    FIX,
)
SCHEDULER = Rule(
    "scheduler-differs",
    "error",
    "folder",
    "the share or the priority of a queue differs from the design",
    "a class gets more or less of a link than designed",
    FIX,
)
PFC = Rule(
    "pfc-differs",
    "error",
    "folder",
    "PFC of a priority or a port differs from the design",
    "where a port does not pause, packets of a lossless class are dropped (IEEE 802.1Q, clause 36)",
    FIX,
)
HEADROOM = Rule(
    "headroom-differs",
    "error",
    "folder",
    "PFC headroom differs from the design, or the cable length or MRU from which it is computed",
    "packets that are under way when a pause is sent find no room, and are dropped",
    FIX,
)
ECN = Rule(
    "ecn-differs",
    "error",
    "folder",
    "ECN marking of a queue differs from the design",
    "senders slow down too early, too late, or never",
    FIX,
)
BUFFER = Rule(
    "buffer-differs",
    "error",
    "folder",
    "the partition of the packet buffer differs from the design",
    "lossless and lossy classes use up each other's part of the buffer",
    FIX,
)
WATCHDOG = Rule(
    "watchdog-differs",
    "error",
    "folder",
    "the PFC watchdog differs from the design",
    "a stuck queue pauses the fabric for longer than designed, or for ever",
    FIX,
)
BALANCING = Rule(
    "balancing-differs",
    "error",
    "folder",
    "load balancing differs from the design",
    "traffic is spread over links in another way than predictions take it to be",
    FIX,
)
TARGET = Rule(
    "route-target-differs",
    "error",
    "folder",
    "a route target or route distinguisher differs from the design",
    "a tenant's routes leak into another VRF, or are missing from its own (RFC 4364, section 4.3)",
    FIX,
)
OVERLAY = Rule(
    "overlay-differs",
    "error",
    "folder",
    "a VRF, a VNI or a tunnel endpoint differs from the design",
    "a tenant's servers do not reach each other",
    FIX,
)
ISIS = Rule(
    "isis-differs",
    "error",
    "folder",
    "IS-IS or OSPF differs from the design",
    "an adjacency does not come up, or routes take another way",
    FIX,
)
LOGIN = Rule(
    "login-differs",
    "error",
    "folder",
    "who may log in, or how, differs from the design",
    "somebody gets in who should not, or nobody does",
    FIX,
)
MANAGEMENT = Rule(
    "management-differs",
    "error",
    "folder",
    "management differs from the design: names, time, logs, SNMP or services",
    "the device cannot be monitored or reached as designed",
    FIX,
)
PROTECTION = Rule(
    "protection-differs",
    "error",
    "folder",
    "the filter of what may reach the device itself differs from the design",
    "servers can reach its control plane, or sessions between switches are cut off",
    FIX,
)
MACSEC = Rule(
    "macsec-differs",
    "error",
    "folder",
    "MACsec of a link differs from the design",
    "the link carries nothing, or carries it in the clear",
    FIX,
)
STATEMENT = Rule(
    "statement-differs",
    "error",
    "folder",
    "a statement of the design is missing or says something else",
    "railweave does not know what this statement changes",
    FIX,
)
EXTRA = Rule(
    "statement-not-designed",
    "warning",
    "folder",
    "the configuration has a statement that the design does not have",
    "railweave does not know what this statement changes; the next build or deployment removes it",
    "put it under `extra:` of the role to keep it",
)
TEXT = Rule(
    "text-differs",
    "warning",
    "folder",
    "a description, banner or comment differs from the design",
    "people and tools read it; it does not affect traffic",
    FIX,
)
