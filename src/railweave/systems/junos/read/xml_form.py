"""The XML form of a configuration: ``| display xml``, or the answer of NETCONF."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

from railweave.errors import RenderError
from railweave.systems.junos.parse import DEEPEST
from railweave.systems.junos.read.names import follows, keys, printed

if TYPE_CHECKING:
    from railweave.systems.junos.read.forms import Path

_AROUND = frozenset(
    {"rpc-reply", "configuration", "data", "cli", "banner", "configuration-information", "configuration-output"}
)
"""Elements around a configuration."""


class _Element:
    """An element that is open. ``words`` are those of the statements in it so far."""

    __slots__ = ("asleep", "at", "below", "name", "said", "text", "words")

    def __init__(self, name: str, words: tuple[str, ...], at: int, *, asleep: bool) -> None:
        self.name = name
        self.words = words
        self.at = at
        self.asleep = asleep
        self.text: list[str] = []
        self.below = 0
        self.said = False


class _Reader:
    def __init__(self) -> None:
        self.active: list[Path] = []
        self.asleep: list[Path] = []
        self.stack: list[_Element] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.said
        self.parser.StartDoctypeDeclHandler = self.refused
        self.parser.buffer_text = True

    def refused(self, *_: object) -> None:
        raise RenderError("a document type is not read", self.parser.CurrentLineNumber)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(" ")[2]
        above = self.stack[-1] if self.stack else None
        if above is not None:
            above.below += 1
        asleep = (above is not None and above.asleep) or attributes.get("inactive") == "inactive"
        base = above.words if above is not None else ()
        if not base and name in _AROUND:
            words: tuple[str, ...] = ()
        else:
            words = (*base, name) if printed(base, name) else base
        if len(self.stack) > DEEPEST:
            raise RenderError(f"more than {DEEPEST} levels", self.parser.CurrentLineNumber)
        self.stack.append(_Element(name, words, self.parser.CurrentLineNumber, asleep=asleep))

    def said(self, text: str) -> None:
        if self.stack:
            self.stack[-1].text.append(text)

    def end(self, _: str) -> None:
        one = self.stack.pop()
        above = self.stack[-1] if self.stack else None
        text = "".join(one.text).strip()
        if above is not None and one.name in keys(above.name) and not one.below:
            above.words = follows(above.words, one.name, text)  # the name of the entry around it
            return
        if one.below and (one.said or not one.words):
            said = True
        elif not one.words or one.name in _AROUND:
            said = False
        else:
            (self.asleep if one.asleep else self.active).append(((*one.words, text) if text else one.words, one.at))
            said = True
        if above is not None:
            above.said = above.said or said


def paths(text: str) -> tuple[list[Path], list[Path]]:
    """Statements that are in force, and those that are not. Raises ``RenderError`` for what is no XML."""
    reader = _Reader()
    try:
        reader.parser.Parse(text.lstrip().encode(), True)
    except expat.ExpatError as error:
        raise RenderError(f"this is no XML: {expat.ErrorString(error.code)}", error.lineno) from None
    return reader.active, reader.asleep
