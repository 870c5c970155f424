"""What words of Junos stand for: addresses, secrets, speeds, and what it does where nothing is said."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.config.secret import REFERENCE

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family

FAMILIES: dict[str, Family] = {"inet": "ipv4", "inet6": "ipv6"}

NO_ADDRESS = Address("0.0.0.0")  # noqa: S104 - nothing is bound
"""Stands where a configuration must have an address and the text has none."""

UNKNOWN_SECRET = "secret:?"  # noqa: S105 - stands for a secret
"""What a secret is read as where its value stands in the text, in clear, as a hash or scrambled: the value goes nowhere."""

_SPEED = re.compile(r"(\d{1,4})g", re.IGNORECASE)


@lru_cache(maxsize=1 << 16)
def address(text: str) -> Address:
    """An address. Raises ``ValueError``."""
    return Address.read(text)


@lru_cache(maxsize=1 << 16)
def prefix(text: str) -> Prefix:
    """A prefix; an address alone is the prefix that holds it alone. Raises ``ValueError``."""
    return Prefix.read(text) if "/" in text else address(text).prefix


@lru_cache(maxsize=1 << 16)
def interface_address(text: str) -> InterfaceAddress:
    """An address with a length; without one it stands alone in its prefix. Raises ``ValueError``."""
    return InterfaceAddress.read(text if "/" in text else str(address(text).prefix))


@lru_cache(maxsize=1 << 16)
def network(text: InterfaceAddress) -> Prefix:
    """The prefix that an interface's address is in."""
    return text.prefix


def secret(text: str) -> str:
    """The reference that stands for a secret; ``secret:?`` for one whose value was put in."""
    found = REFERENCE.fullmatch(text)
    return f"secret:{found[1]}" if found else UNKNOWN_SECRET


def gbps(text: str) -> int:
    """A speed, ``400g``. Raises ``ValueError`` for one below a gigabit, and for other words."""
    found = _SPEED.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return int(found[1])


def asn(text: str) -> int:
    """An AS number, ``4200000001`` or ``64086.59905``. Raises ``ValueError``."""
    high, dot, low = text.partition(".")
    if not dot:
        high, low = "0", text
    if not (high.isascii() and high.isdigit() and low.isascii() and low.isdigit()) or len(text) > 11:
        raise ValueError(text)
    number = (int(high) << 16) + int(low)
    if number >= 1 << 32:
        raise ValueError(text)
    return number


def unprinted(field: str) -> int:
    """The number that a field has where the text does not say it (``reads.defaults`` of ``system.yaml``)."""
    return int(catalog().systems["junos"].reads.defaults[field].value or 0)
