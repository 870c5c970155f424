"""What is wrong where a device's configuration is not the designed one: a rule for each subject."""

from __future__ import annotations

from railweave.findings.registry import Rule

FIX = "put the designed statement back, or change the fabric file and build again"


AS = Rule(
    "as-differs",
    "error",
    "folder",
    "an AS number of a device or of its peers is not the designed one",
    "a session opens only where each end has the AS number that the other expects (RFC 4271, section 6.2)",
    FIX,
)
SESSION = Rule(
    "session-differs",
    "error",
    "folder",
    "a BGP session, its address, its policies or an address family of it is not the designed one",
    "the session does not come up, or does not carry what it should",
    FIX,
)
BFD = Rule(
    "bfd-differs",
    "error",
    "folder",
    "BFD of a session is not the designed one",
    "a dead link is found late, or not at all, where one end lacks BFD (RFC 5880, section 6.2)",
    FIX,
)
POLICY = Rule(
    "policy-differs",
    "error",
    "folder",
    "a routing policy, a prefix list of it, or the order of its terms is not the designed one",
    "routes are advertised or accepted that should not be, or the other way round",
    FIX,
)
COLOR = Rule(
    "color-differs",
    "error",
    "folder",
    "a path color: its community, its preference, or what is advertised with it is not the designed one",
    "queue pairs no longer go by the path that their address stands for",
    FIX,
)
MTU = Rule(
    "mtu-differs",
    "error",
    "folder",
    "an MTU is not the designed one",
    "packets longer than the smaller MTU of a link's two ends are dropped, or routing does not come up",
    FIX,
)
ADDRESS = Rule(
    "address-differs",
    "error",
    "folder",
    "an address or prefix is not the designed one",
    "what is designed to have the address cannot be reached by it",
    FIX,
)
ADVERTISEMENT = Rule(
    "advertisement-differs",
    "error",
    "folder",
    "what a gateway advertises to servers is not the designed one",
    "servers take addresses and routes from router advertisements (RFC 4861, RFC 4191)",
    FIX,
)
VLAN = Rule(
    "vlan-differs",
    "error",
    "folder",
    "a VLAN, or a port's membership in it is not the designed one",
    "servers on it lose their gateway, or see another rail's",
    FIX,
)
PORT = Rule(
    "port-differs",
    "error",
    "folder",
    "a port: its speed, its channels, whether it is configured or shut is not the designed one",
    "its link does not come up",
    FIX,
)
CLASSIFIER = Rule(
    "classifier-differs",
    "error",
    "folder",
    "the class, the queue or the priority of a DSCP is not the designed one",
    "RDMA packets or congestion notifications get another queue than NIC and peers expect",
    FIX,
)
SCHEDULER = Rule(
    "scheduler-differs",
    "error",
    "folder",
    "the share or the priority of a queue is not the designed one",
    "a class gets more or less of a link than designed",
    FIX,
)
PFC = Rule(
    "pfc-differs",
    "error",
    "folder",
    "PFC of a priority or a port is not the designed one",
    "a lossless class is dropped where a port does not pause (IEEE 802.1Q, clause 36)",
    FIX,
)
HEADROOM = Rule(
    "headroom-differs",
    "error",
    "folder",
    "PFC headroom, or the cable length and MRU that it follows from is not the designed one",
    "packets that are under way when a pause is sent do not fit, and are dropped",
    FIX,
)
ECN = Rule(
    "ecn-differs",
    "error",
    "folder",
    "ECN marking of a queue is not the designed one",
    "senders slow down too early, too late, or never",
    FIX,
)
BUFFER = Rule(
    "buffer-differs",
    "error",
    "folder",
    "the partition of the packet buffer is not the designed one",
    "lossless and lossy classes take each other's room",
    FIX,
)
WATCHDOG = Rule(
    "watchdog-differs",
    "error",
    "folder",
    "the PFC watchdog is not the designed one",
    "a stuck queue pauses the fabric for longer than designed, or for ever",
    FIX,
)
BALANCING = Rule(
    "balancing-differs",
    "error",
    "folder",
    "load balancing is not the designed one",
    "next-hop groups share their links in another way than predicted",
    FIX,
)
TARGET = Rule(
    "route-target-differs",
    "error",
    "folder",
    "a route target or route distinguisher is not the designed one",
    "a tenant's routes leak into another VRF, or are missing in its own (RFC 4364, section 4.3)",
    FIX,
)
OVERLAY = Rule(
    "overlay-differs",
    "error",
    "folder",
    "a VRF, a VNI or a tunnel endpoint is not the designed one",
    "a tenant's servers do not reach each other",
    FIX,
)
ISIS = Rule(
    "isis-differs",
    "error",
    "folder",
    "IS-IS, or OSPF, is not the designed one",
    "an adjacency does not come up, or routes go another way",
    FIX,
)
LOGIN = Rule(
    "login-differs",
    "error",
    "folder",
    "who may log in, and how is not the designed one",
    "somebody gets in who should not, or nobody does",
    FIX,
)
MANAGEMENT = Rule(
    "management-differs",
    "error",
    "folder",
    "management: names, time, logs, SNMP, services is not the designed one",
    "the device is not seen or reached as designed",
    FIX,
)
PROTECTION = Rule(
    "protection-differs",
    "error",
    "folder",
    "what may reach the device itself is not the designed one",
    "its control plane is open to servers, or sessions of the fabric are cut",
    FIX,
)
MACSEC = Rule(
    "macsec-differs",
    "error",
    "folder",
    "MACsec of a link is not the designed one",
    "the link carries nothing, or carries it in the clear",
    FIX,
)
STATEMENT = Rule(
    "statement-differs",
    "error",
    "folder",
    "a statement that is designed is not the designed one",
    "nothing that is read of it says what it changes",
    FIX,
)
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
