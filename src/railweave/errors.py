"""The errors of railweave, as one tree.

::

    RailweaveError            anything railweave reports on purpose.
    ├── InputError            the user's input is wrong; carries every Problem found, each with its Place.
    │   ├── SpecError         fabric file, inventory, lock, or another file that is read.
    │   └── DesignError       the fabric file is well-formed but cannot be built as asked.
    ├── OutputError           the output cannot be written; existing files are unchanged.
    ├── UnsettledError        the routes of the configurations never converge: their policies contradict each other.
    │   └── UnknownPolicyError  a route reaches a policy term with a statement that railweave does not understand.
    ├── LabError              the lab cannot be started, used or removed on this machine.
    └── RenderError           statements that a target system cannot read or express and must not drop; carries their line.

    Place                     the location of a Problem. One of:
    ├── FileLine              a line of a file.
    ├── Option                an option of the command line.
    ├── NetworkPart           a device, NIC or link of the network.
    └── Argument              an argument of a function of the Python API.

Only one caller prints an error: the one that handles it last. A caller that catches an error and words it differently uses
the error's fields, never its text. Every error survives ``pickle`` unchanged, because worker processes send their errors to
the process that waits for them. For this, the arguments of an error's constructor are its ``args``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class FileLine:
    """The place of a problem in a file: a line, counted from 1. Line 0 means the whole file or folder."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Option:
    """The place of a problem on the command line: an option (``--nccl``), or the command itself if a required option is missing.

    - ``value``: the value that the user gave, if the option may be repeated and the message does not contain the value.
    - ``part``: the wrong part of a structured value, as keys and indexes: ``("ports", 1)`` is the second port in ``--background``.
      It is not printed. It serves to find the line of a scenario file that sets the same option.
    """

    name: str
    value: str = ""
    part: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.value}" if self.value else self.name


@dataclass(frozen=True, slots=True)
class NetworkPart:
    """The place of a problem in the network: a device, a NIC (``SERVER:NIC``), a link or the network itself, by name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Argument:
    """The place of a problem in a call of the Python API: an argument of the function, or a field of such an argument."""

    name: str

    def __str__(self) -> str:
        return self.name


Place = FileLine | Option | NetworkPart | Argument
"""The location of a problem: a line of a file, an option, a part of the network, or a function argument."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in the input, and its correction.

    ``place`` is the place of the fault. ``fix`` is a complete phrase that tells the user what to do.
    """

    place: Place
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" + (f"\n    {self.fix}" if self.fix else "")


class RailweaveError(Exception):
    """The base class of every error that railweave raises on purpose. ``exit_code`` is the exit status of the command line."""

    exit_code = 1


class InputError(RailweaveError):
    """The error for wrong input of the user. ``problems`` holds all problems that were found, in file order."""

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
    """The error for an input file that cannot be read or is invalid, such as a fabric file, inventory, lock or scenario."""


class DesignError(InputError):
    """The error for a well-formed fabric file that describes a network that cannot be built."""


class OutputError(RailweaveError):
    """The error for output that cannot be written. Existing files are unchanged."""


class UnsettledError(RailweaveError):
    """The error for configurations whose routes never converge, because the policies of devices contradict each other."""


class UnknownPolicyError(UnsettledError):
    """The error for a route that reaches a policy term with an unknown statement, so that the policy's decision is unknown."""


class LabError(RailweaveError):
    """The error for a lab that cannot be started, used or stopped on this machine."""


class RenderError(RailweaveError):
    """The error for a statement in a device configuration that an operating system cannot read or express, and must not drop.

    ``what`` is the message. ``line`` is the line of the configuration, counted from 1, or 0 if it is unknown.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message, line)
        self.what = message
        self.line = line

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" if self.line else self.what

    def below(self, lines: int) -> RenderError:
        """Return the same error for a text in which ``lines`` additional lines precede the original text."""
        return RenderError(self.what, self.line + lines if self.line else 0)


def unknown_switches(names: Iterable[str], fix: str = "names are those of cabling.csv") -> InputError:
    """Return the error for names in ``--only`` that are not switches of the network.

    The error has one problem per name, with the text ``fix`` as its remedy.
    """
    return InputError([Problem(Option("--only", name), "the network has no such switch", fix) for name in names])
