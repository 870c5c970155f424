"""Cells of CSV files that a spreadsheet would take for a formula (CWE-1236). One function marks them, the other reads them back.

A text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return gets an apostrophe in front, which spreadsheets do not
show. Numbers and a single dash stay as they are. Names and descriptions of devices may come from anyone.
"""

from __future__ import annotations

import re

_FIRST = frozenset("=+-@\t\r'")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_HARMLESS = re.compile(r"-+|[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?%?|[+-]inf")


def csv_cell(value: object) -> object:
    """Return the value to write into a cell: a text with an apostrophe in front if it could be a formula; else ``value``."""
    if not isinstance(value, str) or value[:1] not in _FIRST or not _FORMULA.match(value) or _HARMLESS.fullmatch(value):
        return value
    return f"'{value}"


def text_of_cell(cell: str) -> str:
    """Return the text of a cell that was read, without the apostrophe that ``csv_cell`` put in front."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell, 1) else cell
