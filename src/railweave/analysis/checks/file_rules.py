"""Rules about files of a build folder or of saved configurations, and the comparison of tables row by row."""

from __future__ import annotations

import csv
import io

from railweave.analysis.checks.servers.entries import Difference, Entry, Kind, differences, placed
from railweave.errors import RenderError
from railweave.model.findings.registry import Rule

TABLE_DIFFERS = Rule(
    "table-differs",
    "error",
    "folder",
    "a row of cabling.csv, addresses.csv or racks.csv differs from the design",
    "people cable, label and address by these tables, and other tools import them",
    "build again; where the table says what is true, write it into the inventory or the fabric file",
)
ROW = Kind("row", TABLE_DIFFERS)

KEYS = {
    "cabling.csv": ("a_device", "a_port"),
    "addresses.csv": ("kind", "device", "interface", "color", "vlan"),
    "racks.csv": ("device", "port"),
}
"""The tables, each with the columns that identify a row."""


def table_differences(name: str, designed: str, found: str) -> list[Difference]:
    """What a table says otherwise than designed. Raises ``RenderError`` with the line where it is no table."""
    columns, wanted, _ = _read(designed, KEYS[name])
    has_columns, has, odd = _read(found, KEYS[name])
    made = [Difference(TABLE_DIFFERS, f"column {one} is missing", 1) for one in columns if one not in has_columns]
    made += [Difference(TABLE_DIFFERS, f"column {one} is not designed", 1) for one in has_columns if one not in columns]
    if made:  # every row would differ by that
        return made
    return placed([*odd, *differences(wanted, has)], designed, found)


def _read(text: str, keys: tuple[str, ...]) -> tuple[list[str], list[Entry], list[Difference]]:
    """The columns, a row an entry, and rows that have more or fewer cells."""
    reader = csv.reader(io.StringIO(text), strict=True)
    rows: list[Entry] = []
    odd: list[Difference] = []
    try:
        columns = next(reader, list[str]())
        for cells in reader:
            line = reader.line_num
            if cells and len(cells) != len(columns):
                odd.append(Difference(TABLE_DIFFERS, f"{len(cells)} cells under {len(columns)} columns", line))
            elif cells:
                fields = dict(zip(columns, cells, strict=True))
                rows.append(Entry(ROW, fields, line, " ".join(filter(None, (fields.get(one, "") for one in keys)))))
    except csv.Error as error:
        raise RenderError(f"not a table: {error}", reader.line_num) from None
    return columns, rows, odd


FILE_MISSING = Rule(
    id="file-missing",
    severity="error",
    applies="folder",
    says="a file of a build folder is missing",
    why="the folder is incomplete: whoever loads it loads a part of the design",
    fix="build it again",
)
FILE_UNREADABLE = Rule(
    id="file-unreadable",
    severity="error",
    applies="folder",
    says="a file of a build folder is empty, or not of its format",
    why="a device or server that loads the file gets nothing, or half of its configuration",
    fix="build it again",
)
FILE_EDITED = Rule(
    id="file-edited",
    severity="warning",
    applies="folder",
    says="a file of a build folder was changed after the build, and no check reads its values; an info where only comments, blanks or order changed",
    why="no check tells what the change does, and the next build overwrites it",
    fix="build again",
    sometimes="info",
)
FILE_UNKNOWN = Rule(
    id="file-unknown",
    severity="warning",
    applies="folder",
    says="a build folder holds a file that a build of its design does not write",
    why="nothing reads the file, and no build replaces or removes it: it may belong to a device that is gone, or have a wrong name",
    fix="remove it, or keep it elsewhere",
)
DESIGN_EDITED = Rule(
    id="design-edited",
    severity="error",
    applies="folder",
    says="design.json was changed after the build",
    why="every other file of the folder is compared with it",
    fix="change the fabric file and build again",
)
NOT_CAPTURED = Rule(
    id="not-captured",
    severity="warning",
    applies="folder",
    says="no configuration of the switch was saved",
    why="the designed one stands for it in all that is worked out",
    fix="save it, as DEVICE/configuration.txt",
)
