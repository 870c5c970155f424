"""Writing a file so that it is old or new, whatever happens, and stays so through a loss of power."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .failure import HostError

if TYPE_CHECKING:
    from pathlib import Path


def read(file: Path) -> str | None:
    """A file's text, None where there is none. Raises HostError."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise HostError(f"{file}: cannot be read: {error}") from None


def write(file: Path, text: str | None) -> None:
    """Replace a file's text, or remove the file (None). Raises HostError."""
    staged = file.with_name(f".{file.name}.new")
    try:
        if text is None:
            file.unlink(missing_ok=True)
            if not file.parent.is_dir():
                return
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            with staged.open("w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            staged.replace(file)
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise HostError(f"{file}: cannot be written: {error.strerror}{_root_hint()}") from None


def _root_hint() -> str:
    return "" if os.geteuid() == 0 else " (root is needed)"
