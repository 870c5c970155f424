"""What is wrong where a file of a server says something else than the design: a rule for each subject."""

from __future__ import annotations

from railweave.model.findings.registry import Rule

FIX = "put the designed value back, or change it in the fabric file and build again"

ADDRESS = Rule(
    "server-address",
    "error",
    "folder",
    "a server's file differs from the design in an address, a prefix length, or how an interface gets its addresses",
    "peers and switches expect the server at the designed address, and path colors follow from it",
    FIX,
)
ROUTE = Rule(
    "server-route",
    "error",
    "folder",
    "a server's file differs from the design in a route, its next hop or its routing table",
    "packets leave by another NIC or gateway than their path asks for, or are not sent at all",
    FIX,
)
RULE = Rule(
    "server-rule",
    "error",
    "folder",
    "a server's file differs from the design in a rule that chooses a routing table",
    "packets of one address take the routes of another, and leave by another NIC",
    FIX,
)
MTU = Rule(
    "server-mtu",
    "error",
    "folder",
    "a server's file differs from the design in the MTU",
    "packets longer than what the other end takes are dropped (RoCE packets among them)",
    FIX,
)
QOS = Rule(
    "server-qos",
    "error",
    "folder",
    "a server's file differs from the design in a DSCP, a priority, a share, PFC or congestion control",
    "NIC and switch then put RDMA data into different classes: it is dropped where it should be paused, or not slowed down",
    FIX,
)
NIC = Rule(
    "server-nic",
    "error",
    "folder",
    "a server's file differs from the design in a NIC: its name, its RDMA device or its cable",
    "settings reach another NIC than they are meant for, or jobs ask for a device that is not there",
    FIX,
)
FIRMWARE = Rule(
    "server-firmware",
    "error",
    "folder",
    "a server's file differs from the design in a setting in a NIC's flash",
    "the NIC starts with another setting than switches and jobs expect",
    FIX,
)
NCCL = Rule(
    "server-nccl",
    "error",
    "folder",
    "a server's file differs from the design in a variable of collective jobs, their tuner table, or how they are started",
    "the library takes other NICs, addresses, classes or queue pairs than designed; servers that differ can wait for ever",
    FIX,
)
KERNEL = Rule(
    "server-kernel",
    "error",
    "folder",
    "a server's file differs from the design in a kernel parameter, a word of its command line, or a limit",
    "addresses, neighbors or locked memory are then handled in another way than designed",
    FIX,
)
SERVICE = Rule(
    "server-service",
    "error",
    "folder",
    "a server's file differs from the design in a unit, a setting of systemd or a command of a script",
    "the server sets up something else at its start, at another time, or nothing",
    FIX,
)
