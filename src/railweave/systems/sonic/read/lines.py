"""Lines of FRR that rows of tables come to: what is understood of a line is understood of its fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.sections import Section

if TYPE_CHECKING:
    from railweave.model.config.taking import Taking
    from railweave.systems.sonic.read.rows import Row


@dataclass
class Lines:
    """Lines of FRR, and the fields that each was made of: they are understood if it is."""

    sections: list[Section] = field(default_factory=list[Section])
    sources: list[tuple[Section, Row, tuple[str, ...]]] = field(
        default_factory=list["tuple[Section, Row, tuple[str, ...]]"]
    )

    def add(self, below: list[Section], text: str, row: Row, *fields: str) -> Section:
        """A line that a row's fields come to."""
        made = Section(text, at=row.lines.get(fields[0], row.line) if fields else row.line)
        below.append(made)
        self.sources.append((made, row, fields))
        return made

    def understood(self, taking: Taking) -> None:
        """Take the fields whose lines were understood."""
        known = {id(section) for section, _, understood in taking.lines() if understood}
        for section, row, fields in self.sources:
            if id(section) in known:
                row.known = True
                row.taken.update(name for name in fields if name in row.fields)


def peek(row: Row, name: str) -> str:
    """The value of a field that is understood by the line it comes to."""
    text = row.text(name)
    row.leave(name)
    return text
