"""A YAML reader that records the line of every value, and errors that point at these lines.

Scalars follow the YAML 1.2 core schema: ``no`` is a word, not false, and ``58:11:22`` is a MAC address, not a base-60
number.
"""

from __future__ import annotations

import re
import typing
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from railweave.errors import FileLine, Problem, SpecError
from railweave.model.intent.base import WrongValueError, count_of
from railweave.nearest import nearest
from railweave.reading import CONTROL, MOST_VALUES, compose_yaml, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pydantic_core import ErrorDetails


FABRIC_START = "start from a file that `railweave init` writes"
"""The suggested correction for an empty or malformed fabric file."""

_KINDS = {
    "model_type": "a map",
    "dict_type": "a map",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}
"""The expected kind of value, in words, by pydantic's type of error."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake in a document: the faulty part (``at``), the fault, and the correction.

    - ``places``: alternatives to ``at``. The error points at the first that the document contains.
    - ``earlier``: an earlier part whose value this part repeats.
    """

    at: Location
    what: str
    fix: str = ""
    places: tuple[Location, ...] = ()
    earlier: Location | None = None


def mistakes(model: type[BaseModel], value: Any, errors: Iterable[ErrorDetails]) -> list[Mistake]:  # noqa: ANN401 - plain YAML
    """Return the mistakes in ``value`` from pydantic's errors for ``model``, in words for the file's author.

    If a value fits none of several permitted types, pydantic reports one error for each type. These errors become one mistake, or none if
    another mistake inside the value explains them.
    """
    located = [(_present(value, detail["loc"]), detail) for detail in errors]
    inside = {path[:depth] for path, _ in located for depth in range(len(path))}
    kinds: dict[Location, list[str]] = {}
    result: list[Mistake] = []
    for path, detail in located:
        if detail["type"] == "too_short" and path in inside:
            continue  # pydantic counts good entries alone: what is wrong with the others is said of each
        kind = _KINDS.get(detail["type"])
        if kind is None:
            result.append(_mistake(model, value, path, detail))
        elif path in kinds:
            kinds[path].append(kind)
        elif path not in inside:
            kinds[path] = [kind]
    return result + [_wrong_kind(model, path, _at(value, path), wanted) for path, wanted in kinds.items()]


def _mistake(model: type[BaseModel], value: Any, path: Location, detail: ErrorDetails) -> Mistake:  # noqa: ANN401
    name = _name(path)
    context = detail.get("ctx", {})
    kind, message = detail["type"], detail["msg"]
    if kind in {"extra_forbidden", "invalid_key"}:
        return _unknown_key(model, value, path)
    if kind == "missing":
        last = detail["loc"][-1]
        if isinstance(last, int):
            return Mistake(path, f"{name}: an entry is missing", "give one more")
        return Mistake(path, f"{last!r} is missing from {name}", f"add `{last}:`")
    if kind == "too_short":
        return Mistake(path, f"{name}: there is none", "give at least one")
    if kind == "too_long":
        return Mistake(path, f"{name}: more than {context['max_length']} entries", "leave some out")
    if kind == "value_error":
        error = wrong_value(detail)
        places = tuple((*path, *inner) for inner in error.parts)
        earlier = None if error.earlier is None else (*path, *error.earlier)
        return Mistake(path, f"{name}: {error.what}", error.fix, places, earlier)
    if plain := _plain_words(detail):
        return Mistake(path, f"{name}: {plain}")
    fix = _meant(detail["input"], str(context["expected"])) if kind == "literal_error" else ""
    return Mistake(path, f"{name}: {message[0].lower()}{message[1:]}, got {_shown(detail['input'])}", fix)


def _meant(value: object, expected: str) -> str:
    """Return "did you mean ...?" with the permitted word closest to ``value``, or an empty string if none is close.

    If ``value`` is the beginning of several permitted words, the phrase contains all of them. ``expected`` lists the
    permitted words in quotes, such as ``'all', 'server' or 'fabric'``.
    """
    permitted, given = re.findall(r"'([^']*)'", expected), str(value).casefold()
    longer = [word for word in permitted if len(given) > 1 and word.casefold().startswith(f"{given}-")]
    if len(longer) > 1 and value not in permitted:
        return f"did you mean {' or '.join(map(repr, longer))}?"
    close = nearest(str(value), permitted)
    return f"did you mean {close!r}?" if close else ""


_BOUNDS = {
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
}
"""For each pydantic error about a number out of bounds: the bound's key and its wording in messages."""


def _plain_words(detail: ErrorDetails) -> str:
    """Return a plain message if ``detail`` reports a value of the wrong kind or a number out of bounds, else ""."""
    kind, given = detail["type"], _shown(detail["input"])
    if kind in _KINDS:
        return f"{given} is not {_KINDS[kind]}"
    if kind in _BOUNDS:
        key, bound = _BOUNDS[kind]
        return f"{given} is not allowed: the value must be {bound} {float(detail.get('ctx', {}).get(key, 0)):g}"
    return ""


