"""Errors of ``railweave host``, as a user reads them.

HostError                exit code 1: something on this server is wrong.
├── HostInputError       exit code 2: a file or an option is wrong.
│   └── HostUsageError   exit code 2: the command line cannot be parsed.
└── InterruptedRunError  exit code 130: SIGINT or SIGTERM; everything is restored, or the message names the rest.
"""

from __future__ import annotations

from .terminal import escaped


class HostError(Exception):
    """The error for a wrong state of this server. The text states the fault, its place, and the correct state."""

    exit_code = 1


class HostInputError(HostError):
    """The error for a wrong file or option. Its text is one line without control characters, whatever the file is called."""

    exit_code = 2

    def __str__(self) -> str:
        return escaped(str(self.args[0]))


class HostUsageError(HostInputError):
    """The error for an invalid command line. ``usage`` shows the correct form, and ``program`` is the program's name."""

    def __init__(self, message: str, usage: str, program: str) -> None:
        super().__init__(message, usage, program)  # all of it, for whoever unpickles it
        self.usage = usage
        self.program = program


class InterruptedRunError(HostError):
    """The error of a run that a signal stopped. Everything is restored, or else the text names the changes that remain."""

    exit_code = 130
