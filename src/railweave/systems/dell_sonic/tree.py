"""The command line of Enterprise SONiC as text: each level of sections is indented by one more space, and each section ends with ``exit``.

The type of sections is the same as for FRR, whose configuration has the same structure.
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
"""The command that asks for confirmation and then restarts the switch.

Settings that are not saved before this command are lost, and lines entered after it are ignored. Source:
sonic-net/sonic-mgmt, ``spytest/apis/qos/qos.py``, config_buffer_init: ``confirm='y'``, ``expect_reboot=True``.
"""


def to_text(sections: Iterable[Section]) -> str:
    """Return the text to paste into ``sonic-cli``. It enters configuration mode, contains the sections separated by ``!``, and saves the configuration.

    The command that restarts the switch is the last line, after all others are saved.
    """
    every = list(sections)
    kept = [section for section in every if section.line != LOSSLESS_BUFFERS]
    lines = [BEGIN, *printed(kept, lambda _: "exit"), *END]
    if len(kept) < len(every):
        lines += [BEGIN, LOSSLESS_BUFFERS]
    return "\n".join(lines) + "\n"


def parse(text: str) -> list[Section]:
    """Return the sections of a file. Raises ``RenderError``, with the line number, if the indentation is invalid."""
    kept = [line for line in text.splitlines() if line.strip() not in {BEGIN, *END}]
    return parse_sections("\n".join(kept))


def quoted(text: str) -> str:
    """Return a text as one argument of the command line: in quotes if it has spaces or is empty."""
    return f'"{text}"' if " " in text or not text else text


def quoted_word(text: str) -> str:
    """Return a secret as one word for the command line, in quotation marks if it contains a space, ``#``, ``!``, ``|`` or ``;``.

    Raises ``RenderError`` if a secret cannot be written as one word, because the command line has no escape characters.
    """
    plain_word(text.replace(" ", "_"))
    return f'"{text}"' if set(text) & set(" #!|;") else text
