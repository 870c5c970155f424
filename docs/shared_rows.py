"""Rows that several entries of a reference have word for word, such as options of verbs: each is described once, and named elsewhere."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Row = tuple[str, str]
"""The name of an option or parameter, and its text."""
MANY = 3
"""Entries that make a row common: it is described in a section before the entries."""
LIKE = 3
LONG = 25
"""Rows, or words of rows, that an entry must share with one earlier entry to refer to that entry. Fewer are described again: a reader finds them faster."""


@dataclass
class Rows:
    """The rows of one entry by the place of their description.

    - ``own``: described at the entry.
    - ``common``: names of rows in the section of common rows.
    - ``earlier``: names of rows that an earlier entry describes, by this entry.
    """

    own: list[Row] = field(default_factory=list)
    common: list[str] = field(default_factory=list)
    earlier: dict[str, list[str]] = field(default_factory=dict)


def linked(text: str) -> str:
    """Return a help text or docstring with the pages that it names (``docs/hardware.md``) as links from a page of docs/."""
    return re.sub(r"(?<![\w/`\[])docs/([\w/-]+\.md)(#[\w-]+)?", r"[\1](\1\2)", text)


def common_rows(entries: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, list[str]]]:
    """Return the texts of each common name with the entries that have the text: the text of most entries first.

    Names are in the order of the number of their entries. A name with several common texts comes once.
    """
    having: dict[Row, list[str]] = defaultdict(list)
    for entry, rows in entries.items():
        for row in rows:
            having[row].append(entry)
    texts: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for (name, text), users in sorted(having.items(), key=lambda item: -len(item[1])):
        if len(users) >= MANY:
            texts[name][text] = users
    return dict(sorted(texts.items(), key=lambda item: -sum(map(len, item[1].values()))))


def placed(entries: Mapping[str, Sequence[Row]]) -> dict[str, Rows]:
    """Return the rows of every entry by the place of their description."""
    common = common_rows(entries)
    first: dict[Row, str] = {}
    result: dict[str, Rows] = {}
    for entry, rows in entries.items():
        earlier = [row for row in rows if row in first]
        shared = Counter(first[row] for row in earlier)
        words = Counter(first[name, text] for name, text in earlier for _ in text.split())
        of_entry = result[entry] = Rows()
        for row in rows:
            name, text = row
            if text in common.get(name, {}):
                of_entry.common.append(name)
                continue
            home = first.setdefault(row, entry)
            if shared[home] >= LIKE or words[home] >= LONG:
                of_entry.earlier.setdefault(home, []).append(name)
            else:
                of_entry.own.append(row)
    return result
