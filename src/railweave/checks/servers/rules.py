"""What is wrong where a file of a server says something else than the design: a rule for each subject."""

from __future__ import annotations

from railweave.findings.registry import Rule

FIX = "put the designed value back, or change it in the fabric file and build again"

ADDRESS = Rule(
    "server-address",
    "error",
    "folder",
    "in a server's file, not as designed: an address, its prefix length, or how an interface comes by its addresses",
    "peers and switches expect the server at the designed address, and path colors follow from it",
    FIX,
)
ROUTE = Rule(
    "server-route",
    "error",
    "folder",
    "in a server's file, not as designed: a route, its next hop or its routing table",
    "packets leave by another NIC or another gateway than their path stands for, or not at all",
    FIX,
)
RULE = Rule(
    "server-rule",
    "error",
    "folder",
    "in a server's file, not as designed: a rule that chooses a routing table",
    "packets of an address take the routes of another one, and leave by another NIC",
    FIX,
)
MTU = Rule(
    "server-mtu",
    "error",
    "folder",
    "in a server's file, not as designed: the MTU",
    "packets longer than what the other end takes are dropped (RoCE packets among them)",
    FIX,
)
QOS = Rule(
    "server-qos",
    "error",
    "folder",
    "in a server's file, not as designed: a DSCP, a priority, a share, PFC or congestion control",
    "NIC and switch then put RDMA data into different classes: it is dropped where it should be paused, or not slowed down",
    FIX,
)
NIC = Rule(
    "server-nic",
    "error",
    "folder",
    "in a server's file, not as designed: a NIC, its name, its RDMA device or where it is cabled to",
    "what the NIC is given, or jobs ask for, is meant for another one",
    FIX,
)
FIRMWARE = Rule(
    "server-firmware",
    "error",
    "folder",
    "in a server's file, not as designed: a setting in a NIC's flash",
    "the NIC starts with another setting than switches and jobs expect",
    FIX,
)
NCCL = Rule(
    "server-nccl",
    "error",
    "folder",
    "in a server's file, not as designed: a variable of collective jobs, their tuner table, or how they are started",
    "the library takes other NICs, addresses, classes or queue pairs than designed; servers that differ can wait for ever",
    FIX,
)
KERNEL = Rule(
    "server-kernel",
    "error",
    "folder",
    "in a server's file, not as designed: a kernel parameter, a word of its command line, or a limit",
    "addresses, neighbors or locked memory are then handled in another way than designed",
    FIX,
)
SERVICE = Rule(
    "server-service",
    "error",
    "folder",
    "in a server's file, not as designed: a unit, a setting of systemd or a command of a script",
    "what the server sets up at its start is another thing, comes at another time, or not at all",
    FIX,
)
