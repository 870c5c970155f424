"""EOS configuration as text: sections three spaces deeper per level, with ``!`` between those at the top."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section

INDENT = "   "


def to_text(sections: Iterable[Section]) -> str:
    """The file form, as ``show running-config`` prints it."""
    lines: list[str] = []

    def add(one: Section, depth: int) -> None:
        lines.append(f"{INDENT * depth}{one.line}")
        for child in one.body or ():
            add(child, depth + 1)

    word = ""
    for one in sections:
        # Lines of one kind stand together; a section stands apart.
        if one.body is not None or one.line.split()[0] != word:
            lines.append("!")
        add(one, 0)
        word = "" if one.body is not None else one.line.split()[0]
    return "\n".join([*lines, "!", "end"]) + "\n"
