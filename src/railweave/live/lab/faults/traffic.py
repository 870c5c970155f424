"""Packets of queue pairs: UDP to the port of RoCEv2 from the source GID to the destination GID, sent by the servers."""

from __future__ import annotations

import errno
import select
import socket
import struct
import time
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

from railweave.analysis.routing.paths import queue_pair_paths
from railweave.errors import LabError
from railweave.live.lab.kernel import tunnels
from railweave.live.lab.kernel.namespace import entered
from railweave.live.lab.names import namespace
from railweave.model.config.addresses import Address, Family

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from railweave.analysis.routing.table import Routes
    from railweave.live.lab.running import Running
    from railweave.model.network.devices import Nic

PORT = 4791
"""The UDP port of RoCEv2 (IANA; InfiniBand Architecture Specification, annex A17)."""

MOST_QUEUE_PAIRS = 8192
"""The largest number of queue pairs that are tried; those between NICs of one rail come first."""

CHECKING = 4792
"""The port of packets that ask whether queue pairs have a path, while others measure for how long they had none."""

DSCP = 26
"""The mark of packets: the usual class of RoCEv2 data; tunnels copy the mark to the outer header."""

_NO_WAY = {
    errno.EADDRNOTAVAIL,
    errno.EAGAIN,
    errno.ECONNREFUSED,
    errno.EHOSTUNREACH,
    errno.EINVAL,
    errno.EMSGSIZE,
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.ENOBUFS,
}
"""The errors with which a server sends nothing: an answer, not a failure of the lab."""

_NEARLY_ALL = 1 - 1e-6
"""A hop's links with shares that sum up to so much carry every packet."""

_HEADER = struct.Struct("!II")
_HEADERS = {socket.AF_INET: 20 + 8, socket.AF_INET6: 40 + 8}
"""Bytes of IP and UDP headers."""
_RECEIVE_BUFFER = 8 << 20

WINDOW = 128
"""Packets that ``deliver`` has on their way at once. A processor of the kernel queues 1,000 between network namespaces
(net.core.netdev_max_backlog) and drops what exceeds that: packets, and BFD's with them."""

_STILL_S = 0.05
"""Once nothing of a full window comes for so long, it is taken as lost for now, and the next one is sent."""

_SO_RCVBUFFORCE = 33  # asm-generic/socket.h
_FREEBIND = {  # also for an address that is not there, or not yet (linux/in.h, linux/in6.h)
    socket.AF_INET: (socket.IPPROTO_IP, 15, 1),
    socket.AF_INET6: (socket.IPPROTO_IPV6, 78, 1),
}
_DATA_CLASS = {
    socket.AF_INET: (socket.IPPROTO_IP, socket.IP_TOS, DSCP << 2),
    socket.AF_INET6: (socket.IPPROTO_IPV6, socket.IPV6_TCLASS, DSCP << 2),
}
_DO_NOT_FRAGMENT = {
    socket.AF_INET: (socket.IPPROTO_IP, 10, 3),  # IP_MTU_DISCOVER, IP_PMTUDISC_PROBE
    socket.AF_INET6: (socket.IPPROTO_IPV6, 23, 3),  # IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE
}
"""Whole or not at all, whatever the path was found to take before (linux/in.h, linux/in6.h)."""


@dataclass(frozen=True, slots=True)
class QueuePair:
    """One direction of a queue pair between two NICs (``SERVER:NIC``), and the links it should cross, hop by hop.

    ``tunnel_bytes`` are what a tunnel adds to its packets between leaves; 0 without tenants. ``certain``, hop by hop: every packet
    crosses one of the links. Ways to a layer-2 network may differ in length: the longer one has hops that only some packets take.
    """

    src: str
    dst: str
    src_gid: str
    dst_gid: str
    color: str
    hops: tuple[tuple[str, ...], ...]
    tunnel_bytes: int = 0
    certain: tuple[bool, ...] = ()

    def __str__(self) -> str:
        by = f" by {self.color}" if self.color else ""
        return f"{self.src} to {self.dst}{by} ({self.src_gid} -> {self.dst_gid})"

    @property
    def pinned(self) -> bool:
        """Return whether each hop is one link that every packet crosses."""
        return bool(self.hops) and all(len(hop) == 1 for hop in self.hops) and all(self.certain)

    def links(self) -> set[str]:
        """Every link it may cross."""
        return {link for hop in self.hops for link in hop}


