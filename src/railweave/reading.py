"""The only reader of text and JSON input files, with limits on size and nesting.

A file may come from an untrusted person. Therefore, reading any file ends with its value or with an error that states the line. No
file can fill the memory or exhaust the stack. The limits are far above the needs of the largest clusters (docs/folder.md lists
them).
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any, BinaryIO
from xml.parsers import expat

from railweave.errors import FileLine, Problem, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.resources.abc import Traversable
    from pathlib import Path
    from typing import NoReturn

    from yaml import MarkedYAMLError

MOST_BYTES = 64 << 20
"""The default limit on the size of a file, in bytes. A full inventory of 8,192 servers with all NICs and cables takes 20 MB."""

MOST_OWN_BYTES = 1 << 30
"""The limit on the size of a file that railweave wrote, in bytes, such as the design of a hundred thousand NICs."""

MOST_DEPTH = 64
"""The deepest nesting of lists and maps in a YAML file. The reader uses a stack frame for each level."""
MOST_VALUES = 250_000
"""The largest number of values in a YAML file, including values repeated by aliases and names given by host lists."""

MOST_JSON_VALUES = 8_000_000
"""The largest number of values in a JSON text."""

_CLOSE = "close the brackets"

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
"""The control characters that are not allowed in text, because they could end a line or move a terminal's cursor."""


class NotRegularError(OSError):
    """The error that a path names a pipe, a device or a folder."""


def open_file(path: Path | str) -> BinaryIO:
    """Return a regular file, open for reading, or standard input for ``-``.

    Anything else is refused: a pipe could keep the reader waiting forever, and a device has no end. Raises ``OSError``.
    """
    if str(path) == "-":
        return os.fdopen(os.dup(0), "rb")
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotRegularError(errno.EINVAL, "no regular file; give a file's name, or - for standard input", str(path))
    return os.fdopen(handle, "rb")


def make_file(path: Path, mode: int) -> None:
    """Create an empty file if there is none at the path. Raises ``OSError`` if it cannot be written, is a link or is no regular file.

    A database opens its file by name and would wait for the other end of a pipe forever.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY, mode)
    regular = stat.S_ISREG(os.fstat(handle).st_mode)
    os.close(handle)
    if not regular:
        raise NotRegularError(errno.EINVAL, "no regular file", str(path))


def up_to(stream: BinaryIO, most: int) -> bytes:
    """Return at most ``most`` bytes of a stream, read piece by piece: files of the kernel take the memory of all bytes that are asked for."""
    pieces: list[bytes] = []
    while most > 0 and (piece := stream.read(min(most, _PIECE))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


_PIECE = 1 << 17


def file_bytes(path: Path | str, most_bytes: int = MOST_OWN_BYTES) -> bytes:
    """Return the bytes of a file. Raises ``OSError`` if it cannot be read, is no regular file, or is larger than ``most_bytes``."""
    with open_file(path) as stream:
        data = up_to(stream, most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"larger than {most_bytes >> 20} MiB, the most that is read", str(path))
    return data


def file_text(
    path: Path | str, most_bytes: int = MOST_OWN_BYTES, errors: str = "strict", encoding: str = "utf-8"
) -> str:
    """Return the text of a file that railweave or the system wrote, with universal line ends.

    Raises ``OSError`` as ``file_bytes`` does, and ``UnicodeDecodeError`` if it is not UTF-8. Files of users are read by ``read_text``.
    """
    return file_bytes(path, most_bytes).decode(encoding, errors).replace("\r\n", "\n").replace("\r", "\n")


def packaged_text(file: Traversable) -> str:
    """Return the text of a file that is part of railweave."""
    return file.read_text(encoding="utf-8")


def packaged_bytes(file: Traversable) -> bytes:
    """Return the bytes of a file that is part of railweave."""
    return file.read_bytes()


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Return the text of a user's UTF-8 file, without the byte order mark that spreadsheets add.

    Raises ``FileNotFoundError`` if the file does not exist, and ``SpecError`` if it is unreadable or larger than ``most_bytes``.
    """
    try:
        with open_file(path) as stream:
            data = up_to(stream, most_bytes + 1)
    except FileNotFoundError:
        if path.is_symlink():  # no file may mean a default: a broken link means none
            message = "cannot be read: the link leads to no file"
            raise SpecError([Problem(FileLine(str(path)), message, "mend the link, or remove it")]) from None
        raise
    except NotRegularError:
        raise SpecError(
            [
                Problem(
                    FileLine(str(path)),
                    "cannot be read: no regular file",
                    "give a file's name, or - for standard input",
                )
            ]
        ) from None
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


