"""The kernel's state in a namespace, read by rtnetlink (rtnetlink(7)): routes, interfaces with counters, addresses.

``ip -j`` reports the same state, but needs a process for each call, and a measurement of a fault reads every table many
times per second.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab.kernel.namespace import entered

if TYPE_CHECKING:
    from collections.abc import Iterator

# linux/netlink.h, linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h
_NETLINK_ROUTE = 0
_REQUEST_DUMP = 0x301
_ERROR, _DONE = 2, 3
_NEW_LINK, _GET_LINK, _NEW_ADDRESS, _GET_ADDRESS, _NEW_ROUTE, _GET_ROUTE = 16, 18, 20, 22, 24, 26
_DUMP_INTERRUPTED = 0x10
_IFLA_IFNAME, _IFLA_STATS64 = 3, 23
_IFA_ADDRESS, _IFA_LOCAL, _IFA_FLAGS = 1, 2, 8
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_MULTIPATH, _RTA_TABLE, _RTA_VIA = 1, 4, 5, 9, 15, 18
_GONE = 0x1 | 0x10  # RTNH_F_DEAD, RTNH_F_LINKDOWN
_UNICAST = 1
_TYPE_MASK = 0x3FFF

MAIN = 254
"""The number of the main routing table."""

KERNEL, BGP, ISIS = 2, 186, 187
"""The values of a route's protocol field: the kernel (a prefix on the link), BGP's daemon, IS-IS's daemon (rtnetlink.h)."""

TENTATIVE, DEPRECATED = 0x40, 0x20
"""Flags of addresses: tentative (not usable yet), and deprecated (past the preferred lifetime)."""


@dataclass(frozen=True, slots=True)
class KernelRoute:
    """A route of the main table.

    - ``protocol``: the origin of the route, such as ``BGP``.
    - ``interfaces``: the indexes of the interfaces over which the route can send now.
    - ``gateways``: the next hop on each interface, possibly of the other address family (RFC 8950); empty if there is none.
    """

    prefix: str
    protocol: int
    interfaces: tuple[int, ...]
    gateways: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counters:
    """The packets and bytes that an interface has received and sent since it was created."""

    rx_packets: int
    tx_packets: int
    rx_bytes: int
    tx_bytes: int


@dataclass(frozen=True, slots=True)
class KernelAddress:
    """An address of an interface. ``interface`` is the index of the interface; ``scope`` and ``flags`` are as in rtnetlink(7)."""

    interface: int
    address: str
    prefix_length: int
    scope: int
    flags: int


