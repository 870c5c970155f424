"""What can go wrong, as one tree.

::

    RailweaveError            anything railweave reports on purpose
    ├── InputError            the user's input is wrong; carries every Problem found, each with file and line
    │   ├── SpecError         fabric file, inventory or lock
    │   └── DesignError       the fabric file is well-formed but cannot be built as asked
    ├── OutputError           the output cannot be written; what was there before is untouched
    ├── LabError              the lab cannot be brought up, used or taken down on this machine
    └── RenderError           a DeviceConfig holds something a target cannot express and must not drop
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and what would be right.

    ``file`` and ``line`` (1-based, 0 when unknown) say where; ``fix`` is a full phrase a user can act on.
    """

    file: str
    line: int
    what: str
    fix: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.what}" + (f"\n    {self.fix}" if self.fix else "")


class RailweaveError(Exception):
    """Base of every error railweave raises on purpose. ``exit_code`` is what the command line returns."""

    exit_code = 1


class InputError(RailweaveError):
    """The user's input is wrong. ``problems`` holds all that was found, in file order."""

    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(problems, key=lambda p: (p.file, p.line))
        super().__init__("\n".join(str(p) for p in self.problems))


class SpecError(InputError):
    """A fabric file, inventory or lock cannot be read as one."""


class DesignError(InputError):
    """The fabric file is well-formed, but the network it asks for cannot be built."""


class OutputError(RailweaveError):
    """Output could not be written; what stood there before is untouched."""


class LabError(RailweaveError):
    """The lab cannot be brought up, used or taken down on this machine."""


class RenderError(RailweaveError):
    """A device configuration holds something its target cannot express and must not drop."""
