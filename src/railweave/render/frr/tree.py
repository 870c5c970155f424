"""FRR configuration as text: sections one space deeper per level, closed as FRR closes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.render.sections import Section

_CLOSERS = {"address-family": "exit-address-family", "vni": "exit-vni"}


def to_text(sections: Iterable[Section]) -> str:
    """The file form. Sections at the top are separated by ``!``."""
    lines: list[str] = []

    def add(one: Section, depth: int) -> None:
        lines.append(f"{' ' * depth}{one.line}")
        if one.body is not None:
            for child in one.body:
                add(child, depth + 1)
            lines.append(f"{' ' * depth}{_CLOSERS.get(one.line.split()[0], 'exit')}")

    for one in sections:
        add(one, 0)
        if one.body is not None:
            lines.append("!")
    return "\n".join(lines) + "\n"