def queue_pairs(lab: Running, routes: Routes, most: int = MOST_QUEUE_PAIRS) -> tuple[list[QueuePair], int]:
    """A queue pair of every address of every NIC to every NIC of its fabric and plane on other servers; and how many there are.

    Where there are more than ``most``, those between NICs of one rail come first, and what exceeds is left out.
    """
    network = lab.plan.network
    nics = [(server.name, nic) for server in network.servers for nic in server.nics]
    pairs = [
        (a, b)
        for a, b in permutations(nics, 2)
        if a[0] != b[0] and (a[1].fabric, a[1].tenant) == (b[1].fabric, b[1].tenant) and a[1].addresses
        if network.plane_of(a[1]) == network.plane_of(b[1]) and _families(a[1], b[1])
    ]
    pairs.sort(key=lambda pair: pair[0][1].rail != pair[1][1].rail)
    every = sum(len(a[1].addresses) for a, _ in pairs)
    chosen: list[QueuePair] = []
    for (server, nic), (other, far) in pairs:
        if len(chosen) + len(nic.addresses) > most:
            break
        src, dst = f"{server}:{nic.name}", f"{other}:{far.name}"
        added = tunnels.overhead(lab.plan.configs[nic.leaf]) if nic.tenant else 0
        for family, count in _families(nic, far):
            for path in queue_pair_paths(network, routes, src, dst, count, family):
                hops = tuple(tuple(link_share.link for link_share in hop) for hop in path.hops)
                certain = tuple(sum(link_share.share for link_share in hop) > _NEARLY_ALL for hop in path.hops)
                chosen.append(QueuePair(src, dst, path.src_gid, path.dst_gid, path.color, hops, added, certain))
    return chosen, every


def _families(nic: Nic, far: Nic) -> list[tuple[Family | None, int]]:
    """The address families that both NICs have, with how many addresses the first has; none where they have none in common."""
    here: set[Family] = {address.family for address in nic.addresses}
    shared = here.intersection(address.family for address in far.addresses)
    return [(family, len(nic.addresses_of(family))) for family in sorted(shared)]


def forbidden_pairs(lab: Running) -> list[QueuePair]:
    """Every address of every NIC to every address of NICs that are in another tenant, on other servers.

    Two NICs of one server are not among them: what a server sends itself never leaves it.
    """
    nics = [(server.name, nic) for server in lab.plan.network.servers for nic in server.nics if nic.tenant]
    return [
        QueuePair(f"{server}:{nic.name}", f"{other}:{far.name}", here.address, there.address, "", ())
        for (server, nic), (other, far) in permutations(nics, 2)
        if server != other
        and (nic.fabric != far.fabric or lab.plan.network.fabric(nic.fabric).apart(nic.tenant, far.tenant))
        for here in nic.addresses
        for there in far.addresses
        if Address(here.address).family == Address(there.address).family
    ]


def pairs_apart(lab: Running) -> list[QueuePair]:
    """Every address of every NIC to one of the same path color on NICs of other planes of its fabric, on other servers."""
    network = lab.plan.network
    nics = [(server.name, nic) for server in network.servers for nic in server.nics if network.plane_of(nic)]
    return [
        QueuePair(f"{server}:{nic.name}", f"{other}:{far.name}", here.address, there.address, "", ())
        for (server, nic), (other, far) in permutations(nics, 2)
        if server != other and nic.fabric == far.fabric and network.plane_of(nic) != network.plane_of(far)
        for here in nic.addresses
        for there in far.addresses
        if (here.color, here.family) == (there.color, there.family)
    ]


