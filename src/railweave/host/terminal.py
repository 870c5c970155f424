"""Standard output and standard error without the control characters of file names, answers and other text from elsewhere."""

import re
import sys
from typing import Any, TextIO, cast

_FOREIGN = re.compile(
    r"(\r?\x1b\[K|\x1b\[(?:0|1|2|[39][0-7])m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""A pattern of characters that move the cursor or reorder text. Group 1 is what railweave itself writes: colors and the clearing of a line."""


class SafeStream:
    """A text stream that writes control characters as Python escapes, and everything else as it is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text and return its length."""
        self._stream.write(_FOREIGN.sub(lambda match: match[1] or escaped(match[0]), text))
        return len(text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of any type
        """Return an attribute of the stream beneath."""
        return getattr(self._stream, name)


def escaped(text: str) -> str:
    """Return the text with each control character, line break and character that reorders text as a Python escape."""
    return "".join(
        _escape(character) if character in "\t\n" or _FOREIGN.fullmatch(character) else character for character in text
    )


def _escape(character: str) -> str:
    """Return a character as an escape. DEL has the form that JSON knows, because JSON texts hold it as it is."""
    return r"\u007f" if character == "\x7f" else ascii(character)[1:-1]


def protect() -> None:
    """Make standard output and standard error of this process safe for terminals."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, SafeStream):
            setattr(sys, name, cast("TextIO", SafeStream(stream)))
