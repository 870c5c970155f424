"""The command line of Enterprise SONiC, read by a grammar of the commands used here.

Dell publishes no model of it. Each command of the grammar is from a public document that is named with it; what is in none
of them is unknown here, whether a switch would take it or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.findings import Finding
from railweave.systems.dell_sonic.lint.grammar import GRAMMAR, TOP
from railweave.systems.dell_sonic.lint.references import BOOK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.config.sections import Section
    from railweave.systems.dell_sonic.lint.grammar import Command

__all__ = ["RULES", "lint"]
RULES = BOOK.rules
FILE = "sonic.cli"


@dataclass(frozen=True)
class _Unknown:
    line: str
    mode: str


def lint(device: str, sections: list[Section]) -> list[Finding]:
    """What is wrong with a device's commands: unknown ones, and names that nothing defines."""
    file = f"devices/{device}/{FILE}"
    found = [
        Finding(
            "dell-command",
            "error",
            device,
            f"{one.line!r} is no command that is known {one.mode}",
            "no public document has it in this place, so the switch is expected to refuse it",
            "correct it if it is yours (`extra:`); otherwise report it",
            file,
        )
        for one in dict.fromkeys(_unknown(sections, TOP))
    ]
    return found + BOOK.run(device, sections, FILE)


def _unknown(sections: list[Section], mode: str) -> Iterator[_Unknown]:
    for one in sections:
        command = match(one.line, mode)
        if command is None:
            yield _Unknown(one.line, f"in mode {mode}")
        elif one.body and command.opens is None:
            yield _Unknown(one.line, "as one that others stand below")
        elif command.opens is not None:
            yield from _unknown(one.body or [], command.opens)


@lru_cache(maxsize=1 << 16)
def match(line: str, mode: str) -> Command | None:
    """The command of a mode that a line is; None where it is none."""
    return next((command for command in GRAMMAR[mode] if command.pattern.fullmatch(line)), None)
