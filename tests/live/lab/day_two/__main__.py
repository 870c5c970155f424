"""All parts, or those named: writes their tables into docs/day-two.md, and ends with ``day-two-trial: ok``."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from railweave.counting import counted
from tests.live.lab import day_two
from tests.live.lab.machine import needs_lab

PAGE = Path(__file__).parents[4] / "docs" / "day-two.md"


def main() -> int:
    """Try each part; 1 where anything was wrong."""
    if needs_lab.args[0]:
        print(f"day-two-trial: not run: {needs_lab.kwargs['reason']}")
        return 1
    every = [one.name for one in pkgutil.iter_modules(day_two.__path__) if not one.name.startswith("_")]
    wrong: list[str] = []
    for name in sys.argv[1:] or every:
        table, found = importlib.import_module(f"tests.live.lab.day_two.{name}").tried()
        wrong += [f"{name}: {one}" for one in found]
        if not found:
            written(name, table)
    for line in wrong:
        print(f"wrong: {line}")
    print(f"day-two-trial: {counted(len(wrong), 'thing')} wrong" if wrong else "day-two-trial: ok")
    return 1 if wrong else 0


def written(part: str, table: list[str]) -> None:
    """Put the table of a part between its marks."""
    begin, end = (f"<!-- day-two-trial: {part}: {word} -->" for word in ("begin", "end"))
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(begin)
    text = "\n".join(table)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
