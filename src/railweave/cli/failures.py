"""How an error ends a verb: as text on standard error, or with ``--json`` as JSON on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from railweave.cli.output import print_json
from railweave.errors import FileLine, InputError, Option, RailweaveError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.errors import Problem

INTERRUPTED = 130


def run(app: typer.Typer, words: Sequence[str]) -> int:
    """Run the command line; the exit code. Whatever is wrong is printed once, in the form that the words ask for."""
    as_json = wants_json(words)
    try:
        code = app(args=list(words), prog_name="railweave", standalone_mode=False)
    except RailweaveError as error:
        if as_json:
            print_json(failure(error))
        else:
            print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        told = _bad_use(error)
        if told is None:
            raise
        message, option, code = told
        if as_json:
            problem = InputError([])
            print_json({**failure(problem), "message": message, "problems": [_told("", 0, option, message, "")]})
        else:
            error.show()  # type: ignore[attr-defined]
        return code
    return code if isinstance(code, int) else 0


def wants_json(words: Sequence[str]) -> bool:
    """Whether ``--json`` is among the words of a command line, up to ``--``."""
    end = list(words).index("--") if "--" in words else len(words)
    return "--json" in words[:end]


def failure(error: RailweaveError) -> dict[str, Any]:
    """An error as the documented JSON object (docs/cli/README.md)."""
    problems = error.problems if isinstance(error, InputError) else []
    return {
        "error": type(error).__name__,
        "exit_code": error.exit_code,
        "message": str(error),
        "problems": [_problem(one) for one in problems],
    }


def _problem(problem: Problem) -> dict[str, Any]:
    place = problem.place
    if isinstance(place, FileLine):
        return _told(place.file, place.line, "", problem.what, problem.fix)
    if isinstance(place, Option):
        return _told("", 0, place.name, problem.what, problem.fix)
    return {**_told("", 0, "", problem.what, problem.fix), "where": str(place)}


def _told(file: str, line: int, option: str, what: str, fix: str) -> dict[str, Any]:
    where = f"{file}:{line}" if line else file or option
    return {"where": where, "file": file, "line": line, "option": option, "what": what, "fix": fix}


def _bad_use(error: Exception) -> tuple[str, str, int] | None:
    """What the parser says of words that are no command line, the option, and the exit code; None: it is another error.

    The parser's errors are told by what they can do: in which package they are depends on typer's release.
    """
    tell = getattr(error, "format_message", None)
    if tell is None or not hasattr(error, "show"):
        return None
    names = getattr(getattr(error, "param", None), "opts", None) or [getattr(error, "option_name", None) or ""]
    return str(tell()), str(names[0]), int(getattr(error, "exit_code", 2))
