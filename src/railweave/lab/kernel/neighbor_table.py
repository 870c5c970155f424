"""Room in the kernel's table of neighbors, which all network namespaces of a machine share."""

from __future__ import annotations

from pathlib import Path

from railweave.lab.kernel.namespace import set_parameters

ROOM = 65_536
"""Entries of IPv6 and of IPv4. The default is 1,024 (Linux, Documentation/networking/ip-sysctl: neigh/default/gc_thresh3), and a link
takes about ten of IPv6: a full table drops packets of queue pairs and of BFD."""


def make_room() -> None:
    """Raise the limits of the tables to ``ROOM`` where they are lower; they stay so.

    A machine whose limits are not to be set, as a container, is left as it is. Raises ``LabError`` where setting them fails.
    """
    for family in ("ipv6", "ipv4"):
        for limit in (
            "gc_thresh3",
            "gc_thresh2",
            "gc_thresh1",
        ):  # the highest first: the kernel collects from the second on
            name = f"net/{family}/neigh/default/{limit}"
            file = Path("/proc/sys", name)
            if file.exists() and int(file.read_text(encoding="ascii")) < ROOM:
                set_parameters({name: ROOM})
