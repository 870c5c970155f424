"""The limits on connections, which leave enough file descriptors for collection."""

from __future__ import annotations

import resource

MOST = 256
"""The largest number of connections of a listener, if there are enough file descriptors."""
BACKLOG = 16
"""The listen backlog: the number of connections that a listener accepts in one step of the event loop.

The listener can refuse connections only after that step.
"""
_LEAST = 8
_OF_DEVICE = 6
"""The file descriptors that collection from one device may use: its session, and the pipes of a query program."""
_OF_ALL = 256
"""The file descriptors reserved for the store, for files, and for connections that are about to be refused."""


def connections(devices: int, listeners: int = 2) -> int:
    """Return the largest number of connections of each listener, if the descriptors for collecting from ``devices`` devices are set aside.

    If the limit of file descriptors is too low, it is first raised as far as permitted.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _OF_ALL + devices * _OF_DEVICE
    wanted = needed + listeners * MOST
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    left = MOST if soft == resource.RLIM_INFINITY else (soft - needed) // listeners
    return max(_LEAST, min(MOST, left))
