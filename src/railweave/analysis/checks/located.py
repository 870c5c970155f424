"""Readers that convert JSON and YAML texts to values with line numbers, and the comparison of CSV files row by row."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from railweave.analysis.checks.servers.entries import Difference, Entry, Kind, differences, placed
from railweave.csv_cells import text_of_cell
from railweave.errors import RenderError, SpecError
from railweave.model.findings.registry import Rule
from railweave.reading import MOST_VALUES, compose_yaml, csv_rows, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable


TABLE_DIFFERS = Rule(
    "table-differs",
    "error",
    "folder",
    "a row of cabling.csv, addresses.csv, racks.csv or panels.csv differs from the design",
    "technicians and other tools work from these tables",
    "build the folder again; if the table is right and the design wrong, change the inventory or the fabric file",
)
ROW = Kind("row", TABLE_DIFFERS)

KEYS = {
    "cabling.csv": ("a_device", "a_port"),
    "addresses.csv": ("kind", "device", "interface", "color", "vlan"),
    "racks.csv": ("device", "port"),
    "panels.csv": ("a_device", "a_port"),
}
"""The CSV files of a build folder, each with the columns that identify a row."""


def table_differences(name: str, designed: str, actual: str) -> list[Difference]:
    """Return the differences between a CSV file and the designed file. ``name`` is the file name, for example ``cabling.csv``.

    ``actual`` is the text of the CSV file. Raises ``RenderError``, with the line, if the text is not a table.
    """
    columns, wanted, _ = _read(designed, KEYS[name])
    has_columns, has, odd = _read(actual, KEYS[name])
    made = [
        Difference(TABLE_DIFFERS, f"column {column} is missing", 1) for column in columns if column not in has_columns
    ]
    made += [
        Difference(TABLE_DIFFERS, f"column {column} is not designed", 1)
        for column in has_columns
        if column not in columns
    ]
    if made:  # every row would differ by that
        return made
    return placed([*odd, *differences(wanted, has)], designed, actual)


def _read(text: str, keys: tuple[str, ...]) -> tuple[list[str], list[Entry], list[Difference]]:
    """Return (column names, rows, differences) of a CSV text. A row with too many or too few cells becomes a difference.

    ``keys`` are the columns that identify a row.
    """
    reader = csv_rows(text, strict=True)
    rows: list[Entry] = []
    odd: list[Difference] = []
    try:
        columns = next(reader, list[str]())
        for cells in reader:
            line = reader.line_num
            if cells and len(cells) != len(columns):
                odd.append(Difference(TABLE_DIFFERS, f"{len(cells)} cells under {len(columns)} columns", line))
            elif cells:
                fields = dict(zip(columns, map(text_of_cell, cells), strict=True))
                rows.append(Entry(ROW, fields, line, " ".join(filter(None, (fields.get(key, "") for key in keys)))))
    except csv.Error as error:
        raise RenderError(f"not a table: {error}", reader.line_num) from None
    return columns, rows, odd


FILE_MISSING = Rule(
    id="file-missing",
    severity="error",
    applies="folder",
    fault="a file of a build folder is missing",
    why="the folder is incomplete: programs that read it get only a part of the design",
    fix="build the folder again",
)
FILE_UNREADABLE = Rule(
    id="file-unreadable",
    severity="error",
    applies="folder",
    fault="a file of a build folder is empty, or not of its format",
    why="a device or server that loads the file gets no configuration, or a part of it",
    fix="build the folder again",
)
FILE_EDITED = Rule(
    id="file-edited",
    severity="warning",
    applies="folder",
    fault="a file that no check reads was changed after the build; severity info if only comments, blanks or order "
    "changed",
    why="the effect of the change is unknown, and the next build overwrites it",
    fix="build again",
    sometimes="info",
)
FILE_UNKNOWN = Rule(
    id="file-unknown",
    severity="warning",
    applies="folder",
    fault="a build folder contains a file that a build of its design does not write",
    why="the file is not used, and a build neither replaces nor removes it; it may belong to a removed device, or "
    "have a wrong name",
    fix="remove the file, or keep it in a different folder",
)
DESIGN_EDITED = Rule(
    id="design-edited",
    severity="error",
    applies="folder",
    fault="design.json was changed after the build",
    why="all other files of the folder are compared with design.json",
    fix="change the fabric file and build again",
)
NOT_CAPTURED = Rule(
    id="not-captured",
    severity="warning",
    applies="folder",
    fault="the folder has no saved configuration of a switch",
    why="results are computed with the designed configuration of this switch",
    fix="save the configuration as DEVICE/configuration.txt",
    sometimes="error",
)


Data: TypeAlias = "str | list[LocatedValue] | dict[str, LocatedValue]"

_TRUTH: dict[str, str] = dict.fromkeys(["true", "yes", "on", "y"], "true") | dict.fromkeys(
    ["false", "no", "off", "n"], "false"
)
"""The words for true and false in YAML 1.1, which netplan reads, each with its standard word."""
_NOT_TEXT = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?|true|false|null")


@dataclass(frozen=True, slots=True)
class LocatedValue:
    """A value (``data``) with its line. The value is a string, a list or a mapping; numbers, true and false are kept as strings."""

    data: Data
    line: int

    def named(self) -> dict[str, LocatedValue]:
        """Return the mapping, or an empty dictionary if the value is not a mapping."""
        return self.data if isinstance(self.data, dict) else {}

    def items(self) -> list[LocatedValue]:
        """Return the items of a list. A value that is not a list is returned as the only item."""
        return self.data if isinstance(self.data, list) else [self]

    @property
    def text(self) -> str:
        """The value as one line of text, for example ``[1500, 9000]`` or ``{mtu: 9000}``."""
        if isinstance(self.data, str):
            return self.data
        if isinstance(self.data, list):
            return "[" + ", ".join(element.text for element in self.data) + "]"
        return "{" + ", ".join(f"{name}: {child.text}" for name, child in self.data.items()) + "}"

    def fields(self, without: Iterable[str] = ()) -> dict[str, str]:
        """Return the values of a mapping by key, each as one line of text (see ``text``), except the keys in ``without``."""
        left = set(without)
        return {name: child.text for name, child in self.named().items() if name not in left}

    def lines(self) -> dict[str, int]:
        """Return the line of each value in a mapping, by key."""
        return {name: child.line for name, child in self.named().items()}


def read_yaml(text: str) -> LocatedValue:
    """Return the value of a YAML text. Raises ``RenderError``, with the line, if the text cannot be read."""
    return _from_nodes(_composed(text), [0], ())


def read_json(text: str) -> LocatedValue:
    """Return the value of a JSON text. Raises ``RenderError``, with the line, if the text cannot be read."""
    try:
        value = parse_json(text)
    except json.JSONDecodeError as error:
        raise RenderError(f"not JSON: {error.msg}", error.lineno) from None
    except ValueError as error:
        raise RenderError(f"not JSON: {error}") from None
    try:
        node = _composed(text)  # JSON is YAML, but for what is rare
    except RenderError:
        node = None
    try:
        parse_json(text, object_pairs_hook=_once)
    except ValueError as error:
        raise RenderError(f"not JSON: {error}", _twice(node) if node is not None else 0) from None
    return _beside(value, node, 1)


def _composed(text: str) -> Any:  # noqa: ANN401 - YAML nodes are untyped
    try:
        node = compose_yaml(text, "")
    except SpecError as error:
        [problem] = error.problems
        raise RenderError(problem.what, getattr(problem.place, "line", 0) or 0) from None
    if node is None:
        raise RenderError("there is nothing in it", 1)
    return node


def _from_nodes(node: Any, count: list[int], around: tuple[int, ...]) -> LocatedValue:  # noqa: ANN401 - YAML nodes
    line = node.start_mark.line + 1
    count[0] += 1
    if count[0] > MOST_VALUES or id(node) in around:
        raise RenderError("an alias stands for too much", line)
    around = (*around, id(node))
    if node.id == "scalar":
        plain = node.style not in {'"', "'", "|", ">"}
        return LocatedValue(_plain(node.value) if plain else node.value, line)
    if node.id == "sequence":
        return LocatedValue([_from_nodes(element, count, around) for element in node.value], line)
    fields: dict[str, LocatedValue] = {}
    for key, value in node.value:
        if key.id != "scalar":
            raise RenderError("a key is not a word", key.start_mark.line + 1)
        if key.value in fields:
            raise RenderError(f"{key.value!r} stands twice in one place", key.start_mark.line + 1)
        inner = _from_nodes(value, count, around)
        fields[key.value] = LocatedValue(inner.data, key.start_mark.line + 1)
    return LocatedValue(fields, line)


def _plain(text: str) -> str:
    lower = text.lower()
    return _TRUTH.get(lower, str(int(text)) if text.isascii() and text.isdigit() else text)


def _beside(value: Any, node: Any, line: int) -> LocatedValue:  # noqa: ANN401 - JSON, and its YAML nodes for the lines
    line = node.start_mark.line + 1 if node is not None else line
    if isinstance(value, dict):
        inner = {key.value: (key, child_node) for key, child_node in node.value} if node is not None else {}
        fields: dict[str, LocatedValue] = {}
        for name, child in cast("dict[str, Any]", value).items():
            key, under = inner.get(name, (None, None))
            at = key.start_mark.line + 1 if key is not None else line
            fields[name] = LocatedValue(_beside(child, under, at).data, at)
        return LocatedValue(fields, line)
    if isinstance(value, list):
        items = cast("list[Any]", value)
        nodes = node.value if node is not None else [None] * len(items)
        return LocatedValue([_beside(element, under, line) for element, under in zip(items, nodes, strict=True)], line)
    if isinstance(value, str):
        return LocatedValue(json.dumps(value) if _NOT_TEXT.fullmatch(value) else value, line)
    return LocatedValue(json.dumps(value), line)


def _once(pairs: list[tuple[str, object]]) -> None:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"{twice!r} stands twice in one object")


def _twice(node: Any) -> int:  # noqa: ANN401 - YAML nodes are untyped
    """Return the line of the first duplicate key in a YAML node, at any depth. Return 0 if no key is duplicate."""
    if node.id == "scalar":
        return 0
    if node.id == "sequence":
        return next((line for element in node.value if (line := _twice(element))), 0)
    names: set[str] = set()
    for key, value in node.value:
        if key.value in names:
            return key.start_mark.line + 1
        names.add(key.value)
        if line := _twice(value):
            return line
    return 0
