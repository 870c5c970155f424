"""Every command is one of the grammar, in its place."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.dell_sonic.lint.grammar import GRAMMAR, TOP, Command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import Section


@check(
    "dell-command",
    why="no public document has it in this place, so the switch is expected to refuse it",
    fix="correct it if it is yours (`extra:`); otherwise report it",
)
def known_commands(root: list[Section]) -> Iterator[str]:
    """Every command is in a public document of Enterprise SONiC, in the same section."""
    return _unknown(root, TOP)


def _unknown(sections: list[Section], mode: str) -> Iterator[str]:
    for section in sections:
        command = match(section.line, mode)
        if command is None:
            yield f"{section.line!r} is no command that is known in mode {mode}"
        elif section.body and command.opens is None:
            yield f"{section.line!r} is no command that is known as one that others stand below"
        elif command.opens is not None:
            yield from _unknown(section.body or [], command.opens)


@lru_cache(maxsize=1 << 16)
def match(line: str, mode: str) -> Command | None:
    """Return the command of a mode that matches a line, or None if no command does."""
    return next((command for command in GRAMMAR[mode] if command.pattern.fullmatch(line)), None)