def wrong_value(detail: ErrorDetails) -> WrongValueError:
    """Return ``detail``, a pydantic error, as a ``WrongValueError``. If a validator raised a ``WrongValueError``, return it.

    Any other error gets railweave's plain message or, without one, pydantic's message.
    """
    error = detail.get("ctx", {}).get("error")
    if isinstance(error, WrongValueError):
        return error
    if plain := _plain_words(detail):
        return WrongValueError(plain)
    return WrongValueError(detail["msg"] if error is None else str(error))


def _unknown_key(model: type[BaseModel], value: Any, path: Location) -> Mistake:  # noqa: ANN401
    given = cast("dict[Key, Any]", _at(value, path[:-1]))
    fields = [item for candidate in models_at(model, path[:-1]) for item in candidate.model_fields.items()]
    known = sorted({info.alias or name for name, info in fields})
    close = nearest(str(path[-1]), [name for name in known if name not in given])
    fix = f"did you mean {close!r}?" if close else f"known keys here: {', '.join(known)}"
    return Mistake(path, f"unknown key {_name(path)!r}", fix)


def _wrong_kind(model: type[BaseModel], path: Location, value: Any, wanted: Sequence[str]) -> Mistake:  # noqa: ANN401
    """Return the mistake for a value, such as a list, with none of the ``wanted`` kinds."""
    name = _name(path)
    not_wanted = f"neither {' nor '.join(wanted)}" if len(wanted) > 1 else f"not {wanted[0]}"
    if not path:
        return Mistake(path, f"the file is {_kind_of(value)}, {not_wanted}", FABRIC_START)
    if value is None:
        part = "value" if wanted[0] not in {"a map", "a list"} else "section"
        return Mistake(path, f"{name}: the {part} is empty", "give it a value, or remove the line to use the default")
    if isinstance(value, list | dict):
        value = cast("object", value)
        return Mistake(path, f"{name} is {_kind_of(value)}, {not_wanted}", _remedy(model, path, value, wanted[0]))
    shown = _shown(value)
    if isinstance(value, int | float) and wanted[0] == "text":
        return Mistake(path, f"{name}: {shown} is {_kind_of(value)}, {not_wanted}", f'put it in quotes: "{shown}"')
    return Mistake(path, f"{name}: {shown} is {not_wanted}", _remedy(model, path, value, wanted[0]))


def _remedy(model: type[BaseModel], path: Location, value: Any, wanted: str) -> str:  # noqa: ANN401
    """Return advice on writing a value as the expected kind ``wanted``, or "" without advice."""
    if wanted == "a list":
        return "begin each entry with a dash" if isinstance(value, dict) else f"write it as [{value}]"
    if wanted != "a map":
        return ""
    if isinstance(value, list):
        return "write its entries as `key: value`, without dashes"
    required = {
        name
        for candidate in models_at(model, path)
        for name, info in candidate.model_fields.items()
        if info.is_required()
    }
    return f"write it as {{{required.pop()}: {value}}}" if len(required) == 1 else "write it as `key: value`"


def _kind_of(value: object) -> str:
    kinds: dict[type, str] = {list: "a list", dict: "a map", bool: "a truth value", str: "text"}
    return kinds.get(type(value), "a number")


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."


def _name(path: Location) -> str:
    return ".".join(str(part) for part in path) or "the file"


def _at(value: Any, path: Location) -> Any:  # noqa: ANN401 - walks plain YAML
    for part in path:
        value = value[part]
    return value


def _present(value: Any, location: Location) -> Location:  # noqa: ANN401 - walks plain YAML
    """Return the part of a pydantic location that exists in the file.

    Names of alternative types and absent parts are left out.
    """
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


