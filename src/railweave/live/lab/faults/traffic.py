"""Test packets like those of RoCE queue pairs: UDP to the RoCEv2 port, from the source GID to the destination GID."""

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
"""The largest number of queue pairs that are tested. Queue pairs between NICs of the same rail come first."""

CHECKING = 4792
"""The UDP port of packets that test if a path exists, while packets to ``PORT`` measure the loss."""

DSCP = 26
"""The DSCP of packets, which is the usual DSCP of RoCEv2 data. Tunnels copy it to the outer header."""

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
"""Socket errors which mean that a server has no path for a packet. They are results of a test, not failures of the lab."""

_NEARLY_ALL = 1 - 1e-6
"""The smallest sum of traffic shares, over the links of a hop, for which every packet counts as crossing the hop."""

_HEADER = struct.Struct("!II")
_HEADERS = {socket.AF_INET: 20 + 8, socket.AF_INET6: 40 + 8}
"""The bytes of IP and UDP headers, by address family."""
_RECEIVE_BUFFER = 8 << 20

WINDOW = 128
"""The largest number of packets that ``deliver`` has in flight.

Between network namespaces, a processor queues 1,000 packets (net.core.netdev_max_backlog) and drops all others,
including those of BFD.
"""

_STILL_S = 0.05
"""The seconds without an arrival after which the missing packets of a full window count as lost, and the next window is sent."""

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
"""Socket options that forbid fragmentation and ignore a cached path MTU (linux/in.h, linux/in6.h)."""


@dataclass(frozen=True, slots=True)
class QueuePair:
    """One direction of a queue pair between two NICs (``SERVER:NIC``).

    - ``src_gid``, ``dst_gid``: the addresses of the two NICs. ``color``: their path color.
    - ``hops``: the links that its packets should cross: for each hop, the possible links.
    - ``tunnel_bytes``: the bytes that a tunnel adds to each packet between leaves; 0 without tenants.
    - ``certain``: for each hop, True if every packet crosses one of the hop's links. Paths to a layer-2 network may differ in
      length; only some packets then cross the extra hops of the longer path.
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
        """True if each hop is a single link that every packet crosses."""
        return bool(self.hops) and all(len(hop) == 1 for hop in self.hops) and all(self.certain)

    def links(self) -> set[str]:
        """Return every link that the packets of the queue pair may cross."""
        return {link for hop in self.hops for link in hop}


def queue_pairs(lab: Running, routes: Routes, most: int = MOST_QUEUE_PAIRS) -> tuple[list[QueuePair], int]:
    """Return queue pairs between NICs on different servers, and the number of all possible queue pairs.

    Two NICs have one queue pair for each address of the source NIC. Both NICs have the same fabric, plane and tenant. If there are more
    than ``most`` queue pairs, those within a rail come first and the rest is left out.
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
    """Return (address family, number of addresses of ``nic``) for each family that ``nic`` and ``far`` both have."""
    here: set[Family] = {address.family for address in nic.addresses}
    shared = here.intersection(address.family for address in far.addresses)
    return [(family, len(nic.addresses_of(family))) for family in sorted(shared)]


def forbidden_pairs(lab: Running) -> list[QueuePair]:
    """Return queue pairs between NICs of isolated tenants, from each address to each address on other servers.

    Two NICs of one server do not form a pair, because packets from a server to itself never leave it.
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
    """Return queue pairs between NICs in different planes of a fabric, on different servers.

    Each pair of addresses with the same path color and address family gives one queue pair.
    """
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
    """A context manager that opens a UDP socket at each address of each server."""

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
            try:
                made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER)
            except PermissionError:  # only the machine's root may exceed its limit, net.core.rmem_max
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
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
        """Return the size in bytes of the largest IP packet that the source NIC of a queue pair sends."""
        return self._mtu[pair.src_gid]

    def send(self, flow: int, sequence: int, pair: QueuePair, ip_bytes: int = 0) -> bool:
        """Send a packet of the queue pair ``pair``. The packet carries the numbers ``flow`` and ``sequence``.

        Return False if the server has no path for the packet.

        ``ip_bytes`` is the size of the packet with its headers; 0 sends no padding.
        """
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
        """Yield the flow, sequence number and destination GID of each packet that arrived.

        Wait at most ``wait_s`` for the first packet.
        """
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
        """Send packets of flows, and return how many packets of each flow arrived at their destination.

        ``flows`` are queue pairs with the number of packets of each. At most ``WINDOW`` packets are in flight.
        ``ip_bytes`` is the size of packets; None means the largest size that the NIC sends. Returns when all packets
        have arrived, or when none has arrived for ``patience_s`` seconds.
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
        """Discard all packets that have arrived."""
        while any(True for _ in self.arrived()):
            continue


def reached(traffic: Traffic, pairs: Sequence[QueuePair], tries: int = 3, ip_bytes: int | None = 0) -> list[QueuePair]:
    """Send a packet for each of ``pairs``, at most ``tries`` times. Return the queue pairs of which no packet arrived.

    ``ip_bytes`` is the size of packets; None means the largest size that the NIC sends.
    """
    left = list(pairs)
    traffic.flush()
    for _ in range(tries):
        if left:
            received = traffic.deliver([(pair, 1) for pair in left], ip_bytes)
            left = [pair for pair, count in zip(left, received, strict=True) if not count]
    return left


def spread(pairs: Sequence[QueuePair], most: int) -> list[QueuePair]:
    """Return at most ``most`` of the queue pairs, taken from the list at equal distances."""
    step = max(len(pairs) / most, 1.0) if most else 1.0
    return [pairs[int(place * step)] for place in range(min(most, len(pairs)))]


def named(pairs: Iterable[QueuePair], most: int = 8) -> tuple[str, ...]:
    """Return the names of the first ``most`` queue pairs."""
    return tuple(str(pair) for _, pair in zip(range(most), pairs, strict=False))
