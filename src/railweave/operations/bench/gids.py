"""GIDs as addresses: an IPv4 address that is mapped into one stands for itself."""

from __future__ import annotations

import ipaddress
import re


def address(text: str | None) -> str:
    """An address in its usual form; empty where the text is none."""
    try:
        ip = ipaddress.ip_address(text or "")
    except ValueError:
        return ""
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return str(mapped or ip)


def raw_gid(prefix: str, interface: str) -> str:
    """The GID of two words as NCCL prints them: bytes in network order, read as numbers of a little-endian machine."""
    packed = int(prefix, 16).to_bytes(8, "little") + int(interface, 16).to_bytes(8, "little")
    return address(str(ipaddress.IPv6Address(packed)))


def gid_address(text: str) -> str:
    """A GID as perftest prints it, 16 bytes with colons between, decimal (or hexadecimal); empty where it is none."""
    parts = text.strip().split(":")
    if len(parts) != 16 or not all(re.fullmatch(r"[0-9a-fA-F]{1,3}", part) for part in parts):
        return ""
    base = 16 if any(re.search("[a-fA-F]", part) for part in parts) else 10
    octets = [int(part, base) for part in parts]
    if max(octets) > 255:
        return ""
    return address(str(ipaddress.IPv6Address(bytes(octets))))