class Traffic:
    """A socket at each address of each server; a context."""

    def __init__(self, lab: Running, port: int = PORT) -> None:
        self._port = port
        self._sockets: dict[str, socket.socket] = {}
        self._poll = select.epoll()
        self._by_number: dict[int, socket.socket] = {}
        self._mtu: dict[str, int] = {}
        try:
            for name, host in lab.plan.hosts.items():
                with entered(namespace(lab.place.lab, name)):
                    for nic in host.nics:
                        for address in nic.addresses:
                            self._open(name, address.address)
                            self._mtu[address.address] = nic.mtu
        except BaseException:
            self.close()
            raise

    def _open(self, server: str, address: str) -> None:
        family = socket.AF_INET6 if Address(address).family == "ipv6" else socket.AF_INET
        made = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER)
            made.setsockopt(*_DO_NOT_FRAGMENT[family])
            made.setsockopt(*_FREEBIND[family])
            made.setsockopt(*_DATA_CLASS[family])
            made.bind((address, self._port))
        except OSError as error:
            made.close()
            raise LabError(f"{server} cannot use {address}: {error.strerror}") from None
        self._sockets[address] = made
        self._by_number[made.fileno()] = made
        self._poll.register(made.fileno(), select.EPOLLIN)

    def __enter__(self) -> Traffic:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets."""
        self._poll.close()
        for nic_socket in self._sockets.values():
            nic_socket.close()

    def packet_bytes(self, pair: QueuePair) -> int:
        """The largest IP packet that a queue pair's NIC sends."""
        return self._mtu[pair.src_gid]

    def send(self, flow: int, sequence: int, pair: QueuePair, ip_bytes: int = 0) -> bool:
        """Send a packet of a flow; of so many bytes with its headers where told. False where the server has no way for it."""
        nic_socket = self._sockets[pair.src_gid]
        payload = _HEADER.pack(flow, sequence)
        if ip_bytes:
            payload = payload.ljust(ip_bytes - _HEADERS[nic_socket.family], b"\0")
        try:
            nic_socket.sendto(payload, (pair.dst_gid, self._port))
        except OSError as error:
            if error.errno in _NO_WAY:
                return False
            raise
        return True

    def arrived(self, wait_s: float = 0.0) -> Iterator[tuple[int, int, str]]:
        """Flow, sequence number and destination GID of what came, after waiting for the first so long."""
        for number, _ in self._poll.poll(wait_s, len(self._sockets) or 1):
            nic_socket = self._by_number[number]
            gid = nic_socket.getsockname()[0]
            while True:
                try:
                    data = nic_socket.recv(_HEADER.size)
                except BlockingIOError:
                    break
                except OSError:  # an ICMP error that an earlier packet brought about
                    continue
                if len(data) == _HEADER.size:
                    yield (*_HEADER.unpack(data), gid)

    def deliver(
        self, flows: Sequence[tuple[QueuePair, int]], ip_bytes: int | None = 0, patience_s: float = 1.0
    ) -> list[int]:
        """Send each flow's number of packets, a window of them at a time; how many of each came to where they were sent.

        ``ip_bytes`` None: as large as the NIC sends. Returns once all have come, or none has for ``patience_s``.
        """
        received = [0] * len(flows)
        missing = unanswered = 0

        def take(wait_s: float) -> int:
            number = 0
            for flow, _, gid in self.arrived(wait_s):
                if flow < len(flows) and gid == flows[flow][0].dst_gid:
                    received[flow] += 1
                    number += 1
            return number

        for flow, (pair, count) in enumerate(flows):
            size = self.packet_bytes(pair) if ip_bytes is None else ip_bytes
            for sequence in range(count):
                if unanswered >= WINDOW:
                    came = take(_STILL_S)
                    missing -= came
                    unanswered = max(unanswered - came, 0) if came else 0
                if self.send(flow, sequence, pair, size):
                    missing += 1
                    unanswered += 1
        quiet = time.monotonic() + patience_s
        while missing > 0 and time.monotonic() < quiet:
            came = take(0.05)
            missing -= came
            if came:
                quiet = time.monotonic() + patience_s
        return received

    def flush(self) -> None:
        """Drop what has arrived without being asked for."""
        while any(True for _ in self.arrived()):
            continue


def reached(traffic: Traffic, pairs: Sequence[QueuePair], tries: int = 3, ip_bytes: int | None = 0) -> list[QueuePair]:
    """The queue pairs of which no packet arrives, of so many tries; ``ip_bytes`` as ``Traffic.deliver`` has it."""
    left = list(pairs)
    traffic.flush()
    for _ in range(tries):
        if left:
            received = traffic.deliver([(pair, 1) for pair in left], ip_bytes)
            left = [pair for pair, count in zip(left, received, strict=True) if not count]
    return left


def spread(pairs: Sequence[QueuePair], most: int) -> list[QueuePair]:
    """At most so many, from all over."""
    step = max(len(pairs) / most, 1.0) if most else 1.0
    return [pairs[int(place * step)] for place in range(min(most, len(pairs)))]


def named(pairs: Iterable[QueuePair], most: int = 8) -> tuple[str, ...]:
    """Queue pairs as text, the first of many."""
    return tuple(str(pair) for _, pair in zip(range(most), pairs, strict=False))
