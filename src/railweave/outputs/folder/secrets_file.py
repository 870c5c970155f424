"""The file of secrets, ``NAME: value`` a line: for its owner's eyes alone."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import FileLine, InputError, Problem
from railweave.model.intent.reading.document import read_document
from railweave.tool_roots import trusted_users

if TYPE_CHECKING:
    from pathlib import Path


class Secrets(dict[str, str]):
    """Values by name, and the file and line of each; without a file where none was given."""

    def __init__(self, values: dict[str, str] | None = None, lines: dict[str, FileLine] | None = None) -> None:
        super().__init__(values or {})
        self.lines = lines or {}


def read_secrets(path: Path | None) -> Secrets:
    """Read a file of secrets; None gives none. Raises ``InputError``, also where others than its owner can read it."""
    if path is None:
        return Secrets()
    _check_private(path)
    document = read_document(path, as_text=True)
    content: object = document.value
    if not isinstance(content, dict):
        raise InputError([Problem(FileLine(str(path), 1), "not a list of secrets", "write NAME: value, one a line")])
    given = cast("dict[str | int, Any]", content)
    words = {str(name): value for name, value in given.items()}
    for name, value in words.items():
        if not isinstance(value, str):
            what = f"secret {name!r} is not a single value"
            raise InputError([Problem(FileLine(str(path), 1), what, "write NAME: value, one a line")])
        if not value.strip():
            line = document.line((name,)) if name in given else 1
            fix = "write its value, or leave the line out"
            raise InputError([Problem(FileLine(str(path), line), f"secret {name!r} is empty", fix)])
    return Secrets(words, {str(name): FileLine(str(path), document.line((name,))) for name in given})


def _check_private(path: Path) -> None:
    try:
        found = path.stat()
    except OSError:  # told where it is read
        return
    if found.st_uid not in trusted_users():
        what = f"the secrets belong to user {found.st_uid}, who can read and change them"
        raise InputError([Problem(FileLine(str(path)), what, f"copy them into a file of your own: chmod 600 {path}")])
    if stat.S_IMODE(found.st_mode) & 0o077:
        what = f"others can read the secrets (mode {stat.S_IMODE(found.st_mode):03o})"
        raise InputError([Problem(FileLine(str(path)), what, f"chmod 600 {path}")])
