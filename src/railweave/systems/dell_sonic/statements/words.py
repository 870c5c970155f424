"""Codecs of Enterprise SONiC: the words of values in its commands, and the limits of the device."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from railweave.model.config.addresses import Address, InterfaceAddress
from railweave.model.config.statements import Codec
from railweave.systems.dell_sonic.tree import quoted
from railweave.systems.dell_sonic.words import secret, unquoted
from railweave.systems.sonic.render.system import secret as printed_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_DIGITS = 12
"""Digits of the longest number that is read."""
NAME_FORM = r"[A-Za-z0-9][\w.-]*"
ADDRESS_FORM = r"[0-9a-f.:]+"


def in_range(low: int, high: int) -> str:
    """Return a pattern for the numbers of a range, each without leading zeros."""
    if high - low < 1000:
        return f"(?:{'|'.join(map(str, range(high, low - 1, -1)))})"
    shortest = low or 1
    lengths = range(len(str(shortest)), len(str(high)) + 1)
    return f"(?:{'|'.join(part for length in lengths for part in _of_length(length, low, high))})"


def _of_length(length: int, low: int, high: int) -> list[str]:
    """Return patterns of the numbers of a length within a range, by their digits."""
    first, last = max(low, 10 ** (length - 1)), min(high, 10**length - 1)
    patterns: list[str] = ["0"] if low == 0 and length == 1 else []
    while first <= last:
        zeros = 0
        while first % 10 ** (zeros + 1) == 0 and first + 10 ** (zeros + 1) - 1 <= last:
            zeros += 1
        patterns.append(str(first // 10**zeros) + (f"[0-9]{{{zeros}}}" if zeros else ""))
        first += 10**zeros
    return patterns


def number(low: int, high: int, *, unit: int = 1) -> Codec:
    """Return the codec of a whole number between two limits; the value is in units of ``unit``."""
    return Codec(in_range(low, high), partial(_number, unit=unit), partial(_times, unit=unit))


def _number(text: str, unit: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ValueError(text)
    return int(text) // unit


def _times(value: int, unit: int) -> str:
    return str(value * unit)


def choice(words: Mapping[Any, str], **also: object) -> Codec:
    """Return the codec of a value that is one of several words; ``also`` are further words that are read, with their values."""
    back: dict[str, Any] = dict(also)
    for value, word in words.items():
        back.setdefault(word, value)
    return Codec("|".join(map(re.escape, back)), back.__getitem__, words.__getitem__)


WORD = Codec(r"\S+")
HOST = Codec(r"\S+")
NAME = Codec(NAME_FORM)
TEXT = Codec(r'(?:"[^"]*"|\S+)', unquoted, quoted, word=r".+")
ADDRESS = Codec(ADDRESS_FORM, Address.read)
INTERFACE_ADDRESS = Codec(r"[0-9a-f.:]+/\d+", InterfaceAddress.read)
SECRET = Codec(r"\S+", secret, printed_secret)
NUMBER = Codec(r"-?\d+", partial(_number, unit=1))


def defines(kind: str, codec: Codec = NAME) -> Codec:
    """Return the codec of a name that the statement defines."""
    return Codec(codec.accepts, codec.read, codec.write, codec.word, defines=kind)


def refers(kind: str, codec: Codec = NAME) -> Codec:
    """Return the codec of a name that another statement defines."""
    return Codec(codec.accepts, codec.read, codec.write, codec.word, refers=kind)
