"""Room in the kernel's table of neighbors, which all network namespaces of a machine share."""

from __future__ import annotations

from pathlib import Path

from railweave.live.lab.kernel.namespace import set_parameters

ROOM = 65_536
"""Entries of IPv6 and of IPv4 that every lab finds. The default is 1,024 (Linux, Documentation/networking/ip-sysctl:
neigh/default/gc_thresh3): a full table drops packets of queue pairs and of BFD."""

OF_A_LINK = 10
"""Entries of IPv6 that a link takes, about, multicast groups and both ends counted."""


def make_room(links: int) -> None:
    """Raise the limits of the tables to what so many links take, or ``ROOM``, where they are lower; they stay so.

    A machine that does not show its limits, as a container, is left as it is. Raises ``LabError`` where setting them fails.
    """
    room = max(ROOM, OF_A_LINK * links)
    for family in ("ipv6", "ipv4"):
        for limit in (
            "gc_thresh3",
            "gc_thresh2",
            "gc_thresh1",
        ):  # the highest first: the kernel collects from the second on
            name = f"net/{family}/neigh/default/{limit}"
            file = Path("/proc/sys", name)
            if file.exists() and int(file.read_text(encoding="ascii")) < room:
                set_parameters({name: room})
