"""Codecs that several systems use, for numbers with limits, keywords and names.

A codec reads one value from configuration text and writes the value as text.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from railweave.errors import RenderError
from railweave.model.config.statements import Codec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

NAME_FORM = r"[A-Za-z0-9][\w.-]*"
MOST_DIGITS = 12


def in_range(low: int, high: int) -> str:
    """Return a regular expression that matches the numbers from ``low`` to ``high``, without leading zeros."""
    if high - low < 1000:
        return f"(?:{'|'.join(map(str, range(high, low - 1, -1)))})"
    shortest = low or 1
    lengths = range(len(str(shortest)), len(str(high)) + 1)
    return f"(?:{'|'.join(part for length in lengths for part in _of_length(length, low, high))})"


def _of_length(length: int, low: int, high: int) -> list[str]:
    """Return regular expressions that together match the numbers from ``low`` to ``high`` that have ``length`` digits."""
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
    """Return the codec of a whole number that is ``low`` to ``high`` in the text. The value is the number in the text divided by ``unit``."""
    return Codec(in_range(low, high), partial(whole, unit=unit), partial(_times, unit=unit), shown_as=f"{low}-{high}")


def needed(text: str, read: Callable[[str], T | None]) -> T:
    """Return the result of ``read(text)``. Raises ``ValueError`` if the result is None."""
    value = read(text)
    if value is None:
        raise ValueError(text)
    return value


def whole(text: str, unit: int = 1) -> int:
    """Return a decimal number divided by ``unit``. Raises ``ValueError`` if the text is not a number or not a multiple of ``unit``."""
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ValueError(text)
    count, rest = divmod(int(text), unit)
    if rest:
        raise ValueError(text)  # a part of a unit, which the value cannot say
    return count


def _times(value: int, unit: int) -> str:
    return str(value * unit)


def choice(spelled: Mapping[Any, str], **also: object) -> Codec:
    """Return the codec of a value that is written as a keyword.

    ``spelled`` has the keyword of each value. ``also`` has the values of further keywords, which are read but never written.
    """
    back: dict[str, Any] = dict(also)
    for value, word in spelled.items():
        back.setdefault(word, value)
    form = "|".join(map(re.escape, back))

    def write(value: object) -> str:
        if value not in spelled:
            raise RenderError(f"there is no word for {value}")
        return spelled[value]

    return Codec(form, back.__getitem__, write, word=form, shown_as="|".join(dict.fromkeys(back)))


NAME = Codec(NAME_FORM, shown_as="name")
NUMBER = Codec(r"-?\d+", whole, shown_as="number")


def defines(kind: str, codec: Codec = NAME) -> Codec:
    """Return a codec for a name that the statement defines. ``kind`` is the kind of the named object, such as a policy."""
    return Codec(codec.accepts, codec.read, codec.write, codec.word, defines=kind, shown_as="name")


def refers(kind: str, codec: Codec = NAME) -> Codec:
    """Return a codec for a name that a different statement must define.

    ``kind`` is the kind of the named object, such as a policy.
    """
    return Codec(codec.accepts, codec.read, codec.write, codec.word, refers=kind, shown_as="name")
