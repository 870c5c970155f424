"""Numbers in command lines and names: lists such as ``10,20-29``, and the order of ports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def ranges(numbers: Iterable[int]) -> str:
    """The numbers in order, neighbors joined: ``10,20-29``."""
    found: list[list[int]] = []
    for one in sorted(set(numbers)):
        if found and found[-1][-1] == one - 1:
            found[-1] = [found[-1][0], one]
        else:
            found.append([one])
    return ",".join("-".join(map(str, one)) for one in found)


def numbers(name: str) -> tuple[int, ...]:
    """Return the numbers in a port's name, by which ports are in order: Eth1/2 before Eth1/16, and channels in order."""
    return tuple(map(int, re.findall(r"[0-9]+", name)))
