"""Safe reading of device answers: values of any type are converted to the expected type without raising exceptions.

A device may answer with anything: the format of a different release, an error in place of a table, truncated text,
garbage. A value that does not have the expected type becomes a ``Note`` with the question and the place, and then
counts as absent. XML is converted to the same tree as Junos' own JSON (each element is a list, and text is under
``data``). So the same code reads both formats.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NoReturn, cast

from railweave.model.state.device_state import Note
from railweave.reading import CONTROL, XML_GOES_ON, XmlError, parse_json, xml_message, xml_parser

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


MOST_DEPTH = 100


def parse_xml(text: str) -> dict[str, Any]:
    """Return the first XML document of a text as nested dicts and lists. Text after this document is ignored, for example a prompt.

    Raises ``ValueError`` if the document is malformed, is nested more than ``MOST_DEPTH`` levels deep, or has a DOCTYPE declaration.
    """
    root: dict[str, Any] = {}
    inside: list[dict[str, Any]] = [root]
    texts: list[list[str]] = [[]]

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if len(inside) > MOST_DEPTH:
            raise ValueError(f"the answer is nested more than {MOST_DEPTH} deep")
        element: dict[str, Any] = {}
        if attributes:
            element["attributes"] = attributes
        inside[-1].setdefault(tag.rpartition(":")[2], []).append(element)
        inside.append(element)
        texts.append([])

    def end(_: str) -> None:
        element, text = inside.pop(), "".join(texts.pop()).strip()
        if text and not element.keys() - {"attributes"}:
            element["data"] = text

    def add_text(text: str) -> None:
        texts[-1].append(text)

    def refuse(*_: object) -> NoReturn:
        raise ValueError("the answer has a document type declaration, which devices never send")

    parser = xml_parser(refuse)
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = add_text
    try:
        parser.Parse(text, True)
    except XmlError as error:
        if error.code != XML_GOES_ON or len(inside) > 1:
            raise ValueError(f"line {error.lineno}: {xml_message(error)}") from None
    return root


MOST_NOTES = 200
"""The largest number of notes per device, because an answer in an unexpected format gives a note for every port."""
_MOST = 1 << 64
_LONGEST = 400
"""The greatest length of a note's text and of its place, in characters."""
_INTEGER = re.compile(r"[+-]?\d{1,20}")
_NUMBER = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?")
_FLAGS = {"true": True, "yes": True, "up": True, "on": True, "enabled": True} | {
    "false": False,
    "no": False,
    "down": False,
    "off": False,
    "disabled": False,
}


