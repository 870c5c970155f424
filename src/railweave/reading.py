"""The one reader: text and JSON of input files, never more of them than could be meant.

A file may come from somebody else. Whatever is in it, reading it ends, with a value or with an error that says where: no file
fills the memory, and no nesting exhausts the stack. Limits are far above what the largest clusters need
(docs/limits.md lists them).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from railweave.errors import FileLine, Problem, SpecError

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 64 << 20
"""Of a file, unless said otherwise: an inventory of 8,192 servers with every NIC and cable in it takes 20 MB."""

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
"""What no text holds: it would end a line, or move about on a terminal."""


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """The text of a UTF-8 file, without the byte order mark that spreadsheets put before it.

    Raises ``FileNotFoundError`` where there is none, and ``SpecError`` where it cannot be read or is larger than that.
    """
    try:
        with path.open("rb") as stream:  # not by its size: a pipe has none
            data = stream.read(most_bytes + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise SpecError([Problem(FileLine(str(path)), f"cannot be read: {error}")]) from None
    if len(data) > most_bytes:
        what = f"larger than {most_bytes >> 20} MiB, the most that is read"
        raise SpecError([Problem(FileLine(str(path)), what, "name a file that was written for railweave")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"not UTF-8 text (byte 0x{data[error.start]:02x})"
        raise SpecError([Problem(FileLine(str(path), line), what, "save it as UTF-8")]) from None
    control = CONTROL.search(text)
    if control is not None:
        line = text.count("\n", 0, control.start()) + 1
        what = f"a control character (0x{ord(control.group()):02x}) stands here"
        raise SpecError([Problem(FileLine(str(path), line), what, "remove it")])
    return text


def parse_json(text: str) -> Any:  # noqa: ANN401 - JSON
    """The value of a JSON text. Raises ``json.JSONDecodeError``, and ``ValueError`` for nesting or numbers without end."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_json(path: Path, wrong: str = "not JSON", fix: str = "") -> Any:  # noqa: ANN401 - JSON
    """The value of a JSON file. Raises as ``read_text`` does; ``wrong`` and ``fix`` tell of what is no JSON."""
    text = read_text(path)
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise SpecError([Problem(FileLine(str(path), error.lineno), f"{wrong}: {error.msg}", fix)]) from None
    except ValueError as error:
        raise SpecError([Problem(FileLine(str(path)), f"{wrong}: {error}", fix)]) from None
