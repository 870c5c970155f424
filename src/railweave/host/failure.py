"""Errors of ``railweave host``, as a user reads them.

HostError                exit code 1: something on this server is not as it must be.
├── HostInputError       exit code 2: a file or an option is wrong.
│   └── HostUsageError   the command line cannot be parsed.
└── InterruptedRunError  exit code 130: SIGINT or SIGTERM, with everything put back, or what is left named.
"""

from __future__ import annotations


class HostError(Exception):
    """Something on this server is not as it must be; the text says what, where, and what would be right."""

    exit_code = 1


class HostInputError(HostError):
    """A file or an option is wrong."""

    exit_code = 2


class HostUsageError(HostInputError):
    """The words are no command line: ``usage`` says how one looks, ``program`` whose."""

    def __init__(self, message: str, usage: str, program: str) -> None:
        super().__init__(message, usage, program)  # all of it, for whoever unpickles it
        self.usage = usage
        self.program = program

    def __str__(self) -> str:
        return str(self.args[0])


class InterruptedRunError(HostError):
    """Stopped by a signal, with everything put back; else the text says what is left."""

    exit_code = 130
