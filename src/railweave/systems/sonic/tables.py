"""Tables of ``config_db.json``, with functions to print, parse and merge them.

A table has rows by key (``A|B`` if the key has several parts), and a row has fields.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, cast

from railweave.errors import RenderError
from railweave.model.config.sections import Section
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


Value = str | list[str]
Row = dict[str, Value]
Tables = dict[str, dict[str, Row]]

_INDENT = " " * 4


def to_text(tables: Tables) -> str:
    """Return tables as the text of a JSON file. As in ``config save``, tables are in alphabetical order; rows stay in the given order.

    The standard library's JSON printer is not used: it is several times slower for the thousands of rows of a switch.
    """
    return "{\n" + ",\n".join(_table(name, tables[name]) for name in sorted(tables) if tables[name]) + "\n}\n"


def _table(name: str, rows: Mapping[str, Row]) -> str:
    body = ",\n".join(_row(key, row) for key, row in rows.items())
    return f"{_INDENT}{encode_basestring(name)}: {{\n{body}\n{_INDENT}}}"


def _row(key: str, row: Row) -> str:
    head = f"{_INDENT}{_INDENT}{encode_basestring(key)}: "
    if not row:
        return head + "{}"
    fields = ",\n".join(f"{3 * _INDENT}{encode_basestring(field)}: {_value(value)}" for field, value in row.items())
    return f"{head}{{\n{fields}\n{_INDENT}{_INDENT}}}"


def _value(value: Value) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    return "[" + ", ".join(encode_basestring(text) for text in value) + "]"


def parse(text: str) -> Tables:
    """Return the tables of a file.

    Raises ``RenderError`` if the text is not JSON, repeats a key, or has a value that is not a table of rows.
    """
    if not text.strip():
        return {}
    try:
        parsed: object = parse_json(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise RenderError(error.msg, error.lineno) from None
    except (RecursionError, ValueError):  # or a number with thousands of digits
        raise RenderError("it is no JSON that can be read", 1) from None
    return {name: _rows(name, rows) for name, rows in _object("the file", parsed).items()}


def merge(into: Tables, extra: Tables) -> None:
    """Merge the rows of ``extra`` into ``into``, field by field. If both have a field, the value in ``extra`` applies."""
    for name, rows in extra.items():
        table = into.setdefault(name, {})
        for key, row in rows.items():
            table[key] = {**table.get(key, {}), **row}


LISTED = frozenset({("DNS_OPTIONS", "search"), ("NTP", "src_intf"), ("SWITCH_HASH", "ecmp_hash")})
"""The fields whose values are lists."""


def of_sections(sections: Iterable[Section]) -> Tables:
    """Return the tables that sections describe. Each section is a row, as ``to_section`` returns it."""
    tables: Tables = {}
    for section in sections:
        table, _, key = section.line.partition(" ")
        row = tables.setdefault(table, {}).setdefault(key.replace(" ", "|"), {})
        for line in section.body or ():
            name, _, value = line.line.partition(" ")
            row[name] = value.split(",") if (table, name) in LISTED else value
    return {table: _ordered(rows) for table, rows in tables.items()}


def _ordered(rows: dict[str, Row]) -> dict[str, Row]:
    """Return the rows, reordered so that the rows of an interface's addresses follow the row of the interface."""
    places = {key: place for place, key in enumerate(rows)}
    return {key: rows[key] for key in sorted(rows, key=lambda key: places.get(key.partition("|")[0], places[key]))}


def to_section(table: str, key: str, row: Row) -> Section:
    """Return a row as a section: a header with the table and the key, and a line for each field.

    If the key contains spaces, no statement of the tables matches the header.
    """
    fields = [Section(f"{name} {value if isinstance(value, str) else ','.join(value)}") for name, value in row.items()]
    return Section(f"{table} {key if ' ' in key else key.replace('|', ' ')}", fields or None)


def lines(tables: Tables) -> list[str]:
    """Return every field with its table and key, for example ``PORT|Ethernet0 mtu 9202``."""
    return [
        " ".join([f"{name}|{key}", field, *([value] if isinstance(value, str) else value)]).rstrip()
        for name, rows in tables.items()
        for key, row in rows.items()
        for field, value in (row or {"": ""}).items()
    ]


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in pairs:
        if key in fields:
            raise RenderError(f"{key!r} stands twice in one object")
        fields[key] = value
    return fields


def _object(place: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise RenderError(f"{place} is not an object of names and values")
    return cast("dict[str, object]", value)


def _rows(table: str, value: object) -> dict[str, Row]:
    return {
        key: {
            field: _field(f"{table}|{key} {field}", field_value)
            for field, field_value in _object(f"{table}|{key}", row).items()
        }
        for key, row in _object(f"table {table}", value).items()
    }


def _field(where: str, value: object) -> Value:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        items = cast("list[object]", value)
        if all(isinstance(item, str) for item in items):
            return cast("list[str]", items)
    raise RenderError(f"{where}: values are text, or lists of text")
