"""Writes measured tables into docs/plugin.md, each between its marks."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plugin.md"


def write(name: str, rows: list[str]) -> None:
    """Put a table in place of the one with this name, and print it."""
    table = "\n".join(rows)
    print(table)
    marks = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    text, found = re.subn(
        f"(?s){re.escape(marks[0])}.*?{re.escape(marks[1])}",
        lambda _: f"{marks[0]}{table}\n{marks[1]}",
        PAGE.read_text(),
    )
    if found != 1:
        raise SystemExit(f"{PAGE} has {found} tables {name}, not one")
    PAGE.write_text(text)
