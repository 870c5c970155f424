"""Secrets in configuration: a reference, ``<secret:NAME>``, stands where ``build --secrets`` puts the value.

A reference equals the same reference and no other. Against a value it is neither equal nor different: nobody who holds
the reference knows the value, and what a device shows is often redacted or hashed with a salt of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

REFERENCE = re.compile(r"<secret:([^>]*)>")
"""How a secret stands in configuration; its group is the name."""
HIDDEN = "<hidden>"
"""The text that replaces a secret that was taken out (``gate``)."""
_QUOTED = r'"(?:[^"\\]|\\.)*"'
"""A text in quotation marks, in which a backslash stands before one that belongs to it."""
_INSIDE = r'(?:[^"\\]|\\.)*'
"""What stands in quotation marks that are there already, as in JSON."""
_WORD = r'[^\s"]+'
"""A word of a line: blanks end it, and no quotation mark stands in it."""
_WORD_OF_BRACES = r'(?:(?!/\*)[^\s"{}\[\];#|?])+'
"""A word where braces, semicolons and comments end one without a blank before them."""


@dataclass(frozen=True)
class Secret:
    """A secret by its name; printed as the reference that stands in configuration."""

    name: str

    def __str__(self) -> str:
        return f"<secret:{self.name}>"


def secrets(text: str) -> tuple[Secret, ...]:
    """The secrets that a text refers to, in order."""
    return tuple(Secret(name) for name in REFERENCE.findall(text)) if "<secret:" in text else ()


def alike(one: str, other: str) -> bool | None:
    """Whether two texts are the same. None: they are, but for values in the place of secrets, which nobody can compare."""
    if one == other:
        return True
    return None if filled(one, other) or filled(other, one) else False


def filled(line: str, found: str) -> bool:
    """Whether a text is a line with nothing else than values in the place of its references; one may stand there itself."""
    match = secret_pattern(line).fullmatch(found) if "<secret:" in line else None
    if match is None:
        return False
    pairs = zip(secrets(line), match.groups(), strict=True)
    return all(not there or there == (secret,) for secret, there in ((one, secrets(word)) for one, word in pairs))


@lru_cache(maxsize=1024)
def secret_pattern(line: str) -> re.Pattern[str]:
    """What a line with references is once they have values; each group is what stands in the place of one.

    That is one word, or one text in quotation marks, as the line takes it; never more, so that nothing hides there: in a
    line of braces (``key <secret:x>;``), or a ``set`` line, a word ends at a brace or a semicolon too.
    """
    braces = line.rstrip().endswith((";", "{", "}")) or line.startswith("set ")
    value = f"({_QUOTED}|{_WORD_OF_BRACES if braces else _WORD})"
    parts: list[str] = []
    at, quoted = 0, False
    for match in REFERENCE.finditer(line):
        before = line[at : match.start()]
        quoted ^= len(_MARK.findall(before)) % 2 == 1
        parts += [re.escape(before), f"({_INSIDE})" if quoted else value]
        at = match.end()
    return re.compile("".join([*parts, re.escape(line[at:])]))


_MARK = re.compile(r'(?<!\\)(?:\\\\)*"')
"""A quotation mark that no backslash takes away."""
