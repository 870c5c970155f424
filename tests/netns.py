"""A GPU server without a GPU server: a network namespace with NICs, whose cables end in a second one, the leaf side.

    with server(["gpu0_eth", "gpu1_eth"]) as host:
        host.advertise("gpu0_eth", ["fc00:1:1:1::/64"])  # the kernel makes an address of it
        host.run("ip", "-6", "route", "add", ...)
        host.ip("-6", "addr", "show")  # the parsed output of `ip -j`
        host.leaf.run("ping", ...)

Needs root. All traffic stays inside the two namespaces, which go away with the context, whatever happened in it.
"""

from __future__ import annotations

import ctypes
import ipaddress
import itertools
import json
import os
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root (sudo make test)")

_count = itertools.count(1)
_CLONE_NEWNET = 0x40000000


@dataclass(frozen=True)
class Namespace:
    """One network namespace."""

    name: str

    def argv(self, *argv: str | os.PathLike[str]) -> list[str]:
        """The words that run a command in it; for ``subprocess.Popen``, whose PID is then the command's own."""
        return ["ip", "netns", "exec", self.name, *map(str, argv)]

    def run(
        self,
        *argv: str | os.PathLike[str],
        check: bool = True,
        input: str | None = None,  # noqa: A002 - as subprocess.run has it
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in it. ``env`` is added to the command's environment. Raises AssertionError on a bad end."""
        inside = ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
        words = self.argv(*inside, *argv)
        done = subprocess.run(words, check=False, input=input, timeout=timeout, capture_output=True, text=True)
        assert not check or done.returncode == 0, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def ip(self, *args: str) -> list[dict[str, Any]]:
        """What ``ip -j ARGS`` says."""
        return json.loads(self.run("ip", "-j", *args).stdout or "[]")

    def sysctl(self, key: str, value: int) -> None:
        """Set a variable, named with slashes: ``net/ipv6/conf/all/accept_ra``."""
        self.run("tee", f"/proc/sys/{key}", input=str(value))


@dataclass(frozen=True)
class Server(Namespace):
    """The server's namespace; ``leaf`` is the other end of its cables, where interfaces have the same names."""

    leaf: Namespace

    def cable(self, nic: str, state: str) -> None:
        """Take the carrier from a NIC (``down``), or give it back (``up``), and wait until the kernel has seen it."""
        self.leaf.run("ip", "link", "set", nic, state)
        until(
            lambda: (self.ip("link", "show", "dev", nic)[0]["operstate"] == "UP") is (state == "up"),
            f"{nic} is {state}",
        )

    def advertise(
        self,
        nic: str,
        prefixes: Iterable[str],
        *,
        valid_s: int = 2592000,
        preferred_s: int = 604800,
        router_lifetime_s: int = 1800,
        mtu: int | None = None,
        settle: bool = True,
    ) -> None:
        """Send one router advertisement to a NIC from the leaf (RFC 4861, sections 4.2 and 4.6), on-link and autonomous.

        The lifetimes are the source's. ``settle``: return when the NIC has a usable address in each prefix.
        """
        prefixes = list(prefixes)
        # type 134, code 0, checksum (the kernel's), hop limit 64, no flags, router lifetime, no timers
        message = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, router_lifetime_s, 0, 0)
        if mtu is not None:
            message += struct.pack("!BBHI", 5, 1, 0, mtu)
        for prefix in map(ipaddress.IPv6Network, prefixes):
            flags = 0xC0  # L and A
            message += struct.pack("!BBBBIII", 3, 4, prefix.prefixlen, flags, valid_s, preferred_s, 0)
            message += prefix.network_address.packed
        with _entered(self.leaf):
            index = socket.if_nametoindex(nic)
            packets = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        with packets:
            # Neighbor discovery takes nothing that could have been forwarded, nor a source that is not link-local.
            packets.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
            packets.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            packets.sendto(message, ("ff02::1", 0, 0, index))
        if settle:
            for prefix in prefixes:
                until(lambda to=prefix: usable(self, nic, "to", to), f"{nic} has an address in {prefix}")


def usable(namespace: Namespace, nic: str, *which: str) -> bool:
    """Whether a NIC has an IPv6 address that is not tentative, and that ``ip addr show`` selects by these words."""
    shown = namespace.ip("-6", "addr", "show", "dev", nic, "-tentative", *which)
    return any(one.get("addr_info") for one in shown)


def until(true: Callable[[], object], what: str, timeout_s: float = 10) -> None:
    """Wait for something to become true; a failure names it. To look takes a fifth of the time at most: many looks start programs."""
    began = time.monotonic()
    end = began + timeout_s
    while not true():
        now = time.monotonic()
        assert now < end, f"not in {timeout_s} s: {what}"
        time.sleep(min(max(0.01, 4 * (now - began)), 0.5))
        began = time.monotonic()


@contextmanager
def _entered(namespace: Namespace) -> Iterator[None]:
    """Be in another namespace for a moment; a socket made there stays there. (os.setns is there from Python 3.12.)"""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(file: int) -> None:
        if libc.setns(file, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")

    with Path("/proc/self/ns/net").open() as here, Path("/run/netns", namespace.name).open() as there:
        enter(there.fileno())
        try:
            yield
        finally:
            enter(here.fileno())


@contextmanager
def server(
    nics: Iterable[str], *, macs: Mapping[str, str] | None = None, mtu: int = 1500, dad: bool = False
) -> Iterator[Server]:
    """A server with these NICs up, each cabled to an interface of the same name on the leaf side.

    ``dad``: with duplicate address detection; without it an address is usable at once.
    """
    nics = list(nics)
    stem = f"rw{os.getpid()}-{next(_count)}"
    leaf = Namespace(f"{stem}-leaf")
    host = Server(f"{stem}-host", leaf)
    try:
        for one in (host, leaf):
            subprocess.run(["ip", "netns", "add", one.name], check=True)
            one.run("ip", "link", "set", "lo", "up")
            for scope in ("all", "default"):
                one.sysctl(f"net/ipv6/conf/{scope}/accept_dad", int(dad and one is host))
        for nic in nics:
            mac = ["address", macs[nic]] if macs and nic in macs else []
            link = ["link", "add", "name", nic, "mtu", str(mtu), *mac, "netns", host.name]
            peer = ["type", "veth", "peer", "name", nic, "mtu", str(mtu), "netns", leaf.name]
            subprocess.run(["ip", *link, *peer], check=True)
            for one in (leaf, host):
                one.run("ip", "link", "set", nic, "up")
        for nic in nics:  # the kernel sees a carrier, and makes a link-local address then, in its own time
            for one in (leaf, host):
                until(lambda one=one, nic=nic: usable(one, nic, "scope", "link"), f"{nic} has a link-local address")
        yield host
    finally:
        # One that is not there: the failure is the one under way, so nothing more is said.
        for one in (host, leaf):
            subprocess.run(["ip", "netns", "del", one.name], check=False, stderr=subprocess.DEVNULL)
