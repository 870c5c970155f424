"""Conversion of a Junos configuration to the words of ``set`` lines, from curly braces, ``set`` lines, XML or JSON.

The format is recognized from the text. Deactivated statements (``inactive:``, ``deactivate``, ``inactive="inactive"``)
are returned separately.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from railweave.errors import RenderError
from railweave.reading import XmlError, parse_json, xml_message, xml_parser
from railweave.systems.junos.parse import COMMANDS, DEEPEST, parse_curly, unquoted
from railweave.systems.junos.tree import pathset, wordset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.device.reading import Kind
    from railweave.systems.junos.tree import Statement


_UNPRINTED = frozenset(
    {"contents", "prefix-list-item", "as-number", "rd-type", "filter-name", "certificate", "identifier"}
)
"""XML elements whose name does not appear in ``set`` lines."""

_UNPRINTED_BELOW = pathset(
    "interfaces interface, vlans vlan, routing-instances instance, vrf-target community, vtep-source-interface "
    "interface-name, autonomous-system as-number"
)
"""Pairs (preceding word, XML element): after this word, the element's name does not appear in ``set`` lines."""

_KEYS: dict[str, frozenset[str]] = {
    "route-filter": frozenset({"address", "choice-ident", "choice-value"}),
    "source-address-filter": frozenset({"address", "choice-ident", "choice-value"}),
    "prefix-list-filter": frozenset({"list_name", "choice-ident", "choice-value"}),
    "community": frozenset({"name", "choice-ident", "choice-value", "community-name", "add", "delete", "set"}),
    "drop-profile-map": frozenset({"loss-priority", "protocol"}),
}
_NAME = frozenset({"name"})


def printed(before: tuple[str, ...], name: str) -> bool:
    """Return True if the name of an XML element appears in ``set`` lines. ``before`` are the words before the element."""
    if name in _UNPRINTED:
        return False
    return not before or (before[-1], name) not in _UNPRINTED_BELOW or _is_name(before)


def _is_name(before: tuple[str, ...]) -> bool:
    """Return True if the last word of ``before`` is a name that the operator chose, such as a group with the name ``vlans``."""
    return len(before) > 1 and before[-2] in {"groups", "group"}


def keys(element: str) -> frozenset[str]:
    """Return the names of the XML elements that identify a list item, such as ``name``. ``element`` is the list's XML element."""
    return _KEYS.get(element, _NAME)


def follows(words: tuple[str, ...], key: str, text: str) -> tuple[str, ...]:
    """Return the words of a list item, extended by the value ``text`` of the XML element ``key`` that identifies the item."""
    if key in {"loss-priority", "protocol"}:
        return (*words, key, text)
    if key in {"add", "delete", "set"} and not text:
        return (*words, key)
    return (*words, text) if text else words


