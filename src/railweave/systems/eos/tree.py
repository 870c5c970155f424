"""EOS configuration as text: each level of sections is indented by three spaces, and ``!`` separates sections at the top level."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section

INDENT = "   "


def to_text(sections: Iterable[Section]) -> str:
    """Return the text of a file, as ``show running-config`` prints it."""
    lines: list[str] = []

    def add(section: Section, depth: int) -> None:
        lines.append(f"{INDENT * depth}{section.line}")
        for child in section.body or ():
            add(child, depth + 1)

    word = ""
    for section in sections:
        # No separator between lines of the same kind; each section is separated.
        if section.body is not None or section.line.split()[0] != word:
            lines.append("!")
        add(section, 0)
        word = "" if section.body is not None else section.line.split()[0]
    return "\n".join([*lines, "!", "end"]) + "\n"
