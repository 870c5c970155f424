"""Errors of verbs, printed as text to standard error or, with ``--json``, as JSON to standard output."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import typer

from railweave.cli.output import print_json
from railweave.errors import Argument, FileLine, InputError, Option, Problem, RailweaveError

if TYPE_CHECKING:
    from collections.abc import Sequence


INTERRUPTED = 130


@runtime_checkable
class _BadUse(Protocol):
    """A usage error of the command-line parser.

    These errors are recognized by their methods, because the package that defines them depends on the typer release.
    """

    exit_code: int

    def format_message(self) -> str:
        """The error's message."""
        ...

    def show(self) -> None:
        """Print the usage and the error to standard error."""


def run(app: typer.Typer, words: Sequence[str]) -> int:
    """Run the command line and return the exit code. Each error is printed once, as JSON if the command line has ``--json``, else as text."""
    as_json = wants_json(words)
    try:
        code = _in_namespaces(words)
        if code is None:
            code = app(args=list(words), prog_name="railweave", standalone_mode=False)
    except RailweaveError as error:
        if as_json:
            print_json(failure(error))
        else:
            print(f"error: {error_text(error)}", file=sys.stderr)
        return error.exit_code
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        if not isinstance(error, _BadUse):
            raise
        if as_json:
            print_json(_misused(error))
        else:
            error.show()
        return error.exit_code
    return code if isinstance(code, int) else 0


def _in_namespaces(words: Sequence[str]) -> int | None:
    """Run the command in the namespaces of the user's labs, if it needs them; return its exit code, or None if it does not."""
    if os.geteuid() == 0 or not {"lab", "--lab", "--rehearse"} & set(words):
        return None
    from railweave.api.user_labs import run_in_namespaces

    return run_in_namespaces(words)


def wants_json(words: Sequence[str]) -> bool:
    """Return True if ``--json`` is among the words of a command line before ``--``."""
    end = list(words).index("--") if "--" in words else len(words)
    return "--json" in words[:end]


_FUNCTIONS_WORDS = frozenset(["what", "plan", "fabric", "resume", "revision", "check", "watch"])
"""Arguments of Python functions without an option on the command line. Their errors are printed without a location."""


def error_text(error: RailweaveError) -> str:
    """Return an error as text for the command line."""
    if not isinstance(error, InputError):
        return _indented(str(error))
    return "\n".join(_indented(_text(problem)) for problem in error.problems)


def _indented(text: str) -> str:
    """Return the text with every line after the first one indented. The name of a file can hold line breaks, and must not look like another error."""
    return _FLUSH.sub("\n    ", text)


_FLUSH = re.compile(r"\n(?=\S)")


def _text(problem: Problem) -> str:
    if not (isinstance(problem.place, Argument) and problem.place.name in _FUNCTIONS_WORDS):
        return str(problem)
    return problem.what + (f"\n    {problem.fix}" if problem.fix else "")


def failure(error: RailweaveError) -> dict[str, Any]:
    """Return an error as the documented JSON object (docs/cli.md)."""
    problems = error.problems if isinstance(error, InputError) else []
    return {
        "error": type(error).__name__,
        "exit_code": error.exit_code,
        "message": error_text(error),
        "problems": [_problem(problem) for problem in problems],
    }


def _problem(problem: Problem) -> dict[str, Any]:
    place = problem.place
    if isinstance(place, FileLine):
        return _problem_fields(place.file, place.line, "", problem.what, problem.fix)
    if isinstance(place, Option):
        return _problem_fields("", 0, place.name, problem.what, problem.fix)
    return {**_problem_fields("", 0, "", problem.what, problem.fix), "where": str(place)}


def _problem_fields(file: str, line: int, option: str, description: str, fix: str) -> dict[str, Any]:
    where = f"{file}:{line}" if line else file or option
    return {"where": where, "file": file, "line": line, "option": option, "what": description, "fix": fix}


def _misused(error: _BadUse) -> dict[str, Any]:
    """Return a usage error in the form of ``failure``, with the option that is wrong."""
    message = error.format_message()
    options = getattr(getattr(error, "param", None), "opts", None) or [getattr(error, "option_name", None) or ""]
    return {
        **failure(InputError([])),
        "message": message,
        "problems": [_problem_fields("", 0, str(options[0]), message, "")],
    }
