"""Prefixes are spelled as ``ipaddress`` spells them, and what it refuses is refused, in the same words."""

from __future__ import annotations

import ipaddress
from random import Random

import pytest

from railweave.host.entries import spelled

ODD = (
    "", "/", "1.2.3.4/", "1.2.3.4/33", "1.2.3.4/255.255.0.0", "1.2.3.4/024", "010.1.1.1", "1.2.3", "0.0.0.0/0", "::/0", "::", "::/+3",
    "::/ 3", " ::/3", "a::b/129", "::ffff:1.2.3.4/120", "::1.2.3.4", "fe80::1%eth0/64", "1:2:3:4:5:6:7::/120", "1:0:0:4:0:0:7:8",
    "\x001::", "1.2.3.4/\u0663",
)  # fmt: skip


def by_ipaddress(text: str, strict: bool) -> str:
    try:
        return str(ipaddress.ip_network(text, strict))
    except ValueError as error:
        return f"refused: {error}"


def by_us(text: str, strict: bool) -> str:
    try:
        return spelled(text, strict=strict)
    except ValueError as error:
        return f"refused: {error}"


def drawn(chance: Random) -> str:
    """An address with many zeros in it, or few, with a length or without; some are of no prefix."""
    if chance.random() < 0.3:
        return f"{ipaddress.IPv4Address(chance.getrandbits(32))}/{chance.randrange(35)}"
    number = chance.getrandbits(128)
    for _ in range(chance.randrange(4)):
        number &= chance.getrandbits(128) >> chance.choice([0, 0, 64])
    return f"{ipaddress.IPv6Address(number)}{chance.choice(['', f'/{chance.randrange(131)}'])}"


@pytest.mark.parametrize("strict", [False, True])
def test_as_ipaddress_spells_them(strict: bool) -> None:
    chance = Random(5)  # noqa: S311 - a draw that can be repeated
    for text in (*ODD, *(drawn(chance) for _ in range(2000))):
        assert by_us(text, strict) == by_ipaddress(text, strict), text
