"""The rows of ``config_db.json``. Each row records which of its fields were understood, and the line of each field.

Values may be numbers, and a key may occur twice (the later row applies). A value that is not a table of rows is not
understood.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, TypeGuard, cast

from railweave.errors import RenderError
from railweave.model.config.sections import Section, SectionReader
from railweave.model.config.tree import Node
from railweave.reading import parse_json
from railweave.systems.frr.read.text import number
from railweave.systems.sonic.tables import to_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.sections import Known
    from railweave.systems.sonic.tables import Value

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"(\s*:)?', re.DOTALL)
_RAW = "bgpraw"
"""The key under which ``show runningconfiguration all`` puts FRR's running configuration as one text."""

_SECRETS = re.compile(r"passkey|password|primary_cak|fallback_cak|secret|auth_key|^key$", re.IGNORECASE)
"""A pattern of fields whose values must not be displayed."""

_Pairs = list[tuple[str, object]]


@dataclass(slots=True)
class Row:
    """A row of a table.

    - ``key``: the name of the row; its parts are separated by ``|``.
    - ``line``, ``lines``: the line number of the row and of each field.
    - ``understood``: the names of fields that were understood.
    - ``irrelevant``: the names of fields without effect.
    """

    table: str
    key: str
    line: int
    fields: dict[str, Value]
    lines: dict[str, int]
    understood: set[str] = field(default_factory=set[str])
    irrelevant: set[str] = field(default_factory=set[str])
    known: bool = False
    """True if the row was understood as a whole. For a row without fields, only this decides if the row counts as understood."""

    def text(self, name: str) -> str:
        """Return the value of a field, and mark the field as understood. The result is empty if the field is missing."""
        value = self.fields.get(name, "")
        self.known = True
        self.understood.add(name)
        return value if isinstance(value, str) else ",".join(value)

    def number(self, name: str) -> int | None:
        """Return the number in a field, and mark the field as understood.

        If the value is not a number, mark the field as not understood and return None.
        """
        value = number(self.text(name))
        if value is None:
            self.understood.discard(name)
        return value

    def words(self, name: str) -> list[str]:
        """Return the words of a field, which is a list or a text with commas between words."""
        return [word.strip() for word in self.text(name).split(",") if word.strip()]

    def field_is(self, name: str, *words: str) -> bool:
        """Return True if a field has one of the values ``words``, given in lower case. The case of the field's value is ignored."""
        return self.text(name).casefold() in words

    def mark_unknown(self, name: str) -> None:
        """Mark a field as not understood after it was read, because ``DeviceConfig`` cannot represent its value."""
        self.understood.discard(name)

    def parts(self) -> list[str]:
        """Return the parts of the row's key."""
        return self.key.split("|")


@dataclass
class Rows:
    """The tables of a device.

    - ``strange``: (line, name) of values that are not tables of rows.
    - ``routing``: (line, text) of FRR's running configuration, which ``show runningconfiguration all`` adds as one text.
    """

    tables: dict[str, dict[str, Row]] = field(default_factory=dict[str, dict[str, Row]])
    strange: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    routing: tuple[int, str] | None = None

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table, in order, and mark each row as understood."""
        for row in self.tables.get(table, {}).values():
            row.known = True
            yield row

    def row(self, table: str, key: str) -> Row:
        """Return a row, or an empty row if the table has no such key."""
        row = self.tables.get(table, {}).get(key)
        if row is None:
            return Row(table, key, 0, {}, {})
        row.known = True
        return row

    def has(self, table: str) -> bool:
        """Return True if a table has rows."""
        return bool(self.tables.get(table))

    def statements(self) -> Iterator[tuple[int, str, str, bool | Known]]:
        """Yield (line, table, path, mark) for every field and for every row without fields. Secrets are replaced.

        The mark is True for an understood field or row, False for one that is not understood, and ``irrelevant`` for a field without
        effect.
        """
        for table, rows in self.tables.items():
            for row in rows.values():
                here = f"{table}|{without_secret(table, row.key)}"
                if not row.fields:
                    yield row.line, table, here, row.known
                for name, value in row.fields.items():
                    known = "irrelevant" if name in row.irrelevant else name in row.understood
                    text = value if isinstance(value, str) else ",".join(value)
                    yield row.lines[name], table, f"{here} {name} {_shown(name, text)}".rstrip(), known
        for line, name in self.strange:
            yield line, name, name, False


class TableReader(SectionReader):
    """A reader that treats each row as a section: the row's name is the header, and each of its fields is a line below it."""

    def __init__(self, rows: Rows, tables: frozenset[str]) -> None:
        self._rows = [row for name, table in rows.tables.items() if name in tables for row in table.values()]
        self._of: dict[str, tuple[Row, Section]] = {}
        for row in self._rows:
            section = to_section(row.table, row.key, row.fields)
            self._of[section.line] = row, section
        super().__init__([section for _, section in self._of.values()])

    def mark_field_unknown(self, header: str, name: str) -> None:
        """Mark a field as not understood after it was read, because ``DeviceConfig`` cannot represent its value.

        ``header`` is the table and the key of its row, separated by spaces.
        """
        row, section = self._of.get(header, (None, None))
        if row is not None and section is not None:
            row.mark_unknown(name)
            for field_line in section.body or ():
                if field_line.line.partition(" ")[0] == name:
                    self.mark_unknown(field_line)

    def note(self) -> None:
        """Record in each row which of its fields were understood. Call this function after all fields were read."""
        for row, section in zip(self._rows, self.sections, strict=True):
            row.known = row.known or bool(self.known(section))
            for name, field_line in zip(row.fields, section.body or (), strict=True):
                known = self.known(field_line)
                if known:
                    row.understood.add(name)
                if known == "irrelevant":
                    row.irrelevant.add(name)


