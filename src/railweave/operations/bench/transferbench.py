"""The tables of TransferBench's presets. Up to four lines name the columns. Tables have borders, no borders, or commas between cells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_CELL = re.compile(
    r"NIC\(\d+ QP\)|[CG]PU->[CG]PU|(?:Rank|GPU|CPU|NIC|SE) ?\d+(?:Mx)?|SRC\S*DST\S*|(?:SRC|DST) (?:Rank|NIC|MEM)|(?:Mem|NIC) Device"
    r"|[\d.]+\( *\d+\)|[^\s,|│]+(?: \(GB/s\))?"
)
_VALUE = re.compile(r"\d[\d.]*(?:\( *\d+\))?|N/A")
_DEVICE = re.compile(r"(?:Rank|GPU|CPU|NIC|SE) ?\d+(?:Mx)?")
_WAYS = {"->", "<-", "<->"}
_NUMBERS = ("Rank", "GPU", "NumCUs", "#CUs", "BlkS", "UnR")
"""The names of leading columns that hold a number, such as a rank or a GPU."""
_AGGREGATE = re.compile(r"RTotal|(?:MAX|AVG|MIN) \(|Averages|Best")
_CORNER = re.compile(r"SRC\S*DST\S*|(?:SRC|DST) (?:Rank|NIC|MEM)|(?:Mem|NIC) Device|Name|Dir|" + "|".join(_NUMBERS))
_SUMS = ("STotal", "Actual", "TOTAL")
_HEAD = re.compile(
    r"SRC|(?:Mem|NIC) Device|\b(?:NumCUs|BlkS|TOTAL|MaxBw)\b|#CUs|\bRank\W{1,200}Name\b|[CG]PU->[CG]PU|bw \(GB/s\)|\bRing\d+\b|Local Read"
)

Cell = tuple[str, str, str, str]
"""A cell of a table: its row, its column, its direction (may be empty) and its value, as printed."""


@dataclass
class Matrix:
    """A table of TransferBench, as far as it has been read.

    - ``heads``: the header lines. A line is a list of cells, each with the position at which its text ends.
    - ``columns``: the column names, made from the header lines.
    - ``rank``: the rank of the row that was read last.
    - ``repeats``: True if the table only repeats numbers of the previous table.
    """

    heads: list[list[tuple[int, str]]] = field(default_factory=list[list[tuple[int, str]]])
    columns: list[str] = field(default_factory=list[str])
    rank: str = ""
    repeats: bool = False

    def read(self, text: str) -> list[Cell] | str | None:
        """Read a line of the table, and return its cells.

        The list is empty for a header line. The result is None for a line outside the table. If a row does not match the
        header, the result is a text with the reason.
        """
        if self.repeats:
            return []
        cells = _cells(text)
        texts = [cell for _, cell in cells]
        if self._head(text, cells):
            return []
        first = next((place for place in range(len(texts), 0, -1) if not _VALUE.fullmatch(texts[place - 1])), 0)
        if first == len(texts) or not (self.heads or self.columns):
            return None
        self.columns = self.columns or self._named()
        labels, values = texts[:first], texts[first:]
        if self.columns[:1] == ["bw (GB/s)"]:  # a line for each pair
            half = next((place for place in range(len(labels) - 1, 0, -1) if labels[place].startswith("Rank")), 0)
            way = next((label for label in labels if label in _WAYS), "")
            source = " ".join(label for label in labels[:half] if label != way)
            return [(source, " ".join(labels[half:]), way, values[-1])]
        if self.columns and self.columns[0].startswith("Ring"):
            return self._rings(texts)
        return self._row(labels, values)

    def _head(self, text: str, cells: list[tuple[int, str]]) -> bool:
        """Add a line to the header lines if it is a header line, and return True if it is. ``cells`` are the (position, text) of its cells."""
        texts = [cell for _, cell in cells]
        if texts[:1] == ["Device"] and self.heads and (kinds := re.findall(r"(\w+) BW\b", text)):
            rings = zip((cell for _, cell in self.heads[-1]), ["", *dict.fromkeys(kinds)] * len(cells), strict=False)
            self.heads = [[(place, f"{ring} {kind}".strip()) for place, (ring, kind) in enumerate(rings)]]
            return True
        if not _HEAD.search(text) and not (texts and all(_DEVICE.fullmatch(cell) for cell in texts)):
            return False
        if self.columns:
            self.heads, self.columns, self.rank = [], [], ""
        self.heads = [*self.heads, cells[:1] if "#CUs" in texts else cells][-4:]
        return True

    def _named(self) -> list[str]:
        """Return the name of each column, made from the header lines: the texts above the column from top to bottom, such as ``GPU 00``.

        A column of sums, such as a total, has only that word as its name.
        """
        lines = [[(end, cell) for end, cell in head if not _CORNER.fullmatch(cell)] for head in self.heads]
        whole = max(lines, key=len, default=list[tuple[int, str]]())
        names = [list[str]() for _ in whole]
        for line in lines:
            left, cell = list(reversed(line)), ""
            for name, (end, _) in zip(names, whole, strict=True):
                if left and (len(line) == len(whole) or left[-1][0] <= end):
                    cell = left.pop()[1]
                name.append(cell)
        sums = (next((cell for cell in name if cell in _SUMS), "") for name in names)
        return [total or " ".join(filter(None, name)) for total, name in zip(sums, names, strict=True)]

    def _rings(self, texts: list[str]) -> list[Cell]:
        """Return the cells of a row of the preset ``rings``. The row has a group of columns for each ring: a device and its rates."""
        width = sum(column.split()[0] == self.columns[0].split()[0] for column in self.columns)
        return [
            (texts[place], column, "", value)
            for place in range(0, len(texts), width)
            for column, value in zip(
                self.columns[place + 1 : place + width], texts[place + 1 : place + width], strict=False
            )
        ]

    def _row(self, labels: list[str], values: list[str]) -> list[Cell] | str:
        """Return the cells of a row, or the reason why the row does not match the header.

        ``labels`` are the texts at the start of the row, and ``values`` the numbers that follow.
        """
        columns = self.columns
        if labels[:1] == ["RTotal"] and len(values) == len(columns) + 1:
            columns = [*columns, "largest Actual"]
        extra = max(0, len(values) - len(columns))
        labels, values = [*labels, *values[:extra]], values[extra:]
        if len(values) != len(columns) or not labels:
            return f"{len(values)} values under {len(columns)} columns"
        if labels[-1] in {"min", "max", "sd"}:
            return []
        way = next((label for label in labels if label in _WAYS), "")
        labels = [label for label in labels if label != way]
        if labels and labels[0].startswith("Rank"):
            self.rank, labels = labels[0], labels[1:]
        elif labels and _AGGREGATE.match(labels[0]):
            self.rank = ""
        corners = dict(enumerate(cell for head in self.heads for _, cell in head if cell in _NUMBERS))
        named = [
            f"{corners[place]} {label}" if place in corners and label.isdigit() else label
            for place, label in enumerate(labels)
        ]
        row = " ".join(filter(None, (self.rank, *named))).rstrip(":")
        return [(row, column, way, value) for column, value in zip(columns, values, strict=True)]


def _cells(text: str) -> list[tuple[int, str]]:
    """Return (position, text) for each cell of a line.

    The position is the index of the cell if commas or bars divide the cells. Otherwise it is the column where the text ends.
    """
    if text.count(",") > 1:
        return [(place, match[0]) for place, cell in enumerate(text.split(",")) for match in _CELL.finditer(cell)]
    if "Local Read" in text:
        return [(place, cell.strip()) for place, cell in enumerate(text.strip(" |").split("|"))]
    return [(match.end(), match[0]) for match in _CELL.finditer(text.replace("│", " "))]
