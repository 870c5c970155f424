"""Conversion of GIDs to addresses. A GID with a mapped IPv4 address becomes that IPv4 address."""

from __future__ import annotations

import ipaddress
import re


def address(text: str | None) -> str:
    """Return an IP address in its usual form; empty if the text is not an address."""
    try:
        ip = ipaddress.ip_address(text or "")
    except ValueError:
        return ""
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return str(mapped or ip)


def raw_gid(prefix: str, interface: str) -> str:
    """Return the IP address of a GID that NCCL printed as two hexadecimal words.

    NCCL reads the network-order bytes as numbers of a little-endian machine.
    """
    packed = int(prefix, 16).to_bytes(8, "little") + int(interface, 16).to_bytes(8, "little")
    return address(str(ipaddress.IPv6Address(packed)))


def gid_address(text: str) -> str:
    """Return the IP address of a GID in perftest's format; empty if the text is not a GID.

    The format is 16 bytes separated by colons, in decimal or hexadecimal.
    """
    parts = text.strip().split(":")
    if len(parts) != 16 or not all(re.fullmatch(r"[0-9a-fA-F]{1,3}", part) for part in parts):
        return ""
    base = 16 if any(re.search("[a-fA-F]", part) for part in parts) else 10
    octets = [int(part, base) for part in parts]
    if max(octets) > 255:
        return ""
    return address(str(ipaddress.IPv6Address(bytes(octets))))
