"""Input files as text, whatever wrote them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.errors import FileLine, Problem, SpecError

if TYPE_CHECKING:
    from pathlib import Path

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, without the byte order mark that spreadsheets put before it.

    Raises ``FileNotFoundError`` where there is none, and ``SpecError`` where it cannot be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SpecError([Problem(FileLine(str(path)), f"cannot be read: {error}")]) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"not UTF-8 text (byte 0x{data[error.start]:02x})"
        raise SpecError([Problem(FileLine(str(path), line), what, "save it as UTF-8")]) from None
    control = _CONTROL.search(text)
    if control is not None:
        line = text.count("\n", 0, control.start()) + 1
        what = f"a control character (0x{ord(control.group()):02x}) stands here"
        raise SpecError([Problem(FileLine(str(path), line), what, "remove it")])
    return text
