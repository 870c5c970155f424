"""What this kernel can do, found out by trying: the version of a kernel says little about how it was built."""

from __future__ import annotations

from railweave.errors import LabError
from railweave.live.lab.kernel.namespace import existing, ip

NEEDED = {
    "pairs of virtual Ethernet interfaces (veth)": ["link add name one mtu 9216 type veth peer name two mtu 9216"],
    "bridges": ["link add name irb.2 type bridge mcast_snooping 0 stp_state 0"],
    "IPv6": ["link set two up", "addr add fd00::1/64 dev two"],
    "routing tables and rules of IPv6": [
        "link set one up",
        "-6 route add fd01::/64 dev two table 4000",
        "-6 rule add from fd00::1 table 4000",
    ],
}
"""What a lab cannot do without, and commands of ``ip`` that try it, each in the namespace of those before."""


def probe(lab: str) -> None:
    """Try what every lab needs. Raises ``LabError`` that names what this kernel has not."""
    name = f"{lab}-probe"
    if name in existing(name):  # of a run that was killed
        ip(["netns", "del", name])
    try:
        ip(["netns", "add", name])
    except LabError as error:
        raise LabError(f"this system gives no network namespaces: {error}") from None
    try:
        for what, lines in NEEDED.items():
            try:
                for line in lines:
                    ip(line.split(), inside=name)
            except LabError as error:
                raise LabError(f"this kernel has no {what}: {error}") from None
    finally:
        ip(["netns", "del", name])
