"""The command line of Enterprise SONiC as text: sections one space deeper per level, each closed with ``exit``.

The sections are those of FRR's configuration, which has the same shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, printed
from railweave.model.config.sections import parse as parse_sections
from railweave.systems.loader import plain_word

if TYPE_CHECKING:
    from collections.abc import Iterable


BEGIN, END = "configure terminal", ("end", "write memory")
LOSSLESS_BUFFERS = "buffer init lossless"
"""Asks, and restarts the switch by itself (sonic-net/sonic-mgmt, ``spytest/apis/qos/qos.py``, config_buffer_init: ``confirm='y'``,
``expect_reboot=True``): what is not saved before it is lost, and nothing typed after it is heard."""


def to_text(sections: Iterable[Section]) -> str:
    """Print what is pasted into ``sonic-cli``: the mode, the sections with ``!`` between them, and that it is kept.

    The command that restarts the switch is the last line, after all others are saved.
    """
    every = list(sections)
    kept = [section for section in every if section.line != LOSSLESS_BUFFERS]
    lines = [BEGIN, *printed(kept, lambda _: "exit"), *END]
    if len(kept) < len(every):
        lines += [BEGIN, LOSSLESS_BUFFERS]
    return "\n".join(lines) + "\n"


def parse(text: str) -> list[Section]:
    """Return the sections of a file. Raises ``RenderError``, with the line, if the indentation is invalid."""
    kept = [line for line in text.splitlines() if line.strip() not in {BEGIN, *END}]
    return parse_sections("\n".join(kept))


def quoted(text: str) -> str:
    """Return a text for the command line, in quotes if necessary, for example because of spaces."""
    return f'"{text}"' if " " in text or not text else text


def quoted_word(text: str) -> str:
    """Return a secret as one word for the command line. Raises ``RenderError`` if it cannot be one word; the command line has no escapes."""
    plain_word(text.replace(" ", "_"))
    return f'"{text}"' if set(text) & set(" #!|;") else text
