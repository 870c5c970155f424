"""The fabric file's ``status:`` as a drain changes it: written when its switches begin to change, and put back where none did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import FileLine, InputError, Problem
from railweave.writing import write_file

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.deploy.drain import Drain


def check(fabric: Path, drain: Drain) -> None:
    """Raise ``InputError`` where the file is neither what it was nor what it will be."""
    if fabric.read_text(encoding="utf-8") not in {drain.before, drain.after}:
        what = "the fabric file has changed since the plan was made"
        raise InputError([Problem(FileLine(str(fabric)), what, "make another plan")])


def write(fabric: Path, drain: Drain) -> None:
    """Write what it will be. Raises ``InputError`` as ``check`` does, ``OutputError`` where it cannot be written."""
    _written(fabric, drain, drain.after)


def put_back(fabric: Path, drain: Drain) -> None:
    """Write what it was. Raises as ``write`` does."""
    _written(fabric, drain, drain.before)


def _written(fabric: Path, drain: Drain, text: str) -> None:
    check(fabric, drain)
    if fabric.read_text(encoding="utf-8") != text:
        write_file(fabric, text)