_TOKEN = re.compile(r'\n|"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


class Text(str):
    """A value of a JSON text, with its line number."""

    __slots__ = ("at",)
    at: int


class Fields(dict[str, object]):
    """An object of a JSON text: values by name."""


class Values(list[object]):
    """An array of a JSON text."""


class _JsonReader:
    """A reader of a JSON document that also records the line number of every value. It expects a valid document."""

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
        """Return the value at the reader's position. ``sign`` is the first token of the value, or None if it must still be read.

        ``depth`` is the number of objects and lists around the value.
        """
        if depth > DEEPEST:
            raise RenderError(f"more than {DEEPEST} levels", self.line)
        sign = sign or next(self.tokens)
        if sign == "{":
            return self._mapping(depth)
        if sign == "[":
            return self._list(depth)
        text = Text("" if sign == "null" else parse_json(sign) if sign.startswith('"') else sign)
        text.at = self.line
        return text

    def _mapping(self, depth: int) -> Fields:
        fields = Fields()
        for sign in self.tokens:
            if sign == "}":
                break
            if sign == ",":
                continue
            next(self.tokens)  # the colon
            fields[parse_json(sign)] = self.value(depth=depth + 1)
        return fields

    def _list(self, depth: int) -> Values:
        values = Values()
        for sign in self.tokens:
            if sign == "]":
                break
            if sign != ",":
                values.append(self.value(sign, depth + 1))
        return values


def json_paths(text: str) -> tuple[list[Path], list[Path]]:
    """Return (active statements, inactive statements) of a JSON text. Raises ``RenderError`` if the text is not JSON."""
    try:
        parse_json(text)
    except json.JSONDecodeError as error:
        raise RenderError(f"this is no JSON: {error.msg}", error.lineno) from None
    except (RecursionError, ValueError):
        raise RenderError("this is no JSON that can be read", 1) from None
    document = _JsonReader(text).value()
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
        """Add the statements inside an element.

        - ``words``: the words of the ``set`` line up to and including the element.
        - ``value``: the content of the element.
        - ``at``: the line number.
        - ``asleep``: True if the element is deactivated.
        """
        if isinstance(value, Values):
            for item in value or [Text("")]:
                self.inside(words, element, item, at, asleep=asleep)
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
        has_children = False
        for key, child in value.items():
            if key in names and _plain(child) is not None:
                text = _plain(child)
                at = getattr(text, "at", at)
                words = follows(words, key, text or "")
        for key, child in value.items():
            if key.startswith("@") or key == "attributes" or (key in names and _plain(child) is not None):
                continue
            has_children = True
            name = key.rpartition(":")[2]
            here = (*words, name) if printed(words, name) else words
            self.inside(here, name, child, at, asleep=asleep or _is_inactive(value.get(f"@{key}")))
        if not has_children and words:
            (self.asleep if asleep else self.active).append((words, at))


def _plain(value: object) -> Text | None:
    """Return the text of a JSON value, which older releases wrap as ``[{"data": "text"}]``. Return None for other values."""
    while isinstance(value, Values) and len(value) == 1:
        value = value[0]
    if isinstance(value, Fields):
        value = value.get("data")
    return value if isinstance(value, Text) else None


def _is_inactive(about: object) -> bool:
    if isinstance(about, Values):
        return any(map(_is_inactive, about))
    return isinstance(about, Fields) and str(about.get("inactive", "")).lower() in {"true", "inactive"}


_AROUND = frozenset(
    {"rpc-reply", "configuration", "data", "cli", "banner", "configuration-information", "configuration-output"}
)
"""XML elements that surround a configuration."""


class _Element:
    """An open XML element. ``words`` are the words of the statement up to this element."""

    __slots__ = ("asleep", "at", "below", "has_path", "name", "text", "words")

    def __init__(self, name: str, words: tuple[str, ...], at: int, *, asleep: bool) -> None:
        self.name = name
        self.words = words
        self.at = at
        self.asleep = asleep
        self.text: list[str] = []
        self.below = 0
        self.has_path = False


class _XmlReader:
    def __init__(self) -> None:
        self.active: list[Path] = []
        self.asleep: list[Path] = []
        self.stack: list[_Element] = []
        self.parser = xml_parser(self.refused, namespaces=True)
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.buffer_text = True

    def refused(self, *_: object) -> NoReturn:
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

    def characters(self, text: str) -> None:
        if self.stack:
            self.stack[-1].text.append(text)

    def end(self, _: str) -> None:
        element = self.stack.pop()
        above = self.stack[-1] if self.stack else None
        text = "".join(element.text).strip()
        if above is not None and element.name in keys(above.name) and not element.below:
            above.words = follows(above.words, element.name, text)  # the name of the enclosing entry
            return
        if element.below and (element.has_path or not element.words):
            has_path = True
        elif not element.words or element.name in _AROUND:
            has_path = False
        else:
            (self.asleep if element.asleep else self.active).append(
                ((*element.words, text) if text else element.words, element.at)
            )
            has_path = True
        if above is not None:
            above.has_path = above.has_path or has_path


def xml_paths(text: str) -> tuple[list[Path], list[Path]]:
    """Return (active statements, inactive statements) of an XML text. Raises ``RenderError`` if the text is not XML."""
    reader = _XmlReader()
    try:
        reader.parser.Parse(text.lstrip().encode(), True)
    except XmlError as error:
        raise RenderError(f"this is no XML: {xml_message(error)}", error.lineno) from None
    return reader.active, reader.asleep


Path = tuple[tuple[str, ...], int]
"""The words of a statement, and its line number."""


@dataclass
class Lines:
    """The statements of a text, in order.

    - ``active``, ``asleep``: the active and the deactivated statements.
    - ``other``: lines that are not statements, each as (text, line number, kind).
    - ``curly``: the statements as blocks if the text has curly braces, else None.
    """

    active: list[Path] = field(default_factory=list[Path])
    asleep: list[Path] = field(default_factory=list[Path])
    other: list[tuple[str, int, Kind]] = field(default_factory=list[tuple[str, int, "Kind"]])
    curly: list[Statement] | None = None


_BESIDE = re.compile(
    r"(?m)^(?:\s*\{(?:master|backup|linecard|primary|secondary)\b[^}\n]*\}\s*$|\[edit[^\]\n]*\]|\S+@\S+[>#%].*)"
)
"""A pattern of lines that the CLI prints around a configuration: the routing engine, the edit level, and prompts."""
_PROMPT = re.compile(r"^\S+@\S+[>#%]\s*")
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]]|#.*|[^\s\[\]]+')
_MODIFIERS = frozenset({"inactive:", "protect:", "replace:", "active:"})
_READ_ONLY = wordset("show commit annotate configure cli run protect unprotect exit quit status rollback load")
_MOVES = frozenset({"edit", "top", "up", "exit", "quit"})


