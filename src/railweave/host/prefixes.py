"""Prefixes in their one spelling, quickly: a server may have 50,000 routes, and ``ipaddress`` takes 60 us for each."""

from __future__ import annotations

import ipaddress
import socket


def spelled(text: str, *, strict: bool = False) -> str:
    """A prefix as ``str(ipaddress.ip_network(text, strict))`` has it: host bits cleared; a lone address is a whole prefix.

    Raises ValueError where it is none, and where it is ``strict`` and a host bit is set.
    """
    address, slash, length = text.partition("/")
    family, bits = (socket.AF_INET6, 128) if ":" in address else (socket.AF_INET, 32)
    if slash and not (length.isascii() and length.isdecimal() and int(length) <= bits):
        return str(ipaddress.ip_network(text, strict))  # a netmask, or an error to be told
    host_bits = bits - int(length) if slash else 0
    try:
        value = int.from_bytes(socket.inet_pton(family, address), "big")
    except (OSError, ValueError):
        return str(ipaddress.ip_network(text, strict))
    cleared = value >> host_bits << host_bits
    shown = socket.inet_ntop(family, cleared.to_bytes(bits // 8, "big"))
    if (strict and cleared != value) or (bits == 128 and "." in shown):  # inet_ntop ends some in IPv4
        return str(ipaddress.ip_network(text, strict))
    return f"{shown}/{bits - host_bits}"