@lru_cache(maxsize=512)
def _is_secret(name: str) -> bool:
    return _SECRETS.search(name) is not None


def _shown(name: str, text: str) -> str:
    """Return a value for display. Secrets are replaced by ``<secret:?>``, and values that contain objects by ``{...}``."""
    if _is_secret(name) and not text.startswith("<secret:"):
        return "<secret:?>"
    return "{...}" if "{" in text else text


def without_secret(table: str, key: str) -> str:
    """Return a row's key for display. The key of an SNMP community is a secret and is replaced."""
    return "<secret:?>" if table == "SNMP_COMMUNITY" and not key.startswith("<secret:") else key


def rows(text: str) -> Rows:
    """Return the tables of a text. Raises ``RenderError``, with the line number, if the text is not a JSON object.

    If an object has a name twice, the last value applies, as in SONiC's own ``json.load``. Earlier values are marked as not
    understood.
    """
    made = Rows()
    places: dict[str, int] = {}
    top = _parsed(text)
    lines = _lines(text)
    for name, value in top:
        at = next(lines)
        if name == _RAW and isinstance(value, str):
            made.routing = (at, value)
        elif not _is_pairs(value):
            made.strange.append((at, name))
            _skip(value, lines)
        else:
            if name in made.tables:
                made.strange.append((places[name], name))
            places[name] = at
            table = made.tables[name] = {}
            for key, row in value:
                here = next(lines)
                if key in table:
                    made.strange.append((table.pop(key).line, f"{name}|{without_secret(name, key)}"))
                if not _is_pairs(row):
                    made.strange.append((here, f"{name}|{without_secret(name, key)}"))
                    _skip(row, lines)
                    continue
                fields: dict[str, Value] = {}
                numbers: dict[str, int] = {}
                for word, inner in row:
                    if word in fields:
                        made.strange.append((numbers[word], f"{name}|{without_secret(name, key)} {word}"))
                    numbers[word] = next(lines)
                    fields[word] = _value(inner)
                    _skip(inner, lines)
                table[key] = Row(name, key, here, fields, numbers)
    return made


class _Object(list["tuple[str, object]"]):
    """A JSON object as a list of (name, value). The separate class distinguishes it from a JSON list."""


def _is_pairs(value: object) -> TypeGuard[_Object]:
    return isinstance(value, _Object)


def _parsed(text: str) -> _Pairs:
    try:
        parsed: object = parse_json(text, object_pairs_hook=_Object)
    except json.JSONDecodeError as error:
        raise RenderError(error.msg, error.lineno) from None
    except RecursionError:
        raise RenderError("it is nested too deeply", 1) from None
    except ValueError as error:  # a number with too many digits
        raise RenderError(str(error).partition(";")[0], 1) from None
    if not isinstance(parsed, _Object):
        raise RenderError("it is not an object of tables", 1)
    return parsed


def _lines(text: str) -> Iterator[int]:
    """Yield the line numbers of all names in a JSON text, in order. A name is a string before a colon."""
    line, last = 1, 0
    for match in _STRING.finditer(text):
        if match[1] is not None:
            start = match.start()
            line += text.count("\n", last, start)
            last = start
            yield line


def _skip(value: object, lines: Iterator[int]) -> None:
    """Skip the line numbers of all names inside ``value``, which is not read. ``lines`` yields the line numbers of names."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, _Object):
            for _, inner in item:
                next(lines)
                left.append(inner)
        elif isinstance(item, list):
            left += cast("list[object]", item)


def _value(value: object) -> Value:
    """Return a JSON value as text. Numbers stay as written, and values that contain objects become JSON text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and not isinstance(value, _Object):
        return [item if isinstance(item, str) else _written(item) for item in cast("list[object]", value)]
    return _written(value)


def _written(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return str(value)
    return json.dumps(_plain(value))


def _plain(value: object) -> object:
    if isinstance(value, _Object):
        return {name: _plain(inner) for name, inner in value}
    return [_plain(inner) for inner in cast("list[object]", value)] if isinstance(value, list) else value


def nodes(tables: Rows) -> tuple[Node, ...]:
    """Return the tables as nodes of a tree, each with its line number."""
    return tuple(
        Node((name,), children=tuple(_node(row) for row in table.values()), at=_line(next(iter(table.values()))))
        for name, table in tables.tables.items()
        if table
    )


def _line(first: Row) -> int:
    """Return the line number of a table, derived from the table's first row.

    The table's line is the line before that row. If table and row are on one line, the result is the row's line.
    """
    return first.line - (first.line not in first.lines.values())


def _node(row: Row) -> Node:
    return Node((row.key,), children=tuple(_fields(row)), at=row.line)


def _fields(row: Row) -> Iterable[Node]:
    for name, value in row.fields.items():
        listed = not isinstance(value, str)
        values = tuple(value) if listed else (value,)
        yield Node((name,), cast("tuple[str, ...]", values), listed=listed, at=row.lines[name])
