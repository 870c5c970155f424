"""Descriptors of a process that watches: what listens leaves those that collection needs."""

from __future__ import annotations

import resource

MOST = 256
"""Connections of one listener, where there are descriptors enough."""
BACKLOG = 16
"""Connections that a listener takes in one step of the loop. Some steps go by before the first of them can be refused."""
_LEAST = 8
_OF_DEVICE = 6
"""Descriptors that collecting from a device may take: its session, and the pipes of a program that asks it."""
_OF_ALL = 256
"""Descriptors of the store, of files and of connections that are about to be refused."""


def connections(devices: int, listeners: int = 2) -> int:
    """The connections that a listener may have beside the collection of so many devices; descriptors that are free to take are taken."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _OF_ALL + devices * _OF_DEVICE
    wanted = needed + listeners * MOST
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    left = MOST if soft == resource.RLIM_INFINITY else (soft - needed) // listeners
    return max(_LEAST, min(MOST, left))
