"""Lists of numbers as command lines have them: ``10,20-29``."""

from __future__ import annotations

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
