"""The direction in which packets of the full size are lost between two servers.

An echo reply is as large as its request, so a missing reply does not show which of the two was lost. A UDP packet to a
closed port is answered with a short ICMP error (port unreachable: RFC 792; RFC 4443, at most 1,280 bytes). This error
shows that the packet arrived. The sockets need no privileges.
"""

from __future__ import annotations

import errno
import select
import socket
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_PORT = 33434
"""The first port of traceroute(8), on which no program listens."""

_TRIES = 3
_WAIT_S = 0.5
_AT_ONCE = 64
_UDP = {socket.AF_INET: 28, socket.AF_INET6: 48}
_PROBE = {socket.AF_INET: (socket.IPPROTO_IP, 10, 3), socket.AF_INET6: (socket.IPPROTO_IPV6, 23, 3)}
"""The socket option that sets path MTU discovery to PROBE, as (level, option, value), by address family.

Packets are then not fragmented, and a learned path MTU is ignored.
"""


class LossyPair(NamedTuple):
    """Two addresses between which packets of ``size`` bytes (including the IP header) are lost, although small packets arrive."""

    source: str
    target: str
    size: int


def directions(asked: Iterable[LossyPair], small: int) -> dict[LossyPair, str]:
    """Return, for each pair in ``asked``, a sentence that begins ``lost on the way there``, ``lost on the way back`` or ``direction not seen``.

    ``small`` is the size in bytes of packets that do arrive.
    """
    pairs = list(dict.fromkeys(asked))
    sentences: dict[LossyPair, str] = {}
    for first in range(0, len(pairs), _AT_ONCE):
        some = pairs[first : first + _AT_ONCE]
        reporting = _reported(dict.fromkeys(some, small))
        arrived = _reported({each: each.size for each in reporting})
        for each in some:
            if each in arrived:
                sentences[each] = (
                    f"lost on the way back: {each.target} reports that a packet of {each.size} bytes arrived"
                )
            elif each in reporting:
                sentences[each] = (
                    f"lost on the way there: {each.target} reports packets of {small} bytes, and none of {each.size}"
                )
            else:
                sentences[each] = f"direction not seen: {each.target} reports no closed port"
    return sentences


def _reported(sizes: dict[LossyPair, int]) -> set[LossyPair]:
    """Return the pairs whose target reports, by ICMP, that a packet reached a closed port. ``sizes`` has the packet size in bytes for each pair."""
    reported: set[LossyPair] = set()
    for attempt in range(_TRIES):
        left = {pair: size for pair, size in sizes.items() if pair not in reported}
        if not left:
            break
        reported |= _round(left, _PORT + attempt)
    return reported


def _round(sizes: dict[LossyPair, int], port: int) -> set[LossyPair]:
    poll = select.poll()
    waiting: dict[int, tuple[socket.socket, LossyPair]] = {}
    reported: set[LossyPair] = set()
    try:
        for pair, size in sizes.items():
            family = socket.AF_INET6 if ":" in pair.source else socket.AF_INET
            sender = socket.socket(family, socket.SOCK_DGRAM)
            waiting[sender.fileno()] = (sender, pair)
            try:
                sender.setsockopt(*_PROBE[family])
                sender.setblocking(False)
                sender.bind((pair.source, 0))
                sender.connect((pair.target, port))
                sender.send(bytes(size - _UDP[family]))
            except OSError:
                continue  # nothing was sent, so nothing is reported
            poll.register(sender, select.POLLIN)
        until = time.monotonic() + _WAIT_S
        while len(reported) < len(sizes) and (left := until - time.monotonic()) > 0:
            for number, _ in poll.poll(left * 1000):
                sender, pair = waiting[number]
                if sender.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED:
                    reported.add(pair)
                poll.unregister(sender)
    finally:
        for sender, _ in waiting.values():
            sender.close()
    return reported
