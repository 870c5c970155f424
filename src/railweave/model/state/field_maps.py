"""Field maps: texts that state where the answer of a device contains the fields of a state object such as ``BgpSession``.

The answer is JSON or XML. The part of the answer that describes one object is called a row. A field map has one word for each field.
``field=place`` gives the field and its place in the row; ``field`` without a place means a place of the same name. A
place has these forms:

- ``a/b``: the value under ``b`` in the value under ``a``. ``.`` is the row itself.
- ``$0``, ``$1`` …: the keys on the path to the row (see ``rows``).
- ``a|b``: ``a`` if the row contains it, else ``b``. ``a||b``: ``a`` if its value can be read, else ``b``.
- ``:reader`` at the end: the name of the reader (in ``READERS``, or a function given with the map). Without it, the
  type of the field selects the reader.

``field!`` marks a required field: a row without it is left out. A function that is given with the map under the name of
a field reads that field. If the map has no word for such a field, the function reads the row itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from railweave.model.state.values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

Reader = Callable[[Value], Any]
_RowReader = Callable[[Value, tuple[str, ...]], Any]
"""A function that reads one field. Its arguments are the row, and the keys on the path to the row.

A row is the part of an answer that describes one object.
"""
T = TypeVar("T")


def texts(value: Value) -> tuple[str, ...]:
    """Return those entries of the list ``value`` that are texts."""
    return tuple(text for entry in value.each() if (text := entry.text()) is not None)


def texts_if_there(value: Value) -> tuple[str, ...] | None:
    """Return those entries of the list ``value`` that are texts, or None if the answer does not contain the list."""
    return texts(value) if value.there else None


def column(path: str) -> Reader:
    """Return a function that returns the texts at ``path`` in an answer (see ``rows``)."""
    return lambda value: tuple(text for row, _ in rows(value, path) if (text := row.text()))


def digits(value: Value, most: int = 9) -> int | None:
    """Return the number that ``value`` holds as text of at most ``most`` digits.

    Return None, without a note, for any other text, for example a word for "no limit".
    """
    text = value.text()
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) <= most else None


def choice(words: Mapping[str, Any]) -> Reader:
    """Return a function that looks up a word of an answer in ``words``. The word is first converted to lower case. Unknown words give None."""
    return lambda value: words.get(value.lower() or "")


READERS: dict[str, Reader] = {
    "text": Value.text,
    "lower": Value.lower,
    "mac": Value.mac,
    "integer": Value.integer,
    "number": Value.number,
    "flag": Value.flag,
    "digits": digits,
    "yes": lambda value: value.flag() or False,
    "there": lambda value: value.there,
    "seconds": lambda value: value.attribute("seconds").number(),
}
_OF_TYPE: dict[str, Reader] = {
    "str": Value.text,
    "int": Value.integer,
    "float": Value.number,
    "bool": Value.flag,
    "tuple[str, ...]": texts,
    "tuple[str, ...] | None": texts_if_there,
}


class Fields(Generic[T]):
    """A reader that builds state objects of one class from rows of an answer.

    A row is the part of an answer that describes one object. A field map gives the place of each field in a row.
    """

    def __init__(self, made: Callable[..., T], words: str = "", /, **readers: Reader) -> None:
        types = {field.name: str(field.type) for field in dataclasses.fields(made)}  # pyright: ignore[reportArgumentType]
        known, self._made = READERS | readers, made
        self._fields: list[tuple[str, bool, _RowReader]] = []
        for word in words.split():
            name, _, place = word.partition("=")
            if not place:
                name, _, reader = name.partition(":")
                place = name.removesuffix("!")
            else:
                place, _, reader = place.partition(":")
            field = name.removesuffix("!")
            choices = [[way.split("/") for way in part.split("|")] for part in place.split("||")]
            usual = _OF_TYPE.get(types[field]) or _OF_TYPE.get(types[field].removesuffix(" | None"))
            read = known[reader] if reader else readers.get(field) or usual
            if read is None:
                raise TypeError(f"{word}: nothing reads a {types[field]}")
            self._fields.append((field, name.endswith("!"), _row_reader(choices, read)))
        mentioned = {field for field, *_ in self._fields}
        for name, read in readers.items():
            if name in types and name not in mentioned:
                self._fields.append((name, False, _row_reader([[["."]]], read)))

    def __call__(self, row: Value, *keys: str, **given: Any) -> T:  # noqa: ANN401 - any field's
        """Return the state object that ``row``, a part of an answer, describes. Fields in ``given`` are not read from the row.

        ``keys`` are the keys on the path to the row.
        """
        fields = {name: read(row, keys) for name, _, read in self._fields if name not in given}
        return self._made(**fields, **given)

    def maybe(self, row: Value, *keys: str, **given: Any) -> T | None:  # noqa: ANN401
        """Return the state object that ``row``, a part of an answer, describes, or None if a required field is absent.

        ``keys`` are the keys on the path to the row. Fields in ``given`` are not read from the row.
        """
        for name, necessary, read in self._fields:
            if necessary and name not in given:
                given[name] = read(row, keys)
                if given[name] is None:
                    return None
        return self(row, *keys, **given)

    def onto(self, known: T, row: Value, *keys: str) -> T:
        """Return the state object ``known``, updated with the fields that a row contains. Other fields keep their values.

        ``keys`` are the keys on the path to the row.
        """
        fields = {name: value for name, _, read in self._fields if (value := read(row, keys)) is not None}
        return cast("Any", dataclasses.replace)(known, **fields)


def _row_reader(choices: list[list[list[str]]], read: Reader) -> _RowReader:
    """Return a function that reads one field of a row, the part of an answer that describes one object.

    The function tries ``choices`` in order until ``read`` returns a value. Each choice is a list of places in the row, such as
    ``a/b`` divided at ``/``. ``read`` gets the value at the first place that the row contains, or else at the last.
    """
    if len(choices) == 1 and len(choices[0]) == 1 and choices[0][0][0][0] not in "$.":
        place = choices[0][0]
        return lambda row, _: read(row.get(*place))

    def read_first(row: Value, keys: tuple[str, ...]) -> Any:  # noqa: ANN401 - any field's
        value: Any = None
        for places in choices:
            value = read(_first(row, keys, places))
            if value is not None:
                break
        return value

    return read_first


def _first(row: Value, keys: tuple[str, ...], places: list[list[str]]) -> Value:
    """Return the value at the first of ``places`` that the row contains, or else at the last of them.

    A place is a list of keys such as ``a``, ``b`` for ``a/b``. ``keys`` are the keys on the path to the row.
    """
    value = row
    for place in places:
        if place[0].startswith("$"):
            return row.made(keys[int(place[0][1:])])
        value = row if place == ["."] else row.get(*place)
        if value.there:
            break
    return value


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("/"))


def rows(answer: Value, path: str) -> list[tuple[Value, tuple[str, ...]]]:
    """Return (row, keys on the path to the row) for each row of an answer. A row is the part that describes one object.

    The steps of ``path`` are joined by ``/``:

    - ``name``: the value under a name.
    - ``*``: every value of a map, with its key.
    - ``name[]``: every entry of a list.
    - ``..name``: every value under a name, at any depth.
    """
    reached: list[tuple[Value, tuple[str, ...]]] = [(answer, ())]
    for step in _steps(path):
        if step == "*":
            reached = [(below, (*keys, key)) for here, keys in reached for key, below in here.entries()]
        elif step.startswith(".."):
            reached = [(below, keys) for here, keys in reached for below in here.find(step[2:])]
        elif step.endswith("[]"):
            name = step[:-2]
            reached = [(below, keys) for here, keys in reached for below in (here.get(name) if name else here).each()]
        else:
            reached = [(here.get(step), keys) for here, keys in reached]
    return reached


def listed(path: str, fields: Fields[T]) -> Callable[[Value], tuple[T, ...]]:
    """Return a function that reads an answer and returns one state object for each row at ``path`` (see ``rows``).

    ``fields`` reads a row. Rows without a required field are left out.
    """
    return lambda answer: tuple(
        made for row, keys in rows(answer, path) if (made := fields.maybe(row, *keys)) is not None
    )


def keyed(path: str, fields: Fields[T], key: str = "name") -> Callable[[Value], dict[str, T]]:
    """Return a function that reads an answer and returns a dict with one state object for each row at ``path`` (see ``rows``).

    ``fields`` reads a row. ``key`` says what the key of an object in the dict is: the name of a field of the object, or ``$0`` and so on
    for a key on the path to the row.
    """

    def read(answer: Value) -> dict[str, T]:
        states: dict[str, T] = {}
        for row, keys in rows(answer, path):
            if (made := fields.maybe(row, *keys)) is not None:
                states[keys[int(key[1:])] if key.startswith("$") else getattr(made, key)] = made
        return states

    return read


def numbered(path: str, fields: Fields[T], prefix: str = "") -> Callable[[Value], dict[str, dict[int, T]]]:
    """Return a function that reads an answer and returns a map of maps, with one state object for each row at ``path`` (see ``rows``).

    The outer key is the first key on the path to a row, for example a port. The inner key is the number after ``prefix`` in the
    last key, for example a queue's number. ``fields`` reads a row. Rows without a number are left out.
    """

    def read(answer: Value) -> dict[str, dict[int, T]]:
        states: dict[str, dict[int, T]] = {}
        for row, keys in rows(answer, path):
            number = digits(row.made(keys[-1].removeprefix(prefix)), 3)
            if number is not None:
                states.setdefault(keys[0], {})[number] = fields(row, *keys)
        return states

    return read
