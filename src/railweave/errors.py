"""The errors of railweave, as one tree.

::

    RailweaveError            anything railweave reports on purpose.
    ├── InputError            the user's input is wrong; carries every Problem found, each with its Place.
    │   ├── SpecError         fabric file, inventory, lock, or another file that is read.
    │   └── DesignError       the fabric file is well-formed but cannot be built as asked.
    ├── OutputError           the output cannot be written; what was there before is untouched.
    ├── UnsettledError        the routes of the configurations never settle: their policies contradict each other.
    ├── LabError              the lab cannot be brought up, used or taken down on this machine.
    └── RenderError           statements that a target cannot read or express and must not drop; carries their line.

    Place                     where a Problem is. One of:
    ├── FileLine              a line of a file.
    ├── Option                an option of the command line.
    ├── NetworkPart           a device, NIC or link of the network.
    └── Argument              an argument of a function of the Python API.

An error is printed once, by the caller that ends with the error. A caller that catches an error and words it differently uses
the error's fields, never its text. Every error comes back from ``pickle`` unchanged, because workers send their errors to the
process that waits for them: the arguments of an error's constructor are its ``args``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a file or, where ``line`` (1-based) is 0, the file or folder as a whole."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the command line (``--nccl``); the verb itself where an option is missing.

    ``value`` is what was given, where the option may be repeated and the message says nothing of it. ``part`` is the part of
    the value that is meant, as keys and places in what the value stands for: ``("host.mtu",)`` of ``--set``,
    ``("ports", 1)`` of ``--background``. It is not printed; a scenario file has the same parts.
    """

    name: str
    value: str = ""
    part: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.value}" if self.value else self.name


@dataclass(frozen=True, slots=True)
class NetworkPart:
    """A part of the network by its name: a device, a NIC (``SERVER:NIC``), a link, or the network itself."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a function of the Python API, or a field of what is given to it."""

    name: str

    def __str__(self) -> str:
        return self.name


Place = FileLine | Option | NetworkPart | Argument
"""Where a problem is."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and what would be right.

    ``place`` says where; ``fix`` is a full phrase a user can act on.
    """

    place: Place
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" + (f"\n    {self.fix}" if self.fix else "")


class RailweaveError(Exception):
    """Base of every error railweave raises on purpose. ``exit_code`` is what the command line returns."""

    exit_code = 1


class InputError(RailweaveError):
    """The user's input is wrong. ``problems`` holds all that was found, in file order."""

    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems)
        self.problems = sorted(problems, key=_order)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def _order(problem: Problem) -> tuple[str, int]:
    place = problem.place
    return (place.file, place.line) if isinstance(place, FileLine) else (str(place), 0)


class SpecError(InputError):
    """An input file (fabric file, inventory, lock, scenario, forwarding tables) cannot be read as one."""


class DesignError(InputError):
    """The fabric file is well-formed, but the network it asks for cannot be built."""


class OutputError(RailweaveError):
    """Output could not be written; what stood there before is untouched."""


class UnsettledError(RailweaveError):
    """The routes of the configurations never settle, because their policies contradict each other."""


class LabError(RailweaveError):
    """The lab cannot be brought up, used or taken down on this machine."""


class RenderError(RailweaveError):
    """A device configuration holds something its target cannot read or express and must not drop.

    ``what`` is the message; ``line`` is the 1-based line of the text that it is about, 0 where there is none.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message, line)
        self.what = message
        self.line = line

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" if self.line else self.what

    def below(self, lines: int) -> RenderError:
        """The same error in a text that has so many lines more before it."""
        return RenderError(self.what, self.line + lines if self.line else 0)


def unknown_switches(names: Iterable[str], fix: str = "names are those of cabling.csv") -> InputError:
    """Return the error of ``--only`` for names that no switch of the network has."""
    return InputError([Problem(Option("--only", name), "the network has no such switch", fix) for name in names])
