"""Codecs of Enterprise SONiC: the words of values in its commands, and the limits of the device."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.config.statements import Codec
from railweave.systems.dell_sonic import words
from railweave.systems.dell_sonic.tree import quoted
from railweave.systems.sonic.render.system import secret as printed_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

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
    return Codec(in_range(low, high), partial(_number, unit=unit), partial(_times, unit=unit), says=f"{low}-{high}")


def _needed(text: str, read: Callable[[str], T | None]) -> T:
    """Read a word. Raises ``ValueError`` if it is no value."""
    value = read(text)
    if value is None:
        raise ValueError(text)
    return value


def _number(text: str, unit: int) -> int:
    count, rest = divmod(_needed(text, words.number), unit)
    if rest:
        raise ValueError(text)  # a part of a unit, which the value cannot say
    return count


def _times(value: int, unit: int) -> str:
    return str(value * unit)


def choice(spelled: Mapping[Any, str], **also: object) -> Codec:
    """Return the codec of a value that is one of several words, as they are ``spelled``; ``also`` are further words that are read, with their values."""
    back: dict[str, Any] = dict(also)
    for value, word in spelled.items():
        back.setdefault(word, value)
    form = "|".join(map(re.escape, back))
    return Codec(form, back.__getitem__, spelled.__getitem__, word=form, says="|".join(dict.fromkeys(back)))


WORD = Codec(r"\S+", says="word")
HOST = Codec(r"\S+", says="text")
NAME = Codec(NAME_FORM, says="name")
TEXT = Codec(r'(?:"[^"]*"|\S+)', words.unquoted, quoted, word=r".+", says="text")
ADDRESS = Codec(ADDRESS_FORM, Address.read, says="address")
INTERFACE_ADDRESS = Codec(r"[0-9a-f.:]+/\d+", InterfaceAddress.read, says="prefix")
SECRET = Codec(r"\S+", words.secret, printed_secret, says="secret")
NUMBER = Codec(r"-?\d+", partial(_number, unit=1), says="number")


def _asn(text: str) -> int:
    """Read an AS number in either notation (RFC 5396); 0 is any but the own one."""
    if text in {"external", "internal"}:
        return 0
    high, dot, low = text.partition(".")
    return _number(high, 1) << 16 | _number(low, 1) if dot else _number(high, 1)


PORT_NAME = Codec(r"Eth\d+/\d+(?:/\d+)?", partial(_needed, read=words.interface), word=r"\S.*", says="port")
ASN = Codec(r"-?\d+", _asn, says="number")
PREFIX = Codec(r"[0-9a-f.:]+/\d+", Prefix.read, says="prefix")
TARGET = Codec(r"\d+:\d+", says="target")
DISTINGUISHER = Codec(r"[\d.]+:\d+", says="rd")


def defines(kind: str, codec: Codec = NAME) -> Codec:
    """Return the codec of a name that the statement defines."""
    return Codec(codec.accepts, codec.read, codec.write, codec.word, defines=kind, says="name")


def refers(kind: str, codec: Codec = NAME) -> Codec:
    """Return the codec of a name that another statement defines."""
    return Codec(codec.accepts, codec.read, codec.write, codec.word, refers=kind, says="name")
