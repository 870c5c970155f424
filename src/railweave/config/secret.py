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
_VALUE = r'("[^"]*"|\S+)'
"""What may stand in a secret's place: one word, or a text in quotation marks; never more, so that nothing hides there."""


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
    for reference, value in ((one, other), (other, one)):
        if "<secret:" in reference:
            found = _pattern(reference).fullmatch(value)
            if found is not None:
                pairs = zip(secrets(reference), found.groups(), strict=True)
                names = [(secret, secrets(word)) for secret, word in pairs]
                return None if all(not there or there == (secret,) for secret, there in names) else False
    return False


@lru_cache(maxsize=1024)
def _pattern(reference: str) -> re.Pattern[str]:
    parts = REFERENCE.split(reference)
    return re.compile(_VALUE.join(re.escape(part) for part in parts[::2]), re.DOTALL)
