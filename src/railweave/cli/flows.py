"""``railweave flows``: simulate flows on a generated topology or a topology file, without a design (docs/engine.md).

The engine's own command parses the arguments and prints the help. This module passes the arguments on.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "railweave flows"


def flows(ctx: typer.Context) -> None:
    """Simulate flows in the packet engine, on a generated topology or a topology file, without a design."""
    raise typer.Exit(run(ctx.args))


def run(words: Sequence[str]) -> int:
    """Run the engine's command with the arguments ``words``, and return its exit code. With ``--json``, raise ``InputError`` for input that the engine refuses."""
    given = list(words) or ["--help"]
    return _as_json(given) if "--json" in given else _command(given)


def _command(words: list[str]) -> int:
    from railweave._sim import command

    # What goes wrong begins as every error does; help and version begin with the program's name.
    return command(PROGRAM if {"--version", "--help", "-h"} & set(words) else "error", words)


def _as_json(words: list[str]) -> int:
    """Run the command with standard error captured. Raises ``InputError`` for wrong input; other messages are printed at the end."""
    import tempfile

    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            code = _command([*words, *([] if "--quiet" in words else ["--quiet"])])
        finally:
            os.dup2(before, 2)
            os.close(before)
        held.seek(0)
        message = held.read().decode(errors="replace")
    if code == InputError.exit_code:
        text = message.strip().removeprefix("error: ")
        option, _, rest = text.partition(": ")
        description, _, fix = (rest or text).partition("; ")
        raise InputError([Problem(Option(option if rest else "flows"), description, fix)])
    print(message, end="", file=sys.stderr, flush=True)
    return code