def lines(text: str) -> Lines:
    """Return the statements of a text. Raises ``RenderError``, with the line number, if the text is malformed."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n")
    start = text.lstrip()[:1]
    if start == "<":
        return Lines(*xml_paths(text))
    if start == "{" and re.match(r"\s*\{\s*[\"}]", text):
        return Lines(*json_paths(text))
    return _set_lines(text) if _is_set(text) else _curly(text)


def _is_set(text: str) -> bool:
    for line in text.splitlines():
        words = _PROMPT.sub("", line).split(None, 1)
        if not words or words[0].startswith(("#", "/*", "[edit", "{master", "{primary", "show", "configure")):
            continue
        return words[0] in COMMANDS | _MOVES and not line.rstrip().endswith(("{", ";"))
    return False


def _curly(text: str) -> Lines:
    listing = Lines(curly=[])
    statements = parse_curly(_BESIDE.sub("", text))
    listing.curly = _awake(statements, (), listing)
    for statement in listing.curly:
        _flatten(statement, (), listing.active)
    return listing


def _awake(statements: Sequence[Statement], above: tuple[str, ...], listing: Lines) -> list[Statement]:
    """Return the active statements, and add the deactivated ones to ``listing``. Words such as ``inactive:`` are removed.

    ``above`` are the words of the surrounding blocks.
    """
    kept: list[Statement] = []
    for statement in statements:
        asleep = False
        while statement.words and statement.words[0] in _MODIFIERS:
            asleep |= statement.words[0] == "inactive:"
            statement.words = statement.words[1:]
        if not statement.words:
            continue
        if asleep:
            _flatten(statement, above, listing.asleep)
            continue
        if statement.children:
            statement.children = _awake(statement.children, (*above, *statement.words), listing)
        kept.append(statement)
    return kept


def _flatten(statement: Statement, above: tuple[str, ...], into: list[Path]) -> None:
    here = (*above, *statement.words)
    if len(here) > DEEPEST:
        raise RenderError(f"more than {DEEPEST} words below each other", statement.at)
    if statement.children:
        for child in statement.children:
            _flatten(child, here, into)
    elif statement.values:
        into += [((*here, value), statement.at) for value in statement.values]
    else:
        into.append((here, statement.at))


def _set_lines(text: str) -> Lines:
    listing = Lines()
    asleep: set[tuple[str, ...]] = set()
    here: tuple[str, ...] = ()
    for number, raw in enumerate(text.splitlines(), 1):
        line = _PROMPT.sub("", raw.strip()) if "@" in raw else raw.strip()
        if not line or line.startswith(("#", "/*", "*", "[edit", "{")):
            continue
        words, lists = _words(line, number)
        if not words:
            continue
        command, path = words[0], (*here, *words[1:])
        if command == "set":
            listing.active += [(each_path, number) for each_path in _each(path, lists)]
        elif command in _MOVES:
            here = _moved(here, words)
        elif command == "deactivate":
            asleep.add(path)
        elif command == "activate":
            asleep.discard(path)
        elif command == "delete":
            listing.active = [active for active in listing.active if active[0][: len(path)] != path]
        else:
            listing.other.append((line, number, "irrelevant" if command in _READ_ONLY else "unknown"))
    if asleep:
        sizes = sorted({len(path) for path in asleep})
        for active in listing.active:
            if any(active[0][:size] in asleep for size in sizes):
                listing.asleep.append(active)
        listing.active = [active for active in listing.active if not any(active[0][:size] in asleep for size in sizes)]
    return listing


def _moved(here: tuple[str, ...], words: list[str]) -> tuple[str, ...]:
    if words[0] == "edit":
        return (*here, *words[1:])
    return here[:-1] if words[0] == "up" else ()


def _words(line: str, number: int) -> tuple[list[str], list[str] | None]:
    """Return (the words of a line, the values in brackets at its end or None). ``number`` is the line number, for error messages."""
    if '"' not in line and "[" not in line and "#" not in line:
        words = line.split()
        if len(words) > DEEPEST:
            raise RenderError(f"more than {DEEPEST} words below each other", number)
        return words, None
    words: list[str] = []
    values: list[str] | None = None
    for word in _WORD.findall(line):
        if word.startswith("#"):
            break
        if word.startswith('"') and (len(word) == 1 or not word.endswith('"')):
            raise RenderError("a '\"' is not closed", number)
        if word == "[":
            values = []
        elif word == "]":
            if values is None:
                raise RenderError("a ']' without '['", number)
        else:
            (words if values is None else values).append(unquoted(word))
    if len(words) > DEEPEST:
        raise RenderError(f"more than {DEEPEST} words below each other", number)
    return words, values


def _each(path: tuple[str, ...], values: list[str] | None) -> list[tuple[str, ...]]:
    if not path:
        return []
    return [path] if values is None else [(*path, value) for value in values]
