"""A Junos configuration as a trie of the words of its ``set`` lines, whatever the format in which it was read.

A statement is a path from the top of the trie to a last word. A reader marks words as understood. The
statement is understood if its last word is marked.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from railweave.model.catalog import catalog
from railweave.model.config.addresses import Address, Family, InterfaceAddress, Prefix
from railweave.systems.junos.tree import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from railweave.model.device.reading import Kind


FAMILIES: dict[str, Family] = {"inet": "ipv4", "inet6": "ipv6"}

NO_ADDRESS = Address("0.0.0.0")  # noqa: S104 - nothing is bound
"""The placeholder that ``DeviceConfig`` gets if the text lacks a required address."""

_SPEED = re.compile(r"(\d{1,4})g", re.IGNORECASE)


@lru_cache(maxsize=1 << 16)
def address(text: str) -> Address:
    """Return the address in a text. Raises ``ValueError`` if the text is not an address."""
    return Address.read(text)


@lru_cache(maxsize=1 << 16)
def prefix(text: str) -> Prefix:
    """Return the prefix in a text. An address without a prefix length becomes a host prefix. Raises ``ValueError`` for other texts."""
    return Prefix.read(text) if "/" in text else address(text).prefix


@lru_cache(maxsize=1 << 16)
def interface_address(text: str) -> InterfaceAddress:
    """Return the address with its prefix length in a text such as ``10.0.0.1/31``. A missing length becomes 32 (IPv4) or 128 (IPv6).

    Raises ``ValueError`` for other texts.
    """
    return InterfaceAddress.read(text if "/" in text else str(address(text).prefix))


@lru_cache(maxsize=1 << 16)
def network(text: InterfaceAddress) -> Prefix:
    """Return the prefix that contains an interface address."""
    return text.prefix


def gbps(text: str) -> int:
    """Return the number of Gb/s in a text such as ``400g``. Raises ``ValueError`` for other texts."""
    match = _SPEED.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return int(match[1])


def asn(text: str) -> int:
    """Return the AS number in a text such as ``4200000001`` or ``64086.59905``. Raises ``ValueError`` for other texts."""
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
    """Return the default of a numeric field for a configuration that does not set it (``reads.defaults`` of ``system.yaml``)."""
    return int(catalog().systems["junos"].reads.defaults[field].value or 0)


T = TypeVar("T")


class Word:
    """A word of a statement, with the words that may follow (``below``), and the line where the word first occurs.

    - ``file``, ``at``: the number of the file, and the line number.
    - ``inherited``: True if the word comes from an applied group. Words that the configuration itself has at the same place
      override inherited words.
    - ``origin``: the corresponding word in the group, if the word is inherited.
    - ``kind``: ``unknown`` until a reader marks the word.
    """

    __slots__ = ("at", "below", "file", "inherited", "kind", "origin", "text")

    def __init__(self, text: str, file: int = 0, at: int = 0) -> None:
        self.text = text
        self.below: dict[str, Word] = {}
        self.file = file
        self.at = at
        self.kind: Kind = "unknown"
        self.inherited = False
        self.origin: Word | None = None

    def add(self, words: Iterable[str], file: int, at: int) -> Word:
        """Add words as a path below this word, and return the last of them. ``file`` and ``at`` are the file number and the line."""
        here = self
        for text in words:
            next_one = here.below.get(text)
            if next_one is None:
                next_one = here.below[text] = Word(text, file, at)
            here = next_one
        return here

    def at_path(self, *words: str) -> Word | None:
        """Return the word at the end of a path below this word, or None if the path does not exist. The word is not marked as understood."""
        here: Word | None = self
        for text in words:
            here = here.below.get(text) if here is not None else None
        return here

    def mark(self, kind: Kind = "understood") -> Word:
        """Mark this word as understood, or with a different ``kind`` such as ``irrelevant`` (without effect)."""
        self.kind = kind
        if self.origin is not None and self.origin.kind != "understood":
            self.origin.kind = kind
        return self

    def mark_unknown(self) -> None:
        """Mark this word and all words below it as not understood."""
        self.kind = "unknown"
        if self.origin is not None:
            self.origin.kind = "unknown"
        for word in self.below.values():
            word.mark_unknown()

    def mark_all(self, kind: Kind = "understood") -> None:
        """Mark this word and all words below it as understood, or with a different ``kind``."""
        self.mark(kind)
        for word in self.below.values():
            word.mark_all(kind)

    def flag(self, *words: str) -> bool:
        """Return True if a path exists, and mark the word at its end as understood."""
        word = self.at_path(*words)
        if word is None:
            return False
        word.mark()
        return True

    def block(self, *words: str) -> Word:
        """Return the word at the end of a path, and mark it as understood. If the path does not exist, return a new word without text."""
        word = self.at_path(*words)
        return word.mark() if word is not None else Word("")

    def entries(self, *words: str) -> Iterator[Word]:
        """Yield every word that follows a path, for example the names of all groups. Each word is marked as understood when it is yielded."""
        place = self.at_path(*words)
        for word in list(place.below.values()) if place is not None else ():
            yield word.mark()

    def names(self, *words: str) -> tuple[str, ...]:
        """Return the values of the list at a path, and mark them as understood."""
        return tuple(word.text for word in self.entries(*words))

    def holds(self, *words: str) -> Word | None:
        """Return the value in effect after a path, or None if no value follows. The value is not marked as understood.

        If several values follow, the last one applies. Values of the configuration itself override those of applied groups.
        """
        word = self.at_path(*words)
        if word is None or not word.below:
            return None
        written = [value for value in word.below.values() if not value.inherited]
        return written[-1] if written else next(iter(word.below.values()))

    def value(self, *words: str) -> str | None:
        """Return the value that follows a path, and mark it as understood. Return None if no value follows."""
        return self.read(str, *words)

    def number(self, *words: str) -> int | None:
        """Return the number that follows a path, and mark it as understood. Return None if no number follows."""
        return self.read(whole, *words)

    def read(self, meaning: Callable[[str], T], *words: str) -> T | None:
        """Return the value that follows a path, converted by ``meaning``, and mark it as understood.

        Return None if no value follows, or if ``meaning`` raises ``ValueError``. In the second case, the value stays marked as
        not understood.
        """
        word = self.holds(*words)
        if word is None:
            return None
        try:
            value = meaning(word.text)
        except ValueError:
            return None
        word.mark()
        return value

    def spread(self, words: Mapping[str, int]) -> Word:
        """Separate statements that Junos prints on one line: ``queue-num 4 no-loss`` becomes ``queue-num 4`` and ``no-loss``.

        ``words`` has the words that begin these statements, each with the number of its values.
        """
        waiting = [word for word in self.below.values() if word.text in words]
        while waiting:
            first = waiting.pop()
            last = list(first.below.values()) if words[first.text] else [first]
            for word in last:
                for next_one in list(word.below.values()):
                    if next_one.text in words:
                        del word.below[next_one.text]
                        self.hang(next_one)
                        waiting.append(self.below[next_one.text])
        return self

    def hang(self, word: Word) -> None:
        """Add ``word`` directly below this word, with all words below it. If the same word exists there, the two are merged."""
        there = self.below.get(word.text)
        if there is None:
            self.below[word.text] = word
        else:
            for below in word.below.values():
                there.hang(below)


def whole(text: str) -> int:
    """Return a whole number without a sign. Raises ``ValueError`` for other text."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ValueError(text)
    return int(text)


def statements(top: Word) -> Iterator[tuple[Word, tuple[str, ...]]]:
    """Yield every statement below ``top`` as (its last word, all of its words). Words are in quotation marks if they need them."""
    stack: list[tuple[Word, tuple[str, ...]]] = [(top, ())]
    while stack:
        word, path = stack.pop()
        if not word.below:
            if path:
                yield word, path
            continue
        stack += [(next_one, (*path, quoted(text))) for text, next_one in reversed(word.below.items())]