class Answers:
    """The answers of a device by question, and notes on whatever could not be read in them."""

    def __init__(self, device: str, texts: Mapping[str, str]) -> None:
        self.device = device
        self.texts = texts
        self._notes: dict[Note, None] = {}
        self._trees: dict[str, Value | None] = {}

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes on what could not be read, in the order in which they were made and without duplicates."""
        return tuple(self._notes)

    def note(self, question: str, place: str, reason: str) -> None:
        """Record that a place in the answer to a question could not be read, and the reason. Notes beyond ``MOST_NOTES`` are not listed.

        ``question`` is the question's name, and ``place`` the keys that lead to the place, joined by dots.
        """
        if len(self._notes) < MOST_NOTES:
            self._notes[Note(self.device, question, printable(place), printable(reason))] = None
        elif len(self._notes) == MOST_NOTES:
            self._notes[
                Note(self.device, "", "", f"more than {MOST_NOTES} places could not be read; the others are not listed")
            ] = None

    def text(self, question: str) -> str | None:
        """Return the unmodified answer to the question with this name, or None if there is none."""
        return self.texts.get(question)

    def tree(self, question: str) -> Value | None:
        """Return the answer in JSON or XML to the question with this name, as a ``Value``.

        Return None if there is no answer, or if it cannot be parsed. In the latter case, also add a note.
        """
        if question not in self._trees:
            self._trees[question] = self._parsed(question)
        return self._trees[question]

    def _parsed(self, question: str) -> Value | None:
        text = self.texts.get(question)
        if text is None:
            return None
        begun = text.lstrip("\ufeff \t\r\n")
        try:
            if begun.startswith("<"):
                return Value(self, question, parse_xml(begun))
            if begun:
                return Value(self, question, parse_json(begun))
            self.note(question, "", "the answer is empty")
        except ValueError as error:
            self.note(question, "", f"it is neither JSON nor XML: {error}; it begins with {begun[:60]!r}")
        return None


class Value:
    """A value in an answer: text, a number, a map or a list, with its place in the answer.

    If the answer does not contain the value, it is still a ``Value``, with no content.
    """

    __slots__ = ("_above", "_answers", "_key", "_question", "raw")

    def __init__(self, answers: Answers, question: str, raw: object, above: Value | None = None, key: str = "") -> None:
        self._answers = answers
        self._question = question
        self._above = above
        self._key = key
        self.raw = raw

    @property
    def place(self) -> str:
        """The keys on the path to this value, joined by dots."""
        keys: list[str] = []
        here: Value | None = self
        while here is not None:
            keys.append(here._key)  # noqa: SLF001 - its own kind
            here = here._above  # noqa: SLF001
        return ".".join(key for key in reversed(keys) if key)

    @property
    def there(self) -> bool:
        """True if the device gave this value."""
        return self.raw is not None

    def note(self, reason: str) -> None:
        """Add a note that this value could not be read, with the ``reason``."""
        self._answers.note(self._question, self.place, reason)

    def _below(self, key: str, raw: object) -> Value:
        return Value(self._answers, self._question, raw, self, key)

    def made(self, raw: object) -> Value:
        """Return a ``Value`` with the content ``raw`` at the place of this value, for example for a key on the path to this value."""
        return Value(self._answers, self._question, raw, self._above, self._key)

    def _map(self) -> dict[str, Any]:
        """Return the value as a map, or an empty map if it is absent. Any other value gives an empty map and a note.

        If the value is a list, as everywhere in Junos' JSON, return its first entry as a map.
        """
        raw = self._alone()
        if isinstance(raw, dict):
            return cast("dict[str, Any]", raw)
        if raw is not None:
            self.note(f"expected a table, found {_shown(raw)}")
        return {}

    def _alone(self) -> object:
        """Return the value. If it is a list, return its first entry, or None if the list is empty."""
        raw: object = self.raw
        if isinstance(raw, list):
            several = cast("list[object]", raw)
            return several[0] if several else None
        return raw

    def get(self, *keys: str) -> Value:
        """Return the value under a path of keys, or an absent ``Value``."""
        value = self
        for key in keys:
            value = value._below(key, value._map().get(key))
        return value

    @property
    def keys(self) -> frozenset[str]:
        """The keys of this value if it is a map. Any other value gives an empty set, without a note."""
        raw: object = self.raw
        return frozenset(map(str, cast("dict[Any, Any]", raw))) if isinstance(raw, dict) else frozenset()

    def first(self, *keys: str) -> Value:
        """Return the value under the first of ``keys`` that this value contains. If it contains none, return an absent ``Value``."""
        for key in keys:
            value = self.get(key)
            if value.there:
                return value
        return self.get(keys[-1])

    def all(self, key: str) -> list[Value]:
        """Return the values in the list under a key. A value that is not a list counts as a list of one."""
        return self.get(key).each()

    def each(self) -> list[Value]:
        """Return the entries of this value if it is a list, or the value itself as the only entry."""
        raw: object = self.raw
        if raw is None:
            return []
        if isinstance(raw, list):
            return [self._below(str(number), element) for number, element in enumerate(cast("list[Any]", raw))]
        return [self]

    def entries(self) -> list[tuple[str, Value]]:
        """Return (key, value) for every key of this map. The list is empty if this value is absent."""
        return [(str(key), self._below(str(key), value)) for key, value in self._map().items()]

    def find(self, tag: str) -> list[Value]:
        """Return every value under the key ``tag``, at any depth. In an answer, the depth of a key varies by release.

        The search does not continue inside a value that was found.
        """
        return list(self._find(tag))

    def _find(self, tag: str) -> Iterator[Value]:
        below: list[Value] = [self]
        while below:
            here = below.pop()
            if isinstance(here.raw, list):
                below += reversed(here.each())
            elif isinstance(here.raw, dict):
                entries = cast("dict[str, Any]", here.raw)
                if tag in entries:
                    yield from here.get(tag).each()
                below += [here._below(key, value) for key, value in reversed(entries.items()) if key != tag]  # noqa: SLF001 - of the same class

    def text(self) -> str | None:
        """Return the value as text without surrounding blanks, or None if it is absent, empty or not text."""
        raw = _leaf(self.raw)
        if raw is None or isinstance(raw, str | int | float):
            return None if raw is None else printable(str(raw)).strip() or None
        self.note(f"expected a text, found {_shown(raw)}")
        return None

    def lower(self) -> str | None:
        """Return the value as lower-case text, or None if it is absent or not text."""
        text = self.text()
        return None if text is None else text.lower()

    def mac(self) -> str | None:
        """Return the value as a colon-separated MAC address in lower case. Return None for words such as ``none``."""
        text = self.lower()
        if text is None or text in {"none", "incomplete", "unknown"}:
            return None
        digits = re.sub(r"[:.-]", "", text)
        if len(digits) == 12 and all(digit in "0123456789abcdef" for digit in digits):
            return ":".join(digits[at : at + 2] for at in range(0, 12, 2))
        self.note(f"expected a MAC address, found {text[:60]!r}")
        return None

    def integer(self) -> int | None:
        """Return the value as a whole number, even if the device wrote it as text.

        Return None if the value is missing. If the value is not a whole number, return None and add a note.
        """
        raw = _leaf(self.raw)
        if isinstance(raw, str):
            raw = raw.strip().replace(",", "")
            raw = int(raw) if _INTEGER.fullmatch(raw) else raw or None
        elif isinstance(raw, float) and raw.is_integer():
            raw = int(raw)
        if raw is None or (isinstance(raw, int) and not isinstance(raw, bool) and abs(raw) < _MOST):
            return raw
        self.note(f"expected a whole number, found {_shown(raw)}")
        return None

    def number(self) -> float | None:
        """Return the value as a finite number, even if the device wrote it as text.

        Return None if the value is missing. If the value is not a number, return None and add a note.
        """
        raw = _leaf(self.raw)
        if isinstance(raw, str):
            raw = raw.strip()
            raw = float(raw) if _NUMBER.fullmatch(raw) else raw or None
        if raw is None:
            return None
        if isinstance(raw, int | float) and not isinstance(raw, bool) and abs(raw) < _MOST and math.isfinite(raw):
            return float(raw)
        self.note(f"expected a number, found {_shown(raw)}")
        return None

    def flag(self) -> bool | None:
        """Return the value as True or False, from any of the words that devices use for yes and no.

        Return None if the value is missing. If the value is no such word, return None and add a note.
        """
        raw = _leaf(self.raw)
        if raw is None or isinstance(raw, bool):
            return raw
        if isinstance(raw, str) and raw.strip().lower() in _FLAGS:
            return _FLAGS[raw.strip().lower()]
        self.note(f"expected yes or no, found {_shown(raw)}")
        return None

    def attribute(self, name: str) -> Value:
        """Return an XML attribute, or its equivalent in Junos' JSON, by its name without the namespace."""
        raw = self._alone()
        value: object = None
        if isinstance(raw, dict):
            attributes: object = cast("dict[str, Any]", raw).get("attributes")
            if isinstance(attributes, dict):
                named = {
                    str(key).rpartition(":")[2]: raw_value
                    for key, raw_value in cast("dict[Any, Any]", attributes).items()
                }
                value = named.get(name)
        return self._below(f"@{name}", value)


def _leaf(raw: object) -> object:
    """Return ``raw``, parsed JSON or XML, without the list around a single entry, and without Junos' key ``data`` around text."""
    content: object = raw
    for _ in range(2):
        if isinstance(content, list):
            several = cast("list[object]", content)
            if len(several) > 1:
                return several
            content = several[0] if several else None
        if isinstance(content, dict):
            entries = cast("dict[str, object]", content)
            if "data" not in entries:
                return entries if set(entries) - {"attributes"} else None
            content = entries["data"]
    return content


def _shown(raw: object) -> str:
    return "a table" if isinstance(raw, dict) else "a list" if isinstance(raw, list) else repr(raw)[:60]


def printable(text: str) -> str:
    """Return the text on one line without control characters, shortened to ``_LONGEST`` characters, so that it is safe on a terminal."""
    return CONTROL.sub("?", text[:_LONGEST]).replace("\n", " ").replace("\r", " ")
