"""Ranges in command lines and names: lists of numbers such as ``10,20-29``, the order of ports, prefix lengths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS, Prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


Lengths = tuple[int, int]
"""The shortest and the longest that a prefix may be."""


def lengths(prefix: Prefix, words: Sequence[str]) -> Lengths | None:
    """Return the lengths that an entry takes with the words after its prefix; None for unknown words.

    Without words, the entry takes only the length of its prefix.
    """
    given = dict(zip(words[::2], words[1::2], strict=False))
    numbers = {word: int(text) for word, text in given.items() if text.isascii() and text.isdigit() and len(text) < 4}
    if len(words) != 2 * len(numbers) or not numbers.keys() <= {"ge", "le", "eq"}:
        return None
    if "eq" in numbers:
        return (numbers["eq"], numbers["eq"]) if len(numbers) == 1 else None
    low = numbers.get("ge", prefix.length)
    return low, numbers.get("le", BITS[prefix.family] if "ge" in numbers else low)


def of_list(entries: Iterable[tuple[Prefix, Lengths, bool]]) -> tuple[bool, Lengths | None] | None:
    """Return whether a list takes longer prefixes than its own, and the lengths; None if its entries differ in that.

    The last value of each entry says whether words follow its prefix. A single address without such words agrees with whatever the
    other entries take.
    """
    known = list(entries)
    told = {
        _shape(prefix, each, has_words=has_words)
        for prefix, each, has_words in known
        if has_words or prefix.length < BITS[prefix.family]
    }
    if len(told) > 1:
        return None
    if not told or told == {_EXACT}:
        return False, None
    low, high = told.pop()
    return True, None if (low, high) == (0, 0) else (low, high or max(BITS[prefix.family] for prefix, *_ in known))


_EXACT = (-1, -1)


def _shape(prefix: Prefix, each: Lengths, *, has_words: bool) -> Lengths:
    """The same for prefixes of every length that mean the same: 0 stands for its own length, and for the longest there is."""
    low, high = each
    if each == (prefix.length, prefix.length) and not (has_words and prefix.length == BITS[prefix.family]):
        return _EXACT
    return 0 if low <= prefix.length else low, 0 if high == BITS[prefix.family] else high


def ranges(numbers: Iterable[int]) -> str:
    """The numbers in order, neighbors joined: ``10,20-29``."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1][-1] == number - 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ",".join("-".join(map(str, span)) for span in spans)


def numbers(name: str) -> tuple[int, ...]:
    """Return the numbers in a port's name, by which ports are in order: Eth1/2 before Eth1/16, and channels in order."""
    return tuple(map(int, re.findall(r"[0-9]+", name)))
