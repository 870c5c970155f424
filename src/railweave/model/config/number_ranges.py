"""Ranges in command lines and names: number lists such as ``10,20-29``, the sort order of ports, and prefix lengths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS, Prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


Lengths = tuple[int, int]
"""The minimum and maximum prefix length in bits."""


def lengths(prefix: Prefix, words: Sequence[str]) -> Lengths | None:
    """Return the minimum and maximum prefix length that a prefix-list entry matches, or None if a word is unknown.

    ``words`` are the words after the prefix: ``ge``, ``le`` or ``eq``, each with its number. Without them, the entry
    matches only the length of its prefix.
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
    """Return the rule by which all entries of a prefix list match, or None if the entries follow different rules.

    A rule is (False, None) if the entries match only the prefixes themselves. Otherwise it is (True, minimum and maximum length of the
    matched prefixes); None in place of these two numbers means any length. Each of ``entries`` is (prefix, minimum and maximum length,
    True if words such as ``ge`` follow the prefix). A host prefix without such words fits any rule.
    """
    known = list(entries)
    shapes = {
        _shape(prefix, each, has_words=has_words)
        for prefix, each, has_words in known
        if has_words or prefix.length < BITS[prefix.family]
    }
    if len(shapes) > 1:
        return None
    if not shapes or shapes == {_EXACT}:
        return False, None
    low, high = shapes.pop()
    return True, None if (low, high) == (0, 0) else (low, high or max(BITS[prefix.family] for prefix, *_ in known))


_EXACT = (-1, -1)


def _shape(prefix: Prefix, each: Lengths, *, has_words: bool) -> Lengths:
    """Return the prefix lengths (minimum, maximum) that a prefix-list entry matches, written so that equivalent entries get equal results.

    ``each`` holds the minimum and the maximum length of the entry. ``has_words`` is True if the entry has ``ge``, ``le`` or ``eq``.
    In the result, a minimum of 0 means the prefix's own length, and a maximum of 0 means 32 bits (IPv4) or 128 (IPv6).
    ``_EXACT`` means that only the prefix itself matches.
    """
    low, high = each
    if each == (prefix.length, prefix.length) and not (has_words and prefix.length == BITS[prefix.family]):
        return _EXACT
    return 0 if low <= prefix.length else low, 0 if high == BITS[prefix.family] else high


def ranges(numbers: Iterable[int]) -> str:
    """Return the numbers in ascending order as a text such as ``10,20-29``, with consecutive numbers joined."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1][-1] == number - 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ",".join("-".join(map(str, span)) for span in spans)


def numbers(name: str) -> tuple[int, ...]:
    """Return the numbers in a port's name, for use as a sort key: (1, 2) for Eth1/2, so that it comes before Eth1/16."""
    return tuple(map(int, re.findall(r"[0-9]+", name)))


_NUMBER = re.compile(r"(\d+)")


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that orders the numbers in names by value, so that leaf2 precedes leaf10."""
    return tuple(
        (0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part)
        for part in _NUMBER.split(text)
        if part
    )
