"""Validators of single values in ``host.json``.

Each function returns the value, or raises ValueError with a text that completes the sentence of the error message.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import Any, Callable, Union, cast

from .entries import SYSTEM_TABLES, spelled

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Prefix = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


_address = lru_cache(maxsize=1 << 10)(ipaddress.ip_address)
"""A cached ``ip_address``, because many routes share a few gateways."""


def a_list(value: object) -> list[Any]:
    """Return the value, which must be a list. Raises ``ValueError`` for any other value."""
    if isinstance(value, list):
        return cast("list[Any]", value)
    raise ValueError("is not a list […]")


def an_object(value: object) -> dict[str, Any]:
    """Return the value, which must be a JSON object. Raises ``ValueError`` for any other value."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise ValueError("is not an object {…}")


def a_line(value: object) -> str:
    """Return the value, which must be a text without control characters. Raises ``ValueError`` for any other value."""
    if isinstance(value, str) and value.isprintable():
        return value
    raise ValueError("is not a line of text")


def a_variable_value(value: object) -> str:
    """Return the value, which must be a text that an environment variable can hold.

    Raises ``ValueError`` for any other value.
    """
    if isinstance(value, str) and "\0" not in value:
        return value
    raise ValueError("is not a text, as the value of a variable must be")


def a_number(value: object) -> int:
    """Return the value, which must be a whole number, 0 or more. Raises ``ValueError`` for any other value."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError("is not a whole number, 0 or more")


def _matching(pattern: str, expected: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII):
            return value
        raise ValueError(f"is not {expected}")

    return read


a_device = _matching(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,62}", "the name of a device")
a_mac = _matching(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", "a MAC address in lower case, such as a0:88:c2:3b:50:66")
a_table_name = _matching(r"(?!(unspec|default|main|local)$)[A-Za-z_][A-Za-z0-9_.-]*", "a name a routing table can have")
a_variable_name = _matching("[A-Za-z_][A-Za-z0-9_]*", "the name of a variable")


def a_table(value: object) -> int:
    """Return the value, which must be the number of a routing table other than the system's. Raises ``ValueError`` for any other value."""
    number = a_number(value)
    if number not in SYSTEM_TABLES and number < 2**32:
        return number
    raise ValueError("is not a table for routes of ours: 1 to 4294967295 without 253, 254 and 255, the system's")


def a_priority(value: object) -> int:
    """Return the value, which must be the priority of a rule. Raises ``ValueError`` for any other value."""
    number = a_number(value)
    if number < 2**32:
        return number
    raise ValueError("is not a priority of a rule: 0 to 4294967295")


def an_origin(value: object) -> bool:
    """Return True if an address origin is ``slaac``; the other origin is ``static``. Raises ``ValueError`` for any other value."""
    if value in {"slaac", "static"}:
        return value == "slaac"
    raise ValueError('is neither "slaac" nor "static"')


def an_address(value: object) -> Address:
    """Return a text as an IP address, which must have no zone. Raises ``ValueError`` for any other value."""
    if isinstance(value, str) and "%" not in value:
        try:
            return _address(value)
        except ValueError:
            pass
    raise ValueError("is not an IP address, such as fc00:1:1:1::1")


def _spelled(value: object, strict: bool, expected: str) -> str:
    """Return a prefix in canonical form. With ``strict``, host bits are an error. ``expected``: the description in the error."""
    if isinstance(value, str) and "%" not in value:
        try:
            return spelled(value, strict=strict)
        except ValueError:
            pass
    raise ValueError(f"is not {expected}")


def _strictly(value: object) -> str:
    return _spelled(value, True, "a prefix with its host bits 0, such as fc00:1:1:1::/64 or 192.168.1.0/24")


def a_prefix(value: object) -> Prefix:
    """Return a text as a prefix, which must have no host bits. Raises ``ValueError`` for any other value."""
    return ipaddress.ip_network(_strictly(value))


def an_end(value: object) -> str:
    """Return the value, which must be the source or destination of a rule. Raises ``ValueError`` for any other value.

    It is returned unchanged, because the kernel keeps host bits.
    """
    if _spelled(value, False, "an IP address or prefix, such as 192.168.1.1 or fc00:1:1:1::/64").endswith("/0"):
        raise ValueError(
            "is every address, so that the rule would take all traffic, the system's too:"
            " name the addresses it is for, or leave this end out where the other one says which traffic is meant"
        )
    return cast("str", value)


def a_destination(value: object) -> str:
    """Return a route's destination in canonical form. ``default`` is allowed. Raises ``ValueError`` for any other value."""
    return "default" if value == "default" else _strictly(value)
