"""The JSON form of a configuration: ``| display json``."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.systems.junos.parse import DEEPEST
from railweave.systems.junos.read.names import follows, keys, printed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.systems.junos.read.forms import Path

_TOKEN = re.compile(r'\n|"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


class Text(str):
    """A value with its line."""

    __slots__ = ("at",)
    at: int


class Fields(dict[str, object]):
    """A mapping."""


class Values(list[object]):
    """A list."""


class _Reader:
    """A document of which ``json`` has found that it is one, with the line of every value."""

    def __init__(self, text: str) -> None:
        self.tokens = self._tokens(text)
        self.line = 1

    def _tokens(self, text: str) -> Iterator[str]:
        for sign in _TOKEN.findall(text):
            if sign == "\n":
                self.line += 1
            else:
                yield sign

    def value(self, sign: str | None = None, depth: int = 0) -> object:
        """The value that begins with the next sign."""
        if depth > DEEPEST:
            raise RenderError(f"more than {DEEPEST} levels", self.line)
        sign = sign or next(self.tokens)
        if sign == "{":
            return self._mapping(depth)
        if sign == "[":
            return self._list(depth)
        found = Text("" if sign == "null" else json.loads(sign) if sign.startswith('"') else sign)
        found.at = self.line
        return found

    def _mapping(self, depth: int) -> Fields:
        found = Fields()
        for sign in self.tokens:
            if sign == "}":
                break
            if sign == ",":
                continue
            next(self.tokens)  # the colon
            found[json.loads(sign)] = self.value(depth=depth + 1)
        return found

    def _list(self, depth: int) -> Values:
        found = Values()
        for sign in self.tokens:
            if sign == "]":
                break
            if sign != ",":
                found.append(self.value(sign, depth + 1))
        return found


def paths(text: str) -> tuple[list[Path], list[Path]]:
    """Statements that are in force, and those that are not. Raises ``RenderError`` for what is no JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise RenderError(f"this is no JSON: {error.msg}", error.lineno) from None
    except (RecursionError, ValueError):
        raise RenderError("this is no JSON that can be read", 1) from None
    document = _Reader(text).value()
    if isinstance(document, Fields):
        document = document.get("configuration", document)
    walk = _Walk()
    walk.inside((), "configuration", document, 1, asleep=False)
    return walk.active, walk.asleep


class _Walk:
    def __init__(self) -> None:
        self.active: list[Path] = []
        self.asleep: list[Path] = []

    def inside(self, words: tuple[str, ...], element: str, value: object, at: int, *, asleep: bool) -> None:
        """The statements of what stands in an element, whose own words are given."""
        if isinstance(value, Values):
            for one in value or [Text("")]:
                self.inside(words, element, one, at, asleep=asleep)
        elif isinstance(value, Fields):
            self._mapping(words, element, value, at, asleep=asleep)
        else:
            line = getattr(value, "at", at)
            text = str(value)
            if words or text:
                (self.asleep if asleep else self.active).append(((*words, text) if text else words, line))

    def _mapping(self, words: tuple[str, ...], element: str, value: Fields, at: int, *, asleep: bool) -> None:
        about = value.get("@") or value.get("attributes")
        asleep = asleep or _is_inactive(about)
        if "data" in value and all(key in {"data", "attributes", "@"} for key in value):
            self.inside(words, element, value["data"], at, asleep=asleep)
            return
        names = keys(element) if words else frozenset[str]()
        said = False
        for key, one in value.items():
            if key in names and _plain(one) is not None:
                text = _plain(one)
                at = getattr(text, "at", at)
                words = follows(words, key, text or "")
        for key, one in value.items():
            if key.startswith("@") or key == "attributes" or (key in names and _plain(one) is not None):
                continue
            said = True
            name = key.rpartition(":")[2]
            here = (*words, name) if printed(words, name) else words
            self.inside(here, name, one, at, asleep=asleep or _is_inactive(value.get(f"@{key}")))
        if not said and words:
            (self.asleep if asleep else self.active).append((words, at))


def _plain(value: object) -> Text | None:
    """A value that is text alone, also in the older form, ``[{"data": "text"}]``."""
    while isinstance(value, Values) and len(value) == 1:
        value = value[0]
    if isinstance(value, Fields):
        value = value.get("data")
    return value if isinstance(value, Text) else None


def _is_inactive(about: object) -> bool:
    if isinstance(about, Values):
        return any(map(_is_inactive, about))
    return isinstance(about, Fields) and str(about.get("inactive", "")).lower() in {"true", "inactive"}
