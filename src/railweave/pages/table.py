"""A table that is declared once and written as text, HTML, CSV, JSON and Markdown.

A cell is usually a plain value. If people and programs need different contents, the cell is a ``Cell``, which has both a text and
a value.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from railweave.csv_cells import csv_cell
from railweave.pages.shell import element, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

LONG = 16
"""A table with more rows than this can get its own scroll bar on a page (``Table.scrolls``)."""

NOTHING = "–"
"""The text of a cell whose value is None."""


class Column(NamedTuple):
    """A column. ``kind`` sets the style of its cells: numbers are right-aligned, others left-aligned; ``mono`` uses a monospaced font.

    ``when`` is the kind for times and durations. ``key`` is the column's name in CSV and JSON. Without a key, the title is used.
    """

    title: str
    kind: Literal["text", "number", "mono", "when"] = "text"
    key: str = ""

    @property
    def name(self) -> str:
        """The name of the column in CSV and JSON."""
        return self.key or self.title


class Cell(NamedTuple):
    """A cell whose text differs from its value. ``css`` is its CSS class; ``markup`` is its HTML content (default: the text)."""

    value: object
    text: str
    css: str = ""
    markup: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under columns.

    - ``name``: the HTML ID of the table.
    - ``caption``: its heading on a page.
    - ``row_css``: the CSS class of each row.
    - ``remarks``: sentences below a row, each on its own line, by the index of the row.
    - ``left_out``: the number of rows that are not among ``rows``.
    - ``scrolls``: True if a long table gets its own scroll bar.
    - ``stacks``: True if a narrow window shows the cells of a row below each other, each after its column's title.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[object]]
    name: str = ""
    caption: str = ""
    row_css: Sequence[str] = ()
    remarks: dict[int, str] | None = None
    left_out: int = 0
    scrolls: bool = False
    stacks: bool = False

    def first(self, most: int) -> Table:
        """Return the table with only its first ``most`` rows. The other rows are counted in ``left_out``."""
        rest = len(self.rows) - most
        return self if rest <= 0 else replace(self, rows=self.rows[:most], left_out=self.left_out + rest)

    def to_text(
        self, indent: str = "", *, head: bool = True, styled: Callable[[str, str], str] | None = None
    ) -> list[str]:
        """Return the lines for a terminal, or no lines if there are no rows. Two blanks separate columns.

        ``indent`` begins every line. Without ``head``, there is no header line. ``styled`` is a function from a cell's text and CSS class
        to the text with terminal colors.
        """
        if not self.rows:
            return []
        texts = [[shown(cell) for cell in row] for row in self.rows]
        titles = [[column.title for column in self.columns]] if head else []
        widths = [max(map(len, column)) for column in zip(*titles, *texts, strict=True)]
        lines = [indent + self._line(line, line, widths) for line in titles]
        for place, (row, line) in enumerate(zip(self.rows, texts, strict=True)):
            colored = line
            if styled is not None:
                colored = [
                    styled(cell_text, cell.css) if isinstance(cell, Cell) and cell.css else cell_text
                    for cell, cell_text in zip(row, line, strict=True)
                ]
            lines.append(indent + self._line(line, colored, widths))
            lines += [f"{indent}    {remark}" for remark in (self.remarks or {}).get(place, "").splitlines()]
        return [*lines, f"{indent}… and {self.left_out:,} more"] if self.left_out > 0 else lines

    def _line(self, texts: Sequence[str], colored: Sequence[str], widths: Sequence[int]) -> str:
        """Return a line of cells, padded to ``widths``. ``colored`` are the printed texts; ``texts`` are the same without terminal colors."""
        cells: list[str] = []
        for column, plain, color, width in zip(self.columns, texts, colored, widths, strict=True):
            blanks = " " * (width - len(plain))
            cells.append(blanks + color if column.kind == "number" else color + blanks)
        return "  ".join(cells).rstrip()

    def to_html(self) -> str:
        """Return the markup of the table."""
        rows: list[str] = []
        folds = any(len(shown(cell)) > LONG_CELL for row in self.rows for cell in row)
        titled = self.stacks or folds
        for place, row in enumerate(self.rows):
            css = self.row_css[place] if place < len(self.row_css) else ""
            cells = (_td(cell, column, titled=titled) for cell, column in zip(row, self.columns, strict=True))
            rows.append(element("tr", *cells, class_=css or None))
            if remark := (self.remarks or {}).get(place):
                rows.append(element("tr", element("td", text(remark), class_="because", colspan=len(self.columns))))
        more = f"{self.left_out:,} more rows are left out." if self.left_out > 0 else ""
        return html_table(
            self.columns,
            rows,
            name=self.name,
            caption=self.caption,
            scrolls=self.scrolls and len(self.rows) > LONG,
            css="stacks" if self.stacks else "folds" if folds else "",
        ) + (element("p", text(more), class_="about") if more else "")

    def to_markdown(self) -> list[str]:
        """Return the lines of a Markdown table. A vertical bar inside a cell is escaped."""
        titles = [column.title for column in self.columns]
        lines = (
            titles,
            ["---"] * len(titles),
            *([shown(cell).replace("|", "\\|") for cell in row] for row in self.rows),
        )
        return [f"| {' | '.join(line)} |" for line in lines]

    def as_csv(self) -> str:
        """Return the values as CSV (RFC 4180, but with line feeds), with a header line. None becomes an empty field."""
        return csv_text(self.columns, self.rows)

    def to_json(self) -> list[dict[str, Any]]:
        """Return a dict for each row: the cells' values, by column name."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, map(value_of, row), strict=True)) for row in self.rows]


