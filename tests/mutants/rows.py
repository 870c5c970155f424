"""What can go wrong with a statement: rows of a table, one for each form of a statement that matters."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.mutants.kinds import Kind

Draw = random.Random
Change = Callable[[str, Draw], str]
"""Another value in place of one."""


@dataclass(frozen=True)
class Row:
    """Statements whose path is like ``pattern`` from its beginning to its end. Its group ``value`` is what changes.

    ``drops``: they can be missing; ``moves``: they can change places with the next like them; ``adds``: a copy with another
    value can stand behind; ``value`` gives that. A group ``port`` is the interface, so that both ends of a link can be wrong.
    """

    kind: Kind
    pattern: str
    value: Change | None = None
    drops: bool = True
    moves: bool = False
    adds: bool = False
    changes: bool = True


def near(text: str, draw: Draw) -> str:
    """A number close by."""
    found = int(text) + draw.choice([-2, -1, 1, 2, 7])
    return str(found if found > 0 else int(text) + 1)


def larger(text: str, draw: Draw) -> str:
    """Another number of the same kind: half, or twice."""
    found = int(float(text) * draw.choice([0.5, 2, 3]))
    return str(found if found != int(float(text)) and found > 0 else int(float(text)) + 1)


def smaller(text: str, draw: Draw) -> str:
    """A number below."""
    return str(max(1, int(text) - draw.choice([14, 100, 1000])))


def percent(text: str, draw: Draw) -> str:
    """Another percentage."""
    return str(draw.choice([one for one in (1, 4, 17, 33, 62) if str(one) != text]))


def bit(text: str, draw: Draw) -> str:
    """Another number below eight."""
    return str(draw.choice([one for one in range(8) if str(one) != text]))


def tenths(text: str, draw: Draw) -> str:
    """Another duration in seconds."""
    return f"{float(text) + draw.choice([0.1, 0.3, 1]):.1f}"


def of(*words: str) -> Change:
    """Another of these words."""
    return lambda text, draw: draw.choice([one for one in words if one != text] or [text])


def address(text: str, draw: Draw) -> str:
    """Another address, or another prefix of the same length."""
    host, slash, length = text.partition("/")
    if ":" in host:
        parts = host.split(":")
        at = max(place for place, part in enumerate(parts[:4]) if part)
        parts[at] = f"{int(parts[at], 16) ^ draw.choice([2, 4, 8]):x}"
        return f"{':'.join(parts)}{slash}{length}"
    parts = host.split(".")
    at = max(1, min(3, (int(length or 32) - 1) // 8))
    step = 1 << (7 - (int(length or 32) - 1) % 8) if length else 4
    parts[at] = str((int(parts[at]) ^ max(step, 1)) & 255)
    return f"{'.'.join(parts)}{slash}{length}"


def numbered(text: str, draw: Draw) -> str:
    """The last number of a text is another."""
    return re.sub(r"\d+(?=\D*$)", lambda one: str(int(one[0]) + draw.choice([1, 3, 7])), text)


def reversed_numbers(text: str, draw: Draw) -> str:
    """Two numbers of a text in each other's place."""
    del draw
    found = re.findall(r"\d+", text)
    turned = iter(reversed(found))
    return re.sub(r"\d+", lambda _: next(turned), text)


def bits(text: str, draw: Draw) -> str:
    """Other bits of a code point."""
    at = draw.randrange(len(text))
    return f"{text[:at]}{1 - int(text[at])}{text[at + 1 :]}"


def word(text: str, draw: Draw) -> str:
    """A word that is none of the design's."""
    return f"{text}{draw.choice(['x', '9', '-old'])}"


def flipped(text: str, draw: Draw) -> str:
    """The other of two words."""
    del draw
    pairs = (("permit", "deny"), ("accept", "reject"), ("strict", "dwrr"), ("up", "down"), ("true", "false"))
    turned = {one: other for pair in pairs for one, other in (pair, pair[::-1])}
    return turned[text]


def dscps(text: str, draw: Draw) -> str:
    """A list of DSCPs, with one more or one less."""
    parts = re.split(r"([ ,])", text)
    if len(parts) > 1:
        at = draw.randrange(0, len(parts), 2)
        del parts[max(0, at - 1) : at + 1]
        return "".join(parts).strip(" ,") or text
    return str((int(text) + 1) % 64) if text.isdigit() else text
