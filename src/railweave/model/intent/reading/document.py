"""Read YAML so that every value knows its line, and draw errors that point at it.

Scalars follow the YAML 1.2 core schema: ``no`` is a word, not false, and ``58:11:22`` is a MAC address, not a base-60
number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from railweave.errors import FileLine, Problem, SpecError
from railweave.model.intent.names import count_of
from railweave.model.intent.reading.wording import Mistake, mistakes
from railweave.nearest import nearest
from railweave.reading import CONTROL, MOST_VALUES, compose_yaml, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Key = str | int
Location = tuple[Key, ...]

M = TypeVar("M", bound=BaseModel)

MOST_BYTES = 16 << 20
"""Of a YAML file."""
LARGEST = 1 << 63
"""No number of a file reaches it: the engines and tables count in 64 bits."""
MOST_TOLD = 100
"""Of mistakes in one file."""

_INTEGER = re.compile(r"[-+]?[0-9]{1,40}|0x[0-9a-fA-F]{1,32}|0o[0-7]{1,40}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass
class Document:
    """A YAML file: its plain value, and the line of every part of it."""

    file: str
    value: Any
    lines: dict[Location, int] = field(default_factory=dict[Location, int])
    values: int = 0
    """How many values it has, with those that aliases and host lists stand for."""
    as_text: bool = False
    """Whether values are left as they are written."""

    def line(self, location: Iterable[Key]) -> int:
        """The 1-based line of a part, or of the nearest part around it that stands in the file."""
        path = tuple(location)
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def problem(self, location: Iterable[Key], what: str, fix: str = "") -> Problem:
        """A problem at a part of this file."""
        return Problem(FileLine(self.file, self.line(location)), what, fix)


def read_document(path: Path, *, as_text: bool = False) -> Document:
    """Read one YAML file; ``as_text``: every value as it is written. Raises ``SpecError`` where it is missing, unreadable, malformed, or larger than any that is meant."""
    try:
        text = read_text(path, MOST_BYTES)
    except FileNotFoundError:
        raise SpecError([Problem(FileLine(str(path)), "no such file", _nearby(path))]) from None
    document = Document(str(path), None, as_text=as_text)
    node = compose_yaml(text, str(path))
    document.value = None if node is None else _construct(node, (), document, ())
    if node is None:
        raise SpecError([Problem(FileLine(str(path), 1), "the file is empty", "start from `railweave init`")])
    return document


def _nearby(path: Path) -> str:
    folder = path.parent
    names = sorted(p.name for p in folder.glob("*.yaml")) if folder.is_dir() else []
    close = nearest(path.name, names)
    return f"did you mean {folder / close}?" if close else ""


def _construct(node: Any, path: Location, document: Document, around: tuple[int, ...]) -> Any:  # noqa: ANN401 - YAML
    """The plain value of a node. ``around`` are the nodes it stands in, by identity."""
    document.lines.setdefault(path, node.start_mark.line + 1)
    document.values += 1 if not isinstance(node, yaml.ScalarNode) else _names_in(node.value)
    if document.values > MOST_VALUES:
        what = f"more than {MOST_VALUES:,} values, with those that aliases and host lists stand for"
        raise SpecError([document.problem(path, what, "name what there is, and no more")])
    if id(node) in around:
        raise SpecError(
            [document.problem(path, "an alias stands inside the value that it names", "write the value out")]
        )
    around = (*around, id(node))
    if isinstance(node, yaml.MappingNode):
        result: dict[Key, Any] = {}
        for key_node, value_node in node.value:
            key = _key(key_node, path, document)
            if key in result:
                line, first = key_node.start_mark.line + 1, document.lines[(*path, key)]
                raise SpecError(
                    [
                        Problem(
                            FileLine(document.file, line),
                            f"duplicate key {key!r}",
                            f"it is first given on line {first}",
                        )
                    ]
                )
            document.lines[(*path, key)] = key_node.start_mark.line + 1
            result[key] = _construct(value_node, (*path, key), document, around)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_construct(item, (*path, index), document, around) for index, item in enumerate(node.value)]
    value = node.value if document.as_text else _scalar(node)
    if isinstance(value, str) and (control := CONTROL.search(value)):
        what = f"the value holds a control character (0x{ord(control.group()):02x})"
        raise SpecError([document.problem(path, what, "remove it")])
    if isinstance(value, int | float) and not -LARGEST < value < LARGEST:
        raise SpecError(
            [document.problem(path, f"{node.value:.40} is too large a number", "write it in the unit meant")]
        )
    return value


def _names_in(text: str) -> int:
    """How many names a text stands for; 1 where it is not a host list, or one that is refused where it is used."""
    try:
        return prod(max(1, count_of(part)) for part in text.split(":", 1)) if "[" in text else 1
    except ValueError:
        return 1


def _key(node: Any, path: Location, document: Document) -> Key:  # noqa: ANN401 - YAML nodes are untyped
    """The key of a map's entry: a word or a whole number."""
    key = _scalar(node) if isinstance(node, yaml.ScalarNode) else None
    line = node.start_mark.line + 1
    if key == "<<":
        fix = f"repeat the keys, or use an alias for the whole: `{path[-1] if path else 'key'}: *name`"
        raise SpecError([Problem(FileLine(document.file, line), "merge keys (<<) are not part of YAML 1.2", fix)])
    if not isinstance(key, str | int) or isinstance(key, bool):
        raise SpecError([Problem(FileLine(document.file, line), "a key must be a word", "write `key: value`")])
    return key


def _scalar(node: Any) -> Any:  # noqa: ANN401 - YAML values are untyped
    quoted = node.style in {'"', "'", "|", ">"}  # quoted or block text is text
    return node.value if quoted else plain(node.value)


def plain(text: str) -> Any:  # noqa: ANN401 - YAML values are untyped
    """What a text without quotes stands for: a number, a truth value, nothing, or itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in {"0x", "0o"} else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def validate(model: type[M], document: Document) -> M:
    """The document as ``model``. Raises ``SpecError`` with every problem, each at its line."""
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        found = mistakes(model, document.value, error.errors()[:MOST_TOLD])
        raise SpecError(list(dict.fromkeys(_problem(document, one) for one in found))) from None


def _problem(document: Document, mistake: Mistake) -> Problem:
    place = next((place for place in mistake.places if place in document.lines), mistake.at)
    fix = mistake.fix
    if mistake.earlier is not None:
        fix = f"it is first given on line {document.line(mistake.earlier)}"
    return document.problem(place, mistake.what, fix)