def csv_text(heads: Iterable[Column], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV with a header line. ``rows`` may be a generator, so that memory need not hold all rows at once.

    A text that a spreadsheet would take for a formula is marked (``csv_cells``).
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_cell(column.name) for column in heads])
    writer.writerows(list(map(csv_cell, map(value_of, row) if Cell in map(type, row) else row)) for row in rows)
    return out.getvalue()


def columns(*titles: str, numbers: Iterable[str] = ()) -> tuple[Column, ...]:
    """Return text columns with the given titles. Titles in ``numbers`` become number columns."""
    right = set(numbers)
    return tuple(Column(title, "number" if title in right else "text") for title in titles)


def joined(head: Column, tables: Sequence[tuple[str, Table]]) -> Table:
    """Join several tables that have the same columns into one table. A new first column, ``head``, has the name of each row's original table.

    ``tables`` has (name, table) of each. A single table is returned unchanged.
    """
    first = tables[0][1]
    if len(tables) == 1:
        return first
    return Table(
        (head, *first.columns),
        [(name, *row) for name, table in tables for row in table.rows],
        row_css=[css for _, table in tables for css in table.row_css],
    )


def formatted(value: float | None, form: str = ",.1f") -> Cell | None:
    """Return a table cell with a number and its text in the Python format ``form``. Return None if the number is None."""
    return None if value is None else Cell(value, format(value, form))


def long_text(words: str) -> Cell:
    """Return a cell with a text that gets a wide column on a page."""
    return Cell(words, words, "said")


EMPTY = Cell(None, "")
"""A cell in a place where a value makes no sense. Its text is empty. For an unknown value, use None instead."""


def shown(cell: object) -> str:
    """Return the displayed text of a cell."""
    if isinstance(cell, Cell):
        return cell.text
    if cell is None:
        return NOTHING
    return cell if isinstance(cell, str) else f"{cell:,}" if isinstance(cell, int) else str(cell)


def value_of(cell: object) -> Any:  # noqa: ANN401 - any value
    """Return the value of a cell, without its formatting, for JSON and CSV."""
    return cell.value if isinstance(cell, Cell) else cell


def html_table(
    heads: Sequence[Column],
    rows: Iterable[str],
    *,
    name: str = "",
    caption: str = "",
    scrolls: bool = False,
    css: str = "",
) -> str:
    """Return an HTML table from rows that are already markup. With ``scrolls``, a high table gets its own scroll bar.

    ``heads`` are the columns, and ``caption`` is the heading. ``css`` is a further class: ``stacks`` shows the cells of a row below each
    other in a window narrower than a desktop's; ``folds`` does so on a telephone only.
    """
    top = element("thead", element("tr", *_titles(heads)))
    label = element("caption", text(caption)) if caption else ""
    inner = element("table", label, top, element("tbody", *rows), class_=f"plain {css}".strip(), id=name or None)
    return element("div", inner, class_="scroll long" if scrolls else "scroll", tabindex=0)


def _titles(heads: Sequence[Column]) -> Iterator[str]:
    for column in heads:
        if not column.title:
            yield element("td", "")
            continue
        yield element("th", text(column.title), scope="col", class_="number" if column.kind == "number" else None)


LONG_CELL = 30
"""A length in characters. If a table has a longer text, a telephone shows the cells of each row below each other."""
BRIEF = 14
"""A text up to this many characters is never broken into two lines."""


def _td(cell: object, column: Column, *, titled: bool) -> str:
    """Return the markup of a cell. With ``titled``, the cell carries its column's title, for tables that fold in a narrow window."""
    plain = shown(cell)
    css = " ".join(
        filter(None, ("" if column.kind == "text" else column.kind, cell.css if isinstance(cell, Cell) else ""))
    )
    if not css and len(plain) <= BRIEF and not plain.isalnum():
        css = "brief"
    markup = cell.markup if isinstance(cell, Cell) and cell.markup else text(plain)
    return element(
        "td", markup or "&#8203;", class_=css or None, data_title=column.title if titled and markup else None
    )
