"""The one reader of text and JSON of input files, with limits on size and nesting.

A file may come from another person. Whatever the file holds, reading it ends, with a value or with an error that gives the
place: no file fills the memory, and no nesting exhausts the stack. Limits are far above what the largest clusters need
(docs/limits.md lists them).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from railweave.errors import FileLine, Problem, SpecError

if TYPE_CHECKING:
    from pathlib import Path

    from yaml import MarkedYAMLError

MOST_BYTES = 64 << 20
"""Of a file, unless said otherwise: an inventory of 8,192 servers with every NIC and cable in it takes 20 MB."""

MOST_DEPTH = 64
"""Of lists and maps in one another in a YAML file: the reader takes a frame of the stack for each."""
MOST_VALUES = 250_000
"""Of a YAML file, with those that aliases repeat, and with the names that host lists stand for."""

_CLOSE = "close the brackets"

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
"""The characters that no text holds: they would end a line, or move the cursor of a terminal."""


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
        description = f"larger than {most_bytes >> 20} MiB, the most that is read"
        raise SpecError([Problem(FileLine(str(path)), description, "name a file that was written for railweave")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        description = f"not UTF-8 text (byte 0x{data[error.start]:02x})"
        raise SpecError([Problem(FileLine(str(path), line), description, "save it as UTF-8")]) from None
    control = CONTROL.search(text)
    if control is not None:
        line = text.count("\n", 0, control.start()) + 1
        description = f"a control character (0x{ord(control.group()):02x}) stands here"
        raise SpecError([Problem(FileLine(str(path), line), description, "remove it")])
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


def packaged_yaml(text: str) -> Any:  # noqa: ANN401 - what YAML holds
    """Return the value of a YAML text of the package: it needs no lines of what is wrong."""
    import yaml

    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe loader


def compose_yaml(text: str, file: str) -> Any:  # noqa: ANN401 - YAML nodes are untyped
    """The root node of a YAML text, whose marks know their lines; None where the text is empty.

    Raises ``SpecError`` with the line of what is malformed, nested too deeply or too much.
    """
    import yaml  # not for those who read JSON alone

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _measure(text, file, loader)
        return yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        raise SpecError([_malformed(text, file, error)]) from None
    except yaml.YAMLError as error:
        reason = str(getattr(error, "reason", None) or error)
        raise SpecError([Problem(FileLine(file), f"not valid YAML: {reason}")]) from None


def _measure(text: str, file: str, loader: Any) -> None:  # noqa: ANN401 - YAML loaders are untyped
    """Refuse what is too deep or too long to be made into nodes: the reader goes down into it on the stack of the process."""
    import yaml

    depth = values = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent):
            values += 1
            depth += isinstance(event, yaml.CollectionStartEvent)
            if depth > MOST_DEPTH or values > MOST_VALUES:
                description = "nested too deeply" if depth > MOST_DEPTH else f"more than {MOST_VALUES:,} values"
                fix = _CLOSE if depth > MOST_DEPTH else "write names as host lists, for example H100-[01-64]"
                line = event.start_mark.line + 1 if event.start_mark else 0
                raise SpecError([Problem(FileLine(file, line), description, fix)])


_OF_TABS = re.compile(r"cannot start any token|tab character")
"""The messages of YAML readers for a tab in place of spaces; libyaml does not name the tab."""


def _malformed(text: str, file: str, error: MarkedYAMLError) -> Problem:
    """Return the problem that the YAML reader reports.

    If the reader misses an end, it stops late, so the problem also names the line on which the open part began.
    """
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    if error.problem and "nesting depth" in error.problem:  # libyaml 0.2.6, which looks ahead further than _measure
        return Problem(FileLine(file, line), "nested too deeply", _CLOSE)
    lines = text.splitlines()
    if line and "\t" in (lines[line - 1] if line <= len(lines) else "") and _OF_TABS.search(str(error.problem)):
        return Problem(FileLine(file, line), "not valid YAML: there is a tab", "tabs are not allowed there: use spaces")
    begin = error.context_mark.line + 1 if error.context_mark and "expected" in str(error.problem) else line
    fix = "" if begin == line else f"what is read here began on line {begin}: close its quotes and brackets"
    return Problem(FileLine(file, line), f"not valid YAML: {error.problem or error.context}", fix)
