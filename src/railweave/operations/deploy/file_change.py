"""A file of the user's that a plan changes as a whole: written when the plan's devices begin to change, and put back where none did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import FileLine, InputError, Problem
from railweave.writing import write_file

if TYPE_CHECKING:
    from railweave.operations.deploy.plan import Plan


@dataclass(frozen=True)
class FileChange:
    """A file with its text before and after; an empty one stands for no file. ``called`` is what it is for people."""

    path: Path
    before: str
    after: str
    called: str


def change_of(plan: Plan) -> FileChange | None:
    """The file that a plan changes: the fabric file by a drain, the inventory by a replacement."""
    if plan.drain is not None:
        return FileChange(Path(plan.fabric), plan.drain.before, plan.drain.after, "the fabric file")
    if plan.replacement is not None:
        one = plan.replacement
        return FileChange(Path(one.file), one.before, one.after, "the inventory")
    return None


def check(change: FileChange) -> None:
    """Raise ``InputError`` where the file is neither what it was nor what it will be."""
    if _text(change.path) not in {change.before, change.after}:
        what = f"{change.called} has changed since the plan was made"
        raise InputError([Problem(FileLine(str(change.path)), what, "make another plan")])


def write(change: FileChange) -> None:
    """Write what it will be. Raises ``InputError`` as ``check`` does, ``OutputError`` where it cannot be written."""
    _written(change, change.after)


def put_back(change: FileChange) -> None:
    """Write what it was. Raises as ``write`` does."""
    _written(change, change.before)


def _written(change: FileChange, text: str) -> None:
    check(change)
    if _text(change.path) == text:
        return
    if text:
        write_file(change.path, text)
    else:
        change.path.unlink()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