class Netlink:
    """A netlink socket in a network namespace, which queries the kernel about this namespace."""

    def __init__(self, namespace: str) -> None:
        with entered(namespace):
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_ROUTE)
        self._socket.bind((0, 0))
        self._socket.settimeout(10)
        self._sequence = 0

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def routes(self, family: int) -> list[KernelRoute]:
        """Return the unicast routes of the main table. Next hops that are down are left out. ``family`` is the socket address family."""
        routes: list[KernelRoute] = []
        for body in self._dump(_GET_ROUTE, _NEW_ROUTE, struct.pack("=BBBBBBBBI", family, *[0] * 8)):
            length, _, _, table, protocol, _, kind = struct.unpack_from("=xBBBBBBB", body)
            flags = struct.unpack_from("=I", body, 8)[0]
            values = _attributes(body, 12)
            if _RTA_TABLE in values:
                table = struct.unpack("=I", values[_RTA_TABLE])[0]
            if table != MAIN or kind != _UNICAST:
                continue
            raw = values.get(_RTA_DST, bytes(16 if family == socket.AF_INET6 else 4))
            prefix = f"{socket.inet_ntop(family, raw)}/{length}"
            if _RTA_MULTIPATH in values:
                hops = list(_hops(values[_RTA_MULTIPATH]))
            elif _RTA_OIF in values and not flags & _GONE:
                hops = [(struct.unpack("=I", values[_RTA_OIF])[0], _gateway(values))]
            else:
                hops = []
            interfaces, gateways = tuple(hop[0] for hop in hops), tuple(hop[1] for hop in hops)
            routes.append(KernelRoute(prefix, protocol, interfaces, gateways))
        return routes

    def interfaces(self) -> dict[int, tuple[str, Counters]]:
        """Return the name and counters of every interface, by interface index."""
        interfaces: dict[int, tuple[str, Counters]] = {}
        for body in self._dump(_GET_LINK, _NEW_LINK, bytes(16)):
            index = struct.unpack_from("=i", body, 4)[0]
            values = _attributes(body, 16)
            name = values[_IFLA_IFNAME].rstrip(b"\0").decode()
            interfaces[index] = name, Counters(*struct.unpack_from("=4Q", values[_IFLA_STATS64]))
        return interfaces

    def addresses(self) -> list[KernelAddress]:
        """Return all addresses in the namespace."""
        addresses: list[KernelAddress] = []
        for body in self._dump(_GET_ADDRESS, _NEW_ADDRESS, bytes(8)):
            _, length, flags, scope, index = struct.unpack_from("=BBBBI", body)
            values = _attributes(body, 8)
            raw = values.get(_IFA_LOCAL) or values[_IFA_ADDRESS]
            if _IFA_FLAGS in values:
                flags = struct.unpack("=I", values[_IFA_FLAGS])[0]
            addresses.append(KernelAddress(index, str(ipaddress.ip_address(raw)), length, scope, flags))
        return addresses

    def _dump(self, ask: int, expect: int, request: bytes) -> Iterator[bytes]:
        """Yield the message bodies of a netlink dump. If the kernel's state changed meanwhile, the dump is requested again.

        ``ask`` and ``expect`` are the message types of request and answer; ``request`` is the body of the request.
        """
        while True:
            bodies = self._dump_once(ask, expect, request)
            if bodies is not None:
                yield from bodies
                return

    def _dump_once(self, ask: int, expect: int, request: bytes) -> list[bytes] | None:
        self._sequence += 1
        header = struct.pack("=IHHII", 16 + len(request), ask, _REQUEST_DUMP, self._sequence, 0)
        self._socket.send(header + request)
        bodies: list[bytes] = []
        whole = True
        while True:
            data = self._socket.recv(1 << 18)
            at = 0
            while at + 16 <= len(data):
                length, kind, flags, sequence, _ = struct.unpack_from("=IHHII", data, at)
                body = data[at + 16 : at + length]
                at += (length + 3) & ~3
                if sequence != self._sequence:
                    continue
                whole &= not flags & _DUMP_INTERRUPTED
                if kind == _DONE:
                    return bodies if whole else None
                if kind == _ERROR:
                    raise LabError(f"the kernel refuses to list: error {-struct.unpack_from('=i', body)[0]}")
                if kind == expect:
                    bodies.append(body)


def _attributes(body: bytes, at: int) -> dict[int, bytes]:
    attributes: dict[int, bytes] = {}
    while at + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, at)
        attributes[kind & _TYPE_MASK] = body[at + 4 : at + length]
        at += max((length + 3) & ~3, 4)
    return attributes


def _gateway(values: dict[int, bytes]) -> str:
    """Return the address of a route's next hop; empty if the route has none. ``values`` has the route's attributes by type.

    An IPv4 address inside an IPv6 route (RFC 4291, section 2.5.5.2) is returned as IPv4.
    """
    if _RTA_VIA in values:  # struct rtvia: the family, 16 bits, and the address
        return str(ipaddress.ip_address(values[_RTA_VIA][2:]))
    if _RTA_GATEWAY not in values:
        return ""
    address = ipaddress.ip_address(values[_RTA_GATEWAY])
    return str((address.ipv4_mapped if address.version == 6 else None) or address)


def _hops(data: bytes) -> Iterator[tuple[int, str]]:
    at = 0
    while at + 8 <= len(data):
        length, flags, _, index = struct.unpack_from("=HBBi", data, at)
        if not flags & _GONE:
            yield index, _gateway(_attributes(data[at : at + length], 8))
        at += max((length + 3) & ~3, 8)
