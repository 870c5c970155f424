"""Words of a configuration as values; None where a word is no such value."""

from __future__ import annotations

from railweave.model.config.addresses import Address, InterfaceAddress, Prefix

_LONGEST = 20


def number(word: str) -> int | None:
    """A whole number."""
    return int(word) if word.isascii() and word.isdecimal() and len(word) <= _LONGEST else None


def as_number(word: str) -> int | None:
    """An AS number, also with a dot (RFC 5396)."""
    high, dot, low = word.partition(".")
    if not dot:
        return number(word)
    one, other = number(high), number(low)
    return None if one is None or other is None else one << 16 | other


def address(word: str) -> Address | None:
    """An address."""
    try:
        return Address.read(word)
    except ValueError:
        return None


def interface_address(word: str) -> InterfaceAddress | None:
    """An address with the length of its prefix."""
    try:
        return InterfaceAddress.read(word)
    except ValueError:
        return None


def prefix(word: str) -> Prefix | None:
    """A prefix; bits beyond its length do not count, as they do not for FRR."""
    found = interface_address(word)
    return found.prefix if found else None