def models_at(model: type[BaseModel], path: Location) -> list[type[BaseModel]]:
    """Return the models that a value at a path can have.

    The path leads from ``model`` through fields, lists, maps and unions.
    """
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
    return [kind for kind in frontier if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _branches(annotation: Any) -> list[Any]:  # noqa: ANN401 - typing objects
    origin = getattr(annotation, "__origin__", None)
    if hasattr(annotation, "__metadata__"):
        return _branches(annotation.__origin__)
    if type(annotation).__name__ in {"UnionType", "Union"} or str(origin) == "typing.Union":
        return [inner for arg in annotation.__args__ for inner in _branches(arg)]
    return [annotation]


Key = str | int
Location = tuple[Key, ...]

M = TypeVar("M", bound=BaseModel)

MOST_BYTES = 16 << 20
"""The largest size of a YAML file, in bytes."""
LARGEST = 1 << 63
"""The limit below which numbers in a file must stay, because engines and tables use 64-bit integers."""
MOST_REPORTED = 100
"""The largest number of mistakes that are reported for one file."""

_INTEGER = re.compile(r"[-+]?[0-9]{1,40}|0x[0-9a-fA-F]{1,32}|0o[0-7]{1,40}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass
class Document:
    """A YAML file: its content as Python values, and each part's line."""

    file: str
    value: Any
    lines: dict[Location, int] = field(default_factory=dict[Location, int])
    values: int = 0
    """The number of values after the expansion of aliases and host lists."""
    as_text: bool = False
    """True if every value is kept as text."""
    start: str = FABRIC_START
    """The suggested correction if the file is empty or not a map."""

    def line(self, location: Iterable[Key]) -> int:
        """Return the line, from 1, of the part at ``location`` (keys from the top), or of its nearest parent in the file."""
        path = tuple(location)
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def problem(self, location: Iterable[Key], message: str, fix: str = "") -> Problem:
        """Return a problem at ``location``. ``fix`` is the suggested correction."""
        return Problem(FileLine(self.file, self.line(location)), message, fix)


def read_document(path: Path, *, as_text: bool = False, start: str = FABRIC_START) -> Document:
    """Read one YAML file. With ``as_text``, every value is kept as text.

    ``start`` is the suggested correction for a file that is empty or not a map. Unless it is the default, it is also used
    for a missing file. Raises ``SpecError`` if the file is missing, unreadable, malformed or too large.
    """
    try:
        text = read_text(path, MOST_BYTES)
    except FileNotFoundError:
        missing = start if start != FABRIC_START else ""
        raise SpecError([Problem(FileLine(str(path)), "no such file", _nearby(path) or missing)]) from None
    document = Document(str(path), None, as_text=as_text, start=start)
    node = compose_yaml(text, str(path))
    document.value = None if node is None else _construct(node, (), document, ())
    if node is None:
        raise SpecError([Problem(FileLine(str(path), 1), "the file is empty", start)])
    return document


def _nearby(path: Path) -> str:
    folder = path.parent
    names = sorted(p.name for p in folder.glob("*.yaml")) if folder.is_dir() else []
    close = nearest(path.name, names)
    return f"did you mean {folder / close}?" if close else ""


def _construct(node: Any, path: Location, document: Document, around: tuple[int, ...]) -> Any:  # noqa: ANN401 - YAML
    """Return the plain value of a YAML node. ``around`` holds the enclosing nodes' ids, to detect circular aliases."""
    document.lines.setdefault(path, node.start_mark.line + 1)
    document.values += 1 if not isinstance(node, yaml.ScalarNode) else _names_in(node.value)
    if document.values > MOST_VALUES:
        message = (
            f"the file has more than {MOST_VALUES:,} values, including those that aliases and host lists stand for"
        )
        raise SpecError([document.problem(path, message, "list only devices that exist")])
    if id(node) in around:
        raise SpecError(
            [document.problem(path, "an alias is inside the value that it refers to", "write the value in full")]
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
        message = f"the value contains a control character (0x{ord(control.group()):02x})"
        raise SpecError([document.problem(path, message, "remove it")])
    if isinstance(value, int | float) and not -LARGEST < value < LARGEST:
        raise SpecError(
            [document.problem(path, f"{node.value:.40} is too large for a number", "write it in a larger unit")]
        )
    return value


def _names_in(text: str) -> int:
    """Return the number of names in a host list. Return 1 for any other text and for an invalid host list."""
    try:
        return prod(max(1, count_of(part)) for part in text.split(":", 1)) if "[" in text else 1
    except ValueError:
        return 1


def _key(node: Any, path: Location, document: Document) -> Key:  # noqa: ANN401 - YAML nodes are untyped
    """Return ``node``, the key of a map entry: a word or whole number. Raise ``SpecError`` for others."""
    key = _scalar(node) if isinstance(node, yaml.ScalarNode) else None
    line = node.start_mark.line + 1
    if key == "<<":
        fix = f"repeat the keys, or use an alias for the whole map: `{path[-1] if path else 'key'}: *name`"
        raise SpecError([Problem(FileLine(document.file, line), "merge keys (<<) are not part of YAML 1.2", fix)])
    if not isinstance(key, str | int) or isinstance(key, bool):
        raise SpecError([Problem(FileLine(document.file, line), "a key must be a word", "write `key: value`")])
    return key


def _scalar(node: Any) -> Any:  # noqa: ANN401 - YAML values are untyped
    quoted = node.style in {'"', "'", "|", ">"}  # quoted or block text is text
    return node.value if quoted else plain(node.value)


def plain(text: str) -> Any:  # noqa: ANN401 - YAML values are untyped
    """Return the YAML value of a text without quotes: a number, a truth value, None, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in {"0x", "0o"} else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def validate(model: type[M], document: Document) -> M:
    """Return the document as an instance of ``model``. Raise ``SpecError`` with every problem and its line."""
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        faults = mistakes(model, document.value, error.errors()[:MOST_REPORTED])
        raise SpecError(list(dict.fromkeys(_problem(document, mistake) for mistake in faults))) from None


def _problem(document: Document, mistake: Mistake) -> Problem:
    place = next((place for place in mistake.places if place in document.lines), mistake.at)
    fix = document.start if mistake.fix == FABRIC_START else mistake.fix
    if mistake.earlier is not None:
        fix = f"it is first given on line {document.line(mistake.earlier)}"
    return document.problem(place, mistake.what, fix)
