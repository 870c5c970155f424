"""Read YAML so that every value knows its line, and draw errors that point at it.

Scalars follow the YAML 1.2 core schema: ``no`` is a word, not false, and ``58:11:22`` is a MAC address, not a base-60
number.
"""

from __future__ import annotations

import difflib
import re
import typing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from railweave.errors import Problem, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Key = str | int
Location = tuple[Key, ...]

M = TypeVar("M", bound=BaseModel)

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass
class Document:
    """A YAML file: its plain value, and the line of every part of it."""

    file: str
    value: Any
    lines: dict[Location, int] = field(default_factory=dict[Location, int])

    def line(self, location: Iterable[Key]) -> int:
        """The 1-based line of a part, or of the nearest part around it that stands in the file."""
        path = tuple(location)
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def problem(self, location: Iterable[Key], what: str, fix: str = "") -> Problem:
        """A problem at a part of this file."""
        return Problem(self.file, self.line(location), what, fix)


def read_document(path: Path) -> Document:
    """Read one YAML file. Raises ``SpecError`` where it is missing, unreadable or malformed."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SpecError([Problem(str(path), 0, "no such file", _nearby(path))]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError([Problem(str(path), 0, f"cannot be read: {error}")]) from None
    document = Document(str(path), None)
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SpecError(
            [Problem(str(path), mark.line + 1 if mark else 0, f"not valid YAML: {error.problem or error.context}")]
        ) from None
    if node is None:
        raise SpecError([Problem(str(path), 1, "the file is empty", "start from `railweave init`")])
    document.value = _construct(node, (), document)
    return document


def _nearby(path: Path) -> str:
    folder = path.parent
    names = sorted(p.name for p in folder.glob("*.yaml")) if folder.is_dir() else []
    close = difflib.get_close_matches(path.name, names, 1)
    return f"did you mean {folder / close[0]}?" if close else ""


def _construct(node: Any, path: Location, document: Document) -> Any:  # noqa: ANN401 - YAML values are untyped
    document.lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        result: dict[Key, Any] = {}
        for key_node, value_node in node.value:
            key = _scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            line = key_node.start_mark.line + 1
            if not isinstance(key, str | int) or isinstance(key, bool):
                raise SpecError([Problem(document.file, line, "a key must be a word", "write `key: value`")])
            if key in result:
                first = document.lines[(*path, key)]
                raise SpecError(
                    [Problem(document.file, line, f"duplicate key {key!r}", f"it is first given on line {first}")]
                )
            document.lines[(*path, key)] = line
            result[key] = _construct(value_node, (*path, key), document)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_construct(item, (*path, index), document) for index, item in enumerate(node.value)]
    return _scalar(node)


def _scalar(node: Any) -> Any:  # noqa: ANN401 - YAML values are untyped
    text: str = node.value
    if node.style in {'"', "'", "|", ">"}:  # quoted or block text is text
        return text
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
        problems = [_problem(model, document, dict(detail)) for detail in error.errors()]
        raise SpecError(list(dict.fromkeys(problems))) from None


def _problem(model: type[BaseModel], document: Document, detail: dict[str, Any]) -> Problem:
    location: Location = tuple(part for part in detail["loc"])
    path = _present(document.value, location)
    name = ".".join(str(part) for part in path) or "the file"
    kind: str = detail["type"]
    if kind == "extra_forbidden":
        known = sorted(_known_keys(model, path[:-1]))
        close = difflib.get_close_matches(str(path[-1]), known, 1, cutoff=0.5)
        fix = f"did you mean {close[0]!r}?" if close else f"known keys here: {', '.join(known)}"
        return document.problem(path, f"unknown key {name!r}", fix)
    if kind == "missing":
        missing = location[-1]
        return document.problem(
            path, f"{missing!r} is missing from {name if path else 'the file'}", f"add `{missing}:`"
        )
    message: str = detail["msg"].removeprefix("Value error, ")
    what, _, fix = message.partition(" -- ")
    shown = repr(detail["input"])
    if kind != "value_error":
        what = f"{what[0].lower()}{what[1:]}, got {shown if len(shown) < 60 else shown[:57] + '...'}"
    return document.problem(path, f"{name}: {what}", fix)


def _present(value: Any, location: Location) -> Location:  # noqa: ANN401 - walks plain YAML
    """The part of a pydantic location that stands in the file (union branch names and defaults do not)."""
    path: list[Key] = []
    for part in location:
        if isinstance(value, dict) and part in value:
            value = cast("dict[Key, Any]", value)[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(cast("list[Any]", value)):
            value = cast("list[Any]", value)[part]
        else:
            continue
        path.append(part)
    return tuple(path)


def _known_keys(model: type[BaseModel], path: Location) -> set[str]:
    """The keys a model takes at a path, following fields, lists, maps and unions."""
    frontier: list[Any] = [model]
    for part in path:
        step: list[Any] = []
        for kind in frontier:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                known = kind.model_fields.get(str(part))
                step += _branches(known.annotation) if known else []
            else:
                step += [inner for arg in typing.get_args(kind) for inner in _branches(arg)]
        frontier = step
    return {
        name
        for kind in frontier
        if isinstance(kind, type) and issubclass(kind, BaseModel)
        for name in kind.model_fields
    }


def _branches(annotation: Any) -> list[Any]:  # noqa: ANN401 - typing objects
    origin = getattr(annotation, "__origin__", None)
    if hasattr(annotation, "__metadata__"):
        return _branches(annotation.__origin__)
    if type(annotation).__name__ in {"UnionType", "Union"} or str(origin) == "typing.Union":
        return [inner for arg in annotation.__args__ for inner in _branches(arg)]
    return [annotation]