def readable_by_others(file: Path | int) -> str:
    """Return the mode of a file, such as ``mode 644``, if users other than its owner may use it; empty if they may not.

    A file that holds a secret is refused in this case. ``file`` is a path or an open file. Raises ``OSError`` if the file cannot be examined.
    """
    mode = stat.S_IMODE(os.stat(file).st_mode)  # noqa: PTH116 - an open file has no path
    return f"mode {mode:03o}" if mode & 0o077 else ""


def parse_json(
    text: str | bytes,
    most_values: int = MOST_JSON_VALUES,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:  # noqa: ANN401 - JSON
    """Return the value of a JSON text. Raise ``json.JSONDecodeError`` if it is malformed.

    Raises ``ValueError`` if the nesting is too deep, a number is too long, or there are more than ``most_values`` values.
    ``object_pairs_hook`` makes the value of an object from its keys and values, as in ``json.loads``.
    """
    if len(text) > most_values and more_values(  # else it cannot have as many
        text.decode("utf-8", "replace") if isinstance(text, bytes) else text, most_values
    ):
        raise ValueError(f"more than {most_values:,} values")
    try:
        return json.loads(text, object_pairs_hook=object_pairs_hook)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def more_values(text: str, most: int) -> bool:
    """Return True if a JSON text, which may be damaged, has more than ``most`` values."""
    if sum(text.count(sign) for sign in ",[{") <= most:
        return False
    bare = _JSON_STRING.sub("", text)
    return sum(bare.count(sign) for sign in ",[{") > most


_JSON_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


def csv_rows(text: str, *, strict: bool = False) -> Any:  # noqa: ANN401 - the type has no public name
    """Return a reader of the rows of a CSV text, with ``line_num``. It raises ``csv.Error`` at a malformed row.

    A cell has at most 131,072 characters. ``strict``: True to raise the error also for quotation marks inside cells.
    """
    return csv.reader(io.StringIO(text, newline=""), strict=strict)


def csv_table(text: str, restval: str | None = None) -> csv.DictReader[str]:
    """Return a reader of the rows of a CSV text with a header, each by column. ``restval`` stands for cells that a row lacks."""
    return csv.DictReader(io.StringIO(text, newline=""), restval=restval)


XmlError = expat.ExpatError
"""The error of malformed XML."""


XML_GOES_ON = expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
"""The code of ``XmlError`` if text follows a whole document."""


def xml_message(error: expat.ExpatError) -> str:
    """Return what is wrong with an XML text."""
    return expat.ErrorString(error.code)


def xml_parser(refuse: Callable[..., NoReturn], *, namespaces: bool = False) -> expat.XMLParserType:
    """Return a parser of XML for a caller's handlers. ``refuse`` is called for a document type, which could define entities without end.

    ``namespaces``: True to put the name space before each name, with a blank between them. Handlers limit the depth.
    """
    parser = expat.ParserCreate(namespace_separator=" ") if namespaces else expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    return parser


def read_json(path: Path, wrong: str = "not JSON", fix: str = "") -> Any:  # noqa: ANN401 - JSON
    """Return the value of a JSON file. Raises the errors of ``read_text`` in this module, and ``SpecError`` if the file is not JSON.

    ``wrong`` and ``fix`` are the message and the advice of the error about invalid JSON.
    """
    return json_of(read_text(path), path, wrong, fix)


def json_of(text: str, path: Path, wrong: str = "not JSON", fix: str = "") -> Any:  # noqa: ANN401 - JSON
    """Return the value of the text of the JSON file ``path``. Raises ``SpecError`` with the line if it is not JSON, as ``read_json`` does."""
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise SpecError([Problem(FileLine(str(path), error.lineno), f"{wrong}: {error.msg}", fix)]) from None
    except ValueError as error:
        raise SpecError([Problem(FileLine(str(path)), f"{wrong}: {error}", fix)]) from None


def packaged_yaml(text: str) -> Any:  # noqa: ANN401 - what YAML holds
    """Return the value of a YAML text that is part of railweave. The text is assumed to be valid, so errors have no line numbers."""
    import yaml

    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe loader


def compose_yaml(text: str, file: str) -> Any:  # noqa: ANN401 - YAML nodes are untyped
    """Return the root node of a YAML text, or None if the text is empty. Each node records its line.

    Raises ``SpecError`` with the line of a fault: malformed YAML, nesting that is too deep, or too many values.
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
    """Raise ``SpecError`` if a YAML text is nested too deeply or has too many values.

    ``loader`` is the class of the YAML reader. This check runs before the reader builds its tree of nodes, because the reader uses a stack
    frame for each level of nesting.
    """
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
"""A pattern for error messages of YAML readers about a tab used as indentation.

railweave uses one of two readers. One of them does not mention the tab in its message.
"""


def _malformed(text: str, file: str, error: MarkedYAMLError) -> Problem:
    """Return the error for malformed YAML, with the line at which the YAML reader stopped.

    If a closing quote or bracket is missing, the reader stops late. The error then also has the line of the opening quote or bracket.
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
